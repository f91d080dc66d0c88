//! The system table: slots, flags and records.

use std::any::{Any, TypeId};
use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ancho_collections::FixedState;
use ancho_jobs::JobHandle;
use hashbrown::HashMap;

use super::sets::SystemSets;
use super::states::StateTable;
use super::{RateStates, TwoUpdates, World};
use crate::manager::EntityManager;
use crate::messages::ClockId;
use crate::schedule::{
    AccessedData, ErrorLog, LatencyAccess, Points, RateManager, Requirements, SystemAccess,
    SystemError, SystemFault, SystemId, SystemTarget, UpdateError,
};
use crate::version::Version;

/// The systems of a world.
#[derive(Default)]
pub(crate) struct Systems {
    /// The unique id of the world. It shows whether a system replaced its world by another one.
    pub(crate) id: u64,
    /// The id of the manager to which the last runs of all systems refer.
    pub(crate) entities: u64,
    pub(crate) slots: Vec<SystemSlot>,
    pub(crate) free: Vec<u32>,
    /// Structs, groups and points by type. A world has at most one of each type.
    pub(crate) by_type: HashMap<TypeId, SystemId, FixedState>,
    /// The root group. `None` before the first system.
    pub(crate) root: Option<SystemId>,
    /// The patches: systems that run after each other system.
    pub(crate) patches: Arc<[SystemId]>,
    pub(crate) points: Points,
    /// The number of systems that were ever added.
    pub(crate) created: u64,
    /// The number of changes to the table, excluding those of the built-in systems.
    pub(crate) version: u64,
    /// The innermost system that is executing.
    pub(crate) executing: Option<SystemId>,
    pub(crate) is_updating: bool,
    /// Set while the slots are moved out of the world, because systems run that cannot reach them.
    pub(crate) is_on_fast_path: bool,
    /// The number of pushed times at the beginning of the update.
    pub(crate) time_depth: usize,
    pub(crate) is_dropping: bool,
    pub(crate) profiles: bool,
    /// Set if groups without their own setting are ordered for latency.
    pub(crate) for_latency: bool,
    /// The version of the executing system's last run.
    pub(crate) since: Version,
    /// The errors since the beginning of the update.
    pub(crate) errors: Vec<UpdateError>,
    /// Faults of the executing system after its first one.
    pub(crate) other_faults: Vec<SystemFault>,
    /// The counts of repeated errors that belong to no system. `None` if there were none recently.
    pub(crate) world_errors: Option<Box<ErrorLog>>,
    /// The number of times that all jobs of systems were completed.
    pub(crate) frame: u64,
    pub(crate) handler: Option<ErrorHandler>,
    /// The jobs that systems have scheduled since the beginning of the update.
    pub(crate) jobs: Vec<(JobHandle, SystemId)>,
    /// The names of removed systems whose jobs are still in `jobs`.
    pub(crate) removed: Vec<(SystemId, Arc<str>)>,
    /// The states of rate managers in a fork, for groups that may be added to it.
    pub(crate) captured_rates: RateStates,
    /// The function that observes the world after each system.
    pub(crate) watcher: Option<Watcher>,
    /// The number of errors that were passed to the watcher.
    pub(crate) seen_errors: usize,
    /// The name of the condition that is being tested, for the report of its panic.
    pub(crate) tested: Option<&'static str>,
    /// The system whose conditions are being tested, or were tested last.
    pub(crate) guarded: Option<SystemId>,
    /// The one-shot systems that were run as functions, by the type of the function.
    pub(crate) one_shots: HashMap<TypeId, SystemId, FixedState>,
    /// The runs of one-shot systems that wait until an earlier run of the same system returns.
    pub(crate) deferred_runs: Vec<(SystemId, DeferredRun)>,
    /// The one-shot systems whose deferred runs are being made.
    pub(crate) deferring: Vec<SystemId>,
    /// The plugins, in the order in which they were added.
    pub(crate) plugins: Vec<PluginRecord>,
    /// The group `Startup`, if it exists.
    pub(crate) startup: Option<SystemId>,
    /// The states, and the systems that run when they change.
    pub(crate) states: StateTable,
    /// The configured sets of systems.
    pub(crate) sets: SystemSets,
}

