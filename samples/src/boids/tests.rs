//! Tests of the boids.

use super::*;
use crate::gallery::tests::{go_on, hash, options, run};

/// Returns the mean alignment of all cells with more than one boid, from 0 to 1.
fn alignment(world: &World) -> f32 {
    let mut cells = std::collections::BTreeMap::<_, (Vec3, f32)>::new();
    for (position, heading, flock) in world.query::<(&Position, &Heading, &Shared<Flock>)>() {
        let cell = flock.cell_of(position.0).to_array();
        let (sum, count) = cells.entry((flock.bits(), cell)).or_default();
        (*sum, *count) = (*sum + heading.0, *count + 1.0);
    }
    let of_cells: Vec<f32> = cells
        .values()
        .filter(|(_, count)| *count >= 5.0)
        .map(|(sum, count)| sum.length() / count)
        .collect();
    of_cells.iter().sum::<f32>() / of_cells.len() as f32
}

#[test]
fn boids_of_a_cell_come_to_fly_as_one() {
    let (first, last) = (run(&SAMPLE, &options(5_000), 0), run(&SAMPLE, &options(5_000), 300));
    assert!(alignment(&first) < 0.5, "{}", alignment(&first));
    assert!(alignment(&last) > 0.8, "{}", alignment(&last));
}

#[test]
fn boids_begin_in_a_ball_and_follow_the_targets() {
    let distance = |world: &World| {
        let targets = world.query_filtered::<&Position, With<Target>>();
        let targets: Vec<_> = targets.iter().map(|position| position.0).collect();
        let boids = world.query_filtered::<&Position, With<Shared<Flock>>>();
        let distances = boids.iter().map(|boid| nearest(boid.0, &targets).distance(boid.0));
        distances.sum::<f32>() / boids.count() as f32
    };
    let first = run(&SAMPLE, &options(2_000), 0);
    let boids = first.query_filtered::<&Position, With<Shared<Flock>>>();
    assert!(boids.iter().all(|boid| boid.0.length() <= 75.0));
    assert!(boids.iter().any(|boid| boid.0.length() > 70.0), "it is filled");
    let (soon, late) = (run(&SAMPLE, &options(2_000), 1), run(&SAMPLE, &options(2_000), 600));
    assert!(distance(&late) < distance(&soon), "{} {}", distance(&late), distance(&soon));
}

#[test]
fn boids_keep_their_speed_and_stay_finite() {
    let world = run(&SAMPLE, &options(2_000), 200);
    for (position, heading) in world.query::<(&Position, &Heading)>() {
        assert!(position.0.is_finite() && (heading.0.length() - 1.0).abs() < 1e-4);
    }
    assert_eq!(world.query::<&Shared<Flock>>().count(), 2_000);
}

#[test]
fn boids_go_as_far_as_their_flock_is_fast() {
    let mut world = run(&SAMPLE, &options(500), 10);
    let places = |world: &World| -> Vec<(Vec3, Flock)> {
        let boids = world.query::<(&Position, &Shared<Flock>)>();
        boids.iter().map(|(position, flock)| (position.0, *flock)).collect()
    };
    let before = places(&world);
    go_on(&mut world, 1);
    for ((before, flock), (after, _)) in before.into_iter().zip(places(&world)) {
        // 25 and 32 units per second.
        let expected = if flock == Flock::CALM { 25.0 / 60.0 } else { 32.0 / 60.0 };
        assert!((before.distance(after) - expected).abs() < 1e-4);
    }
}

