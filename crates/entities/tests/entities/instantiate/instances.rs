//! Entities created as copies of others.

use std::sync::Arc;

use ancho_entities::{
    ChunkArena, Component, ComponentType, Entity, EntityError, EntityTracker, FieldKind,
    RuntimeType, WorldSettings,
};

use crate::common::{A, B, C, Checked, Tag, Text, both, chunk_entities, chunks_of, world};
use crate::enabled::bits::{AIM, Engine, Lit};

/// A component that counts its instances.
#[derive(Component, Clone, Debug)]
#[component(name = "game::Shared")]
struct Counted(#[field(opaque)] Arc<()>);

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(name = "game::Links")]
struct Links {
    own: Entity,
    others: [Entity; 2],
}

/// A component that owns memory with entities.
#[derive(Component, Clone, Debug, PartialEq)]
#[component(name = "game::Members")]
struct Members(Vec<Entity>);

/// A component that can be neither copied nor cloned.
#[derive(Component, Debug)]
#[component(name = "game::Alone")]
struct Alone(u32);

#[test]
fn ten_thousand_copies_are_equal() {
    for mut world in both() {
        let value = Arc::new(());
        let set = (A(7), C(u64::MAX - 3), Text("orc".into()), Tag, Counted(value.clone()));
        let source = world.spawn(set);
        let all: Vec<_> = world.instantiate_many(source, 10_000).unwrap().collect();
        assert_eq!(all.len(), 10_000);
        assert_eq!(world.entity_count(), 10_001);
        assert_eq!(Arc::strong_count(&value), 10_002);
        for &entity in &all {
            assert_eq!(world.get(entity), Ok(&A(7)));
            assert_eq!(world.get(entity), Ok(&C(u64::MAX - 3)));
            assert_eq!(world.get(entity), Ok(&Text("orc".into())));
            assert!(world.has::<(Tag, Counted)>(entity));
        }
        // Each instance has its own value.
        world.get_mut::<Text>(all[5000]).unwrap().0.push('!');
        assert_eq!(world.get(source), Ok(&Text("orc".into())));
        assert_eq!(world.get(all[4999]), Ok(&Text("orc".into())));
        // All have the source's archetype, as if created one by one.
        let entities = &world;
        let home = entities.entity_archetype(source);
        assert!(all.iter().all(|&entity| entities.entity_archetype(entity) == home));
        world.despawn_all().unwrap();
        assert_eq!(Arc::strong_count(&value), 1);
    }
}

#[test]
fn many_instances_equal_single_ones() {
    let (mut one, mut many) = (chunks_of(4), chunks_of(4));
    let sources = [&mut one, &mut many].map(|world| {
        let source = world.spawn((A(1), Text("x".into())));
        world.spawn_many((A(2), Text("y".into())), 2);
        source
    });
    assert_eq!(sources[0], sources[1]);
    let singly: Vec<_> = (0..9).map(|_| one.instantiate(sources[0]).unwrap()).collect();
    let at_once: Vec<_> = many.instantiate_many(sources[1], 9).unwrap().collect();
    assert_eq!(singly, at_once);
    assert_eq!(one.state_hash(), many.state_hash());
    assert_eq!(chunk_entities(&one), chunk_entities(&many));
}

#[test]
fn zero_instances_are_allowed() {
    // DIFFERENCE: counts are `usize`, so none is negative.
    for mut world in both() {
        let source = world.spawn((A(1), Text("x".into())));
        let before = world.state_hash();
        assert_eq!(world.instantiate_many(source, 0).unwrap().len(), 0);
        assert_eq!(world.state_hash(), before);
        let empty = world.spawn(());
        let copies: Vec<_> = world.instantiate_many(empty, 5).unwrap().collect();
        assert!(copies.iter().all(|&entity| world.exists(entity)));
        assert_eq!(world.entity_count(), 7);
    }
}

#[test]
fn a_missing_source_is_refused() {
    for mut world in both() {
        let gone = world.spawn(A(1));
        world.despawn(gone).unwrap();
        let before = world.state_hash();
        for source in [gone, Entity::NULL, Entity::from_parts(9, 1)] {
            let entities = &mut world;
            let result = entities.instantiate(source);
            assert!(matches!(result, Err(EntityError::NoSuchEntity { .. })));
            for count in [0, 3] {
                let result = entities.instantiate_many(source, count).map(|new| new.len());
                assert!(matches!(result, Err(EntityError::NoSuchEntity { .. })));
            }
        }
        assert_eq!(world.state_hash(), before);
    }
}

