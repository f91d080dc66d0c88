//! The reduction of the log to its net effect.
//!
//! For each entity and type, only the difference between the beginning and the end counts: a component that was added and removed
//! raises no event, and one that was removed and added again was replaced. So it does not matter in which steps commands are
//! played. The old value is that of the beginning. The entities are in the order of their first operations.

use std::mem;

use super::batch::{EventBatch, EventKind, EventRun};
use super::log::{Log, Run, RunKind, ValueRun};
use super::values::OldValues;
use super::{DESPAWN, Lifecycle, RemoveCause, Signature, WatchNumber};
use crate::builtin::Prefab;
use crate::component::ComponentType;
use crate::entity::Entity;
use crate::storage::NOWHERE;

/// Memory for the reduction, which the next one reuses. It is empty in between.
#[derive(Default)]
pub(super) struct Scratch {
    /// For each entity index, the position in `touched` of the last entity with this index plus one, or zero.
    marks: Vec<u32>,
    touched: Vec<Touched>,
    details: Vec<Detail>,
}

/// An entity of the log.
struct Touched {
    entity: Entity,
    /// The signature at the beginning, or [`NOWHERE`].
    from: u32,
    /// The signature at the end, or [`NOWHERE`].
    to: u32,
    /// The position of the last detail, or [`NOWHERE`].
    details: u32,
    /// The position of another entity with the same index, or [`NOWHERE`].
    other: u32,
    /// True if the entity left for another world.
    is_away: bool,
}

/// A component that an entity had at the beginning, and that was removed or overwritten.
struct Detail {
    number: WatchNumber,
    /// True if the component was removed.
    was_absent: bool,
    /// The run of the first operation.
    run: u32,
    value: OldValues,
    next: u32,
}

impl Lifecycle {
    /// Reduces the log to events, and clears it. The batch is empty.
    pub(super) fn reduce(&mut self, batch: &mut EventBatch) {
        let is_simple = match &*self.log.runs {
            [only] => !matches!(only.kind, RunKind::Overwrite(_)),
            runs => runs.iter().all(|run| run.from == NOWHERE && run.kind == RunKind::Change),
        };
        if is_simple {
            self.expand(&self.log, batch);
            mem::swap(&mut self.log.entities, &mut batch.entities);
        } else {
            let mut scratch = mem::take(&mut self.scratch);
            scratch.touch_all(&self.log, self);
            scratch.emit(self, batch);
            scratch.clear();
            self.scratch = scratch;
        }
        if !self.log.values.is_unused() {
            mem::swap(&mut self.log.values, &mut batch.values);
        }
        self.log.clear();
    }

    /// Converts runs in which no entity occurs twice to events.
    fn expand(&self, log: &Log, batch: &mut EventBatch) {
        let mut values = log.value_runs.as_slice();
        for (number, run) in (0..).zip(&log.runs) {
            let count = values.iter().take_while(|values| values.run == number).count();
            let (of_run, rest) = values.split_at(count);
            values = rest;
            let is_away = run.kind == RunKind::MoveAway;
            self.each_event(run.from, run.to, is_away, |number, kind, cause| {
                push_stretches(batch, run, (number, kind, cause), of_run);
            });
        }
    }

    /// Calls a function for each event of entities whose signature changes.
    fn each_event(
        &self,
        from: u32,
        to: u32,
        is_away: bool,
        mut each: impl FnMut(WatchNumber, EventKind, RemoveCause),
    ) {
        let (old, new) = (self.signature(from), self.signature(to));
        let is_prefab = old.is_prefab || new.is_prefab;
        let is_despawn = old.is_alive && !new.is_alive && !is_away;
        let cause = match (is_away, is_despawn) {
            (true, _) => RemoveCause::Moved,
            (false, true) => RemoveCause::Despawned,
            (false, false) => RemoveCause::Removed,
        };
        for &number in lost(old, new) {
            if !is_prefab || self.is_prefab_type(number) {
                each(number, EventKind::Remove, cause);
            }
        }
        for &number in lost(new, old) {
            if !is_prefab || self.is_prefab_type(number) {
                each(number, EventKind::Add, cause);
            }
        }
        if is_despawn && !is_prefab && self.despawns > 0 {
            each(DESPAWN, EventKind::Remove, cause);
        }
    }

