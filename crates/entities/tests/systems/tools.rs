//! What tools are told of systems.

use ancho_entities::{IntoSystem, Query, Simulation, SystemKind, Version, World};

use crate::common::{A, B};

fn both(_: Query<(&A, &B)>, _: Query<&A>) {}

#[test]
fn systems_tell_what_they_are_and_how_often_they_ran() {
    let mut world = World::new("test");
    world.spawn_many(3, (A(1), B(1)));
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
fn the_order_is_told_as_data_and_as_text() {
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
    assert!(order.to_string().contains("\n    a\n"), "{order}");
}
