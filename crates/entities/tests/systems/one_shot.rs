//! One-shot systems and pipes.

use ancho_entities::{
    Changed, Commands, CommandsAt, EndSimulation, Entity, In, IntoSystem, Local, Query, Res,
    ResMut, Resource, SystemHandle, World,
};

use crate::common::{A, B, Log, say, take, world};

fn sum(all: Query<'_, &A>) -> u32 {
    all.iter().map(|a| a.0).sum()
}

#[test]
fn a_function_runs_at_once_and_returns_its_output() {
    let mut world = world();
    assert_eq!(world.run_system(sum).unwrap(), 0);
    world.spawn_batch([A(1), A(2)]);
    assert_eq!(world.run_system(sum).unwrap(), 3);
    assert_eq!(world.time().frame(), 0, "no time passes");
}

#[test]
fn the_input_is_the_first_parameter() {
    let mut world = world();
    let entity = world.spawn(A(5));
    let read = |In(entity): In<Entity>, all: Query<'_, &A>| all.get(entity).map(|a| a.0);
    assert_eq!(world.run_system_with(read, entity).unwrap(), Some(5));
    assert_eq!(
        world.run_system_with(|In(text): In<String>| text.len(), "four".to_owned()).unwrap(),
        4
    );
}

#[test]
fn a_function_keeps_locals_and_last_run_between_calls() {
    fn count(mut calls: Local<'_, u32>, changed: Query<'_, &A, Changed<A>>) -> (u32, usize) {
        *calls += 1;
        (*calls, changed.count())
    }
    let mut world = world();
    let entity = world.spawn(A(1));
    assert_eq!(world.run_system(count).unwrap(), (1, 1));
    assert_eq!(world.run_system(count).unwrap(), (2, 0));
    world.get_mut::<A>(entity).unwrap().0 = 2;
    assert_eq!(world.run_system(count).unwrap(), (3, 1));
}

#[test]
fn a_registered_closure_has_captures_and_its_own_state() {
    let mut world = world();
    let (mut calls, step) = (0, 10);
    let first = world.register_system(move |In(more): In<u32>| {
        calls += step;
        calls + more
    });
    let second: SystemHandle<(), u32> = world.register_system(move || step);
    assert_eq!(world.run_system_with(first, 1).unwrap(), 11);
    assert_eq!(world.run_system_with(first, 2).unwrap(), 22);
    assert_eq!(world.run_system(second).unwrap(), 10);
}

#[test]
fn commands_are_played_before_the_call_returns() {
    let mut world = world();
    let spawn = |mut commands: Commands<'_>| commands.spawn(A(1));
    world.run_system(spawn).unwrap();
    assert_eq!(world.entity_count(), 1);
    let later = |mut commands: CommandsAt<'_, EndSimulation>| {
        commands.commands().spawn(A(2));
    };
    world.add_system(|| ());
    world.run_system(later).unwrap();
    assert_eq!(world.entity_count(), 1, "commands of a point wait for it");
    world.update(0.1);
    assert_eq!(world.entity_count(), 2);
}

#[test]
fn jobs_are_waited_for_by_a_later_access() {
    let mut world = world();
    let entity = world.spawn(A(1));
    let schedule = |mut all: Query<'_, &mut A>| {
        all.schedule(|a| a.0 += 1);
    };
    world.run_system(schedule).unwrap();
    assert_eq!(world.get::<A>(entity).unwrap().0, 2);
}

#[test]
fn errors_are_returned() {
    #[derive(Resource, Clone)]
    struct Missing;
    let mut world = world();
    let missing = |_: Res<'_, Missing>| ();
    assert!(world.run_system(missing).unwrap_err().to_string().starts_with("A0103: system `"));
    let panics = || panic!("no way");
    let error = world.run_system::<_, _>(move || -> u32 { panics() }).unwrap_err().to_string();
    assert!(error.starts_with("A0105: system `") && error.ends_with("no way"), "{error}");
    let conflict = |_: Query<'_, &mut A>, _: Query<'_, &A>| ();
    assert!(world.run_system(conflict).unwrap_err().to_string().starts_with("A0100: system `"));
    world.update(0.1);
}

