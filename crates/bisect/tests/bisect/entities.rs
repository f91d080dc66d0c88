//! Differences in entities and their locations.

use ancho_bisect::{Bisection, Difference, DivergedAt};
use ancho_entities::{Component, IntoSystem, World};

use super::parted;

#[derive(Component, Clone, Copy)]
#[component(name = "A")]
struct A(u8);

#[derive(Component, Clone, Copy)]
#[component(name = "B")]
struct B(u8);

/// Returns the first line of the divergence if a system calls `act` in its third update, in the second world only.
fn after_system(act: fn(&mut World)) -> String {
    let found = parted(|differs| {
        let mut world = World::new("w");
        for index in 0..6 {
            world.spawn(A(index));
        }
        let mut turn = 0;
        let act = move |world: &mut World| {
            turn += 1;
            if differs && turn == 3 {
                act(world);
            }
        };
        world.add_system(act.named("act"));
        world
    });
    assert_eq!((found.frame, &found.at), (2, &DivergedAt::System("act".into())));
    let text = found.to_string();
    let (_, what) = text.lines().next().unwrap().split_once("`act`: ").unwrap();
    what.to_owned()
}

/// Returns the entity at an index.
fn at(world: &World, index: u32) -> ancho_entities::Entity {
    let mut all = world.query::<ancho_entities::Entity>().iter().collect::<Vec<_>>();
    all.sort_by_key(|entity| entity.index());
    all[index as usize]
}

#[test]
fn an_entity_that_exists_in_one_run_only_is_found() {
    let more = after_system(|world| {
        world.spawn(A(9));
    });
    assert_eq!(more, "entity 6v1 exists in the second alone; there are 6 entities and 7");
    let fewer = after_system(|world| {
        let entity = at(world, 2);
        world.despawn(entity).unwrap();
    });
    assert_eq!(fewer, "entity 2v1 exists in the first alone; there are 6 entities and 5");
    let another = after_system(|world| {
        let entity = at(world, 2);
        world.despawn(entity).unwrap();
        world.spawn(A(2));
    });
    assert_eq!(another, "entity 2v1 exists in the first alone; there are 6 entities and 6");
}

#[test]
fn an_entity_with_other_components_is_found() {
    let types = after_system(|world| {
        let entity = at(world, 3);
        world.add(entity, B(1)).unwrap();
    });
    assert_eq!(types, "entity 3v1 has A in the first, A, B in the second");
}

#[test]
fn entities_in_another_order_are_found() {
    let moved = after_system(|world| {
        let entity = at(world, 1);
        world.add(entity, B(1)).unwrap();
        world.remove::<B>(entity).unwrap();
    });
    assert_eq!(
        moved,
        "row 1 of chunk 0 has 1v1 in the first, 5v1 in the second; the entities are the same"
    );
}

#[test]
fn a_different_order_of_free_ids_is_found() {
    let free = after_system(|world| {
        let entity = world.spawn(A(1));
        world.despawn(entity).unwrap();
    });
    assert_eq!(free, "the next entities would get different ids; existing entities are the same");
}

#[test]
fn archetypes_in_another_order_are_found() {
    let found = parted(|differs| {
        let mut world = World::new("w");
        let (first, second) = (world.spawn(()), world.spawn(()));
        if differs {
            world.add(second, B(1)).unwrap();
            world.add(first, A(1)).unwrap();
        } else {
            world.add(first, A(1)).unwrap();
            world.add(second, B(1)).unwrap();
        }
        world
    });
    let Difference::Archetypes { index: 0, types } = &found.difference else { panic!("{found}") };
    assert_eq!(types.each_ref().map(|types| types[0].name()), ["A", "B"]);
    assert!(
        found.to_string().starts_with("A0075: the runs diverge when the worlds were created: ")
    );
}

#[test]
fn changes_outside_systems_are_reported_as_such() {
    let make = |name: &'static str| {
        move || {
            let mut world = World::new(name);
            world.spawn(A(1));
            world.add_system((|| ()).named("idle"));
            world
        }
    };
    let touch = |world: &mut World| world.query_mut::<&mut A>().for_each(|a| a.0 += 1);
    let before = Bisection::of(make("first")).against(make("second")).drive(move |world, frame| {
        if frame == 5 && world.name() == "second" {
            touch(world);
        }
        world.update(0.1);
    });
    let found = before.run().unwrap().unwrap();
    assert_eq!((found.frame, found.at), (5, DivergedAt::BeforeSystems));
    let after = Bisection::of(make("first")).against(make("second")).drive(move |world, frame| {
        world.update(0.1);
        if frame == 5 && world.name() == "second" {
            touch(world);
        }
    });
    let found = after.run().unwrap().unwrap();
    assert_eq!((found.frame, found.at), (5, DivergedAt::EndOfFrame));
}
