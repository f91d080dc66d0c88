//! What tools are told of systems, and what is set while a world runs.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::error::SystemError;
use super::id::SystemId;
use super::rate::{RateError, RateManager};
use super::table::{Children, Flags, Systems, no_such};
use super::target::SystemTarget;
use crate::version::Version;
use crate::world::World;

/// What is known of a system.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SystemInfo {
    /// Which one.
    pub id: SystemId,
    /// What it is called.
    pub name: String,
    /// Whether it is a function, a struct, a group or a point.
    pub kind: SystemKind,
    /// The group it is in. [Patches](crate::IntoSystem::patch) are in none.
    pub group: Option<SystemId>,
    /// In how many groups it is.
    pub depth: usize,
    /// Whether it is to run.
    pub enabled: bool,
    /// Whether it has started to run, and not stopped.
    pub running: bool,
    /// When it ran last: what it has changed has this version. [`Version::NEVER`] if it did not.
    pub last_run: Version,
    /// Whether it is a group whose systems are [ordered for latency](World::order_systems_for_latency).
    pub for_latency: bool,
    /// How many entities its queries may find, if it is a function, and not just being updated.
    pub entities: Option<usize>,
    /// How often it ran since times are [measured](World::profile_systems). A point runs when there is something to carry out.
    pub runs: u64,
    /// How long it took when it ran last, if times are [measured](World::profile_systems). Jobs count where they are waited for.
    pub last_time: Duration,
    /// How long it took since times are [measured](World::profile_systems).
    pub total_time: Duration,
}

/// What a system is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SystemKind {
    /// A function.
    Function,
    /// A [struct](crate::System).
    Struct,
    /// A [group](crate::SystemGroup).
    Group,
    /// A [point](crate::CommandPoint).
    Point,
}

/// All systems of a world, in the order in which they run: each group before what is in it.
///
/// As text it is a line for each, further to the right the deeper it is.
///
/// # Examples
///
/// ```
/// use ancho_entities::{IntoSystem, World};
///
/// fn think() {}
///
/// fn act() {}
///
/// let mut world = World::new("Simulation");
/// world.add_system(act.named("act").after(think));
/// world.add_system(think.named("think").enabled(false));
/// assert_eq!(
///     world.system_order().to_string(),
///     "\
/// Root
///   Initialization
///     BeginInitialization
///     EndInitialization
///   Simulation
///     BeginSimulation
///     FixedStep
///       BeginFixedStep
///       EndFixedStep
///     VariableStep
///       BeginVariableStep
///       EndVariableStep
///     think (disabled)
///     act
///     LateSimulation
///     EndSimulation
///   Presentation
///     BeginPresentation
/// "
/// );
/// ```
#[derive(Clone, Debug)]
pub struct SystemOrder(Vec<SystemInfo>);

impl SystemOrder {
    /// The systems, in the order in which they run.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &SystemInfo> {
        self.0.iter()
    }
}

impl fmt::Display for SystemOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for SystemInfo { name, depth, enabled, runs, last_time, for_latency, .. } in &self.0 {
            let indent = 2 * depth;
            write!(f, "{:indent$}{name}", "")?;
            if !enabled {
                f.write_str(" (disabled)")?;
            }
            if *for_latency {
                f.write_str(" (for latency)")?;
            }
            if *runs > 0 {
                write!(f, " {last_time:?}")?;
            }
            f.write_str("\n")?;
        }
        Ok(())
    }
}

impl World {
    /// All systems, in the order in which they run. Groups that cannot be put in an order have theirs as they were added.
    pub fn system_order(&mut self) -> SystemOrder {
        let before = self.systems.errors.len();
        self.follow_entities();
        let _told_by_updates = self.sort_systems();
        self.systems.errors.truncate(before);
        let mut infos = Vec::new();
        if let Some(root) = self.systems.root {
            self.add_infos(root, 0, &mut infos);
        }
        let patches = Arc::clone(&self.systems.patches);
        for &patch in patches.iter() {
            self.add_infos(patch, 0, &mut infos);
        }
        SystemOrder(infos)
    }

    /// What is known of a system.
    ///
    /// # Errors
    ///
    /// With A0108 if it is not there.
    pub fn system_info(&mut self, id: SystemId) -> Result<SystemInfo, SystemError> {
        self.follow_entities();
        let mut depth = 0;
        let mut group = self.systems.record(id).and_then(|record| record.group);
        while let Some(id) = group {
            depth += 1;
            group = self.systems.record(id).and_then(|record| record.group);
        }
        self.info(id, depth).ok_or_else(|| no_such(&format!("{id:?}")))
    }