#[test]
fn a_cell_knows_its_boids_and_what_is_nearest_to_their_middle() {
    let mut world = World::new("Test");
    world.insert_resource(Flights::default());
    world.add_system(summarise_cells);
    let mut boid = |x: f32, y: f32, heading: Vec3, flock: Flock| {
        world.spawn((Position(Vec3::new(x, y, 1.0)), Heading(heading), Shared::new(flock)))
    };
    // Three boids in one cell, which is eight wide. One boid in the next cell. One boid that shares its cell only with
    // another flock.
    boid(1.0, 1.0, Vec3::X, Flock::CALM);
    boid(3.0, 1.0, Vec3::Y, Flock::CALM);
    boid(5.0, 4.0, Vec3::X, Flock::CALM);
    boid(-1.0, 1.0, Vec3::Z, Flock::CALM);
    boid(2.0, 2.0, Vec3::Z, Flock::WILD);
    // 16 and 15 units from the middle of the three, although the first boid is nearer to the first target.
    let targets = [Vec3::new(-13.0, 2.0, 1.0), Vec3::new(18.0, 2.0, 1.0)];
    let obstacles = [Vec3::new(3.0, 2.0, 31.0), Vec3::new(3.0, 2.0, -30.0)];
    world.spawn_batch(targets.map(|place| (Target, Position(place))));
    world.spawn_batch(obstacles.map(|place| (Obstacle, Position(place))));
    world.update(0.01);
    world.jobs().complete_everything();

    let flights = &world.resource::<Flights>().0;
    let cells = |flock: Flock| {
        let flight = flights.iter().find(|flight| flight.flock == flock).unwrap();
        flight.cells.get().unwrap()
    };
    assert_eq!((flights.len(), cells(Flock::CALM).len(), cells(Flock::WILD).len()), (2, 2, 1));
    let cell = cells(Flock::CALM).get(&IVec3::ZERO).unwrap();
    assert_eq!(cell.positions / cell.count, Vec3::new(3.0, 2.0, 1.0));
    assert_eq!((cell.count, cell.headings), (3.0, Vec3::new(2.0, 1.0, 0.0)));
    assert_eq!((cell.target, cell.obstacle), (targets[1], obstacles[0]));
    let next = cells(Flock::CALM).get(&IVec3::new(-1, 0, 0)).unwrap();
    assert_eq!((next.count, next.headings), (1.0, Vec3::Z));
    let wild = cells(Flock::WILD).get(&IVec3::ZERO).unwrap();
    assert_eq!((wild.count, wild.positions), (1.0, Vec3::new(2.0, 2.0, 1.0)));
}

#[test]
fn boids_keep_apart_align_and_seek_by_their_weights() {
    // Two boids in a cell: one here, flying to +z, and one at +x, flying to +x. Target and obstacle are far above.
    let cell = Cell {
        count: 2.0,
        positions: Vec3::X * 2.0,
        headings: Vec3::X + Vec3::Z,
        target: Vec3::Y * 100.0,
        obstacle: Vec3::splat(1000.0),
    };
    let only = |separation, alignment, target| {
        let flock = Flock { separation, alignment, target, ..Flock::CALM };
        flock.steered(Vec3::ZERO, Vec3::Z, &cell, 0.5)
    };
    let halfway_to = |wanted: Vec3| (Vec3::Z + (wanted - Vec3::Z) * 0.5).normalize();
    let close = |a: Vec3, b: Vec3| a.distance(b) < 1e-5;
    // Separation points away from the other boid, alignment along the mean heading, and the last weight to the target.
    assert!(close(only(1.0, 0.0, 0.0), halfway_to(Vec3::NEG_X)));
    assert!(close(only(0.0, 1.0, 0.0), halfway_to((Vec3::X - Vec3::Z).normalize())));
    assert!(close(only(0.0, 0.0, 1.0), halfway_to(Vec3::Y)));
    let both = Vec3::new(-1.0, 2.0, 0.0).normalize();
    assert!(close(only(1.0, 0.0, 2.0), halfway_to(both)));
}

#[test]
fn boids_shy_away_from_an_obstacle_and_turn_slowly() {
    let cell = Cell {
        count: 1.0,
        positions: Vec3::ZERO,
        headings: Vec3::X,
        target: Vec3::X * 100.0,
        obstacle: Vec3::X * 5.0,
    };
    let heading = Flock::CALM.steered(Vec3::ZERO, Vec3::Y, &cell, 0.1);
    assert!(heading.x < 0.0, "away from it, although the target is behind it");
    let far = Cell { obstacle: Vec3::X * 1000.0, ..cell };
    let heading = Flock::CALM.steered(Vec3::ZERO, Vec3::Y, &far, 0.1);
    assert!(heading.x > 0.0 && heading.y > 0.9);
}

#[test]
fn the_state_is_the_same_in_all_cases() {
    hash(&SAMPLE, 3_000, 20);
}
