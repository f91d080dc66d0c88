//! Skipped commands are warnings of the systems that recorded them.

use ancho_entities::{
    Commands, CommandsAt, EndSimulation, Entity, IntoSystem, SystemFault, World, WorldSettings,
};

use crate::common::{A, B, Shared};

/// Creates a world with 1,000 entities, of which the first is despawned, and a log of its warnings and errors.
fn world_with_log(strict: bool) -> (World, Vec<Entity>, Shared) {
    let mut world = World::with_settings("test", WorldSettings::new().strict(strict));
    let all: Vec<_> = world.spawn_many(A(1), 1000).collect();
    world.despawn(all[0]).unwrap();
    let log = Shared::default();
    let errors = log.clone();
    world.set_error_handler(move |error| {
        errors.push(match error.fault() {
            SystemFault::SkippedCommands { count, first } => {
                assert!(error.is_warning());
                format!("{}: {count}, {first}", error.system())
            }
            _ => {
                assert!(!error.is_warning());
                error.to_string()
            }
        });
    });
    (world, all, log)
}

#[test]
fn all_skipped_commands_of_a_system_are_one_warning_per_update() {
    let (mut world, all, log) = world_with_log(false);
    let ignite = move |mut now: Commands, mut late: CommandsAt<EndSimulation>| {
        for &entity in &all {
            now.add(entity, B(1));
            late.commands().set(entity, B(2));
        }
        late.commands().batch(&all[..3]).set(B(3));
    };
    world.add_system(ignite.named("ignite"));
    world.add_system((|| Err::<(), _>("no fuel")).named("engine"));
    for _ in 0..2 {
        // Warnings go to the handler, and are not among the errors.
        let errors = world.try_update(0.1).unwrap_err();
        assert_eq!(errors.to_string(), "A0106: system `engine` failed: no fuel");
        assert_eq!(log.take(), ["ignite: 3, `add `game::B` to 0v1`"]);
    }
    assert_eq!(world.query::<&B>().count(), 999);
    world.update(0.1);
    let told = log.take();
    assert_eq!(told.len(), 2, "{told:?}");
}

#[test]
fn an_update_with_warnings_alone_succeeds() {
    let (mut world, all, log) = world_with_log(false);
    let dead = all[0];
    let id =
        world.add_system((move |mut c: Commands| c.batch(&all[..2]).add(B(1))).named("ignite"));
    world.try_update(0.1).unwrap();
    assert_eq!(log.take(), [format!("ignite: 1, `add `game::B` to 2 entities` for {dead}")]);
    world.update_system(id).unwrap();
    assert_eq!(log.take().len(), 1);
    // In an update, the outer update reports the warnings.
    world.add_system((move |world: &mut World| world.update_system(id).unwrap()).named("outer"));
    world.try_update(0.1).unwrap();
    assert_eq!(log.take(), [format!("ignite: 2, `add `game::B` to 2 entities` for {dead}")]);
}

#[test]
fn a_system_with_faults_and_skipped_commands_reports_both() {
    let (mut world, all, log) = world_with_log(false);
    let fails = move |mut commands: Commands| {
        commands.set(all[0], A(2));
        commands.set(all[1], B(2));
        commands.set(all[2], A(2));
    };
    world.add_system(fails.named("fails"));
    let error = world.try_update(0.1).unwrap_err().to_string();
    assert_eq!(
        error,
        "A0078: not all commands of system `fails` were applied: command 2 of 3 failed, `set `game::B` of 1v1`; the other \
         commands were applied, except 1 for entities that no longer exist: A0051: entity 1v1 has no `game::B`; add it first, \
         or check with `has`"
    );
    assert_eq!(log.take(), ["fails: 1, `set `game::A` of 0v1`"]);
    assert_eq!(world.query::<&A>().iter().filter(|a| a.0 == 2).count(), 1);
}

#[test]
fn a_strict_world_reports_errors_instead() {
    let (mut world, all, log) = world_with_log(true);
    let ignite = move |mut commands: Commands| all.iter().for_each(|&e| commands.add(e, B(1)));
    world.add_system(ignite.named("ignite"));
    let error = world.try_update(0.1).unwrap_err().to_string();
    assert!(
        error.starts_with(
            "A0078: not all commands of system `ignite` were applied: command 1 of 1000"
        ),
        "{error}"
    );
    assert!(
        error.contains("those after it were not: A0050: entity 0v1 no longer exists"),
        "{error}"
    );
    assert!(log.take().is_empty() && world.query::<&B>().is_empty());
}
