//! The plan of a bulk change: an action for the rows of each chunk, and reserved rows for rows that move.

use ancho_collections::FixedState;
use hashbrown::HashMap;

use super::apply::{NewValues, is_pattern_of};
use super::{BulkChange, RowSelection};
use crate::component::{ComponentType, Copying};
use crate::error::EntityError;
use crate::manager::EntityManager;
use crate::storage::{
    CHUNK_ALIGN, Chunk, ChunkMemory, DeferredDrop, INLINE_SHARED, InlineVec, NOWHERE, OutOfMemory,
    ReservedRows, RowCursor, RowRange, SetOperation, SharedLookup, StagedRows, Storage, Transfer,
    Transfers,
};

/// The selected rows of one chunk, and the action for them.
pub(super) struct BulkStep {
    pub(super) chunk: u32,
    /// The index of the first run in the chunk. `run_count` runs belong to the chunk.
    pub(super) first_run: u32,
    pub(super) run_count: u32,
    /// The number of rows in these runs.
    pub(super) rows: u32,
    /// The number of the transfer, or [`NOWHERE`] if the entities are despawned.
    pub(super) transfer: u32,
    pub(super) action: RowAction,
}

/// The action for the selected rows of a chunk.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum RowAction {
    /// The action is not determined yet.
    Open,
    /// The rows are not changed.
    Stay,
    /// The rows are not moved, and get new values.
    Replace,
    /// The whole chunk moves to this group of the transfer's archetype.
    Whole(u32),
    /// The rows move to the target with this number.
    Rows(u32),
    /// The rows move to this group of the transfer's archetype, into memory that earlier steps have freed.
    Follow(u32),
    /// The chunk is repacked in place, up to the capacity of the transfer's archetype, and moves to this group of that archetype.
    /// The remaining rows move to other chunks.
    Refit(u32),
    /// The entities are despawned.
    Destroy,
}

/// A target of rows: a group of an archetype, or an archetype without groups.
#[derive(Default)]
struct BulkTarget {
    archetype: u32,
    group: u32,
    /// The number of rows that move to the target.
    rows: usize,
    /// True if a chunk of the target has room, or will have room after the change.
    has_room: bool,
    /// The number of free rows in the chunks that `Follow` steps fill.
    left: usize,
    room: RowCursor,
}

/// The steps of one archetype.
struct StepRange {
    archetype: u32,
    /// The index after the last step.
    end: usize,
    /// The number of steps that move a whole chunk to another archetype.
    whole: usize,
}

/// The parts of a chunk that determine the action for its rows.
#[derive(Clone, Copy)]
struct ChunkFill {
    archetype: u32,
    rows: u32,
    capacity: u32,
    may_be_shared: bool,
}

impl ChunkFill {
    #[inline]
    fn new(chunk: &Chunk) -> Self {
        let (archetype, rows, capacity) = (chunk.archetype, chunk.len, chunk.capacity());
        Self { archetype, rows, capacity, may_be_shared: chunk.may_be_shared() }
    }
}

/// A move of contiguous rows of a chunk to reserved rows.
pub(super) struct BulkMove {
    pub(super) chunk: u32,
    pub(super) first: u32,
    pub(super) to: RowRange,
    pub(super) transfer: u32,
}

/// The planned steps of a bulk change, with reserved rows. Dropping the plan changes nothing.
pub(super) struct BulkPlan<'s> {
    pub(super) reserved: ReservedRows<'s>,
    pub(super) lists: PlanLists,
    /// The number of entities that the plan changes.
    pub(super) changed: usize,
    /// False if every chunk stays or moves as a whole, so that no step handles single rows.
    pub(super) handles_rows: bool,
}

