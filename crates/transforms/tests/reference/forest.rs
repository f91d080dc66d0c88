//! Random forests and random changes: each update has to find all changes, and results must not depend on earlier updates.

use std::collections::BTreeMap;

use ancho_entities::{Entity, World};
use ancho_transforms::{
    Child, CustomLocalToWorld, Frozen, LocalToWorld, LocalTransform, Parent, Position,
    PostTransformMatrix, Rotation, Scale,
};
use glam::Mat4;

use crate::naive::{self, Matrix, Steered};
use crate::script::Forest;

/// The relative tolerance of a number. Chains are a few dozen long.
const TOLERANCE: f64 = 1e-4;

/// A debug build tries fewer seeds: it takes ten times as long.
const THOROUGH: bool = !cfg!(debug_assertions);

fn forest(seed: u64, nodes: usize) -> Forest {
    Forest::new(crate::world(), seed, nodes)
}

/// Updates, and compares with the naive computation.
fn update_and_compare(forest: &mut Forest, context: &str) {
    let Forest { world, living, last, .. } = forest;
    let wanted: Vec<(Entity, Option<Matrix>)> =
        living.iter().map(|entity| (*entity, naive::placed(world, living, *entity))).collect();
    crate::update(world);
    for (entity, wanted) in wanted {
        let Some(wanted) = wanted else { continue };
        if world.has::<CustomLocalToWorld>(entity) {
            continue;
        }
        let found = world.get::<LocalToWorld>(entity).unwrap_or_else(|error| {
            panic!("{context}, {entity} after: {last}{error}");
        });
        let distance = wanted.distance(found.0);
        assert!(
            distance < TOLERANCE,
            "{context}, {entity} after: {last}\nfound {found:?}\nwanted {wanted:?}"
        );
    }
}

/// Asserts that the buffer of each parent lists exactly its children, each once.
fn check_children(forest: &Forest, context: &str) {
    let Forest { world, living, last, .. } = forest;
    let mut wanted: BTreeMap<Entity, Vec<Entity>> = BTreeMap::new();
    for &entity in living {
        // Entities that do not move are not compared.
        if naive::rests(world, living, entity) {
            continue;
        }
        let parent = world.get::<Parent>(entity).ok().map(|parent| parent.0);
        if let Some(parent) = parent {
            assert!(
                living.contains(&parent),
                "{context}, {entity} after: {last}{parent} is no more"
            );
            wanted.entry(parent).or_default().push(entity);
        }
    }
    for &entity in living.iter().filter(|entity| !naive::rests(world, living, **entity)) {
        let buffer = world.buffer::<Child>(entity);
        let all = buffer.map_or(Vec::new(), |all| all.iter().map(|child| child.0).collect());
        let mut found: Vec<Entity> = all
            .into_iter()
            .filter(|child| !living.contains(child) || !naive::rests(world, living, *child))
            .collect();
        found.sort_unstable();
        let wanted = wanted.remove(&entity).unwrap_or_default();
        assert_eq!(found, wanted, "{context}, children of {entity} after: {last}");
    }
}

/// Returns the matrix of an entity that is frozen, or placed by the program.
fn given(world: &World, entity: Entity) -> Option<Mat4> {
    if let Ok(custom) = world.get::<CustomLocalToWorld>(entity) {
        return Some(custom.0);
    }
    let is_given = world.has::<Frozen>(entity) || world.has::<Steered>(entity);
    is_given.then(|| world.get::<LocalToWorld>(entity).unwrap().0)
}

/// Creates a world without history: the same active entities, in another order.
fn fresh(forest: &Forest) -> (World, BTreeMap<Entity, Entity>) {
    let Forest { world: old, living, .. } = forest;
    let mut world = crate::world();
    let taking_part = living.iter().rev().filter(|entity| !naive::rests(old, living, **entity));
    let mut ids = BTreeMap::new();
    for &entity in taking_part {
        let copy = world.spawn(());
        if let Some(place) = given(old, entity) {
            world.add(copy, CustomLocalToWorld(place)).unwrap();
        }
        if let Ok(position) = old.get::<Position>(entity) {
            world.add(copy, *position).unwrap();
        }
        if let Ok(rotation) = old.get::<Rotation>(entity) {
            world.add(copy, *rotation).unwrap();
        }
        if let Ok(scale) = old.get::<Scale>(entity) {
            world.add(copy, *scale).unwrap();
        }
        if let Ok(transform) = old.get::<LocalTransform>(entity) {
            world.add(copy, *transform).unwrap();
        }
        if let Ok(post) = old.get::<PostTransformMatrix>(entity) {
            world.add(copy, *post).unwrap();
        }
        ids.insert(entity, copy);
    }
    for (&entity, &copy) in &ids {
        if let Some(parent) = naive::parent(old, living, entity) {
            world.add(copy, Parent(ids[&parent])).unwrap();
        }
    }
    (world, ids)
}

/// Compares with a world without history, to the bit.
fn compare_with_fresh(forest: &Forest, context: &str) {
    let (mut world, ids) = fresh(forest);
    crate::update(&mut world);
    for (entity, copy) in ids {
        if given(&forest.world, entity).is_some() {
            continue;
        }
        let bits = |world: &World, entity| {
            world.get::<LocalToWorld>(entity).unwrap().0.to_cols_array().map(f32::to_bits)
        };
        let last = &forest.last;
        assert_eq!(bits(&forest.world, entity), bits(&world, copy), "{context}, {entity}: {last}");
    }
}

#[test]
fn random_changes_of_small_forests() {
    for seed in 0..if THOROUGH { 60 } else { 30 } {
        let mut forest = forest(seed, 12);
        for step in 0..60 {
            let context = format!("seed {seed}, step {step}");
            forest.change(3);
            update_and_compare(&mut forest, &context);
            check_children(&forest, &context);
        }
    }
}

#[test]
fn changes_lead_to_the_same_state_as_a_new_world() {
    for seed in 100..if THOROUGH { 130 } else { 112 } {
        let mut forest = forest(seed, 40);
        for step in 0..30 {
            forest.change(6);
            crate::update(&mut forest.world);
            if step % 3 == 2 {
                compare_with_fresh(&forest, &format!("seed {seed}, step {step}"));
            }
        }
    }
}

#[test]
fn random_changes_of_a_large_forest() {
    let mut forest = forest(1_000, if THOROUGH { 3_000 } else { 1_500 });
    for step in 0..12 {
        let context = format!("step {step}");
        update_and_compare(&mut forest, &context);
        check_children(&forest, &context);
        forest.change(if step % 2 == 0 { 5 } else { 400 });
    }
    crate::update(&mut forest.world);
    compare_with_fresh(&forest, "in the end");
}

#[test]
fn many_small_changes_one_after_the_other() {
    for seed in 3_000..if THOROUGH { 3_004 } else { 3_001 } {
        let mut forest = forest(seed, 250);
        for step in 0..if THOROUGH { 250 } else { 125 } {
            let context = format!("seed {seed}, step {step}");
            forest.change(2);
            update_and_compare(&mut forest, &context);
            check_children(&forest, &context);
            if step % 25 == 24 {
                compare_with_fresh(&forest, &context);
            }
        }
    }
}

#[test]
fn all_of_a_forest_is_despawned() {
    let mut forest = forest(2_000, 500);
    crate::update(&mut forest.world);
    for entity in std::mem::take(&mut forest.living) {
        // Descendants are despawned with their parents.
        if forest.world.exists(entity) {
            forest.world.despawn(entity).unwrap();
        }
    }
    crate::update(&mut forest.world);
    assert_eq!(forest.world.entity_count(), 0);
}