    fn is_prefab_type(&self, number: WatchNumber) -> bool {
        self.type_of(number) == Some(ComponentType::of::<Prefab>())
    }
}

/// Iterates over the types that only the first signature has.
fn lost<'s>(old: &'s Signature, new: &'s Signature) -> impl Iterator<Item = &'s WatchNumber> {
    old.types.iter().filter(|number| !new.types.contains(number))
}

/// Appends the events of a run. Each stretch of entities with contiguous values, or without values, is a separate run.
fn push_stretches(
    batch: &mut EventBatch,
    run: &Run,
    (number, kind, cause): (WatchNumber, EventKind, RemoveCause),
    values: &[ValueRun],
) {
    let mut push = |at: u32, len: u32, values: OldValues| {
        if len > 0 {
            let (first, was_absent) = (run.first + at, false);
            batch.runs.push(EventRun { number, kind, cause, was_absent, first, len, values });
        }
    };
    let mut done = 0;
    if kind == EventKind::Remove {
        for found in values.iter().filter(|values| values.number == number) {
            push(done, found.at - done, OldValues::NONE);
            push(found.at, found.len, found.values);
            done = found.at + found.len;
        }
    }
    push(done, run.len - done, OldValues::NONE);
}

impl Scratch {
    fn clear(&mut self) {
        for touched in self.touched.drain(..) {
            self.marks[touched.entity.index() as usize] = 0;
        }
        self.details.clear();
    }

    /// Applies all operations of the log to the entities.
    fn touch_all(&mut self, log: &Log, lifecycle: &Lifecycle) {
        let mut values = log.value_runs.as_slice();
        for (number, run) in (0..).zip(&log.runs) {
            let entities = &log.entities[run.first as usize..][..run.len as usize];
            let (old, new) = (lifecycle.signature(run.from), lifecycle.signature(run.to));
            let is_prefab = old.is_prefab || new.is_prefab;
            for &entity in entities {
                let at = self.touch(entity, run.from);
                if let RunKind::Overwrite(overwritten) = run.kind {
                    self.note(at, overwritten, number, false, lifecycle);
                    continue;
                }
                for &lost in lost(old, new) {
                    if !is_prefab || lifecycle.is_prefab_type(lost) {
                        self.note(at, lost, number, true, lifecycle);
                    }
                }
                let touched = &mut self.touched[at as usize];
                touched.to = run.to;
                touched.is_away = run.kind == RunKind::MoveAway;
            }
            let count = values.iter().take_while(|values| values.run == number).count();
            let (of_run, rest) = values.split_at(count);
            values = rest;
            for found in of_run {
                let size = lifecycle.type_of(found.number).map_or(0, ComponentType::size);
                for at in 0..found.len {
                    let entity = entities[(found.at + at) as usize];
                    let value = found.values.after(at, size);
                    self.set_value(entity, found.number, number, value);
                }
            }
        }
    }

    /// Returns the position of an entity in `touched`. Adds the entity if necessary.
    fn touch(&mut self, entity: Entity, from: u32) -> u32 {
        if let Some(found) = self.find(entity) {
            return found;
        }
        let index = entity.index() as usize;
        if index >= self.marks.len() {
            self.marks.resize((index + 1).next_power_of_two(), 0);
        }
        let at = self.touched.len() as u32;
        let other = mem::replace(&mut self.marks[index], at + 1).wrapping_sub(1);
        let (to, details) = (from, NOWHERE);
        self.touched.push(Touched { entity, from, to, details, other, is_away: false });
        at
    }

    /// Returns the position of an entity in `touched`.
    fn find(&self, entity: Entity) -> Option<u32> {
        let mut at = self.marks.get(entity.index() as usize)?.checked_sub(1)?;
        while let Some(touched) = self.touched.get(at as usize) {
            if touched.entity == entity {
                return Some(at);
            }
            at = touched.other;
        }
        None
    }

    fn detail_of(&mut self, at: u32, number: WatchNumber) -> Option<&mut Detail> {
        let mut next = self.touched[at as usize].details;
        while let Some(detail) = self.details.get(next as usize) {
            if detail.number == number {
                return self.details.get_mut(next as usize);
            }
            next = detail.next;
        }
        None
    }

