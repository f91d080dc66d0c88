//! Sets of systems: names for systems of any groups, with shared settings.

use std::any::{TypeId, type_name};
use std::fmt;

use super::builder::IntoSystemTarget;
use super::condition::{BuildCondition, Condition};
use crate::schedule::{
    OrderError, SetConstraint, SystemError, SystemFault, SystemId, SystemTarget,
};
use crate::world::{ErasedCondition, Flags, Record, Systems, World};

/// A set of systems, identified by its type.
///
/// A system can be in any number of sets, and the members of a set can be in different [groups](crate::SystemGroup). A set does not
/// run systems: it names them, for [`before`](crate::IntoSystem::before) and
/// [`set_system_enabled`](crate::World::set_system_enabled), and has [settings](crate::World::configure_set) that apply to all
/// members.
///
/// # Examples
///
/// ```
/// use ancho_entities::{IntoSystem, SystemSet, World};
///
/// struct Physics;
///
/// impl SystemSet for Physics {}
///
/// fn collide() {}
///
/// let mut world = World::new("Simulation");
/// let collide = world.add_system(collide.in_set(Physics));
/// world.configure_set(Physics).enabled(false);
/// world.update(0.1);
/// assert!(!world.system_info(collide)?.running);
/// # Ok::<(), ancho_entities::SystemError>(())
/// ```
pub trait SystemSet: Sized + 'static {
    /// Returns the name that errors show.
    fn name() -> &'static str {
        type_name::<Self>()
    }
}

/// Marker of sets in [`IntoSystemTarget`].
#[derive(Debug)]
pub struct IsSystemSet;

impl<S: SystemSet> IntoSystemTarget<IsSystemSet> for S {
    fn into_target(self) -> SystemTarget {
        SystemTarget::Set(TypeId::of::<S>(), S::name())
    }
}

/// The settings of a [set](SystemSet). Returned by [`World::configure_set`]. Each method takes effect at once, for all members of the set
/// in all groups, and for systems that join it later.
pub struct SetSettings<'w> {
    world: &'w mut World,
    set: TypeId,
    name: &'static str,
}

impl SetSettings<'_> {
    fn target(&self) -> SystemTarget {
        SystemTarget::Set(self.set, self.name)
    }

    fn record(&mut self) -> &mut crate::world::SetRecord {
        self.world.systems.sets.get_or_insert(self.set, self.name)
    }

    /// Adds a run condition. Each member tests the condition before it runs, before its own conditions.
    ///
    /// # Panics
    ///
    /// Panics with A0070 or A0086 if a query of the condition is invalid.
    #[track_caller]
    pub fn run_if<M, C: Condition<M> + BuildCondition<M>>(mut self, condition: C) -> Self {
        let condition = condition.into_test();
        for id in self.world.systems.all_named(&self.target()) {
            let mut copy = ErasedCondition::copy(&condition);
            let name = self.world.systems.name_of(id);
            if let Err(error) = copy.declare(self.world, &name) {
                panic!("{error}");
            }
            self.world.systems.add_condition(id, copy, true);
        }
        self.record().conditions.push(Box::new(condition));
        self
    }

    /// Enables or disables all members.
    pub fn enabled(mut self, enabled: bool) -> Self {
        self.record().is_enabled = enabled;
        let systems = &mut self.world.systems;
        for id in systems.all_named(&SystemTarget::Set(self.set, self.name)) {
            // A member of another set that is disabled stays disabled, as a member that is added later.
            let is_enabled =
                systems.record(id).is_some_and(|record| systems.are_sets_enabled(&record.sets));
            systems.set_enabled(&SystemTarget::System(id), is_enabled);
        }
        self
    }

    /// Runs all members before other systems, or before the members of another set, in each group that has both.
    ///
    /// It is an error if no group has both (A0124).
    pub fn before<M>(mut self, other: impl IntoSystemTarget<M>) -> Self {
        self.record().before.push(other.into_target());
        self.world.systems.mark_all_stale();
        self
    }

    /// Runs all members after other systems, or after the members of another set, in each group that has both.
    ///
    /// It is an error if no group has both (A0124).
    pub fn after<M>(mut self, other: impl IntoSystemTarget<M>) -> Self {
        self.record().after.push(other.into_target());
        self.world.systems.mark_all_stale();
        self
    }

    /// Allows that the set has no members. Without this setting, an update reports a configured set without members (A0222).
    pub fn may_be_empty(mut self) -> Self {
        self.record().may_be_empty = true;
        self
    }
}

impl fmt::Debug for SetSettings<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SetSettings").field("set", &self.name).finish_non_exhaustive()
    }
}

