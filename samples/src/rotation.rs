//! Cubes on a circle, and a sphere that makes nearby cubes spin.
//!
//! The first sample to read. Components are plain structs. Systems are functions that declare their data as parameters.
//! A system that visits many entities schedules jobs in the background. Dependencies between jobs follow from the
//! components that they read and write.
//!
//! Positions and rotations are those of `ancho::transforms`, whose systems compute matrices from them.

use std::f32::consts::TAU;

use ancho::burst::math::Random;
use ancho::burst::math::{quat, sincos};
use ancho::prelude::*;
use ancho::transforms::{AddTransforms, LocalToWorld, Position, Rotation};

use crate::gallery::{Canvas, Color, Kind, Options, Sample, SampleResult, WorldSample};

pub(crate) const SAMPLE: Sample = Sample {
    name: "rotation",
    summary: "cubes on a circle, which spin when a sphere passes them",
    kind: Kind::World(WorldSample {
        counts: "cubes",
        entities: 100,
        most: 1_000_000,
        frames: 600,
        seed: Some(1),
        build,
        add_systems,
        paint,
        steering: None,
    }),
};

/// Distance of cubes and sphere from the center.
const RADIUS: f32 = 25.0;

/// Rotation in radians per second.
#[derive(Component, Clone, Copy)]
struct RotationSpeed(f32);

/// Change of the rotation speed, in radians per second squared. The speed stops at zero.
#[derive(Component, Clone, Copy)]
struct RotationAcceleration(f32);

/// Moves along a circle, in radians per second.
#[derive(Component, Clone, Copy)]
struct MoveAlongCircle {
    center: Vec3,
    radius: f32,
    speed: f32,
    angle: f32,
}

/// Sets the speed of all rotating entities within a radius.
#[derive(Component, Clone, Copy)]
struct ResetRotation {
    speed: f32,
    radius: f32,
}

/// Request for cubes on a circle around this entity.
#[derive(Component, Clone, Copy)]
struct CircleSpawner {
    count: usize,
    radius: f32,
    random: Random,
}

fn build(options: &Options) -> SampleResult<World> {
    let mut world = options.world("Rotation");
    let random = Random::new(options.seed);
    let spawner = CircleSpawner { count: options.entities, radius: RADIUS, random };
    world.spawn((Position(Vec3::ZERO), spawner));
    world.spawn((
        Position(Vec3::X * RADIUS),
        MoveAlongCircle { center: Vec3::ZERO, radius: RADIUS, speed: 1.0, angle: 0.0 },
        ResetRotation { speed: 10.0, radius: 2.0 },
    ));
    Ok(world)
}

fn add_systems(world: &mut World) {
    world.add_system(spawn_circles);
    world.add_system(move_along_circles);
    world.add_system(reset_rotations);
    world.add_system(accelerate);
    world.add_system(rotate);
    // Computes a matrix from each position and rotation that has changed.
    world.add_transforms();
}

/// Spawns the requested cubes, and removes the `CircleSpawner`.
fn spawn_circles(mut commands: Commands, spawners: Query<(Entity, &Position, &CircleSpawner)>) {
    for (entity, center, spawner) in &spawners {
        let mut random = spawner.random;
        commands.spawn_batch((0..spawner.count).map(|_| {
            let direction = quat::rotate(Quat::from_rotation_y(random.range(0.0..TAU)), Vec3::X);
            (
                Position(center.0 + direction * spawner.radius),
                Rotation(Quat::IDENTITY),
                RotationSpeed(0.0),
                RotationAcceleration(-1.0),
            )
        }));
        commands.remove::<CircleSpawner>(entity);
    }
}

fn move_along_circles(time: Time, mut movers: Query<(&mut Position, &mut MoveAlongCircle)>) {
    let dt = time.delta();
    movers.schedule_parallel(move |(position, circle)| {
        circle.angle = (circle.angle + circle.speed * dt) % TAU;
        let (sin, cos) = sincos(circle.angle);
        position.0 = circle.center + circle.radius * Vec3::new(cos, 0.0, sin);
    });
}

/// Sets the speed of cubes near a sphere. The few spheres are copied into the job that visits the many cubes.
fn reset_rotations(
    spheres: Query<(&Position, &ResetRotation)>,
    mut cubes: Query<(&Position, &mut RotationSpeed)>,
) {
    let spheres: Vec<_> = spheres.iter().map(|(position, reset)| (*position, *reset)).collect();
    cubes.schedule_parallel(move |(position, speed)| {
        for (sphere, reset) in &spheres {
            if sphere.0.distance_squared(position.0) <= reset.radius * reset.radius {
                speed.0 = reset.speed;
            }
        }
    });
}

fn accelerate(time: Time, mut spinning: Query<(&mut RotationSpeed, &RotationAcceleration)>) {
    let dt = time.delta();
    spinning.schedule_parallel(move |(speed, acceleration)| {
        speed.0 = (speed.0 + acceleration.0 * dt).max(0.0);
    });
}

fn rotate(time: Time, mut spinning: Query<(&mut Rotation, &RotationSpeed)>) {
    let dt = time.delta();
    spinning.schedule_parallel(move |(rotation, speed)| {
        *rotation = rotation.turned(Quat::from_rotation_y(speed.0 * dt));
    });
}

fn paint(world: &World, canvas: &mut Canvas) {
    canvas.look_at(Vec3::ZERO, Vec2::splat(2.4 * RADIUS));
    for (matrix, speed) in &world.query::<(&LocalToWorld, &RotationSpeed)>() {
        let color = Color::GREY.mixed(Color::ORANGE, speed.0 / 10.0);
        canvas.square(matrix.position(), 1.4, color);
        canvas.point(matrix.to_world(1.5 * Vec3::X), color);
    }
    for (position, _) in &world.query::<(&Position, &ResetRotation)>() {
        canvas.disc(position.0, 1.5, Color::BLUE);
    }
}

