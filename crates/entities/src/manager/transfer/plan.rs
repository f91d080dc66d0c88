//! The plan of a transfer: the targets of all rows, and reserved rows for those without their chunks.

use std::ops::Range;

use ancho_collections::FixedState;
use hashbrown::{HashMap, HashSet};

use crate::entity_map::EntityMap;
use crate::error::EntityError;
use crate::field::EntityRemap;
use crate::manager::bulk::RowCursor;
use crate::manager::{EntityManager, RowSelection};
use crate::storage::{
    Chunk, NOWHERE, OutOfMemory, ReservedRows, RowRange, SharedLookup, SharedLookups, SharedSource,
    Storage,
};

/// The rows of one source chunk, and their target.
pub(super) struct TransferStep<'f> {
    /// The transferred runs of the chunk.
    pub(super) runs: &'f [RowRange],
    pub(super) target: usize,
    /// The chunk is handed over with its rows.
    pub(super) is_whole: bool,
    /// Its moves, if it is not.
    pub(super) moves: Range<usize>,
}

/// A target of rows: a group of an archetype, or an archetype without groups.
pub(super) struct TransferTarget {
    pub(super) archetype: u32,
    pub(super) group: u32,
    /// Its components can refer to entities.
    pub(super) refers: bool,
    /// The number of rows that come without their chunks.
    rows: usize,
}

/// A move of contiguous rows to contiguous rows.
pub(super) struct TransferMove {
    pub(super) chunk: u32,
    pub(super) first: u32,
    pub(super) to: RowRange,
}

/// All steps of a transfer, with reserved rows. Dropping it changes nothing.
pub(super) struct TransferPlan<'d, 'f> {
    pub(super) reserved: ReservedRows<'d>,
    pub(super) steps: Vec<TransferStep<'f>>,
    pub(super) targets: Vec<TransferTarget>,
    pub(super) moves: Vec<TransferMove>,
}

/// The target archetype of a source archetype.
pub(super) struct Destination {
    archetype: u32,
    /// Its chunks have the same layout as the source chunks.
    is_same: bool,
}

/// Shared values of the other world, and their places here. Keeps them alive while no chunk has them.
pub(super) struct HeldValues<'d> {
    pub(super) storage: &'d mut Storage,
    /// Table and index in the other world: table and index here.
    known: HashMap<(u32, u32), (u32, u32), FixedState>,
    /// The old and new ids, if shared values refer to entities.
    expected: Option<EntityMap>,
}

impl TransferStep<'_> {
    /// Returns the number of the chunk.
    pub(super) fn chunk(&self) -> u32 {
        self.runs[0].chunk
    }

    /// Returns the number of rows.
    pub(super) fn rows(&self) -> u32 {
        self.runs.iter().map(|run| run.rows).sum()
    }
}

impl EntityManager {
    /// Finds or creates the archetypes of this world for rows of another.
    pub(super) fn destinations(
        &mut self,
        source: &Storage,
        found: &RowSelection,
    ) -> Result<Vec<Destination>, EntityError> {
        let all = found.by_archetype().map(|(from, _)| {
            let shape = &source.archetypes[from].shape;
            let archetype = self.find_archetype(&shape.types)?;
            // Memory of another size could not be reused by other archetypes of this world.
            let is_same = source.settings.chunk_size == self.storage.settings.chunk_size
                && shape.has_same_layout(&self.storage.archetypes[archetype].shape);
            Ok(Destination { archetype, is_same })
        });
        all.collect()
    }

    /// Completes jobs that conflict with new rows in archetypes.
    pub(super) fn sync_for_destinations(&self, destinations: &[Destination]) {
        self.sync_for_move(destinations.iter().map(|destination| destination.archetype));
    }
}

impl<'d> HeldValues<'d> {
    /// Finds or inserts the shared values of rows of another world. Runs user code.
    pub(super) fn new(
        storage: &'d mut Storage,
        source: &Storage,
        found: &RowSelection,
        destinations: &[Destination],
    ) -> Self {
        let mut sought = SharedLookups::default();
        let mut places = Vec::new();
        let mut seen = HashSet::<(u32, u32), FixedState>::default();
        // The new ids are computed once the first value needs them.
        let mut expected = None;
        for ((from, runs), destination) in found.by_archetype().zip(destinations) {
            let Some(groups) = storage.archetypes.groups(destination.archetype) else { continue };
            debug_assert!(source.archetypes.groups(from).is_some());
            for run in runs {
                let values = source.archetypes.values_of(&source.chunks[run.chunk]);
                for ((table, index), &here) in values.zip(&groups.tables) {
                    if !seen.insert((table, index)) {
                        continue;
                    }
                    let remapped = source.shared.may_refer(table).then(|| {
                        let map =
                            expected.get_or_insert_with(|| map_to_next_ids(storage, source, found));
                        let mut replacement = map.replacement();
                        let mut map = EntityRemap::new(&mut replacement);
                        source.shared.remapped(table, index, &mut map)
                    });
                    let remapped = remapped.flatten();
                    let value = remapped.as_ref().unwrap_or(source.shared.value(table, index));
                    sought.look_up(&storage.shared, here, value);
                    places.push((table, index));
                }
            }
        }
        let known = places.into_iter().zip(sought.hold(&mut storage.shared)).collect();
        Self { storage, known, expected }
    }

