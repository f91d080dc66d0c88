//! Whether systems are ordered so that jobs have more time.

use super::error::SystemError;
use super::table::{Record, Systems};
use super::target::SystemTarget;
use crate::world::World;

impl World {
    /// Says whether systems are ordered so that there is more time between scheduling a job and waiting for it. They are not,
    /// unless it is said.
    ///
    /// In each group, functions that are [said to schedule jobs](crate::IntoSystem::in_jobs) run as early as they can, then those
    /// that wait for no job, then those that wait. All constraints hold, and two systems of which one changes what the other uses
    /// stay in the order they have: what is computed is the same, bit by bit. What a function uses is known by its parameters.
    /// Structs, groups and points may use anything, and so may functions with [`Commands`](crate::Commands), `&EntityManager`,
    /// `&mut EntityManager`, `&JobScheduler` or `&mut World`: no system passes them.
    ///
    /// What systems share that is not in the world is not seen, nor what is changed though it is only read, as an atomic number in
    /// a resource or component: let such systems run [after](crate::IntoSystem::after) each other.
    /// [Patches](crate::IntoSystem::patch) run after each system all the same, and see what was changed in the order that there is.
    ///
    /// # Determinism
    ///
    /// The order depends on which systems there are and what they use, never on how long they took.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, IntoSystem, Query, SystemKind, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Heat(f32);
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Wind(f32);
    ///
    /// fn spread(mut heat: Query<&mut Heat>) {
    ///     heat.schedule(|heat| heat.0 *= 0.5);
    /// }
    ///
    /// fn blow(mut wind: Query<&mut Wind>) {
    ///     wind.schedule(|wind| wind.0 *= 0.5);
    /// }
    ///
    /// fn warn(_: Query<&Heat>) {}
    ///
    /// let mut world = World::new("Simulation");
    /// world.add_system(spread.named("spread").in_jobs());
    /// world.add_system(warn.named("warn"));
    /// world.add_system(blow.named("blow").in_jobs());
    /// world.order_systems_for_latency(true);
    /// let order = world.system_order();
    /// let functions = order.iter().filter(|system| system.kind == SystemKind::Function);
    /// assert!(functions.map(|system| &*system.name).eq(["spread", "blow", "warn"]));
    /// ```
    pub fn order_systems_for_latency(&mut self, on: bool) {
        self.systems.for_latency = on;
        self.systems.sort_all_anew();
    }

    /// Says whether the systems of one group are ordered so that jobs have more time; if nothing is said, it is as
    /// [for all](Self::order_systems_for_latency).
    ///
    /// # Errors
    ///
    /// With A0108 if it is not there, with A0111 if it is no group.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Presentation, World};
    ///
    /// let mut world = World::new("Simulation");
    /// world.add_system(|| {});
    /// world.order_systems_for_latency(true);
    /// world.order_group_for_latency(Presentation, Some(false))?;
    /// let order = world.system_order().to_string();
    /// assert!(order.contains("Simulation (for latency)\n") && order.contains("Presentation\n"));
    /// # Ok::<(), ancho_entities::SystemError>(())
    /// ```
    pub fn order_group_for_latency<M>(
        &mut self,
        group: impl SystemTarget<M>,
        on: Option<bool>,
    ) -> Result<(), SystemError> {
        self.add_default_groups();
        let id = self.group_id(group, "order_group_for_latency")?;
        if let Some(record) = self.systems.record_mut(id) {
            record.children.for_latency = on;
            record.children.is_stale = true;
        }
        Ok(())
    }
}

impl Systems {
    /// Whether the systems of a group are ordered so that jobs have more time.
    pub(super) fn is_for_latency(&self, group: &Record) -> bool {
        let children = &group.children;
        children.sorts && children.for_latency.unwrap_or(self.for_latency)
    }

    fn sort_all_anew(&mut self) {
        for slot in &mut self.slots {
            if let Some(record) = &mut slot.record {
                record.children.is_stale = true;
            }
        }
    }
}
