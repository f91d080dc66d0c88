//! Operations that write sources: spawning entities with links, and adding and replacing links.

use std::mem::needs_drop;

use ancho_collections::Rejected;

use super::{LinkChange, find_list};
use crate::component::RelationshipInfo;
use crate::entity::Entity;
use crate::error::EntityError;
use crate::manager::add_remove::InsertOutcome;
use crate::manager::{EntityManager, RowSelection};
use crate::set::{CloneSet, ComponentSet};
use crate::storage::SetOperation;

/// The links of a run of commands: the number of the command, the relationship, and the target.
pub(crate) type RunLinks = Vec<(usize, &'static RelationshipInfo, Entity)>;

impl EntityManager {
    /// Returns an error if a set contains lists of relationships, which only the world writes.
    pub(super) fn check_no_lists<S: ComponentSet>(&mut self) -> Result<(), EntityError> {
        let set = self.set_number::<S>()?;
        match find_list(&self.sets.get(set).types) {
            Some(component) => Err(EntityError::InRelationship { component }),
            None => Ok(()),
        }
    }

    /// Lists the new links of an entity that gets a set.
    fn list_links_of<S: ComponentSet>(
        &self,
        changes: &mut Vec<LinkChange>,
        source: Entity,
        set: &S,
    ) -> Result<(), EntityError> {
        let mut null = None;
        set.links(&mut |relationship, target| {
            if target.is_null() {
                null = Some(target);
            }
            self.list_change(changes, relationship, source, target);
        });
        null.map_or(Ok(()), |target| Err(self.no_such(target)))
    }

    /// Adds or replaces components of an entity that include links.
    #[cold]
    #[inline(never)]
    pub(in crate::manager) fn insert_linked<S: ComponentSet>(
        &mut self,
        entity: Entity,
        set: S,
        change: SetOperation,
    ) -> Result<InsertOutcome, Rejected<S, EntityError>> {
        let mut changes = self.take_changes();
        let checked = self.check_changes::<S>(&[entity], change).and_then(|()| {
            self.check_no_lists::<S>()?;
            self.list_links_of(&mut changes, entity, &set)?;
            self.check_links(&changes)?;
            self.prepare_lists(&changes)
        });
        if let Err(error) = checked {
            self.keep_changes(changes);
            return Err(Rejected { value: set, error });
        }
        let inserted = self.run_prepared(&changes, |manager| manager.insert(entity, set, change));
        self.keep_changes(changes);
        inserted
    }

    /// Removes the components `R` from an entity and adds others. One of the sets includes links.
    #[cold]
    #[inline(never)]
    pub(in crate::manager) fn exchange_linked<R: ComponentSet, S: ComponentSet>(
        &mut self,
        entity: Entity,
        added: S,
        set: u32,
    ) -> Result<(), Rejected<S, EntityError>> {
        let mut changes = self.take_changes();
        let checked = self.check_no_lists::<R>().and_then(|()| {
            self.check_no_lists::<S>()?;
            self.list_links_of(&mut changes, entity, &added)?;
            let (removed, added) = (self.set_number::<R>()?, self.set_number::<S>()?);
            let added = &self.sets.get(added).types;
            for ty in self.sets.get(removed).types.iter().filter(|ty| !added.contains(ty)) {
                if let Some(relationship) = ty.0.relationship
                    && let Some(old) = self.link_target(relationship, entity)
                {
                    let new = Entity::NULL;
                    changes.push(LinkChange { relationship, source: entity, old, new });
                }
            }
            self.check_links(&changes)?;
            self.prepare_lists(&changes)
        });
        if let Err(error) = checked {
            self.keep_changes(changes);
            return Err(Rejected { value: added, error });
        }
        let done = self.run_prepared(&changes, |manager| {
            manager.insert_numbered(entity, added, set, SetOperation::Exchange)
        });
        self.keep_changes(changes);
        done.map(drop)
    }

    /// Creates an entity with links.
    #[cold]
    #[inline(never)]
    pub(in crate::manager) fn try_spawn_linked<S: ComponentSet>(
        &mut self,
        set: S,
    ) -> Result<Entity, Rejected<S, EntityError>> {
        let mut changes = self.take_changes();
        let checked = self.check_no_lists::<S>().and_then(|()| {
            self.storage.table.require(1);
            let entity = self.storage.table.next_ids(1, Vec::new()).get(0);
            self.list_links_of(&mut changes, entity, &set)?;
            self.check_links(&changes)?;
            self.prepare_lists(&changes)
        });
        if let Err(error) = checked {
            self.keep_changes(changes);
            return Err(Rejected { value: set, error });
        }
        let spawned = self.run_prepared(&changes, |manager| manager.try_spawn_unlinked(set));
        self.keep_changes(changes);
        spawned.map(|(entity, _)| entity)
    }

    /// Creates entities with clones of a set that includes links.
    #[cold]
    #[inline(never)]
    pub(in crate::manager) fn try_spawn_many_linked<S: CloneSet>(
        &mut self,
        count: usize,
        set: &mut S,
    ) -> Result<(), EntityError> {
        self.check_no_lists::<S>()?;
        let mut changes = self.take_changes();
        self.storage.table.require(count);
        let ids = self.storage.table.next_ids(count, Vec::new());
        for at in 0..count {
            self.list_links_of(&mut changes, ids.get(at), set)?;
        }
        let spawned = self.check_links(&changes).and_then(|()| {
            self.change_links(&changes, |manager| manager.try_spawn_many_unlinked(count, set))
        });
        self.keep_changes(changes);
        spawned
    }

    /// Creates an entity for each of the sets, which include links. If a link is refused, no entity is created.
    #[cold]
    #[inline(never)]
    pub(in crate::manager) fn spawn_each_linked<S: ComponentSet>(
        &mut self,
        sets: impl Iterator<Item = S>,
    ) -> Result<(), EntityError> {
        self.check_no_lists::<S>()?;
        // The iterator is user code, which must not run between the checks and the change.
        let sets: Vec<S> = sets.collect();
        let mut changes = self.take_changes();
        self.storage.table.require(sets.len());
        let ids = self.storage.table.next_ids(sets.len(), Vec::new());
        for (at, set) in sets.iter().enumerate() {
            self.list_links_of(&mut changes, ids.get(at), set)?;
        }
        let spawned = self.check_links(&changes).and_then(|()| {
            self.change_links(&changes, |manager| manager.spawn_each_unlinked(sets.into_iter()))
        });
        self.keep_changes(changes);
        spawned
    }

    /// Adds or replaces components of several entities that include links, all or none. Returns the number of entities that lacked
    /// one of the components.
    #[cold]
    #[inline(never)]
    pub(crate) fn write_linked<S: ComponentSet>(
        &mut self,
        entities: &[Entity],
        sets: Vec<S>,
        change: SetOperation,
    ) -> Result<usize, Rejected<Vec<S>, EntityError>> {
        let mut changes = self.take_changes();
        let mut moves = Vec::new();
        let checked = self.check_changes::<S>(entities, change).and_then(|()| {
            self.check_no_lists::<S>()?;
            self.check_distinct(entities)?;
            for (&entity, set) in entities.iter().zip(&sets) {
                self.list_links_of(&mut changes, entity, set)?;
            }
            self.check_links(&changes)?;
            self.prepare_lists(&changes)?;
            let reserved = self.reserve_writes::<S>(entities, change, &mut moves);
            if reserved.is_err() {
                self.take_lists_back();
            }
            reserved
        });
        if let Err(error) = checked {
            self.keep_changes(changes);
            return Err(Rejected { value: sets, error });
        }
        let (mut added, mut sets) = (0, sets.into_iter());
        let written = self.run_prepared(&changes, |manager| {
            for (&entity, set) in entities.iter().zip(sets.by_ref()) {
                match manager.insert(entity, set, change) {
                    Ok(outcome) => added += usize::from(matches!(outcome, InsertOutcome::New)),
                    Err(rejected) => return Err(rejected),
                }
            }
            Ok(())
        });
        self.keep_changes(changes);
        match written {
            Ok(()) => Ok(added),
            Err(Rejected { value, error }) => {
                Err(Rejected { value: std::iter::once(value).chain(sets).collect(), error })
            }
        }
    }

    /// Reserves rows for entities that get a set.
    fn reserve_writes<S: ComponentSet>(
        &mut self,
        entities: &[Entity],
        change: SetOperation,
        moves: &mut Vec<(Entity, u32)>,
    ) -> Result<(), EntityError> {
        for &entity in entities {
            let from = self.storage.archetype_at(self.locate(entity)?);
            let transfer = self.transfer_of::<S>(from, change)?;
            if self.transfers[transfer].to != from {
                moves.push((entity, transfer));
            }
        }
        self.reserve_for(moves)
    }

    /// Returns an error if an entity occurs twice.
    fn check_distinct(&mut self, entities: &[Entity]) -> Result<(), EntityError> {
        let twice = entities.iter().find(|&&entity| !self.links.mark(entity)).copied();
        self.links.unmark(entities);
        twice.map_or(Ok(()), |entity| Err(EntityError::LinkedTwice { entity }))
    }

    /// Makes an operation after its lists were prepared.
    fn run_prepared<R, E>(
        &mut self,
        changes: &[LinkChange],
        operation: impl FnOnce(&mut Self) -> Result<R, E>,
    ) -> Result<R, E> {
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| operation(self)));
        self.finish_links(changes, done)
    }

    /// Sets the links of several entities that a run of commands writes, if they can be written together. The caller then writes the
    /// sources with [`write_in_run`](Self::write_in_run), and calls [`finish_run`](Self::finish_run).
    pub(crate) fn prepare_run<S: ComponentSet>(
        &mut self,
        entities: &[Entity],
        links: &[(usize, &'static RelationshipInfo, Entity)],
        change: SetOperation,
    ) -> bool {
        if needs_drop::<S>() || S::SHARED {
            // User code could panic between the sources and the lists.
            return false;
        }
        let mut changes = self.take_changes();
        for &(at, relationship, target) in links {
            self.list_change(&mut changes, relationship, entities[at], target);
        }
        let is_ready = links.iter().all(|(_, _, target)| !target.is_null())
            && self.check_no_lists::<S>().is_ok()
            && self.check_distinct(entities).is_ok()
            && self.check_changes::<S>(entities, change).is_ok()
            && self.check_links(&changes).is_ok()
            && self.prepare_lists(&changes).is_ok();
        if is_ready {
            self.links.run = changes;
        } else {
            self.keep_changes(changes);
        }
        is_ready
    }

    /// Writes a set whose links were prepared.
    #[inline]
    pub(crate) fn write_in_run<S: ComponentSet>(
        &mut self,
        entity: Entity,
        set: S,
        change: SetOperation,
    ) -> Result<(), EntityError> {
        let written = match change {
            SetOperation::Add => self.add_unlinked(entity, set).0.map(drop),
            _ => self.insert(entity, set, change).map(drop),
        };
        written.map_err(|rejected| rejected.error)
    }

    /// Updates the lists after a run of commands, of which some may have failed.
    pub(crate) fn finish_run(&mut self, is_complete: bool) {
        let changes = std::mem::take(&mut self.links.run);
        let done = if is_complete { Ok(()) } else { Err(()) };
        let _ = self.finish_links(&changes, Ok(done));
        self.keep_changes(changes);
    }

    /// Takes the list of the links of a run, which is empty.
    pub(crate) fn take_run_links(&mut self) -> RunLinks {
        std::mem::take(&mut self.links.run_links)
    }

    /// Returns the list of the links of a run.
    pub(crate) fn keep_run_links(&mut self, mut links: RunLinks) {
        links.clear();
        self.links.run_links = links;
    }

    /// Adds clones of a set that includes links to selected rows.
    #[cold]
    pub(in crate::manager) fn add_linked_to_rows<S: CloneSet>(
        &mut self,
        found: &RowSelection,
        mut set: S,
    ) -> Result<usize, Rejected<S, EntityError>> {
        let entities: Vec<_> = self.entities_in(found).collect();
        let sets = entities.iter().map(|_| set.clone_set()).collect();
        let added = self.write_linked(&entities, sets, SetOperation::Add);
        added.map_err(|rejected| Rejected { value: set, error: rejected.error })
    }
}
