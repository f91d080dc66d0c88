//! When systems last ran, which holds for the entities that they ran with.
//!
//! A world can be given other entities: those of a snapshot, or those of another world by [`std::mem::swap`]. Their versions have
//! nothing to do with those of the entities before. So the systems of a world note which manager their last runs refer to, compare it
//! before each run, and start over if it is another one. A fork takes along when the systems of its world last ran.

use std::mem;
use std::sync::Arc;

use super::SystemId;
use super::table::{Flags, Slot, Systems};
use crate::error::EntityError;
use crate::manager::{EntityManager, LastRun, LastRuns};
use crate::panics::FirstPanic;
use crate::version::Version;
use crate::world::World;

impl World {
    /// Replaces the entities of the world by those of a snapshot, which a [fork](Self::fork) of the world is: a rollback.
    ///
    /// The snapshot stays as it is, and can be restored any number of times. The two share memory until one of them writes to it, so that
    /// the call costs about as much as the snapshot has chunks.
    ///
    /// Updates after the call do what updates after the fork did: entities get the same ids, and filters such as
    /// [`Changed`](crate::Changed) find the same entities, in each system that had run before the fork. For a system that was added
    /// later, and for all systems if the snapshot is no fork of this world, all entities are changed. Systems are started and stopped as
    /// after the fork: a system that had started then counts as started, without a call of
    /// [`on_start_running`](crate::System::on_start_running) or [`on_stop_running`](crate::System::on_stop_running). [Caches](crate::EntityManager::take_cache)
    /// become those of the snapshot.
    ///
    /// All else of a world is no part of a fork, and stays as it is:
    ///
    /// - **Resources**, and what systems keep: their fields and each [`Local`](crate::Local). What a replay depends on belongs in
    ///   components, or has to be set back by the program.
    /// - **Time**: [`time`](Self::time) can be kept with the snapshot, and set by [`set_time`](Self::set_time). A group with a rate, as
    ///   [`FixedStep`](crate::FixedStep) is, goes on from its last step; [`set_rate`](Self::set_rate) with a rate that is
    ///   [`starting_at`](crate::FixedRateCatchUp::starting_at) its next step sets it back.
    ///
    /// Jobs over both worlds are completed first. Commands that wait for a [point](crate::CommandPoint) are discarded: they were recorded
    /// for the entities that go. Those that waited when the snapshot was made are no part of it, so a snapshot is best made between two
    /// updates, when none wait for a point of the next one. A buffer of the program with new entities that was recorded before the call is
    /// refused when it is played (A0082).
    ///
    /// # Errors
    ///
    /// With A0130 if the worlds divide chunks differently. If a component can neither be copied nor cloned, or there is no memory for
    /// what is copied at once. Then the world is as it was.
    ///
    /// # Panics
    ///
    /// If dropping what is replaced panics. By then all is done.
    ///
    /// # Determinism
    ///
    /// A replay with the same input has the same [state hash](Self::state_hash) after each update as the original run, if what systems
    /// read is in components, or was set back.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Query, World};
    ///
    /// #[derive(Component, Clone, Copy, Debug, PartialEq)]
    /// struct Height(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.add_system(|mut heights: Query<&mut Height>| heights.for_each(|height| height.0 += 1));
    /// let balloon = world.spawn(Height(0));
    /// world.update(0.1);
    ///
    /// let (mut snapshot, time) = (world.fork()?, world.time());
    /// world.update(0.1);
    /// world.update(0.1);
    /// let expected = world.state_hash();
    ///
    /// world.restore(&mut snapshot)?;
    /// world.set_time(time)?;
    /// assert_eq!(world.get(balloon), Ok(&Height(1)));
    /// world.update(0.1);
    /// world.update(0.1);
    /// assert_eq!(world.state_hash(), expected);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn restore(&mut self, snapshot: &mut Self) -> Result<(), EntityError> {
        self.complete_jobs();
        let replaced = self.entities.restore_from(&mut snapshot.entities)?;
        self.sync_last_runs();
        // Dropping is user code, so it comes last.
        let mut panic = FirstPanic::default();
        for place in 0..self.systems.points.count() {
            let mut waiting = mem::take(&mut self.systems.points.get_mut(place).waiting);
            for mut discarded in waiting.drain(..) {
                // A job of another scheduler may still record; then the buffer is dropped when the job is done.
                panic.during(|| _ = discarded.buffer.clear());
                panic.during(|| drop(discarded));
            }
            self.systems.points.get_mut(place).waiting = waiting;
        }
        panic.during(|| drop(replaced));
        panic.go_on();
        Ok(())
    }

    /// Has the last runs of systems refer to the entities that the world has now.
    #[inline(always)]
    pub(super) fn sync_last_runs(&mut self) {
        if self.systems.entities != self.entities.id() {
            self.reset_last_runs();
        }
    }

    #[cold]
    fn reset_last_runs(&mut self) {
        let mut slots = mem::take(&mut self.systems.slots);
        self.systems.reset_last_runs(&mut slots, &mut self.entities);
        self.systems.slots = slots;
    }

    /// Goes back to the system that has updated another one, which may have given the world other entities than those with this id.
    #[inline(always)]
    pub(super) fn resume(&mut self, outer: Option<SystemId>, since: Version, entities: u64) {
        self.systems.executing = outer;
        self.systems.since = since;
        if outer.is_some() && self.entities.id() != entities {
            self.resume_with_other_entities();
        }
    }

    #[cold]
    fn resume_with_other_entities(&mut self) {
        self.sync_last_runs();
        self.systems.since = self.systems.last_run_of_executing(&self.systems.slots);
    }

    /// When the systems of the world last ran, for a fork. `None` if none has run, and the entities have the last runs of another world.
    pub(crate) fn last_runs(&mut self) -> Option<Arc<LastRuns>> {
        self.sync_last_runs();
        let Systems { id, slots, .. } = &self.systems;
        let has_run = slots.iter().any(|slot| slot.last_run != Version::NEVER);
        if !has_run && (slots.is_empty() || self.entities.last_runs.is_some()) {
            return None;
        }
        let last_run = |slot: &Slot| LastRun {
            generation: slot.generation,
            version: slot.last_run,
            has_started: slot.flags.has(Flags::STARTED),
        };
        let slots = slots.iter().map(last_run).collect();
        Some(Arc::new(LastRuns { systems: *id, slots }))
    }
}

