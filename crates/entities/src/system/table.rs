//! The systems of a world, and what is known of each.

use std::any::TypeId;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ancho_collections::FixedState;
use ancho_jobs::JobHandle;
use hashbrown::HashMap;

use super::SystemId;
use super::builder::{IntoSystem, Requirements};
use super::error::{SystemError, SystemFault, UpdateError};
use super::group::SystemGroup;
use super::info::{SystemKind, Watcher};
use super::order::SystemTarget;
use super::order::latency::LatencyAccess;
use super::param::AccessedData;
use super::point::Points;
use super::rate::RateManager;
use super::system::ErasedSystem;
use crate::version::Version;
use crate::world::TwoUpdates;

/// All systems of a world.
pub(crate) struct Systems {
    /// No other world has the same: a system can put another world in the place of its own.
    pub(super) id: u64,
    /// The manager that the last runs of all systems refer to, by its id.
    pub(super) entities: u64,
    pub(super) slots: Vec<Slot>,
    pub(super) free: Vec<u32>,
    /// Structs, groups and points, of which there is one of a type.
    pub(super) by_type: HashMap<TypeId, SystemId, FixedState>,
    /// The group of all groups, once there are systems.
    pub(super) root: Option<SystemId>,
    /// Systems that are updated after every other.
    pub(super) patches: Arc<[SystemId]>,
    pub(crate) points: Points,
    /// How many were ever added.
    pub(super) created: u64,
    /// How often one was added or removed.
    pub(super) version: u64,
    /// The one that runs, the innermost.
    pub(super) executing: Option<SystemId>,
    pub(super) is_updating: bool,
    /// How many times were pushed when the update began.
    pub(super) time_depth: usize,
    pub(super) is_dropping: bool,
    pub(super) profiles: bool,
    /// Whether groups are ordered for latency of which nothing is said.
    pub(super) for_latency: bool,
    /// When the one that runs ran before.
    pub(super) since: Version,
    /// What went wrong since the update began.
    pub(super) errors: Vec<UpdateError>,
    /// What else went wrong with the one that runs, if it ends with several faults.
    pub(super) other_faults: Vec<SystemFault>,
    pub(super) handler: Option<ErrorHandler>,
    /// The jobs that systems have scheduled since the update began.
    pub(super) jobs: Vec<(JobHandle, SystemId)>,
    /// What those of them were called that are gone.
    pub(super) removed: Vec<(SystemId, Arc<str>)>,
    /// Who looks at the world after each system.
    pub(super) watcher: Option<Watcher>,
    /// How many of the errors it has seen.
    pub(super) seen_errors: usize,
}

/// Who is told of errors.
pub(super) type ErrorHandler = Box<dyn FnMut(&UpdateError) + Send>;

/// The place of a system.
pub(super) struct Slot {
    pub(super) generation: u32,
    pub(super) flags: Flags,
    pub(super) last_run: Version,
    /// The function or struct, unless it is just running, or this is a group or a point.
    pub(super) system: Option<Box<dyn ErasedSystem>>,
    /// What is not needed in each run. `None` if the place is free.
    pub(super) record: Option<Box<Record>>,
}

/// What is known of a system. Bits of a number.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Flags(u16);

impl Flags {
    pub(super) const NONE: Self = Self(0);
    /// It is to run.
    pub(super) const ENABLED: Self = Self(1);
    /// It has started to run, and not stopped.
    pub(super) const STARTED: Self = Self(2);
    /// It is being updated, or told something.
    pub(super) const EXECUTING: Self = Self(4);
    /// Something is required.
    pub(super) const REQUIRES: Self = Self(8);
    /// It is a group.
    pub(super) const GROUP: Self = Self(16);
    /// It is a point.
    pub(super) const POINT: Self = Self(32);
    /// It is to be removed when it has returned.
    pub(super) const REMOVED: Self = Self(64);
    /// It is updated after others.
    pub(super) const PATCH: Self = Self(128);
    /// It is a function that cannot reach the systems of its world.
    pub(super) const SYSTEMS_UNREACHABLE: Self = Self(256);

    /// A function or a struct that runs, and of which nothing has to be found out first.
    pub(super) const READY: Self = Self(1 | 2);
    /// What is to be looked at for that.
    pub(super) const LOOKED_AT: Self = Self(1 | 2 | 4 | 8 | 16 | 32 | 64);

    #[inline(always)]
    pub(super) const fn has(self, flag: Self) -> bool {
        self.0 & flag.0 != 0
    }

    #[inline(always)]
    pub(super) const fn is_ready(self) -> bool {
        self.0 & Self::LOOKED_AT.0 == Self::READY.0
    }

    /// Whether it is ready, and a function that cannot reach the systems of its world.
    #[inline(always)]
    pub(super) const fn is_ready_for_fast_path(self) -> bool {
        self.0 & (Self::LOOKED_AT.0 | Self::SYSTEMS_UNREACHABLE.0)
            == Self::READY.0 | Self::SYSTEMS_UNREACHABLE.0
    }

