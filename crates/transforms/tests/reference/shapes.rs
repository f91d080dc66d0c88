//! Hierarchies that are deep, wide or empty.

use ancho_entities::{Disabled, Entity, EntityError, World};
use ancho_transforms::{Child, LocalToWorld, LocalTransform, Parent, Position};
use glam::Vec3;

use crate::{assert_at, position, update, world};

fn at(x: f32) -> Position {
    Position(Vec3::new(x, 0.0, 0.0))
}

/// Spawns a chain, each entity a step further than its parent.
fn chain(world: &mut World, length: usize) -> Vec<Entity> {
    let mut chain: Vec<Entity> = Vec::new();
    for _ in 0..length {
        let link = world.spawn(LocalTransform::from_position(Vec3::Y));
        if let Some(above) = chain.last() {
            world.add(link, Parent(*above)).unwrap();
        }
        chain.push(link);
    }
    chain
}

#[test]
fn a_chain_of_ten_thousand() {
    let mut world = world();
    let chain = chain(&mut world, 10_000);
    update(&mut world);
    for (number, link) in chain.iter().enumerate() {
        assert_eq!(position(&world, *link), Vec3::new(0.0, 1.0 + number as f32, 0.0));
    }
    world.get_mut::<LocalTransform>(chain[0]).unwrap().position.x = 1.0;
    update(&mut world);
    assert_eq!(position(&world, chain[9_999]), Vec3::new(1.0, 10_000.0, 0.0));
    // In the middle, and turned round.
    world.set(chain[5_000], Parent(chain[0])).unwrap();
    update(&mut world);
    assert_eq!(position(&world, chain[9_999]), Vec3::new(1.0, 5_001.0, 0.0));
    for link in chain.into_iter().rev() {
        world.despawn(link).unwrap();
    }
    update(&mut world);
    assert_eq!(world.entity_count(), 0);
}

#[test]
fn a_chain_of_ten_thousand_whose_root_is_despawned() {
    let mut world = world();
    let chain = chain(&mut world, 10_000);
    update(&mut world);
    world.detach_children(chain[0]).unwrap();
    world.despawn(chain[0]).unwrap();
    update(&mut world);
    assert_eq!(position(&world, chain[9_999]), Vec3::new(0.0, 9_999.0, 0.0));
    world.despawn(chain[1]).unwrap();
    update(&mut world);
    assert_eq!(world.entity_count(), 0);
}

#[test]
fn a_parent_with_a_hundred_thousand_children() {
    let mut world = world();
    let parent = world.spawn(at(0.0));
    let numbers = (0..100_000).map(|number| (at(number as f32), Parent(parent)));
    let children: Vec<Entity> = world.spawn_batch(numbers).collect();
    update(&mut world);
    assert_eq!(world.buffer::<Child>(parent).unwrap().len(), 100_000);
    world.get_mut::<Position>(parent).unwrap().0.y = 1.0;
    update(&mut world);
    for (number, child) in children.iter().enumerate() {
        assert_eq!(position(&world, *child), Vec3::new(number as f32, 1.0, 0.0));
    }
    // Every other one leaves.
    for child in children.iter().step_by(2) {
        world.remove::<Parent>(*child).unwrap();
    }
    update(&mut world);
    assert_eq!(world.buffer::<Child>(parent).unwrap().len(), 50_000);
    assert_at(&world, children[10], [10.0, 0.0, 0.0]);
    assert_at(&world, children[11], [11.0, 1.0, 0.0]);
    world.detach_children(parent).unwrap();
    world.despawn(parent).unwrap();
    update(&mut world);
    assert_at(&world, children[11], [11.0, 0.0, 0.0]);
    assert_eq!(world.query::<&Parent>().iter().count(), 0);
}