    fn add_infos(&mut self, id: SystemId, depth: usize, infos: &mut Vec<SystemInfo>) {
        infos.extend(self.info(id, depth));
        let Some(record) = self.systems.record(id) else { return };
        let list = match &record.children {
            Children { is_stale: false, sorted: Some(sorted), .. } => sorted.clone(),
            // They are just being updated by it, or there is none.
            Children { added, .. } => {
                self.systems.sorted(id).unwrap_or_else(|_| added.as_slice().into())
            }
        };
        for child in list {
            self.add_infos(child, depth + 1, infos);
        }
    }

    fn info(&mut self, id: SystemId, depth: usize) -> Option<SystemInfo> {
        let entities = &self.entities;
        let for_latency =
            self.systems.record(id).is_some_and(|record| self.systems.is_for_latency(record));
        let slot = self.systems.slot_mut(id)?;
        let count = slot.system.as_mut().and_then(|system| system.entity_count(entities));
        let record = slot.record.as_ref()?;
        Some(SystemInfo {
            id,
            name: record.name.to_string(),
            kind: record.kind,
            group: record.group,
            depth,
            enabled: slot.flags.has(Flags::ENABLED),
            running: slot.flags.has(Flags::STARTED),
            last_run: slot.last_run,
            for_latency: for_latency && record.kind == SystemKind::Group,
            entities: count,
            runs: record.profile.runs,
            last_time: record.profile.last,
            total_time: record.profile.total,
        })
    }

    /// Says whether it is measured how long systems take. On `wasm32-unknown-unknown`, which has no clock, it is not.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::World;
    ///
    /// let mut world = World::new("Simulation");
    /// let id = world.add_system(|| {});
    /// world.profile_systems(true);
    /// world.update(0.1);
    /// world.update(0.1);
    /// let info = world.system_info(id).unwrap();
    /// assert_eq!(info.runs, 2);
    /// assert!(info.total_time >= info.last_time);
    /// ```
    pub fn profile_systems(&mut self, measured: bool) {
        self.systems.profiles = measured && ancho_jobs::HAS_CLOCK;
    }

    /// When the system that is just being updated, or told something, ran before: what is newer has changed for it.
    /// [`Version::NEVER`] if it did not run yet, and outside of systems.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Changed, Component, QueryDescriptor, System, SystemResult, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// #[derive(Default)]
    /// struct Watch {
    ///     changed: EntityQuery<(), Changed<Health>>,
    ///     seen: Vec<usize>,
    /// }
    ///
    /// impl System for Watch {
    ///     fn on_update(&mut self, world: &mut World) -> SystemResult {
    ///         let changed = self.changed.clone().since(world.last_run());
    ///         self.seen.push(changed.read(world).count());
    ///         Ok(())
    ///     }
    /// }
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn(Health(20));
    /// world.add_system(Watch::default());
    /// world.update(0.1);
    /// world.update(0.1);
    /// assert_eq!(world.system::<Watch>().unwrap().seen, [1, 0]);
    /// ```
    pub fn last_run(&self) -> Version {
        self.systems.since
    }

    /// Says whether a system runs; if several are [meant](SystemTarget), whether all of them do. One that runs is told that it stops
    /// when its next update would have come.
    ///
    /// # Errors
    ///
    /// With A0108 if it is not there.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{ResMut, World};
    ///
    /// struct Turns(u32);
    ///
    /// fn turn(mut turns: ResMut<Turns>) {
    ///     turns.0 += 1;
    /// }
    ///
    /// let mut world = World::new("Simulation");
    /// world.insert_resource(Turns(0));
    /// world.add_systems((turn, turn));
    /// world.update(0.1);
    /// world.set_system_enabled(turn, false)?;
    /// world.update(0.1);
    /// assert_eq!(world.resource::<Turns>().0, 2);
    /// # Ok::<(), ancho_entities::SystemError>(())
    /// ```
    pub fn set_system_enabled<M>(
        &mut self,
        system: impl SystemTarget<M>,
        enabled: bool,
    ) -> Result<(), SystemError> {
        self.add_default_groups();
        let target = system.into_target();
        if !self.systems.set_enabled(&target.0, enabled) {
            return Err(no_such(&format!("`{}`", target.name())));
        }
        Ok(())
    }

    /// Whether a system is to run; if several are [meant](SystemTarget), the one of them that was added first.
    ///
    /// # Errors
    ///
    /// With A0108 if it is not there.
    pub fn is_system_enabled<M>(&self, system: impl SystemTarget<M>) -> Result<bool, SystemError> {
        let id = self.id_of(system)?;
        Ok(self.systems.slot(id).is_some_and(|slot| slot.flags.has(Flags::ENABLED)))
    }