    /// Whether it is a point that runs, and of which nothing has to be found out first.
    #[inline(always)]
    pub(super) const fn is_ready_point(self) -> bool {
        self.0 & Self::LOOKED_AT.0 == Self::READY.0 | Self::POINT.0
    }

    /// Whether it is a group that runs, and of which nothing has to be found out first.
    #[inline(always)]
    pub(super) const fn is_ready_group(self) -> bool {
        self.0 & Self::LOOKED_AT.0 == Self::READY.0 | Self::GROUP.0
    }

    #[inline(always)]
    pub(super) const fn set(&mut self, flag: Self, value: bool) {
        if value {
            self.0 |= flag.0;
        } else {
            self.0 &= !flag.0;
        }
    }
}

/// What is known of a system, and not needed in each run.
pub(super) struct Record {
    pub(super) name: Arc<str>,
    pub(super) kind: SystemKind,
    pub(super) type_id: TypeId,
    /// The how manieth that was added.
    pub(super) created: u64,
    /// The group it is in; `None` for the root.
    pub(super) group: Option<SystemId>,
    pub(super) first: bool,
    pub(super) last: bool,
    pub(super) before: Vec<SystemTarget>,
    pub(super) after: Vec<SystemTarget>,
    pub(super) requirements: Requirements,
    /// Which point it is.
    pub(super) point: Option<u32>,
    /// What it is as a group.
    pub(super) children: Children,
    pub(super) profile: Profile,
    /// What it uses, for the pass that orders systems by it.
    pub(super) access: LatencyAccess<AccessedData>,
}

impl Record {
    /// Whether a target means it, which has this id.
    fn is_named_by(&self, id: SystemId, target: &SystemTarget) -> bool {
        match target {
            SystemTarget::Type(ty, _) => self.type_id == *ty,
            SystemTarget::System(other) => id == *other,
            SystemTarget::Name(name) => *self.name == **name,
        }
    }
}

/// The systems of a group.
pub(super) struct Children {
    /// In the order in which they were added.
    pub(super) added: Vec<SystemId>,
    /// In the order in which they run, unless they are just being updated by it.
    pub(super) sorted: Option<Box<[SystemId]>>,
    /// Whether that has to be found out anew.
    pub(super) is_stale: bool,
    /// Whether they are sorted at all.
    pub(super) sorts: bool,
    /// Whether they are ordered for latency, if that is said.
    pub(super) for_latency: Option<bool>,
    /// Whether there are only points among them, when they were sorted.
    pub(super) only_points: bool,
    pub(super) rate: Option<Box<dyn RateManager>>,
    /// Whether the rate was set since the turn began, and has to wait for the next.
    pub(super) rate_is_new: bool,
    /// Of what lives for two updates of the group, if it has a rate.
    pub(super) memory: Option<TwoUpdates>,
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
            rate_is_new: false,
            memory: None,
        }
    }
}

/// How long a system took, if that is measured.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Profile {
    pub(super) runs: u64,
    pub(super) last: Duration,
    pub(super) total: Duration,
}

/// How many there were.
static WORLDS: AtomicU64 = AtomicU64::new(1);

impl Default for Systems {
    fn default() -> Self {
        Self {
            // Only that they differ matters.
            id: WORLDS.fetch_add(1, Ordering::Relaxed),
            entities: 0,
            slots: Vec::new(),
            free: Vec::new(),
            by_type: HashMap::default(),
            root: None,
            patches: Arc::from([]),
            points: Points::default(),
            created: 0,
            version: 0,
            executing: None,
            is_updating: false,
            time_depth: 0,
            is_dropping: false,
            profiles: false,
            for_latency: false,
            since: Version::NEVER,
            errors: Vec::new(),
            other_faults: Vec::new(),
            handler: None,
            jobs: Vec::new(),
            removed: Vec::new(),
            watcher: None,
            seen_errors: 0,
        }
    }
}

impl Systems {
    #[inline(always)]
    pub(super) fn slot_mut(&mut self, id: SystemId) -> Option<&mut Slot> {
        let world = self.id as u32;
        let slot = self.slots.get_mut(id.index() as usize)?;
        (slot.generation == id.generation() && id.world == world && slot.record.is_some())
            .then_some(slot)
    }

    #[inline]
    pub(super) fn slot(&self, id: SystemId) -> Option<&Slot> {
        let slot = self.slots.get(id.index() as usize)?;
        (slot.generation == id.generation() && id.world == self.id as u32 && slot.record.is_some())
            .then_some(slot)
    }

    pub(super) fn record(&self, id: SystemId) -> Option<&Record> {
        self.slot(id)?.record.as_deref()
    }

