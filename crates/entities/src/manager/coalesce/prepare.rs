//! Room is made for entities that move, and for those that come.

use super::{Stretch, Touched};
use crate::error::EntityError;
use crate::manager::EntityManager;
use crate::storage::{NOWHERE, Reserved};

/// Entities that end in one shape, with the same shared values.
pub(super) struct Target {
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
    /// has changed yet. The stretch is [carried out](Self::carry_out_stretch) next.
    ///
    /// # Errors
    ///
    /// If there is no memory.
    pub(crate) fn prepare_stretch(&mut self) -> Result<(), EntityError> {
        self.stretch.gather();
        for at in 0..self.stretch.targets.len() {
            let archetype = self.archetype_of_shape(self.stretch.targets[at].shape)?;
            self.stretch.targets[at].archetype = archetype;
        }
        for at in 0..self.stretch.grouped.len() {
            let one = self.stretch.grouped[at];
            self.archetype_of_shape(self.stretch.touched[one as usize].shape)?;
        }
        let Stretch { touched, shapes, targets, grouped, .. } = &self.stretch;
        let sources = touched.iter().filter(|touched| touched.chunk != NOWHERE);
        let sources = sources.map(|touched| shapes[touched.from].archetype);
        let others = grouped.iter().map(|&at| shapes[touched[at as usize].shape].archetype);
        let to = targets.iter().map(|target| target.archetype).chain(others);
        self.before_moving(sources.chain(to));
        if self.storage.chunks.may_be_shared() {
            for touched in self.stretch.touched.iter().filter(|touched| touched.is_changed()) {
                self.storage.make_unique(touched.chunk)?;
            }
        }
        let mut reserved = Reserved::nothing(&mut self.storage, &mut self.runs);
        self.stretch.gather_groups(&mut reserved);
        for target in &self.stretch.targets {
            reserved.more(target.archetype, target.group, target.rows as usize)?;
        }
        reserved.into_storage();
        Ok(())
    }

    /// The archetype of a shape.
    fn archetype_of_shape(&mut self, shape: u32) -> Result<u32, EntityError> {
        let known = &self.stretch.shapes[shape];
        if known.archetype != NOWHERE {
            return Ok(known.archetype);
        }
        let types = known.types.clone();
        let archetype = self.find_archetype(&types)?;
        self.stretch.shapes.note_archetype(shape, archetype);
        Ok(archetype)
    }
}

impl Stretch {
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
                targets.push(Target::new(one.shape, NOWHERE, NOWHERE, at as u32));
            } else {
                targets[shape.target as usize].push(at as u32, touched);
            }
        }
    }

    /// Gathers those of the entities that end in groups: where the same shared values are as they have.
    fn gather_groups(&mut self, reserved: &mut Reserved<'_>) {
        let Self { touched, shapes, targets, routes, grouped, by_group, .. } = self;
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
            let route = routes.find(from, archetype, &reserved.storage.archetypes);
            let group = reserved.group_by(&routes.at(route).transfer, one.chunk);
            let next = targets.len() as u32;
            let number = *by_group.entry((archetype, group)).or_insert(next);
            last = (one.chunk, shape, number);
            if number == next {
                targets.push(Target::new(shape, archetype, group, at));
            } else {
                targets[number as usize].push(at, touched);
            }
        }
    }
}

impl Target {
    /// With one entity, by its place among the touched.
    fn new(shape: u32, archetype: u32, group: u32, first: u32) -> Self {
        Self { shape, archetype, group, first, last: first, rows: 1 }
    }

    /// Adds an entity.
    fn push(&mut self, at: u32, touched: &mut [Touched]) {
        let last = std::mem::replace(&mut self.last, at);
        self.rows += 1;
        touched[last as usize].next = at;
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
