//! Links of instances and copies of entities.

use ancho_collections::FixedState;
use hashbrown::HashMap;

use super::{lists_in, sources_in};
use crate::component::{ComponentType, RelationshipInfo};
use crate::entity::Entity;
use crate::error::EntityError;
use crate::manager::{DistinctEntities, EntityManager};

/// The links of entities to be duplicated that need more than a replacement of references.
#[derive(Default)]
pub(in crate::manager) struct InstanceLinks {
    /// The links to entities that are not duplicated: the source, the relationship, and the target.
    outside: Vec<(Entity, &'static RelationshipInfo, Entity)>,
    /// The lists that contain entities which are not duplicated.
    filtered: Vec<(Entity, &'static RelationshipInfo)>,
    dropped: Vec<ComponentType>,
}

impl InstanceLinks {
    pub(in crate::manager) fn clear(&mut self) {
        self.outside.clear();
        self.filtered.clear();
    }
}

impl EntityManager {
    /// Lists the links of an entity that is duplicated together with other members. Returns the set of lists that the duplicates do
    /// not have, because none of the sources is a member.
    pub(in crate::manager) fn list_instance_links(
        &mut self,
        entity: Entity,
        members: &DistinctEntities,
        links: &mut InstanceLinks,
    ) -> Result<u32, EntityError> {
        let location = self.locate(entity)?;
        let shape = self.storage.chunks[location.chunk].shape();
        if !shape.has_links() {
            return self.set_number::<()>();
        }
        for relationship in sources_in(shape) {
            if let Some(target) = self.link_target_at(relationship, location)
                && !members.contains(target)
            {
                links.outside.push((entity, relationship, target));
            }
        }
        links.dropped.clear();
        for relationship in lists_in(shape) {
            let sources = self.link_sources(relationship, entity);
            let inside = sources.iter().filter(|&&source| members.contains(source)).count();
            if inside == 0 {
                links.dropped.push((relationship.reverse)());
            } else if inside < sources.len() {
                links.filtered.push((entity, relationship));
            }
        }
        self.set_number_of(&links.dropped)
    }

    /// Makes the lists unshared to which instances are added.
    pub(in crate::manager) fn prepare_instance_links(
        &mut self,
        links: &InstanceLinks,
    ) -> Result<(), EntityError> {
        links
            .outside
            .iter()
            .try_for_each(|&(_, relationship, target)| self.open_list(relationship, target))
    }

    /// Updates the lists after instances were created. The instances of each source are contiguous.
    pub(in crate::manager) fn link_instances(
        &mut self,
        sources: impl Iterator<Item = Entity>,
        instances: &[Entity],
        count: usize,
        links: &InstanceLinks,
    ) {
        let places: HashMap<Entity, usize, FixedState> =
            sources.enumerate().map(|(at, source)| (source, at * count)).collect();
        let of = |source: &Entity| places.get(source).map(|&first| &instances[first..][..count]);
        for &(source, relationship) in &links.filtered {
            for &instance in of(&source).into_iter().flatten() {
                self.keep_true_sources(relationship, instance);
            }
        }
        for &(source, relationship, target) in &links.outside {
            self.append_sources(relationship, target, of(&source).unwrap_or(&[]));
        }
    }
}

impl InstanceLinks {
    pub(in crate::manager) fn is_empty(&self) -> bool {
        self.outside.is_empty() && self.filtered.is_empty()
    }
}
