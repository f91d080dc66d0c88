//! 1,000 asteroids that are attracted by stars. The keys 1 to 7 restart with another pattern. Arrows move a star, and
//! w, a, s and d move the camera.
//!
//! Two systems with one job each: the first applies all forces of a frame, the second moves the asteroids. The second
//! job waits for the first since it reads the velocities that the first writes.

use std::f32::consts::TAU;

use ancho::burst::math::Random;
use ancho::burst::math::sincos;
use ancho::prelude::*;

use crate::gallery::{
    Canvas, Color, Key, Kind, Options, Sample, SampleResult, Steering, WorldSample,
};

pub(crate) const SAMPLE: Sample = Sample {
    name: "gravity",
    summary: "1,000 asteroids attracted by stars, in seven patterns",
    kind: Kind::World(WorldSample {
        counts: "asteroids",
        entities: 1_000,
        most: 5_000_000,
        frames: 600,
        seed: Some(1),
        build,
        add_systems,
        paint,
        steering: Some(Steering {
            help: "1-7 patterns   arrows move a star   w a s d look around",
            press,
        }),
    }),
};

/// Gravitational constant.
const GRAVITY: f32 = 9.0;
/// Factor between the time of the simulation and the time of the world.
const SIMULATION_SPEED: f32 = 7.0;
/// Minimum distance from the middle of a star in the computation of forces.
const STAR_RADIUS: f32 = 2.0;

#[derive(Component, Clone, Copy)]
struct Position(Vec3);

#[derive(Component, Clone, Copy)]
struct Velocity(Vec3);

#[derive(Component, Clone, Copy)]
struct Mass(f32);

#[derive(Component, Clone, Copy)]
struct Star;

/// Current pattern and random numbers, from which everything else is spawned. A singleton.
#[derive(Component, Clone, Copy, Debug)]
struct Sky {
    pattern: usize,
    asteroids: usize,
    random: Random,
}

/// Center of the picture. A singleton.
#[derive(Component, Clone, Copy, Debug)]
struct Camera(Vec3);

/// Initial state: places of asteroids and stars, and speeds.
struct Pattern {
    name: &'static str,
    /// Places and masses of the stars.
    stars: &'static [(Vec3, f32)],
    place: fn(&mut Random) -> Vec3,
    /// Speed of the asteroids, as a fraction of the speed of a circular orbit.
    spin: f32,
}

const PATTERNS: [Pattern; 7] = [
    Pattern { name: "Ball 1", stars: ONE, place: |random| in_ball(random, 40.0), spin: 1.0 },
    Pattern { name: "Ball 2", stars: ONE, place: |random| in_ball(random, 70.0), spin: 0.5 },
    Pattern { name: "Ball 3", stars: TWO, place: |random| in_ball(random, 60.0), spin: 0.8 },
    Pattern { name: "Ball 4", stars: THREE, place: |random| in_ball(random, 80.0), spin: 0.0 },
    Pattern { name: "Disk", stars: ONE, place: |random| in_disk(random, 70.0), spin: 1.0 },
    Pattern { name: "Disk 2", stars: TWO, place: |random| in_disk(random, 80.0), spin: 0.9 },
    Pattern { name: "Spiral", stars: ONE, place: in_spiral, spin: 1.0 },
];

const ONE: &[(Vec3, f32)] = &[(Vec3::ZERO, 500.0)];
const TWO: &[(Vec3, f32)] =
    &[(Vec3::new(-20.0, 0.0, 0.0), 300.0), (Vec3::new(20.0, 0.0, 0.0), 300.0)];
const THREE: &[(Vec3, f32)] = &[
    (Vec3::new(-30.0, 0.0, -20.0), 250.0),
    (Vec3::new(30.0, 0.0, -20.0), 250.0),
    (Vec3::new(0.0, 0.0, 30.0), 250.0),
];

fn in_ball(random: &mut Random, radius: f32) -> Vec3 {
    loop {
        let mut coordinate = || random.range(-radius..radius);
        let place = Vec3::new(coordinate(), coordinate(), coordinate());
        if (0.04..=1.0).contains(&(place.length_squared() / (radius * radius))) {
            return place;
        }
    }
}

fn in_disk(random: &mut Random, radius: f32) -> Vec3 {
    // The square root makes the density uniform over the area.
    let from_middle = radius * random.range(0.04_f32..1.0).sqrt();
    let place = random.on_unit_circle() * from_middle;
    Vec3::new(place.x, random.range(-1.0..1.0), place.y)
}