    /// Has a group update as often as a manager says. If it is just being updated, it is not again in this turn: the manager is
    /// asked in the next.
    ///
    /// # Errors
    ///
    /// With A0108 if it is not there, with A0111 if it is no group.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{FixedRateCatchUp, FixedStep, IntoSystem, ResMut, World};
    ///
    /// struct Steps(u32);
    ///
    /// fn step(mut steps: ResMut<Steps>) {
    ///     steps.0 += 1;
    /// }
    ///
    /// let mut world = World::new("Simulation");
    /// world.insert_resource(Steps(0));
    /// world.add_system(step.in_group(FixedStep));
    /// world.set_rate(FixedStep, FixedRateCatchUp::new(0.125))?;
    /// world.update(0.25);
    /// assert_eq!(world.resource::<Steps>().0, 3, "at 0, 0.125 and 0.25 seconds");
    /// # Ok::<(), ancho_entities::SystemError>(())
    /// ```
    pub fn set_rate<M>(
        &mut self,
        group: impl SystemTarget<M>,
        rate: impl RateManager + 'static,
    ) -> Result<(), SystemError> {
        self.add_default_groups();
        let id = self.group_id(group, "rate")?;
        if let Some(record) = self.systems.record_mut(id) {
            record.children.rate = Some(Box::new(rate));
            record.children.rate_is_new = true;
        }
        Ok(())
    }

    /// Has a group update once in each update of the group that it is in.
    ///
    /// # Errors
    ///
    /// With A0108 if it is not there, with A0111 if it is no group.
    pub fn clear_rate<M>(&mut self, group: impl SystemTarget<M>) -> Result<(), SystemError> {
        self.add_default_groups();
        let id = self.group_id(group, "rate")?;
        if let Some(record) = self.systems.record_mut(id) {
            record.children.rate = None;
        }
        Ok(())
    }

    /// How many seconds there are between two updates of a group, if its rate works with steps.
    ///
    /// # Errors
    ///
    /// With A0108 if it is not there, with A0111 if it is no group.
    pub fn timestep<M>(&self, group: impl SystemTarget<M>) -> Result<Option<f64>, SystemError> {
        let id = self.group_id(group, "timestep")?;
        let rate = self.systems.record(id).and_then(|record| record.children.rate.as_ref());
        Ok(rate.and_then(|rate| rate.timestep()))
    }

    /// Sets how many seconds there are between two updates of a group, from the last one on.
    ///
    /// # Errors
    ///
    /// With A0108 if it is not there, with A0111 if it is no group, with A0121 if it cannot be so many, or the group has no
    /// rate that works with steps.
    pub fn set_timestep<M>(
        &mut self,
        group: impl SystemTarget<M>,
        seconds: f64,
    ) -> Result<(), SystemError> {
        self.add_default_groups();
        let id = self.group_id(group, "set_timestep")?;
        let record = self.systems.record_mut(id);
        let refused = match record.and_then(|record| record.children.rate.as_mut()) {
            Some(rate) => rate.set_timestep(seconds).err(),
            None => Some(RateError::NoTimestep { seconds }),
        };
        let Some(error) = refused else { return Ok(()) };
        Err(SystemError::Rate { group: self.systems.name_of(id).to_string(), error })
    }

    /// Says whether the systems of a group are sorted by their constraints, or run in the order in which they were added.
    ///
    /// # Errors
    ///
    /// With A0108 if it is not there, with A0111 if it is no group.
    pub fn set_sorting<M>(
        &mut self,
        group: impl SystemTarget<M>,
        sorts: bool,
    ) -> Result<(), SystemError> {
        self.add_default_groups();
        let id = self.group_id(group, "set_sorting")?;
        if let Some(record) = self.systems.record_mut(id) {
            record.children.sorts = sorts;
            record.children.is_stale = true;
        }
        Ok(())
    }

    fn id_of<M>(&self, system: impl SystemTarget<M>) -> Result<SystemId, SystemError> {
        let target = system.into_target();
        let found = self.systems.meant_by(&target.0);
        found.ok_or_else(|| no_such(&format!("`{}`", target.name())))
    }

    pub(super) fn group_id<M>(
        &self,
        group: impl SystemTarget<M>,
        what: &'static str,
    ) -> Result<SystemId, SystemError> {
        let id = self.id_of(group)?;
        if !self.systems.slot(id).is_some_and(|slot| slot.flags.has(Flags::GROUP)) {
            let system = self.systems.name_of(id).to_string();
            return Err(SystemError::OnlyForGroups { system, what });
        }
        Ok(id)
    }
}

impl fmt::Debug for Systems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Systems").field("count", &self.ids().count()).finish_non_exhaustive()
    }
}
