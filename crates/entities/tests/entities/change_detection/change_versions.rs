//! Change versions.

use ancho_entities::{ComponentType, Entity, Version, World};

use crate::common::{A, B, C, Tag, both, chunks_of, ignore, world};

/// Returns the change versions of a component in the chunk of an entity, and the chunk's order version.
fn versions(world: &World, entity: Entity) -> (Option<u32>, Option<u32>, u32) {
    let chunk = world.chunks().find(|chunk| chunk.entities().contains(&entity)).unwrap();
    let number = |version: Option<Version>| version.map(Version::number);
    (
        number(chunk.change_version::<A>()),
        number(chunk.change_version::<B>()),
        chunk.order_version().number(),
    )
}

#[test]
fn the_version_of_a_world_starts_at_one_and_skips_zero() {
    for mut world in both() {
        assert_eq!(world.version(), Version::FIRST);
        assert_eq!(Version::FIRST.number(), 1);
        assert_eq!(world.advance_version().number(), 2);
        assert_eq!(world.version().number(), 2);
        world.set_version(Version::from_number(u32::MAX));
        assert_eq!(world.advance_version().number(), 1);
    }
}

#[test]
fn only_the_owner_advances_the_version() {
    let mut world = world();
    let entity = world.spawn(A(1));
    world.add(entity, B(1)).unwrap();
    world.despawn(entity).unwrap();
    world.fork();
    assert_eq!(world.version(), Version::FIRST);
}

#[test]
fn versions_compare_across_half_of_the_number_range() {
    let newer = |version: u32, required: u32| {
        Version::from_number(version).is_newer_than(Version::from_number(required))
    };
    for required in [1, 2, 1000, 0x7fff_ffff, 0x8000_0000, u32::MAX - 1, u32::MAX] {
        assert!(newer(required.wrapping_add(1), required));
        assert!(newer(required.wrapping_add(2), required));
        assert!(!newer(required, required));
        assert!(!newer(required.wrapping_sub(1), required));
        assert!(newer(required.wrapping_add(0x7fff_ffff), required));
        assert!(!newer(required.wrapping_add(0x8000_0000), required));
        assert!(!newer(required.wrapping_add(0x8000_0001), required));
    }
    for version in [0, 1, 0x8000_0000, u32::MAX] {
        assert!(newer(version, 0));
    }
}

#[test]
fn only_writes_after_the_last_look_count_as_changes() {
    for mut world in both() {
        let entity = world.spawn(A(1));
        let changed =
            |world: &World, since| world.chunks().any(|chunk| chunk.did_change::<A>(since));
        assert!(changed(&world, Version::NEVER));
        let seen = world.version();
        assert!(!changed(&world, seen));
        world.advance_version();
        assert!(!changed(&world, seen));
        world.set(entity, A(1)).unwrap();
        assert!(changed(&world, seen));
        assert!(!changed(&world, world.version()));
    }
}

