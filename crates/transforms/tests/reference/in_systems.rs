//! The time of updates in a frame.

use std::sync::{Arc, Mutex};

use ancho_entities::{IntoSystem, Presentation, Query, Simulation, World};
use ancho_transforms::{AddTransforms, LocalToWorld, Position, TransformGroup, TransformSystem};
use glam::Vec3;

use crate::{assert_at, world};

/// Moves all entities, at the end of the frame.
fn step(mut all: Query<&mut Position>) {
    all.for_each(|position| position.0.x += 1.0);
}

/// Positions that a system has read.
type Seen = Arc<Mutex<Vec<f32>>>;

fn watch(seen: &Seen) -> impl FnMut(Query<&LocalToWorld>) + Send + 'static {
    let seen = seen.clone();
    move |all: Query<&LocalToWorld>| {
        let mut seen = seen.lock().unwrap();
        seen.extend(all.iter().map(|place| place.position().x));
    }
}

#[test]
fn presentation_sees_the_moves_of_the_simulation() {
    let mut world: World = world();
    world.add_transforms();
    let seen = Seen::default();
    world.add_system(step);
    world.add_system(watch(&seen).in_group(Presentation));
    world.spawn(Position(Vec3::ZERO));
    for _ in 0..3 {
        world.try_update(0.1).unwrap();
    }
    assert_eq!(*seen.lock().unwrap(), [1.0, 2.0, 3.0]);
}

#[test]
fn systems_after_the_group_see_the_update_and_systems_before_do_not() {
    let mut world = world();
    world.add_transforms();
    let (before, after) = (Seen::default(), Seen::default());
    world.add_system(step);
    world.add_system(watch(&before).before(TransformGroup).after(step));
    world.add_system(watch(&after).in_group(Simulation).last().after(TransformGroup));
    world.spawn(Position(Vec3::ZERO));
    for _ in 0..2 {
        world.try_update(0.1).unwrap();
    }
    assert_eq!(*before.lock().unwrap(), [1.0], "in the first frame there was no matrix yet");
    assert_eq!(*after.lock().unwrap(), [1.0, 2.0]);
}

#[test]
fn two_instances_agree() {
    let mut world = world();
    world.add_transforms();
    let seen = Seen::default();
    world.add_system(step);
    // Between two steps, once more.
    world.add_system(TransformSystem.after(step));
    let again = |mut all: Query<&mut Position>| all.for_each(|position| position.0.x += 10.0);
    world.add_system(watch(&seen).after(TransformSystem));
    world.add_system(again.in_group(Simulation).last().before(TransformGroup));
    let stone = world.spawn(Position(Vec3::ZERO));
    world.try_update(0.1).unwrap();
    assert_eq!(*seen.lock().unwrap(), [1.0]);
    assert_at(&world, stone, [11.0, 0.0, 0.0]);
    world.try_update(0.1).unwrap();
    assert_eq!(*seen.lock().unwrap(), [1.0, 12.0]);
    assert_at(&world, stone, [22.0, 0.0, 0.0]);
}
