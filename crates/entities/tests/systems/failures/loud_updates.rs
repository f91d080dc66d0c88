//! `update` panics with the errors of its systems, unless there is a handler.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use ancho_entities::{
    Commands, CommandsAt, EndSimulation, FixedStep, IntoSystem, Local, Query, Res, ResMut, Single,
    System, SystemGroup, SystemResult, World,
};

use crate::common::{A, B, Number, Shared, say, take, world};
use crate::fixtures::panic_place::panics_of;

/// Returns the repeats of the only error of an update.
fn repeats(world: &mut World) -> u64 {
    let errors = world.try_update(0.1).unwrap_err();
    let mut errors = errors.iter();
    let error = errors.next().unwrap();
    assert!(errors.next().is_none());
    error.repeats()
}

#[test]
#[should_panic(expected = "A0105: system `test` panicked: assertion failed: holds")]
fn a_failed_assertion_of_a_system_fails_the_test() {
    let mut world = world();
    let holds = false;
    world.add_system((move || assert!(holds)).named("test"));
    world.update(0.1);
}

#[test]
fn an_update_panics_with_all_errors_at_the_line_of_its_caller() {
    let mut world = world();
    world.add_system((|| Err::<(), _>("no fuel")).named("engine"));
    world.add_system(say("between"));
    world.add_system((|_: Res<Number>| ()).named("reader"));
    world.add_system(say("last"));
    let mut line = 0;
    let panics = panics_of(|| {
        line = line!() + 1;
        world.update(0.1);
    });
    let [panic] = &panics[..] else { panic!("{panics:?}") };
    assert_eq!((&*panic.file, panic.line), (file!(), line));
    assert_eq!(
        panic.message,
        "A0106: system `engine` failed: no fuel\nA0103: system `reader` was not run, because the world has no resource \
         `systems::common::Number`; insert it with `insert_resource`, or take an `Option` of it"
    );
    assert_eq!(take(&mut world), ["between", "last"]);
    assert_eq!((world.executing_system(), world.time().elapsed()), (None, 0.1));
    world.check_invariants().unwrap();
}

#[test]
fn a_world_continues_after_an_update_that_panicked() {
    let mut world = world();
    let mut runs = 0;
    world.add_system(move |mut commands: Commands| {
        runs += 1;
        commands.spawn(A(runs));
        assert!(runs != 2, "the second time");
    });
    world.update(0.1);
    assert!(catch_unwind(AssertUnwindSafe(|| world.update(0.1))).is_err());
    world.update(0.1);
    let values: Vec<u32> = world.query::<&A>().iter().map(|a| a.0).collect();
    assert_eq!(values, [1, 3]);
    assert_eq!(world.time().elapsed(), 0.1 + 0.1 + 0.1);
}

#[test]
fn errors_of_the_update_itself_panic_too() {
    let mut world = world();
    let panics = panics_of(|| world.update(f64::NAN));
    assert!(panics[0].message.starts_with("A0120: "), "{panics:?}");
    assert_eq!(panics[0].file, file!());
}

#[test]
fn with_a_handler_an_update_returns() {
    let (log, mut world) = (Shared::default(), world());
    let errors = log.clone();
    world.set_error_handler(move |error| {
        assert!(!error.is_warning());
        errors.push(format!("{} {error}", error.repeats()));
    });
    world.add_system((|| Err::<(), _>("no fuel")).named("engine"));
    world.update(0.1);
    world.update(0.1);
    let told = log.take();
    let sentence = "A0106: system `engine` failed: no fuel";
    assert_eq!(told, [format!("1 {sentence}"), format!("2 {sentence}")]);
    // Errors that are returned do not go to the handler.
    assert_eq!(repeats(&mut world), 3);
    assert_eq!(log.take(), [""; 0]);
}

#[test]
fn inside_a_panic_an_update_does_not_panic_again() {
    struct UpdatesWhenDropped(World);

    impl Drop for UpdatesWhenDropped {
        fn drop(&mut self) {
            self.0.update(0.1);
        }
    }

    let (log, mut inner) = (Shared::default(), world());
    let runs = log.clone();
    inner.add_system(
        (move || {
            runs.push("ran");
            Err::<(), _>("no fuel")
        })
        .named("engine"),
    );
    let payload = catch_unwind(AssertUnwindSafe(|| {
        let _updates = UpdatesWhenDropped(inner);
        resume_unwind(Box::new(7_u32));
    }))
    .unwrap_err();
    assert_eq!((payload.downcast_ref::<u32>(), log.take()), (Some(&7), vec!["ran".to_owned()]));
}

