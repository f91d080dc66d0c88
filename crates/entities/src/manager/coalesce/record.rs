//! Recording of commands: simulates their effects without changing anything.

use super::apply::WriteFn;
use super::archetype_cache::ShapeEdge;
use super::{CoalescedBatch, TouchedEntity};
use crate::component::{ComponentType, Copying};
use crate::entity::Entity;
use crate::error::EntityError;
use crate::manager::EntityManager;
use crate::storage::{Edge, NOWHERE, SetOperation, next_version};

/// A recorded operation on an entity.
pub(super) struct RecordedOp {
    pub(super) kind: OpKind,
    /// The number of the component set.
    pub(super) set: u32,
    /// The index of the previous operation on the same entity, or [`NOWHERE`].
    pub(super) before: u32,
}

#[derive(Clone, Copy)]
pub(super) enum OpKind {
    /// Adds or sets components.
    Insert(StagedValue),
    /// Removes components.
    Remove,
    /// Enables or disables a component.
    SetEnabled(ComponentType, bool),
}

/// The address of a set of values that is not written yet, its write function and its owner.
#[derive(Clone, Copy)]
pub(crate) struct StagedValue {
    /// The address of the set, which no other code uses before the batch is applied.
    pub(crate) values: *mut u8,
    pub(crate) write_fn: &'static WriteFn,
    pub(crate) owner: ValueOwner,
}

/// The owner of staged values. The owner drops the values unless they are moved.
#[derive(Clone, Copy)]
pub(crate) enum ValueOwner {
    /// The values have no owner, because they need not be dropped.
    Nobody,
    /// The command with this target, unless the target is [`Entity::USED`].
    Command(*mut Entity),
    /// The staging arena, unless the drop with this number is cancelled.
    StagingArena(u32),
}

/// The simulated state of an entity.
enum State {
    /// The entity exists, at this position in `touched`.
    Exists(u32),
    /// The entity does not exist.
    Missing,
    /// The batch has despawned the entity.
    Despawned,
    /// Commands for the entity cannot be coalesced, and are applied one by one.
    Unsupported,
}

/// The result of coalescing a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CoalesceResult {
    /// The effect of the command is recorded.
    Recorded,
    /// The command is skipped, because its entity is gone. Not in a strict world.
    Skipped,
    /// The command would fail, or has to be applied by itself.
    Refused,
}

/// A checked insertion of components into an entity.
pub(crate) struct InsertPlan {
    /// The position of the entity in `touched`, or [`NOWHERE`] if the insertion creates the entity.
    at: u32,
    entity: Entity,
    /// The shape of the entity after the insertion.
    to: u32,
    set: u32,
}

impl EntityManager {
    /// Returns the simulated state of an entity.
    #[inline]
    fn state_of(&mut self, entity: Entity) -> State {
        if let Some(&mark) = self.coalesced.marks.get(entity.index() as usize)
            && mark != 0
        {
            let touched = &self.coalesced.touched[mark as usize - 1];
            // At most one version of an index can exist.
            return if touched.entity == entity && touched.is_alive {
                State::Exists(mark - 1)
            } else {
                State::Despawned
            };
        }
        let Some(location) = self.storage.table.locate(entity) else { return State::Missing };
        let archetype = self.storage.archetype_at(location);
        let (archetypes, settings) = (&self.storage.archetypes, &self.storage.settings);
        let shape = self.coalesced.shapes.of_archetype(archetype, archetypes, settings);
        if !self.coalesced.shapes[shape].is_supported {
            return State::Unsupported;
        }
        State::Exists(self.coalesced.touch(entity, location.chunk, location.row, shape))
    }

    /// Checks whether an entity can be created with a set of components. Returns `None` if not.
    #[inline]
    pub(crate) fn can_create(&mut self, entity: Entity, set: u32) -> Option<InsertPlan> {
        // Two commands can create the same entity if recorders were swapped. The table only has entities whose commands were
        // applied.
        if !self.storage.table.is_marked_reserved(entity) || self.coalesced.is_touched(entity) {
            return None;
        }
        let from = self.coalesced.shapes.empty(&self.storage.settings);
        let to = self.edge(from, set, SetOperation::Add)?.to;
        Some(InsertPlan { at: NOWHERE, entity, to, set })
    }