#[test]
fn a_returned_result_is_the_output() {
    let mut world = world();
    let fails = || Err::<u32, _>("no fuel");
    assert_eq!(world.run_system(fails).unwrap(), Err("no fuel"));
}

#[test]
fn commands_of_a_call_that_panics_are_discarded() {
    fn spawn_and_panic(mut commands: Commands<'_>, mut calls: Local<'_, u32>) {
        commands.spawn(A(1));
        *calls += 1;
        assert!(*calls > 1, "the first call panics");
    }
    let mut world = world();
    world.run_system(spawn_and_panic).unwrap_err();
    assert_eq!(world.entity_count(), 0);
    world.run_system(spawn_and_panic).unwrap();
    assert_eq!(world.entity_count(), 1);
    assert!(world.check_invariants().is_ok());
}

#[test]
fn a_running_system_cannot_be_called() {
    fn again(world: &mut World) -> String {
        match world.run_system(again) {
            Ok(_) => "it ran".to_owned(),
            Err(error) => error.to_string(),
        }
    }
    let mut world = world();
    let message = world.run_system(again).unwrap();
    assert!(
        message.starts_with("A0109: `") && message.contains("again` is being updated"),
        "{message}"
    );
}

#[test]
fn handles_belong_to_one_world_until_the_system_is_removed() {
    let (mut world, mut other) = (world(), world());
    let handle = world.register_system(|| 1);
    assert!(other.run_system(handle).unwrap_err().to_string().starts_with("A0108: "));
    assert_eq!(world.run_system(handle).unwrap(), 1);
    world.remove_system(handle.id()).unwrap();
    assert!(world.run_system(handle).unwrap_err().to_string().starts_with("A0108: "));
}

#[test]
fn a_removed_function_is_registered_again() {
    fn one() -> u32 {
        1
    }
    let mut world = world();
    assert_eq!(world.run_system(one).unwrap(), 1);
    let id = world.find_system(std::any::type_name_of_val(&one)).unwrap();
    world.remove_system(id).unwrap();
    assert_eq!(world.run_system(one).unwrap(), 1);
}

#[test]
fn one_shot_systems_do_not_run_in_updates() {
    let mut world = world();
    let handle = world.register_system(say("run"));
    world.update(0.1);
    assert!(take(&mut world).is_empty());
    world.run_system(handle).unwrap();
    assert_eq!(take(&mut world), ["run"]);
}

#[test]
fn systems_call_one_shot_systems() {
    let mut world = world();
    let say = world.register_system(|In(line): In<&'static str>, mut log: ResMut<'_, Log>| {
        log.0.push(line.to_owned());
    });
    world.add_system(move |world: &mut World| {
        world.run_system_with(say, "one").unwrap();
        world.run_system_with(say, "two").unwrap();
    });
    world.update(0.1);
    assert_eq!(take(&mut world), ["one", "two"]);
}

#[test]
fn a_pipe_passes_the_output_of_the_first_function() {
    let mut world = world();
    world.spawn(A(3));
    let print = |In(sum): In<u32>, mut log: ResMut<'_, Log>| log.0.push(sum.to_string());
    let id = world.add_system(sum.pipe(print));
    let name = world.system_info(id).unwrap().name;
    assert!(name.contains("one_shot::sum | ") && name.contains("a_pipe_passes"), "{name}");
    world.update(0.1);
    assert_eq!(take(&mut world), ["3"]);
}

#[test]
fn pipes_are_chained_and_run_once() {
    let mut world = world();
    let double = |In(n): In<u32>| n * 2;
    let pipe = (|In(n): In<u32>| n + 1).pipe(double).pipe(|In(n): In<u32>| format!("{n}"));
    assert_eq!(world.run_system_with(pipe, 4).unwrap(), "10");
}

