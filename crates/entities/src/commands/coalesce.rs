//! Coalescing: recording the effects of commands to apply them together, and skipping commands that cancel out.
//!
//! If runs are short, [`Coalescing`] records the effect of each command, and the manager then moves each entity at most once. If
//! runs are long, [`Playback::skip_cancelled`] finds runs that name the same entities in the same order and have no effect
//! together, such as `add` for each of them, then `despawn`.

use std::mem::needs_drop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use super::playback::{Context, Playback};
use super::resolved_ids::ResolvedIds;
use super::stream::RunCursor;
use super::vtable::{Command, Effect, Recorded, stage_in_arena, staged_set};
use crate::component::ComponentType;
use crate::entity::Entity;
use crate::manager::{
    ChangeSequence, CoalesceResult, InsertPlan, SequenceEnd, StagedValue, ValueOwner,
};
use crate::set::ComponentSet;
use crate::storage::SetOperation;

/// A command that is being coalesced.
pub(super) struct Coalescing<'f, 'p, C: Command> {
    context: &'f mut Context<'p>,
    target: Entity,
    command: Recorded<'f, C>,
    /// Address of the command's target slot.
    slot: *mut Entity,
}

impl<'f, 'p, C: Command> Coalescing<'f, 'p, C> {
    #[inline(always)]
    pub(super) fn new(
        context: &'f mut Context<'p>,
        target: Entity,
        command: Recorded<'f, C>,
        slot: *mut Entity,
    ) -> Self {
        Self { context, target, command, slot }
    }

    pub(super) fn command(&self) -> &Recorded<'f, C> {
        &self.command
    }

    /// Records that an entity is created with a set.
    #[inline(always)]
    pub(super) fn create<S: ComponentSet>(
        self,
        set_of: impl FnOnce(&mut C) -> &mut S,
    ) -> CoalesceResult {
        if S::SHARED || S::LINKS {
            return CoalesceResult::Refused;
        }
        let Ok(&[entity, ..]) = self.context.resolved.ids_from(self.target) else {
            return CoalesceResult::Refused;
        };
        let Ok(set) = self.context.entities.set_number::<S>() else {
            return CoalesceResult::Refused;
        };
        let Some(gift) = self.context.entities.can_create(entity, set) else {
            return CoalesceResult::Refused;
        };
        self.record(gift, set_of)
    }

    /// Records that a set is added to an entity, or that the entity's components are replaced.
    #[inline(always)]
    pub(super) fn write<S: ComponentSet>(
        self,
        change: SetOperation,
        set_of: impl FnOnce(&mut C) -> &mut S,
    ) -> CoalesceResult {
        if S::SHARED || S::LINKS {
            return CoalesceResult::Refused;
        }
        let Ok(entity) = self.context.resolved.resolve(self.target) else {
            return CoalesceResult::Refused;
        };
        let Ok(set) = self.context.entities.set_number::<S>() else {
            return CoalesceResult::Refused;
        };
        match self.context.entities.can_insert(entity, set, change) {
            Ok(gift) => self.record(gift, set_of),
            Err(result) => result,
        }
    }

    /// Records that the values of the command are written to an entity, unless the values are refused.
    #[inline(always)]
    fn record<S: ComponentSet>(
        mut self,
        gift: InsertPlan,
        set_of: impl FnOnce(&mut C) -> &mut S,
    ) -> CoalesceResult {
        let set = set_of(self.command.parts_mut().0);
        let owner =
            if needs_drop::<C>() { ValueOwner::Command(self.slot) } else { ValueOwner::Nobody };
        let staged = if S::COUNT == 0 {
            None
        } else if S::HAS_ENTITIES || self.context.keeps {
            match self.context.stage_values(set, owner) {
                Some(values) => Some(values),
                None => return CoalesceResult::Refused,
            }
        } else {
            Some(staged_set::<S>(ptr::from_mut(set).cast(), owner))
        };
        self.context.entities.record_insert(gift, staged);
        CoalesceResult::Recorded
    }

    /// Records that components are removed from an entity.
    #[inline(always)]
    pub(super) fn remove<S: ComponentSet>(self) -> CoalesceResult {
        match self.context.entities.set_number::<S>() {
            Ok(set) => self.remove_set(set),
            Err(_) => CoalesceResult::Refused,
        }
    }

    /// Records that components of the types in the list are removed from an entity.
    pub(super) fn remove_types(self) -> CoalesceResult
    where
        C: Command<Element = ComponentType>,
    {
        let types = self.command.elements();
        if types.iter().any(|ty| ty.is_in_relationship()) {
            return CoalesceResult::Refused;
        }
        match self.context.entities.set_number_of(types) {
            Ok(set) => self.remove_set(set),
            Err(_) => CoalesceResult::Refused,
        }
    }

    #[inline(always)]
    fn remove_set(self, set: u32) -> CoalesceResult {
        let may_come = self.target.is_placeholder();
        match self.context.resolved.resolve(self.target) {
            Ok(entity) => self.context.entities.record_remove(entity, set, may_come),
            Err(_) => CoalesceResult::Refused,
        }
    }

    /// Records that an entity is despawned.
    #[inline(always)]
    pub(super) fn despawn(self) -> CoalesceResult {
        let may_come = self.target.is_placeholder();
        match self.context.resolved.resolve(self.target) {
            Ok(entity) => self.context.entities.record_despawn(entity, may_come),
            Err(_) => CoalesceResult::Refused,
        }
    }

    /// Records that a component is enabled or disabled.
    pub(super) fn set_enabled(self, ty: ComponentType, enabled: bool) -> CoalesceResult {
        match self.context.resolved.resolve(self.target) {
            Ok(entity) => self.context.entities.record_enabled(entity, ty, enabled),
            Err(_) => CoalesceResult::Refused,
        }
    }
}

