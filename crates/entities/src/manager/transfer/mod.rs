//! Entities that come from another world: they are moved, or copied.
//!
//! Whatever comes, comes in three steps, so that it comes as a whole, or not at all:
//!
//! 1. [`plan`]: where the rows of each chunk of the other world go is decided, and room is made for those whose chunk does not come
//!    with them. Shared values are looked for, which is code of the user, and memory can be missing. Those that refer to entities are
//!    replaced before, so that it has to be expected which ids there will be.
//! 2. Values are cloned, if they are copied: that too is code of the user, and can panic. Those that are moved stay where they are.
//! 3. [`apply`]: chunks and rows go where they belong, and their entities get ids. Nothing is refused any more.
//!
//! When all that is done, references among what has come are replaced, and what is left over is dropped.
#![expect(unsafe_code, reason = "duplicates what can be duplicated, which was checked")]

use std::any::Any;
use std::panic::resume_unwind;
use std::sync::Arc;

use self::plan::{HeldValues, TransferMove, TransferPlan, TransferStep, TransferTarget};
use crate::entity_map::EntityMap;
use crate::error::EntityError;
use crate::field::EntityRemap;
use crate::manager::{EntityManager, RowSelection};
use crate::storage::{
    Arrival, ChunkCopy, ChunkValues, NewRows, OutOfMemory, Storage, duplicate_values, move_values,
};

mod plan;

/// Entities that have come.
#[derive(Default)]
struct Transferred {
    /// Which they were, and which they are.
    map: EntityMap,
    /// Those of them that may refer to entities.
    referring: Vec<Arrival>,
}

impl Transferred {
    /// Replaces references among what has come, and takes away all others. Returns what the first value panics with that does:
    /// the others are replaced all the same.
    fn replace_references(&self, storage: &mut Storage) -> Option<Box<dyn Any + Send>> {
        let mut panicked = None;
        for &arrival in &self.referring {
            let mut replacement = self.map.replacement();
            let mut remap = EntityRemap::new(&mut replacement);
            let result = storage.remap_arrival(arrival, &mut remap);
            panicked = panicked.or(result);
        }
        panicked
    }
}

#[cfg(test)]
mod tests;

/// How much moves.
#[derive(Clone, Copy, PartialEq)]
enum Extent {
    Everything,
    RowSelection,
}

impl EntityManager {
    /// Moves all entities of another world here. That world has none afterwards, and is as good as new. Returns which entity
    /// became which.
    ///
    /// Chunks are handed over as they are: components stay where they are in memory, however many there are. The entities get
    /// ids of this world. Everything else comes with them: what is switched off, shared values, the values of
    /// [chunks](crate::PerChunk), names, managed components, and what [stays](crate::Component::CLEANUP) of entities that were
    /// despawned. Components and shared values that refer to entities which move refer to what these become; all other references are
    /// null. Entities that were there already are not touched. Unity's `MoveEntitiesFrom`.
    ///
    /// For queries that ask for changes, everything that has come was changed now, and came now.
    ///
    /// If the worlds divide chunks differently, as with another [chunk size](crate::WorldSettings::chunk_size), the components
    /// are moved to chunks of this world, and the values of the old chunks are dropped.
    ///
    /// # Errors
    ///
    /// If an entity is larger than a chunk of this world, or there is no memory: for what is moved to other chunks, or for
    /// copies of what the other world shares with forks. Then nothing has moved.
    ///
    /// # Panics
    ///
    /// If there would be more than 2³¹ entities. Nothing has moved then. If code of the user panics that is called when references are
    /// replaced, as where values in a set are put in order again: then everything has moved, and all other references were replaced.
    ///
    /// # Complexity
    ///
    /// Linear in the number of entities, which get other ids, and in the number of values that refer to entities. Components that
    /// refer to none cost nothing.
    ///
    /// # Determinism
    ///
    /// New ids are handed out chunk by chunk, in the order of [`iter_entities`](Self::iter_entities) of the other world.
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
    /// A world is not moved into itself:
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

    /// Moves what was found in another world here.
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
        // Only now, since it is code of the user.
        let dead = source.storage.shared.take_dead();
        drop((left, dead, held));
        if let Some(panic) = panicked {
            resume_unwind(panic);
        }
        Ok(transferred.map)
    }
}

impl EntityManager {
    /// Copies all entities of another world to this one. Returns which entity was copied to which.
    ///
    /// The copies have everything that the entities have, also what an [instance](Self::instantiate) would not: they are prefabs
    /// where those are, and have components that [stay](crate::Component::CLEANUP). Components and shared values that refer to
    /// entities which are copied refer to the copies; all other references are null. Unity's `CopyEntitiesFrom`.
    ///
    /// To have a world like another, with the same ids, see [`copy_and_replace_from`](Self::copy_and_replace_from).
    ///
    /// # Errors
    ///
    /// If a component can neither be copied nor cloned, an entity is larger than a chunk of this world, or there is no memory.
    /// Then nothing was copied, also if a clone panics.
    ///
    /// # Panics
    ///
    /// As [`move_entities_from`](Self::move_entities_from).
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

