//! Information about systems for tools, and the function that watches updates.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::builder::IntoSystemTarget;
use crate::schedule::{SystemError, SystemId, UpdateError};
use crate::version::Version;
use crate::world::{Children, Flags, Moment, SystemKind, World, no_such};

/// Information about a system.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SystemInfo {
    /// The id of the system.
    pub id: SystemId,
    /// The name that errors and tools show.
    pub name: String,
    /// The kind of system.
    pub kind: SystemKind,
    /// The enclosing group. [Patches](crate::IntoSystem::patch) have none.
    pub group: Option<SystemId>,
    /// The number of enclosing groups.
    pub depth: usize,
    /// Set if the system is enabled.
    pub enabled: bool,
    /// Set if the system has started and has not stopped since.
    pub running: bool,
    /// The version of the last run, or [`Version::NEVER`] before the first run. Data that the system wrote has this version.
    pub last_run: Version,
    /// Set for a group that is [ordered for latency](World::order_systems_for_latency).
    pub for_latency: bool,
    /// The number of entities in chunks that match the system's queries. `None` for systems that are not functions, or are being
    /// updated.
    pub entities: Option<usize>,
    /// The number of runs since [`profile_systems`](World::profile_systems) was enabled. A command point runs only if it has
    /// commands.
    pub runs: u64,
    /// The time of the last run, if run times are [measured](World::profile_systems). The time of a job counts for the system that
    /// waits for the job.
    pub last_time: Duration,
    /// The sum of all run times since [`profile_systems`](World::profile_systems) was enabled.
    pub total_time: Duration,
}

