//! Coalesced commands: consecutive commands for single entities that are applied together.
//!
//! A *coalesced batch* is a sequence of commands of which none can fail. The commands are simulated, and the components and the
//! new values of each entity are recorded. A command for a despawned entity is skipped. The batch ends before a command that would
//! fail or that is of another kind. So intermediate states need not be created:
//!
//! ```text
//! commands:  spawn x (A) · add B to y · remove A from x · despawn z · add C to x · set B of y · add B to z'…
//!            │             │                              │
//!            x: created in {C}                            z: destroyed
//!                          y: moves from {A} to {A, B}, with the second value of B
//! ```
//!
//! Each entity is moved once, from its first to its last archetype, or is created or despawned. Entities with the same last
//! archetype are moved together. A value that is later removed or replaced is never written to a chunk. Entities keep their
//! shared values: a command that adds or removes a shared component ends the batch.
//!
//! 1. [`archetype_cache`] stores the intermediate sets of types, without creating archetypes for them.
//! 2. [`record`] simulates the commands. Nothing is changed.
//! 3. [`EntityManager::prepare_coalesced`] reserves rows. If there is no memory, it fails and changes nothing.
//! 4. [`apply`] moves values and ids. It cannot fail, and runs no user code. Remaining values are dropped at the end.
//!
//! Long runs of equal commands are not recorded, because that would take longer than applying them. For these,
//! [`EntityManager::is_elidable`] only determines whether all of them can be skipped.

mod apply;
mod archetype_cache;
mod record;

use ancho_collections::FixedState;
use hashbrown::HashMap;

use crate::entity::Entity;
use crate::error::EntityError;
use crate::manager::EntityManager;
use crate::storage::{NOWHERE, ReservedRows, StagingArena};
pub(crate) use apply::WriteFn;
use archetype_cache::{ArchetypeMoves, ColumnMaps, ShapeCache};
use record::RecordedOp;
pub(crate) use record::{
    ChangeSequence, CoalesceResult, InsertPlan, SequenceEnd, StagedValue, ValueOwner,
};

/// The recorded effects of consecutive commands. The memory of the lists is reused.
#[derive(Default)]
pub(crate) struct CoalescedBatch {
    shapes: ShapeCache,
    column_maps: ColumnMaps,
    moves: ArchetypeMoves,
    /// For each entity index, the position of the entity in `touched` plus one, or zero.
    marks: Vec<u32>,
    /// The entities, in the order of their first commands.
    touched: Vec<TouchedEntity>,
    ops: Vec<RecordedOp>,
    /// The positions of despawned entities in `touched`, in the order in which they are despawned.
    gone: Vec<u32>,
    /// Values outside of rows, and values that are dropped at the end.
    staging: StagingArena,
    targets: Vec<CoalesceTarget>,
    /// The positions in `touched` of entities with shared values that are moved.
    grouped: Vec<u32>,
    /// The targets of entities with shared values, by archetype and group.
    by_group: HashMap<(u32, u32), u32, FixedState>,
    /// The positions in `touched` of entities that are not moved and get new values.
    stay: Vec<u32>,
    /// The rows that entities leave. The upper 32 bits are the chunk, and the lower ones the row.
    leaving: Vec<u64>,
}

/// An entity that a recorded command refers to.
struct TouchedEntity {
    entity: Entity,
    /// The chunk of the entity, or [`NOWHERE`] if the batch creates the entity.
    chunk: u32,
    row: u32,
    /// The shape of the entity before the batch, or [`NOWHERE`].
    from: u32,
    /// The shape of the entity after the commands so far.
    shape: u32,
    /// The index of the last operation on the entity, or [`NOWHERE`].
    last: u32,
    /// The position in `touched` of the next entity with the same target.
    next: u32,
    is_alive: bool,
}

impl CoalescedBatch {
    /// Returns the staging arena for values that are written when the batch is applied.
    pub(crate) fn staging(&mut self) -> &mut StagingArena {
        &mut self.staging
    }

    /// Clears the batch, and keeps its memory. Drops values that have no other owner, which runs user code.
    pub(crate) fn clear(&mut self) {
        for touched in self.touched.drain(..) {
            self.marks[touched.entity.index() as usize] = 0;
        }
        for target in self.targets.drain(..) {
            self.shapes[target.shape].target = NOWHERE;
        }
        self.grouped.clear();
        self.by_group.clear();
        self.ops.clear();
        self.gone.clear();
        self.stay.clear();
        self.leaving.clear();
        self.staging.clear();
    }
}

impl EntityManager {
    /// Clears the batch and drops its remaining values, which runs user code. Then drops unused shared values, even after a
    /// panic.
    pub(crate) fn clear_coalesced(&mut self) {
        let _dead = self.storage.shared.take_unused();
        self.coalesced.clear();
    }
}

/// A target: the entities with the same last archetype and the same shared values.
pub(super) struct CoalesceTarget {
    pub(super) shape: u32,
    pub(super) archetype: u32,
    /// The group of the archetype, or [`NOWHERE`] if it has no groups.
    group: u32,
    /// The position in `touched` of the target's first entity.
    pub(super) first: u32,
    last: u32,
    pub(super) rows: u32,
}