/// A run of a one-shot system that was deferred.
pub(crate) type DeferredRun = Box<dyn FnOnce(&mut World) + Send>;

/// A plugin that was added.
pub(crate) struct PluginRecord {
    pub(crate) type_id: TypeId,
    /// The place of the call that added it.
    pub(crate) location: &'static Location<'static>,
}

/// The function that receives the errors of updates.
pub(crate) type ErrorHandler = Box<dyn FnMut(&UpdateError) + Send>;

/// A moment of an update that is reported to the watcher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Moment {
    /// An update has begun. No system has run yet.
    Begun,
    /// The system with this name has run.
    After(Arc<str>),
    /// The point with this name was reached, and no commands waited for it.
    Passed(Arc<str>),
    /// All systems of an update have run.
    Ended,
}

/// The function that observes updates.
pub(crate) type Watcher = Box<dyn FnMut(&mut World, Moment) + Send>;

/// The place of a system in the system table: the state that each update reads, and pointers to the rest.
pub(crate) struct SystemSlot {
    pub(crate) generation: u32,
    pub(crate) flags: Flags,
    pub(crate) last_run: Version,
    /// The function or struct. `None` while the system runs, and for groups and points.
    pub(crate) system: Option<Box<dyn ErasedSystem>>,
    /// The data of the system that is not needed in each run. `None` if the slot is free.
    pub(crate) record: Option<Box<Record>>,
}

/// The kind of a system.
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

/// The outcome of a call of a system.
pub(crate) type Outcome = Result<(), Box<SystemFault>>;

/// A function or struct system with an erased type.
pub(crate) trait ErasedSystem: Send {
    /// Creates the system. Returns the access of its parameters, if it declares them.
    fn create(
        &mut self,
        world: &mut World,
        name: &str,
    ) -> Result<Option<SystemAccess>, SystemError>;

    /// Returns the name. It is stored in the system too, so that it is available after the world was replaced.
    fn name(&self) -> &str;

    fn start(&mut self, _world: &mut World) -> Outcome {
        Ok(())
    }

    /// Updates the system. `since` is the version of its last run.
    fn update(&mut self, world: &mut World, since: Version) -> Outcome;

    /// Ends an update that returned [`SystemFault::Unfinished`].
    fn finish(&mut self, _world: &mut World) -> Outcome {
        Ok(())
    }

    fn stop(&mut self, _world: &mut World) -> Outcome {
        Ok(())
    }

    fn destroy(&mut self, _world: &mut World) -> Outcome {
        Ok(())
    }

    /// Tests whether the system can access the system table of its world.
    fn reaches_systems(&self) -> bool {
        true
    }

    /// Returns the struct of a struct system.
    fn as_any(&self) -> Option<&dyn Any> {
        None
    }

    fn as_any_mut(&mut self) -> Option<&mut dyn Any> {
        None
    }

    /// Returns the number of entities in chunks that match the system's queries.
    fn entity_count(&mut self, _entities: &EntityManager) -> Option<usize> {
        None
    }

    /// Returns whether one of the system's queries matches a chunk.
    fn has_entities(&mut self, _entities: &EntityManager) -> Option<bool> {
        None
    }
}

/// A run condition with an erased type.
pub(crate) trait ErasedCondition: Send {
    /// Creates the state of the parameters, for the system with this name.
    fn declare(&mut self, world: &mut World, system: &str) -> Result<(), SystemError>;

    /// Tests the condition. `since` is the version of the last run of the guarded system.
    fn test(&mut self, world: &mut World, since: Version) -> Result<bool, Box<SystemFault>>;

    /// Returns a copy without the state of the parameters, for another system.
    fn copy(&self) -> Box<dyn ErasedCondition>;

    /// Tests whether the condition reads the system table.
    fn reaches_systems(&self) -> bool;
}

/// The state of a system, as bit flags.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Flags(u16);

