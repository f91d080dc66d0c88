//! Jobs that fail are reported with the system that scheduled them.

use ancho_entities::{Entity, IntoSystem, Query, System, SystemResult, World};

use crate::systems::common::{A, Log, say, take, world};
use crate::systems::trace::{Trace, noting};

#[test]
fn a_failing_job_is_reported_with_its_system() {
    let trace = Trace::default();
    let mut world = World::new("Simulation");
    world.spawn_many(A(1), 10);
    let dies = |mut all: Query<&mut A>| {
        all.schedule_parallel(|_| panic!("in a job"));
    };
    world.add_system(dies.named("dies"));
    world.add_system(noting(&trace, "other"));
    let mut told = String::new();
    // The failure is reported in this update, or at the beginning of the next one at the latest.
    for _ in 0..2 {
        if let Err(errors) = world.try_update(0.1) {
            told = errors.to_string();
        }
    }
    assert!(told.contains("A0107: a job of system `dies` failed"), "{told}");
    assert!(told.contains("in a job"), "{told}");
    assert_eq!(trace.take(), "other other");
}

#[test]
fn failures_between_updates_are_reported_by_the_next_one() {
    let mut world = World::new("test");
    world.spawn(A(1));
    world.add_system(|mut all: Query<&mut A>| _ = all.schedule(|_| panic!("by zero")));
    world.try_update(0.1).unwrap();
    world.complete_jobs();
    let errors = world.try_update(0.1).unwrap_err().to_string();
    assert!(errors.contains("by zero"), "{errors}");
}

#[test]
fn a0107_names_a_struct_system_after_function_systems() {
    #[derive(Default)]
    struct Scheduler;

    impl System for Scheduler {
        fn on_update(&mut self, world: &mut World) -> SystemResult {
            let job = world.query_mut::<Entity>().job().named("Divide");
            job.schedule(|_| panic!("by zero"));
            Ok(())
        }
    }

    let mut world = world();
    world.spawn(A(0));
    world.add_system(|| {});
    world.add_system(Scheduler.named("scheduler"));
    world.try_update(0.1).unwrap();
    let message = world.try_update(0.1).unwrap_err().to_string();
    assert!(message.starts_with("A0107: a job of system `scheduler` failed: "), "{message}");
}

#[test]
fn a0109_a_system_that_is_updated_alone_cannot_update_the_world() {
    let mut world = world();
    world.spawn(A(1));
    world.add_system(say("other"));
    let id = world.add_system(
        (|world: &mut World| {
            let told = world.try_update(0.1).unwrap_err().to_string();
            world.resource_mut::<Log>().0.push(told);
            // The jobs still belong to the outer system.
            let job = world.query_mut::<&mut A>().schedule(|_| panic!("in the job"));
            let _ = job;
        })
        .named("outer"),
    );
    world.update_system(id).unwrap();
    let told = "A0109: `test` is being updated; wait until its update returns";
    assert_eq!(take(&mut world), [told]);
    assert_eq!(world.time().frame(), 0);
    world.set_system_enabled(id, false).unwrap();
    let errors = world.try_update(0.1).unwrap_err().to_string();
    assert!(errors.starts_with("A0107: a job of system `outer` failed: "), "{errors}");
}

#[test]
fn a0107_names_systems_that_were_removed() {
    let mut world = world();
    world.spawn(A(1));
    let mut frame = 0;
    let id = world.add_system(
        (move |mut all: Query<&mut A>| {
            frame += 1;
            all.schedule(move |_| panic!("in job {frame}"));
        })
        .named("miner"),
    );
    world.try_update(0.1).unwrap();
    world.update_system(id).unwrap();
    world.remove_system(id).unwrap();
    // Another system reuses the slot, and is not blamed.
    world.add_system(say("other").named("other"));
    let errors = world.try_update(0.1).unwrap_err();
    let told: Vec<_> = errors.iter().map(|error| error.to_string()).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    for (line, job) in told.iter().zip(["in job 1", "in job 2"]) {
        assert!(line.starts_with("A0107: a job of system `miner` failed: A0011: "), "{line}");
        assert!(line.contains(job), "{line}");
    }
    world.try_update(0.1).unwrap();
}

#[test]
fn a0107_names_a_system_that_removes_itself() {
    let mut world = world();
    world.spawn(A(1));
    world.add_system(
        (|world: &mut World| {
            let own = world.executing_system().unwrap();
            let _ = world.query_mut::<&mut A>().schedule(|_| panic!("last words"));
            world.remove_system(own).unwrap();
        })
        .named("miner"),
    );
    world.try_update(0.1).unwrap();
    let told = world.try_update(0.1).unwrap_err().to_string();
    assert!(told.starts_with("A0107: a job of system `miner` failed: "), "{told}");
}