    /// Checks whether a set of components can be added to an entity or set. If not, returns the result of the command.
    #[inline]
    pub(crate) fn can_insert(
        &mut self,
        entity: Entity,
        set: u32,
        change: SetOperation,
    ) -> Result<InsertPlan, CoalesceResult> {
        let at = match self.state_of(entity) {
            State::Exists(at) => at,
            State::Missing | State::Despawned => return Err(self.refuse_missing(entity)),
            State::Unsupported => return Err(CoalesceResult::Refused),
        };
        let shape = self.coalesced.touched[at as usize].shape;
        let way = self.edge(shape, set, change).ok_or(CoalesceResult::Refused)?;
        let is_allowed = match change {
            SetOperation::Set => way.has_all,
            _ => !self.strict || !way.has_one,
        };
        if is_allowed {
            Ok(InsertPlan { at, entity, to: way.to, set })
        } else {
            Err(CoalesceResult::Refused)
        }
    }

    /// Returns the result of a command for an entity that does not exist after the recorded commands.
    #[cold]
    fn refuse_missing(&self, entity: Entity) -> CoalesceResult {
        if !self.strict && self.no_such_recorded(entity).is_gone() {
            CoalesceResult::Skipped
        } else {
            CoalesceResult::Refused
        }
    }

    /// Returns the error of an entity that does not exist after the recorded commands.
    #[cold]
    pub(crate) fn no_such_recorded(&self, entity: Entity) -> EntityError {
        let slot_version = match self.coalesced.marks.get(entity.index() as usize) {
            None | Some(0) => self.storage.table.slot_version(entity.index()),
            Some(&mark) => {
                let touched = &self.coalesced.touched[mark as usize - 1];
                let version = touched.entity.version();
                Some(if touched.is_alive { version } else { next_version(version) })
            }
        };
        EntityError::NoSuchEntity { entity, slot_version }
    }

    /// Returns the effect of an operation on a shape, or `None` if it is not supported. Changes of shared values are not
    /// supported, because looking up values runs user code.
    #[inline]
    fn edge(&mut self, from: u32, set: u32, change: SetOperation) -> Option<ShapeEdge> {
        let edge = Edge { from, set, change };
        let way = self.coalesced.shapes.edge(edge, &self.sets, &self.storage.settings);
        (way.keeps_shared && self.coalesced.shapes[way.to].is_supported).then_some(way)
    }

    /// Records a checked insertion, with its values if there are any.
    #[inline]
    pub(crate) fn record_insert(&mut self, gift: InsertPlan, given: Option<StagedValue>) {
        let InsertPlan { at, entity, to, set } = gift;
        let at = if at == NOWHERE { self.coalesced.touch(entity, NOWHERE, 0, NOWHERE) } else { at };
        if let Some(given) = given {
            self.coalesced.note(at, set, OpKind::Insert(given));
        }
        self.coalesced.touched[at as usize].shape = to;
    }

    /// Records the removal of components. With `may_come`, an entity that does not exist may be created later.
    #[inline]
    pub(crate) fn record_remove(
        &mut self,
        entity: Entity,
        set: u32,
        may_come: bool,
    ) -> CoalesceResult {
        let at = match self.existing(entity, may_come) {
            Ok(at) => at,
            Err(result) => return result,
        };
        let from = self.coalesced.touched[at as usize].shape;
        let Some(way) = self.edge(from, set, SetOperation::Remove) else {
            return CoalesceResult::Refused;
        };
        if self.strict && !way.has_all {
            return CoalesceResult::Refused;
        }
        if way.has_one {
            self.coalesced.note(at, set, OpKind::Remove);
            self.coalesced.touched[at as usize].shape = way.to;
        }
        CoalesceResult::Recorded
    }