impl Flags {
    pub(crate) const NONE: Self = Self(0);
    /// The system is enabled.
    pub(crate) const ENABLED: Self = Self(1);
    /// The system has started and has not stopped since.
    pub(crate) const STARTED: Self = Self(2);
    /// The system is being updated, or one of its callbacks runs.
    pub(crate) const EXECUTING: Self = Self(4);
    /// The system has requirements.
    pub(crate) const REQUIRES: Self = Self(8);
    /// The system is a group.
    pub(crate) const GROUP: Self = Self(16);
    /// The system is a command point.
    pub(crate) const POINT: Self = Self(32);
    /// The system will be removed when it returns.
    pub(crate) const REMOVED: Self = Self(64);
    /// The system is a patch.
    pub(crate) const PATCH: Self = Self(128);
    /// The system is a function that cannot access the system table.
    pub(crate) const SYSTEMS_UNREACHABLE: Self = Self(256);
    /// The system has an [`ErrorLog`], because it failed recently. Its runs are counted.
    pub(crate) const HAS_ERRORS: Self = Self(512);
    /// The system is disabled after its first error.
    pub(crate) const STOPS_ON_ERROR: Self = Self(1024);
    /// The system has run conditions.
    pub(crate) const CONDITIONS: Self = Self(2048);
    /// The system is in the group `Startup`, and has run. Set for the group itself if all of its systems have run.
    pub(crate) const DONE: Self = Self(4096);

    /// The system is a group at whose steps states change.
    pub(crate) const STATES: Self = Self(8192);

    /// The values of the [`TESTED`](Self::TESTED) flags for a function or struct that can run without further tests.
    pub(crate) const READY: Self = Self(1 | 2);
    /// The flags that decide whether a system can run without further tests.
    pub(crate) const TESTED: Self = Self(1 | 2 | 4 | 8 | 16 | 32 | 64 | 512 | 2048 | 4096 | 8192);

    #[inline(always)]
    pub(crate) const fn has(self, flag: Self) -> bool {
        self.0 & flag.0 != 0
    }

    #[inline(always)]
    pub(crate) const fn is_ready(self) -> bool {
        self.0 & Self::TESTED.0 == Self::READY.0
    }

    /// Tests whether the system is a function that can run on the fast path.
    #[inline(always)]
    pub(crate) const fn is_ready_for_fast_path(self) -> bool {
        self.0 & (Self::TESTED.0 | Self::SYSTEMS_UNREACHABLE.0)
            == Self::READY.0 | Self::SYSTEMS_UNREACHABLE.0
    }

    /// Tests whether the system is a function whose conditions decide whether it runs on the fast path. Functions have no callbacks
    /// that start and stop them, so it may have stopped.
    #[inline(always)]
    pub(crate) const fn is_conditional_for_fast_path(self) -> bool {
        let tested = (Self::TESTED.0 | Self::SYSTEMS_UNREACHABLE.0) & !Self::STARTED.0;
        self.0 & tested == Self::ENABLED.0 | Self::SYSTEMS_UNREACHABLE.0 | Self::CONDITIONS.0
    }

    /// Tests whether the system is a point that can run without further tests.
    #[inline(always)]
    pub(crate) const fn is_ready_point(self) -> bool {
        self.0 & Self::TESTED.0 == Self::READY.0 | Self::POINT.0
    }

    /// Tests whether the system is a group that can run without further tests.
    #[inline(always)]
    pub(crate) const fn is_ready_group(self) -> bool {
        self.0 & Self::TESTED.0 == Self::READY.0 | Self::GROUP.0
    }

    #[inline(always)]
    pub(crate) const fn set(&mut self, flag: Self, value: bool) {
        if value {
            self.0 |= flag.0;
        } else {
            self.0 &= !flag.0;
        }
    }
}

