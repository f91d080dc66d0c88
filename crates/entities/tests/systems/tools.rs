//! Information about systems for tools.

use std::time::Duration;

use ancho_entities::{
    CommandsAt, EndSimulation, IntoSystem, Query, Simulation, System, SystemKind, SystemResult,
    Version, World, system_type,
};

use crate::common::{A, B, Shared, Switch, say, world};

fn both(_: Query<(&A, &B)>, _: Query<&A>) {}

#[test]
fn tools_see_systems_and_how_often_they_ran() {
    let mut world = World::new("test");
    world.spawn_many((A(1), B(1)), 3);
    world.spawn(A(1));
    let id = world.add_system(both.named("both"));
    let info = world.system_info(id).unwrap();
    assert_eq!((info.kind, info.depth, info.running), (SystemKind::Function, 2, false));
    assert_eq!((info.last_run, info.runs, info.entities), (Version::NEVER, 0, Some(7)));
    assert_eq!(info.group, world.find_system(Simulation));
    world.update(0.1);
    let ran = world.system_info(id).unwrap().last_run;
    assert!(world.system_info(id).unwrap().running);
    world.profile_systems(true);
    world.update(0.1);
    let info = world.system_info(id).unwrap();
    assert!(info.last_run.is_newer_than(ran));
    assert_eq!(info.runs, 1);
    let version = world.systems_version();
    world.remove_system(id).unwrap();
    assert!(world.systems_version() > version);
}

#[test]
fn systems_are_of_their_kind_also_while_they_are_created_updated_and_destroyed() {
    /// A system that logs its own kind, from its info and from the system order.
    #[derive(Clone)]
    struct Asks(Shared);

    impl Asks {
        fn ask(&self, world: &mut World, when: &str) -> SystemResult {
            let id = world.executing_system().unwrap();
            let alone = world.system_info(id)?.kind;
            self.0.push(format!("{when} {alone:?}"));
            let all = world.system_order();
            let among = all.iter().find(|info| info.id == id).map(|info| info.kind);
            assert_eq!(among.unwrap_or(alone), alone);
            Ok(())
        }
    }

    impl System for Asks {
        fn on_create(&mut self, world: &mut World) -> SystemResult {
            self.ask(world, "create")
        }

        fn on_update(&mut self, world: &mut World) -> SystemResult {
            self.ask(world, "update")
        }

        fn on_destroy(&mut self, world: &mut World) -> SystemResult {
            self.ask(world, "destroy")
        }
    }

    let asks = Asks(Shared::default());
    let mut world = World::new("test");
    world.add_system(asks.clone());
    let function = asks.clone();
    let function = world.add_system(move |world: &mut World| {
        function.ask(world, "update").unwrap();
        let of_struct = world.find_system(system_type::<Asks>()).unwrap();
        assert_eq!(world.system_info(of_struct).unwrap().kind, SystemKind::Struct);
    });
    world.try_update(0.1).unwrap();
    assert_eq!(asks.0.take(), ["create Struct", "update Struct", "update Function"]);
    let mut kind = |id| world.system_info(id).unwrap().kind;
    assert_eq!(kind(function), SystemKind::Function);
    let of_struct = world.find_system(system_type::<Asks>()).unwrap();
    assert_eq!(world.system_info(of_struct).unwrap().kind, SystemKind::Struct);
    world.remove_system(of_struct).unwrap();
    assert_eq!(asks.0.take(), ["destroy Struct"]);
}

