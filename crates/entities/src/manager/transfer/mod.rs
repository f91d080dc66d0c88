//! Moving and copying entities between worlds.
//!
//! A transfer has three steps, so that it is made as a whole or not at all:
//!
//! 1. [`plan`] decides where the rows of each source chunk go, and reserves rows for those whose chunk is not handed over. It fails
//!    without memory. Finding shared values is user code. Their references are replaced here already, so that the next ids are computed
//!    in advance.
//! 2. [`TransferPlan::duplicate`] clones the values, if they are copied. That is user code, and can panic.
//! 3. [`TransferPlan::move_all`] or [`TransferPlan::copy_all`] moves chunks and rows, and allocates the ids. It cannot fail.
//!
//! At the end, references among the entities are replaced, and old values are dropped.

#![expect(unsafe_code, reason = "duplicates what can be duplicated, which was checked")]

mod plan;

use std::any::Any;
use std::panic::resume_unwind;
use std::sync::Arc;

use self::plan::{HeldValues, TransferMove, TransferPlan, TransferStep, TransferTarget};
use crate::entity_map::EntityMap;
use crate::error::EntityError;
use crate::field::EntityRemap;
use crate::manager::{EntityManager, RowSelection};
use crate::storage::{
    ChunkCopy, ChunkValues, ImportedRows, NewRows, OutOfMemory, Storage, duplicate_values,
    move_values,
};

/// Entities that were transferred.
#[derive(Default)]
struct Transferred {
    /// Their old and new ids.
    map: EntityMap,
    /// The rows with components that can refer to entities.
    referring: Vec<ImportedRows>,
}

impl Transferred {
    /// Replaces references among the transferred entities, and sets all others to null. Returns the first panic of user code, after
    /// replacing the remaining references.
    fn replace_references(&self, storage: &mut Storage) -> Option<Box<dyn Any + Send>> {
        let mut panicked = None;
        for &arrival in &self.referring {
            let mut replacement = self.map.replacement();
            let mut remap = EntityRemap::new(&mut replacement);
            let result = storage.remap_imported(arrival, &mut remap);
            panicked = panicked.or(result);
        }
        panicked
    }
}

#[cfg(test)]
mod tests;

/// The part of the source world that moves.
#[derive(Clone, Copy, PartialEq)]
enum Extent {
    Everything,
    RowSelection,
}

impl EntityManager {
    /// Moves all entities of another world to this one. The other world is empty afterwards. Returns the new id of each entity.
    ///
    /// Chunks are handed over: components do not move in memory. The entities get ids of this world. They keep their enabled bits, shared
    /// values, [chunk components](crate::PerChunk), names, managed components and [cleanup](crate::Component::CLEANUP) components.
    /// References among the moved entities lead to their new ids; all other references are null. Entities of this world are not affected.
    /// Unity's `MoveEntitiesFrom`.
    ///
    /// Change filters match all entities that moved.
    ///
    /// If the layouts of chunks differ, as with another [chunk size](crate::WorldSettings::chunk_size), the components are moved to
    /// chunks of this world, and chunk components are dropped.
    ///
    /// # Errors
    ///
    /// If an entity is larger than a chunk of this world. If there is no memory for rows, or for copies of memory that the other world
    /// shares with forks. Then nothing has moved.
    ///
    /// # Panics
    ///
    /// If there would be more than 2³¹ entities. Nothing has moved then. If user code panics while references are replaced, such as the
    /// comparison of a set's elements. Then everything has moved, and all other references were replaced.
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
    pub fn move_entities_from(&mut self, source: &mut Self) -> Result<EntityMap, EntityError> {
        let all = source.found_all();
        self.move_found(source, &all, Extent::Everything)
    }

    /// Moves rows of another world to this one.
    pub(crate) fn move_rows_from(
        &mut self,
        source: &mut Self,
        found: &RowSelection,
    ) -> Result<EntityMap, EntityError> {
        self.move_found(source, found, Extent::RowSelection)
    }

    fn move_found(
        &mut self,
        source: &mut Self,
        found: &RowSelection,
        extent: Extent,
    ) -> Result<EntityMap, EntityError> {
        let destinations = self.destinations(&source.storage, found)?;
        source.sync_for_move(found.by_archetype().map(|(archetype, _)| archetype));
        self.sync_for_destinations(&destinations);
        self.storage.table.require(found.rows());
        for (_, runs) in found.by_archetype() {
            for run in runs {
                source.storage.make_unique(run.chunk)?;
            }
        }
        let Self { storage, runs, names, world_transfers, .. } = self;
        let mut held = HeldValues::new(storage, &source.storage, found, &destinations);
        let plan = TransferPlan::new(&mut held, runs, &source.storage, found, &destinations)?;
        let (transferred, left) = plan.move_all(&mut source.storage, extent == Extent::Everything);
        if !transferred.referring.is_empty() {
            *world_transfers += 1;
            source.world_transfers += 1;
        }
        debug_assert!(
            held.is_expected(&transferred.map),
            "the entities are others than was expected"
        );
        if !source.names.is_empty() {
            Arc::make_mut(names).follow(&source.names, &transferred.map);
            match extent {
                Extent::Everything => source.names = Arc::default(),
                Extent::RowSelection => source.names_mut().forget(&transferred.map),
            }
        }
        let panicked = transferred.replace_references(held.storage);
        // Dropped last, since that is user code.
        let dead = source.storage.shared.take_unused();
        drop((left, dead, held));
        if let Some(panic) = panicked {
            resume_unwind(panic);
        }
        Ok(transferred.map)
    }
}