#[test]
fn a_source_that_cannot_be_duplicated_is_refused() {
    for mut world in both() {
        let source = world.spawn((A(1), Text("x".into()), Alone(1)));
        let before = world.state_hash();
        let component = ComponentType::of::<Alone>();
        let refused = EntityError::NotDuplicable { component };
        assert_eq!(world.instantiate(source), Err(refused));
        for count in [0, 3] {
            let result = world.instantiate_many(source, count).map(|new| new.len());
            assert_eq!(result, Err(refused));
        }
        assert_eq!(world.state_hash(), before);
        assert_eq!(world.take::<Alone>(source).unwrap().0, 1);
        assert!(world.instantiate(source).is_ok());
    }
}

#[test]
fn references_to_the_source_become_references_to_the_instance() {
    for limit in [3, 1000] {
        let mut world = chunks_of(limit);
        let [near, far] = [world.spawn(A(1)), world.spawn(A(2))];
        let source = world.spawn((B(1), Tag));
        let old = Entity::from_parts(source.index(), source.version() + 1);
        world.add(source, Links { own: source, others: [near, source] }).unwrap();
        world.add(source, Members(vec![far, source, Entity::NULL, old, source])).unwrap();
        let all: Vec<_> = world.instantiate_many(source, 10).unwrap().collect();
        for &own in &all {
            assert_eq!(world.get(own), Ok(&Links { own, others: [near, own] }));
            assert_eq!(world.get(own), Ok(&Members(vec![far, own, Entity::NULL, old, own])));
        }
        assert_eq!(world.get(source), Ok(&Links { own: source, others: [near, source] }));
        assert_eq!(world.get(source), Ok(&Members(vec![far, source, Entity::NULL, old, source])));
        // An instance of an instance behaves the same.
        let own = world.instantiate(all[4]).unwrap();
        assert_eq!(world.get(own), Ok(&Links { own, others: [near, own] }));
    }
}

#[test]
fn references_of_other_entities_to_the_source_stay() {
    let mut world = world();
    let source = world.spawn(A(1));
    let other = world.spawn(Links { own: source, others: [source; 2] });
    world.instantiate(source).unwrap();
    assert_eq!(world.get(other), Ok(&Links { own: source, others: [source; 2] }));
}

#[test]
fn references_in_runtime_types_are_remapped() {
    let ty = RuntimeType::new("game::Script", 24, 8).field("target", 8, FieldKind::Entity).field(
        "number",
        16,
        FieldKind::U64,
    );
    let ty = ComponentType::register(ty).unwrap();
    let mut world = world();
    let source = world.spawn(A(1));
    let bytes = |entity: Entity| {
        let bits = entity.to_bits().to_ne_bytes();
        // The last number has the bits of the entity, but is not one.
        [[9; 8], bits, source.to_bits().to_ne_bytes()].concat()
    };
    world.add_bytes(source, ty, &bytes(source)).unwrap();
    let instance = world.instantiate(source).unwrap();
    assert_eq!(world.get_bytes(instance, ty), Ok(&bytes(instance)[..]));
    assert_eq!(world.get_bytes(source, ty), Ok(&bytes(source)[..]));
}

#[test]
fn disabled_components_stay_disabled() {
    let mut world = chunks_of(70);
    let source = world.spawn((Engine(1), Lit, A(1)));
    let entities = &mut world;
    entities.add_types(source, &[*AIM]).unwrap();
    entities.set_component_enabled::<Lit>(source, false).unwrap();
    entities.set_type_enabled(source, *AIM, false).unwrap();
    let all: Vec<_> = entities.instantiate_many(source, 150).unwrap().collect();
    for &entity in &all {
        assert_eq!(entities.is_component_enabled::<Engine>(entity), Ok(true));
        assert_eq!(entities.is_component_enabled::<Lit>(entity), Ok(false));
        assert_eq!(entities.is_type_enabled(entity, *AIM), Ok(false));
    }
    entities.set_component_enabled::<Lit>(all[3], true).unwrap();
    assert_eq!(entities.is_component_enabled::<Lit>(source), Ok(false));
    let on: usize = entities.chunks().map(|chunk| chunk.enabled_count::<Lit>()).sum();
    assert_eq!(on, 1);
}

