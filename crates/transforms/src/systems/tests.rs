//! The cached hierarchy stays consistent, and is rebuilt only when necessary.

use ancho_entities::{Child, Component, Disabled, Entity, Parent, Prefab, World};
use glam::{Mat4, Vec3};

use super::update_transforms;
use crate::components::{CustomLocalToWorld, LocalToWorld, Static};
use crate::local_transform::LocalTransform;
use crate::update::with_state;

/// A component that is unrelated to transforms.
#[derive(Component, Clone, Copy)]
#[component(name = "hierarchy::Tag")]
struct Tag;

/// Returns the number of rebuilds.
fn rebuilds(world: &mut World) -> u32 {
    with_state(world, |_, state| state.cache.hierarchy.rebuilds())
}

fn check(world: &mut World) {
    world.check_invariants().unwrap();
    with_state(world, |world, state| {
        state.cache.hierarchy.check(&state.cache.matrices);
        state.cache.hierarchy.check_world(world);
    });
}

/// Returns the address of the cache.
fn address(world: &mut World) -> usize {
    with_state(world, |_, state| state.cache.hierarchy.address())
}

fn node(x: f32) -> LocalTransform {
    LocalTransform::from_position(Vec3::new(x, 0.0, 0.0))
}

fn bad_or_good(number: usize) -> Mat4 {
    if number == 0 { Mat4::NAN } else { Mat4::IDENTITY }
}

/// Spawns a root with `wide` children, each of which has `wide` children.
fn bush(world: &mut World, wide: usize) -> Vec<Entity> {
    let mut all = vec![world.spawn(node(1.0))];
    for number in 0..wide + wide * wide {
        let parent = if number < wide { all[0] } else { all[1 + (number - wide) / wide] };
        all.push(world.spawn((node(1.0), Parent(parent))));
    }
    update_transforms(world).unwrap();
    all
}

#[test]
fn changes_of_single_nodes_rarely_cause_a_rebuild() {
    let mut world = World::new("hierarchy");
    let all = bush(&mut world, 30);
    let before = rebuilds(&mut world);
    for number in 0..200 {
        // Despawns a leaf, and spawns an entity below another leaf.
        world.despawn(all[900 - number]).unwrap();
        let leaf = world.spawn((node(1.0), Parent(all[31 + number % 20])));
        // Moves a row to another chunk.
        world.add(all[100 + number], Tag).unwrap();
        // Moves a branch to another parent, of the same level or one below.
        world.add(all[1 + number % 10], Parent(all[11 + number % 20])).unwrap();
        update_transforms(&mut world).unwrap();
        check(&mut world);
        assert!(world.get::<LocalToWorld>(leaf).unwrap().position().x >= 4.0);
    }
    // The cache is rebuilt only when many places have been freed.
    let made = rebuilds(&mut world) - before;
    assert!(made < 10, "made again {made} times");
}

#[test]
fn spawned_and_despawned_trees_cause_no_rebuild() {
    let mut world = World::new("hierarchy");
    bush(&mut world, 20);
    let before = rebuilds(&mut world);
    for _ in 0..300 {
        let root = world.spawn(node(1.0));
        let inner = world.spawn((node(1.0), Parent(root)));
        let leaves: Vec<Entity> = (0..3).map(|_| world.spawn((node(1.0), Parent(inner)))).collect();
        update_transforms(&mut world).unwrap();
        check(&mut world);
        assert_eq!(world.get::<LocalToWorld>(leaves[2]).unwrap().position().x, 3.0);
        world.despawn(root).unwrap();
        assert!(!world.exists(leaves[0]));
        update_transforms(&mut world).unwrap();
        check(&mut world);
    }
    assert_eq!(rebuilds(&mut world), before);
}

