//! The groups and points that every world has.

use super::builder::IntoSystem;
use super::group::{
    FixedStep, Initialization, LateSimulation, Presentation, Root, Simulation, VariableStep,
};
use super::point::{
    BeginFixedStep, BeginInitialization, BeginPresentation, BeginSimulation, BeginVariableStep,
    EndFixedStep, EndInitialization, EndSimulation, EndVariableStep,
};
use super::rate::{FixedRateCatchUp, VariableRate};
use crate::world::World;

impl World {
    /// Adds what every world has, before the first system.
    pub(super) fn add_default_groups(&mut self) {
        if self.systems.root.is_some() {
            return;
        }
        // These are part of every world, and count for nothing.
        let version = self.systems.version;
        let mut root = Root.into_builder();
        root.group = None;
        // A world that is being dropped needs none.
        let Ok(root) = self.admit(root) else { return };
        self.systems.root = Some(root);
        let builders = [
            Initialization.in_group(Root),
            BeginInitialization.in_group(Initialization).first(),
            EndInitialization.in_group(Initialization).last(),
            Simulation.in_group(Root),
            BeginSimulation.in_group(Simulation).first(),
            FixedStep.in_group(Simulation).first().rate(FixedRateCatchUp::new(1.0 / 60.0)),
            BeginFixedStep.in_group(FixedStep).first(),
            EndFixedStep.in_group(FixedStep).last(),
            VariableStep.in_group(Simulation).first().rate(VariableRate::default()),
            BeginVariableStep.in_group(VariableStep).first(),
            EndVariableStep.in_group(VariableStep).last(),
            LateSimulation.in_group(Simulation).last().before(EndSimulation),
            EndSimulation.in_group(Simulation).last(),
            Presentation.in_group(Root),
            BeginPresentation.in_group(Presentation).first(),
        ];
        for builder in builders {
            let added = self.admit(builder);
            debug_assert!(added.is_ok(), "{added:?}");
        }
        self.systems.version = version;
    }
}
