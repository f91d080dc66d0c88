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

mod apply;
mod archetype_cache;
mod column_maps;
mod elide;
mod prepare;
mod record;
mod transfers;

use std::fmt;

use ancho_collections::FixedState;
use hashbrown::HashMap;

pub(crate) use elide::{Course, End};
pub(crate) use record::{Gift, Given, Giving, Owner};

use super::EntityManager;
use crate::entity::Entity;
use crate::storage::{Cellar, NOWHERE};
use archetype_cache::Shapes;
use column_maps::Landings;
use prepare::Target;
use record::Op;
use transfers::Routes;

/// What becomes of the entities that the commands of a stretch name, and memory for that, which is kept.
#[derive(Default)]
pub(crate) struct Stretch {
    shapes: Shapes,
    landings: Landings,
    routes: Routes,
    /// For each index of entities, one more than the place of the entity among those that are touched, or zero.
    marks: Vec<u32>,
    /// In the order in which they were first named.
    touched: Vec<Touched>,
    ops: Vec<Op>,
    /// Those of the touched that are despawned, in the order in which they are.
    gone: Vec<u32>,
    /// Values that are not where they are to be, and such as are dropped at the end.
    cellar: Cellar,
    targets: Vec<Target>,
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
struct Touched {
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

impl Stretch {
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
    pub(crate) fn clear_stretch(&mut self) {
        let _dead = self.storage.shared.take_dead();
        self.stretch.clear();
    }
}

impl fmt::Debug for Stretch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stretch").field("touched", &self.touched.len()).finish_non_exhaustive()
    }
}