    /// Returns whether the new ids are those that the values were remapped to.
    pub(super) fn is_expected(&self, map: &EntityMap) -> bool {
        self.expected.as_ref().is_none_or(|expected| expected.iter().eq(map.iter()))
    }
}

impl Drop for HeldValues<'_> {
    fn drop(&mut self) {
        // Sorted, since the order decides which places are reused.
        let mut held: Vec<_> = self.known.values().copied().collect();
        held.sort_unstable();
        for (table, index) in held {
            self.storage.shared.let_go(table, index, 0);
        }
        drop(self.storage.shared.take_unused());
    }
}

impl<'d, 'f> TransferPlan<'d, 'f> {
    /// Decides the targets of all rows, and reserves rows.
    pub(super) fn new(
        held: &'d mut HeldValues<'_>,
        runs: &'d mut Vec<RowRange>,
        source: &Storage,
        found: &'f RowSelection,
        destinations: &[Destination],
    ) -> Result<Self, OutOfMemory> {
        let HeldValues { storage, known, .. } = held;
        let mut reserved = ReservedRows::nothing(storage, runs);
        let mut targets = Vec::<TransferTarget>::new();
        let mut steps = Vec::new();
        let mut wholes = 0;
        for ((_, runs), destination) in found.by_archetype().zip(destinations) {
            // The targets of this archetype's groups, or its only target.
            let mut by_group = HashMap::<u32, usize, FixedState>::default();
            let mut by_group_here = HashMap::<u32, usize, FixedState>::default();
            let mut last = None;
            for runs in runs.chunk_by(|one, other| one.chunk == other.chunk) {
                let chunk = &source.chunks[runs[0].chunk];
                let target = match last {
                    Some((group, target)) if group == chunk.group => target,
                    _ => *by_group.entry(chunk.group).or_insert_with(|| {
                        let archetype = destination.archetype;
                        let group = group_here(&mut reserved, source, chunk, archetype, known);
                        // Values that differ there may be equal here, if they refer to entities that stay there, or if their `Eq` is
                        // inconsistent. A group has one target.
                        *by_group_here.entry(group).or_insert_with(|| {
                            let shape = &reserved.storage.archetypes[archetype].shape;
                            let refers = shape.has_references();
                            targets.push(TransferTarget { archetype, group, refers, rows: 0 });
                            targets.len() - 1
                        })
                    }),
                };
                last = Some((chunk.group, target));
                let mut step = TransferStep { runs, target, is_whole: false, moves: 0..0 };
                let rows = step.rows();
                step.is_whole = destination.is_same && rows == chunk.len;
                if step.is_whole {
                    wholes += 1;
                } else {
                    targets[target].rows += rows as usize;
                }
                steps.push(step);
            }
        }
        reserved.storage.chunks.expect(wholes);
        let mut plan = Self { reserved, steps, targets, moves: Vec::new() };
        plan.make_room()?;
        Ok(plan)
    }

    /// Reserves rows for those that come without their chunks, and assigns them.
    fn make_room(&mut self) -> Result<(), OutOfMemory> {
        let Self { reserved, steps, targets, moves } = self;
        let mut rooms = Vec::with_capacity(targets.len());
        for target in targets.iter() {
            rooms.push(RowCursor::after(reserved.runs));
            reserved.more(target.archetype, target.group, target.rows)?;
        }
        for step in steps.iter_mut().filter(|step| !step.is_whole) {
            let begin = moves.len();
            let room = &mut rooms[step.target];
            for &run in step.runs {
                room.assign(reserved.runs, run, |first, to| {
                    moves.push(TransferMove { chunk: run.chunk, first, to });
                });
            }
            step.moves = begin..moves.len();
        }
        Ok(())
    }
}

/// Maps the entities of rows to the next ids, in their order.
fn map_to_next_ids(storage: &Storage, source: &Storage, found: &RowSelection) -> EntityMap {
    let upcoming = storage.table.next_ids(found.rows(), Vec::new());
    let mut map = EntityMap::default();
    let (mut new, mut done) = (Vec::new(), 0);
    for run in found.by_archetype().flat_map(|(_, runs)| runs) {
        let entities = source.chunks[run.chunk].entities();
        let old = &entities[run.first as usize..][..run.rows as usize];
        new.clear();
        new.extend((done..).take(old.len()).map(|at| upcoming.get(at)));
        map.add(old, &new);
        done += old.len();
    }
    map.put_in_order();
    map
}

/// Returns the group of an archetype with the shared values of a chunk of another world.
fn group_here(
    reserved: &mut ReservedRows<'_>,
    source: &Storage,
    chunk: &Chunk,
    archetype: u32,
    known: &HashMap<(u32, u32), (u32, u32), FixedState>,
) -> u32 {
    if chunk.group == NOWHERE {
        return NOWHERE;
    }
    let values =
        source.archetypes.values_of(chunk).map(|there| SharedLookup::Found(known[&there].1));
    let values: Vec<_> = values.collect();
    let sources: Vec<_> = (0..values.len() as u32).map(SharedSource::Given).collect();
    let wanted = reserved.storage.group_key(&sources, None, &values);
    reserved.group_of(archetype, wanted)
}
