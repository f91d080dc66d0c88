//! Components, and a log for systems.

use std::sync::{Arc, Mutex};

use ancho_entities::{Component, ResMut, Resource, World};

pub(crate) use crate::fixtures::{A, B, Tag};

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(name = "Switch", enableable)]
pub(crate) struct Switch(pub(crate) u32);

/// The actions of systems, in order: a resource.
#[derive(Resource, Default)]
#[resource(local)]
pub(crate) struct Log(pub(crate) Vec<String>);

/// A resource that is state.
#[derive(Resource, Clone, Debug, PartialEq)]
pub(crate) struct Number(pub(crate) u32);

impl From<Number> for u32 {
    fn from(number: Number) -> Self {
        number.0
    }
}

/// A log that is accessible from outside, even after the world is dropped.
#[derive(Resource, Clone, Default)]
#[resource(local)]
pub(crate) struct Shared(Arc<Mutex<Vec<String>>>);

impl Shared {
    pub(crate) fn push(&self, line: impl Into<String>) {
        self.0.lock().unwrap().push(line.into());
    }

    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

/// Creates a world with a log.
pub(crate) fn world() -> World {
    let mut world = World::new("test");
    world.insert_resource(Log::default());
    world
}

/// Returns and clears the log.
pub(crate) fn take(world: &mut World) -> Vec<String> {
    std::mem::take(&mut world.resource_mut::<Log>().0)
}

/// Returns a system that logs a line.
pub(crate) fn say(line: &'static str) -> impl FnMut(ResMut<'_, Log>) + Send + 'static {
    move |mut log: ResMut<'_, Log>| log.0.push(line.to_owned())
}