#[test]
fn writing_changes_the_version_of_that_type_in_that_chunk() {
    let mut world = chunks_of(2);
    let all: Vec<_> = world.spawn_many((A(1), B(1)), 4).collect();
    let a = ComponentType::of::<A>();
    type Write<'a> = &'a dyn Fn(&mut World);
    let writes: [(&str, Write<'_>); 6] = [
        ("set", &|world| world.set(all[0], A(2)).unwrap()),
        ("get_mut", &|world| ignore(world.get_mut::<A>(all[0]).unwrap().0)),
        ("add", &|world| ignore(world.add(all[0], A(3)).unwrap())),
        ("set_bytes", &|world| world.set_bytes(all[0], a, &[0; 4]).unwrap()),
        ("add_bytes", &|world| ignore(world.add_bytes(all[0], a, &[0; 4]).unwrap())),
        ("slice_mut", &|world| {
            world.for_each_chunk_mut(|mut chunk| {
                if chunk.as_chunk().entities().contains(&all[0]) {
                    chunk.slice_mut::<A>().unwrap();
                }
            });
        }),
    ];
    for (name, write) in writes {
        let now = world.advance_version().number();
        write(&mut world);
        assert_eq!(versions(&world, all[0]), (Some(now), Some(1), 1), "{name}");
        assert_eq!(versions(&world, all[2]), (Some(1), Some(1), 1), "{name}");
    }
}

#[test]
fn reading_changes_no_version() {
    for mut world in both() {
        let entity = world.spawn((A(1), B(1)));
        world.advance_version();
        let a = ComponentType::of::<A>();
        world.get::<A>(entity).unwrap();
        world.get_bytes(entity, a).unwrap();
        world.has::<(A, B)>(entity);
        for chunk in world.chunks() {
            chunk.slice::<A>().unwrap();
            chunk.bytes(a).unwrap();
        }
        world.for_each_chunk_mut(|chunk| {
            chunk.as_chunk().slice::<A>().unwrap();
        });
        world.state_hash();
        world.fork();
        world.duplicate();
        assert_eq!(versions(&world, entity), (Some(1), Some(1), 1));
    }
}

#[test]
fn creating_in_a_chunk_changes_all_its_types() {
    for mut world in both() {
        let first = world.spawn((A(1), B(1)));
        let archetype = world.archetype::<(A, B)>();
        type Create = fn(&mut World, ancho_entities::Archetype);
        let creates: [Create; 6] = [
            |world, _| ignore(world.spawn((A(2), B(2)))),
            |world, _| ignore(world.spawn_many((A(2), B(2)), 2)),
            |world, _| ignore(world.spawn_batch([(A(2), B(2))])),
            |world, _| ignore(world.spawn_columns(([A(2)], [B(2)])).unwrap()),
            |world, archetype| ignore(world.create(archetype).unwrap()),
            |world, archetype| ignore(world.create_many(archetype, 2).unwrap()),
        ];
        for create in creates {
            let now = world.advance_version().number();
            create(&mut world, archetype);
            assert_eq!(versions(&world, first), (Some(now), Some(now), now));
        }
    }
}

#[test]
fn removing_an_entity_changes_only_the_order_version() {
    for mut world in both() {
        let all: Vec<_> = world.spawn_many((A(1), B(1)), 10).collect();
        let now = world.advance_version().number();
        world.despawn(all[3]).unwrap();
        assert_eq!(versions(&world, all[0]), (Some(1), Some(1), now));
        let now = world.advance_version().number();
        world.batch(&all[5..7]).despawn().unwrap();
        assert_eq!(versions(&world, all[0]), (Some(1), Some(1), now));
        let now = world.advance_version().number();
        world.add(all[0], C(1)).unwrap();
        assert_eq!(versions(&world, all[1]), (Some(1), Some(1), now));
    }
}

#[test]
fn adding_a_component_marks_only_that_component() {
    for mut world in both() {
        let [e0, e1] = [world.spawn(A(1)), world.spawn(A(2))];
        let now = world.advance_version().number();
        world.add(e1, B(3)).unwrap();
        assert_eq!(versions(&world, e0), (Some(1), None, now));
        assert_eq!(versions(&world, e1), (Some(1), Some(now), now));
    }
}

#[test]
fn removing_a_component_marks_no_other() {
    for mut world in both() {
        let [e0, e1] = [world.spawn((A(1), B(1), Tag)), world.spawn((A(2), B(2), Tag))];
        let now = world.advance_version().number();
        world.remove::<B>(e1).unwrap();
        assert_eq!(versions(&world, e0), (Some(1), Some(1), now));
        assert_eq!(versions(&world, e1), (Some(1), None, now));
        let now = world.advance_version().number();
        world.take::<Tag>(e1).unwrap();
        assert_eq!(versions(&world, e1), (Some(1), None, now));
        let archetype = world.archetype::<(A, B)>();
        let now = world.advance_version().number();
        world.set_archetype(e1, archetype).unwrap();
        assert_eq!(versions(&world, e1), (Some(1), Some(now), now));
    }
}

#[test]
fn an_entity_with_a_newer_version_raises_that_of_its_new_chunk() {
    for mut world in both() {
        let there = world.spawn((A(1), B(1)));
        let written = world.advance_version().number();
        let moving = world.spawn(A(2));
        let now = world.advance_version().number();
        world.add(moving, B(2)).unwrap();
        assert_eq!(versions(&world, there), (Some(written), Some(now), now));
    }
}

#[test]
fn an_entity_with_an_older_version_takes_on_that_of_its_chunk() {
    for mut world in both() {
        let moving = world.spawn(A(2));
        let written = world.advance_version().number();
        let there = world.spawn((A(1), B(1)));
        let now = world.advance_version().number();
        world.add(moving, B(2)).unwrap();
        assert_eq!(versions(&world, there), (Some(written), Some(now), now));
    }
}

#[test]
fn the_newer_of_two_versions_is_found_across_the_wrap_around() {
    for mut world in both() {
        world.set_version(Version::from_number(u32::MAX));
        let there = world.spawn((A(1), B(1)));
        let seen = world.version();
        assert_eq!(world.advance_version().number(), 1);
        let moving = world.spawn(A(2));
        assert_eq!(world.advance_version().number(), 2);
        world.add(moving, B(2)).unwrap();
        assert_eq!(versions(&world, there), (Some(1), Some(2), 2));
        let chunk = world.chunks().next().unwrap();
        assert!(chunk.did_change::<A>(seen) && chunk.did_order_change(seen));
        assert!(!chunk.did_change::<A>(Version::from_number(1)));
    }
}

#[test]
fn replacing_a_value_during_a_move_is_a_change() {
    let mut world = world();
    let entity = world.spawn(A(1));
    let now = world.advance_version().number();
    world.add(entity, (A(2), B(2))).unwrap();
    assert_eq!(versions(&world, entity), (Some(now), Some(now), now));
}

#[test]
fn a_fork_has_the_versions_of_its_world_and_then_its_own() {
    let mut world = world();
    world.advance_version();
    let entity = world.spawn((A(1), B(1)));
    let mut fork = world.fork();
    assert_eq!(fork.version(), world.version());
    assert_eq!(versions(&fork, entity), versions(&world, entity));
    fork.advance_version();
    fork.set(entity, A(2)).unwrap();
    assert_eq!(versions(&fork, entity), (Some(3), Some(2), 2));
    assert_eq!(versions(&world, entity), (Some(2), Some(2), 2));
    assert_eq!(world.version().number(), 2);
}
