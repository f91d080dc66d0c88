//! The group of systems that run once.

use super::builder::IntoSystem;
use super::group::{Root, SystemGroup};
use crate::schedule::{SystemId, SystemTarget};
use crate::world::{Flags, SystemSlot, World};

named_units! {
    SystemGroup:
    /// The group of systems that run once, before all others.
    ///
    /// Its systems run in the first update, in order. A system that is added later runs in the next update. A system that failed has
    /// run. A system whose [condition](crate::IntoSystem::run_if) is false, or whose requirements are not met, waits for the next
    /// update. After its run a system stops, and stays in the world. A [rollback](crate::World::restore) does not repeat it.
    ///
    /// The group exists from the first system that is added to it.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Commands, Component, IntoSystem, Startup, World};
    ///
    /// #[derive(Component)]
    /// struct Player;
    ///
    /// fn spawn_player(mut commands: Commands) {
    ///     commands.spawn(Player);
    /// }
    ///
    /// let mut world = World::new("Simulation");
    /// world.add_system(spawn_player.in_group(Startup));
    /// world.update(0.1);
    /// world.update(0.1);
    /// assert_eq!(world.entity_count(), 1);
    /// ```
    Startup,
}

impl World {
    /// Adds the group `Startup` if a target names it and the world does not have it.
    pub(super) fn add_startup_if_named(&mut self, target: Option<&SystemTarget>) {
        if target != Some(&Startup::target_of_type())
            || self.systems.group_of::<Startup>().is_some()
        {
            return;
        }
        // A world that is being dropped gets no groups.
        let Ok(startup) = self.add_built(Startup.in_group(Root).first()) else { return };
        self.systems.startup = Some(startup);
        // It runs before systems that were added to the first part of `Root` earlier.
        let root = self.systems.root;
        if let Some(record) = root.and_then(|root| self.systems.record_mut(root)) {
            let added = &mut record.children.added;
            if let Some(at) = added.iter().position(|&id| id == startup) {
                added[..=at].rotate_right(1);
            }
        }
    }

    /// Runs the systems of the group `Startup` that have not run.
    #[cold]
    pub(super) fn run_startup(&mut self, id: SystemId) {
        let world = self.systems.id;
        let Some(sorted) =
            self.systems.record(id).and_then(|record| record.children.sorted.clone())
        else {
            return;
        };
        self.set_flag(id, Flags::EXECUTING, true);
        let mut waits = false;
        for &child in &sorted {
            let has = |slot: &SystemSlot, flag| slot.flags.has(flag);
            if self.systems.slot(child).is_none_or(|slot| has(slot, Flags::DONE)) {
                continue;
            }
            self.run(child);
            if self.systems.id != world {
                return;
            }
            let Some(slot) = self.systems.slot(child) else { continue };
            // A system that was called has started, whether it failed or not.
            if has(slot, Flags::STARTED) && !has(slot, Flags::POINT) {
                self.set_flag(child, Flags::DONE, true);
                self.stop(child);
            }
            waits |= self.systems.slot(child).is_some_and(|slot| !has(slot, Flags::DONE));
        }
        self.set_flag(id, Flags::EXECUTING, false);
        let is_stale = self.systems.record(id).is_none_or(|record| record.children.is_stale);
        self.set_flag(id, Flags::DONE, !waits && !is_stale);
    }

    fn set_flag(&mut self, id: SystemId, flag: Flags, value: bool) {
        if let Some(slot) = self.systems.slot_mut(id) {
            slot.flags.set(flag, value);
        }
    }
}
