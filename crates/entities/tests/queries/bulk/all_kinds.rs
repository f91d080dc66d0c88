//! Batches over queries, with all kinds of components, in worlds that share memory with forks.

use std::sync::Arc;

use ancho_entities::{
    Buffer, Component, IsDisabled, Managed, PerChunk, QueryDescriptor, Shared, With, Without, World,
};

use crate::common::*;

/// A component that stays when its entity is despawned.
#[derive(Component, Clone, Debug)]
#[component(name = "queries::Handle", cleanup)]
struct Handle(#[field(opaque)] Arc<()>);

#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
#[component(name = "queries::ChunkBounds")]
struct Bounds(u32);

/// A component that cannot be duplicated.
#[derive(Component, Debug, Default)]
#[component(name = "queries::Unique")]
struct Unique;

fn item(at: u32) -> Buffer<Item> {
    (0..at % 5).map(Item).collect()
}

/// Applies the same change by query and one by one, and compares the worlds.
fn both_ways(
    world: &mut World,
    by_query: impl Fn(&mut World) -> usize,
    one_by_one: impl Fn(&mut World, ancho_entities::Entity),
) {
    let state = world.state_hash();
    let (mut left, mut right) = (world.fork().unwrap(), world.fork().unwrap());
    assert_eq!(by_query(&mut left), 95);
    for entity in right.query::<&A>().to_entities() {
        one_by_one(&mut right, entity);
    }
    left.check_invariants().unwrap();
    right.check_invariants().unwrap();
    assert_eq!(left.state_hash(), right.state_hash());
    assert_eq!(world.state_hash(), state, "the world they were forked from is as it was");
    // The shared memory is still valid for all of them.
    left.query_mut::<&mut A>().for_each(|a| a.0 += 1000);
    assert_eq!(world.state_hash(), state);
    drop(left);
    right.query_mut::<&mut A>().for_each(|a| a.0 += 1000);
    assert_eq!(world.state_hash(), state);
}

#[test]
fn whole_chunks_with_forks_alive() {
    let mut world = chunks_of(10);
    world.spawn_batch((0..95).map(|at| (A(at), X(at), Text(at.to_string()), item(at))));
    both_ways(
        &mut world,
        |world| world.batch(QueryDescriptor::of::<&A, ()>()).add(Tag).unwrap(),
        |world, entity| {
            world.add(entity, Tag).unwrap();
        },
    );
    both_ways(
        &mut world,
        |world| world.batch(QueryDescriptor::of::<&A, ()>()).add(Y).unwrap(),
        |world, entity| {
            world.add(entity, Y).unwrap();
        },
    );
    let team = || Shared::new(Team(4));
    both_ways(
        &mut world,
        |world| world.batch(QueryDescriptor::of::<&A, ()>()).add(team()).unwrap(),
        |world, entity| {
            world.add(entity, team()).unwrap();
        },
    );
    both_ways(
        &mut world,
        |world| world.batch(QueryDescriptor::of::<&A, ()>()).add(B(3)).unwrap(),
        |world, entity| {
            world.add(entity, B(3)).unwrap();
        },
    );
    both_ways(
        &mut world,
        |world| world.batch(QueryDescriptor::of::<&A, ()>()).remove::<Text>().unwrap(),
        |world, entity| {
            world.remove::<Text>(entity).unwrap();
        },
    );
    both_ways(
        &mut world,
        |world| world.batch(QueryDescriptor::of::<&A, ()>()).despawn().unwrap(),
        |world, entity| {
            world.despawn(entity).unwrap();
        },
    );
}

#[test]
fn tags_are_added_to_memory_shared_with_forks_without_a_copy() {
    use ancho_entities::{ChunkArena, WorldSettings};

    let arena = ChunkArena::with_limit(10 * 16 * 1024);
    let settings = WorldSettings::new().chunk_capacity_limit(10).arena(arena.clone());
    let mut world = Checked(World::with_settings("Simulation", settings));
    world.spawn_batch((0..95).map(|at| (A(at), Text(at.to_string()))));
    let fork = Checked(world.fork().unwrap());
    let state = fork.state_hash();
    assert_eq!(world.batch(QueryDescriptor::of::<&A, ()>()).add((Tag, Y)).unwrap(), 95);
    assert_eq!(world.batch(QueryDescriptor::of::<&A, ()>()).remove::<Tag>(), Ok(95));
    assert_eq!(arena.stats().used, 10 * 16 * 1024, "and there is no more");
    assert_eq!(fork.state_hash(), state);
    world.batch(QueryDescriptor::of::<&A, ()>()).add(B(1)).unwrap_err();
    // Both worlds share the memory under two archetypes. The last owner drops the contents.
    drop(fork);
    assert!(world.query::<(&A, &Text)>().iter().all(|(a, text)| text.0 == a.0.to_string()));
    world.query_mut::<&mut Text>().for_each(|text| text.0.push('!'));
}

#[test]
fn rows_are_not_added_to_whole_chunks_that_forks_share() {
    // Of two archetypes that get a tag, whole chunks of the first change in place and have room, while rows of the
    // second move.
    let mut world = chunks_of(10);
    world.spawn_batch((0..16).map(|at| (A(at), X(at))));
    world.spawn_batch((16..25).map(|at| (A(at), X(at), Y)));
    let off = world.query::<&Y>().to_entities()[3];
    world.set_component_enabled::<Y>(off, false).unwrap();
    let fork = Checked(world.fork().unwrap());
    let state = fork.state_hash();
    assert_eq!(world.batch(QueryDescriptor::of::<&A, Without<Y>>()).add((Tag, Y)).unwrap(), 17);
    assert_eq!(fork.state_hash(), state);
    assert_eq!(world.batch(QueryDescriptor::of::<&X, With<Tag>>()).remove::<Tag>(), Ok(17));
    assert_eq!(fork.state_hash(), state);
    let mut found: Vec<_> = world.query::<(&A, &X)>().iter().map(|(a, x)| (a.0, x.0)).collect();
    found.sort();
    assert!(found.into_iter().eq((0..25).map(|at| (at, at))));
    assert_eq!(world.query_filtered::<(), IsDisabled<Y>>().to_entities(), [off]);
}

#[test]
fn values_that_cannot_be_duplicated_are_added_to_unshared_memory() {
    let mut world = chunks_of(4);
    world.spawn_batch((0..8).map(|at| (A(at), Text(at.to_string()))));
    let mut fork = Checked(world.fork().unwrap());
    let types = [ancho_entities::ComponentType::of::<Unique>()];
    assert_eq!(world.batch(QueryDescriptor::of::<&A, ()>()).add_types(&types), Ok(8));
    world.query_mut::<&mut Text>().for_each(|text| text.0.push('!'));
    world.fork().unwrap_err();
    assert!(fork.query::<(&A, &Text)>().iter().all(|(a, text)| text.0 == a.0.to_string()));
    drop(world);
    fork.query_mut::<&mut Text>().for_each(|text| text.0.push('?'));
}

#[test]
fn values_are_dropped_once() {
    let owner = Arc::new(());
    let count = || Arc::strong_count(&owner) - 1;
    for forks in [false, true] {
        let mut world = chunks_of(10);
        world.spawn_batch((0..55).map(|at| (A(at), X(at))));
        for entity in world.query::<&A>().to_entities().into_iter().step_by(4) {
            world.set_component_enabled::<X>(entity, false).unwrap();
        }
        let mut fork = forks.then(|| world.fork().unwrap());
        assert_eq!(
            world.batch(QueryDescriptor::of::<&X, ()>()).add(Owned(owner.clone())).unwrap(),
            41
        );
        assert_eq!(count(), 41);
        // Existing values are replaced, and the other entities get new ones.
        assert_eq!(
            world.batch(QueryDescriptor::of::<&A, ()>()).add(Owned(owner.clone())).unwrap(),
            14
        );
        assert_eq!(count(), 55);
        if forks {
            fork = Some(world.fork().unwrap());
            assert_eq!(
                world
                    .batch(QueryDescriptor::of::<&A, ()>())
                    .add((B(1), Owned(owner.clone())))
                    .unwrap(),
                55
            );
            assert_eq!(count(), 110);
        }
        assert_eq!(world.batch(QueryDescriptor::of::<&X, ()>()).remove::<Owned>(), Ok(41));
        assert_eq!(count(), if forks { 69 } else { 14 });
        assert_eq!(world.batch(QueryDescriptor::of::<&Owned, ()>()).despawn(), Ok(14));
        assert_eq!(count(), if forks { 55 } else { 0 });
        if let Some(mut fork) = fork {
            assert_eq!(fork.batch(QueryDescriptor::of::<&Owned, With<X>>()).despawn(), Ok(41));
            assert_eq!(count(), 14);
            fork.check_invariants().unwrap();
        }
    }
    assert_eq!(count(), 0);
}

#[test]
fn buffers_and_managed_components_move_with_their_entities() {
    let mut world = chunks_of(10);
    world.spawn_batch((0..35).map(|at| (A(at), item(at), Managed::new(Script(at.to_string())))));
    world.spawn_batch((0..25).map(|at| (A(at), item(at))));
    let check = |world: &World| {
        assert_eq!(world.query::<&A>().count(), 60);
        for entity in world.query::<&A>().to_entities() {
            let at = world.get::<A>(entity).unwrap().0;
            assert_eq!(world.buffer::<Item>(entity).unwrap().len(), at as usize % 5);
            if let Ok(script) = world.managed::<Script>(entity) {
                assert_eq!(script.0, at.to_string());
            }
        }
    };
    let mut fork = Checked(world.fork().unwrap());
    for world in [&mut world, &mut fork] {
        world.batch(QueryDescriptor::of::<&A, ()>()).add(Tag).unwrap();
        check(world);
        world.batch(QueryDescriptor::of::<&A, ()>()).add(B(7)).unwrap();
        check(world);
        world
            .batch(QueryDescriptor::of::<&A, ()>())
            .add(Managed::new(Script("new".into())))
            .unwrap();
        assert!(
            world
                .query::<&A>()
                .to_entities()
                .iter()
                .all(|&entity| { world.managed::<Script>(entity).unwrap().0 == "new" })
        );
        world.batch(QueryDescriptor::of::<&A, ()>()).add(Buffer::from([Item(5); 7])).unwrap();
        assert!(
            world
                .query::<&A>()
                .to_entities()
                .iter()
                .all(|&entity| { *world.buffer::<Item>(entity).unwrap() == [Item(5); 7] })
        );
        world.batch(QueryDescriptor::of::<&A, ()>()).remove::<Managed<Script>>().unwrap();
        world.batch(QueryDescriptor::of::<&A, ()>()).remove::<Buffer<Item>>().unwrap();
        assert_eq!(world.query::<(&A, &B, &Tag)>().count(), 60);
    }
}

#[test]
fn cleanup_components_of_despawned_entities_remain() {
    let owner = Arc::new(());
    let mut world = chunks_of(4);
    world.spawn_batch((0..10).map(|at| (A(at), X(at), Handle(owner.clone()))));
    world.spawn_batch((0..5).map(|at| (X(at), Handle(owner.clone()))));
    world.spawn_many((A(9), Shared::new(Team(1))), 5);
    let off = world.query::<(&A, &X)>().to_entities()[2];
    world.set_component_enabled::<X>(off, false).unwrap();
    let fork = Checked(world.fork().unwrap());
    assert_eq!(world.batch(QueryDescriptor::of::<&A, Without<X>>()).despawn(), Ok(6));
    assert_eq!(world.batch(QueryDescriptor::of::<&X, ()>()).despawn(), Ok(14));
    assert_eq!((world.entity_count(), world.query::<&Handle>().count()), (15, 15));
    assert_eq!(
        world.batch(QueryDescriptor::of::<(), ()>()).despawn(),
        Ok(0),
        "they are gone but for what stays"
    );
    assert_eq!(world.batch(QueryDescriptor::of::<(), ()>()).remove::<Handle>(), Ok(15));
    assert_eq!(world.entity_count(), 0);
    assert_eq!(fork.query::<&Handle>().count(), 15);
    drop(fork);
    assert_eq!(Arc::strong_count(&owner), 1);
}

#[test]
fn chunks_of_another_archetype_start_with_separate_chunk_components() {
    let mut world = chunks_of(10);
    world.spawn_many((A(1), PerChunk::<Bounds>::new(), Shared::new(Team(1))), 25);
    world.for_each_chunk_mut(|mut chunk| {
        chunk.chunk_component_mut::<Bounds>().unwrap().0 = 7;
    });
    let bounds = |world: &World| -> Vec<u32> {
        let chunks = world.chunks();
        chunks.map(|chunk| chunk.chunk_component::<Bounds>().unwrap().0).collect()
    };
    world.batch(QueryDescriptor::of::<&A, ()>()).set_shared(Team(2)).unwrap();
    assert_eq!(bounds(&world), [7, 7, 7], "they are the same chunks");
    world.batch(QueryDescriptor::of::<&A, ()>()).add(Tag).unwrap();
    assert_eq!(bounds(&world), [0, 0, 0]);
    world.batch(QueryDescriptor::of::<&A, ()>()).remove::<PerChunk<Bounds>>().unwrap();
    world.batch(QueryDescriptor::of::<&A, ()>()).add(PerChunk::<Bounds>::new()).unwrap();
    assert_eq!(bounds(&world), [0, 0, 0]);
}

/// A zero-sized component with a destructor.
#[derive(Component, Debug)]
#[component(name = "queries::Counted")]
struct Counted;

mod counted {
    use std::cell::Cell;

    use super::Counted;

    thread_local! {
        static ALIVE: Cell<i64> = const { Cell::new(0) };
    }

    pub(super) fn alive() -> i64 {
        ALIVE.get()
    }

    pub(super) fn new() -> Counted {
        ALIVE.set(ALIVE.get() + 1);
        Counted
    }

    impl Clone for Counted {
        fn clone(&self) -> Self {
            new()
        }
    }

    impl Drop for Counted {
        fn drop(&mut self) {
            ALIVE.set(ALIVE.get() - 1);
        }
    }
}

#[test]
fn tags_that_are_dropped_are_counted() {
    let mut world = chunks_of(10);
    world.spawn_batch((0..35).map(|at| (A(at), X(at))));
    let fork = world.fork().unwrap();
    assert_eq!(world.batch(QueryDescriptor::of::<&A, ()>()).add(counted::new()).unwrap(), 35);
    assert_eq!(counted::alive(), 35);
    let other = world.fork().unwrap();
    // It is unspecified which chunks are shared: a copied chunk has its own tags.
    assert_eq!(
        world.batch(QueryDescriptor::of::<&A, ()>()).add((Tag, counted::new())).unwrap(),
        35
    );
    assert_eq!(counted::alive(), 70);
    drop(other);
    assert_eq!(counted::alive(), 35);
    assert_eq!(world.batch(QueryDescriptor::of::<&A, ()>()).add(counted::new()).unwrap(), 0);
    assert_eq!(counted::alive(), 35);
    let entity = world.query::<&A>().to_entities()[12];
    world.set_component_enabled::<X>(entity, false).unwrap();
    assert_eq!(world.batch(QueryDescriptor::of::<&X, ()>()).remove::<Counted>(), Ok(34));
    assert_eq!(counted::alive(), 1);
    drop((world, fork));
    assert_eq!(counted::alive(), 0);
}