    /// Records that an entity is despawned. With `may_come`, an entity that does not exist may be created later.
    #[inline]
    pub(crate) fn record_despawn(&mut self, entity: Entity, may_come: bool) -> CoalesceResult {
        let at = match self.existing(entity, may_come) {
            Ok(at) => at,
            Err(result) => return result,
        };
        let touched = &mut self.coalesced.touched[at as usize];
        if !self.coalesced.shapes[touched.shape].despawns_alone {
            return CoalesceResult::Refused;
        }
        touched.is_alive = false;
        self.coalesced.gone.push(at);
        CoalesceResult::Recorded
    }

    /// Records that a component is enabled or disabled.
    pub(crate) fn record_enabled(
        &mut self,
        entity: Entity,
        ty: ComponentType,
        on: bool,
    ) -> CoalesceResult {
        let at = match self.state_of(entity) {
            State::Exists(at) => at,
            State::Missing | State::Despawned => return self.refuse_missing(entity),
            State::Unsupported => return CoalesceResult::Refused,
        };
        let shape = self.coalesced.touched[at as usize].shape;
        if !ty.0.enableable || !self.coalesced.shapes[shape].types.contains(&ty) {
            return CoalesceResult::Refused;
        }
        self.coalesced.note(at, NOWHERE, OpKind::SetEnabled(ty, on));
        CoalesceResult::Recorded
    }

    /// Returns the position of an existing entity in `touched`. If the entity does not exist, returns the result of a command
    /// that has no effect then.
    #[inline]
    fn existing(&mut self, entity: Entity, may_come: bool) -> Result<u32, CoalesceResult> {
        let has_no_effect = match self.state_of(entity) {
            State::Exists(at) => return Ok(at),
            State::Despawned => !self.strict,
            State::Missing => {
                !(self.strict || may_come && self.storage.table.is_marked_reserved(entity))
            }
            State::Unsupported => false,
        };
        Err(if has_no_effect { CoalesceResult::Recorded } else { CoalesceResult::Refused })
    }
}

impl CoalescedBatch {
    /// Returns whether a recorded command refers to an entity with this index.
    #[inline]
    fn is_touched(&self, entity: Entity) -> bool {
        self.marks.get(entity.index() as usize).is_some_and(|&mark| mark != 0)
    }

    /// Adds an entity to `touched`, and returns its position.
    #[inline]
    fn touch(&mut self, entity: Entity, chunk: u32, row: u32, shape: u32) -> u32 {
        let index = entity.index() as usize;
        if index >= self.marks.len() {
            self.marks.resize((index + 1).next_power_of_two(), 0);
        }
        let at = self.touched.len() as u32;
        self.marks[index] = at + 1;
        self.touched.push(TouchedEntity {
            entity,
            chunk,
            row,
            from: shape,
            shape,
            last: NOWHERE,
            next: NOWHERE,
            is_alive: true,
        });
        at
    }

    /// Records an operation on the entity at a position of `touched`.
    #[inline]
    fn note(&mut self, at: u32, set: u32, kind: OpKind) {
        let touched = &mut self.touched[at as usize];
        let before = std::mem::replace(&mut touched.last, self.ops.len() as u32);
        self.ops.push(RecordedOp { kind, set, before });
    }
}

/// The maximum number of changes in a sequence.
const MOST_STEPS: usize = 6;

/// A sequence of changes that is applied to each of many entities.
#[derive(Clone, Copy)]
pub(crate) struct ChangeSequence {
    /// True if the first change creates the entities.
    pub(crate) creates: bool,
    /// The changes, and the numbers of their sets.
    steps: [(SetOperation, u32); MOST_STEPS],
    len: usize,
    /// The archetype of the last entity for which the check succeeded, or [`NOWHERE`].
    passed: u32,
}

/// The end of a sequence of changes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum SequenceEnd {
    /// The entities are despawned.
    Despawned,
    /// The components of this set are removed from the entities.
    Taken(u32),
}

impl ChangeSequence {
    pub(crate) fn new() -> Self {
        Self {
            creates: false,
            steps: [(SetOperation::Add, NOWHERE); MOST_STEPS],
            len: 0,
            passed: NOWHERE,
        }
    }

