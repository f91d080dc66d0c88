//! Cleanup components, which stay when their entity is despawned.

use std::sync::Arc;

use ancho_entities::{
    ChunkArena, Component, ComponentType, Entity, EntityError, EntityTracker, WorldSettings,
};

use crate::common::{
    A, B, Checked, Owned, Tag, Text, both, chunk_entities, chunks_of, strict, world,
};

#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
#[component(name = "game::Handle", cleanup)]
struct Handle(u32);

#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
#[component(name = "game::Registered", cleanup)]
struct Registered;

/// A component that counts its instances, to detect drops.
#[derive(Component, Clone, Debug)]
#[component(name = "game::Resource", cleanup)]
struct Resource(#[field(opaque)] Arc<()>);

#[test]
fn despawning_leaves_cleanup_components() {
    for mut world in both() {
        let entity = world.spawn((A(1), Handle(7), Text("x".into()), Registered, Tag));
        assert_eq!(world.despawn(entity), Ok(true));
        assert!(world.exists(entity));
        assert_eq!(world.entity_count(), 1);
        assert_eq!(world.all_entities(), [entity]);
        assert_eq!(world.get(entity), Ok(&Handle(7)));
        assert!(world.has::<Registered>(entity));
        assert!(!world.has::<A>(entity) && !world.has::<Text>(entity) && !world.has::<Tag>(entity));
        // Remaining components can be written.
        world.get_mut::<Handle>(entity).unwrap().0 = 8;
        assert_eq!(world.get(entity), Ok(&Handle(8)));
    }
}

#[test]
fn remains_are_distinguished_from_live_entities() {
    for mut world in both() {
        let (entity, other) = (world.spawn((A(1), Handle(7), Registered)), world.spawn(Handle(8)));
        let plain = world.spawn(A(1));
        for living in [entity, other, plain] {
            assert!(!world.is_cleanup_only(living));
        }
        world.despawn(entity).unwrap();
        world.despawn(plain).unwrap();
        assert!(world.is_cleanup_only(entity) && !world.is_cleanup_only(other));
        assert!(!world.is_cleanup_only(plain), "nothing is left of it");
        assert!(!world.is_cleanup_only(Entity::NULL));
        // Adding and removing components does not change this.
        world.add(entity, B(2)).unwrap();
        world.remove::<Handle>(entity).unwrap();
        assert!(world.is_cleanup_only(entity));
        world.remove::<Registered>(entity).unwrap();
        world.remove::<B>(entity).unwrap();
        assert!(!world.is_cleanup_only(entity));
        // Another entity that reuses the index.
        let next = world.spawn(Handle(9));
        assert!(!world.is_cleanup_only(next) && !world.is_cleanup_only(entity));
    }
}

#[test]
fn despawning_remains_changes_nothing() {
    for mut world in both() {
        let all: Vec<_> = world.spawn_many((A(1), Handle(7)), 5).collect();
        for &entity in &all {
            assert_eq!(world.despawn(entity), Ok(true));
        }
        let (hash, places) = (world.state_hash(), chunk_entities(&world));
        let orders: Vec<_> = world.chunks().map(|chunk| chunk.order_version()).collect();
        world.advance_version();
        // Also in a strict world: the entity exists.
        assert_eq!(world.despawn(all[1]), Ok(false));
        assert_eq!(world.batch(&all).despawn(), Ok(0));
        assert_eq!(world.despawn_all(), Ok(0));
        assert_eq!((world.state_hash(), chunk_entities(&world)), (hash, places));
        let after: Vec<_> = world.chunks().map(|chunk| chunk.order_version()).collect();
        assert_eq!(after, orders);
    }
}

#[test]
fn the_entity_disappears_with_its_last_cleanup_component() {
    type Removal = fn(&mut Checked, Entity);
    let removals: [Removal; 3] = [
        |world, entity| assert_eq!(world.remove::<Handle>(entity), Ok(true)),
        |world, entity| {
            let types = [ComponentType::of::<Handle>()];
            assert_eq!(world.remove_types(entity, &types), Ok(true));
        },
        |world, entity| assert_eq!(world.take::<Handle>(entity), Ok(Handle(7))),
    ];
    for remove in removals {
        for mut world in both() {
            let entity = world.spawn((A(1), Handle(7), Registered));
            let other = world.spawn((A(2), Handle(7), Registered));
            world.batch(&[entity, other]).despawn().unwrap();
            remove(&mut world, entity);
            assert!(world.exists(entity), "there is another that stays");
            assert_eq!(world.remove::<Registered>(entity), Ok(true));
            assert!(!world.exists(entity));
            assert_eq!((world.entity_count(), world.exists(other)), (1, true));
            // In the reverse order, and both at once.
            assert_eq!(world.remove::<Registered>(other), Ok(true));
            remove(&mut world, other);
            assert_eq!(world.entity_count(), 0);
            assert_eq!(world.chunks().count(), 0);
            let both = world.spawn((Handle(7), Registered));
            world.despawn(both).unwrap();
            assert_eq!(world.take::<(Registered, Handle)>(both), Ok((Registered, Handle(7))));
            assert!(!world.exists(both));
        }
    }
}

#[test]
fn all_cleanup_components_can_be_removed_in_one_call() {
    for mut world in both() {
        let entity = world.spawn((A(1), Handle(7), Registered));
        world.despawn(entity).unwrap();
        let entities = &mut world;
        let archetype = entities.entity_archetype(entity).unwrap();
        let types = entities.component_types(archetype).unwrap().to_vec();
        assert_eq!(entities.remove_types(entity, &types), Ok(true));
        assert!(!entities.exists(entity));
    }
}

#[test]
fn a_live_entity_stays_when_its_cleanup_components_are_removed() {
    for mut world in both() {
        let entity = world.spawn(Handle(7));
        assert_eq!(world.remove::<Handle>(entity), Ok(true));
        assert!(world.exists(entity));
        assert_eq!(world.despawn(entity), Ok(true));
        assert!(!world.exists(entity));
    }
}

#[test]
fn ids_are_reused_only_when_no_cleanup_component_is_left() {
    for mut world in both() {
        let all: Vec<_> = world.spawn_many((A(1), Handle(7)), 512).collect();
        assert_eq!(world.batch(&all).despawn(), Ok(512));
        assert_eq!(world.entity_count(), 512);
        let others: Vec<_> = world.spawn_many(A(2), 512).collect();
        assert!(others.iter().all(|entity| entity.index() >= 512 && entity.version() == 1));
        for &entity in &all {
            assert!(world.exists(entity));
            assert_eq!(world.get(entity), Ok(&Handle(7)));
            assert_eq!(world.remove::<Handle>(entity), Ok(true));
            assert!(!world.exists(entity));
        }
        assert_eq!(world.entity_count(), 512);
        let mut again: Vec<_> = world.spawn_many(A(3), 512).collect();
        again.sort_unstable();
        let expected: Vec<_> = (0..512).map(|index| Entity::from_parts(index, 2)).collect();
        assert_eq!(again, expected);
    }
}

#[test]
fn remains_can_get_components_and_exist_until_they_are_removed() {
    for mut world in both() {
        let entity = world.spawn((A(1), Handle(7)));
        world.despawn(entity).unwrap();
        assert_eq!(world.add(entity, (A(2), Text("x".into()))), Ok(true));
        assert_eq!(world.get(entity), Ok(&A(2)));
        // The cleanup component is removed first.
        world.remove::<Handle>(entity).unwrap();
        assert!(world.exists(entity));
        world.remove::<A>(entity).unwrap();
        assert!(world.exists(entity));
        world.remove::<Text>(entity).unwrap();
        assert!(!world.exists(entity));
        // Or last.
        let entity = world.spawn(Handle(7));
        world.despawn(entity).unwrap();
        world.add(entity, B(1)).unwrap();
        world.remove::<B>(entity).unwrap();
        assert!(world.exists(entity));
        world.remove::<Handle>(entity).unwrap();
        assert!(!world.exists(entity));
    }
}

#[test]
fn cleanup_entities_with_new_components_can_be_despawned_again() {
    for mut world in both() {
        let entity = world.spawn((A(1), Handle(7)));
        world.despawn(entity).unwrap();
        world.add(entity, A(2)).unwrap();
        assert_eq!(world.despawn(entity), Ok(true));
        assert!(world.exists(entity) && !world.has::<A>(entity));
        // Without a cleanup component, the entity is destroyed.
        world.add(entity, A(3)).unwrap();
        world.remove::<Handle>(entity).unwrap();
        assert_eq!(world.despawn(entity), Ok(true));
        assert!(!world.exists(entity));
    }
}

#[test]
fn set_archetype_is_refused_if_it_would_lose_a_cleanup_component() {
    for mut world in both() {
        let entity = world.spawn((A(1), Handle(7)));
        let without = world.archetype::<(A, B)>();
        let with = world.archetype::<(B, Handle, Registered)>();
        let before = world.state_hash();
        let component = ComponentType::of::<Handle>();
        let refused = EntityError::WouldLoseCleanup { entity, component };
        assert_eq!(world.set_archetype(entity, without), Err(refused));
        assert_eq!(world.state_hash(), before);
        world.set_archetype(entity, with).unwrap();
        assert_eq!((world.get(entity), world.get(entity)), (Ok(&B(0)), Ok(&Handle(7))));
        assert!(world.has::<Registered>(entity) && !world.has::<A>(entity));
        // A despawned entity does not become alive again.
        world.despawn(entity).unwrap();
        let before = world.state_hash();
        let refused = EntityError::CleanupOnly { entity };
        assert_eq!(world.set_archetype(entity, with), Err(refused));
        assert_eq!(world.state_hash(), before);
        world.remove::<(Handle, Registered)>(entity).unwrap();
        assert!(!world.exists(entity));
    }
}

#[test]
fn slices_and_whole_worlds_leave_cleanup_components() {
    for limit in [3, 1000] {
        let mut world = chunks_of(limit);
        let plain: Vec<_> = world.spawn_many(A(1), 10).collect();
        let staying: Vec<_> = world.spawn_many((A(1), Handle(1)), 10).collect();
        let slice: Vec<_> = plain.iter().zip(&staying).flat_map(|(&a, &b)| [b, a, b]).collect();
        assert_eq!(world.batch(&slice[..15]).despawn(), Ok(10));
        assert_eq!(world.entity_count(), 15);
        assert!(plain[..5].iter().all(|&entity| !world.exists(entity)));
        assert!(staying[..5].iter().all(|&entity| world.has::<Handle>(entity)));
        assert_eq!(world.despawn_all(), Ok(10));
        assert!(plain.iter().all(|&entity| !world.exists(entity)));
        assert!(staying.iter().all(|&entity| world.exists(entity) && !world.has::<A>(entity)));
        for &entity in &staying {
            world.remove::<Handle>(entity).unwrap();
        }
        assert_eq!((world.entity_count(), world.chunks().count()), (0, 0));
        // No entity is left, so ids begin again.
        world.spawn_many(A(1), 5);
        assert_eq!(world.despawn_all(), Ok(5));
        assert_eq!(world.spawn(A(1)).index(), 0);
    }
}

#[test]
fn in_a_strict_world_a_slice_can_list_remains_but_no_dead_entities() {
    let mut world = strict();
    let staying = world.spawn((A(1), Handle(1)));
    let other = world.spawn(A(1));
    let gone = world.spawn(A(1));
    world.batch(&[staying, gone]).despawn().unwrap();
    let before = world.state_hash();
    assert!(world.batch(&[staying, other, gone]).despawn().is_err());
    assert_eq!(world.state_hash(), before);
    assert_eq!(world.batch(&[staying, other, staying]).despawn(), Ok(1));
    world.remove::<Handle>(staying).unwrap();
    assert!(matches!(world.despawn(staying), Err(EntityError::NoSuchEntity { .. })));
    assert!(matches!(world.remove::<Handle>(staying), Err(EntityError::NoSuchEntity { .. })));
}

#[test]
fn each_value_is_dropped_once_and_when_it_is_removed() {
    for mut world in both() {
        let (stays, goes) = (Arc::new(()), Arc::new(()));
        let counts = || (Arc::strong_count(&stays) - 1, Arc::strong_count(&goes) - 1);
        let set = (Resource(stays.clone()), Owned(goes.clone()), A(1));
        let all: Vec<_> = world.spawn_many(set, 10).collect();
        assert_eq!(counts(), (10, 10));
        world.despawn(all[4]).unwrap();
        assert_eq!(counts(), (10, 9));
        world.despawn(all[4]).unwrap();
        world.batch(&all[..3]).despawn().unwrap();
        assert_eq!(counts(), (10, 6));
        world.despawn_all().unwrap();
        assert_eq!(counts(), (10, 0));
        world.remove::<Resource>(all[0]).unwrap();
        assert_eq!(counts(), (9, 0));
        let types = [ComponentType::of::<Resource>()];
        world.remove_types(all[9], &types).unwrap();
        assert_eq!(counts(), (8, 0));
        let taken = world.take::<Resource>(all[5]).unwrap();
        assert_eq!(counts(), (8, 0));
        drop(taken);
        assert_eq!(counts(), (7, 0));
        assert_eq!(world.entity_count(), 7);
        // The value is replaced in the cleanup-only entity.
        world.set(all[1], Resource(stays.clone())).unwrap();
        assert_eq!(counts(), (7, 0));
        drop(world);
        assert_eq!(counts(), (0, 0));
    }
}

#[test]
fn forks_have_separate_remains() {
    let mut world = chunks_of(3);
    let value = Arc::new(());
    let all: Vec<_> = world.spawn_many((Resource(value.clone()), A(1)), 7).collect();
    world.despawn(all[0]).unwrap();
    for mut copy in [world.fork(), world.duplicate()] {
        // DIFFERENCE: a copied world continues like the original, so it has the cleanup-only entities.
        assert_eq!(copy.state_hash(), world.state_hash());
        let before = world.state_hash();
        copy.remove::<Resource>(all[0]).unwrap();
        copy.despawn_all().unwrap();
        assert_eq!((copy.entity_count(), world.entity_count()), (6, 7));
        assert!(world.has::<Resource>(all[0]) && world.has::<A>(all[1]));
        assert_eq!(world.state_hash(), before);
    }
    drop(world);
    assert_eq!(Arc::strong_count(&value), 1);
}

#[test]
fn nothing_changes_without_memory_for_the_remains() {
    let arena = ChunkArena::with_limit(16 * 1024);
    let mut world = Checked::with_settings(WorldSettings::new().arena(arena.clone()));
    let all: Vec<_> = world.spawn_many((A(1), Handle(1)), 5).collect();
    let before = world.state_hash();
    assert!(matches!(world.despawn(all[2]), Err(EntityError::OutOfMemory(_))));
    assert!(matches!(world.batch(&all).despawn(), Err(EntityError::OutOfMemory(_))));
    assert!(matches!(world.despawn_all(), Err(EntityError::OutOfMemory(_))));
    assert_eq!(world.state_hash(), before);
    assert_eq!(arena.stats().used, 16 * 1024);
}

#[test]
fn trackers_and_names_keep_remains_until_they_disappear() {
    let mut world = world();
    let mut tracker = EntityTracker::new();
    let entity = world.spawn((A(1), Handle(1)));
    world.set_name(entity, "Door").unwrap();
    world.entity_changes(&mut tracker);
    world.despawn(entity).unwrap();
    let changes = world.entity_changes(&mut tracker);
    assert!(changes.created.is_empty() && changes.destroyed.is_empty());
    assert_eq!(world.entity_name(entity), Some("Door"));
    world.remove::<Handle>(entity).unwrap();
    assert_eq!(world.entity_changes(&mut tracker).destroyed, [entity]);
    assert_eq!(world.entity_name(entity), None);
    let next = world.spawn(A(1));
    assert_eq!((next.index(), world.entity_name(next)), (entity.index(), None));
}

#[test]
fn instances_have_no_cleanup_components_and_remains_have_no_instances() {
    for mut world in both() {
        let value = Arc::new(());
        let source = world.spawn((A(1), Handle(7), Registered, Resource(value.clone())));
        let instance = world.instantiate(source).unwrap();
        assert_eq!(world.get(instance), Ok(&A(1)));
        assert!(!world.has::<Handle>(instance) && !world.has::<Registered>(instance));
        assert!(!world.has::<Resource>(instance));
        assert_eq!(Arc::strong_count(&value), 2);
        assert_eq!(world.despawn(instance), Ok(true));
        assert!(!world.exists(instance));
        world.despawn(source).unwrap();
        let before = world.state_hash();
        let refused = EntityError::CleanupOnly { entity: source };
        assert_eq!(world.instantiate(source), Err(refused));
        for count in [0, 3] {
            let result = world.instantiate_many(source, count).map(|new| new.len());
            assert_eq!(result, Err(refused));
        }
        assert_eq!(world.state_hash(), before);
        // Also after adding components: the entity was despawned.
        world.add(source, A(2)).unwrap();
        assert_eq!(world.instantiate(source), Err(refused));
    }
}

#[test]
fn cleanup_components_that_cannot_be_duplicated_do_not_prevent_instances() {
    #[derive(Component)]
    #[component(name = "game::Unique", cleanup)]
    struct Unique(u32);

    let mut world = world();
    let source = world.spawn((A(1), Unique(1)));
    let all: Vec<_> = world.instantiate_many(source, 3).unwrap().collect();
    assert!(all.iter().all(|&entity| world.has::<A>(entity) && !world.has::<Unique>(entity)));
}

#[test]
fn the_tag_of_remains_can_be_neither_added_nor_removed() {
    for mut world in both() {
        let residue = world.spawn((A(1), Handle(7)));
        world.despawn(residue).unwrap();
        let archetype = world.entity_archetype(residue).unwrap();
        let types = world.component_types(archetype).unwrap();
        let mark = *types.iter().find(|&&ty| ty != ComponentType::of::<Handle>()).unwrap();

        // The mark alone cannot be removed: the entity does not become alive again.
        assert_eq!(world.remove_types(residue, &[mark]), Ok(false));
        assert_eq!(world.despawn(residue), Ok(false));
        // The mark cannot be added to a live entity, which stays alive.
        let living = world.spawn(A(2));
        assert_eq!(world.add_types(living, &[mark]), Ok(false));
        assert_eq!(world.remove::<A>(living), Ok(true));
        assert!(world.exists(living));
        // An archetype is created without the mark.
        let plain = world.archetype::<Handle>();
        let handle = ComponentType::of::<Handle>();
        assert_eq!(world.archetype_of(&[mark, handle]), Ok(plain));
        // A live entity does not get the mark from the archetype of a cleanup-only one.
        let created = world.create(archetype).unwrap();
        let moved = world.spawn(A(3));
        world.set_archetype(moved, archetype).unwrap();
        for entity in [created, moved] {
            assert_eq!(world.entity_archetype(entity), Ok(plain));
            assert_eq!(world.remove::<Handle>(entity), Ok(true));
            assert!(world.exists(entity));
        }
        // A cleanup-only entity may be set to its own archetype.
        assert_eq!(world.set_archetype(residue, archetype), Ok(()));
        assert_eq!(world.entity_archetype(residue), Ok(archetype));

        assert_eq!(world.take::<Handle>(residue), Ok(Handle(7)));
        assert!(!world.exists(residue));
    }
}
