//! Commands for single entities, carried out together.
//!
//! A *stretch* is a sequence of commands none of which can fail. It is found by going through the commands as if they were carried
//! out: of each entity that one names, it is noted what it would have now, and what it was given. Where a command would fail, or is
//! not of that kind, the stretch ends before it. Then it does not matter any more what was in between:
//!
//! ```text
//! commands:  spawn x (A) · add B to y · remove A from x · despawn z · add C to x · set B of y · add B to z'…
//!            │             │                              │
//!            x: created in {C}                            z: destroyed
//!                          y: moves from {A} to {A, B}, with the second value of B
//! ```
//!
//! Each entity goes at once from what it had to what it has in the end, or comes there, or goes; those that end alike go together. What
//! was given to it and taken again, or given twice, is never in a chunk. Shared values go along with their entities; where one is given
//! or taken, the stretch ends.
//!
//! 1. [`archetype_cache`]: which types an entity has on its way, without archetypes for them.
//! 2. [`record`]: what becomes of the entities is noted, command by command. Nothing changes.
//! 3. [`prepare`]: room is made for what moves. Memory can be missing; then nothing has changed.
//! 4. [`apply`]: values and ids go where they belong. Nothing is refused any more, and no code of the user runs. What is left over
//!    is dropped at the end.
//!
//! Of long runs of commands nothing is noted, which would take longer than carrying them out. [`elide`] only says whether all of
//! them can be left out.

use std::fmt;

use ancho_collections::FixedState;
use hashbrown::HashMap;

use crate::entity::Entity;
use crate::error::EntityError;
use crate::manager::EntityManager;
use crate::storage::{Cellar, NOWHERE, Reserved};
pub(crate) use apply::WriteFn;
use archetype_cache::{ArchetypeMoves, ColumnMaps, ShapeCache};
use record::RecordedOp;
pub(crate) use record::{ChangeSequence, InsertPlan, SequenceEnd, StagedValue, ValueOwner};

mod apply;
mod archetype_cache;
mod record;

/// What becomes of the entities that the commands of a stretch name, and memory for that, which is kept.
#[derive(Default)]
pub(crate) struct CoalescedBatch {
    shapes: ShapeCache,
    column_maps: ColumnMaps,
    moves: ArchetypeMoves,
    /// For each index of entities, one more than the place of the entity among those that are touched, or zero.
    marks: Vec<u32>,
    /// In the order in which they were first named.
    touched: Vec<TouchedEntity>,
    ops: Vec<RecordedOp>,
    /// Those of the touched that are despawned, in the order in which they are.
    gone: Vec<u32>,
    /// Values that are not where they are to be, and such as are dropped at the end.
    cellar: Cellar,
    targets: Vec<CoalesceTarget>,
    /// Entities that move and have shared values.
    grouped: Vec<u32>,
    /// The targets of those, by archetype and group.
    by_group: HashMap<(u32, u32), u32, FixedState>,
    /// Entities that stay where they are and are given something.
    stay: Vec<u32>,
    /// Rows that entities leave: the chunk in the upper half, the row in the lower.
    leaving: Vec<u64>,
}

/// An entity that a command of the stretch names.
struct TouchedEntity {
    entity: Entity,
    /// Where it is, or [`NOWHERE`] if it is created by the stretch.
    chunk: u32,
    row: u32,
    /// Which shape it has before, or [`NOWHERE`].
    from: u32,
    /// Which shape it would have now.
    shape: u32,
    /// What was done to it last, or [`NOWHERE`].
    last: u32,
    /// The next one that ends in the same shape.
    next: u32,
    is_alive: bool,
}

impl CoalescedBatch {
    /// Memory for values that wait to be written, until all is forgotten.
    pub(crate) fn cellar(&mut self) -> &mut Cellar {
        &mut self.cellar
    }

    /// Forgets what was noted. Values that are nobody's are dropped, which is code of the user, and memory is kept.
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
        self.cellar.clear();
    }
}

impl EntityManager {
    /// Forgets what was noted, and drops what is left of it: that is code of the user. The shared values that nobody has any more
    /// follow it, also when something panics.
    pub(crate) fn clear_coalesced(&mut self) {
        let _dead = self.storage.shared.take_dead();
        self.coalesced.clear();
    }
}

impl fmt::Debug for CoalescedBatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CoalescedBatch")
            .field("touched", &self.touched.len())
            .finish_non_exhaustive()
    }
}

/// Entities that end in one shape, with the same shared values.
pub(super) struct CoalesceTarget {
    pub(super) shape: u32,
    pub(super) archetype: u32,
    /// The group of the archetype, if it has groups.
    group: u32,
    /// The first of them among the touched.
    pub(super) first: u32,
    last: u32,
    pub(super) rows: u32,
}

impl EntityManager {
    /// Makes room for all that the stretch moves, and waits for those who are in the way. Code of the user may run, and panic. Nothing
    /// has changed yet. The stretch is [carried out](Self::apply_coalesced) next.
    ///
    /// # Errors
    ///
    /// If there is no memory.
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
        let mut reserved = Reserved::nothing(&mut self.storage, &mut self.runs);
        self.coalesced.gather_groups(&mut reserved);
        for target in &self.coalesced.targets {
            reserved.more(target.archetype, target.group, target.rows as usize)?;
        }
        reserved.into_storage();
        Ok(())
    }

    /// The archetype of a shape.
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
    /// Gathers the entities by the shapes that they end in, in the order in which they were first named. Those that end in groups
    /// are only listed.
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

    /// Gathers those of the entities that end in groups: where the same shared values are as they have.
    fn gather_groups(&mut self, reserved: &mut Reserved<'_>) {
        let Self { touched, shapes, targets, moves, grouped, by_group, .. } = self;
        let mut last = (NOWHERE, NOWHERE, 0);
        for &at in &*grouped {
            let one = &touched[at as usize];
            // Mostly it comes from where the one before it came from, and goes where that goes.
            if (last.0, last.1) == (one.chunk, one.shape) {
                targets[last.2 as usize].push(at, touched);
                continue;
            }
            let (shape, archetype) = (one.shape, shapes[one.shape].archetype);
            let from = shapes[one.from].archetype;
            let one_move = moves.find(from, archetype, &reserved.storage.archetypes);
            let group = reserved.group_by(&moves.at(one_move).transfer, one.chunk);
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
    /// With one entity, by its place among the touched.
    fn new(shape: u32, archetype: u32, group: u32, first: u32) -> Self {
        Self { shape, archetype, group, first, last: first, rows: 1 }
    }

    /// Adds an entity.
    fn push(&mut self, at: u32, touched: &mut [TouchedEntity]) {
        let last = std::mem::replace(&mut self.last, at);
        self.rows += 1;
        touched[last as usize].next = at;
    }
}

impl TouchedEntity {
    /// Whether it is somewhere where it will not be.
    fn is_leaving(&self) -> bool {
        self.chunk != NOWHERE && (!self.is_alive || self.shape != self.from)
    }

    /// Whether something is done to the row that it has.
    fn is_changed(&self) -> bool {
        self.is_leaving() || (self.chunk != NOWHERE && self.last != NOWHERE)
    }
}
