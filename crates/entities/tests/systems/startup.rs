//! The group of systems that run once.

use ancho_entities::{
    Commands, FixedStep, Initialization, IntoSystem, IntoSystems, Query, Res, ResMut, Resource,
    Root, Startup, System, SystemResult, World,
};

use crate::common::{A, Log, say, take, world};

fn update(world: &mut World) -> Vec<String> {
    world.update(0.1);
    take(world)
}

#[test]
fn startup_systems_run_once_before_all_others() {
    let mut world = world();
    world.add_system(say("root").in_group(Root).first());
    world.add_system(say("initialization").in_group(Initialization));
    world.add_systems((say("one"), say("two")).chain().in_group(Startup));
    assert_eq!(update(&mut world), ["one", "two", "root", "initialization"]);
    assert_eq!(update(&mut world), ["root", "initialization"]);
}

#[test]
fn startup_systems_run_before_the_first_of_several_steps() {
    for (seconds, steps) in [(0.0, 1), (0.25, 3)] {
        let mut world = world();
        world.add_system(say("step").in_group(FixedStep));
        world.set_timestep(FixedStep, 0.125).unwrap();
        world.add_system(say("startup").in_group(Startup));
        world.update(seconds);
        let lines = take(&mut world);
        assert_eq!(lines[0], "startup");
        assert_eq!(lines.len(), 1 + steps);
    }
}

#[test]
fn their_commands_are_played_before_other_systems_run() {
    let mut world = world();
    let spawn = |mut commands: Commands<'_>| {
        commands.spawn(A(1));
    };
    world.add_system(spawn.in_group(Startup));
    world.add_system(
        (|all: Query<'_, &A>, mut log: ResMut<'_, Log>| log.0.push(all.count().to_string()))
            .in_group(Initialization),
    );
    assert_eq!(update(&mut world), ["1"]);
}

#[test]
fn a_startup_system_that_is_added_later_runs_once_in_the_next_update() {
    let mut world = world();
    world.add_system(say("one").in_group(Startup));
    assert_eq!(update(&mut world), ["one"]);
    world.add_system(say("two").named("two").in_group(Startup));
    assert_eq!(update(&mut world), ["two"]);
    world.add_system(say("three").in_group(Startup).after("two"));
    assert_eq!(update(&mut world), ["three"]);
    assert!(update(&mut world).is_empty());
}

#[test]
fn a_startup_system_can_add_another_one() {
    let mut world = world();
    let add = |world: &mut World| {
        world.add_system(say("added").in_group(Startup));
    };
    world.add_system(add.in_group(Startup));
    assert!(update(&mut world).is_empty());
    assert_eq!(update(&mut world), ["added"]);
    assert!(update(&mut world).is_empty());
}

#[test]
fn a_failing_startup_system_is_not_repeated() {
    #[derive(Resource, Clone)]
    struct Missing;
    let mut world = world();
    world.add_system((|| Err::<(), _>("no file")).in_group(Startup));
    world.add_system((|| panic!("no memory")).in_group(Startup));
    world.add_system((|_: Res<'_, Missing>| ()).in_group(Startup));
    world.add_system(say("other").in_group(Startup));
    let errors = world.try_update(0.1).unwrap_err();
    assert_eq!(errors.iter().len(), 3, "{errors}");
    assert_eq!(take(&mut world), ["other"]);
    world.try_update(0.1).unwrap();
    assert!(world.check_invariants().is_ok());
}

#[test]
fn a_startup_system_waits_for_its_condition() {
    #[derive(Resource, Clone)]
    struct Settings;
    let mut world = world();
    world.add_system(
        say("load").in_group(Startup).run_if(ancho_entities::resource_exists::<Settings>),
    );
    assert!(update(&mut world).is_empty());
    world.insert_resource(Settings);
    assert_eq!(update(&mut world), ["load"]);
    assert!(update(&mut world).is_empty());
}

#[test]
fn a_rollback_does_not_repeat_startup() {
    let mut world = world();
    world.add_system(say("startup").in_group(Startup));
    let mut before = world.fork().unwrap();
    assert_eq!(update(&mut world), ["startup"]);
    let mut after = world.fork().unwrap();
    for snapshot in [&mut before, &mut after] {
        world.restore(snapshot).unwrap();
        assert!(update(&mut world).is_empty());
    }
}

#[test]
fn a_struct_of_the_group_starts_runs_and_stops() {
    struct Traced;
    impl Traced {
        fn log(world: &mut World, line: &str) -> SystemResult {
            world.resource_mut::<Log>().0.push(line.to_owned());
            Ok(())
        }
    }
    impl System for Traced {
        fn on_start_running(&mut self, world: &mut World) -> SystemResult {
            Self::log(world, "start")
        }

        fn on_update(&mut self, world: &mut World) -> SystemResult {
            Self::log(world, "update")
        }

        fn on_stop_running(&mut self, world: &mut World) -> SystemResult {
            Self::log(world, "stop")
        }
    }
    let mut world = world();
    world.add_system(Traced.in_group(Startup));
    assert_eq!(update(&mut world), ["start", "update", "stop"]);
    assert!(update(&mut world).is_empty());
}