#[test]
fn errors_of_a_nested_update_are_kept_for_the_outer_one() {
    let mut world = world();
    world.add_system((|world: &mut World| world.update(0.1)).named("nested"));
    assert_eq!(
        world.try_update(0.1).unwrap_err().to_string(),
        "A0109: `test` is being updated; wait until its update returns"
    );
    let panics = panics_of(|| world.update(0.1));
    assert_eq!(panics.len(), 1, "{panics:?}");
    assert_eq!(panics[0].file, file!());
}

#[test]
fn errors_of_completed_jobs_are_those_of_the_next_update() {
    let mut world = world();
    world.spawn(A(1));
    world.query_mut::<&mut A>().schedule(|_| panic!("in the job"));
    world.complete_jobs();
    let panics = panics_of(|| world.update(0.1));
    assert!(panics[0].message.starts_with("A0107: a job of world `test` failed"), "{panics:?}");
    world.update(0.1);
}

#[test]
fn repeats_count_until_a_run_without_the_error() {
    let mut world = world();
    let mut run = 0;
    let odd = move || {
        run += 1;
        match run {
            4 => Ok(()),
            7 => Err("no ammunition"),
            _ => Err("no fuel"),
        }
    };
    world.add_system(odd);
    assert_eq!([0; 3].map(|_| repeats(&mut world)), [1, 2, 3]);
    world.update(0.1);
    assert_eq!([0; 2].map(|_| repeats(&mut world)), [1, 2]);
    assert_eq!(repeats(&mut world), 1, "another message");
    assert_eq!([0; 3].map(|_| repeats(&mut world)), [1, 2, 3]);
}

#[test]
fn runs_that_are_left_out_do_not_end_a_row() {
    let mut world = world();
    world.add_system((|| Err::<(), _>("no fuel")).named("engine"));
    assert_eq!([0; 2].map(|_| repeats(&mut world)), [1, 2]);
    world.set_system_enabled("engine", false).unwrap();
    (0..5).for_each(|_| world.update(0.1));
    world.set_system_enabled("engine", true).unwrap();
    assert_eq!(repeats(&mut world), 3);
}

#[test]
fn systems_and_kinds_of_errors_are_counted_separately() {
    let mut world = world();
    world.add_system((|| Err::<(), _>("no fuel")).named("a"));
    world.add_system((|| Err::<(), _>("no fuel")).named("b"));
    world.add_system(|_: Res<Number>| ());
    let counts = |world: &mut World| {
        let errors = world.try_update(0.1).unwrap_err();
        errors.iter().map(|error| error.repeats()).collect::<Vec<_>>()
    };
    assert_eq!(counts(&mut world), [1, 1, 1]);
    assert_eq!(counts(&mut world), [2, 2, 2]);
    world.insert_resource(Number(1));
    assert_eq!(counts(&mut world), [3, 3]);
    world.remove_resource::<Number>();
    assert_eq!(counts(&mut world), [4, 4, 1]);
}

#[test]
fn errors_in_several_steps_of_an_update_are_one_row() {
    let mut world = world();
    world.set_timestep(FixedStep, 0.125).unwrap();
    world.add_system((|| Err::<(), _>("no fuel")).in_group(FixedStep));
    let counts = |world: &mut World| {
        let errors = world.try_update(0.25).unwrap_err();
        errors.iter().map(|error| error.repeats()).collect::<Vec<_>>()
    };
    assert_eq!(counts(&mut world), [1, 2, 3]);
    assert_eq!(counts(&mut world), [4, 5]);
}

#[test]
fn errors_of_jobs_are_counted_by_their_system() {
    let mut world = world();
    world.spawn(A(1));
    let mut run = 0;
    world.add_system(move |mut all: Query<&mut A>| {
        run += 1;
        let fails = run != 4;
        all.schedule(move |_| assert!(!fails, "in the job"));
    });
    world.update(0.1);
    assert_eq!([0; 3].map(|_| repeats(&mut world)), [1, 2, 3]);
    world.update(0.1);
    assert_eq!(
        repeats(&mut world),
        1,
        "of the fifth run, since the job of the fourth did not fail"
    );
}

#[test]
fn errors_of_the_world_are_counted() {
    let mut world = world();
    let count = |world: &mut World| {
        let errors = world.try_update(-1.0).unwrap_err();
        errors.iter().next().unwrap().repeats()
    };
    assert_eq!([0; 2].map(|_| count(&mut world)), [1, 2]);
    (0..2).for_each(|_| world.update(0.1));
    assert_eq!(count(&mut world), 1);
}

#[test]
fn messages_that_differ_in_each_run_are_compared_by_code() {
    let mut world = world();
    let mut run = 0;
    world.add_system(move || {
        run += 1;
        Err::<(), _>(format!("in run {run}"))
    });
    assert!((0..100).all(|_| repeats(&mut world) == 1));
    assert_eq!([0; 3].map(|_| repeats(&mut world)), [101, 102, 103]);
}