/// The data of a system that is not needed in each run.
pub(crate) struct Record {
    pub(crate) name: Arc<str>,
    pub(crate) kind: SystemKind,
    pub(crate) type_id: TypeId,
    /// The number of systems that were added before this one.
    pub(crate) created: u64,
    /// The enclosing group. `None` for the root and for patches.
    pub(crate) group: Option<SystemId>,
    pub(crate) first: bool,
    pub(crate) last: bool,
    pub(crate) before: Vec<SystemTarget>,
    pub(crate) after: Vec<SystemTarget>,
    pub(crate) requirements: Requirements,
    /// The run conditions: first those of the sets, then those of the system.
    pub(crate) conditions: Vec<Box<dyn ErasedCondition>>,
    /// The number of conditions of sets.
    pub(crate) set_conditions: usize,
    /// The sets of the system, in the order in which they were named.
    pub(crate) sets: Box<[TypeId]>,
    /// The previous system of a chain. It is in `after`, too.
    pub(crate) chained_after: Option<SystemId>,
    /// The index of the command point, if the system is one.
    pub(crate) point: Option<u32>,
    /// The members, if the system is a group.
    pub(crate) children: Children,
    pub(crate) profile: Profile,
    /// The counts of repeated errors. `None` if there were none recently.
    pub(crate) errors: Option<Box<ErrorLog>>,
    /// The access of the system, used by the order for latency.
    pub(crate) access: LatencyAccess<AccessedData>,
}

impl Record {
    /// Tests whether a target names this system.
    fn is_named_by(&self, id: SystemId, target: &SystemTarget) -> bool {
        match target {
            SystemTarget::Type(ty, _) => self.type_id == *ty,
            SystemTarget::System(other) => id == *other,
            SystemTarget::Name(name) => *self.name == **name,
            SystemTarget::Set(set, _) => self.sets.contains(set),
        }
    }
}

/// The members of a group.
pub(crate) struct Children {
    /// The members in the order in which they were added.
    pub(crate) added: Vec<SystemId>,
    /// The members in the order in which they run. `None` while the group runs.
    pub(crate) sorted: Option<Box<[SystemId]>>,
    /// Set if `sorted` is out of date.
    pub(crate) is_stale: bool,
    /// Set if the members are sorted by their constraints.
    pub(crate) sorts: bool,
    /// Set if the group is ordered for latency. `None` selects the setting of the world.
    pub(crate) for_latency: Option<bool>,
    /// Set if all members were points when they were last sorted.
    pub(crate) only_points: bool,
    pub(crate) rate: Option<Box<dyn RateManager>>,
    /// The clock that counts the steps of the group, if the group has a rate and has made a step, or a member reads messages.
    pub(crate) clock: Option<ClockId>,
    /// Set if the rate was set during the current turn. It is used from the next turn on.
    pub(crate) rate_is_new: bool,
    /// The memory for two updates of the group, if the group has a rate.
    pub(crate) memory: Option<TwoUpdates>,
}

impl Default for Children {
    fn default() -> Self {
        Self {
            added: Vec::new(),
            sorted: None,
            is_stale: true,
            sorts: true,
            for_latency: None,
            only_points: true,
            rate: None,
            clock: None,
            rate_is_new: false,
            memory: None,
        }
    }
}

/// The run times of a system, if they are measured.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Profile {
    pub(crate) runs: u64,
    pub(crate) last: Duration,
    pub(crate) total: Duration,
}

/// The id of the next world.
static WORLDS: AtomicU64 = AtomicU64::new(1);

impl Systems {
    pub(crate) fn new() -> Self {
        // `Relaxed` is enough, because the ids only have to be unique.
        Self { id: WORLDS.fetch_add(1, Ordering::Relaxed), ..Self::default() }
    }

    #[inline(always)]
    pub(crate) fn slot_mut(&mut self, id: SystemId) -> Option<&mut SystemSlot> {
        let world = self.id as u32;
        let slot = self.slots.get_mut(id.index() as usize)?;
        (slot.generation == id.generation() && id.world == world && slot.record.is_some())
            .then_some(slot)
    }

    #[inline]
    pub(crate) fn slot(&self, id: SystemId) -> Option<&SystemSlot> {
        let slot = self.slots.get(id.index() as usize)?;
        (slot.generation == id.generation() && id.world == self.id as u32 && slot.record.is_some())
            .then_some(slot)
    }

    pub(crate) fn record(&self, id: SystemId) -> Option<&Record> {
        self.slot(id)?.record.as_deref()
    }

    pub(crate) fn record_mut(&mut self, id: SystemId) -> Option<&mut Record> {
        self.slot_mut(id)?.record.as_deref_mut()
    }

    /// Tests whether the world or a system is being updated, or a callback runs.
    #[inline]
    pub(crate) fn is_in_update(&self) -> bool {
        self.is_updating || self.executing.is_some()
    }

