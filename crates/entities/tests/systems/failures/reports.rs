//! Error reports, while the other systems run.

use ancho_entities::{
    Commands, Entity, IntoSystem, ParamSet, Query, Res, Single, System, SystemFault, SystemResult,
    World,
};

use crate::common::{A, Number, Shared, say, take, world};

#[test]
fn panics_and_errors_of_one_system_do_not_stop_the_others() {
    let mut world = world();
    world.add_system(say("first"));
    world.add_system((|| panic!("boom")).named("bad"));
    world.add_system((|| Err::<(), _>("no fuel")).named("worse"));
    world.add_system(say("last"));
    for _ in 0..2 {
        let errors = world.try_update(0.1).unwrap_err();
        assert_eq!(
            errors.to_string(),
            "A0105: system `bad` panicked: boom\nA0106: system `worse` failed: no fuel"
        );
        assert!(matches!(errors.iter().next().unwrap().fault(), SystemFault::Panicked { .. }));
    }
    assert_eq!(take(&mut world), ["first", "last", "first", "last"]);
    assert_eq!(world.executing_system(), None);
}

#[test]
fn a0103_names_a_missing_resource() {
    let mut world = world();
    world.add_system((|_: Res<Number>| {}).named("reader"));
    assert_eq!(
        world.try_update(0.1).unwrap_err().to_string(),
        "A0103: system `reader` was not run, because the world has no resource `systems::common::Number`; insert it with `insert_resource`, or take \
         an `Option` of it"
    );
    world.insert_resource(Number(1));
    world.try_update(0.1).unwrap();
}

#[test]
fn a0104_reports_the_count_of_a_singleton() {
    let mut world = world();
    world.add_system((|_: Single<&A>| {}).named("reader"));
    assert_eq!(
        world.try_update(0.1).unwrap_err().to_string(),
        "A0104: system `reader` was not run, because `Single<&systems::fixtures::components::A>` matches no entity; make it wait \
         with `require`, or take an `Option` of it"
    );
    world.spawn(A(1));
    world.try_update(0.1).unwrap();
    world.spawn_many(A(1), 2);
    assert_eq!(
        world.try_update(0.1).unwrap_err().to_string(),
        "A0104: system `reader` was not run, because `Single<&systems::fixtures::components::A>` matches 3 entities instead of one; \
         despawn the others, or take a `Query`"
    );
}

#[test]
fn commands_of_a_system_that_fails_are_not_applied() {
    let mut world = world();
    let mut runs = 0;
    world.add_system(move |mut commands: Commands| {
        commands.spawn(A(1));
        runs += 1;
        assert!(runs != 1, "the first time");
    });
    assert!(world.try_update(0.1).is_err());
    assert_eq!(world.entity_count(), 0);
    world.try_update(0.1).unwrap();
    assert_eq!(world.entity_count(), 1);
    world.check_invariants().unwrap();
}

#[test]
fn commands_that_fail_are_reported_with_the_system() {
    let mut world = world();
    let never = Entity::from_parts(500, 1);
    world.add_system((move |mut commands: Commands| commands.add(never, A(2))).named("late"));
    world.add_system(say("after"));
    assert_eq!(
        world.try_update(0.1).unwrap_err().to_string(),
        "A0078: not all commands of system `late` were applied: command 1 of 1 failed, `add `game::A` to 500v1`; the other \
         commands were applied: A0050: entity 500v1 does not exist: this world has not created it; check whether it belongs \
         to another world"
    );
    assert_eq!(take(&mut world), ["after"]);
}

#[test]
fn a_handler_gets_errors_in_order() {
    let (log, mut world) = (Shared::default(), world());
    let errors = log.clone();
    world.set_error_handler(move |error| errors.push(format!("{}: {error}", error.system())));
    world.add_system((|| Err::<(), _>("one")).named("a"));
    world.add_system((|| Err::<(), _>("two")).named("b"));
    world.update(0.1);
    world.update(-1.0);
    let told = log.take();
    assert_eq!(told[..2], ["a: A0106: system `a` failed: one", "b: A0106: system `b` failed: two"]);
    assert!(told[2].starts_with("test: A0120: "), "{told:?}");
}

#[test]
fn a_thousand_frames_of_failures_leave_nothing_behind() {
    struct Careless;

    impl System for Careless {
        fn on_update(&mut self, world: &mut World) -> SystemResult {
            let entity = world.spawn(A(1));
            world.despawn(entity)?;
            Err("again".into())
        }
    }

    let (log, mut world) = (Shared::default(), world());
    let errors = log.clone();
    world.set_error_handler(move |_| errors.push(""));
    world.add_system(Careless);
    world.add_system(|_: Query<Entity>, mut commands: Commands| {
        commands.spawn(A(1));
        std::panic::resume_unwind(Box::new(7_u32));
    });
    for _ in 0..1_000 {
        world.update(0.001);
    }
    assert_eq!((log.take().len(), world.entity_count()), (2_000, 0));
    world.check_invariants().unwrap();
}

#[test]
fn a0078_reports_both_buffers_of_one_function() {
    let mut world = world();
    let [first, second] = [500, 501].map(|index| Entity::from_parts(index, 1));
    let late = move |mut one: Commands, mut two: Commands, mut three: Commands| {
        one.add(first, A(2));
        two.spawn(A(3));
        three.add(second, A(2));
    };
    world.add_system(late.named("late"));
    let in_set = move |mut set: ParamSet<(Commands, Commands)>| {
        set.p0().add(first, A(2));
        set.p1().add(second, A(2));
    };
    world.add_system(in_set.named("in a set"));
    for profiled in [false, true] {
        world.profile_systems(profiled);
        let errors = world.try_update(0.1).unwrap_err();
        let told: Vec<_> = errors.iter().map(|error| error.to_string()).collect();
        assert_eq!(told.len(), 4, "{told:?}");
        let names = ["late", "late", "in a set", "in a set"];
        for ((line, entity), name) in told.iter().zip([first, second, first, second]).zip(names) {
            let begins = format!("A0078: not all commands of system `{name}`");
            assert!(line.starts_with(&begins), "{line}");
            assert!(line.contains(&format!("entity {entity} ")), "{line}");
        }
    }
    assert_eq!(world.entity_count(), 2);
}

/// Runs the test with this name in a process whose standard error has no reader. Returns whether this is that process.
fn in_process_without_reader(test: &str) -> bool {
    const KEY: &str = "ANCHO_TEST_WITHOUT_READER";
    if std::env::var_os(KEY).is_some() {
        return true;
    }
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env(KEY, "1").stderr(writer);
    let ended = command.stdout(std::process::Stdio::null()).status().unwrap();
    assert!(ended.success(), "{ended}");
    false
}

#[test]
fn errors_that_cannot_be_printed_do_not_stop_the_program() {
    if !in_process_without_reader("errors::errors_that_cannot_be_printed_do_not_stop_the_program") {
        return;
    }
    let mut world = world();
    world.add_system(|| Err::<(), _>("no fuel"));
    world.add_system(say("after"));
    world.update(0.1);
    assert_eq!(take(&mut world), ["after"]);
}
