//! Room is made for entities that move, and for those that come.

use super::{Stretch, Touched};
use crate::error::EntityError;
use crate::manager::EntityManager;
use crate::storage::{NOWHERE, Reserved};

/// Entities that end in one shape.
pub(super) struct Target {
    pub(super) shape: u32,
    pub(super) archetype: u32,
    /// The first of them among the touched.
    pub(super) first: u32,
    last: u32,
    pub(super) rows: u32,
}

impl EntityManager {
    /// Makes room for all that the stretch moves, and waits for those who are in the way. Code of the user may run, and panic. Nothing
    /// has changed yet. The stretch is [carried out](Self::carry_out_stretch) next.
    ///
    /// # Errors
    ///
    /// If there is no memory.
    pub(crate) fn prepare_stretch(&mut self) -> Result<(), EntityError> {
        self.stretch.gather();
        for at in 0..self.stretch.targets.len() {
            let Stretch { targets, shapes, .. } = &mut self.stretch;
            let target = &mut targets[at];
            let mut archetype = shapes[target.shape].archetype;
            if archetype == NOWHERE {
                let types = shapes[target.shape].types.clone();
                archetype = self.find_archetype(&types)?;
                self.stretch.shapes.note_archetype(self.stretch.targets[at].shape, archetype);
            }
            self.stretch.targets[at].archetype = archetype;
        }
        let Stretch { touched, shapes, targets, .. } = &self.stretch;
        let sources = touched.iter().filter(|touched| touched.chunk != NOWHERE);
        let sources = sources.map(|touched| shapes[touched.from].archetype);
        self.before_moving(sources.chain(targets.iter().map(|target| target.archetype)));
        if self.storage.chunks.may_be_shared() {
            for touched in self.stretch.touched.iter().filter(|touched| touched.is_changed()) {
                self.storage.make_unique(touched.chunk)?;
            }
        }
        let mut reserved = Reserved::nothing(&mut self.storage, &mut self.runs);
        for target in &self.stretch.targets {
            reserved.more(target.archetype, NOWHERE, target.rows as usize)?;
        }
        reserved.into_storage();
        Ok(())
    }
}

impl Stretch {
    /// Gathers the entities by the shapes that they end in, in the order in which they were first named.
    fn gather(&mut self) {
        let Self { touched, shapes, targets, stay, leaving, .. } = self;
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
            if shape.target == NOWHERE {
                shape.target = targets.len() as u32;
                let (shape, first) = (one.shape, at as u32);
                let archetype = NOWHERE;
                targets.push(Target { shape, archetype, first, last: first, rows: 1 });
            } else {
                let target = &mut targets[shape.target as usize];
                let last = std::mem::replace(&mut target.last, at as u32);
                target.rows += 1;
                touched[last as usize].next = at as u32;
            }
        }
    }
}

impl Touched {
    /// Whether it is somewhere where it will not be.
    fn is_leaving(&self) -> bool {
        self.chunk != NOWHERE && (!self.is_alive || self.shape != self.from)
    }

    /// Whether something is done to the row that it has.
    fn is_changed(&self) -> bool {
        self.is_leaving() || (self.chunk != NOWHERE && self.last != NOWHERE)
    }
}
