//! Observers, and the `Removed` parameter.

mod adding;
mod enabled;
mod events;
mod failures;
mod model;
mod removed;
mod rounds;
mod values;
mod worlds;
mod wrapper_values;

use std::sync::{Arc, Mutex};

use ancho_entities::{Component, Entity, World};

#[derive(Component, Clone, Copy, Debug, PartialEq, Default)]
struct A(u32);

#[derive(Component, Clone, Debug, PartialEq)]
struct B(String);

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Tag;

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(cleanup)]
struct Kept(u32);

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(enableable)]
struct Lamp(u32);

/// A list that observers write to.
struct Log<T>(Arc<Mutex<Vec<T>>>);

impl<T> Clone for Log<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Log<T> {
    fn new() -> Self {
        Self(Arc::default())
    }

    fn push(&self, item: T) {
        self.0.lock().unwrap().push(item);
    }

    fn take(&self) -> Vec<T> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

fn b(text: &str) -> B {
    B(text.to_owned())
}

/// A world, and a log of the events of `A`, `B`, `Tag`, `Kept` and of despawned entities.
fn watched() -> (World, Log<(&'static str, Entity)>) {
    let (mut world, log) = (World::new("Observed"), Log::new());
    watch_in(&mut world, &log);
    (world, log)
}

fn watch_in(world: &mut World, log: &Log<(&'static str, Entity)>) {
    use ancho_entities::{Add, Despawn, On, Remove, Replace};
    macro_rules! log {
        ($($event:ty => $name:literal,)+) => {$({
            let log = log.clone();
            world.add_observer(move |events: On<$event>| {
                events.iter().for_each(|event| log.push(($name, event.entity())));
            });
        })+};
    }
    log! {
        Add<A> => "+A", Remove<A> => "-A", Replace<A> => "=A",
        Add<B> => "+B", Remove<B> => "-B", Replace<B> => "=B",
        Add<Tag> => "+Tag", Remove<Tag> => "-Tag", Replace<Tag> => "=Tag",
        Add<Kept> => "+Kept", Remove<Kept> => "-Kept", Replace<Kept> => "=Kept",
        Despawn => "gone",
    }
}