#[test]
fn a_system_that_stops_on_error_runs_until_its_first_error() {
    struct Careless(Shared);

    impl System for Careless {
        fn on_update(&mut self, _: &mut World) -> SystemResult {
            self.0.push("update");
            Err("no fuel".into())
        }

        fn on_stop_running(&mut self, _: &mut World) -> SystemResult {
            self.0.push("stop");
            Ok(())
        }
    }

    let (log, mut world) = (Shared::default(), world());
    let id = world.add_system(Careless(log.clone()).stop_on_error());
    assert_eq!(repeats(&mut world), 1);
    assert!(!world.is_system_enabled(id).unwrap());
    world.update(0.1);
    world.update(0.1);
    assert_eq!(log.take(), ["update", "stop"]);
    world.set_system_enabled(id, true).unwrap();
    assert!(world.try_update(0.1).is_err());
    world.update(0.1);
    assert_eq!(log.take(), ["update", "stop"]);
}

#[test]
fn a_system_whose_resource_is_missing_stops_too() {
    let mut world = world();
    let id = world.add_system((|_: Res<Number>| ()).stop_on_error());
    assert!(world.try_update(0.1).is_err());
    world.insert_resource(Number(1));
    world.update(0.1);
    assert!(!world.system_info(id).unwrap().running);
}

#[test]
fn a_group_that_stops_on_error_stops_with_the_error_of_a_member() {
    struct Physics;

    impl SystemGroup for Physics {}

    let mut world = world();
    world.add_system(Physics.in_group(FixedStep).stop_on_error());
    world.add_system((|| Err::<(), _>("no fuel")).in_group(Physics));
    world.add_system(say("member").in_group(Physics));
    world.add_system(say("other").in_group(FixedStep));
    world.set_timestep(FixedStep, 0.125).unwrap();
    assert_eq!(world.try_update(0.125).unwrap_err().iter().len(), 1);
    // The first update has two steps.
    assert_eq!(take(&mut world), ["member", "other", "other"]);
    world.update(0.125);
    assert_eq!(take(&mut world), ["other"]);
    world.set_system_enabled(Physics, true).unwrap();
    assert!(world.try_update(0.125).is_err());
}

#[test]
fn a_group_with_a_rate_stops_after_the_step_with_the_error() {
    let mut world = world();
    struct Steps;

    impl SystemGroup for Steps {}

    let rate = ancho_entities::FixedRateCatchUp::new(0.125);
    world.add_system(Steps.rate(rate).stop_on_error());
    world.add_system((|| Err::<(), _>("no fuel")).in_group(Steps));
    world.add_system(say("member").in_group(Steps));
    assert_eq!(world.try_update(0.25).unwrap_err().iter().len(), 1);
    assert_eq!(take(&mut world), ["member"]);
}

#[test]
fn effects_of_a_failed_system_stay_except_commands() {
    let mut world = world();
    world.insert_resource(Number(0));
    world.spawn((A(1), B(1)));
    let fail = |mut a: Query<&mut A>,
                mut b: Query<&mut B>,
                mut number: ResMut<Number>,
                mut commands: Commands,
                mut later: CommandsAt<EndSimulation>| {
        a.iter_mut().for_each(|a| a.0 = 2);
        b.schedule(|b| b.0 = 2);
        number.0 = 2;
        commands.spawn(());
        later.commands().spawn(());
        Err::<(), _>("no fuel")
    };
    let id = world.add_system(fail);
    let before = world.system_info(id).unwrap().last_run;
    assert!(world.try_update(0.1).is_err());
    assert_ne!(world.system_info(id).unwrap().last_run, before, "it counts as run");
    world.complete_jobs();
    assert_eq!((world.entity_count(), world.resource::<Number>().0), (1, 2));
    assert_eq!(world.query::<(&A, &B)>().iter().map(|(a, b)| (a.0, b.0)).next(), Some((2, 2)));
}

#[test]
fn changes_are_not_lost_while_a_parameter_is_missing() {
    let mut world = world();
    let entity = world.spawn(A(1));
    let changed = |all: Query<&A, ancho_entities::Changed<A>>,
                   mut log: ResMut<crate::common::Log>,
                   _: Single<&B>,
                   _: Local<u32>| {
        log.0.push(format!("{} changed", all.iter().count()));
    };
    world.add_system(changed);
    let partner = world.spawn(B(1));
    world.update(0.1);
    assert_eq!(take(&mut world), ["1 changed"]);
    world.despawn(partner).unwrap();
    world.get_mut::<A>(entity).unwrap().0 = 2;
    assert_eq!([0; 2].map(|_| repeats(&mut world)), [1, 2]);
    world.spawn(B(1));
    world.update(0.1);
    world.update(0.1);
    assert_eq!(take(&mut world), ["1 changed", "0 changed"]);
}
