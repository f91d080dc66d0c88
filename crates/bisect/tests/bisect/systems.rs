//! Order of systems, errors of systems, and runs that end early.

use std::sync::Mutex;

use ancho_bisect::{Bisection, BisectionError, Difference, DivergedAt};
use ancho_entities::{
    Component, EndSimulation, IntoSystem, Presentation, Query, QueryDescriptor, System,
    SystemResult, With, World,
};

use super::{parted, world};

#[derive(Component, Clone, Copy)]
#[component(name = "Count")]
struct A(u8);

#[derive(Component, Clone, Copy)]
struct Fuel;

#[test]
fn a_system_that_runs_in_one_run_only_is_found() {
    let found = parted(|differs| {
        let mut world = World::new("w");
        world.add_system((|| ()).named("think"));
        world.add_system((|| ()).named("act").enabled(!differs));
        world.add_system((|| ()).named("rest"));
        world
    });
    assert_eq!((found.frame, &found.at), (0, &DivergedAt::System("think".into())));
    let expected = "A0075: the runs diverge in frame 0, after system `think`: the first run continues after system \
                    `act`, the second after system `rest`\n  worlds: `w` and `w`";
    assert_eq!(found.to_string(), expected);
}

#[test]
fn an_error_in_one_run_only_is_found() {
    let error = parted(|differs| {
        let mut world = World::new("w");
        let mut turn = 0;
        let fails = move || {
            turn += 1;
            if differs && turn == 4 { Err("no fuel") } else { Ok(()) }
        };
        world.add_system(fails.named("engine"));
        world
    });
    let expected = "A0075: the runs diverge in frame 3, after system `engine`: the first run reports nothing, the \
                    second \"A0106: system `engine` failed: no fuel\"\n  worlds: `w` and `w`";
    assert_eq!(error.to_string(), expected);

    let panic = parted(|differs| {
        let mut world = World::new("w");
        world.add_system((move || assert!(!differs, "out of luck")).named("gamble"));
        world
    });
    assert_eq!(panic.at, DivergedAt::System("gamble".into()));
    assert!(panic.to_string().contains("A0105: system `gamble` panicked: out of luck"), "{panic}");

    let job = parted(|differs| {
        let mut world = world("w", 1);
        world.spawn_many(A(1), 100);
        let work = move |all: Query<&mut A>| {
            all.job().named("work").schedule_parallel(move |_| assert!(!differs, "oh"));
        };
        world.add_system(work.named("works"));
        world
    });
    assert_eq!(job.at, DivergedAt::System("works".into()));
    assert!(matches!(&job.difference, Difference::Faults { told } if told[0].is_empty()), "{job}");
}

#[test]
fn an_error_in_both_runs_is_no_difference() {
    let make = |name: &'static str| {
        move || {
            let mut world = World::new(name);
            let mut turn = 0;
            let fails = move || {
                turn += 1;
                if turn % 2 == 0 { Err(format!("turn of {name}")) } else { Ok(()) }
            };
            world.add_system(fails.named("engine"));
            world
        }
    };
    Bisection::of(make("first")).against(make("second")).frames(10).assert_same();
}

#[test]
fn different_commands_are_found_at_their_playback() {
    struct Spawner(bool);

    impl System for Spawner {
        fn on_update(&mut self, world: &mut World) -> SystemResult {
            world.commands_at::<EndSimulation>()?.commands()?.spawn(A(u8::from(self.0)));
            Ok(())
        }
    }

    let found = parted(|differs| {
        let mut world = World::new("w");
        world.add_system(Spawner(differs));
        world
    });
    assert_eq!(found.at, DivergedAt::System("EndSimulation".into()));
    assert!(
        found.to_string().contains("`Count` `0` of entity 0v1 is 0 in the first, 1"),
        "{found}"
    );
}

#[test]
fn systems_updated_by_systems_are_compared() {
    let found = parted(|differs| {
        let mut world = World::new("w");
        world.spawn(A(0));
        let inner = move |mut all: Query<&mut A>| all.for_each(|a| a.0 += u8::from(differs));
        let inner = world.add_system(inner.named("inner").enabled(false));
        let outer = move |world: &mut World| {
            world.set_system_enabled(inner, true)?;
            world.update_system(inner).expect("it works");
            world.set_system_enabled(inner, false)
        };
        world.add_system(outer.named("outer"));
        world
    });
    assert_eq!(found.at, DivergedAt::System("inner".into()));
}

#[test]
fn a_driver_that_panics_in_one_run_only_is_found() {
    let make = |name: &'static str| move || World::new(name);
    let found = Bisection::of(make("first"))
        .against(make("second"))
        .drive(|world, frame| {
            world.update(0.1);
            assert!(frame < 3 || world.name() == "second", "no more input");
        })
        .run();
    let expected = "A0075: the runs diverge in frame 3, before the first system: the driver of the first run panicked, \
                    the other did not: no more input\n  worlds: `first` and `second`";
    assert_eq!(found.unwrap().unwrap().to_string(), expected);
}

#[test]
fn a_world_that_cannot_be_created_in_one_run_only_is_found() {
    let found = Bisection::of(|| panic!("no disk")).against(|| World::new("second")).run();
    let found = found.unwrap().unwrap();
    assert_eq!(found.at, DivergedAt::Made);
    assert!(found.to_string().contains("the first run panicked, the other did not: no disk"));
}

#[test]
fn a_driver_that_panics_in_both_runs_is_reported() {
    let run =
        Bisection::of(|| World::new("w")).drive(|_, frame| assert!(frame < 2, "frame {frame}"));
    let error = run.run().unwrap_err();
    assert!(matches!(error, BisectionError::Panicked { frame: 2, .. }));
    let expected = "A0089: both runs panicked in frame 2, and were equal until then: frame 2; the code that updates \
                    the worlds must not panic";
    assert_eq!(error.to_string(), expected);
}

static KEPT: Mutex<Vec<World>> = Mutex::new(Vec::new());

#[test]
fn a_world_that_the_driver_replaces_is_not_waited_for() {
    let found = Bisection::of(|| World::new("first"))
        .against(|| World::new("second"))
        .frames(4)
        .drive(|world, frame| {
            if frame == 1 && world.name() == "second" {
                // The world is moved away and stays alive, but is never compared again.
                KEPT.lock().unwrap().push(std::mem::replace(world, World::new("third")));
            }
            world.update(0.1);
        });
    let found = found.run().unwrap().unwrap();
    assert!(matches!(found.difference, Difference::Order { .. }), "{found}");
    assert_eq!((found.frame, found.at), (0, DivergedAt::EndOfFrame));
}

#[test]
fn changes_of_lifecycle_calls_are_found_at_the_next_step() {
    /// A system that runs once: its update removes the fuel that it requires.
    struct Guard(bool);

    impl System for Guard {
        fn on_update(&mut self, world: &mut World) -> SystemResult {
            world.batch(QueryDescriptor::of::<(), With<Fuel>>()).remove::<Fuel>()?;
            Ok(())
        }

        fn on_stop_running(&mut self, world: &mut World) -> SystemResult {
            world.spawn(A(u8::from(self.0)));
            Ok(())
        }
    }

    let found = parted(|differs| {
        let mut world = World::new("w");
        world.spawn(Fuel);
        world.add_system(Guard(differs).require(QueryDescriptor::of::<&Fuel, ()>()));
        world.add_system((|| ()).named("draw").in_group(Presentation));
        world
    });
    assert_eq!((found.frame, found.at), (1, DivergedAt::System("EndSimulation".into())));
}