    /// Returns the name of a system. The system may have been removed, if its jobs are not completed.
    pub(crate) fn name_of(&self, id: SystemId) -> Arc<str> {
        if let Some(record) = self.record(id) {
            return Arc::clone(&record.name);
        }
        let gone = self.removed.iter().find(|(gone, _)| *gone == id);
        gone.map_or_else(|| format!("{id:?}").into(), |(_, name)| Arc::clone(name))
    }

    /// Iterates over all systems by slot.
    pub(crate) fn ids(&self) -> impl Iterator<Item = SystemId> {
        let world = self.id as u32;
        let there = self.slots.iter().enumerate().filter(|(_, slot)| slot.record.is_some());
        there.map(move |(index, slot)| SystemId::new(world, index as u32, slot.generation))
    }

    /// Finds the system that a target names. If there are several, returns the one that was added first.
    pub(crate) fn find(&self, target: &SystemTarget) -> Option<SystemId> {
        match target {
            SystemTarget::System(id) => return self.record(*id).map(|_| *id),
            SystemTarget::Type(ty, _) => {
                if let Some(&id) = self.by_type.get(ty) {
                    return Some(id);
                }
            }
            SystemTarget::Name(_) | SystemTarget::Set(..) => {}
        }
        let is_named_by =
            |id: &SystemId| self.record(*id).is_some_and(|record| record.is_named_by(*id, target));
        let created = |id: &SystemId| self.record(*id).map(|record| record.created);
        self.ids().filter(is_named_by).min_by_key(created)
    }

    /// Returns all systems that a target names, in the order in which they were added.
    pub(crate) fn all_named(&self, target: &SystemTarget) -> Vec<SystemId> {
        let is_named_by =
            |id: &SystemId| self.record(*id).is_some_and(|record| record.is_named_by(*id, target));
        let mut all: Vec<_> = self.ids().filter(is_named_by).collect();
        all.sort_by_key(|&id| self.record(id).map(|record| record.created));
        all
    }

    /// Enables or disables all systems that a target names. Returns whether there are any.
    pub(crate) fn set_enabled(&mut self, target: &SystemTarget, enabled: bool) -> bool {
        if let SystemTarget::System(id) = target {
            let slot = self.slot_mut(*id);
            return slot.map(|slot| slot.flags.set(Flags::ENABLED, enabled)).is_some();
        }
        let (world, mut is_there) = (self.id as u32, false);
        for (index, slot) in self.slots.iter_mut().enumerate() {
            let id = SystemId::new(world, index as u32, slot.generation);
            if slot.record.as_ref().is_some_and(|record| record.is_named_by(id, target)) {
                slot.flags.set(Flags::ENABLED, enabled);
                is_there = true;
            }
        }
        is_there
    }