/// The lists of a plan, whose memory is reused by the next plan.
#[derive(Default)]
pub(super) struct PlanLists {
    /// The number of each archetype's transfer, or [`NOWHERE`] if its entities are despawned.
    pub(super) transfer_numbers: Vec<u32>,
    pub(super) steps: Vec<BulkStep>,
    /// The steps of each archetype.
    step_ranges: Vec<StepRange>,
    targets: BulkTargets,
    /// The moves of all steps, in the order of the steps.
    pub(super) moves: Vec<BulkMove>,
    /// The archetypes that lose all their chunks to other archetypes.
    pub(super) emptied: Vec<u32>,
    /// Additional chunk memory for `Follow` steps.
    pub(super) spare: Vec<ChunkMemory>,
    /// Values that are not in rows yet, or are no longer in rows.
    pub(super) staged: Vec<StagedRows>,
    /// Empty buffers for staged values.
    spare_staged: Vec<StagedRows>,
    /// Old values, which are dropped at the end of the change.
    pub(super) dead: DeferredDrop,
}

/// The maximum number of staging buffers that are kept, and their maximum size in bytes.
const KEPT: usize = 16;
const KEPT_BYTES: usize = 1 << 16;

impl PlanLists {
    /// Returns a buffer for staged values.
    pub(super) fn stage(&mut self) -> StagedRows {
        self.spare_staged.pop().unwrap_or_default()
    }

    /// Clears the lists, and keeps their memory. Drops values, which runs user code.
    pub(super) fn clear(&mut self) {
        self.transfer_numbers.clear();
        self.steps.clear();
        self.step_ranges.clear();
        self.targets.clear();
        self.moves.clear();
        self.emptied.clear();
        self.spare.clear();
        self.staged.iter_mut().for_each(StagedRows::clear);
        self.staged.retain(|staged| staged.bytes() <= KEPT_BYTES);
        self.staged.truncate(KEPT - self.spare_staged.len());
        self.spare_staged.append(&mut self.staged);
    }
}

impl BulkStep {
    /// Creates a step for `runs`, which are all selected runs of one chunk.
    fn new(first_run: u32, runs: &[RowRange], transfer: u32) -> Self {
        Self {
            chunk: runs[0].chunk,
            first_run,
            run_count: runs.len() as u32,
            rows: runs.iter().map(|run| run.rows).sum(),
            transfer,
            action: RowAction::Open,
        }
    }

    /// Returns the runs of the step.
    pub(super) fn runs<'f>(&self, found: &'f RowSelection) -> &'f [RowRange] {
        &found.runs[self.first_run as usize..][..self.run_count as usize]
    }
}

impl EntityManager {
    /// Returns the number of the transfer of a change for an archetype, or [`NOWHERE`] if its entities are despawned. Errors
    /// refer to the first entity of the run.
    pub(super) fn transfer_for(
        &mut self,
        from: u32,
        run: &RowRange,
        order: &BulkChange<'_>,
    ) -> Result<u32, EntityError> {
        let change = order.change;
        if change == SetOperation::Despawn && !self.storage.archetypes[from].shape.stays() {
            return Ok(NOWHERE);
        }
        let number = self.transfer(from, order.set, change)?;
        self.check_transfer(self.first_of(run), number, change)?;
        let transfer = &self.transfers[number];
        if change == SetOperation::AddMissing {
            self.storage.archetypes[transfer.to].shape.check_initial(transfer.initial())?;
        }
        Ok(number)
    }
}