#[test]
fn times_of_groups_include_their_systems() {
    let mut world = world();
    let ids = [world.add_system(say("one")), world.add_system(both)];
    let group = world.find_system(Simulation).unwrap();
    // No times exist before profiling is enabled.
    world.try_update(0.1).unwrap();
    for id in [ids[0], ids[1], group] {
        let info = world.system_info(id).unwrap();
        assert_eq!(
            (info.runs, info.last_time, info.total_time),
            (0, Duration::ZERO, Duration::ZERO)
        );
    }
    world.profile_systems(true);
    let mut totals = [Duration::ZERO; 2];
    let mut of_group = Duration::ZERO;
    for run in 1..=5 {
        world.try_update(0.1).unwrap();
        for (id, total) in ids.into_iter().zip(&mut totals) {
            let info = world.system_info(id).unwrap();
            *total += info.last_time;
            assert_eq!((info.runs, info.total_time), (run, *total));
        }
        let info = world.system_info(group).unwrap();
        of_group += info.last_time;
        assert_eq!((info.runs, info.total_time), (run, of_group));
    }
    assert!(of_group >= totals[0] + totals[1]);
    // Measured times stay when profiling ends.
    world.profile_systems(false);
    world.try_update(0.1).unwrap();
    let info = world.system_info(ids[0]).unwrap();
    assert_eq!((info.runs, info.total_time), (5, totals[0]));
}

#[test]
fn a_system_that_does_not_run_keeps_the_data_of_its_last_run() {
    let mut world = world();
    let id = world.add_system(say("one"));
    world.profile_systems(true);
    world.try_update(0.1).unwrap();
    let told = |world: &mut World| {
        let info = world.system_info(id).unwrap();
        (info.last_run, info.runs, info.last_time, info.total_time)
    };
    let ran = told(&mut world);
    world.set_system_enabled(id, false).unwrap();
    let version = world.version();
    world.try_update(0.1).unwrap();
    world.try_update(0.1).unwrap();
    assert!(world.version().is_newer_than(version));
    assert_eq!(told(&mut world), ran);
    assert!(!world.system_info(id).unwrap().running);
    world.set_system_enabled(id, true).unwrap();
    world.try_update(0.1).unwrap();
    let again = told(&mut world);
    assert!(again.0.is_newer_than(ran.0) && again.0.is_newer_than(version));
    assert_eq!((again.1, again.3), (2, ran.3 + again.2));
}

#[test]
fn times_of_points_include_their_commands() {
    let mut world = world();
    let mut frame = 0;
    world.add_system(move |mut commands: CommandsAt<EndSimulation>| {
        frame += 1;
        if frame % 2 == 1 {
            commands.commands().spawn(A(frame));
        }
    });
    world.profile_systems(true);
    let point = world.find_system(EndSimulation).unwrap();
    let mut total = Duration::ZERO;
    for frame in 1..=4_u64 {
        world.try_update(0.1).unwrap();
        let info = world.system_info(point).unwrap();
        if frame % 2 == 1 {
            total += info.last_time;
        }
        assert_eq!((info.runs, info.total_time), (frame.div_ceil(2), total));
    }
    assert_eq!(world.entity_count(), 2);
}

#[test]
fn tools_see_how_many_entities_a_system_can_find() {
    let mut world = world();
    let switches: Vec<_> = world.spawn_many(Switch(1), 3).collect();
    let id = world.add_system(|_: Query<&Switch>, _: Query<&A>| {});
    let none = world.add_system(say("none"));
    let count = |world: &mut World, id| world.system_info(id).unwrap().entities;
    assert_eq!(count(&mut world, id), Some(3));
    world.spawn_many((A(1), Switch(1)), 2);
    assert_eq!(count(&mut world, id), Some(3 + 2 + 2), "once for each query");
    // A disabled component may be enabled again.
    world.set_component_enabled::<Switch>(switches[0], false).unwrap();
    assert_eq!(count(&mut world, id), Some(7));
    world.despawn(switches[0]).unwrap();
    assert_eq!(count(&mut world, id), Some(6));
    assert_eq!(count(&mut world, none), Some(0));
    let group = world.find_system(Simulation).unwrap();
    assert_eq!(count(&mut world, group), None);
}

#[test]
fn the_order_is_available_as_data_and_as_text() {
    let mut world = World::new("test");
    world.add_system(both.named("b").last());
    world.add_system(both.named("a"));
    world.add_system(both.named("p").patch());
    let order = world.system_order();
    let names: Vec<_> = order
        .iter()
        .filter(|info| info.kind == SystemKind::Function)
        .map(|info| info.name.as_str())
        .collect();
    assert_eq!(names, ["a", "b", "p"]);
    assert_eq!(order.iter().last().unwrap().group, None);
    assert!(order.to_string().contains("\n    a\n"), "{order}");
}
