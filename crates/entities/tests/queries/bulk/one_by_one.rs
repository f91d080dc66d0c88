//! Batches over queries have the same result as single changes.

use ancho_entities::{
    Buffer, Changed, ComponentType, Disabled, Entity, IncludeDisabled, IsDisabled, Managed,
    QueryDescriptor, QueryFilter, Shared, With, Without, World, WorldSettings,
};
use proptest::prelude::*;

use crate::common::*;

/// Describes everything about an entity.
fn look(world: &World, entity: Entity) -> String {
    let entities = world;
    let enabled = (
        entities.is_component_enabled::<X>(entity).ok(),
        entities.is_component_enabled::<Y>(entity).ok(),
    );
    let plain = (
        world.get::<A>(entity).ok(),
        world.get::<B>(entity).ok(),
        world.get::<X>(entity).ok(),
        world.get::<Text>(entity).ok(),
    );
    let others = (
        world.has::<Y>(entity),
        world.has::<Tag>(entity),
        world.has::<Disabled>(entity),
        world.buffer::<Item>(entity).ok(),
        world.managed::<Script>(entity).ok(),
        world.shared::<Team>(entity).ok(),
        world.shared::<Mesh>(entity).ok(),
    );
    format!("{enabled:?} {plain:?} {others:?}")
}

fn build(world: &mut World, kinds: &[u16]) {
    let mut all = Vec::new();
    for (at, kind) in (0..).zip(kinds) {
        let entity = world.spawn(());
        let has = |bit: u16| kind >> bit & 1 != 0;
        if has(0) {
            world.add(entity, A(at)).unwrap();
        }
        if has(1) {
            world.add(entity, (X(at), Y)).unwrap();
        }
        if has(2) {
            world.add(entity, Text(at.to_string())).unwrap();
        }
        if has(3) {
            world.add(entity, Tag).unwrap();
        }
        if has(4) {
            world.add(entity, Shared::new(Team(at % 2))).unwrap();
        }
        if has(5) {
            world.add(entity, (0..at % 4).map(Item).collect::<Buffer<_>>()).unwrap();
        }
        if has(6) {
            world.add(entity, Managed::new(Script(at.to_string()))).unwrap();
        }
        if has(7) {
            world.set_enabled(entity, false).unwrap();
        }
        all.push((entity, *kind));
    }
    for (entity, kind) in all {
        for (bit, ty) in [(8, ComponentType::of::<X>()), (9, ComponentType::of::<Y>())] {
            if kind >> bit & 1 != 0 {
                // Not all entities have it.
                let _ = world.set_type_enabled(entity, ty, false);
            }
        }
    }
}

/// Applies a change to all entities that a filter finds.
fn by_query<F: QueryFilter>(world: &mut World, change: u8) -> Option<usize> {
    let query = world.batch(QueryDescriptor::of::<(), (F, IncludeDisabled)>());
    match change {
        0 => query.despawn().ok(),
        1 => query.add(Tag).ok(),
        2 => query.add((B(5), X(6))).ok(),
        3 => query.add((Text("new".into()), Tag)).ok(),
        4 => query.add((Shared::new(Team(1)), Shared::new(Mesh(3)), A(4))).ok(),
        5 => query.add(Buffer::from([Item(9); 3])).ok(),
        6 => query.add((Managed::new(Script("new".into())), Y)).ok(),
        7 => query.add_types(&added()).ok(),
        8 => query.remove::<(A, Tag)>().ok(),
        9 => query.remove::<(Text, Y)>().ok(),
        10 => query.remove::<(Shared<Team>, X)>().ok(),
        11 => query.remove::<(Buffer<Item>, Managed<Script>)>().ok(),
        12 => query.set_shared(Team(1)).ok(),
        13 => query.set_component_enabled::<X>(false).ok(),
        14 => query.set_component_enabled::<Y>(true).ok(),
        15 => query.set_enabled(false).ok(),
        _ => query.set_enabled(true).ok(),
    }
}

