//! Systems whose type was erased.

use std::any::Any;

use super::error::{SystemError, SystemFault, SystemResult};
use super::param::Accesses;
use super::system::System;
use crate::manager::EntityManager;
use crate::version::Version;
use crate::world::World;

/// What became of a call.
pub(super) type Outcome = Result<(), Box<SystemFault>>;

/// A function or a struct that is updated.
pub(super) trait ErasedSystem: Send {
    /// When it is added, under this name. Returns what its parameters use, if that is known.
    fn create(&mut self, world: &mut World, name: &str) -> Result<Option<Accesses>, SystemError>;

    /// The name that it was added under, which it knows also if its world is gone.
    fn name(&self) -> &str;

    fn start(&mut self, _world: &mut World) -> Outcome {
        Ok(())
    }

    /// Updates it, which ran before then.
    fn update(&mut self, world: &mut World, since: Version) -> Outcome;

    fn stop(&mut self, _world: &mut World) -> Outcome {
        Ok(())
    }

    fn destroy(&mut self, _world: &mut World) -> Outcome {
        Ok(())
    }

    /// Whether it can reach the systems of its world.
    fn reaches_systems(&self) -> bool {
        true
    }

    /// The struct, if it is one.
    fn as_any(&self) -> Option<&dyn Any> {
        None
    }

    fn as_any_mut(&mut self) -> Option<&mut dyn Any> {
        None
    }

    /// How many entities its parameters may find.
    fn entity_count(&mut self, _entities: &EntityManager) -> Option<usize> {
        None
    }

    /// Whether there are entities for one of its parameters.
    fn has_entities(&mut self, _entities: &EntityManager) -> Option<bool> {
        None
    }
}

/// A system that is a struct.
pub(super) struct StructSystem<S> {
    system: S,
    name: Box<str>,
}

impl<S> StructSystem<S> {
    pub(super) fn new(system: S) -> Self {
        Self { system, name: Box::default() }
    }
}

impl<S: System> ErasedSystem for StructSystem<S> {
    fn create(&mut self, world: &mut World, name: &str) -> Result<Option<Accesses>, SystemError> {
        self.name = name.into();
        match self.system.on_create(world) {
            Ok(()) => Ok(None),
            Err(error) => {
                Err(SystemError::NotCreated { system: name.to_owned(), reason: error.to_string() })
            }
        }
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn start(&mut self, world: &mut World) -> Outcome {
        outcome(self.system.on_start_running(world))
    }

    fn update(&mut self, world: &mut World, _: Version) -> Outcome {
        outcome(self.system.on_update(world))
    }

    fn stop(&mut self, world: &mut World) -> Outcome {
        outcome(self.system.on_stop_running(world))
    }

    fn destroy(&mut self, world: &mut World) -> Outcome {
        outcome(self.system.on_destroy(world))
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(&self.system)
    }

    fn as_any_mut(&mut self) -> Option<&mut dyn Any> {
        Some(&mut self.system)
    }
}

#[inline]
fn outcome(result: SystemResult) -> Outcome {
    result.map_err(|error| Box::new(SystemFault::Failed { message: error.to_string() }))
}