#[test]
fn the_cache_is_consistent_after_random_changes() {
    // Fewer seeds in a debug build, which takes ten times as long.
    for seed in 1..if cfg!(debug_assertions) { 12 } else { 40_u64 } {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut below = |end: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 20) as usize % end
        };
        let mut world = World::new("hierarchy");
        let mut all = bush(&mut world, 5);
        for _ in 0..120 {
            for _ in 0..below(4) {
                let (one, other) = (all[below(all.len())], all[below(all.len())]);
                match below(13) {
                    8 => drop(world.set(one, Parent(other))),
                    9 if world.has::<Static>(one) => drop(world.remove::<Static>(one)),
                    9 => drop(world.add(one, Static)),
                    10 if world.has::<CustomLocalToWorld>(one) => {
                        _ = world.remove::<CustomLocalToWorld>(one);
                    }
                    10 => drop(world.add(one, CustomLocalToWorld(bad_or_good(below(2))))),
                    11 => {
                        let number = if below(2) == 0 { f32::NAN } else { 1.0 };
                        _ = world.set(one, node(number));
                    }
                    12 if world.has::<Prefab>(one) => drop(world.remove::<Prefab>(one)),
                    12 if below(3) == 0 => drop(world.add(one, Prefab)),
                    0 | 1 => all.push(world.spawn((node(1.0), Parent(one)))),
                    2 if all.len() > 4 => {
                        if below(3) > 0 {
                            world.detach_children(one).unwrap();
                        }
                        if world.descendants::<Parent>(one).unwrap().count() + 4 < all.len() {
                            world.despawn(one).unwrap();
                            all.retain(|entity| world.exists(*entity));
                        }
                    }
                    3 | 4 => drop(world.add(one, Parent(other))),
                    5 if world.has::<Tag>(one) => drop(world.remove::<Tag>(one)),
                    5 => drop(world.add(one, Tag)),
                    6 if world.has::<Disabled>(one) => drop(world.remove::<Disabled>(one)),
                    6 if below(3) == 0 => drop(world.add(one, Disabled)),
                    _ => drop(world.remove::<Parent>(one)),
                }
            }
            // Children of prefabs and matrices that are not finite are reported.
            let _ = update_transforms(&mut world);
            world.check_invariants().unwrap();
            // Rows of entities without a finite matrix move after the update.
            if with_state(&mut world, |world, state| {
                !state.cache.hierarchy.is_outdated(world, state.matrices_version)
            }) {
                check(&mut world);
            }
        }
    }
}

#[test]
fn many_changes_cause_rebuilds_with_the_same_result() {
    let mut world = World::new("hierarchy");
    let all = bush(&mut world, 12);
    let before = rebuilds(&mut world);
    // Leaves that get children take new places, until the tail is too long.
    for &leaf in &all[13..] {
        let below = world.spawn((node(1.0), Parent(leaf)));
        update_transforms(&mut world).unwrap();
        check(&mut world);
        assert_eq!(world.get::<LocalToWorld>(below).unwrap().position().x, 4.0);
        assert_eq!(world.buffer::<Child>(leaf).unwrap(), [Child(below)]);
    }
    let made = rebuilds(&mut world) - before;
    assert!((1..20).contains(&made), "made again {made} times");
}

#[test]
fn forks_share_the_cache_until_matrices_are_written() {
    let mut world = World::new("hierarchy");
    let all = bush(&mut world, 10);
    let flat = world.spawn(node(1.0));
    update_transforms(&mut world).unwrap();
    let mut fork = world.fork().unwrap();
    update_transforms(&mut world).unwrap();
    update_transforms(&mut fork).unwrap();
    world.set(flat, node(2.0)).unwrap();
    update_transforms(&mut world).unwrap();
    assert_eq!(address(&mut world), address(&mut fork));
    for change in [0, 1, 2] {
        let mut fork = world.fork().unwrap();
        let leaf = all[111 - 1 - change];
        match change {
            0 => world.set(leaf, node(5.0)).unwrap(),
            1 => world.set(leaf, Parent(all[0])).unwrap(),
            _ => _ = world.despawn(leaf).unwrap(),
        }
        update_transforms(&mut world).unwrap();
        assert_ne!(address(&mut world), address(&mut fork));
        check(&mut world);
        check(&mut fork);
        update_transforms(&mut fork).unwrap();
        assert_eq!(world.exists(leaf), change != 2);
        assert_eq!(fork.get::<LocalToWorld>(leaf).unwrap().position().x, 3.0);
    }
}