impl EntityManager {
    /// Copies all entities of another world to this one. Returns the copy of each entity.
    ///
    /// The copies have all components, also those that an [instance](Self::instantiate) would lack: [`Prefab`](crate::Prefab) and
    /// [cleanup](crate::Component::CLEANUP) components. References among the copied entities lead to the copies; all other references are
    /// null. Unity's `CopyEntitiesFrom`.
    ///
    /// [`copy_and_replace_from`](Self::copy_and_replace_from) keeps the ids.
    ///
    /// # Errors
    ///
    /// If a component can neither be copied nor cloned, an entity is larger than a chunk of this world, or there is no memory.
    /// Then nothing was copied, also if a clone panics.
    ///
    /// # Panics
    ///
    /// The panics of [`move_entities_from`](Self::move_entities_from).
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
    pub fn copy_entities_from(&mut self, source: &Self) -> Result<EntityMap, EntityError> {
        self.copy_rows_from(source, &source.found_all())
    }

    /// Copies rows of another world to this one.
    pub(crate) fn copy_rows_from(
        &mut self,
        source: &Self,
        found: &RowSelection,
    ) -> Result<EntityMap, EntityError> {
        let archetypes = || found.by_archetype().map(|(archetype, _)| archetype);
        if let Some(component) = source.storage.not_duplicable_in(archetypes()) {
            return Err(EntityError::NotDuplicable { component });
        }
        let destinations = self.destinations(&source.storage, found)?;
        source.sync_for_move(archetypes());
        self.sync_for_destinations(&destinations);
        self.storage.table.require(found.rows());
        let Self { storage, runs, names, world_transfers, .. } = self;
        let mut held = HeldValues::new(storage, &source.storage, found, &destinations);
        let plan = TransferPlan::new(&mut held, runs, &source.storage, found, &destinations)?;
        // SAFETY: all archetypes were checked to be duplicable. The copies are passed to `copy_all`, or dropped before the plan.
        let copies = unsafe { plan.duplicate(&source.storage)? };
        let transferred = plan.copy_all(&source.storage, copies);
        *world_transfers += u64::from(!transferred.referring.is_empty());
        debug_assert!(
            held.is_expected(&transferred.map),
            "the entities are others than was expected"
        );
        if !source.names.is_empty() {
            Arc::make_mut(names).follow(&source.names, &transferred.map);
        }
        if let Some(panic) = transferred.replace_references(held.storage) {
            drop(held);
            resume_unwind(panic);
        }
        Ok(transferred.map)
    }
}

/// Copied values without an owner. They are dropped if user code panics.
pub(super) struct Copies<'a> {
    /// The copies of whole chunks, in the order of their steps.
    chunks: Vec<ChunkCopy>,
    /// The copies of the moves.
    rows: Vec<NewRows<'a>>,
}

impl TransferPlan<'_, '_> {
    /// Moves the planned rows out of the other world, whose chunks are unshared. If they are all its rows, its ids are reused from the
    /// first on. Returns the transferred entities, and the chunk components that are left.
    ///
    /// It cannot fail, and runs no user code.
    pub(super) fn move_all(
        self,
        source: &mut Storage,
        is_everything: bool,
    ) -> (Transferred, Vec<ChunkValues>) {
        let Self { reserved, steps, targets, moves } = self;
        let storage = reserved.into_storage();
        let mut transferred = Transferred::default();
        let mut left = Vec::new();
        let mut old_ids = Vec::new();
        for step in &steps {
            let target = &targets[step.target];
            if !is_everything {
                let entities = source.chunks[step.chunk()].entities();
                for run in step.runs {
                    source.table.free_rows(&entities[run.first as usize..][..run.rows as usize]);
                }
            }
            if step.is_whole {
                source.chunks[step.chunk()].note_order(source.version);
                let chunk = source.retire_chunk(step.chunk());
                let TransferTarget { archetype, group, .. } = *target;
                // SAFETY: the plan checked that both shapes have the same layout and chunk size, and that the group belongs to the
                // archetype. The caller says that the memory is unshared.
                let arrival = unsafe {
                    storage.import_chunk(
                        chunk,
                        archetype,
                        group,
                        &mut old_ids,
                        &mut transferred.map,
                    )
                };
                transferred.note(target, arrival);
                continue;
            }
            for &TransferMove { chunk, first, to } in &moves[step.moves.clone()] {
                let from = &source.chunks[chunk];
                // SAFETY: the source rows exist, and the target rows are reserved, in chunks of two worlds with the same types.
                let arrival = unsafe {
                    move_values(from, first, &storage.chunks[to.chunk], to);
                    storage.import_rows(from, first, to, &mut transferred.map)
                };
                transferred.note(target, arrival);
            }
            // SAFETY: the values of the rows were moved, and their entities are freed, or all entities are freed at the end.
            left.extend(unsafe { remove_rows(source, step) });
        }
        if is_everything {
            source.table.clear();
        }
        transferred.map.put_in_order();
        (transferred, left)
    }

