//! What is known of hierarchies holds together, and is made again only where it has to be.

use ancho_entities::{
    Buffer, Component, Disabled, Entity, IncludeDisabled, IncludePrefabs, Prefab, World,
};
use glam::{Mat4, Vec3};

use super::update_transforms;
use crate::freeze::Static;
use crate::local_transform::LocalTransform;
use crate::outputs::{CustomLocalToWorld, LocalToWorld};
use crate::parent::{Child, Parent, PreviousParent};
use crate::state::with_state;

/// Has nothing to do with transforms.
#[derive(Component, Clone, Copy)]
#[component(name = "hierarchy::Tag")]
struct Tag;

/// How often all was made again.
fn rebuilds(world: &mut World) -> u32 {
    with_state(world, |_, state| state.placement.hierarchy.rebuilds())
}

/// Checks that buffers list the entities that have the parent as their previous one, each once, and no others.
fn check_links(world: &World) {
    type All = (IncludeDisabled, IncludePrefabs);
    let (mut listed, mut linked) = (Vec::new(), Vec::new());
    for (parent, children) in world.query_filtered::<(Entity, &Buffer<Child>), All>().iter() {
        listed.extend(children.iter().map(|&Child(child)| (child, parent)));
    }
    for (child, previous) in world.query_filtered::<(Entity, &PreviousParent), All>().iter() {
        linked.extend((!previous.0.is_null()).then_some((child, previous.0)));
    }
    listed.sort();
    linked.sort();
    assert_eq!(listed, linked);
}

fn check(world: &mut World) {
    check_links(world);
    with_state(world, |world, state| {
        state.placement.hierarchy.check(&state.placement.places);
        state.placement.hierarchy.check_world(world);
    });
}

/// Where what is known of hierarchies is in memory.
fn address(world: &mut World) -> usize {
    with_state(world, |_, state| state.placement.hierarchy.address())
}

fn node(x: f32) -> LocalTransform {
    LocalTransform::from_position(Vec3::new(x, 0.0, 0.0))
}

fn bad_or_good(number: usize) -> Mat4 {
    if number == 0 { Mat4::NAN } else { Mat4::IDENTITY }
}

/// A root with `wide` children, each of which has as many.
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
fn t4_single_nodes_that_come_go_and_move_hardly_ever_have_all_be_made_again() {
    let mut world = World::new("hierarchy");
    let all = bush(&mut world, 30);
    let before = rebuilds(&mut world);
    for number in 0..200 {
        // A leaf goes, and another one comes, below one that nobody was below of.
        world.despawn(all[900 - number]).unwrap();
        let leaf = world.spawn((node(1.0), Parent(all[31 + number % 20])));
        // Rows move.
        world.add(all[100 + number], Tag).unwrap();
        // A branch gets another parent, of the same level, or of one below.
        world.add(all[1 + number % 10], Parent(all[11 + number % 20])).unwrap();
        update_transforms(&mut world).unwrap();
        check(&mut world);
        assert!(world.get::<LocalToWorld>(leaf).unwrap().position().x >= 4.0);
    }
    // Now and then, when the places that were left are many.
    let made = rebuilds(&mut world) - before;
    assert!(made < 10, "made again {made} times");
}

#[test]
fn t4_whole_trees_come_and_go_without_all_being_made_again() {
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
        for entity in leaves.into_iter().chain([root, inner]) {
            world.despawn(entity).unwrap();
        }
        update_transforms(&mut world).unwrap();
        check(&mut world);
    }
    assert_eq!(rebuilds(&mut world), before);
}

#[test]
fn t4_what_is_known_holds_together_after_random_changes() {
    for seed in 1..40_u64 {
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
                    8 => drop(world.swap_components(one, other)),
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
                        world.despawn(one).unwrap();
                        all.retain(|entity| *entity != one);
                    }
                    3 | 4 => drop(world.add(one, Parent(other))),
                    5 if world.has::<Tag>(one) => drop(world.remove::<Tag>(one)),
                    5 => drop(world.add(one, Tag)),
                    6 if world.has::<Disabled>(one) => drop(world.remove::<Disabled>(one)),
                    6 if below(3) == 0 => drop(world.add(one, Disabled)),
                    _ => drop(world.remove::<Parent>(one)),
                }
            }
            // Who would be its own ancestor is told, and whose place is not a number.
            let _ = update_transforms(&mut world);
            check_links(&world);
            // Rows of those whose place is not a number move afterwards.
            if with_state(&mut world, |world, state| {
                !state.placement.hierarchy.is_outdated(world, state.placed)
            }) {
                check(&mut world);
            }
        }
    }
}

#[test]
fn t4_so_many_changes_that_all_is_made_again_leave_no_trace() {
    let mut world = World::new("hierarchy");
    let all = bush(&mut world, 12);
    let before = rebuilds(&mut world);
    // Leaves that become inner nodes take new places, until those are too many.
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
fn forks_share_what_is_known_until_nodes_are_placed() {
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