    pub(super) fn record_mut(&mut self, id: SystemId) -> Option<&mut Record> {
        self.slot_mut(id)?.record.as_deref_mut()
    }

    /// Whether a system is just being updated or told something, or the world is just being updated.
    #[inline]
    pub(super) fn is_in_update(&self) -> bool {
        self.is_updating || self.executing.is_some()
    }

    /// What a system is called, or was if it is gone and its jobs are not.
    pub(super) fn name_of(&self, id: SystemId) -> Arc<str> {
        if let Some(record) = self.record(id) {
            return Arc::clone(&record.name);
        }
        let gone = self.removed.iter().find(|(gone, _)| *gone == id);
        gone.map_or_else(|| format!("{id:?}").into(), |(_, name)| Arc::clone(name))
    }

    /// All systems, by their places.
    pub(super) fn ids(&self) -> impl Iterator<Item = SystemId> {
        let world = self.id as u32;
        let there = self.slots.iter().enumerate().filter(|(_, slot)| slot.record.is_some());
        there.map(move |(index, slot)| SystemId::new(world, index as u32, slot.generation))
    }

    /// The system that a target means. Of several, the one that was added first.
    pub(super) fn find(&self, target: &SystemTarget) -> Option<SystemId> {
        match target {
            SystemTarget::System(id) => return self.record(*id).map(|_| *id),
            SystemTarget::Type(ty, _) => {
                if let Some(&id) = self.by_type.get(ty) {
                    return Some(id);
                }
            }
            SystemTarget::Name(_) => {}
        }
        let is_named_by =
            |id: &SystemId| self.record(*id).is_some_and(|record| record.is_named_by(*id, target));
        let created = |id: &SystemId| self.record(*id).map(|record| record.created);
        self.ids().filter(is_named_by).min_by_key(created)
    }

    /// Switches all systems on or off that a target means. Returns whether there are some.
    pub(super) fn set_enabled(&mut self, target: &SystemTarget, enabled: bool) -> bool {
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

    /// The struct, group or point of a type.
    pub(crate) fn find_type<T: 'static>(&self) -> Option<SystemId> {
        self.by_type.get(&TypeId::of::<T>()).copied()
    }

    /// The struct of a system, unless it is just running.
    pub(crate) fn data_of<S: 'static>(&self, id: SystemId) -> Option<&S> {
        self.slot(id)?.system.as_ref()?.as_any()?.downcast_ref()
    }

    pub(super) fn data_of_mut<S: 'static>(&mut self, id: SystemId) -> Option<&mut S> {
        self.slot_mut(id)?.system.as_mut()?.as_any_mut()?.downcast_mut()
    }

    /// A place for a system, which is not in it yet.
    pub(super) fn insert(&mut self, flags: Flags, record: Record) -> SystemId {
        let index = self.free.pop().unwrap_or_else(|| {
            let last_run = Version::NEVER;
            let flags = Flags::NONE;
            self.slots.push(Slot { generation: 0, flags, last_run, system: None, record: None });
            self.slots.len() as u32 - 1
        });
        let slot = &mut self.slots[index as usize];
        (slot.flags, slot.last_run) = (flags, Version::NEVER);
        slot.record = Some(Box::new(record));
        SystemId::new(self.id as u32, index, slot.generation)
    }

    /// Frees the place of a system. Returns what was known of it, for the caller to drop: code of the user may be in it.
    #[must_use = "dropping it may do anything"]
    pub(super) fn free(&mut self, id: SystemId) -> Option<Box<Record>> {
        let slot = self.slot_mut(id)?;
        slot.system = None;
        let record = slot.record.take();
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(id.index());
        // A job of it may fail later, and is told by its name.
        if let Some(record) = &record
            && self.jobs.iter().any(|&(_, system)| system == id)
        {
            self.removed.push((id, Arc::clone(&record.name)));
        }
        record
    }

    /// Notes that something went wrong with the system that runs, and maybe not as the first. What was first is what it ends with.
    #[cold]
    pub(super) fn add_fault(
        &mut self,
        before: Result<(), SystemFault>,
        fault: SystemFault,
    ) -> Result<(), SystemFault> {
        match before {
            Ok(()) => Err(fault),
            first => {
                self.other_faults.push(fault);
                first
            }
        }
    }

    /// Notes that something went wrong with a system.
    #[cold]
    pub(super) fn fail(&mut self, id: SystemId, fault: SystemFault) {
        let system = self.name_of(id);
        self.errors.push(UpdateError { system, fault });
    }

    /// The group of a type.
    pub(super) fn group_of<G: SystemGroup>(&self) -> Option<SystemId> {
        self.find(&G::target_of_type())
    }
}

pub(super) fn no_such(system: &str) -> SystemError {
    SystemError::NoSuchSystem { system: system.to_owned() }
}

impl fmt::Debug for Systems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Systems").field("count", &self.ids().count()).finish_non_exhaustive()
    }
}