impl<'s> BulkPlan<'s> {
    /// Determines the actions for all rows, and reserves the rows that they move to.
    ///
    /// `types` are the types of the set. `given` are its shared values by table and index. `lists` contains the transfers of the
    /// archetypes, and is empty otherwise.
    pub(super) fn new(
        mut reserved: ReservedRows<'s>,
        transfers: &Transfers,
        order: &BulkChange<'_>,
        types: &[ComponentType],
        given: &InlineVec<(u32, u32), INLINE_SHARED>,
        mut lists: PlanLists,
        found: &RowSelection,
    ) -> Result<Self, OutOfMemory> {
        let PlanLists {
            transfer_numbers, steps, step_ranges, targets, moves, emptied, spare, ..
        } = &mut lists;
        let given = given.iter().map(|&(_, index)| SharedLookup::Found(index)).collect();
        let chunks = reserved.storage.chunks.numbers();
        steps.reserve(found.runs.len().min(chunks));
        let (mut first_run, mut changed, mut handles_rows) = (0, 0, false);
        for ((from, runs), &number) in found.by_archetype().zip(&*transfer_numbers) {
            let transfer = (number != NOWHERE).then(|| &transfers[number]);
            // A new value of a shared component adds no component.
            let counts = order.change != SetOperation::Add
                || transfer.is_some_and(|transfer| transfer.missing.is_some());
            let (mut whole, mut rows) = (0, 0);
            for runs in runs.chunk_by(|one, other| one.chunk == other.chunk) {
                let mut step = BulkStep::new(first_run, runs, number);
                first_run += runs.len() as u32;
                let fill = ChunkFill::new(&reserved.storage.chunks[step.chunk]);
                step.action = match transfer {
                    None => RowAction::Destroy,
                    Some(transfer) => {
                        targets.action_for(&mut reserved, &step, fill, transfer, order, &given)
                    }
                };
                match step.action {
                    RowAction::Open | RowAction::Stay => {}
                    RowAction::Replace => handles_rows = true,
                    RowAction::Whole(_) => {
                        whole += 1;
                        rows += step.rows as usize;
                    }
                    RowAction::Rows(_)
                    | RowAction::Follow(_)
                    | RowAction::Refit(_)
                    | RowAction::Destroy => {
                        handles_rows = true;
                        rows += step.rows as usize;
                    }
                }
                if fill.may_be_shared {
                    prepare_chunk(reserved.storage, &step, transfer)?;
                }
                steps.push(step);
            }
            if counts {
                changed += rows;
            }
            if transfer.is_none_or(|transfer| transfer.to == from) {
                whole = 0;
            }
            step_ranges.push(StepRange { archetype: from, end: steps.len(), whole });
        }
        if targets.list.iter().any(|target| target.rows > 0) {
            let requires =
                |&number: &u32| number != NOWHERE && !transfers[number].required.is_empty();
            if can_follow(order, types) && !transfer_numbers.iter().any(requires) {
                targets.follow(reserved.storage, steps, transfers, spare)?;
            }
            for target in &mut targets.list {
                target.room = RowCursor::after(reserved.runs);
                reserved.more(target.archetype, target.group, target.rows)?;
            }
            targets.cut(&reserved, steps, found, moves);
        }
        list_emptied(reserved.storage, steps, step_ranges, handles_rows, emptied);
        Ok(Self { reserved, lists, changed, handles_rows })
    }
}

/// The targets of a plan, by archetype and group.
#[derive(Default)]
struct BulkTargets {
    list: Vec<BulkTarget>,
    by_place: HashMap<(u32, u32), u32, FixedState>,
}

impl BulkTargets {
    fn clear(&mut self) {
        self.list.clear();
        self.by_place.clear();
    }

    /// Returns the action for the rows of a chunk.
    fn action_for(
        &mut self,
        reserved: &mut ReservedRows<'_>,
        step: &BulkStep,
        chunk: ChunkFill,
        transfer: &Transfer,
        order: &BulkChange<'_>,
        given: &InlineVec<SharedLookup, INLINE_SHARED>,
    ) -> RowAction {
        let storage = &*reserved.storage;
        let (from, to) = (chunk.archetype, transfer.to);
        let replacing_action = || replacing_action(transfer, &storage.chunks[step.chunk]);
        let group = match order.change {
            SetOperation::Remove if transfer.present.is_none() => return RowAction::Stay,
            SetOperation::Remove if transfer.ends => return RowAction::Destroy,
            SetOperation::Add | SetOperation::Set if !transfer.shared.is_empty() => {
                let (from, given) = (Some(step.chunk), |at| given.get(at));
                let wanted = storage.group_key(&transfer.shared, from, given);
                if storage.has_group_key(step.chunk, to, &wanted) {
                    return replacing_action();
                }
                reserved.group_of(to, wanted)
            }
            SetOperation::Add if to == from => return replacing_action(),
            _ if to == from => return RowAction::Stay,
            _ if transfer.shared.is_empty() => NOWHERE,
            _ => reserved.group_by(transfer, step.chunk),
        };
        let is_whole = step.rows == chunk.rows && transfer.whole;
        let number = self.find(reserved.storage, to, group);
        let target = &mut self.list[number as usize];
        // Moving a chunk with few rows as a whole would add a sparse chunk to the other archetype each time. So its rows are
        // moved instead, if there is room for them elsewhere. There are two exceptions: a chunk with chunk components, which
        // would be lost, and a change of only a shared value, which must not change order versions.
        let is_small = to != from && chunk.rows < chunk.capacity / 2 && target.has_room;
        let has_values = || reserved.storage.chunks[step.chunk].shape().values.is_some();
        if is_whole && (!is_small || has_values()) {
            target.has_room |= chunk.rows < chunk.capacity;
            return RowAction::Whole(group);
        }
        target.rows += step.rows as usize;
        target.has_room = true;
        RowAction::Rows(number)
    }

