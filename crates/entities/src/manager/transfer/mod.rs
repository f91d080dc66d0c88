//! Moving and copying entities between worlds.
//!
//! A transfer has three steps, so that it is made completely or not at all:
//!
//! 1. [`plan`] determines the targets of the rows of each source chunk, and reserves rows for those whose chunk is not moved as a
//!    whole. It fails if there is no memory. Looking up shared values runs user code. Their entity references are already replaced
//!    in this step, so the next ids are computed in advance.
//! 2. If the entities are copied, their values are cloned. This runs user code, which can panic.
//! 3. [`ImportPlan`](crate::storage::ImportPlan) moves chunks and rows, and allocates the ids. It cannot fail.
//!
//! At the end, references between the entities are replaced, and old values are dropped.

mod plan;

use std::panic::resume_unwind;
use std::sync::Arc;

use self::plan::HeldValues;
use crate::entity_map::EntityMap;
use crate::error::EntityError;
use crate::manager::{EntityManager, RowSelection};

#[cfg(test)]
mod tests;

impl EntityManager {
    /// Moves all entities of another world to this world. The other world is empty afterwards. Returns the new id of each entity.
    ///
    /// Whole chunks are moved, so that components are not moved in memory. The entities get ids of this world. They keep their
    /// enabled bits, shared values, [chunk components](crate::PerChunk), names, managed components and
    /// [cleanup](crate::Component::CLEANUP) components. References between the moved entities are replaced with the new ids, and
    /// all other references become null. Entities of this world are not affected. This is Unity's `MoveEntitiesFrom`.
    ///
    /// Change filters match all entities that were moved.
    ///
    /// If the layouts of chunks differ, for example because of another [chunk size](crate::WorldSettings::chunk_size), the
    /// components are moved to chunks of this world, and chunk components are dropped.
    ///
    /// # Errors
    ///
    /// Returns an error if an entity is larger than a chunk of this world. Also returns an error if there is no memory for rows,
    /// or for copies of memory that the other world shares with forks. In these cases nothing was moved.
    ///
    /// # Panics
    ///
    /// Panics if there would be more than 2³¹ entities. In that case nothing was moved. Also panics if user code panics while
    /// references are replaced, for example the comparison of a set's elements. In that case everything was moved, and all other
    /// references were replaced.
    ///
    /// # Complexity
    ///
    /// Linear in the number of entities, and in the number of values that can refer to entities. Other components cost nothing.
    ///
    /// # Determinism
    ///
    /// New ids are allocated in the order of [`iter_entities`](Self::iter_entities) of the other world.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Entity, World};
    ///
    /// #[derive(Component, Clone, Copy, Debug, PartialEq)]
    /// struct Leader(Entity);
    ///
    /// let (mut loading, mut game) = (World::new("Loading"), World::new("Game"));
    /// game.spawn_many((), 10);
    /// let captain = loading.spawn(());
    /// let soldier = loading.spawn(Leader(captain));
    ///
    /// let moved = game.move_entities_from(&mut loading).unwrap();
    /// let (captain, soldier) = (moved.get(captain).unwrap(), moved.get(soldier).unwrap());
    /// assert_eq!(game.get(soldier), Ok(&Leader(captain)));
    /// assert_eq!((game.entity_count(), loading.entity_count()), (12, 0));
    /// ```
    ///
    /// A world cannot be moved into itself:
    ///
    /// ```compile_fail,E0499
    /// # use ancho_entities::World;
    /// let mut world = World::new("Simulation");
    /// world.move_entities_from(&mut world);
    /// ```
    #[track_caller]
    pub fn move_entities_from(&mut self, source: &mut Self) -> Result<EntityMap, EntityError> {
        let all = source.found_all();
        self.move_found(source, &all, true)
    }

    /// Moves rows of another world to this world.
    pub(crate) fn move_rows_from(
        &mut self,
        source: &mut Self,
        found: &RowSelection,
    ) -> Result<EntityMap, EntityError> {
        self.move_found(source, found, false)
    }

    fn move_found(
        &mut self,
        source: &mut Self,
        found: &RowSelection,
        is_everything: bool,
    ) -> Result<EntityMap, EntityError> {
        if is_everything || !source.found_has_links(found) {
            return self.move_unlinked(source, found, is_everything);
        }
        // Links to entities that stay end first. They are restored if there is an error.
        let entities: Vec<_> = source.entities_in(found).collect();
        let ended = source.end_links_across(&entities)?;
        let moved = source
            .found_entities(&entities)
            .and_then(|found| self.move_unlinked(source, &found, false));
        match moved {
            Ok(mut map) => {
                map.set_detached(ended.into_detached());
                Ok(map)
            }
            Err(error) => {
                source.restore_links(ended);
                Err(error)
            }
        }
    }

