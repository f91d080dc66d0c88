//! Whether changes of entities leave no trace, because of how they end.

use crate::component::Copying;
use crate::entity::Entity;
use crate::manager::EntityManager;
use crate::storage::{Change, Edge, NOWHERE};

/// How many changes are looked at together.
const MOST_STEPS: usize = 6;

/// What happens to each of many entities: changes, one after the other, and an end.
#[derive(Clone, Copy)]
pub(crate) struct Course {
    /// Whether they are created by the first of the changes.
    pub(crate) creates: bool,
    /// Changes, and the numbers of the sets that are given or taken.
    steps: [(Change, u32); MOST_STEPS],
    len: usize,
    /// The archetype of the last entity that was looked at, or [`NOWHERE`].
    passed: u32,
}

/// How a course ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The entities are despawned.
    Despawned,
    /// This set is taken from them.
    Taken(u32),
}

impl Course {
    pub(crate) fn new() -> Self {
        Self {
            creates: false,
            steps: [(Change::Add, NOWHERE); MOST_STEPS],
            len: 0,
            passed: NOWHERE,
        }
    }

    /// Has a change follow the others. Returns whether there is room for it.
    pub(crate) fn then(&mut self, change: Change, set: u32) -> bool {
        let Some(step) = self.steps.get_mut(self.len) else { return false };
        *step = (change, set);
        self.len += 1;
        true
    }

    fn steps(&self) -> &[(Change, u32)] {
        &self.steps[..self.len]
    }
}

impl EntityManager {
    /// Whether values of a set can be duplicated.
    pub(crate) fn can_be_duplicated(&self, set: u32) -> bool {
        let types = &self.sets.get(set).types;
        types.iter().all(|ty| !matches!(ty.0.copying, Copying::NotAtAll))
    }

    /// Whether nothing but what a set has is given to entities before it is taken.
    pub(crate) fn gives_only(&self, course: &Course, set: u32) -> bool {
        let taken = &self.sets.get(set).types;
        let is_taken =
            |&(_, given): &(_, u32)| self.sets.get(given).types.iter().all(|ty| taken.contains(ty));
        !course.creates
            && course.len > 0
            && course.steps().iter().all(|&(change, _)| change != Change::Remove)
            && course.steps().iter().all(is_taken)
    }

    /// Whether all of a course can be carried out for an entity, and what is left then would be the same without the changes; if the end
    /// takes something, also without the end. In a world that is not strict, they can follow it again too.
    #[inline]
    pub(crate) fn vanishes(&mut self, entity: Entity, course: &mut Course, end: End) -> bool {
        if course.creates {
            return self.storage.table.is_marked(entity)
                && (course.passed == 0 || self.vanishes_from_nothing(course, end));
        }
        let Some(location) = self.storage.table.locate(entity) else { return false };
        let archetype = self.storage.archetype_at(location);
        archetype == course.passed || self.vanishes_from(archetype, course, end)
    }

    #[inline(never)]
    fn vanishes_from_nothing(&mut self, course: &mut Course, end: End) -> bool {
        let shape = self.stretch.shapes.empty(&self.storage.settings);
        let vanishes = self.shape_vanishes(shape, course, end);
        course.passed = if vanishes { 0 } else { NOWHERE };
        vanishes
    }

    #[inline(never)]
    fn vanishes_from(&mut self, archetype: u32, course: &mut Course, end: End) -> bool {
        let (archetypes, settings) = (&self.storage.archetypes, &self.storage.settings);
        let shape = self.stretch.shapes.of_archetype(archetype, archetypes, settings);
        let vanishes = self.shape_vanishes(shape, course, end);
        if vanishes {
            course.passed = archetype;
        }
        vanishes
    }

    fn shape_vanishes(&mut self, from: u32, course: &Course, end: End) -> bool {
        let mut shape = from;
        if !self.is_simple(from, end) {
            return false;
        }
        for &(change, set) in course.steps() {
            let edge = Edge { from: shape, set, change };
            let way = self.stretch.shapes.way(edge, &self.sets, &self.storage.settings);
            let is_refused = change == Change::Set && !way.has_all;
            if is_refused || !way.keeps_shared || !self.is_simple(way.to, end) {
                return false;
            }
            shape = way.to;
        }
        let End::Taken(set) = end else { return true };
        // Who had something of it before would lose that.
        let edge = Edge { from, set, change: Change::Remove };
        !self.stretch.shapes.way(edge, &self.sets, &self.storage.settings).has_one
    }

    /// Whether entities can be of a shape, and nothing special is done when they end so.
    fn is_simple(&self, shape: u32, end: End) -> bool {
        let shape = &self.stretch.shapes[shape];
        shape.folds && (shape.goes || end != End::Despawned)
    }
}