    /// Duplicates all planned values of the other world. That is user code; if it panics, all copies are dropped.
    ///
    /// # Safety
    ///
    /// - all types of the rows can be duplicated
    /// - the result is dropped before the plan, or passed to [`copy_all`](Self::copy_all)
    pub(super) unsafe fn duplicate<'a>(&self, source: &Storage) -> Result<Copies<'a>, OutOfMemory> {
        let mut copies = Copies { chunks: Vec::new(), rows: Vec::with_capacity(self.moves.len()) };
        let storage = &*self.reserved.storage;
        for step in &self.steps {
            if step.is_whole {
                // SAFETY: the caller says that all types can be duplicated. The plan checked that both shapes have the same layout.
                copies.chunks.push(unsafe { storage.copy_chunk(source, step.chunk())? });
            }
            for &TransferMove { chunk, first, to } in &self.moves[step.moves.clone()] {
                let (from, target) = (&source.chunks[chunk], &storage.chunks[to.chunk]);
                // SAFETY: the source rows exist, and the target rows are reserved, in chunks of two worlds with the same types. The
                // caller says that all can be duplicated. Archetypes and rows exist as long as the plan.
                copies.rows.push(unsafe { duplicate_values(from, first, target, to) });
            }
        }
        Ok(copies)
    }

    /// Makes entities of the copies. It cannot fail, and runs no user code.
    pub(super) fn copy_all(self, source: &Storage, copies: Copies<'_>) -> Transferred {
        let Self { reserved, steps, targets, moves } = self;
        let storage = reserved.into_storage();
        let mut transferred = Transferred::default();
        let mut old_ids = Vec::new();
        copies.rows.into_iter().for_each(NewRows::keep);
        let mut chunks = copies.chunks.into_iter();
        for step in &steps {
            let target = &targets[step.target];
            if step.is_whole {
                let copy = chunks.next().expect("there is one for each");
                let of = &source.chunks[step.chunk()];
                let TransferTarget { archetype, group, .. } = *target;
                let map = &mut transferred.map;
                // SAFETY: the plan checked that both shapes have the same layout, and that the group belongs to the archetype. The copy
                // is that of the whole chunk.
                let arrival =
                    unsafe { storage.import_copy(copy, of, archetype, group, &mut old_ids, map) };
                transferred.note(target, arrival);
            }
            for &TransferMove { chunk, first, to } in &moves[step.moves.clone()] {
                let from = &source.chunks[chunk];
                // SAFETY: the source rows exist, and the target rows are reserved and have values, in chunks with the same types.
                let arrival = unsafe { storage.import_rows(from, first, to, &mut transferred.map) };
                transferred.note(target, arrival);
            }
        }
        transferred.map.put_in_order();
        transferred
    }
}

impl Transferred {
    /// Records transferred rows.
    fn note(&mut self, target: &TransferTarget, arrival: ImportedRows) {
        if target.refers {
            self.referring.push(arrival);
        }
    }
}

/// Removes rows from their chunk, or the chunk from all lists if it has no others. Returns its chunk components.
///
/// # Safety
///
/// - the values of the rows were moved, and their entities are freed
unsafe fn remove_rows(storage: &mut Storage, step: &TransferStep<'_>) -> Option<ChunkValues> {
    let number = step.chunk();
    if step.rows() == storage.chunks[number].len {
        storage.chunks[number].note_order(storage.version);
        let (_, values, ..) = storage.retire_chunk(number).into_parts();
        return Some(values);
    }
    // From the last on, so that no removed row fills the gap of another.
    for run in step.runs.iter().rev() {
        // SAFETY: the chunk has more rows, and was made unique. The caller says that the values were moved, and the entities freed.
        unsafe { storage.close_gap(number, run.first, run.rows, &[]) };
    }
    None
}
