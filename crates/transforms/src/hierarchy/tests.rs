//! Consistency checks of the cached hierarchy, and tests of patches and rebuilds.

use ancho_entities::{
    Buffer, Component, Disabled, Entity, IncludeDisabled, IncludePrefabs, Prefab, World,
};
use glam::{Mat4, Vec3};

use super::order::NONE;
use super::rebuild::{RowData, chunk_traits, computed_nodes};
use super::{Hierarchy, MatrixSource, NodeMatrices, Nodes};
use crate::components::{Child, CustomLocalToWorld, LocalToWorld, Parent, PreviousParent};
use crate::freeze::Static;
use crate::local_transform::LocalTransform;
use crate::update::with_state;
use crate::update_transforms;

impl Hierarchy {
    /// Returns the address of the cache.
    pub(crate) fn address(&self) -> usize {
        self.entities.as_ptr() as usize
    }

    /// Returns the number of rebuilds.
    pub(crate) fn rebuilds(&self) -> u32 {
        self.rebuild_count
    }

    /// Asserts that the cache matches the components.
    pub(crate) fn check_world(&self, world: &World) {
        let computed = computed_nodes(world);
        let mut count = 0;
        world.query::<RowData>().filter::<Nodes>().for_each_chunk(|rows| {
            let (found, previous, traits) = chunk_traits(rows, &computed);
            let first = self.slot_of(found[0]).expect("all nodes have slots");
            let chunk = self.chunk_at(first).1;
            assert_eq!((chunk.first as usize, chunk.len as usize), (first, found.len()));
            assert_eq!(chunk.traits, traits);
            for (row, &entity) in found.iter().enumerate() {
                let parent = previous.map_or(Entity::NULL, |previous| previous[row].0);
                assert_eq!(self.entities[first + row], entity);
                assert_eq!(self.parent_entities[first + row], parent, "the parent of {entity}");
            }
            count += found.len();
        });
        assert_eq!(count, self.count);
    }

    /// Asserts that the parts of the cache are consistent.
    pub(crate) fn check(&self, node_matrices: &NodeMatrices) {
        let mut inactive_children = vec![0; self.inactive_children.len()];
        for chunk in &self.chunks {
            for slot in chunk.first as usize..(chunk.first + chunk.capacity) as usize {
                if slot < (chunk.first + chunk.len) as usize {
                    check_slot(self, slot, &mut inactive_children);
                } else {
                    assert!(self.entities[slot].is_null());
                    assert_eq!(self.sources[slot], MatrixSource::INACTIVE);
                    assert_eq!(self.order.place[slot], NONE);
                }
            }
        }
        assert_eq!(inactive_children, self.inactive_children);
        let len: u32 = self.chunks.iter().map(|chunk| chunk.len).sum();
        assert_eq!(len as usize, self.count);
        let live = self.order.nodes.iter().filter(|node| **node != NONE).count();
        assert_eq!(live, self.order.live());
        assert_eq!(node_matrices.matrices.len(), self.order.nodes.len());
        assert!(
            node_matrices
                .due
                .iter()
                .chain(&node_matrices.rows)
                .chain(&self.dirty)
                .all(|word| *word == 0)
        );
    }
}

fn check_slot(hierarchy: &Hierarchy, slot: usize, inactive_children: &mut [u32]) {
    let order = &hierarchy.order;
    let (entity, parent) = (hierarchy.entities[slot], hierarchy.parent_entities[slot]);
    assert_eq!(hierarchy.slot_of(entity), Some(slot));
    let (number, chunk) = hierarchy.chunk_at(slot);
    let above = hierarchy
        .slot_of(parent)
        .filter(|above| hierarchy.sources[*above] != MatrixSource::INACTIVE);
    let source = hierarchy.sources[slot];
    if source == MatrixSource::INACTIVE {
        assert!(above.is_none() && !chunk.traits.is_root, "{entity} could be placed");
        if !parent.is_null() {
            inactive_children[parent.index() as usize] += 1;
        }
        return;
    }
    let (place, is_own) = source.place();
    let above = above.map_or(NONE, |above| order.place[above]);
    assert_eq!(order.place[slot], if is_own { place as u32 } else { NONE });
    if is_own {
        assert_eq!(order.nodes[place], slot as u32);
        assert_eq!(order.parent[place], above);
        assert!(chunk.has_places);
        assert_eq!(hierarchy.rows[place], (number as u32, slot as u32 - chunk.first));
        assert!(above == NONE || order.is_after(place as u32, above));
    } else {
        assert_eq!(place as u32, above);
    }
    if above == NONE {
        assert!(chunk.traits.is_root);
    } else {
        let children = order.children(above as usize);
        assert_eq!(children[order.position(slot as u32) as usize], slot as u32);
        assert_eq!(children.iter().filter(|child| **child == slot as u32).count(), 1);
    }
}

/// A component that is unrelated to transforms.
#[derive(Component, Clone, Copy)]
#[component(name = "hierarchy::Tag")]
struct Tag;

/// Returns the number of rebuilds.
fn rebuilds(world: &mut World) -> u32 {
    with_state(world, |_, state| state.cache.hierarchy.rebuilds())
}

/// Asserts that buffers list exactly the entities with that previous parent, each once.
fn check_links(world: &World) {
    type All = (IncludeDisabled, IncludePrefabs);
    let (mut listed, mut links_version) = (Vec::new(), Vec::new());
    for (parent, children) in world.query::<(Entity, &Buffer<Child>)>().filter::<All>().iter() {
        listed.extend(children.iter().map(|&Child(child)| (child, parent)));
    }
    for (child, previous) in world.query::<(Entity, &PreviousParent)>().filter::<All>().iter() {
        links_version.extend((!previous.0.is_null()).then_some((child, previous.0)));
    }
    listed.sort();
    links_version.sort();
    assert_eq!(listed, links_version);
}

fn check(world: &mut World) {
    check_links(world);
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
        // A leaf is despawned, and another one spawned below a leaf.
        world.despawn(all[900 - number]).unwrap();
        let leaf = world.spawn((node(1.0), Parent(all[31 + number % 20])));
        // Rows move.
        world.add(all[100 + number], Tag).unwrap();
        // A branch gets another parent, of the same level or one below.
        world.add(all[1 + number % 10], Parent(all[11 + number % 20])).unwrap();
        update_transforms(&mut world).unwrap();
        check(&mut world);
        assert!(world.get::<LocalToWorld>(leaf).unwrap().position().x >= 4.0);
    }
    // Rebuilds happen when many places have been freed.
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
        for entity in leaves.into_iter().chain([root, inner]) {
            world.despawn(entity).unwrap();
        }
        update_transforms(&mut world).unwrap();
        check(&mut world);
    }
    assert_eq!(rebuilds(&mut world), before);
}

#[test]
fn the_cache_is_consistent_after_random_changes() {
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
            // Cycles and matrices that are not finite are reported.
            let _ = update_transforms(&mut world);
            check_links(&world);
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
