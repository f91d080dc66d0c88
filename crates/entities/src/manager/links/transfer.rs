//! Links of entities that are transferred between worlds.

use ancho_collections::FixedState;
use hashbrown::HashSet;

use super::{LinkChange, lists_in, sources_in};
use crate::component::RelationshipInfo;
use crate::entity::Entity;
use crate::entity_map::{DetachedLink, EntityMap};
use crate::error::EntityError;
use crate::manager::EntityManager;
use crate::storage::for_each_to_end;

/// The links that ended before a transfer.
pub(in crate::manager) struct EndedLinks {
    changes: Vec<LinkChange>,
    /// The lists of their targets, as they were before.
    lists: Vec<(&'static RelationshipInfo, Entity, Vec<Entity>)>,
}

impl EndedLinks {
    /// Returns the links.
    pub(in crate::manager) fn into_detached(self) -> Vec<DetachedLink> {
        let link = |change: LinkChange| DetachedLink {
            component: (change.relationship.source)(),
            source: change.source,
            target: change.old,
        };
        self.changes.into_iter().map(link).collect()
    }
}

impl EntityManager {
    /// Ends all links between one of these entities and another entity.
    #[cold]
    pub(in crate::manager) fn end_links_across(
        &mut self,
        entities: &[Entity],
    ) -> Result<EndedLinks, EntityError> {
        entities.iter().for_each(|&entity| _ = self.links.mark(entity));
        let mut changes = Vec::new();
        for &entity in entities {
            let Some(archetype) = self.storage.archetype_of(entity) else { continue };
            let new = Entity::NULL;
            for relationship in sources_in(&archetype.shape) {
                if let Some(old) = self.link_target(relationship, entity)
                    && !self.links.is_marked(old)
                {
                    changes.push(LinkChange { relationship, source: entity, old, new });
                }
            }
            for relationship in lists_in(&archetype.shape) {
                let sources = self.link_sources(relationship, entity).iter();
                let outside = sources.filter(|&&source| !self.links.is_marked(source));
                let change = |&source| LinkChange { relationship, source, old: entity, new };
                changes.extend(outside.map(change));
            }
        }
        self.links.unmark(entities);
        let mut lists = Vec::new();
        let mut seen = HashSet::<(*const RelationshipInfo, Entity), FixedState>::default();
        for &LinkChange { relationship, old, .. } in &changes {
            if seen.insert((std::ptr::from_ref(relationship), old)) {
                lists.push((relationship, old, self.link_sources(relationship, old).to_vec()));
            }
        }
        self.end_links(&changes)?;
        Ok(EndedLinks { changes, lists })
    }

    /// Restores links that were ended, because a transfer has failed.
    #[cold]
    pub(in crate::manager) fn restore_links(&mut self, ended: EndedLinks) {
        for &LinkChange { relationship, source, old, .. } in &ended.changes {
            // The memory that the entities had is free again, unless the world ran out of memory twice.
            let restored = self.add_source(relationship, source, old);
            debug_assert!(restored.is_ok(), "{restored:?}");
        }
        for (relationship, target, sources) in ended.lists {
            if !self.has_type(target, (relationship.reverse)()) {
                let restored = self.add_list(relationship, target);
                debug_assert!(restored.is_ok(), "{restored:?}");
            }
            self.edit_list(relationship, target, |list| {
                list.truncate(0);
                list.extend(&sources);
            });
            self.keep_true_sources(relationship, target);
        }
    }

    /// Ends the links of copies to entities that were not copied. If there is no memory, the copies are despawned.
    #[cold]
    pub(in crate::manager) fn end_links_of_copies(
        &mut self,
        source: &Self,
        map: &mut EntityMap,
    ) -> Result<(), EntityError> {
        let (mut changes, mut detached, mut filtered) = (Vec::new(), Vec::new(), Vec::new());
        for (old, new) in map.iter() {
            let Some(archetype) = self.storage.archetype_of(new) else { continue };
            for relationship in sources_in(&archetype.shape) {
                // References to entities that were not copied became null.
                if self.link_target(relationship, new).is_none_or(Entity::is_null) {
                    let target = source.link_target(relationship, old).unwrap_or(Entity::NULL);
                    let component = (relationship.source)();
                    detached.push(DetachedLink { component, source: old, target });
                    let null = Entity::NULL;
                    changes.push(LinkChange { relationship, source: new, old: null, new: null });
                }
            }
            for relationship in lists_in(&archetype.shape) {
                let copied = self.link_sources(relationship, new).iter();
                let originals = source.link_sources(relationship, old).iter();
                let lost = copied.zip(originals).filter(|(copy, _)| copy.is_null());
                let component = (relationship.source)();
                let before = detached.len();
                detached.extend(lost.map(|(_, &source)| DetachedLink {
                    component,
                    source,
                    target: old,
                }));
                if detached.len() > before {
                    filtered.push((relationship, new));
                }
            }
        }
        if let Err(error) = self.end_links(&changes) {
            let copies: Vec<_> = map.iter().map(|(_, copy)| copy).collect();
            for_each_to_end(copies, |copy| {
                if let Ok(location) = self.locate(copy) {
                    // The memory of copies is unshared, so despawning cannot fail.
                    let _ = self.despawn_one(copy, location);
                }
            });
            return Err(error);
        }
        for (relationship, target) in filtered {
            self.keep_true_sources(relationship, target);
            self.remove_empty_list(relationship, target);
        }
        map.set_detached(detached);
        Ok(())
    }
}
