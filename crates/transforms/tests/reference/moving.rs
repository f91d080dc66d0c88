//! All entities move in every frame, in a world that is updated by systems.

use std::collections::BTreeSet;

use ancho_entities::{Component, Entity, World};
use ancho_transforms::{AddTransforms, LocalToWorld, LocalTransform, Parent};

use crate::naive::{self, Matrix};
use crate::script::Random;

#[derive(Component, Clone, Copy)]
#[component(name = "reference::Number")]
struct Number(u32);

/// Spawns trees of `nodes` nodes with four children each. Returns all nodes in the order in which they were spawned.
fn trees(world: &mut World, trees: usize, nodes: usize) -> Vec<Entity> {
    let mut random = Random::new(7);
    let mut all: Vec<Entity> = Vec::new();
    for _ in 0..trees {
        let root = all.len();
        for node in 0..nodes {
            let number = Number(all.len() as u32);
            let entity = match node.checked_sub(1) {
                Some(above) => {
                    world.spawn((number, random.transform(), Parent(all[root + above / 4])))
                }
                None => world.spawn((number, random.transform())),
            };
            all.push(entity);
        }
    }
    all
}

fn compare(world: &World, all: &[Entity], frame: usize) {
    let living = BTreeSet::new();
    let mut wanted: Vec<Matrix> = Vec::with_capacity(all.len());
    for &entity in all {
        assert!(!naive::rests(world, &living, entity));
        let local = naive::local(world, entity);
        let parent = world.get::<Parent>(entity).ok().map(|parent| parent.0);
        let above = parent.and_then(|parent| world.get::<Number>(parent).ok());
        wanted.push(above.map_or(local, |above| wanted[above.0 as usize] * local));
        let found = world.get::<LocalToWorld>(entity).unwrap().0;
        let distance = wanted[wanted.len() - 1].distance(found);
        assert!(distance < 1e-4, "frame {frame}, node {}: off by {distance}", wanted.len() - 1);
    }
}

#[test]
fn all_of_many_trees_move_in_every_frame() {
    for (count, nodes) in [(1, 1), (1, 2_000), (30, 300), (300, 5)] {
        let mut world = crate::world();
        world.add_transforms();
        let all = trees(&mut world, count, nodes);
        for frame in 0..4 {
            world.try_update(0.1).unwrap();
            compare(&world, &all, frame);
            let mut query = world.query_mut::<(&Number, &mut LocalTransform)>();
            query.for_each(|(number, place)| {
                let seed = u64::from(number.0) + 100_000 * frame as u64;
                *place = Random::new(seed).transform();
            });
        }
    }
}

#[test]
fn some_nodes_of_many_trees_move_in_every_frame() {
    let mut world = crate::world();
    world.add_transforms();
    let all = trees(&mut world, 30, 300);
    let mut random = Random::new(8);
    for frame in 0..6 {
        world.try_update(0.1).unwrap();
        compare(&world, &all, frame);
        for _ in 0..90 {
            let entity = all[random.below(all.len())];
            *world.get_mut::<LocalTransform>(entity).unwrap() = random.transform();
        }
    }
}
