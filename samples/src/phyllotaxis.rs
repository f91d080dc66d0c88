//! A sunflower of 50,000 cubes, all children of one rotating entity.
//!
//! Each cube is placed relative to its `Parent`, and rotates on its own. The systems of `add_transforms` compute a
//! `LocalToWorld` matrix for each entity that has moved.

use ancho::burst::burst;
use ancho::burst::math::{cos, sin};
use ancho::prelude::*;
use ancho::transforms::{AddTransforms, LocalToWorld, Parent, Position, Rotation};

use crate::gallery::{Canvas, Color, Kind, Options, Sample, SampleResult, WorldSample};

pub(crate) const SAMPLE: Sample = Sample {
    name: "phyllotaxis",
    summary: "50,000 cubes arranged like a sunflower's seeds, children of a rotating entity",
    kind: Kind::World(WorldSample {
        counts: "cubes",
        entities: 50_000,
        most: 5_000_000,
        frames: 300,
        seed: None,
        build,
        add_systems,
        paint,
        steering: None,
    }),
};

/// Angle between consecutive cubes, in degrees: nearly the golden angle.
const ANGLE: f32 = 137.51;
/// Distance of the first cube from the middle. Distances grow with the square root of the index.
const SPACING: f32 = 1.3;
/// Height of the wave that runs through the cubes. `WAVE_LENGTH` is its length.
const WAVE_HEIGHT: f32 = 8.0;
const WAVE_LENGTH: f32 = 60.0;

/// Rotation about the vertical axis, in radians per second.
#[derive(Component, Clone, Copy)]
struct RotationSpeed(f32);

/// Moves up and down with a wave that runs outwards.
#[derive(Component, Clone, Copy)]
struct Wave {
    /// Phase in the wave, in radians.
    phase: f32,
}

fn build(options: &Options) -> SampleResult<World> {
    let mut world = options.world("Phyllotaxis");
    let root = world.spawn((Position(Vec3::ZERO), Rotation(Quat::IDENTITY), RotationSpeed(5.0)));
    world.spawn_batch((0..options.entities).map(|index| {
        let radius = radius(index);
        let wave = Wave { phase: -radius / WAVE_LENGTH * std::f32::consts::TAU };
        let rotation = Rotation(Quat::IDENTITY);
        (Parent(root), Position(place(index)), rotation, RotationSpeed(2.0), wave)
    }));
    Ok(world)
}

fn add_systems(world: &mut World) {
    world.add_system(rotate);
    world.add_system(move_along_wave);
    world.add_transforms();
}

fn radius(index: usize) -> f32 {
    SPACING * (index as f32).sqrt()
}

/// Returns the place of a cube, relative to the middle.
fn place(index: usize) -> Vec3 {
    // In degrees and 64 bits first: the angle of the last cube is seven million degrees.
    let degrees = (index as f64 * f64::from(ANGLE)) % 360.0;
    let angle = (degrees as f32).to_radians();
    radius(index) * Vec3::new(cos(angle), 0.0, sin(angle))
}

#[burst]
fn rotate(time: Time, mut turning: Query<(&mut Rotation, &RotationSpeed)>) {
    let dt = time.delta();
    turning.schedule_parallel(move |(rotation, speed)| {
        let half = speed.0 * dt * 0.5;
        *rotation = rotation.turned(Quat::from_xyzw(0.0, sin(half), 0.0, cos(half)));
    });
}

#[burst]
fn move_along_wave(time: Time, mut cubes: Query<(&mut Position, &mut Wave)>) {
    let step = time.delta() * 2.0;
    cubes.schedule_parallel(move |(position, wave)| {
        wave.phase += step;
        position.0.y = WAVE_HEIGHT * sin(wave.phase);
    });
}

fn paint(world: &World, canvas: &mut Canvas) {
    let cubes = world.query::<(&LocalToWorld, &Wave)>();
    canvas.look_at(Vec3::ZERO, Vec2::splat(2.1 * radius(cubes.count())));
    for (matrix, _) in &cubes {
        let place = matrix.position();
        let height = place.y / WAVE_HEIGHT;
        canvas.point(place, Color::BLUE.mixed(Color::YELLOW, height * 0.5 + 0.5));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gallery::tests::{hash, options, run};

    #[test]
    fn the_state_is_the_same_in_all_cases() {
        hash(&SAMPLE, 3000, 10);
    }

    #[test]
    fn cubes_are_where_the_seeds_of_a_sunflower_are() {
        let world = run(&SAMPLE, &options(1000), 60);
        let (root, _) = world
            .query_filtered::<(&Rotation, &RotationSpeed), Without<Parent>>()
            .single()
            .unwrap();
        // A second at five radians per second.
        let turned = Quat::from_rotation_y(5.0);
        assert!(root.0.dot(turned).abs() > 1.0 - 1e-5, "{}", root.0);
        let cubes = world.query::<(&LocalToWorld, &Wave)>();
        assert_eq!(cubes.count(), 1000);
        for (index, (matrix, _)) in cubes.iter().enumerate() {
            let expected = turned * place(index);
            let seen = matrix.position();
            assert!((seen - expected).with_y(0.0).length() < 1e-2, "{index}: {seen} {expected}");
            assert!(seen.y.abs() <= WAVE_HEIGHT);
        }
    }

    #[test]
    fn a_cube_is_1_3_times_the_root_of_its_number_away_and_137_51_degrees_on() {
        let close = |a: Vec3, b: Vec3| a.distance(b) < 1e-3;
        assert_eq!(place(0), Vec3::ZERO);
        assert!(close(place(1), 1.3 * Vec3::new(-0.737_395, 0.0, 0.675_462)), "{}", place(1));
        assert!(close(place(4), 2.6 * Vec3::new(-0.984_686, 0.0, -0.174_336)), "{}", place(4));
        // 100 · 137.51 is 71 degrees more than 38 rounds.
        assert!(close(place(100), 13.0 * Vec3::new(0.325_568, 0.0, 0.945_519)), "{}", place(100));
        assert!((place(40_000).length() - 260.0).abs() < 1e-2);
        let world = run(&SAMPLE, &options(101), 0);
        let cubes = world.query_filtered::<&Position, With<Parent>>();
        assert!(cubes.iter().map(|position| position.0).eq((0..101).map(place)));
    }

    #[test]
    fn a_wave_runs_outwards() {
        let heights = |frames| -> Vec<f32> {
            let world = run(&SAMPLE, &options(2000), frames);
            let cubes = world.query_filtered::<&LocalToWorld, With<Wave>>();
            cubes.iter().map(|matrix| matrix.position().y).collect()
        };
        // Eight units high, sixty long, two radians per second.
        let expected = |radius: f32, seconds: f32| {
            8.0 * (2.0 * seconds - radius / 60.0 * std::f32::consts::TAU).sin()
        };
        for frames in [1, 60] {
            for (index, height) in heights(frames).into_iter().enumerate() {
                let radius = 1.3 * (index as f32).sqrt();
                let expected = expected(radius, frames as f32 / 60.0);
                assert!((height - expected).abs() < 1e-2, "{index}: {height} {expected}");
            }
        }
    }

    #[test]
    fn each_cube_turns_on_its_own() {
        let world = run(&SAMPLE, &options(10), 30);
        for (rotation, _) in &world.query::<(&Rotation, &Parent)>() {
            assert!(rotation.0.dot(Quat::from_rotation_y(1.0)).abs() > 1.0 - 1e-5);
        }
    }
}
