//! The plan of a transfer: the targets of all rows, and reserved rows for those that are moved without their chunks.

use ancho_collections::FixedState;
use hashbrown::{HashMap, HashSet};

use crate::entity_map::EntityMap;
use crate::error::EntityError;
use crate::field::EntityRemap;
use crate::manager::{EntityManager, RowSelection};
use crate::storage::{
    Chunk, ImportPlan, ImportStep, ImportTarget, NOWHERE, OutOfMemory, ReservedRows, RowRange,
    SharedLookup, SharedLookups, SharedSource, Storage,
};

/// The target archetype for a source archetype.
pub(super) struct Destination {
    pub(super) archetype: u32,
    /// True if chunks of both archetypes have the same size and layout.
    is_same: bool,
}

/// The shared values of another world, and their indices in this world. They are kept alive while no chunk has them.
pub(super) struct HeldValues<'d> {
    pub(super) storage: &'d mut Storage,
    /// The table and index of each value in this world, by its table and index in the other world.
    known: HashMap<(u32, u32), (u32, u32), FixedState>,
    /// The old and the expected new ids, if shared values refer to entities.
    expected: Option<EntityMap>,
}

impl EntityManager {
    /// Finds or creates the archetypes of this world for rows of another world.
    pub(super) fn destinations(
        &mut self,
        source: &Storage,
        found: &RowSelection,
    ) -> Result<Vec<Destination>, EntityError> {
        let all = found.by_archetype().map(|(from, _)| {
            let shape = &source.archetypes[from].shape;
            let archetype = self.find_archetype(&shape.types)?;
            // If the chunk sizes differ, other archetypes of this world could not reuse the memory.
            let is_same = source.settings.chunk_size == self.storage.settings.chunk_size
                && shape.has_same_layout(&self.storage.archetypes[archetype].shape);
            Ok(Destination { archetype, is_same })
        });
        all.collect()
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
        // The new ids are computed when the first value needs them.
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

    /// Checks in debug builds that the new ids are equal to those that shared values refer to.
    pub(super) fn compare_ids(&self, map: &EntityMap) {
        let is_same = |expected: &EntityMap| expected.iter().eq(map.iter());
        debug_assert!(
            self.expected.as_ref().is_none_or(is_same),
            "the ids are others than expected"
        );
    }
}

impl Drop for HeldValues<'_> {
    fn drop(&mut self) {
        self.storage.shared.let_go_all(self.known.values().copied());
    }
}

impl HeldValues<'_> {
    /// Determines the targets of all rows, and reserves rows.
    pub(super) fn plan<'p, 'f>(
        &'p mut self,
        runs: &'p mut Vec<RowRange>,
        source: &Storage,
        found: &'f RowSelection,
        destinations: &[Destination],
    ) -> Result<ImportPlan<'p, 'f>, OutOfMemory> {
        let Self { storage, known, .. } = self;
        let mut reserved = ReservedRows::nothing(storage, runs);
        let mut targets = Vec::<ImportTarget>::new();
        let mut steps = Vec::new();
        for ((_, runs), destination) in found.by_archetype().zip(destinations) {
            // The targets of this archetype, by group of the other world and by group of this world.
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
                        // Values that differ in the other world may be equal in this world, because references to entities that
                        // are not moved become null, or because their `Eq` is inconsistent. A group has only one target.
                        *by_group_here.entry(group).or_insert_with(|| {
                            let shape = &reserved.storage.archetypes[archetype].shape;
                            let refers = shape.has_references();
                            targets.push(ImportTarget { archetype, group, refers });
                            targets.len() - 1
                        })
                    }),
                };
                last = Some((chunk.group, target));
                let mut step = ImportStep::new(runs, target);
                step.is_whole = destination.is_same && step.rows() == chunk.len;
                steps.push(step);
            }
        }
        ImportPlan::new(reserved, steps, targets)
    }
}

/// Maps the entities of rows to the next ids, in the order of the rows.
fn map_to_next_ids(storage: &Storage, source: &Storage, found: &RowSelection) -> EntityMap {
    let upcoming = storage.table.next_ids(found.rows(), Vec::new());
    let mut map = EntityMap::default();
    let (mut new, mut done) = (Vec::new(), 0);
    for &run in found.by_archetype().flat_map(|(_, runs)| runs) {
        let old = source.chunks.entities_in(run);
        new.clear();
        new.extend((done..).take(old.len()).map(|at| upcoming.get(at)));
        map.add(old, &new);
        done += old.len();
    }
    map.put_in_order();
    map
}

/// Returns the group of an archetype that has the shared values of a chunk of another world.
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
    let wanted = reserved.storage.group_key(&sources, None, |at| values.get(at));
    reserved.group_of(archetype, wanted)
}