    /// Moves selected rows, whose links lead to rows that are moved too.
    fn move_unlinked(
        &mut self,
        source: &mut Self,
        found: &RowSelection,
        is_everything: bool,
    ) -> Result<EntityMap, EntityError> {
        let destinations = self.destinations(&source.storage, found)?;
        source.sync_for_move(found.by_archetype().map(|(archetype, _)| archetype));
        self.sync_for_move(destinations.iter().map(|destination| destination.archetype));
        self.storage.table.require(found.rows());
        for run in found.by_archetype().flat_map(|(_, runs)| runs) {
            source.storage.make_unique(run.chunk)?;
        }
        let Self { storage, runs, names, world_transfers, .. } = self;
        let mut held = HeldValues::new(storage, &source.storage, found, &destinations);
        let plan = held.plan(runs, &source.storage, found, &destinations)?;
        let (transferred, left) = plan.move_all(&mut source.storage, is_everything);
        if transferred.may_refer() {
            *world_transfers += 1;
            source.world_transfers += 1;
        }
        held.compare_ids(&transferred.map);
        if !source.names.is_empty() {
            Arc::make_mut(names).follow(&source.names, &transferred.map);
            if is_everything {
                source.names = Arc::default();
            } else {
                source.names_mut().forget(&transferred.map);
            }
        }
        let panicked = transferred.replace_references(held.storage);
        // Remaining values are dropped last, because that runs user code.
        let dead = source.storage.shared.take_unused();
        drop((left, dead, held));
        if let Some(panic) = panicked {
            resume_unwind(panic);
        }
        Ok(transferred.map)
    }
}

impl EntityManager {
    /// Copies all entities of another world to this world. Returns the copy of each entity.
    ///
    /// The copies have all components, including those that an [instance](Self::instantiate) would lack:
    /// [`Prefab`](crate::Prefab) and [cleanup](crate::Component::CLEANUP) components. References between the copied entities
    /// become references between the copies, and all other references become null. This is Unity's `CopyEntitiesFrom`.
    ///
    /// Use [`copy_and_replace_from`](Self::copy_and_replace_from) to keep the ids.
    ///
    /// # Errors
    ///
    /// Returns an error if a component can neither be copied nor cloned, an entity is larger than a chunk of this world, or there
    /// is no memory. In these cases, and if a clone panics, nothing was copied.
    ///
    /// # Panics
    ///
    /// Panics in the cases of [`move_entities_from`](Self::move_entities_from).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone, Debug, PartialEq)]
    /// struct Name(String);
    ///
    /// let (mut templates, mut game) = (World::new("Templates"), World::new("Game"));
    /// let orc = templates.spawn(Name("Grishnákh".into()));
    /// for _ in 0..3 {
    ///     let copied = game.copy_entities_from(&templates).unwrap();
    ///     assert_eq!(game.get(copied.get(orc).unwrap()), templates.get::<Name>(orc));
    /// }
    /// assert_eq!((game.entity_count(), templates.entity_count()), (3, 1));
    /// ```
    #[track_caller]
    pub fn copy_entities_from(&mut self, source: &Self) -> Result<EntityMap, EntityError> {
        self.copy_rows_from(source, &source.found_all())
    }

    /// Copies rows of another world to this world.
    pub(crate) fn copy_rows_from(
        &mut self,
        source: &Self,
        found: &RowSelection,
    ) -> Result<EntityMap, EntityError> {
        let archetypes = || found.by_archetype().map(|(archetype, _)| archetype);
        source.storage.check_duplicable_in(archetypes())?;
        let destinations = self.destinations(&source.storage, found)?;
        source.sync_for_move(archetypes());
        self.sync_for_move(destinations.iter().map(|destination| destination.archetype));
        self.storage.table.require(found.rows());
        let Self { storage, runs, names, world_transfers, .. } = self;
        let mut held = HeldValues::new(storage, &source.storage, found, &destinations);
        let plan = held.plan(runs, &source.storage, found, &destinations)?;
        let transferred = plan.copy_all(&source.storage)?;
        *world_transfers += u64::from(transferred.may_refer());
        held.compare_ids(&transferred.map);
        if !source.names.is_empty() {
            Arc::make_mut(names).follow(&source.names, &transferred.map);
        }
        if let Some(panic) = transferred.replace_references(held.storage) {
            drop(held);
            resume_unwind(panic);
        }
        drop(held);
        let mut map = transferred.map;
        if source.found_has_links(found) {
            self.end_links_of_copies(source, &mut map)?;
        }
        Ok(map)
    }
}
