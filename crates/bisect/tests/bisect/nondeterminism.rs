//! Programs with the same result on any number of workers, and one without.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use ancho_bisect::{Bisection, Difference, DivergedAt};
use ancho_entities::{CommandsAt, Component, EndSimulation, Entity, IntoSystem, Query, World};
use ancho_jobs::ExecutionMode;

use super::world;

#[derive(Component, Clone, Copy)]
#[component(name = "Height")]
struct Height(f32);

#[derive(Component, Clone, Copy)]
#[component(name = "Age")]
struct Age(u32);

#[derive(Component, Clone, Copy)]
#[component(name = "Ticket")]
struct Ticket(u32);

/// Returns a world with many kinds of work, whose results do not depend on the thread.
fn orderly(workers: usize, mode: ExecutionMode) -> World {
    let mut world = world("orderly", workers);
    world.jobs().set_mode(mode);
    world.spawn_many((Height(1.0), Age(0)), 3000);
    let grow = |mut all: Query<&mut Height>| {
        all.schedule_parallel(|height| height.0 = (height.0 * 1.01).sqrt() + 0.1);
    };
    let age = |mut all: Query<(Entity, &mut Age)>| {
        all.schedule_parallel(|(entity, age)| age.0 += entity.index() % 7);
    };
    let leave = |mut commands: CommandsAt<EndSimulation>, all: Query<(Entity, &Age)>| {
        let mut commands = commands.commands();
        for (entity, _) in all.iter().filter(|(_, age)| age.0 > 40).take(20) {
            commands.despawn(entity);
            commands.spawn((Height(0.5), Age(0)));
        }
    };
    world.add_system(grow.named("grow"));
    world.add_system(age.named("age"));
    world.add_system(leave.named("leave"));
    world
}

#[test]
fn a_deterministic_program_is_the_same_with_any_number_of_workers() {
    let shuffle = ExecutionMode::Shuffle { seed: 3 };
    for workers in [0, 1, 2, 4] {
        for mode in [ExecutionMode::Parallel, shuffle] {
            Bisection::of(|| orderly(0, ExecutionMode::Serial))
                .against(|| orderly(workers, mode))
                .frames(12)
                .assert_same();
        }
    }
}

#[test]
fn shuffle_mode_finds_a_job_that_depends_on_the_order_of_batches() {
    let make = |mode: ExecutionMode| {
        move || {
            let mut world = world("queue", 0);
            world.jobs().set_mode(mode);
            world.spawn_many(Ticket(0), 20_000);
            let next = Arc::new(AtomicU32::new(0));
            let draw = move |all: Query<&mut Ticket>| {
                let next = Arc::clone(&next);
                all.job().named("draw tickets").schedule_parallel(move |ticket| {
                    ticket.0 = next.fetch_add(1, Ordering::Relaxed);
                });
            };
            world.add_system(draw.named("draw"));
            world
        }
    };
    let shuffled = ExecutionMode::Shuffle { seed: 7 };
    let run = Bisection::of(make(ExecutionMode::Serial)).against(make(shuffled)).frames(5);
    let found = run.run().unwrap().expect("batches take other tickets");
    assert_eq!((found.frame, &found.at), (0, &DivergedAt::System("draw".into())));
    assert_eq!(found.jobs, ["draw tickets"]);
    let Difference::Value { place, field, .. } = &found.difference else { panic!("{found}") };
    assert!(place.differing_chunks > 1 && field == "0", "{found}");
}

#[test]
#[should_panic(
    expected = "A0075: the runs diverge when the worlds were created: entity 0v1 exists in the second alone"
)]
fn an_assertion_tells_what_was_found() {
    let second = || {
        let mut world = World::new("second");
        world.spawn(Age(1));
        world
    };
    Bisection::of(|| World::new("first")).against(second).assert_same();
}