#[test]
fn a_cycle_is_refused_and_the_hierarchy_is_unchanged() {
    let mut world = world();
    let root = world.spawn(at(100.0));
    let first = world.spawn((at(10.0), Parent(root)));
    let second = world.spawn((at(1.0), Parent(first)));
    let third = world.spawn((at(0.5), Parent(second)));
    update(&mut world);
    let error = world.set(first, Parent(third)).unwrap_err().error;
    assert!(matches!(error, EntityError::LinkCycle { length: 3, .. }), "{error}");
    world.get_mut::<Position>(root).unwrap().0.x = 200.0;
    update(&mut world);
    assert_eq!(world.buffer::<Child>(root).unwrap(), [Child(first)]);
    assert!(world.buffer::<Child>(third).is_err());
    assert_at(&world, root, [200.0, 0.0, 0.0]);
    assert_at(&world, third, [211.5, 0.0, 0.0]);
    // It goes on from there.
    world.add(first, Parent(root)).unwrap();
    world.get_mut::<Position>(root).unwrap().0.x = 300.0;
    update(&mut world);
    assert_at(&world, third, [311.5, 0.0, 0.0]);
}

#[test]
fn a_cycle_among_new_entities() {
    let mut world = world();
    let first = world.spawn(at(1.0));
    let second = world.spawn((at(2.0), Parent(first)));
    assert!(world.add(first, Parent(second)).is_err());
    let other = world.spawn((at(3.0), Parent(second)));
    update(&mut world);
    assert_at(&world, second, [3.0, 0.0, 0.0]);
    assert_at(&world, other, [6.0, 0.0, 0.0]);
}

#[test]
fn an_entity_that_is_its_own_parent() {
    let mut world = world();
    let alone = world.spawn(at(1.0));
    update(&mut world);
    let error = world.add(alone, Parent(alone)).unwrap_err().error;
    assert!(matches!(error, EntityError::LinkToSelf { .. }), "{error}");
    update(&mut world);
    assert_at(&world, alone, [1.0, 0.0, 0.0]);
    assert!(world.buffer::<Child>(alone).is_err());
}

#[test]
fn trading_places_with_the_parent_is_no_cycle() {
    let mut world = world();
    let parent = world.spawn(at(10.0));
    let child = world.spawn((at(1.0), Parent(parent)));
    update(&mut world);
    world.remove::<Parent>(child).unwrap();
    world.add(parent, Parent(child)).unwrap();
    update(&mut world);
    assert_at(&world, child, [1.0, 0.0, 0.0]);
    assert_at(&world, parent, [11.0, 0.0, 0.0]);
}

#[test]
fn an_empty_world() {
    let mut world = world();
    update(&mut world);
    assert_eq!(world.query::<&LocalToWorld>().iter().count(), 0);
}

#[test]
fn a_parent_that_was_changed_while_inactive_closes_no_cycle() {
    let mut world = world();
    let parent = world.spawn(at(10.0));
    let child = world.spawn((at(1.0), Parent(parent)));
    let below = world.spawn((at(0.5), Parent(child)));
    update(&mut world);
    world.add(child, Disabled).unwrap();
    update(&mut world);
    world.remove::<Parent>(child).unwrap();
    world.add(parent, Parent(below)).unwrap();
    update(&mut world);
    world.remove::<Disabled>(child).unwrap();
    update(&mut world);
    assert_at(&world, child, [1.0, 0.0, 0.0]);
    assert_at(&world, below, [1.5, 0.0, 0.0]);
    assert_at(&world, parent, [11.5, 0.0, 0.0]);
}

#[test]
fn a_cycle_through_a_disabled_entity_is_refused() {
    let mut world = world();
    let (parent, other) = (world.spawn(at(10.0)), world.spawn(at(20.0)));
    let child = world.spawn((at(1.0), Parent(parent)));
    let below = world.spawn((at(0.5), Parent(child)));
    update(&mut world);
    world.add(child, Disabled).unwrap();
    world.add(child, Parent(other)).unwrap();
    world.add(parent, Parent(below)).unwrap();
    update(&mut world);
    // Back to where it was, which is below itself by now.
    assert!(world.add(child, Parent(parent)).is_err());
    world.remove::<Disabled>(child).unwrap();
    update(&mut world);
    assert_at(&world, below, [21.5, 0.0, 0.0]);
    assert_at(&world, parent, [31.5, 0.0, 0.0]);
}