#[test]
fn the_functions_of_a_pipe_may_use_the_same_data() {
    let mut world = world();
    let entity = world.spawn(A(1));
    let write = |mut all: Query<'_, &mut A>| all.for_each(|a| a.0 += 1);
    let write_again = |In(()): In<()>, mut all: Query<'_, &mut A>| all.for_each(|a| a.0 *= 10);
    world.add_system(write.pipe(write_again));
    world.update(0.1);
    assert_eq!(world.get::<A>(entity).unwrap().0, 20);
}

#[test]
fn commands_of_both_functions_are_played_after_the_second_one() {
    let mut world = world();
    let first = |mut commands: Commands<'_>| {
        commands.spawn(A(1));
    };
    let second = |In(()): In<()>,
                  all: Query<'_, &A>,
                  mut commands: Commands<'_>,
                  mut log: ResMut<'_, Log>| {
        log.0.push(all.count().to_string());
        commands.spawn(B(1));
    };
    world.add_system(first.pipe(second));
    world.update(0.1);
    assert_eq!(take(&mut world), ["0"]);
    assert_eq!(world.entity_count(), 2);
}

#[test]
fn a_pipe_does_not_run_if_a_parameter_of_either_function_is_missing() {
    #[derive(Resource, Clone)]
    struct Missing;
    let mut world = world();
    world.add_system(say("first").pipe(|In(()): In<()>, _: Res<'_, Missing>| ()));
    let message = world.try_update(0.1).unwrap_err().to_string();
    assert!(message.starts_with("A0103: system `") && message.contains(" | "), "{message}");
    assert!(take(&mut world).is_empty());
    world.insert_resource(Missing);
    world.try_update(0.1).unwrap();
    assert_eq!(take(&mut world), ["first"]);
}

#[test]
fn the_second_function_receives_the_result_of_the_first_one() {
    let mut world = world();
    let fails = || Err::<u32, _>("no fuel");
    let report = |In(result): In<Result<u32, &'static str>>, mut log: ResMut<'_, Log>| {
        log.0.push(format!("{result:?}"));
        result.map(drop)
    };
    world.add_system(fails.pipe(report));
    let message = world.try_update(0.1).unwrap_err().to_string();
    assert!(
        message.starts_with("A0106: system `") && message.ends_with("failed: no fuel"),
        "{message}"
    );
    assert_eq!(take(&mut world), ["Err(\"no fuel\")"]);
}

#[test]
fn commands_of_a_pipe_that_fails_are_discarded() {
    let mut world = world();
    let spawn = |mut commands: Commands<'_>| {
        commands.spawn(A(1));
    };
    world.add_system(spawn.pipe(|In(()): In<()>| Err::<(), _>("no")));
    assert!(world.try_update(0.1).is_err());
    assert_eq!(world.entity_count(), 0);
}

#[test]
fn pipes_have_options_of_systems() {
    let mut world = world();
    world.add_system(say("after").named("after"));
    let print = |In(n): In<u32>, mut log: ResMut<'_, Log>| log.0.push(n.to_string());
    world.add_system((|| 7).pipe(print).named("pipe").before("after").run_if(|| true));
    world.update(0.1);
    assert_eq!(take(&mut world), ["7", "after"]);
}

#[test]
fn a_command_runs_a_system_at_its_place() {
    let mut world = world();
    let count = world.register_system(
        |In(label): In<&'static str>, all: Query<'_, &A>, mut log: ResMut<'_, Log>| {
            log.0.push(format!("{label} {}", all.count()));
        },
    );
    world.add_system(move |mut commands: Commands<'_>| {
        commands.run_system(count, "before");
        commands.spawn(A(1));
        commands.run_system(count, "after");
    });
    world.update(0.1);
    assert_eq!(take(&mut world), ["before 0", "after 1"]);
}

