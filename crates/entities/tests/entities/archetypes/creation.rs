//! Archetypes: unordered sets that are never removed.

use ancho_entities::{ComponentType, EntityError, World};

use crate::common::{A, B, C, Tag, both, world};

#[test]
fn an_archetype_is_a_set_without_order() {
    for mut world in both() {
        let [a, b, c] =
            [ComponentType::of::<A>(), ComponentType::of::<B>(), ComponentType::of::<C>()];
        let archetype = world.archetype::<(A, B, C)>();
        let count = world.archetype_count();
        let orders = [[a, b, c], [a, c, b], [b, a, c], [b, c, a], [c, a, b], [c, b, a]];
        for order in orders {
            assert_eq!(world.archetype_of(&order), Ok(archetype));
        }
        assert_eq!(world.archetype::<(C, (B, A))>(), archetype);
        let spawned = [
            world.spawn((A(1), B(2), C(3))),
            world.spawn((C(3), A(1), B(2))),
            world.spawn((B(2), (C(3), A(1)))),
        ];
        let built = world.spawn(C(3));
        world.add(built, B(2)).unwrap();
        world.add(built, A(1)).unwrap();
        for entity in spawned.into_iter().chain([built]) {
            assert_eq!(world.entity_archetype(entity), Ok(archetype));
        }
        // At most `C` and `(B, C)` as intermediate archetypes.
        assert!(world.archetype_count() <= count + 2);
        assert_ne!(world.archetype::<(A, B)>(), archetype);
    }
}

#[test]
fn archetypes_stay_when_they_are_empty() {
    for mut world in both() {
        let before = world.archetype_count();
        let entity = world.spawn(A(1));
        let archetype = world.entity_archetype(entity).unwrap();
        assert_eq!(world.archetype_count(), before + 1);
        world.add(entity, B(1)).unwrap();
        assert_eq!(world.archetype_count(), before + 2);
        world.remove::<(A, B)>(entity).unwrap();
        let count = world.archetype_count();
        world.despawn_all().unwrap();
        assert_eq!(world.archetype_count(), count);
        assert_eq!(world.archetype::<A>(), archetype);
        assert_eq!(world.archetype_count(), count);
        assert_eq!(world.component_types(archetype), Ok(&[ComponentType::of::<A>()][..]));
    }
}

#[test]
fn archetypes_are_created_when_they_are_needed() {
    let mut world = world();
    let before = world.archetype_count();
    let entity = world.spawn(());
    assert!(!world.has::<(A, B)>(entity));
    world.get::<A>(entity).unwrap_err();
    world.set(entity, (A(1), C(1))).unwrap_err();
    world.remove::<(A, Tag)>(entity).unwrap();
    world.try_spawn((A(1), A(1))).unwrap_err();
    assert!(world.archetype_count() <= before + 1);
}

#[test]
fn archetypes_of_other_worlds_are_refused() {
    let [mut ours, mut theirs] = both();
    let entity = ours.spawn(A(1));
    theirs.spawn(A(1));
    let archetype = theirs.archetype::<A>();
    let refused = EntityError::ForeignArchetype;
    assert_eq!(ours.component_types(archetype), Err(refused));
    assert_eq!(ours.archetype_capacity(archetype), Err(refused));
    assert_eq!(ours.set_archetype(entity, archetype), Err(refused));
}

/// Returns the sum of all order versions, which every structural change increments.
fn structural(world: &World) -> u32 {
    let entities = world;
    entities.component_order_version::<A>()
        + entities.component_order_version::<B>()
        + entities.component_order_version::<Tag>()
}

#[test]
fn only_structural_changes_move_entities() {
    for mut world in both() {
        let mut last = structural(&world);
        let mut rises = |world: &World, what: &str| {
            let now = structural(world);
            assert!(now > last, "{what}");
            last = now;
        };
        let entity = world.spawn(A(1));
        rises(&world, "spawn");
        world.spawn_many(A(1), 3);
        rises(&world, "spawn_many");
        world.spawn_batch([A(1)]);
        rises(&world, "spawn_batch");
        world.spawn_columns(([A(1)],)).unwrap();
        rises(&world, "spawn_columns");
        world.add(entity, B(1)).unwrap();
        rises(&world, "add");
        world.add(entity, Tag).unwrap();
        rises(&world, "add of a tag");
        world.remove::<B>(entity).unwrap();
        rises(&world, "remove");
        let archetype = world.archetype::<(A, B)>();
        world.set_archetype(entity, archetype).unwrap();
        rises(&world, "set_archetype");
        world.create_many(archetype, 2).unwrap();
        rises(&world, "create_many");
        world.despawn(entity).unwrap();
        rises(&world, "despawn");
        world.despawn_all().unwrap();
        rises(&world, "despawn_all");
    }
}

#[test]
fn writing_values_is_no_structural_change() {
    let mut world = world();
    let [one, two] = [world.spawn((A(1), B(1))), world.spawn((A(2), B(2)))];
    let seen = world.version();
    let order = structural(&world);
    world.advance_version();
    world.set(one, A(2)).unwrap();
    world.add(one, (A(3), B(3))).unwrap();
    world.get_mut::<B>(one).unwrap().0 = 4;
    world.swap_components(one, two).unwrap();
    world.for_each_chunk_mut(|mut chunk| {
        chunk.slice_mut::<A>().unwrap()[0] = A(5);
    });
    world.set_name(one, "one").unwrap();
    world.remap_references(|entity| entity).unwrap();
    assert_eq!(structural(&world), order);
    assert!(world.chunks().all(|chunk| !chunk.did_order_change(seen)));
}
