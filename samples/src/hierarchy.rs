//! Circles of circles: children follow the rotation of their parents.
//!
//! A child is attached by an entity with an `Attach`. From then on its position and rotation are relative to its
//! parent, and the systems of `add_transforms` compute its place in the world.

use std::f32::consts::TAU;

use ancho::burst::math::Random;
use ancho::burst::math::{cos, sin, sincos};
use ancho::entities::ComponentType;
use ancho::prelude::*;
use ancho::transforms::{AddTransforms, Attach, Attached, LocalToWorld, Position, Rotation};

use crate::gallery::{Canvas, Color, Kind, Options, Sample, SampleResult, WorldSample};

pub(crate) const SAMPLE: Sample = Sample {
    name: "hierarchy",
    summary: "100 rotating circles of 100 cubes, on a circle that rotates",
    kind: Kind::World(WorldSample {
        counts: "cubes",
        entities: 10_000,
        most: 1_000_000,
        frames: 300,
        seed: Some(1),
        build,
        add_systems,
        paint,
        steering: None,
    }),
};

/// Distance of a circle's members from its middle, for the large circle and for the small circles attached to it.
const RADIUS: f32 = 50.0;
const SMALL_RADIUS: f32 = 50.0;
/// Maximum number of members of a circle.
const MEMBERS: usize = 100;

/// Rotation about the vertical axis, in radians per second.
#[derive(Component, Clone, Copy)]
struct RotationSpeed(f32);

/// Request for members on a circle around this entity, as its children.
#[derive(Component, Clone, Copy)]
struct CircleSpawner {
    /// Total number of cubes. Large numbers are split into circles of circles.
    cubes: usize,
    radius: f32,
    random: Random,
}

/// A leaf of the hierarchy.
#[derive(Component, Clone, Copy)]
struct Cube;

fn build(options: &Options) -> SampleResult<World> {
    let mut world = options.world("Hierarchy");
    let random = Random::new(options.seed);
    let spawner = CircleSpawner { cubes: options.entities, radius: RADIUS, random };
    world.spawn((Position(Vec3::ZERO), Rotation(Quat::IDENTITY), RotationSpeed(1.0), spawner));
    Ok(world)
}

fn add_systems(world: &mut World) {
    // A file with cubes can be loaded before the first cube is spawned.
    ComponentType::of::<Cube>();
    world.add_system(spawn_circles);
    world.add_system(rotate);
    world.add_transforms();
}

/// Spawns the requested circles. Members with several cubes receive requests of their own, which are handled in the
/// next frame.
fn spawn_circles(mut commands: Commands, spawners: Query<(Entity, &CircleSpawner)>) {
    for (parent, spawner) in &spawners {
        let mut random = spawner.random;
        let members = spawner.cubes.min(MEMBERS);
        for member in 0..members {
            // The cubes are divided evenly, and the first members receive one more if there is a remainder.
            let cubes = spawner.cubes / members + usize::from(member < spawner.cubes % members);
            let (sin, cos) = sincos(member as f32 / members as f32 * TAU);
            let place = Position(spawner.radius * Vec3::new(cos, 0.0, sin));
            let child = if cubes == 1 {
                commands.spawn((place, Rotation(Quat::IDENTITY), Cube))
            } else {
                // Directions of rotation are random.
                let way = if random.next_bool() { -1.0 } else { 1.0 };
                let speed = RotationSpeed(way * random.range(1.0..3.0));
                let circle = CircleSpawner {
                    cubes,
                    radius: SMALL_RADIUS,
                    random: Random::new(member as u64),
                };
                commands.spawn((place, Rotation(Quat::IDENTITY), speed, circle))
            };
            commands.spawn(Attach { parent, child });
        }
        commands.remove::<CircleSpawner>(parent);
    }
}

fn rotate(time: Time, mut turning: Query<(&mut Rotation, &RotationSpeed)>) {
    let dt = time.delta();
    turning.schedule_parallel(move |(rotation, speed)| {
        let half = speed.0 * dt * 0.5;
        *rotation = rotation.turned(Quat::from_xyzw(0.0, sin(half), 0.0, cos(half)));
    });
}

fn paint(world: &World, canvas: &mut Canvas) {
    canvas.look_at(Vec3::ZERO, Vec2::splat(2.2 * (RADIUS + SMALL_RADIUS)));
    for (matrix, _) in &world.query::<(&LocalToWorld, &Cube)>() {
        let place = matrix.position();
        canvas.point(
            place,
            Color::BLUE.mixed(Color::ORANGE, place.length() / (RADIUS + SMALL_RADIUS)),
        );
    }
    let circles = world.query_filtered::<&LocalToWorld, (With<Attached>, With<RotationSpeed>)>();
    for matrix in &circles {
        canvas.square(matrix.position(), 1.5, Color::YELLOW);
    }
}