    /// Appends a change. Returns `false` if the sequence is full.
    pub(crate) fn then(&mut self, change: SetOperation, set: u32) -> bool {
        let Some(step) = self.steps.get_mut(self.len) else { return false };
        *step = (change, set);
        self.len += 1;
        true
    }

    fn steps(&self) -> &[(SetOperation, u32)] {
        &self.steps[..self.len]
    }
}

impl EntityManager {
    /// Returns whether all values of a set can be duplicated.
    pub(crate) fn can_be_duplicated(&self, set: u32) -> bool {
        let types = &self.sets.get(set).types;
        types.iter().all(|ty| !matches!(ty.0.copying, Copying::NotAtAll))
    }

    /// Returns whether a sequence only adds or sets components of this set.
    pub(crate) fn inserts_only(&self, course: &ChangeSequence, set: u32) -> bool {
        let taken = &self.sets.get(set).types;
        let is_taken =
            |&(_, given): &(_, u32)| self.sets.get(given).types.iter().all(|ty| taken.contains(ty));
        !course.creates
            && course.len > 0
            && course.steps().iter().all(|&(change, _)| change != SetOperation::Remove)
            && course.steps().iter().all(is_taken)
    }

    /// Returns whether a sequence succeeds for an entity and has no lasting effect. The result is then the same without the
    /// changes and, if the end is a removal, without the end. In a world that is not strict, the sequence may also be repeated.
    #[inline]
    pub(crate) fn is_elidable(
        &mut self,
        entity: Entity,
        course: &mut ChangeSequence,
        end: SequenceEnd,
    ) -> bool {
        if course.creates {
            return self.storage.table.is_marked_reserved(entity)
                && (course.passed == 0 || self.is_elidable_new(course, end));
        }
        let Some(location) = self.storage.table.locate(entity) else { return false };
        let archetype = self.storage.archetype_at(location);
        archetype == course.passed || self.is_elidable_from(archetype, course, end)
    }

    #[inline(never)]
    fn is_elidable_new(&mut self, course: &mut ChangeSequence, end: SequenceEnd) -> bool {
        let shape = self.coalesced.shapes.empty(&self.storage.settings);
        let is_elidable = self.is_shape_elidable(shape, course, end);
        course.passed = if is_elidable { 0 } else { NOWHERE };
        is_elidable
    }

    #[inline(never)]
    fn is_elidable_from(
        &mut self,
        archetype: u32,
        course: &mut ChangeSequence,
        end: SequenceEnd,
    ) -> bool {
        let (archetypes, settings) = (&self.storage.archetypes, &self.storage.settings);
        let shape = self.coalesced.shapes.of_archetype(archetype, archetypes, settings);
        let is_elidable = self.is_shape_elidable(shape, course, end);
        if is_elidable {
            course.passed = archetype;
        }
        is_elidable
    }

    fn is_shape_elidable(&mut self, from: u32, course: &ChangeSequence, end: SequenceEnd) -> bool {
        let mut shape = from;
        if !self.is_simple(from, end) {
            return false;
        }
        for &(change, set) in course.steps() {
            let edge = Edge { from: shape, set, change };
            let way = self.coalesced.shapes.edge(edge, &self.sets, &self.storage.settings);
            let is_refused = change == SetOperation::Set && !way.has_all;
            if is_refused || !way.keeps_shared || !self.is_simple(way.to, end) {
                return false;
            }
            shape = way.to;
        }
        let SequenceEnd::Taken(set) = end else { return true };
        // The removal must not remove a component that the entity had before the sequence.
        let edge = Edge { from, set, change: SetOperation::Remove };
        !self.coalesced.shapes.edge(edge, &self.sets, &self.storage.settings).has_one
    }

    /// Returns whether a shape is supported, and whether this end of a sequence affects only the entities of the shape
    /// themselves.
    fn is_simple(&self, shape: u32, end: SequenceEnd) -> bool {
        let shape = &self.coalesced.shapes[shape];
        shape.is_supported && (shape.despawns_alone || end != SequenceEnd::Despawned)
    }
}