#[cfg(test)]
mod tests {
    use ancho::entities::EntityManager;

    use super::*;
    use crate::gallery::tests::{go_on, hash, options, run};

    #[test]
    fn the_state_is_the_same_in_all_cases() {
        hash(&SAMPLE, 1000, 20);
    }

    #[test]
    fn cubes_are_on_the_circle_and_the_spawner_is_done() {
        let world = run(&SAMPLE, &options(100), 1);
        let cubes = world.query::<(&Position, &Rotation)>();
        assert_eq!(cubes.count(), 100);
        for (position, _) in &cubes {
            assert!((position.0.length() - 25.0).abs() < 1e-3);
        }
        for (x, z) in [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)] {
            let is_there = |position: &Vec3| position.x * x > 0.0 && position.z * z > 0.0;
            let count = cubes.iter().filter(|(position, _)| is_there(&position.0)).count();
            assert!((10..40).contains(&count), "all around, {count} of 100 in a quarter");
        }
        assert_eq!(world.query::<&CircleSpawner>().count(), 0);
    }

    #[test]
    fn the_sphere_goes_round_once_in_as_many_seconds_as_a_circle_has_radians() {
        let world = run(&SAMPLE, &options(1), 188);
        let (position, _) = world.query::<(&Position, &MoveAlongCircle)>().single().unwrap();
        let (sin, cos) = f32::sin_cos(188.0 / 60.0);
        assert!(position.0.distance(25.0 * Vec3::new(cos, 0.0, sin)) < 1e-2, "{}", position.0);
    }

    #[test]
    fn the_sphere_reaches_2_units_far_and_those_within_turn_with_their_matrices() {
        let mut world = run(&SAMPLE, &options(0), 0);
        // Position of the sphere after a frame.
        let (sin, cos) = f32::sin_cos(1.0 / 60.0);
        let sphere = 25.0 * Vec3::new(cos, 0.0, sin);
        let mut cube = |from_sphere: f32| {
            let position = Position(sphere + from_sphere * Vec3::X);
            let (speed, acceleration) = (RotationSpeed(0.0), RotationAcceleration(-1.0));
            world.spawn((position, Rotation(Quat::IDENTITY), speed, acceleration))
        };
        let (inside, outside) = (cube(1.99), cube(2.01));
        go_on(&mut world, 1);
        let speed = |world: &World, cube| world.get::<RotationSpeed>(cube).unwrap().0;
        let rotation = |world: &World, cube| world.get::<Rotation>(cube).unwrap().0;
        // Ten radians per second, minus one frame of deceleration.
        let expected = 10.0 - 1.0 / 60.0;
        assert!((speed(&world, inside) - expected).abs() < 1e-5, "{}", speed(&world, inside));
        let turned = Quat::from_rotation_y(expected / 60.0);
        assert!(rotation(&world, inside).dot(turned) > 1.0 - 1e-6);
        assert_eq!((speed(&world, outside), rotation(&world, outside)), (0.0, Quat::IDENTITY));

        go_on(&mut world, 30);
        for (entity, matrix, _) in &world.query::<(Entity, &LocalToWorld, &RotationSpeed)>() {
            let seen = matrix.to_world(Vec3::X) - matrix.position();
            assert!(seen.distance(rotation(&world, entity) * Vec3::X) < 1e-4);
        }
        assert!(rotation(&world, inside).dot(turned) < 0.9, "it has turned on");
    }

    #[test]
    fn cubes_come_to_rest_when_no_sphere_passes_any_more() {
        let mut world = run(&SAMPLE, &options(100), 377);
        world.batch(QueryDescriptor::of::<Entity, With<ResetRotation>>()).despawn().unwrap();
        let speeds = |world: &World| -> Vec<f32> {
            world.query::<&RotationSpeed>().iter().map(|speed| speed.0).collect()
        };
        let before = speeds(&world);
        go_on(&mut world, 60);
        for (before, after) in before.iter().zip(speeds(&world)) {
            assert!((before - 1.0 - after).abs() < 1e-3, "a radian less in a second");
        }
        // Decelerating from ten radians per second takes ten seconds.
        go_on(&mut world, 540);
        assert_eq!(speeds(&world), [0.0; 100]);
        // The hash of the entities alone, since time passes.
        let at_rest = EntityManager::state_hash(&world);
        go_on(&mut world, 60);
        assert_eq!(EntityManager::state_hash(&world), at_rest);
    }

    #[test]
    fn all_cubes_spin_once_the_sphere_has_gone_round() {
        // After one round the sphere has passed all cubes. Their speed decreases from ten by one radian per second.
        let world = run(&SAMPLE, &options(100), 377);
        let speeds: Vec<f32> = world.query::<&RotationSpeed>().iter().map(|s| s.0).collect();
        assert!(speeds.iter().all(|speed| (3.0..=10.0).contains(speed)), "{speeds:?}");
    }

    #[test]
    fn a_cube_whose_rotation_is_of_zeros_spins_like_the_others() {
        let mut world = run(&SAMPLE, &options(100), 1);
        for rotation in world.query_mut::<&mut Rotation>() {
            rotation.0 = Quat::from_array([0.0; 4]);
        }
        go_on(&mut world, 377);
        let angles = world.query::<(&Rotation, &LocalToWorld)>();
        assert_eq!(angles.count(), 100);
        for (rotation, matrix) in &angles {
            assert!((rotation.0.length() - 1.0).abs() < 1e-5 && matrix.0.is_finite());
            assert!(rotation.0.y != 0.0, "it was passed, and spins");
        }
    }
}