fn in_spiral(random: &mut Random) -> Vec3 {
    let (arm, along) = (random.range(0..3) as f32, random.range(0.1..1.0));
    let (sine, cosine) = sincos(TAU * (arm / 3.0 + along) + random.range(-0.15..0.15));
    Vec3::new(cosine * along * 80.0, random.range(-1.0..1.0), sine * along * 80.0)
}

fn build(options: &Options) -> SampleResult<World> {
    let mut world = options.world("Gravity");
    let random = Random::new(options.seed);
    world.spawn(Sky { pattern: 4, asteroids: options.entities, random });
    world.spawn(Camera(Vec3::ZERO));
    start_pattern(&mut world);
    Ok(world)
}

fn add_systems(world: &mut World) {
    world.add_system(apply_gravity);
    world.add_system(move_asteroids);
}

/// Destroys all stars and asteroids, and spawns those of the current pattern.
fn start_pattern(world: &mut World) {
    let Ok(&mut Sky { pattern, asteroids, ref mut random }) = world.singleton_mut::<Sky>() else {
        return;
    };
    // The copy places this pattern. The new generator is for the next pattern.
    let mut drawn = *random;
    *random = Random::new(drawn.next_u64());
    // The result is ignored: only the sky and the camera have no mass, so nothing can conflict.
    let _ = world.batch(QueryDescriptor::of::<(), With<Mass>>()).despawn();

    let Pattern { stars, place, spin, .. } = &PATTERNS[pattern];
    world.spawn_batch(stars.iter().map(|&(place, mass)| (Star, Position(place), Mass(mass))));
    let weight: f32 = stars.iter().map(|(_, mass)| mass).sum();
    world.spawn_batch((0..asteroids).map(|_| {
        let place = place(&mut drawn);
        let around = Vec3::Y.cross(place).normalize_or_zero();
        let velocity = around * (GRAVITY * weight / place.length()).sqrt() * *spin;
        (Position(place), Velocity(velocity), Mass(drawn.range(0.5..2.0)))
    }));
}

/// Accelerates each asteroid by the attraction of all stars: G·M·m/d² divided by m.
#[burst]
fn apply_gravity(
    time: Time,
    stars: Query<(&Position, &Mass), With<Star>>,
    mut asteroids: Query<(&Position, &mut Velocity, &Mass), Without<Star>>,
) {
    let dt = time.delta() * SIMULATION_SPEED;
    // Stars are few, and every thread reads them all.
    let stars: Vec<(Vec3, f32)> = stars.iter().map(|(place, mass)| (place.0, mass.0)).collect();
    asteroids.schedule_parallel(move |(position, velocity, mass)| {
        for &(star, star_mass) in &stars {
            velocity.0 += attraction(position.0, mass.0, star, star_mass) / mass.0 * dt;
        }
    });
}

/// Returns the force of a star on an asteroid.
#[inline(always)]
fn attraction(place: Vec3, mass: f32, star: Vec3, star_mass: f32) -> Vec3 {
    let way = star - place;
    let distance = way.length().max(STAR_RADIUS);
    way / distance * (GRAVITY * star_mass * mass / (distance * distance))
}

#[burst]
fn move_asteroids(time: Time, mut asteroids: Query<(&mut Position, &Velocity)>) {
    let dt = time.delta() * SIMULATION_SPEED;
    asteroids.schedule_parallel(move |(position, velocity)| position.0 += velocity.0 * dt);
}

fn press(world: &mut World, key: Key) {
    let way = match key {
        Key::Char(digit @ '1'..='7') => {
            if let Ok(sky) = world.singleton_mut::<Sky>() {
                sky.pattern = digit as usize - '1' as usize;
            }
            start_pattern(world);
            return;
        }
        Key::Left | Key::Char('a') => Vec3::NEG_X,
        Key::Right | Key::Char('d') => Vec3::X,
        Key::Up | Key::Char('w') => Vec3::Z,
        Key::Down | Key::Char('s') => Vec3::NEG_Z,
        Key::Char(_) => return,
    };
    if let Key::Char(_) = key {
        if let Ok(camera) = world.singleton_mut::<Camera>() {
            camera.0 += way * 10.0;
        }
        return;
    }
    let stars = world.query_filtered_mut::<&mut Position, With<Star>>();
    if let Some(star) = stars.into_iter().next() {
        star.0 += way * 5.0;
    }
}