    /// Notes that a component was removed or overwritten, if the entity had it at the beginning.
    fn note(
        &mut self,
        at: u32,
        number: WatchNumber,
        run: u32,
        was_absent: bool,
        lifecycle: &Lifecycle,
    ) {
        if let Some(detail) = self.detail_of(at, number) {
            detail.was_absent |= was_absent;
            return;
        }
        let touched = &mut self.touched[at as usize];
        if lifecycle.signature(touched.from).types.contains(&number) {
            let next = mem::replace(&mut touched.details, self.details.len() as u32);
            self.details.push(Detail { number, was_absent, run, value: OldValues::NONE, next });
        }
    }

    /// Sets the old value of a component, if it is that of the beginning.
    fn set_value(&mut self, entity: Entity, number: WatchNumber, run: u32, value: OldValues) {
        let Some(at) = self.find(entity) else { return };
        if let Some(detail) = self.detail_of(at, number)
            && detail.run == run
            && detail.value.is_none()
        {
            detail.value = value;
        }
    }

    /// Appends the events of all entities to a batch.
    fn emit(&mut self, lifecycle: &Lifecycle, batch: &mut EventBatch) {
        let mut next = 0;
        while next < self.touched.len() {
            let (first, begin) = (next, batch.entities.len() as u32);
            // Entities with the same effect are put together, so that observers get long runs.
            while next < self.touched.len() && self.is_alike(first, next) {
                batch.entities.push(self.touched[next].entity);
                next += 1;
            }
            let Touched { from, to, is_away, .. } = self.touched[first];
            lifecycle.each_event(from, to, is_away, |number, kind, cause| {
                self.emit_type(first..next, begin, (number, kind, cause), lifecycle, batch);
            });
            let (old, new) = (lifecycle.signature(from), lifecycle.signature(to));
            let is_prefab = old.is_prefab || new.is_prefab;
            for &number in &old.types {
                let is_kept =
                    new.types.contains(&number) && (!is_prefab || lifecycle.is_prefab_type(number));
                if is_kept && self.detail_of(first as u32, number).is_some() {
                    let event = (number, EventKind::Replace, RemoveCause::Removed);
                    self.emit_type(first..next, begin, event, lifecycle, batch);
                }
            }
        }
    }

    /// Returns whether two entities have the same events.
    fn is_alike(&self, one: usize, other: usize) -> bool {
        let (one, other) = (&self.touched[one], &self.touched[other]);
        if (one.from, one.to, one.is_away) != (other.from, other.to, other.is_away) {
            return false;
        }
        let (mut left, mut right) = (one.details, other.details);
        loop {
            match (self.details.get(left as usize), self.details.get(right as usize)) {
                (None, None) => return true,
                (Some(one), Some(other))
                    if (one.number, one.was_absent) == (other.number, other.was_absent) =>
                {
                    (left, right) = (one.next, other.next);
                }
                _ => return false,
            }
        }
    }

    /// Appends one event of alike entities. `begin` is the index of the first one in the batch.
    fn emit_type(
        &mut self,
        entities: std::ops::Range<usize>,
        begin: u32,
        (number, kind, cause): (WatchNumber, EventKind, RemoveCause),
        lifecycle: &Lifecycle,
        batch: &mut EventBatch,
    ) {
        let size = lifecycle.type_of(number).map_or(0, ComponentType::size);
        let before = batch.runs.len();
        for (entity, first) in entities.zip(begin..) {
            let detail =
                if kind == EventKind::Add { None } else { self.detail_of(entity as u32, number) };
            let (values, was_absent) =
                detail.map_or((OldValues::NONE, false), |detail| (detail.value, detail.was_absent));
            if let Some(last) = batch.runs[before..].last_mut() {
                let follows = last.values.after(last.len, size) == values;
                if if last.values.is_none() { values.is_none() } else { follows } {
                    last.len += 1;
                    continue;
                }
            }
            batch.runs.push(EventRun { number, kind, cause, was_absent, first, len: 1, values });
        }
    }
}