    fn find(&mut self, storage: &Storage, archetype: u32, group: u32) -> u32 {
        // Often the target is that of the previous chunk.
        if let Some(last) = self.list.last()
            && (last.archetype, last.group) == (archetype, group)
        {
            return self.list.len() as u32 - 1;
        }
        *self.by_place.entry((archetype, group)).or_insert_with(|| {
            let has_room = !storage.archetypes.rooms(archetype, group).is_empty();
            self.list.push(BulkTarget { archetype, group, has_room, ..BulkTarget::default() });
            self.list.len() as u32 - 1
        })
    }

    /// Changes steps that only copy rows to `Follow`, so that their rows move into memory that earlier steps have freed. That
    /// needs less memory, and writes to cache lines that are still in the cache. Allocates the memory that is needed in addition.
    fn follow(
        &mut self,
        storage: &mut Storage,
        steps: &mut [BulkStep],
        transfers: &Transfers,
        spare: &mut Vec<ChunkMemory>,
    ) -> Result<(), OutOfMemory> {
        // Existing chunks with room are filled first, beginning with the last.
        for &mut BulkTarget { archetype, group, rows, ref mut left, .. } in &mut self.list {
            for at in (0..storage.archetypes.rooms(archetype, group).len()).rev() {
                if *left >= rows {
                    break;
                }
                let chunk = storage.archetypes.rooms(archetype, group)[at];
                storage.make_unique(chunk)?;
                *left += (storage.chunks[chunk].capacity() - storage.chunks[chunk].len) as usize;
            }
        }
        // `most` is the maximum number of additional chunks that are needed at any time.
        let (mut opened, mut left, mut most) = (0_usize, 0, 0);
        for step in steps {
            let RowAction::Rows(number) = step.action else { continue };
            let transfer = &transfers[step.transfer];
            let shape = &storage.archetypes[transfer.to].shape;
            // Freed memory is only guaranteed to have the common alignment of all chunks.
            if shape.values.is_some() || shape.align > CHUNK_ALIGN {
                continue;
            }
            let target = &mut self.list[number as usize];
            let chunk = &storage.chunks[step.chunk];
            let refits = step.rows == chunk.len && is_refitted(chunk, transfer, shape.capacity);
            let all = step.rows as usize;
            target.rows -= all;
            let room = &mut target.left;
            let kept = if refits { all.min(shape.capacity as usize) } else { 0 };
            let rows = all - kept;
            let missing = rows.saturating_sub(*room).div_ceil(shape.capacity as usize);
            opened += missing;
            *room = *room + missing * shape.capacity as usize - rows;
            most = most.max(opened.saturating_sub(left));
            if refits {
                step.action = RowAction::Refit(target.group);
                *room += shape.capacity as usize - kept;
                continue;
            }
            step.action = RowAction::Follow(target.group);
            let is_free = step.rows == chunk.len && !chunk.may_be_shared();
            left += usize::from(is_free && transfer.left.is_empty());
        }
        storage.chunks.expect(opened);
        let settings = &storage.settings;
        for _ in 0..most {
            spare.push(settings.arena.allocate(settings.chunk_size, CHUNK_ALIGN)?);
        }
        Ok(())
    }