fn paint(world: &World, canvas: &mut Canvas) {
    let camera = world.singleton::<Camera>().map_or(Vec3::ZERO, |camera| camera.0);
    canvas.look_at(camera, Vec2::new(240.0, 180.0));
    for (position, velocity) in world.query::<(&Position, &Velocity)>() {
        let color = Color::GREY.mixed(Color::ORANGE, velocity.0.length() / 20.0);
        canvas.point(position.0, color);
    }
    for position in world.query_filtered::<&Position, With<Star>>() {
        canvas.disc(position.0, STAR_RADIUS, Color::YELLOW);
    }
    if let Ok(sky) = world.singleton::<Sky>() {
        canvas.caption(PATTERNS[sky.pattern].name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gallery::tests::{hash, options, run};

    fn close(a: Vec3, b: Vec3) -> bool {
        (a - b).length() < 1e-4
    }

    #[test]
    fn a_star_pulls_by_the_square_of_the_distance() {
        let world = &mut World::new("Test");
        let star = world.spawn((Star, Position(Vec3::X * 10.0), Mass(100.0)));
        let stone = world.spawn((Position(Vec3::ZERO), Velocity(Vec3::ZERO), Mass(3.0)));
        world.add_system(apply_gravity);
        world.add_system(move_asteroids);
        world.update(0.01);
        // 9 · 100 · 3 / 10² / 3 for 0.07 s, and then 0.07 s at this speed.
        assert!(close(world.get::<Velocity>(stone).unwrap().0, Vec3::X * 0.63));
        assert!(close(world.get::<Position>(stone).unwrap().0, Vec3::X * 0.0441));
        assert_eq!(world.get::<Position>(star).unwrap().0, Vec3::X * 10.0, "stars stay");
    }

    #[test]
    fn keys_1_to_7_begin_anew_with_another_pattern() {
        let mut world = run(&SAMPLE, &options(200), 3);
        let mut patterns = std::collections::BTreeSet::new();
        for (key, stars) in ('1'..='7').zip([1, 1, 2, 3, 1, 2, 1]) {
            press(&mut world, Key::Char(key));
            assert_eq!(world.query::<&Star>().count(), stars);
            assert_eq!(world.query::<&Velocity>().count(), 200);
            patterns.insert(world.state_hash());
            world.update(0.01);
        }
        assert_eq!(patterns.len(), 7);
    }

    #[test]
    fn other_keys_begin_nothing_and_arrows_move_a_star() {
        let mut world = run(&SAMPLE, &options(10), 0);
        let before = world.state_hash();
        for key in ['0', '8', 'x'] {
            press(&mut world, Key::Char(key));
        }
        assert_eq!(world.state_hash(), before);
        press(&mut world, Key::Left);
        let star = world.query_filtered::<&Position, With<Star>>().single().unwrap().0;
        assert_eq!(star, Vec3::NEG_X * 5.0);
    }

    #[test]
    fn w_a_s_and_d_look_around() {
        let mut world = run(&SAMPLE, &options(0), 0);
        let seen = |world: &World| {
            let mut canvas = Canvas::new(240, 180);
            paint(world, &mut canvas);
            let is_seen = |dot: &usize| canvas.color(dot % 240, dot / 240).is_some();
            let dots: Vec<usize> = (0..240 * 180).filter(is_seen).collect();
            (dots[0] % 240, dots[0] / 240)
        };
        // The star is visible. It moves left when the camera moves right, and down when the camera moves up.
        let (x, y) = seen(&world);
        press(&mut world, Key::Char('d'));
        assert_eq!(seen(&world), (x - 10, y));
        press(&mut world, Key::Char('w'));
        assert_eq!(seen(&world), (x - 10, y + 10));
        press(&mut world, Key::Char('a'));
        press(&mut world, Key::Char('s'));
        assert_eq!(seen(&world), (x, y));
        let star = world.query_filtered::<&Position, With<Star>>().single().unwrap().0;
        assert_eq!(star, Vec3::ZERO, "the star has not moved");
    }

    #[test]
    fn asteroids_of_the_disk_stay_around_their_star() {
        let world = run(&SAMPLE, &options(500), 300);
        let near = |position: &&Position| position.0.is_finite() && position.0.length() < 100.0;
        assert!(world.query::<&Position>().iter().filter(near).count() > 480);
    }

    #[test]
    fn the_state_is_the_same_in_all_cases() {
        hash(&SAMPLE, 1_000, 30);
    }
}