#[cfg(test)]
mod tests {
    use ancho::transforms::{Child, Parent, world_transform};

    use super::*;
    use crate::gallery::tests::{go_on, hash, options, run};

    #[test]
    fn the_state_is_the_same_in_all_cases() {
        hash(&SAMPLE, 1000, 20);
    }

    #[test]
    fn there_are_a_hundred_circles_of_a_hundred_cubes_on_one() {
        let world = run(&SAMPLE, &options(10_000), 3);
        assert_eq!(world.query::<&Cube>().count(), 10_000);
        assert_eq!(world.query::<&CircleSpawner>().count(), 0);
        assert_eq!(world.query::<&Attach>().count(), 0);
        let parents = world.query::<&Buffer<Child>>();
        assert_eq!(parents.count(), 101);
        assert!(parents.iter().all(|children| children.len() == 100));
        let circles = world.query_filtered::<&RotationSpeed, With<Parent>>();
        assert_eq!(circles.count(), 100);
        assert!(circles.iter().all(|speed| (1.0..=3.0).contains(&speed.0.abs())));
    }

    #[test]
    fn cubes_are_on_the_circles_they_hang_on_and_these_on_the_large_one() {
        let world = run(&SAMPLE, &options(500), 100);
        let matrix = |entity| world.get::<LocalToWorld>(entity).unwrap();
        for (entity, parent, _) in &world.query::<(Entity, &Parent, &Cube)>() {
            let (place, center) = (matrix(entity).position(), matrix(parent.0).position());
            assert!((place.distance(center) - SMALL_RADIUS).abs() < 1e-2);
            assert!((center.length() - RADIUS).abs() < 1e-2);
            let exact = world_transform(&world, entity).unwrap().position();
            assert!(place.distance(exact) < 1e-3, "{place} {exact}");
        }
    }

    #[test]
    fn a_rotation_of_zeros_gives_no_matrix_that_is_not_a_number() {
        let mut world = run(&SAMPLE, &options(25), 3);
        for circle in world.query_filtered::<Entity, With<RotationSpeed>>().to_entities() {
            world.get_mut::<RotationSpeed>(circle).unwrap().0 = 0.0;
        }
        for cube in world.query_filtered::<Entity, With<Cube>>().to_entities() {
            world.get_mut::<Rotation>(cube).unwrap().0 = Quat::from_array([0.0; 4]);
        }
        go_on(&mut world, 2);
        let matrices = world.query::<&LocalToWorld>();
        assert!(matrices.iter().all(|matrix| matrix.0.is_finite()));
    }

    #[test]
    fn what_turns_from_a_rotation_of_zeros_is_a_number_and_takes_its_cubes_along() {
        let options = options(100);
        let mut world = options.world("HierarchyBroken");
        let random = Random::new(options.seed);
        let spawner = CircleSpawner { cubes: 100, radius: 25.0, random };
        let zeros = Rotation(Quat::from_array([0.0; 4]));
        let middle = world.spawn((Position(Vec3::ZERO), zeros, RotationSpeed(0.5), spawner));
        add_systems(&mut world);
        go_on(&mut world, 120);
        let matrices = world.query::<&LocalToWorld>();
        assert_eq!(matrices.count(), 101);
        assert!(matrices.iter().all(|matrix| matrix.0.is_finite()));
        // Half a radian per second, for two seconds.
        let east = Vec3::new(sin(1.0), 0.0, cos(1.0));
        let forward = world.get::<LocalToWorld>(middle).unwrap().forward();
        assert!(forward.distance(east) < 1e-3, "{forward}");
        for (matrix, position, _) in &world.query::<(&LocalToWorld, &Position, &Cube)>() {
            assert!((matrix.position().length() - 25.0).abs() < 1e-3);
            let turned = Quat::from_rotation_y(1.0) * position.0;
            assert!(matrix.position().distance(turned) < 1e-2, "{turned}");
        }
    }

    #[test]
    fn who_is_detached_goes_round_no_more() {
        let mut world = run(&SAMPLE, &options(25), 3);
        let cube = world.query_filtered::<Entity, With<Cube>>().to_entities()[0];
        world.remove::<Attached>(cube).unwrap();
        go_on(&mut world, 1);
        let place = world.get::<LocalToWorld>(cube).unwrap().position();
        assert_eq!(place, world.get::<Position>(cube).unwrap().0);
        go_on(&mut world, 10);
        assert_eq!(world.get::<LocalToWorld>(cube).unwrap().position(), place);
    }
}