#[test]
fn names_are_kept() {
    let mut world = world();
    let source = world.spawn(A(1));
    let nameless = world.instantiate(source).unwrap();
    world.set_name(source, "Orc").unwrap();
    let all: Vec<_> = world.instantiate_many(source, 3).unwrap().collect();
    world.set_name(all[1], "Chief").unwrap();
    let names = [source, nameless, all[0], all[1], all[2]];
    let names = names.map(|entity| world.entity_name(entity));
    assert_eq!(names, [Some("Orc"), None, Some("Orc"), Some("Chief"), Some("Orc")]);
}

#[test]
fn instances_are_new_entities() {
    let mut world = chunks_of(4);
    let source = world.spawn((A(1), B(1)));
    world.spawn_many((A(1), B(1)), 5);
    let mut tracker = EntityTracker::new();
    world.entity_changes(&mut tracker);
    let before = world.version();
    let now = world.advance_version();
    let mut all: Vec<_> = world.instantiate_many(source, 3).unwrap().collect();
    all.sort_unstable();
    let changes = world.entity_changes(&mut tracker);
    assert_eq!((changes.created, changes.destroyed), (all, vec![]));
    // The chunk of the source has not changed; the chunks of the instances have.
    let changed: Vec<_> = world
        .chunks()
        .map(|chunk| (chunk.did_change::<A>(before), chunk.did_order_change(before)))
        .collect();
    assert_eq!(changed, [(false, false), (true, true), (true, true)]);
    let last = world.chunks().last().unwrap();
    assert_eq!((last.change_version::<B>(), last.order_version()), (Some(now), now));
}

#[test]
fn the_source_can_be_in_memory_shared_with_a_fork() {
    for room in [0, 1, 2] {
        let mut world = chunks_of(4);
        let value = Arc::new(());
        let set = |text: &str| (A(1), Text(text.into()), Counted(value.clone()));
        let source = world.spawn(set("source"));
        world.spawn_many(set("other"), 3 - room);
        world.add(source, Links { own: source, others: [source; 2] }).unwrap();
        let mut fork = world.fork();
        let before = world.state_hash();
        let all: Vec<_> = fork.instantiate_many(source, 6).unwrap().collect();
        assert_eq!(world.state_hash(), before);
        for &own in &all {
            assert_eq!(fork.get(own), Ok(&Links { own, others: [own; 2] }));
            assert_eq!(fork.get(own), Ok(&Text("source".into())));
            assert!(!world.exists(own));
        }
        let again: Vec<_> = world.instantiate_many(source, 6).unwrap().collect();
        assert_eq!((again, world.state_hash()), (all, fork.state_hash()));
        drop(fork);
        drop(world);
        assert_eq!(Arc::strong_count(&value), 1);
    }
}

#[test]
fn nothing_is_created_without_memory_for_all() {
    let arena = ChunkArena::with_limit(3 * 16 * 1024);
    let settings = WorldSettings::new().chunk_capacity_limit(4).arena(arena.clone());
    let mut world = Checked::with_settings(settings);
    let value = Arc::new(());
    let source = world.spawn((A(1), Counted(value.clone())));
    world.spawn_many((A(1), Counted(value.clone())), 1);
    let (before, used) = (world.state_hash(), arena.stats().used);
    for count in [11, 12, 100] {
        let result = world.instantiate_many(source, count).map(|new| new.len());
        assert!(matches!(result, Err(EntityError::OutOfMemory(_))));
        assert_eq!((world.state_hash(), arena.stats().used), (before, used));
        assert_eq!((world.entity_count(), Arc::strong_count(&value)), (2, 3));
    }
    assert_eq!(world.instantiate_many(source, 10).unwrap().len(), 10);
    assert!(matches!(world.instantiate(source), Err(EntityError::OutOfMemory(_))));
    assert_eq!(Arc::strong_count(&value), 13);
}