impl World {
    /// Changes the settings of a [set](SystemSet) of systems.
    ///
    /// The set may be configured before it has members. If it has none in an update, that is an error (A0222), unless it
    /// [may be empty](SetSettings::may_be_empty).
    ///
    /// # Panics
    ///
    /// Panics with A0109 if the world is being updated.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{IntoSystem, Resource, SystemSet, World, resource_exists};
    ///
    /// struct Physics;
    /// struct Drawing;
    ///
    /// impl SystemSet for Physics {}
    /// impl SystemSet for Drawing {}
    ///
    /// #[derive(Resource, Clone)]
    /// struct Level;
    ///
    /// let mut world = World::new("Simulation");
    /// world.configure_set(Physics).run_if(resource_exists::<Level>).before(Drawing);
    /// world.add_system((|| ()).named("draw").in_set(Drawing));
    /// let collide = world.add_system((|| ()).named("collide").in_set(Physics));
    /// world.update(0.1);
    /// assert!(!world.system_info(collide)?.running);
    /// # Ok::<(), ancho_entities::SystemError>(())
    /// ```
    #[doc(alias = "configure_sets")]
    #[track_caller]
    pub fn configure_set<S: SystemSet>(&mut self, set: S) -> SetSettings<'_> {
        drop(set);
        if let Err(error) = self.refuse_in_update("configure_set") {
            panic!("{error}");
        }
        let settings = SetSettings { world: self, set: TypeId::of::<S>(), name: S::name() };
        settings.world.systems.sets.is_unchecked = true;
        settings.world.systems.sets.get_or_insert(settings.set, settings.name);
        settings
    }

    /// Reports configured sets without members.
    #[cold]
    pub(super) fn check_sets(&mut self) {
        let is_empty = |set: TypeId| {
            let is_member =
                |id| self.systems.record(id).is_some_and(|record| record.sets.contains(&set));
            !self.systems.ids().any(is_member)
        };
        let sets =
            self.systems.sets.iter().filter(|set| !set.may_be_empty && is_empty(set.type_id));
        let empty: Vec<_> = sets.map(|set| set.name).collect();
        self.systems.sets.is_unchecked = !empty.is_empty();
        for set in empty {
            self.systems.fail_as(set.into(), SystemFault::EmptySet);
        }
    }

    /// Returns copies of the conditions of a new system's sets, and then its own conditions.
    pub(super) fn conditions_of_new(
        &mut self,
        name: &str,
        sets: &[TypeId],
        own: Vec<Box<dyn ErasedCondition>>,
    ) -> Result<(Vec<Box<dyn ErasedCondition>>, usize), SystemError> {
        let mut conditions = Vec::with_capacity(own.len());
        for &set in sets {
            if let Some(set) = self.systems.sets.get(set) {
                conditions.extend(set.conditions.iter().map(|condition| condition.copy()));
            }
        }
        let of_sets = conditions.len();
        conditions.extend(own);
        for condition in &mut conditions {
            condition.declare(self, name)?;
        }
        Ok((conditions, of_sets))
    }
}

impl Systems {
    /// Tests whether the sets of a new system are enabled.
    pub(super) fn are_sets_enabled(&self, sets: &[TypeId]) -> bool {
        sets.iter().all(|&set| self.sets.get(set).is_none_or(|set| set.is_enabled))
    }

    /// Sets the flags of a system that has conditions.
    pub(super) fn set_condition_flags(&mut self, id: SystemId) {
        let Some(slot) = self.slot_mut(id) else { return };
        let Some(record) = &slot.record else { return };
        if record.conditions.is_empty() {
            return;
        }
        let reaches_systems = record.conditions.iter().any(|condition| condition.reaches_systems());
        slot.flags.set(Flags::CONDITIONS, true);
        if reaches_systems {
            slot.flags.set(Flags::SYSTEMS_UNREACHABLE, false);
        }
    }

    /// Records that a system is removed, whose sets may be empty then.
    pub(super) fn leave_sets(&mut self, id: SystemId) {
        let has_sets = self.record(id).is_some_and(|record| !record.sets.is_empty());
        self.sets.is_unchecked |= has_sets;
    }

    /// Returns the constraints of a system's sets.
    pub(super) fn set_constraints<'a>(&'a self, record: &Record) -> Vec<SetConstraint<'a>> {
        let mut all = Vec::new();
        for set in record.sets.iter().filter_map(|&set| self.sets.get(set)) {
            let constraint = |is_before| move |target| SetConstraint { target, is_before };
            all.extend(set.before.iter().map(constraint(true)));
            all.extend(set.after.iter().map(constraint(false)));
        }
        all
    }

    /// Tests whether a target is a set without members that may be empty.
    pub(super) fn is_allowed_empty_set(&self, target: &SystemTarget) -> bool {
        let SystemTarget::Set(set, _) = target else { return false };
        self.find(target).is_none() && self.sets.get(*set).is_some_and(|set| set.may_be_empty)
    }

    /// Returns an error if a set of these systems is ordered by systems, and no group has members of both.
    pub(super) fn check_set_order(&self, members: &[SystemId]) -> Result<(), OrderError> {
        let mut sets: Vec<TypeId> = Vec::new();
        for set in members.iter().filter_map(|&id| self.record(id)).flat_map(|record| &record.sets)
        {
            if !sets.contains(set) {
                sets.push(*set);
            }
        }
        for set in sets.into_iter().filter_map(|set| self.sets.get(set)) {
            let target_of_set = SystemTarget::Set(set.type_id, set.name);
            let before = set.before.iter().map(|target| (target, true));
            let after = set.after.iter().map(|target| (target, false));
            for (target, is_before) in before.chain(after) {
                let others = self.all_named(target);
                let group_of = |id: SystemId| self.record(id).and_then(|record| record.group);
                let share_group = self.all_named(&target_of_set).iter().any(|&member| {
                    let group = group_of(member);
                    group.is_some() && others.iter().any(|&other| group_of(other) == group)
                });
                if !share_group && !self.is_allowed_empty_set(target) {
                    let (set, target) = (set.name.to_owned(), target.name().into_owned());
                    return Err(OrderError::SetsApart { set, is_before, target });
                }
            }
        }
        Ok(())
    }
}