    /// Copies what was found in another world to this one.
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
        // SAFETY: that everything can be duplicated was checked. What is returned goes first, or is given away.
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

/// What is copied, and was not given to anybody yet: dropped if something panics.
pub(super) struct Copies<'a> {
    /// Of the steps whose chunk comes whole, in their order.
    chunks: Vec<ChunkCopy>,
    /// Of the moves.
    rows: Vec<NewRows<'a>>,
}

impl TransferPlan<'_, '_> {
    /// Moves what was planned out of the other world, whose chunks that are to come are its alone. If it is everything that world has,
    /// its ids are handed out again from the first on. Returns what has come, and the values that chunks had for themselves and
    /// nobody has any more.
    ///
    /// Nothing is refused, and no code of the user runs.
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
                // SAFETY: the plan has found that the shapes are as good as each other, the chunks as large, and that the group is one
                // of the archetype. The memory is the world's alone, as the caller says.
                let arrival = unsafe {
                    storage.adopt_chunk(chunk, archetype, group, &mut old_ids, &mut transferred.map)
                };
                transferred.note(target, arrival);
                continue;
            }
            for &TransferMove { chunk, first, to } in &moves[step.moves.clone()] {
                let from = &source.chunks[chunk];
                // SAFETY: the rows were found, and the others reserved, in chunks of two worlds which have the same types.
                let arrival = unsafe {
                    move_values(from, first, &storage.chunks[to.chunk], to);
                    storage.admit_rows(from, first, to, &mut transferred.map)
                };
                transferred.note(target, arrival);
            }
            // SAFETY: the values of the rows were moved, and the entities are gone, or all will be.
            left.extend(unsafe { take_away(source, step) });
        }
        if is_everything {
            source.table.clear();
        }
        transferred.map.put_in_order();
        (transferred, left)
    }

    /// Makes copies of all values that were planned to come from the other world. Code of the user runs; if it panics, nothing is
    /// left.
    ///
    /// # Safety
    ///
    /// - all types that were found there can be duplicated
    /// - what is returned goes before the plan does, or is given to [`copy_all`](Self::copy_all)
    pub(super) unsafe fn duplicate<'a>(&self, source: &Storage) -> Result<Copies<'a>, OutOfMemory> {
        let mut copies = Copies { chunks: Vec::new(), rows: Vec::with_capacity(self.moves.len()) };
        let storage = &*self.reserved.storage;
        for step in &self.steps {
            if step.is_whole {
                // SAFETY: as the caller promises. The plan has found that the shapes are as good as each other.
                copies.chunks.push(unsafe { storage.copy_chunk(source, step.chunk())? });
            }
            for &TransferMove { chunk, first, to } in &self.moves[step.moves.clone()] {
                let (from, target) = (&source.chunks[chunk], &storage.chunks[to.chunk]);
                // SAFETY: the rows were found, and the others reserved, in chunks of two worlds which have the same types. All can be
                // duplicated, as the caller promises, and the archetypes and the rows are there as long as the plan.
                copies.rows.push(unsafe { duplicate_values(from, first, target, to) });
            }
        }
        Ok(copies)
    }

    /// Lets copies of what was planned be seen. Nothing is refused, and no code of the user runs.
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
                // SAFETY: the plan has found that the shapes are as good as each other, and the group is one of the archetype. The copy
                // is one of the whole chunk.
                let arrival =
                    unsafe { storage.adopt_copy(copy, of, archetype, group, &mut old_ids, map) };
                transferred.note(target, arrival);
            }
            for &TransferMove { chunk, first, to } in &moves[step.moves.clone()] {
                let from = &source.chunks[chunk];
                // SAFETY: the rows were found, and the others reserved, in chunks which have the same types. They have values.
                let arrival = unsafe { storage.admit_rows(from, first, to, &mut transferred.map) };
                transferred.note(target, arrival);
            }
        }
        transferred.map.put_in_order();
        transferred
    }
}

impl Transferred {
    /// Notes rows that have come.
    fn note(&mut self, target: &TransferTarget, arrival: Arrival) {
        if target.refers {
            self.referring.push(arrival);
        }
    }
}

/// Takes rows out of their chunk, or the chunk out of all lists if they are all it has. Returns the values that it had for itself.
///
/// # Safety
///
/// - the values of the rows were moved, and their entities are gone
unsafe fn take_away(storage: &mut Storage, step: &TransferStep<'_>) -> Option<ChunkValues> {
    let number = step.chunk();
    if step.rows() == storage.chunks[number].len {
        storage.chunks[number].note_order(storage.version);
        let (_, values, ..) = storage.retire_chunk(number).into_parts();
        return Some(values);
    }
    // From the last on, so that the rows that take the place of others are none of those that are to go.
    for run in step.runs.iter().rev() {
        // SAFETY: the chunk has more rows, and was made the world's alone. The rest is as the caller promises.
        unsafe { storage.close_gap(number, run.first, run.rows, &[]) };
    }
    None
}