    /// Assigns reserved rows to each run of the `Rows` steps.
    fn cut(
        &mut self,
        reserved: &ReservedRows<'_>,
        steps: &[BulkStep],
        found: &RowSelection,
        moves: &mut Vec<BulkMove>,
    ) {
        for step in steps {
            let RowAction::Rows(target) = step.action else { continue };
            let room = &mut self.list[target as usize].room;
            for &run in step.runs(found) {
                room.assign(reserved.runs, run, |first, to| {
                    moves.push(BulkMove { chunk: step.chunk, first, to, transfer: step.transfer });
                });
            }
        }
    }
}

/// Returns whether the rows can be moved before any new value is written.
fn can_follow(order: &BulkChange<'_>, types: &[ComponentType]) -> bool {
    match order.values {
        NewValues::Nothing => true,
        NewValues::Initial | NewValues::Each(_) => false,
        NewValues::Clones(_) => is_pattern_of(types),
    }
}

/// Returns whether a chunk is repacked for the transfer's archetype, whose chunks have this capacity.
fn is_refitted(chunk: &Chunk, transfer: &Transfer, capacity: u32) -> bool {
    // A chunk is repacked only if it is nearly full, because the other archetype would otherwise get sparse chunks.
    transfer.repacks && !chunk.may_be_shared() && chunk.len >= capacity - capacity / 4
}

/// Lists the archetypes that lose all their chunks to other archetypes. Chunks are repacked only if steps handle rows.
fn list_emptied(
    storage: &Storage,
    steps: &[BulkStep],
    ranges: &[StepRange],
    handles_rows: bool,
    emptied: &mut Vec<u32>,
) {
    let mut first = 0;
    for &StepRange { archetype, end, whole } in ranges {
        // A chunk is repacked for another archetype only.
        let is_refitted = |step: &&BulkStep| matches!(step.action, RowAction::Refit(_));
        let steps = if handles_rows { &steps[first..end] } else { &[] };
        if whole + steps.iter().filter(is_refitted).count()
            == storage.archetypes[archetype].chunks.len()
        {
            emptied.push(archetype);
        }
        first = end;
    }
}

/// Returns the action for rows that have all components of the set: their values are replaced, unless all of them are shared or
/// chunk components.
fn replacing_action(transfer: &Transfer, chunk: &Chunk) -> RowAction {
    let is_shared = |column: &u32| chunk.shape().shared.contains(column);
    if transfer.written.iter().all(is_shared) { RowAction::Stay } else { RowAction::Replace }
}

/// Makes the memory of a chunk that may be shared unshared, if its action needs that.
#[cold]
fn prepare_chunk(
    storage: &mut Storage,
    step: &BulkStep,
    transfer: Option<&Transfer>,
) -> Result<(), OutOfMemory> {
    let chunk = &storage.chunks[step.chunk];
    let is_all = step.rows == chunk.len;
    let is_written = match step.action {
        RowAction::Open | RowAction::Stay => false,
        RowAction::Replace => true,
        // A world that later copies the memory has to duplicate the new columns, too.
        RowAction::Whole(_) => {
            let (to, written) =
                transfer.map_or((0, &[][..]), |transfer| (transfer.to, &transfer.written));
            let types = &storage.archetypes[to].shape.types;
            written
                .iter()
                .any(|&column| matches!(types[column as usize].0.copying, Copying::NotAtAll))
        }
        // Values that are copied as bytes can be copied from shared memory.
        RowAction::Rows(_) | RowAction::Follow(_) | RowAction::Refit(_) => {
            !(is_all && chunk.shape().is_bytes)
        }
        RowAction::Destroy => !is_all || storage.takes_values_of(step.chunk),
    };
    if is_written {
        storage.make_unique(step.chunk)?;
    }
    Ok(())
}