impl EntityManager {
    /// Completes conflicting jobs, and reserves rows for all moves. This may run user code, which can panic. No entity has
    /// changed yet. The caller calls [`apply_coalesced`](Self::apply_coalesced) next.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no memory.
    pub(crate) fn prepare_coalesced(&mut self) -> Result<(), EntityError> {
        self.coalesced.gather();
        for at in 0..self.coalesced.targets.len() {
            let archetype = self.archetype_of_shape(self.coalesced.targets[at].shape)?;
            self.coalesced.targets[at].archetype = archetype;
        }
        for at in 0..self.coalesced.grouped.len() {
            let one = self.coalesced.grouped[at];
            self.archetype_of_shape(self.coalesced.touched[one as usize].shape)?;
        }
        let CoalescedBatch { touched, shapes, targets, grouped, .. } = &self.coalesced;
        let sources = touched.iter().filter(|touched| touched.chunk != NOWHERE);
        let sources = sources.map(|touched| shapes[touched.from].archetype);
        let others = grouped.iter().map(|&at| shapes[touched[at as usize].shape].archetype);
        let to = targets.iter().map(|target| target.archetype).chain(others);
        self.sync_for_move(sources.chain(to));
        if self.storage.chunks.may_be_shared() {
            for touched in self.coalesced.touched.iter().filter(|touched| touched.is_changed()) {
                self.storage.make_unique(touched.chunk)?;
            }
        }
        let mut reserved = ReservedRows::nothing(&mut self.storage, &mut self.runs);
        self.coalesced.gather_groups(&mut reserved);
        for target in &self.coalesced.targets {
            reserved.more(target.archetype, target.group, target.rows as usize)?;
        }
        reserved.keep();
        Ok(())
    }

    /// Finds or creates the archetype of a shape.
    fn archetype_of_shape(&mut self, shape: u32) -> Result<u32, EntityError> {
        let known = &self.coalesced.shapes[shape];
        if known.archetype != NOWHERE {
            return Ok(known.archetype);
        }
        let types = known.types.clone();
        let archetype = self.find_archetype(&types)?;
        self.coalesced.shapes.note_archetype(shape, archetype);
        Ok(archetype)
    }
}

impl CoalescedBatch {
    /// Groups the entities by their last shapes, in the order of their first commands. Moved entities with shared values are only
    /// listed in `grouped`.
    fn gather(&mut self) {
        let Self { touched, shapes, targets, grouped, stay, leaving, .. } = self;
        for at in 0..touched.len() {
            let one = &touched[at];
            if one.is_leaving() {
                leaving.push(u64::from(one.chunk) << 32 | u64::from(one.row));
            } else if one.chunk != NOWHERE {
                if one.last != NOWHERE {
                    stay.push(at as u32);
                }
                continue;
            }
            if !one.is_alive {
                continue;
            }
            let shape = &mut shapes[one.shape];
            if shape.has_shared {
                grouped.push(at as u32);
            } else if shape.target == NOWHERE {
                shape.target = targets.len() as u32;
                targets.push(CoalesceTarget::new(one.shape, NOWHERE, NOWHERE, at as u32));
            } else {
                targets[shape.target as usize].push(at as u32, touched);
            }
        }
    }

    /// Groups the moved entities with shared values by archetype and group.
    fn gather_groups(&mut self, reserved: &mut ReservedRows<'_>) {
        let Self { touched, shapes, targets, moves, grouped, by_group, .. } = self;
        let mut last = (NOWHERE, NOWHERE, 0);
        for &at in &*grouped {
            let one = &touched[at as usize];
            // Often the entity has the same source and target as the previous one.
            if (last.0, last.1) == (one.chunk, one.shape) {
                targets[last.2 as usize].push(at, touched);
                continue;
            }
            let (shape, archetype) = (one.shape, shapes[one.shape].archetype);
            let from = shapes[one.from].archetype;
            let archetype_move = moves.get(from, archetype, &reserved.storage.archetypes);
            let group = reserved.group_by(&archetype_move.transfer, one.chunk);
            let next = targets.len() as u32;
            let number = *by_group.entry((archetype, group)).or_insert(next);
            last = (one.chunk, shape, number);
            if number == next {
                targets.push(CoalesceTarget::new(shape, archetype, group, at));
            } else {
                targets[number as usize].push(at, touched);
            }
        }
    }
}

impl CoalesceTarget {
    /// Creates a target with one entity, given by its position in `touched`.
    fn new(shape: u32, archetype: u32, group: u32, first: u32) -> Self {
        Self { shape, archetype, group, first, last: first, rows: 1 }
    }

    /// Adds an entity to the target, given by its position in `touched`.
    fn push(&mut self, at: u32, touched: &mut [TouchedEntity]) {
        let last = std::mem::replace(&mut self.last, at);
        self.rows += 1;
        touched[last as usize].next = at;
    }
}

impl TouchedEntity {
    /// Returns whether the entity leaves its row.
    fn is_leaving(&self) -> bool {
        self.chunk != NOWHERE && (!self.is_alive || self.shape != self.from)
    }

    /// Returns whether the row of the entity changes.
    fn is_changed(&self) -> bool {
        self.is_leaving() || (self.chunk != NOWHERE && self.last != NOWHERE)
    }
}
