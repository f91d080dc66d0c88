//! A test of rollback: replays of a world have the same states.

use crate::inspect;
use crate::world::World;

/// The duration of an update in seconds.
const STEP: f64 = 1.0 / 60.0;

/// Tests that a world can be rolled back: updates it `updates` times, rolls it back, and updates it again. Panics if the state of the
/// second run differs after one of the updates. Use it in tests.
///
/// A replay differs if a system depends on data that is not rolled back: a [`Local`](crate::Local), a field of a struct system, a
/// captured variable, a local resource, or the clock. Input that a system reads must be the same in both runs.
///
/// Each update advances the time by 1/60 s. The world ends in the state after the second run.
///
/// # Panics
///
/// Panics with A0182 if the replay differs. The message has the number of the update, and the first part of the state that differs.
/// Also panics if the world cannot be [forked](World::fork), or an update panics.
///
/// # Examples
///
/// ```
/// use ancho_entities::{ResMut, Resource, World, assert_replays};
///
/// #[derive(Resource, Clone)]
/// struct Ticks(u32);
///
/// let mut world = World::new("Simulation");
/// world.insert_resource(Ticks(0));
/// world.add_system(|mut ticks: ResMut<Ticks>| ticks.0 += 1);
/// assert_replays(&mut world, 10);
/// assert_eq!(world.resource::<Ticks>().0, 10);
/// ```
#[track_caller]
pub fn assert_replays(world: &mut World, updates: usize) {
    let fork = |world: &mut World| match world.fork() {
        Ok(fork) => fork,
        Err(error) => panic!("{error}"),
    };
    let mut snapshot = fork(world);
    let mut first = Vec::with_capacity(updates);
    for _ in 0..updates {
        world.update(STEP);
        world.complete_jobs();
        first.push(fork(world));
    }
    if let Err(error) = world.restore(&mut snapshot) {
        panic!("{error}");
    }
    refuse_difference(world, &snapshot, 0);
    for (update, first) in (1..).zip(&first) {
        world.update(STEP);
        world.complete_jobs();
        refuse_difference(world, first, update);
    }
}

/// Panics if a world differs from its state in the first run.
#[track_caller]
fn refuse_difference(world: &World, first: &World, update: usize) {
    if world.state_hash() == first.state_hash() {
        return;
    }
    let (name, part) = (world.name(), inspect::first_difference(first, world));
    panic!(
        "A0182: the replay of world `{name}` differs from its first run after update {update}: {part} differs; keep what the \
         systems depend on in components and state resources, not in `Local`s, struct systems, local resources or clocks"
    );
}
