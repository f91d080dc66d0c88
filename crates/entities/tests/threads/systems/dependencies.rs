//! Jobs wait for each other by the data they use, and for nothing else.

use ancho_entities::{
    Changed, Component, EntityManager, IntoSystem, Lookup, Presentation, Query, World,
};

use crate::systems::trace::Trace;

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Position(f64);

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Velocity(f64);

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Sum(f64);

fn accelerate(mut all: Query<&mut Velocity>) {
    all.schedule_parallel(|velocity| velocity.0 += 1.0);
}

fn drift(mut all: Query<(&mut Position, &Velocity)>) {
    all.schedule_parallel(|(position, velocity)| position.0 += velocity.0);
}

fn sum(all: Query<&Position>, mut sums: Query<&mut Sum>) {
    let total = all.iter().map(|position| position.0).sum();
    sums.for_each(|sum| sum.0 = total);
}

#[test]
fn jobs_of_systems_are_ordered_by_their_data() {
    let mut world = World::new("Simulation");
    world.spawn_many((Position(0.0), Velocity(0.0)), 500);
    let result = world.spawn(Sum(0.0));
    world.add_system(accelerate);
    world.add_system(drift.after(accelerate));
    world.add_system(sum.after(drift));
    for frame in 1..=10 {
        world.try_update(0.1).unwrap();
        let expected = 500.0 * f64::from(frame * (frame + 1) / 2);
        assert_eq!(world.get(result), Ok(&Sum(expected)), "{frame}");
    }
}

#[test]
fn writers_wait_for_readers() {
    let mut world = World::new("Simulation");
    world.spawn_many((Position(0.0), Velocity(1.0)), 500);
    // The job reads velocities, which the next system overwrites.
    world.add_system(drift);
    world.add_system(
        (|mut all: Query<&mut Velocity>| all.for_each(|velocity| velocity.0 = 100.0)).after(drift),
    );
    world.try_update(0.1).unwrap();
    world.query::<&Position>().iter().for_each(|position| assert_eq!(position.0, 1.0));
}

#[test]
fn the_main_thread_sees_the_writes_of_jobs() {
    let mut world = World::new("Simulation");
    let one = world.spawn((Position(0.0), Velocity(1.0)));
    world.add_system(drift);
    let trace = Trace::default();
    let noted = trace.clone();
    world.add_system(
        (move |positions: Lookup<&Position>| {
            noted.note(format!("{}", positions.get(one).unwrap().0));
        })
        .after(drift),
    );
    world.try_update(0.1).unwrap();
    world.try_update(0.1).unwrap();
    assert_eq!(trace.take(), "1 2");
    assert_eq!(world.get(one), Ok(&Position(2.0)));
}

#[test]
fn an_exclusive_system_waits_for_all_jobs() {
    let mut world = World::new("Simulation");
    world.spawn_many((Position(0.0), Velocity(1.0)), 100);
    world.add_system(drift);
    world.add_system(
        (|entities: &mut EntityManager| {
            assert!(entities.query::<&Position>().iter().all(|position| position.0 == 1.0));
            entities.despawn_all().unwrap();
        })
        .after(drift),
    );
    world.try_update(0.1).unwrap();
    assert_eq!(world.entity_count(), 0);
    world.try_update(0.1).unwrap();
}

#[test]
fn v_changes_count_since_the_last_run_of_the_system_and_own_writes_do_not() {
    let trace = Trace::default();
    let mut world = World::new("Simulation");
    let one = world.spawn(Position(0.0));
    let noted = trace.clone();
    let looks = move |mut all: Query<&mut Position, Changed<Position>>| {
        let mut count = 0;
        all.for_each(|position| {
            position.0 += 1.0;
            count += 1;
        });
        noted.note(count.to_string());
    };
    world.add_system(looks);
    world.try_update(0.1).unwrap();
    world.try_update(0.1).unwrap();
    world.get_mut::<Position>(one).unwrap().0 = 5.0;
    world.try_update(0.1).unwrap();
    world.try_update(0.1).unwrap();
    assert_eq!(trace.take(), "1 0 1 0");
    assert_eq!(world.get(one), Ok(&Position(6.0)));
}

#[test]
fn writes_of_a_job_are_seen_once_by_other_systems() {
    let trace = Trace::default();
    let mut world = World::new("Simulation");
    world.spawn((Position(0.0), Velocity(1.0)));
    let noted = trace.clone();
    let looks = move |all: Query<&Position, Changed<Position>>| noted.note(all.count().to_string());
    let drifts = world.add_system(drift);
    world.add_system(looks.in_group(Presentation));
    world.try_update(0.1).unwrap();
    world.try_update(0.1).unwrap();
    world.set_system_enabled(drifts, false).unwrap();
    world.try_update(0.1).unwrap();
    world.try_update(0.1).unwrap();
    assert_eq!(trace.take(), "1 1 0 0");
}

#[test]
fn an_update_of_one_world_does_not_complete_jobs_of_another() {
    let mut first = World::new("First");
    let mut second = World::new("Second");
    for world in [&mut first, &mut second] {
        world.spawn_many((Position(0.0), Velocity(1.0)), 100);
        world.add_system(drift);
    }
    for _ in 0..10 {
        first.try_update(0.1).unwrap();
        second.try_update(0.1).unwrap();
    }
    for world in [&first, &second] {
        world.query::<&Position>().iter().for_each(|position| assert_eq!(position.0, 10.0));
    }
    assert_eq!(first.state_hash(), second.state_hash());
}