    /// Finds the struct, group or point of a type.
    pub(crate) fn find_type<T: 'static>(&self) -> Option<SystemId> {
        self.by_type.get(&TypeId::of::<T>()).copied()
    }

    /// Returns the struct of a struct system, unless the system is running.
    pub(crate) fn data_of<S: 'static>(&self, id: SystemId) -> Option<&S> {
        self.slot(id)?.system.as_ref()?.as_any()?.downcast_ref()
    }

    pub(crate) fn data_of_mut<S: 'static>(&mut self, id: SystemId) -> Option<&mut S> {
        self.slot_mut(id)?.system.as_mut()?.as_any_mut()?.downcast_mut()
    }

    /// Inserts a system without its function or struct. Returns its id.
    pub(crate) fn insert(&mut self, flags: Flags, record: Record) -> SystemId {
        let index = self.free.pop().unwrap_or_else(|| {
            let last_run = Version::NEVER;
            let flags = Flags::NONE;
            self.slots.push(SystemSlot {
                generation: 0,
                flags,
                last_run,
                system: None,
                record: None,
            });
            self.slots.len() as u32 - 1
        });
        let slot = &mut self.slots[index as usize];
        (slot.flags, slot.last_run) = (flags, Version::NEVER);
        slot.record = Some(Box::new(record));
        SystemId::new(self.id as u32, index, slot.generation)
    }

    /// Frees the slot of a system. Returns the record, because dropping it may run user code.
    #[must_use = "dropping it may do anything"]
    pub(crate) fn free(&mut self, id: SystemId) -> Option<Box<Record>> {
        let slot = self.slot_mut(id)?;
        slot.system = None;
        let record = slot.record.take();
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(id.index());
        // A job of the system may fail later, and is then reported with the name of the system.
        if let Some(record) = &record
            && self.jobs.iter().any(|&(_, system)| system == id)
        {
            self.removed.push((id, Arc::clone(&record.name)));
        }
        record
    }

    /// Adds a fault of the executing system. The first fault is the result of the run.
    #[cold]
    pub(crate) fn add_fault(
        &mut self,
        before: Result<(), SystemFault>,
        fault: SystemFault,
    ) -> Result<(), SystemFault> {
        match before {
            Ok(()) => Err(fault),
            Err(first) if matches!(fault, SystemFault::Unfinished) => {
                if !matches!(first, SystemFault::Unfinished) {
                    self.other_faults.push(first);
                }
                Err(fault)
            }
            first => {
                self.other_faults.push(fault);
                first
            }
        }
    }

    /// Records a fault of a system. Disables the system and its groups, if they stop on errors.
    #[cold]
    pub(crate) fn fail(&mut self, id: SystemId, fault: SystemFault) {
        let system = self.name_of(id);
        if self.joins_earlier_warning(&system, Some(id), &fault) {
            return;
        }
        let Some(slot) = self.slot_mut(id) else { return self.fail_as(system, fault) };
        let mut error = UpdateError::new(system, fault);
        error.id = Some(id);
        slot.flags.set(Flags::HAS_ERRORS, true);
        if let Some(record) = &mut slot.record {
            record.errors.get_or_insert_default().count(&mut error);
        }
        if !error.is_warning() {
            self.stop_failed(id);
        }
        self.errors.push(error);
    }

    /// Records a fault of a world, or of a system that is not in its slot any more.
    #[cold]
    pub(crate) fn fail_as(&mut self, name: Arc<str>, fault: SystemFault) {
        if self.joins_earlier_warning(&name, None, &fault) {
            return;
        }
        let mut error = UpdateError::new(name, fault);
        self.world_errors.get_or_insert_default().count(&mut error);
        self.errors.push(error);
    }

    /// Adds skipped commands to an earlier warning of the same system in this update, so that a system has one such warning.
    /// Systems with the same name have different ids.
    fn joins_earlier_warning(
        &mut self,
        system: &str,
        id: Option<SystemId>,
        fault: &SystemFault,
    ) -> bool {
        let SystemFault::SkippedCommands { count, .. } = fault else { return false };
        let is_same = |error: &&mut UpdateError| error.id == id && *error.system == *system;
        let same = self.errors.iter_mut().filter(is_same);
        for earlier in same {
            if let SystemFault::SkippedCommands { count: before, .. } = &mut earlier.fault {
                *before += count;
                return true;
            }
        }
        false
    }

    /// Disables a failed system, and the groups that contain it, if they stop on errors.
    fn stop_failed(&mut self, id: SystemId) {
        let mut next = Some(id);
        while let Some(slot) = next.and_then(|id| self.slot_mut(id)) {
            if slot.flags.has(Flags::STOPS_ON_ERROR) {
                slot.flags.set(Flags::ENABLED, false);
            }
            next = slot.record.as_ref().and_then(|record| record.group);
        }
    }

    /// Counts a run of a system that failed recently. Drops its log if the errors are not recent any more.
    #[cold]
    pub(crate) fn begin_logged_run(&mut self, id: SystemId) {
        let frame = self.frame;
        let Some(slot) = self.slot_mut(id) else { return };
        let Some(record) = &mut slot.record else { return };
        if !record.errors.as_mut().is_some_and(|log| log.begin_run(frame)) {
            record.errors = None;
            slot.flags.set(Flags::HAS_ERRORS, false);
        }
    }
}

pub(crate) fn no_such(system: &str) -> SystemError {
    SystemError::NoSuchSystem { system: system.to_owned() }
}

impl fmt::Debug for Systems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Systems").field("count", &self.ids().count()).finish_non_exhaustive()
    }
}