#[test]
fn a_system_that_queues_itself_runs_again_without_deep_recursion() {
    let mut world = world();
    world.insert_resource(Handle(None));
    let count = world.register_system(
        |In(rest): In<u32>,
         handle: Res<'_, Handle>,
         mut commands: Commands<'_>,
         mut log: ResMut<'_, Log>| {
            if rest > 0 {
                commands.run_system(handle.0.unwrap(), rest - 1);
            } else {
                log.0.push("done".to_owned());
            }
        },
    );
    world.insert_resource(Handle(Some(count)));
    world.run_system_with(count, 100_000).unwrap();
    assert_eq!(take(&mut world), ["done"]);
    world.run_system_with(count, 1).unwrap();
    assert_eq!(take(&mut world), ["done"]);
}

/// The handle of a system that queues itself.
#[derive(Resource)]
#[resource(local)]
struct Handle(Option<SystemHandle<u32, ()>>);

#[test]
fn a_command_with_a_handle_of_another_world_fails() {
    let (mut world, mut other) = (world(), world());
    let handle = other.register_system(|| ());
    world.add_system(
        (move |mut commands: Commands<'_>| commands.run_system(handle, ())).named("caller"),
    );
    let message = world.try_update(0.1).unwrap_err().to_string();
    assert!(message.contains("caller") && message.contains("A0108"), "{message}");
}

#[test]
fn a_system_function_is_called_with_values_made_by_hand() {
    fn grow(
        mut all: Query<'_, &mut A>,
        level: Res<'_, Level>,
        mut log: ResMut<'_, Log>,
        mut runs: Local<'_, u32>,
        mut commands: Commands<'_>,
    ) {
        *runs += 1;
        assert!(level.is_changed() && log.is_changed());
        all.for_each(|a| a.0 += level.0);
        log.0.push("grown".to_owned());
        commands.spawn(B(1));
    }

    let mut world = World::new("test");
    let entity = world.spawn(A(1));
    let (level, mut log, mut runs) = (Level(5), Log::default(), 0);
    world
        .with_params::<(Query<'_, &mut A>, Commands<'_>), _>(|(all, commands)| {
            let (log, runs) = (ResMut::from(&mut log), Local::from(&mut runs));
            grow(all, Res::from(&level), log, runs, commands);
        })
        .unwrap();
    assert_eq!((world.get::<A>(entity).unwrap().0, world.entity_count()), (6, 2));
    assert_eq!((log.0.len(), runs), (1, 1));
    let missing = world.with_params::<Res<'_, Level>, _>(|level| level.0).unwrap_err();
    assert!(missing.to_string().starts_with("A0103: "), "{missing}");
    let conflict = world.with_params::<(Query<'_, &mut A>, Query<'_, &A>), _>(|_| ()).unwrap_err();
    assert!(conflict.to_string().starts_with("A0100: "), "{conflict}");
}

#[test]
fn a_one_shot_system_delivers_events_before_it_returns() {
    use ancho_entities::{Add, On};
    let mut world = world();
    world
        .add_observer(|_: On<'_, Add<A>>, mut log: ResMut<'_, Log>| log.0.push("added".to_owned()));
    world.run_system(|mut commands: Commands<'_>| commands.spawn(A(1))).unwrap();
    assert_eq!(take(&mut world), ["added"]);
    world.with_params::<Commands<'_>, _>(|mut commands| commands.spawn(A(1))).unwrap();
    assert_eq!(take(&mut world), ["added"]);
}

#[derive(ancho_entities::Resource, Clone)]
struct Level(u32);

#[test]
fn one_shot_systems_are_not_part_of_forks_and_rollbacks() {
    let mut world = world();
    let count = world.register_system(|mut calls: Local<'_, u32>| {
        *calls += 1;
        *calls
    });
    assert_eq!(world.run_system(count).unwrap(), 1);
    let mut fork = world.fork().unwrap();
    assert!(fork.run_system(count).unwrap_err().to_string().starts_with("A0108: "));
    assert_eq!(world.run_system(count).unwrap(), 2);
    world.restore(&mut fork).unwrap();
    assert_eq!(world.run_system(count).unwrap(), 3, "the local value stays");
}
