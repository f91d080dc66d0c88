//! A thread-local stack of the worlds that this thread is updating, or whose events it delivers later.
//!
//! A world records that it is being updated, and which system is executing. A system with `&mut World` can swap its world for
//! another one and keep its own. Then the update is abandoned, and the records of the world are stale. The stack shows whether they
//! are.

use std::cell::RefCell;
use std::mem::{self, ManuallyDrop};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::panics::discard;
use crate::schedule::{SystemId, panic_message};
use crate::version::Version;
use crate::world::{Flags, SystemSlot, World};

thread_local! {
    /// The worlds that this thread is updating. The static has no destructor, because a world may be dropped after other thread
    /// locals of its thread.
    static ACTIVE_WORLDS: RefCell<ActiveWorlds> = const { RefCell::new(ActiveWorlds::NONE) };
}

/// The number of worlds that are stored without an allocation. Updates are rarely nested deeper.
const INLINE_WORLDS: usize = 16;

/// The worlds that a thread is updating, the innermost last.
struct ActiveWorlds {
    inline: [u64; INLINE_WORLDS],
    count: usize,
    /// Worlds beyond the inline ones. The memory is freed with the last of them.
    more: ManuallyDrop<Vec<u64>>,
}

impl ActiveWorlds {
    const NONE: Self =
        Self { inline: [0; INLINE_WORLDS], count: 0, more: ManuallyDrop::new(Vec::new()) };

    fn push(&mut self, world: u64) {
        match self.inline.get_mut(self.count) {
            Some(place) => *place = world,
            None => self.more.push(world),
        }
        self.count += 1;
    }

    fn pop(&mut self) {
        self.count -= 1;
        self.more.truncate(self.count.saturating_sub(INLINE_WORLDS));
        if self.more.is_empty() {
            drop(mem::take(&mut *self.more));
        }
    }

    fn contains(&self, world: u64) -> bool {
        self.inline[..self.count.min(INLINE_WORLDS)].contains(&world) || self.more.contains(&world)
    }
}

/// Marks a world as being updated by this thread until the guard is dropped.
pub(super) struct UpdateGuard;

impl UpdateGuard {
    pub(super) fn begin(world: u64) -> Self {
        ACTIVE_WORLDS.with_borrow_mut(|turns| turns.push(world));
        Self
    }
}

impl Drop for UpdateGuard {
    fn drop(&mut self) {
        ACTIVE_WORLDS.with_borrow_mut(ActiveWorlds::pop);
    }
}

/// Tests whether this thread is updating a world, or delivers its events later.
fn is_active(world: u64) -> bool {
    ACTIVE_WORLDS.with_borrow(|worlds| worlds.contains(world))
}

/// Ends a call that delivers events at its end, also after a panic.
struct HoldGuard<'w> {
    world: &'w mut World,
    id: u64,
}

impl Drop for HoldGuard<'_> {
    fn drop(&mut self) {
        // The call may have exchanged the world for another one, which it does not hold.
        if self.world.systems.id == self.id {
            let holds = &mut self.world.observers.holds;
            *holds = holds.saturating_sub(1);
        }
    }
}

impl World {
    /// Calls a function, during which changes of the world deliver no events.
    pub(crate) fn while_held<R>(&mut self, function: impl FnOnce(&mut Self) -> R) -> R {
        // The world counts as active from here on, so that an abandoned update would no longer be noticed.
        self.reset_abandoned_update();
        self.reset_abandoned_holds();
        let id = self.systems.id;
        let _guard = UpdateGuard::begin(id);
        self.observers.holds += 1;
        let hold = HoldGuard { world: self, id };
        function(hold.world)
    }

    /// Releases a world that a call held when another world was swapped in its place. The call could not release it.
    pub(crate) fn reset_abandoned_holds(&mut self) {
        if self.observers.holds > 0 && !is_active(self.systems.id) {
            self.observers.abandon_delivery();
        }
    }

    /// Resets the records of an update that was abandoned, because another world was swapped in its place.
    #[inline]
    pub(crate) fn reset_abandoned_update(&mut self) {
        if self.systems.is_in_update() {
            self.reset_if_abandoned();
        }
    }

    #[cold]
    fn reset_if_abandoned(&mut self) {
        if is_active(self.systems.id) {
            return;
        }
        self.systems.is_updating = false;
        self.systems.executing = None;
        self.systems.since = Version::NEVER;
        self.observers.abandon_delivery();
        self.time.forget_floors(self.systems.time_depth);
        self.entities.jobs.list_scheduled(false);
        // The system that executed at that time no longer exists.
        let is_gone = |slot: &SystemSlot| {
            let is_system = !slot.flags.has(Flags::GROUP) && !slot.flags.has(Flags::POINT);
            slot.flags.has(Flags::REMOVED) || (is_system && slot.system.is_none())
        };
        for slot in &mut self.systems.slots {
            slot.flags.set(Flags::EXECUTING, false);
        }
        let all = self.systems.ids();
        let gone: Vec<SystemId> =
            all.filter(|&id| self.systems.slot(id).is_some_and(is_gone)).collect();
        gone.into_iter().for_each(|id| self.remove_or_defer(id));
    }

    /// Calls a function on behalf of a system, which is marked as executing during the call. Returns the message of a panic as an
    /// error.
    pub(super) fn while_executing<R>(
        &mut self,
        id: SystemId,
        function: impl FnOnce(&mut Self) -> R,
    ) -> Result<R, String> {
        self.begin_update();
        self.sync_last_runs();
        let (world, outer) = (self.systems.id, self.systems.executing.replace(id));
        let _guard = UpdateGuard::begin(world);
        self.collect_jobs(outer);
        let listed = self.entities.jobs.list_scheduled(true);
        let (mut since, mut was_executing) = (Version::NEVER, false);
        if let Some(slot) = self.systems.slot_mut(id) {
            was_executing = slot.flags.has(Flags::EXECUTING);
            slot.flags.set(Flags::EXECUTING, true);
            since = slot.last_run;
        }
        let outer_since = mem::replace(&mut self.systems.since, since);
        let entities = self.systems.entities;
        let floors = self.time.raise_floor();
        let result = catch_unwind(AssertUnwindSafe(|| function(self)));
        if self.systems.id == world {
            self.resume_outer(outer, outer_since, entities);
            self.time.unwind_to_floor(floors);
            self.collect_jobs(Some(id));
            self.entities.jobs.list_scheduled(listed);
            if let Some(slot) = self.systems.slot_mut(id) {
                slot.flags.set(Flags::EXECUTING, was_executing);
            }
        }
        result.map_err(|payload| {
            let message = panic_message(&*payload);
            discard(payload);
            message
        })
    }
}
