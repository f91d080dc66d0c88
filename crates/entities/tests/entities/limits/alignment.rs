//! Alignments of 1 to 128 bytes and, for runtime types, beyond.

use ancho_entities::{
    Component, ComponentType, Entity, EntityError, QueryDescriptor, RuntimeType, World,
    WorldSettings,
};

use crate::common::A;

macro_rules! aligned {
    ($($name:ident $align:literal),*) => {
        $(
            #[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
            #[repr(align($align))]
            struct $name(u8);
        )*

        type All = ($($name),*);

        fn all(number: u8) -> All {
            ($($name(number ^ $align as u8)),*)
        }

        #[track_caller]
        fn check(world: &World, entity: Entity, number: u8) {
            $(
                let value = world.get::<$name>(entity).unwrap();
                assert!(std::ptr::from_ref(value).addr().is_multiple_of($align));
                assert_eq!(*value, $name(number ^ $align as u8));
            )*
        }

        fn check_columns(world: &World) {
            for chunk in world.chunks() {
                $(
                    let slice = chunk.slice::<$name>().unwrap();
                    assert_eq!(slice.len(), chunk.len());
                    assert!(slice.as_ptr().addr().is_multiple_of($align));
                )*
            }
        }
    };
}

aligned!(One 1, Two 2, Four 4, Eight 8, Sixteen 16, ThirtyTwo 32, SixtyFour 64, Hundred 128);

#[test]
fn typed_components_are_aligned() {
    for chunk in [4096, 16 * 1024, 64 * 1024] {
        let settings = WorldSettings::new().chunk_size(chunk);
        let mut world = World::with_settings("Simulation", settings);
        let entities: Vec<_> = (0..200_u8).map(|number| world.spawn(all(number))).collect();
        world.spawn_many(all(7), 100);
        check_columns(&world);
        for (number, entity) in (0..).zip(&entities) {
            check(&world, *entity, number);
        }
        // The alignment holds after moves, in filled holes and in copies.
        for entity in entities.iter().step_by(3) {
            world.add(*entity, A(1)).unwrap();
        }
        for entity in entities.iter().skip(1).step_by(3) {
            world.despawn(*entity).unwrap();
        }
        let duplicate = world.duplicate().unwrap();
        let mut fork = world.fork().unwrap();
        fork.for_each_chunk_mut(|mut chunk| {
            let place = chunk.slice_mut::<Hundred>().unwrap().as_ptr();
            assert_eq!(place.addr() % 128, 0);
        });
        for world in [&world, &duplicate, &fork] {
            for (number, entity) in (0..).zip(&entities).filter(|(number, _)| number % 3 != 1) {
                check(world, *entity, number);
            }
            check_columns(world);
            world.check_invariants().unwrap();
        }
    }
}

#[test]
fn runtime_components_are_aligned() {
    let mut world = World::new("Simulation");
    let types: Vec<_> = [1, 2, 4, 8, 16, 32, 64, 128, 256]
        .iter()
        .map(|align| RuntimeType::new(format!("game::aligned::{align}"), *align, *align))
        .map(|ty| ComponentType::register(ty).unwrap())
        .collect();
    let archetype = world.archetype_of(&types).unwrap();
    let entities: Vec<_> = world.create_many(archetype, 100).unwrap().collect();
    for (number, entity) in (0..).zip(&entities) {
        for ty in &types {
            world.set_bytes(*entity, *ty, &vec![number; ty.size()]).unwrap();
        }
    }
    for entity in entities.iter().step_by(4) {
        world.remove_types(*entity, &types[2..5]).unwrap();
    }
    for (number, entity) in (0..).zip(&entities) {
        for ty in &types {
            let Ok(bytes) = world.get_bytes(*entity, *ty) else {
                assert_eq!(number % 4, 0);
                continue;
            };
            assert_eq!(bytes.as_ptr().addr() % ty.align(), 0);
            assert_eq!(bytes, vec![number; ty.size()]);
        }
    }
    world.check_invariants().unwrap();
}

#[test]
fn the_largest_alignment_is_a_page() {
    // On request a chunk is aligned to its size, and the smallest has 4096 bytes.
    let page = RuntimeType::new("game::page", 4096, 4096);
    let page = ComponentType::register(page).unwrap();
    let mut world = World::new("Simulation");
    let entity = world.spawn(A(1));
    world.add_bytes(entity, page, &[5; 4096]).unwrap();
    let bytes = world.get_bytes(entity, page).unwrap();
    assert_eq!((bytes.as_ptr().addr() % 4096, bytes[4095]), (0, 5));
    world.check_invariants().unwrap();

    let settings = WorldSettings::new().chunk_size(4096);
    let mut small = World::with_settings("Small", settings);
    let entity = small.spawn(A(1));
    let refused = small.add_types(entity, &[page]).unwrap_err();
    assert!(matches!(refused, EntityError::DoesNotFit { .. }), "{refused}");
    let tag = RuntimeType::new("game::page of nothing", 0, 4096);
    if let Ok(tag) = ComponentType::register(tag) {
        assert_eq!(small.add_types(entity, &[tag]), Ok(true));
    }
    small.check_invariants().unwrap();
}

/// A zero-sized type with a larger alignment than chunks have by default.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
#[repr(align(256))]
struct Wide;

#[test]
fn components_added_by_query_are_aligned() {
    for limit in [3, 50, 200] {
        let settings = WorldSettings::new().chunk_capacity_limit(limit);
        let mut world = World::with_settings("Simulation", settings);
        world.spawn_many(A(1), 400);
        // Adding a tag usually keeps the memory of whole chunks; this alignment needs other memory.
        assert_eq!(world.batch(QueryDescriptor::of::<&A, ()>()).add(Wide).unwrap(), 400);
        let aligned = |wide: &Wide| std::ptr::from_ref(wide).addr().is_multiple_of(256);
        assert!(world.query::<&Wide>().iter().all(aligned));
        world.check_invariants().unwrap();
        assert_eq!(world.batch(QueryDescriptor::of::<&A, ()>()).remove::<Wide>(), Ok(400));
        // Rows that move reuse memory that other rows have left.
        assert_eq!(world.batch(QueryDescriptor::of::<&A, ()>()).add(Hundred(7)).unwrap(), 400);
        assert!(
            world.query::<&Hundred>().iter().all(|value| {
                value.0 == 7 && std::ptr::from_ref(value).addr().is_multiple_of(128)
            })
        );
        world.check_invariants().unwrap();
        assert_eq!(world.batch(QueryDescriptor::of::<&A, ()>()).remove::<Hundred>(), Ok(400));
        assert_eq!(
            world
                .batch(QueryDescriptor::of::<&A, ()>())
                .add_types(&[ComponentType::of::<Hundred>()]),
            Ok(400)
        );
        world.check_invariants().unwrap();
    }
}