/// The systems of a world in the order in which they run, each group before its members.
///
/// `Display` writes one line per system, indented by depth.
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
    /// Iterates over the systems in the order in which they run.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{IntoSystem, World};
    ///
    /// let mut world = World::new("Simulation");
    /// world.add_system((|| ()).named("act").after("think"));
    /// world.add_system((|| ()).named("think"));
    /// let order = world.system_order();
    /// let position = |name| order.iter().position(|system| &*system.name == name);
    /// assert!(position("think") < position("act"));
    /// ```
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
    /// Lists all systems in the order in which they run. The systems of a group whose constraints cannot hold are listed in the
    /// order in which they were added.
    pub fn system_order(&mut self) -> SystemOrder {
        self.sync_last_runs();
        let _told_by_updates = self.sort_systems();
        let mut infos = Vec::new();
        if let Some(root) = self.systems.root {
            self.add_infos(root, 0, &mut infos);
        }
        let patches = Arc::clone(&self.systems.patches);
        for &patch in patches.iter() {
            self.add_infos(patch, 0, &mut infos);
        }
        if let Some(observers) = self.observers.group {
            self.add_infos(observers, 0, &mut infos);
        }
        SystemOrder(infos)
    }

    /// Returns information about a system.
    ///
    /// # Errors
    ///
    /// Returns A0108 if the world does not have the system.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{IntoSystem, Version, World};
    ///
    /// let mut world = World::new("Simulation");
    /// let id = world.add_system((|| ()).named("think"));
    /// let info = world.system_info(id)?;
    /// assert_eq!((&*info.name, info.enabled, info.last_run), ("think", true, Version::NEVER));
    /// world.update(0.1);
    /// assert_ne!(world.system_info(id)?.last_run, Version::NEVER);
    /// # Ok::<(), ancho_entities::SystemError>(())
    /// ```
    pub fn system_info(&mut self, id: SystemId) -> Result<SystemInfo, SystemError> {
        self.sync_last_runs();
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
            // The group is being updated, or has not been sorted yet.
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

    /// Sets whether run times of systems are measured. They are never measured on `wasm32-unknown-unknown`, which has no clock.
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

    /// Returns the version of the last run of the executing system: data with a newer version counts as changed. Returns
    /// [`Version::NEVER`] in the first run, and outside of systems.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Changed, Component, System, SystemResult, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// #[derive(Default)]
    /// struct Watch {
    ///     seen: Vec<usize>,
    /// }
    ///
    /// impl System for Watch {
    ///     fn on_update(&mut self, world: &mut World) -> SystemResult {
    ///         let changed = world.query_filtered::<(), Changed<Health>>().since(world.last_run());
    ///         self.seen.push(changed.count());
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

    /// Enables or disables all systems that the target names. A running system that is disabled stops when its next update is due.
    ///
    /// # Errors
    ///
    /// Returns A0108 if the world does not have the system.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{ResMut, Resource, World};
    ///
    /// #[derive(Resource, Clone)]
    /// struct ActiveWorlds(u32);
    ///
    /// fn turn(mut turns: ResMut<ActiveWorlds>) {
    ///     turns.0 += 1;
    /// }
    ///
    /// let mut world = World::new("Simulation");
    /// world.insert_resource(ActiveWorlds(0));
    /// world.add_systems((turn, turn));
    /// world.update(0.1);
    /// world.set_system_enabled(turn, false)?;
    /// world.update(0.1);
    /// assert_eq!(world.resource::<ActiveWorlds>().0, 2);
    /// # Ok::<(), ancho_entities::SystemError>(())
    /// ```
    pub fn set_system_enabled<M>(
        &mut self,
        system: impl IntoSystemTarget<M>,
        enabled: bool,
    ) -> Result<(), SystemError> {
        self.add_default_groups();
        let target = system.into_target();
        if !self.systems.set_enabled(&target, enabled) {
            return Err(no_such(&format!("`{}`", target.name())));
        }
        Ok(())
    }

    /// Tests whether a system is enabled. If the target names several, tests the one that was added first.
    ///
    /// # Errors
    ///
    /// Returns A0108 if the world does not have the system.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::World;
    ///
    /// fn tutorial() {}
    ///
    /// let mut world = World::new("Simulation");
    /// world.add_system(tutorial);
    /// assert!(world.is_system_enabled(tutorial)?);
    /// world.set_system_enabled(tutorial, false)?;
    /// assert!(!world.is_system_enabled(tutorial)?);
    /// # Ok::<(), ancho_entities::SystemError>(())
    /// ```
    pub fn is_system_enabled<M>(
        &self,
        system: impl IntoSystemTarget<M>,
    ) -> Result<bool, SystemError> {
        let id = self.id_of(system)?;
        Ok(self.systems.slot(id).is_some_and(|slot| slot.flags.has(Flags::ENABLED)))
    }

    pub(super) fn id_of<M>(
        &self,
        system: impl IntoSystemTarget<M>,
    ) -> Result<SystemId, SystemError> {
        let target = system.into_target();
        let found = self.systems.find(&target);
        found.ok_or_else(|| no_such(&format!("`{}`", target.name())))
    }

    /// Calls a function when updates begin and end, and after each system except groups. The function must not panic.
    pub(crate) fn watch(&mut self, watcher: impl FnMut(&mut Self, Moment) + Send + 'static) {
        self.systems.watcher = Some(Box::new(watcher));
        self.systems.seen_errors = self.systems.errors.len();
        self.entities.jobs.watch_writes(true);
    }

    /// Returns the errors since the last call that were not passed to the error handler.
    pub(crate) fn unseen_errors(&mut self) -> &[UpdateError] {
        let (errors, seen) = (&self.systems.errors, &mut self.systems.seen_errors);
        let first = std::mem::replace(seen, errors.len()).min(errors.len());
        &errors[first..]
    }

    #[cold]
    #[inline(never)]
    pub(super) fn notify_watcher(&mut self, moment: Moment) {
        let Some(mut watcher) = self.systems.watcher.take() else { return };
        let world = self.systems.id;
        watcher(self, moment);
        if self.systems.id == world {
            self.systems.watcher = Some(watcher);
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn notify_after(&mut self, id: SystemId) {
        let Some(slot) = self.systems.slot(id) else { return };
        // A point that plays commands has the version of that playback as its last run.
        let is_idle =
            slot.flags.has(Flags::POINT) && slot.last_run != self.entities.storage.version;
        let name = self.systems.name_of(id);
        self.notify_watcher(if is_idle { Moment::Passed(name) } else { Moment::After(name) });
    }
}