impl Systems {
    /// Has the last runs of systems be those at the time when the entities were forked from the world of these systems. Without such a
    /// time, none has run.
    ///
    /// A system that had started then has started now, and one that had not has not, so that a replay starts and stops the same systems.
    /// No system is told of it.
    #[cold]
    pub(super) fn reset_last_runs(&mut self, slots: &mut [Slot], entities: &mut EntityManager) {
        // They hold until the systems run, so they are taken out.
        let last_runs = entities.last_runs.take_if(|last_runs| last_runs.systems == self.id);
        for (index, slot) in slots.iter_mut().enumerate() {
            let known = last_runs.as_ref().and_then(|last_runs| last_runs.slots.get(index));
            slot.last_run = match known {
                Some(known) if known.generation == slot.generation => {
                    slot.flags.set(Flags::STARTED, known.has_started);
                    known.version
                }
                _ => Version::NEVER,
            };
        }
        self.entities = entities.id();
        self.since = self.last_run_of_executing(slots);
    }

    fn last_run_of_executing(&self, slots: &[Slot]) -> Version {
        let executing = self.executing.filter(|id| id.world == self.id as u32);
        let slot = executing.and_then(|id| {
            slots.get(id.index() as usize).filter(|slot| slot.generation == id.generation())
        });
        slot.map_or(Version::NEVER, |slot| slot.last_run)
    }
}