fn added() -> [ComponentType; 4] {
    [
        ComponentType::of::<Text>(),
        ComponentType::of::<Y>(),
        ComponentType::of::<A>(),
        ComponentType::of_shared::<Team>(),
    ]
}

/// Applies the change to one entity. Returns whether it had an effect, or `None` if it was refused.
fn to_one(world: &mut World, entity: Entity, change: u8) -> Option<bool> {
    let entities = &mut *world;
    match change {
        0 => entities.despawn(entity).ok(),
        1 => entities.add(entity, Tag).ok(),
        2 => entities.add(entity, (B(5), X(6))).ok(),
        3 => entities.add(entity, (Text("new".into()), Tag)).ok(),
        4 => entities.add(entity, (Shared::new(Team(1)), Shared::new(Mesh(3)), A(4))).ok(),
        5 => entities.add(entity, Buffer::from([Item(9); 3])).ok(),
        6 => entities.add(entity, (Managed::new(Script("new".into())), Y)).ok(),
        7 => entities.add_types(entity, &added()).ok(),
        8 => entities.remove::<(A, Tag)>(entity).ok(),
        9 => entities.remove::<(Text, Y)>(entity).ok(),
        10 => entities.remove::<(Shared<Team>, X)>(entity).ok(),
        11 => entities.remove::<(Buffer<Item>, Managed<Script>)>(entity).ok(),
        12 => entities.set_shared(entity, Team(1)).ok(),
        13 => entities.set_component_enabled::<X>(entity, false).ok().map(|()| true),
        14 => entities.set_component_enabled::<Y>(entity, true).ok().map(|()| true),
        15 => entities.set_enabled(entity, false).ok(),
        _ => entities.set_enabled(entity, true).ok(),
    }
}

fn compare<F: QueryFilter>(world: &mut World, change: u8, shares: bool) {
    let state = world.state_hash();
    let (mut left, mut right) = if shares {
        (world.fork().unwrap(), world.fork().unwrap())
    } else {
        (world.duplicate().unwrap(), world.duplicate().unwrap())
    };
    let found = right.query_filtered::<(), (F, IncludeDisabled)>().to_entities();
    let changed = by_query::<F>(&mut left, change);
    let mut expected = Some(0);
    for &entity in &found {
        let one = to_one(&mut right, entity, change);
        expected = expected.zip(one).map(|(sum, one)| sum + usize::from(one));
    }
    assert_eq!(changed, expected);
    left.check_invariants().unwrap();
    right.check_invariants().unwrap();
    assert_eq!(world.state_hash(), state);
    if changed.is_none() {
        // Unlike one by one, the whole batch is refused.
        assert_eq!(left.state_hash(), state);
        return;
    }
    let mut all = left.all_entities();
    let mut others = right.all_entities();
    all.sort();
    others.sort();
    assert_eq!(all, others);
    for entity in all {
        assert_eq!(look(&left, entity), look(&right, entity), "{entity}");
    }
    // The next entities get the same ids.
    let next = |world: &mut World| world.spawn_many(A(1), 20).collect::<Vec<_>>();
    assert_eq!(next(&mut left), next(&mut right));
    assert_eq!(world.state_hash(), state);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn bulk_changes_equal_single_changes(
        kinds in prop::collection::vec(prop_oneof![0..1024_u16, Just(3), Just(23), Just(256 + 7)], 0..120),
        change in 0..17_u8,
        filter in 0..6_u8,
        limit in prop_oneof![1..8_usize, 8..100_usize],
        shares in any::<bool>(),
    ) {
        let settings = WorldSettings::new().chunk_capacity_limit(limit);
        let mut world = World::with_settings("Simulation", settings);
        build(&mut world, &kinds);
        match filter {
            0 => compare::<()>(&mut world, change, shares),
            1 => compare::<With<X>>(&mut world, change, shares),
            2 => compare::<(With<A>, Without<Y>)>(&mut world, change, shares),
            3 => compare::<IsDisabled<X>>(&mut world, change, shares),
            4 => compare::<With<Shared<Team>>>(&mut world, change, shares),
            _ => compare::<(Changed<A>, Without<Tag>)>(&mut world, change, shares),
        }
    }
}
