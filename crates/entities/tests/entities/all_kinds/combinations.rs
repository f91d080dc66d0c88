//! Independent kinds of components on the same entities.

use std::cell::Cell;
use std::sync::Arc;

use ancho_entities::{
    Buffer, BufferElement, Columns, Component, Entity, LinkedEntityGroup, Managed,
    ManagedComponent, PerChunk, Prefab, Shared, SharedComponent, World,
};

use crate::common::{A, Text, chunks_of};

#[derive(SharedComponent, Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[shared(name = "kinds::Team")]
struct Team(u32);

#[derive(SharedComponent, Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[shared(name = "kinds::Register", cleanup)]
struct Register(u32);

/// A component of three words.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(name = "kinds::Engine", enableable)]
struct Engine([u32; 3]);

#[derive(Component, Clone, Debug, Default, PartialEq)]
#[component(name = "kinds::Bounds")]
struct Bounds(Vec<u32>);

#[derive(ManagedComponent, Clone)]
#[managed(name = "kinds::Script")]
struct Script {
    here: Entity,
    root: Entity,
    #[field(opaque)]
    runs: Cell<u32>,
    #[field(opaque)]
    owner: Arc<()>,
}

#[derive(BufferElement, Clone)]
#[buffer(name = "kinds::Target", inline = 1)]
struct Target(Entity, #[field(opaque)] Arc<()>);

fn team(number: u32) -> Shared<Team> {
    Shared::new(Team(number))
}

fn is_on(world: &World, entity: Entity) -> bool {
    world.is_component_enabled::<Engine>(entity).unwrap()
}

fn members(world: &World, root: Entity) -> Vec<Entity> {
    world.buffer::<LinkedEntityGroup>(root).unwrap().iter().map(|member| member.0).collect()
}

#[test]
fn groups_with_several_shared_values_keep_their_enabled_bits_in_forks() {
    let mut world = chunks_of(3);
    let all: Vec<_> = (0..9)
        .map(|at| match at {
            0..3 => world.spawn((Engine([at; 3]), team(at), Prefab)),
            _ => world.spawn((Engine([at; 3]), A(at), team(at % 2))),
        })
        .collect();
    for &entity in all.iter().step_by(2) {
        world.set_component_enabled::<Engine>(entity, false).unwrap();
    }
    let group: Buffer<_> = all.iter().copied().map(LinkedEntityGroup).collect();
    world.add(all[0], group).unwrap();
    let mut fork = world.fork();
    // Only in the fork, and before the instantiation.
    fork.set_shared(all[8], Team(7)).unwrap();
    fork.set_component_enabled::<Engine>(all[8], true).unwrap();
    for (world, changed) in [(&mut world, false), (&mut fork, true)] {
        let roots: Vec<_> = world.instantiate_many(all[0], 4).unwrap().collect();
        for &root in &roots {
            for (at, &instance) in (0_u32..).zip(&members(world, root)) {
                let last = changed && at == 8;
                assert_eq!(world.get(instance), Ok(&Engine([at; 3])));
                assert_eq!(is_on(world, instance), at % 2 == 1 || last, "{at}");
                let value = if last {
                    7
                } else if at < 3 {
                    at
                } else {
                    at % 2
                };
                assert_eq!(world.shared(instance), Ok(&Team(value)));
                assert!(!world.has::<Prefab>(instance));
            }
        }
        // Disabling moves all of them to other archetypes, with values and bits.
        world.set_enabled(roots[1], false).unwrap();
        for (at, &instance) in (0_u32..).zip(&members(world, roots[1])) {
            assert!(!world.is_enabled(instance));
            assert_eq!(is_on(world, instance), at % 2 == 1 || changed && at == 8, "{at}");
        }
        world.despawn(roots[2]).unwrap();
        assert_eq!(world.entity_count(), 4 * 9);
        assert!(all.iter().all(|&entity| world.exists(entity)));
        world.check_invariants().unwrap();
    }
    let alive = |world: &World| world.shared_reference_count(&Team(7));
    assert_eq!((alive(&world), alive(&fork) > 0), (0, true));
}

#[test]
fn chunk_components_stay_when_shared_values_change_and_managed_values_move() {
    let owner = Arc::new(());
    let mut world = chunks_of(4);
    let script = |here| {
        let (root, owner) = (Entity::NULL, Arc::clone(&owner));
        Managed::new(Script { here, root, runs: Cell::new(0), owner })
    };
    let all: Vec<_> = (0..8).map(|_| world.spawn((team(1), PerChunk::<Bounds>::new()))).collect();
    for &entity in &all {
        world.add(entity, script(entity)).unwrap();
    }
    let runs = |world: &World, entity| world.managed::<Script>(entity).unwrap().runs.get();
    for (at, &entity) in (0..).zip(&all) {
        world.managed::<Script>(entity).unwrap().runs.set(at);
        world.set_chunk_component(entity, Bounds(vec![at / 4; 3])).unwrap();
    }
    let mut fork = world.fork();
    let bounds = |world: &World, at: usize| {
        world.chunk_component::<Bounds>(all[at]).unwrap().0.first().copied()
    };
    // A whole chunk changes its value in place; two rows of the other chunk move to a new one.
    world.batch(&all[..6]).set_shared(Team(2)).unwrap();
    let found: Vec<_> = (0..8).map(|at| bounds(&world, at)).collect();
    let (first, second) = (Some(0), Some(1));
    assert_eq!(found, [first, first, first, first, None, None, second, second]);
    let found: Vec<_> = (0..8).map(|at| bounds(&fork, at)).collect();
    assert_eq!(found, [first, first, first, first, second, second, second, second]);
    // The fork has its own boxes.
    world.managed::<Script>(all[5]).unwrap().runs.set(50);
    fork.batch(&all[4..]).set_shared(Team(3)).unwrap();
    fork.set_chunk_component(all[7], Bounds(vec![9])).unwrap();
    assert_eq!((runs(&world, all[5]), runs(&fork, all[5])), (50, 5));
    assert_eq!((bounds(&world, 7), bounds(&fork, 7)), (second, Some(9)));
    for (at, &entity) in (0..).zip(&all) {
        assert_eq!(runs(&fork, entity), at);
        assert_eq!(fork.managed::<Script>(entity).unwrap().here, entity);
    }
    assert_eq!(Arc::strong_count(&owner), 1 + 8 + 8);
    // The last row of a chunk drops the chunk's values.
    world.batch(&all[..4]).despawn().unwrap();
    fork.despawn_all().unwrap();
    assert_eq!(Arc::strong_count(&owner), 1 + 4);
    assert_eq!(fork.shared_reference_count(&Team(3)), 0);
}

#[test]
fn shared_cleanup_values_stay_when_a_group_is_despawned() {
    let mut world = chunks_of(2);
    let mut all = vec![world.spawn(A(0))];
    for at in 0..6_u32 {
        let register = Shared::new(Register(at % 2));
        all.push(match at {
            0..4 => world.spawn((A(at), team(at % 3), register)),
            _ => world.spawn((Text(at.to_string()), register)),
        });
    }
    let group: Buffer<_> = all.iter().copied().map(LinkedEntityGroup).collect();
    world.add(all[0], group).unwrap();
    let mut fork = world.fork();
    assert_eq!(world.despawn(all[0]), Ok(true));
    assert!(!world.exists(all[0]));
    for (at, &entity) in (0..).zip(&all[1..]) {
        assert_eq!(world.shared(entity), Ok(&Register(at % 2)));
        assert!(!world.has::<A>(entity) && !world.has::<Text>(entity));
        assert!(!world.has::<Shared<Team>>(entity));
    }
    // The other values are gone. Each cleanup value has three entities, two in a chunk.
    assert_eq!(world.shared_values::<Team>().count(), 0);
    assert_eq!(world.shared_reference_count(&Register(0)), 2);
    assert_eq!(world.shared_reference_count(&Register(1)), 2);
    world.batch(&all[1..3]).set_shared(Register(5)).unwrap();
    for &entity in &all[1..] {
        assert_eq!(world.remove::<Shared<Register>>(entity), Ok(true));
        assert!(!world.exists(entity));
    }
    assert_eq!((world.entity_count(), world.shared_values::<Register>().count()), (0, 0));
    // The fork is unchanged.
    assert_eq!((fork.entity_count(), fork.shared_values::<Team>().count()), (7, 3));
    assert_eq!(fork.despawn_all(), Ok(7));
    assert_eq!((fork.entity_count(), fork.shared_values::<Register>().count()), (6, 2));
}

#[test]
fn managed_values_and_buffers_of_instances_refer_to_the_instances() {
    for count in [1, 2, 5, 50] {
        let owner = Arc::new(());
        let mut world = chunks_of(4);
        let (root, other) = (world.spawn(A(0)), world.spawn(A(1)));
        let all = [root, world.spawn(A(2)), world.spawn(Text("x".into()))];
        for &entity in &all {
            let script =
                Script { here: entity, root, runs: Cell::new(3), owner: Arc::clone(&owner) };
            let targets = [all[0], all[1], all[2], other].map(|to| Target(to, Arc::clone(&owner)));
            // One inline, or all of them on the heap.
            let targets = if entity == root { targets[1..2].to_vec() } else { targets.to_vec() };
            world.add(entity, (Managed::new(script), Buffer::from(targets))).unwrap();
        }
        world.add(root, Buffer::from(all.map(LinkedEntityGroup))).unwrap();
        let roots: Vec<_> = world.instantiate_many(root, count).unwrap().collect();
        assert_eq!(Arc::strong_count(&owner), 1 + (3 + 9) * (count + 1));
        for &instance in &roots {
            let group = members(&world, instance);
            for &member in &group {
                let script = world.managed::<Script>(member).unwrap();
                assert_eq!((script.here, script.root), (member, instance));
                script.runs.set(script.runs.get() + 1);
                let targets = world.buffer::<Target>(member).unwrap().iter().map(|target| target.0);
                let expected = [group[0], group[1], group[2], other];
                let expected = if member == instance { &expected[1..2] } else { &expected };
                assert!(targets.eq(expected.iter().copied()));
            }
        }
        // Each has its own box.
        let runs = |entity| world.managed::<Script>(entity).unwrap().runs.get();
        assert!(all.iter().all(|&entity| runs(entity) == 3));
        let group = members(&world, roots[0]);
        assert!(group.iter().all(|&entity| runs(entity) == 4));
        for &instance in &roots {
            world.despawn(instance).unwrap();
        }
        assert_eq!((world.entity_count(), Arc::strong_count(&owner)), (4, 1 + 12));
        drop(world);
        assert_eq!(Arc::strong_count(&owner), 1);
    }
}

#[test]
fn new_columns_are_enabled_in_chunks_of_any_size() {
    let owner = Arc::new(());
    for limit in [1, 2, 3, 4, 5, 63, 64, 65, 130] {
        let mut world = chunks_of(limit);
        // The first rows go to a chunk with entities, one of which has the component disabled.
        let mut all: Vec<_> =
            world.spawn_batch((0..3).map(|at| (Engine([at; 3]), Text(at.to_string())))).collect();
        world.set_component_enabled::<Engine>(all[2], false).unwrap();
        let mut fork = world.fork();
        let columns = Columns::new(150)
            .with(|at| Text((at + 3).to_string()))
            .with(|at| Engine([at as u32 + 3; 3]));
        all.extend(world.spawn_columns(columns).unwrap());
        for (at, &entity) in (0..).zip(&all) {
            assert_eq!(world.get(entity), Ok(&Engine([at; 3])), "{limit}");
            assert_eq!(world.get(entity), Ok(&Text(at.to_string())), "{limit}");
            assert_eq!(is_on(&world, entity), at != 2, "{limit}: {at}");
        }
        let on: usize = world.chunks().map(|chunk| chunk.enabled_count::<Engine>()).sum();
        assert_eq!(on, 152);
        assert!(world.chunks().all(|chunk| chunk.len() <= limit));
        // Despawned entities leave no bits for new ones in reused rows and ids.
        world.batch(&all[1..140]).despawn().unwrap();
        world.despawn_all().unwrap();
        let columns = Columns::new(10)
            .with(|at| Engine([at as u32; 3]))
            .with(|_| Text(Arc::strong_count(&owner).to_string()));
        let again: Vec<_> = world.spawn_columns(columns).unwrap().collect();
        assert!(again.iter().zip(&all).all(|(new, old)| new.index() == old.index() && new != old));
        assert!(again.iter().all(|&entity| is_on(&world, entity)));
        assert!(all.iter().all(|&entity| !world.exists(entity)));
        // The fork is unchanged.
        assert_eq!((fork.entity_count(), is_on(&fork, all[2])), (3, false));
        let made = fork.spawn_columns(Columns::new(5).with(|at| Engine([at as u32; 3]))).unwrap();
        assert_eq!(made.len(), 5);
    }
}
