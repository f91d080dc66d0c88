//! The versions of the systems' last runs, and restoring a snapshot.
//!
//! The entities of a world can be replaced: by those of a snapshot, or by those of another world with [`std::mem::swap`]. Versions
//! of the new entities are unrelated to versions of the old ones. So the systems of a world record the id of the manager to which
//! their last runs refer. Before each run they compare it with the id of the current manager, and reset the last runs if it is
//! another one. A fork captures the last runs of its world's systems.

use std::mem;
use std::sync::Arc;

use crate::error::EntityError;
use crate::manager::{EntityManager, LastRun, LastRuns};
use crate::panics::FirstPanic;
use crate::schedule::SystemId;
use crate::version::Version;
use crate::world::{Flags, SystemSlot, Systems, World};

impl World {
    /// Replaces the state of the world by that of a snapshot, which is a [fork](Self::fork) of the world. This is a rollback.
    ///
    /// The state consists of the entities, the [state resources](crate::Resource), [states](crate::States),
    /// [messages](crate::Message), the [time](Self::time), and the progress of groups with a rate, such as
    /// [`FixedStep`](crate::FixedStep).
    ///
    /// The snapshot does not change, and can be restored any number of times. The two worlds share memory until one of them
    /// writes to it, so the cost of the call is proportional to the number of chunks.
    ///
    /// Updates after the call do the same as updates after the fork did: entities get the same ids, and filters such as
    /// [`Changed`](crate::Changed) match the same entities, in each system that ran before the fork. For a system that was added
    /// later, all entities count as changed. If the snapshot is not a fork of this world, this holds for all systems. A system that
    /// had started at the time of the fork counts as started. [`on_start_running`](crate::System::on_start_running) and
    /// [`on_stop_running`](crate::System::on_stop_running) are not called. [Caches](crate::EntityManager::take_cache) become those
    /// of the snapshot.
    ///
    /// Other data does not change: local resources, non-send values, and the data of systems, which are their fields and each
    /// [`Local`](crate::Local). Store data that a replay depends on in components or state resources, or reset it in the program.
    /// [`assert_replays`](crate::assert_replays) tests that. A [`VariableRate`](crate::VariableRate) uses the wall clock, and is not
    /// rolled back.
    ///
    /// Jobs over both worlds are completed first. Commands that wait for a [point](crate::CommandPoint) are discarded, because they
    /// were recorded for the replaced entities. Commands that waited when the snapshot was created are not part of it, so create
    /// snapshots between two updates, when no commands wait. If a buffer reserved ids before the call, playback refuses it (A0082).
    ///
    /// # Errors
    ///
    /// Returns A0130 if the worlds have different chunk sizes or capacity limits. Also returns an error if a component can
    /// neither be copied nor cloned, or if there is not enough memory for the copies. In these cases the world has not changed.
    ///
    /// # Panics
    ///
    /// Panics with A0180 if the worlds have different state resources with the same stable name, before anything was replaced. Panics
    /// if dropping replaced values panics, after the world was restored.
    ///
    /// # Determinism
    ///
    /// A replay with the same input has the same [state hash](Self::state_hash) after each update as the original run, if the data
    /// that systems read is state, or was reset.
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
    /// let mut snapshot = world.fork()?;
    /// world.update(0.1);
    /// world.update(0.1);
    /// let expected = world.state_hash();
    ///
    /// world.restore(&mut snapshot)?;
    /// assert_eq!(world.get(balloon), Ok(&Height(1)));
    /// world.update(0.1);
    /// world.update(0.1);
    /// assert_eq!(world.state_hash(), expected);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    #[doc(alias = "rollback")]
    pub fn restore(&mut self, snapshot: &mut Self) -> Result<(), EntityError> {
        self.complete_jobs();
        self.add_state_types_of(snapshot);
        let replaced = self.entities.restore_from(&mut snapshot.entities)?;
        self.sync_last_runs();
        let replaced_state = self.replace_state(snapshot, None);
        // Dropping runs user code, so it comes last.
        let mut panic = FirstPanic::default();
        for place in 0..self.systems.points.count() {
            let mut waiting = mem::take(&mut self.systems.points.get_mut(place).waiting);
            for mut discarded in waiting.drain(..) {
                // A job of another scheduler may still record. Then the buffer is dropped when the job has finished.
                panic.during(|| _ = discarded.buffer.clear());
                panic.during(|| drop(discarded));
            }
            self.systems.points.get_mut(place).waiting = waiting;
        }
        panic.during(|| drop(replaced));
        replaced_state.release(&mut panic);
        panic.go_on();
        self.deliver_outside();
        Ok(())
    }

    /// Resets the last runs of systems if the world has other entities.
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
        self.resources.limit_versions(self.entities.storage.version);
    }

    /// Resumes the system that updated another one. `entities` is the id of the manager before that update, which may have replaced
    /// the entities.
    #[inline(always)]
    pub(super) fn resume_outer(&mut self, outer: Option<SystemId>, since: Version, entities: u64) {
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

    /// Captures the last runs of the systems, for a fork. Returns `None` if no system has run, and there are no systems or the
    /// entities already have the last runs of another world.
    pub(crate) fn last_runs(&mut self) -> Option<Arc<LastRuns>> {
        self.sync_last_runs();
        let Systems { id, slots, .. } = &self.systems;
        let has_run = slots.iter().any(|slot| slot.last_run != Version::NEVER);
        if !has_run && (slots.is_empty() || self.entities.last_runs.is_some()) {
            return None;
        }
        let last_run = |slot: &SystemSlot| LastRun {
            generation: slot.generation,
            version: slot.last_run,
            has_started: slot.flags.has(Flags::STARTED),
        };
        let slots = slots.iter().map(last_run).collect();
        Some(Arc::new(LastRuns { systems: *id, slots }))
    }
}

impl Systems {
    /// Resets the last runs of systems to those at the time when the entities were forked from this world. If the entities are not
    /// from such a fork, resets them to [`Version::NEVER`].
    ///
    /// A system that had started at that time counts as started, and other systems do not, so that a replay starts and stops the
    /// same systems. No callback is called.
    #[cold]
    pub(super) fn reset_last_runs(
        &mut self,
        slots: &mut [SystemSlot],
        entities: &mut EntityManager,
    ) {
        // The captured last runs are invalid as soon as a system runs, so they are removed from the entities.
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

    fn last_run_of_executing(&self, slots: &[SystemSlot]) -> Version {
        let executing = self.executing.filter(|id| id.world == self.id as u32);
        let slot = executing.and_then(|id| {
            slots.get(id.index() as usize).filter(|slot| slot.generation == id.generation())
        });
        slot.map_or(Version::NEVER, |slot| slot.last_run)
    }
}