impl Context<'_> {
    /// Stages the values of a command, with placeholders resolved. The values stay in place, or are duplicated if the buffer keeps
    /// its commands. Returns `None` if the values are refused or user code panics.
    #[inline(never)]
    fn stage_values<S: ComponentSet>(
        &mut self,
        set: &mut S,
        owner: ValueOwner,
    ) -> Option<StagedValue> {
        let (keeps, resolved) = (self.keeps, self.resolved);
        let staged = catch_unwind(AssertUnwindSafe(|| {
            if !keeps {
                return resolved.resolve_set(set).ok().map(|()| None);
            }
            let mut other = set.duplicate_set().ok()?;
            if S::HAS_ENTITIES {
                resolved.resolve_set(&mut other).ok()?;
            }
            Some(Some(other))
        }));
        match staged {
            Ok(Some(None)) => Some(staged_set::<S>(ptr::from_mut(set).cast(), owner)),
            Ok(Some(Some(other))) => Some(stage_in_arena(self.entities.coalesced.staging(), other)),
            Ok(None) => None,
            Err(panic) => {
                self.panic = Some(panic);
                None
            }
        }
    }
}

impl<'l> Playback<'l> {
    /// Moves past runs that are cancelled by later runs.
    pub(super) fn skip_cancelled(&mut self, context: &mut Context<'_>) {
        while let Some(runs) = self.cancelled(context) {
            for _ in 0..runs {
                self.skip_run();
            }
        }
    }

    /// Returns the number of runs, starting at the current one, that are cancelled by later runs. Consumes the ids of entities that
    /// are never created.
    ///
    /// Comparing the first and the last command of two runs usually excludes a cancellation at no cost. Otherwise each command is
    /// examined: whether it would succeed, and whether it names the same entity as the other runs.
    fn cancelled(&self, context: &mut Context<'_>) -> Option<usize> {
        // A strict world may refuse an entity that is named twice.
        if context.entities.is_strict() {
            return None;
        }
        let mut ahead = *self;
        let mut course = ChangeSequence::new();
        let first = ahead.rest_of_run()?;
        let mut others = 0;
        let (end, last) = loop {
            let next = if others == 0 { first } else { ahead.rest_of_run()? };
            let effect = next.vtable().effect;
            if matches!(effect, Effect::Other)
                || others > 0 && !may_name_same(first, next, context.resolved)
            {
                return None;
            }
            ahead.skip_run();
            if others == 0 {
                // Most runs are followed by runs of other entities.
                let second = ahead.rest_of_run()?;
                if matches!(second.vtable().effect, Effect::Other)
                    || !may_name_same(first, second, context.resolved)
                {
                    return None;
                }
            }
            let (change, set) = match effect {
                Effect::Despawn if others > 0 => break (SequenceEnd::Despawned, next),
                Effect::Create(set) if others == 0 => {
                    course.creates = true;
                    (SetOperation::Add, set)
                }
                Effect::Change(change, set) => (change, set),
                _ => return None,
            };
            let set = set(context.entities)?;
            let is_duplicated = context.keeps && change != SetOperation::Remove;
            if is_duplicated && !context.entities.can_be_duplicated(set) {
                return None;
            }
            if change == SetOperation::Remove && context.entities.inserts_only(&course, set) {
                break (SequenceEnd::Taken(set), next);
            }
            if !course.then(change, set) {
                return None;
            }
            others += 1;
        };
        if end == SequenceEnd::Despawned && context.entities.storage.chunks.may_be_shared() {
            // If memory is missing, despawning fails, and the effects of the commands before it remain visible.
            return None;
        }
        let mut runs = *self;
        for _ in 0..others {
            let run = runs.rest_of_run()?;
            runs.skip_run();
            if !run
                .targets()
                .zip(last.targets())
                .all(|(one, other)| is_same(one, other, context.resolved))
            {
                return None;
            }
        }
        for target in first.targets() {
            let entity = context.resolved.resolve(target).ok()?;
            if !context.entities.is_elidable(entity, &mut course, end) {
                return None;
            }
        }
        if course.creates {
            context.entities.sync_for_move([]);
            for target in first.targets() {
                if let Ok(entity) = context.resolved.resolve(target) {
                    context.entities.storage.table.consume_id(entity);
                }
            }
        }
        // The run that despawns entities is skipped only if the entities are never created.
        Some(others + usize::from(course.creates || end != SequenceEnd::Despawned))
    }
}

/// Tests whether two targets are the same entity. A created entity may be named by its placeholder and by its reserved id.
#[inline]
fn is_same(one: Entity, other: Entity, resolved: &ResolvedIds) -> bool {
    one == other
        || one.is_placeholder()
            && !other.is_placeholder()
            && resolved.resolve(one).is_ok_and(|entity| entity == other)
}

/// Tests whether two runs are equally long, and their first and last targets are the same.
fn may_name_same(one: RunCursor<'_>, other: RunCursor<'_>, resolved: &ResolvedIds) -> bool {
    let is_same_at = |one: Option<Entity>, other: Option<Entity>| match (one, other) {
        (Some(one), Some(other)) => is_same(one, other, resolved),
        _ => false,
    };
    one.left() == other.left()
        && is_same_at(one.targets().next(), other.targets().next())
        && is_same_at(one.last_target(), other.last_target())
}
