//! Links between parents and children.

use ancho_entities::{
    Buffer, Component, Disabled, Entity, EntityError, LinkedEntityGroup, Prefab, World,
};
use ancho_transforms::{Child, LocalToWorld, LocalTransform, Parent, Position};
use glam::Vec3;

use crate::common::{at, chain, children, place, update, world};

#[test]
fn children_are_in_the_buffer_of_their_parent_in_order() {
    let mut world = world();
    let parent = world.spawn(at(1.0, 0.0, 0.0));
    let all: Vec<_> = (0..5).map(|_| world.spawn((at(0.0, 1.0, 0.0), Parent(parent)))).collect();
    assert_eq!(children(&world, parent), all, "before the update");
    update(&mut world);
    world.remove::<Parent>(all[1]).unwrap();
    world.despawn(all[3]).unwrap();
    let late = world.spawn((at(0.0, 1.0, 0.0), Parent(parent)));
    assert_eq!(children(&world, parent), [all[0], all[2], all[4], late]);
    assert!(!world.exists(all[3]));
    update(&mut world);
    assert_eq!(children(&world, parent), [all[0], all[2], all[4], late]);
    assert_eq!(place(&world, all[1]), Vec3::Y, "by the same numbers in the world");
    assert_eq!(place(&world, late), Vec3::new(1.0, 1.0, 0.0));
}

#[test]
fn a_child_moves_to_another_parent() {
    let mut world = world();
    let (left, right) = (world.spawn(at(-1.0, 0.0, 0.0)), world.spawn(at(1.0, 0.0, 0.0)));
    let child = world.spawn((at(0.0, 1.0, 0.0), Parent(left)));
    update(&mut world);
    world.set(child, Parent(right)).unwrap();
    update(&mut world);
    assert_eq!(children(&world, right), [child]);
    assert!(!world.has::<Buffer<Child>>(left), "a buffer that is empty goes");
    assert_eq!(place(&world, child), Vec3::new(1.0, 1.0, 0.0));
}

#[test]
fn descendants_are_despawned_with_their_parent() {
    let mut world = world();
    let root = world.spawn(at(1.0, 0.0, 0.0));
    let chain = chain(&mut world, 3);
    world.add(chain[0], Parent(root)).unwrap();
    update(&mut world);
    world.despawn(chain[0]).unwrap();
    assert_eq!(world.entity_count(), 1);
    assert!(!world.has::<Buffer<Child>>(root));
    world.get_mut::<Position>(root).unwrap().0 = Vec3::Y;
    update(&mut world);
    assert_eq!(place(&world, root), Vec3::Y);
}

#[test]
fn detached_children_of_a_despawned_parent_become_roots() {
    let mut world = world();
    let parent = world.spawn(at(1.0, 0.0, 0.0));
    let child = world.spawn((at(0.0, 1.0, 0.0), Parent(parent)));
    let below = world.spawn((at(0.0, 0.0, 1.0), Parent(child)));
    update(&mut world);
    assert!(world.detach_children(parent).unwrap());
    world.despawn(parent).unwrap();
    assert!(!world.exists(parent) && !world.has::<Parent>(child));
    update(&mut world);
    assert_eq!(place(&world, child), Vec3::Y);
    assert_eq!(place(&world, below), Vec3::new(0.0, 1.0, 1.0));
}

#[test]
fn children_that_are_detached_and_attached_again_between_updates_follow() {
    let mut world = world();
    let (parent, other) = (world.spawn(at(1.0, 0.0, 0.0)), world.spawn(at(5.0, 0.0, 0.0)));
    let all = [(); 3].map(|()| world.spawn((at(0.0, 1.0, 0.0), Parent(parent))));
    update(&mut world);
    world.detach_children(parent).unwrap();
    world.get_mut::<Position>(parent).unwrap().0.x = 2.0;
    world.add(all[0], Parent(parent)).unwrap();
    world.add(all[1], Parent(other)).unwrap();
    update(&mut world);
    assert_eq!(place(&world, all[0]), Vec3::new(2.0, 1.0, 0.0));
    assert_eq!(place(&world, all[1]), Vec3::new(5.0, 1.0, 0.0));
    assert_eq!(place(&world, all[2]), Vec3::Y);
}

#[test]
fn a_tree_with_a_linked_group_is_despawned_at_once() {
    let mut world = world();
    let parent = world.spawn(at(1.0, 0.0, 0.0));
    let child = world.spawn((at(0.0, 1.0, 0.0), Parent(parent)));
    let grandchild = world.spawn((at(0.0, 1.0, 0.0), Parent(child)));
    world.add_buffer::<LinkedEntityGroup>(parent).unwrap();
    let group = [parent, child, grandchild].map(LinkedEntityGroup);
    world.buffer_mut::<LinkedEntityGroup>(parent).unwrap().copy_from(&group);
    update(&mut world);
    world.despawn(parent).unwrap();
    assert_eq!(world.entity_count(), 0);
    update(&mut world);
}

#[test]
fn parents_that_do_not_exist_are_refused() {
    let mut world = world();
    let gone = world.spawn(());
    world.despawn(gone).unwrap();
    let child = world.spawn(at(0.0, 1.0, 0.0));
    for nobody in [gone, Entity::NULL] {
        assert!(world.add(child, Parent(nobody)).is_err());
        assert!(!world.has::<Parent>(child));
    }
    let parent = world.spawn(at(1.0, 0.0, 0.0));
    world.add(child, Parent(parent)).unwrap();
    update(&mut world);
    assert!(world.set(child, Parent(gone)).is_err());
    update(&mut world);
    assert_eq!(children(&world, parent), [child]);
    assert_eq!(place(&world, child), Vec3::new(1.0, 1.0, 0.0));
}

#[test]
fn a_child_changes_its_parent_before_the_old_one_is_despawned() {
    let mut world = world();
    let (old, new) = (world.spawn(at(-1.0, 0.0, 0.0)), world.spawn(at(1.0, 0.0, 0.0)));
    let child = world.spawn((at(0.0, 1.0, 0.0), Parent(old)));
    update(&mut world);
    world.set(child, Parent(new)).unwrap();
    world.despawn(old).unwrap();
    update(&mut world);
    assert!(!world.exists(old));
    assert_eq!(children(&world, new), [child]);
    assert_eq!(place(&world, child), Vec3::new(1.0, 1.0, 0.0));
}

#[test]
fn parents_without_inputs_have_the_matrix_of_their_parent_or_the_identity() {
    let mut world = world();
    let group = world.spawn(());
    let child = world.spawn((at(0.0, 1.0, 0.0), Parent(group)));
    let root = world.spawn(at(5.0, 0.0, 0.0));
    let inner = world.spawn(Parent(root));
    let below = world.spawn((at(0.0, 1.0, 0.0), Parent(inner)));
    update(&mut world);
    assert_eq!(world.get(group), Ok(&LocalToWorld::IDENTITY));
    assert_eq!(place(&world, child), Vec3::Y);
    assert_eq!(place(&world, below), Vec3::new(5.0, 1.0, 0.0));
}

#[test]
fn cycles_are_refused_and_change_nothing() {
    let mut world = world();
    let chain = chain(&mut world, 4);
    update(&mut world);
    let error = world.add(chain[0], Parent(chain[2])).unwrap_err().error;
    let component = ancho_entities::ComponentType::of::<Parent>();
    let (source, target) = (chain[0], chain[2]);
    assert_eq!(error, EntityError::LinkCycle { component, source, target, length: 3 });
    assert_eq!(
        error.to_string(),
        format!(
            "A0140: cycle of `ancho::Parent`: {source} -> {target} -> 1 more -> {source}; nothing was changed: \
             choose a target that is not a descendant of {source}"
        )
    );
    assert!(!world.has::<Parent>(chain[0]), "it had none");
    let error = world.set(chain[1], Parent(chain[3])).unwrap_err().error;
    assert!(error.to_string().starts_with("A0140: "), "{error}");
    assert_eq!(world.get(chain[1]), Ok(&Parent(chain[0])), "it keeps the one that it had");
    let error = world.set(chain[1], Parent(chain[1])).unwrap_err().error;
    assert!(error.to_string().starts_with("A0210: "), "{error}");
    world.get_mut::<LocalTransform>(chain[0]).unwrap().position.y = 1.0;
    update(&mut world);
    assert_eq!(children(&world, chain[1]), [chain[2]]);
    assert_eq!(place(&world, chain[3]), Vec3::new(4.0, 1.0, 0.0));
}

#[test]
fn only_the_link_that_closes_a_cycle_is_refused() {
    let mut world = world();
    let [a, b, c] = [1.0, 2.0, 4.0].map(|x| world.spawn(at(x, 0.0, 0.0)));
    update(&mut world);
    // None of them is a cycle without the last one.
    world.add(a, Parent(b)).unwrap();
    world.add(b, Parent(c)).unwrap();
    assert!(world.add(c, Parent(a)).is_err());
    update(&mut world);
    assert_eq!((world.get(a), world.get(b)), (Ok(&Parent(b)), Ok(&Parent(c))));
    assert_eq!(place(&world, a), Vec3::new(7.0, 0.0, 0.0));
}

#[test]
fn a_child_and_its_parent_trade_places() {
    let mut world = world();
    let chain = chain(&mut world, 3);
    update(&mut world);
    world.set(chain[2], Parent(chain[0])).unwrap();
    world.set(chain[1], Parent(chain[2])).unwrap();
    update(&mut world);
    assert_eq!(children(&world, chain[0]), [chain[2]]);
    assert_eq!(children(&world, chain[2]), [chain[1]]);
    assert_eq!(place(&world, chain[2]), Vec3::new(2.0, 0.0, 0.0));
    assert_eq!(place(&world, chain[1]), Vec3::new(3.0, 0.0, 0.0));
}

#[test]
fn instances_of_children_are_children() {
    let mut world = world();
    let parent = world.spawn(at(1.0, 0.0, 0.0));
    let child = world.spawn((at(0.0, 1.0, 0.0), Parent(parent)));
    update(&mut world);
    let copy = world.instantiate(child).unwrap();
    update(&mut world);
    assert_eq!(children(&world, parent), [child, copy]);
    assert_eq!(place(&world, copy), Vec3::new(1.0, 1.0, 0.0));
}

#[test]
fn hierarchies_work_in_a_strict_world() {
    let settings = ancho_entities::WorldSettings::new().strict(true);
    let mut world = World::with_settings("Strict", settings);
    let parent = world.spawn(at(1.0, 0.0, 0.0));
    let child = world.spawn((at(0.0, 1.0, 0.0), Parent(parent), ancho_transforms::Static));
    for _ in 0..4 {
        update(&mut world);
    }
    world.detach_children(parent).unwrap();
    world.despawn(parent).unwrap();
    update(&mut world);
    assert!(!world.has::<Parent>(child));
    update(&mut world);
}

/// A cleanup component that is unrelated to transforms.
#[derive(Component, Clone, Copy)]
#[component(name = "tests::Stays", cleanup)]
struct Stays;

#[test]
fn a_parent_kept_by_another_cleanup_component_is_no_parent() {
    let mut world = world();
    // One that was never a parent, and one that was.
    let first = world.spawn((at(1.0, 0.0, 0.0), Stays));
    let second = world.spawn((at(1.0, 0.0, 0.0), Stays));
    let old = world.spawn((at(0.0, 1.0, 0.0), Parent(second)));
    update(&mut world);
    world.despawn(first).unwrap();
    world.despawn(second).unwrap();
    assert!(!world.exists(old));
    let late = world.spawn(at(0.0, 1.0, 0.0));
    for gone in [first, second] {
        assert!(world.add(late, Parent(gone)).is_err());
    }
    for _ in 0..2 {
        update(&mut world);
        assert_eq!(place(&world, late), Vec3::Y);
        for gone in [first, second] {
            assert!(!world.has::<LocalToWorld>(gone) && !world.has::<Buffer<Child>>(gone));
        }
    }
    for gone in [first, second] {
        world.remove::<Stays>(gone).unwrap();
        assert!(!world.exists(gone));
    }
}

#[test]
fn a_parent_without_inputs_that_loses_its_matrix_stays_a_parent() {
    let mut world = world();
    let group = world.spawn(());
    let child = world.spawn((at(0.0, 1.0, 0.0), Parent(group)));
    update(&mut world);
    world.remove::<LocalToWorld>(group).unwrap();
    let late = world.spawn((at(0.0, 2.0, 0.0), Parent(group)));
    update(&mut world);
    assert_eq!(world.get(group), Ok(&LocalToWorld::IDENTITY));
    assert_eq!(children(&world, group), [child, late]);
    assert_eq!(world.get(child), Ok(&Parent(group)));
}

#[test]
fn refused_cycles_keep_the_order_of_siblings() {
    let mut world = world();
    let root = world.spawn(at(1.0, 0.0, 0.0));
    let all = [(); 3].map(|()| world.spawn((at(0.0, 1.0, 0.0), Parent(root))));
    let below = all.map(|child| world.spawn((at(0.0, 0.0, 1.0), Parent(child))));
    update(&mut world);
    for (child, below) in all.into_iter().zip(below) {
        assert!(world.set(child, Parent(below)).is_err());
    }
    assert_eq!(children(&world, root), all);
    update(&mut world);
    for below in below {
        assert_eq!(place(&world, below), Vec3::ONE);
    }
}

#[test]
fn a_long_cycle_is_refused() {
    let mut world = world();
    let all: Vec<_> = world.spawn_many(at(1.0, 0.0, 0.0), 1_000).collect();
    for pair in all.windows(2) {
        world.add(pair[0], Parent(pair[1])).unwrap();
    }
    let error = world.add(all[999], Parent(all[0])).unwrap_err().error;
    assert!(matches!(error, EntityError::LinkCycle { length: 1_000, .. }), "{error}");
    update(&mut world);
    assert_eq!(place(&world, all[0]), Vec3::new(1_000.0, 0.0, 0.0));
}

#[test]
fn an_instance_of_a_prefab_is_a_separate_tree() {
    let mut world = world();
    let root = world.spawn((at(1.0, 0.0, 0.0), Prefab));
    let inner = world.spawn((at(0.0, 1.0, 0.0), Prefab, Parent(root)));
    let leaf = world.spawn((at(0.0, 0.0, 1.0), Prefab, Parent(inner)));
    world.add_buffer::<LinkedEntityGroup>(root).unwrap();
    let group = [root, inner, leaf].map(LinkedEntityGroup);
    world.buffer_mut::<LinkedEntityGroup>(root).unwrap().copy_from(&group);
    update(&mut world);
    let copies = [(); 3].map(|()| world.instantiate(root).unwrap());
    for (number, &copy) in copies.iter().enumerate() {
        world.get_mut::<Position>(copy).unwrap().0.x = number as f32;
    }
    for _ in 0..2 {
        update(&mut world);
        for (number, &copy) in copies.iter().enumerate() {
            let inner = children(&world, copy);
            let leaf = children(&world, inner[0]);
            assert_eq!((inner.len(), leaf.len()), (1, 1));
            assert_eq!(place(&world, leaf[0]), Vec3::new(number as f32, 1.0, 1.0));
        }
        // The prefab takes no part.
        assert_eq!(children(&world, root), [inner]);
        assert!(!world.has::<LocalToWorld>(root) && !world.has::<LocalToWorld>(leaf));
        world.get_mut::<Position>(root).unwrap().0.x = 7.0;
    }
}

#[test]
fn hierarchies_move_unchanged_from_another_world() {
    let mut world = world();
    let here = chain(&mut world, 3);
    update(&mut world);
    for is_updated in [false, true] {
        let mut other = crate::common::world();
        // So that they have other numbers there.
        let odd = other.spawn(());
        let all = chain(&mut other, 4);
        let second = other.spawn((at(0.0, 1.0, 0.0), Parent(all[1])));
        if is_updated {
            update(&mut other);
        }
        other.despawn(odd).unwrap();
        let map = world.move_entities_from(&mut other).unwrap();
        update(&mut other);
        let now = |entity| map.get(entity).unwrap();
        world.add(here[0], Parent(now(all[3]))).unwrap();
        update(&mut world);
        assert_eq!(children(&world, now(all[1])), [all[2], second].map(now));
        assert_eq!(place(&world, now(second)), Vec3::new(2.0, 1.0, 0.0));
        assert_eq!(place(&world, here[2]), Vec3::new(7.0, 0.0, 0.0));
        world.get_mut::<LocalTransform>(now(all[0])).unwrap().position.z = 1.0;
        update(&mut world);
        assert_eq!(place(&world, now(second)), Vec3::new(2.0, 1.0, 1.0));
        assert_eq!(place(&world, here[2]), Vec3::new(7.0, 0.0, 1.0));
    }
}

#[test]
fn removing_the_buffer_of_a_parent_detaches_its_children() {
    let mut world = world();
    let parent = world.spawn(at(1.0, 0.0, 0.0));
    let all = [(); 3].map(|()| world.spawn((at(0.0, 1.0, 0.0), Parent(parent))));
    update(&mut world);
    world.remove::<Buffer<Child>>(parent).unwrap();
    world.despawn(all[0]).unwrap();
    update(&mut world);
    for child in [all[1], all[2]] {
        assert!(!world.has::<Parent>(child));
        assert_eq!(place(&world, child), Vec3::Y);
    }
}

#[test]
fn another_order_of_children_moves_nothing() {
    let mut world = world();
    let parent = world.spawn(at(1.0, 0.0, 0.0));
    let all = [1.0, 2.0, 3.0].map(|y| world.spawn((at(0.0, y, 0.0), Parent(parent))));
    update(&mut world);
    world.children_mut(parent).unwrap().reverse();
    world.get_mut::<Position>(parent).unwrap().0.x = 2.0;
    update(&mut world);
    assert_eq!(children(&world, parent), [all[2], all[1], all[0]]);
    for (child, y) in all.into_iter().zip([1.0, 2.0, 3.0]) {
        assert_eq!(place(&world, child), Vec3::new(2.0, y, 0.0));
    }
}

#[test]
fn the_parent_of_a_disabled_entity_changes_at_once() {
    let mut world = world();
    let (old, new) = (world.spawn(at(1.0, 0.0, 0.0)), world.spawn(at(5.0, 0.0, 0.0)));
    let child = world.spawn((at(0.0, 1.0, 0.0), Parent(old)));
    update(&mut world);
    world.add(child, Disabled).unwrap();
    update(&mut world);
    world.set(child, Parent(new)).unwrap();
    assert_eq!(children(&world, new), [child]);
    update(&mut world);
    assert_eq!(place(&world, child), Vec3::new(1.0, 1.0, 0.0), "it is inactive");
    world.remove::<Disabled>(child).unwrap();
    update(&mut world);
    assert_eq!(place(&world, child), Vec3::new(5.0, 1.0, 0.0));
}

#[test]
fn a_fork_and_its_original_have_other_parents() {
    let mut world = world();
    let parents = [1.0, 5.0].map(|x| world.spawn(at(x, 0.0, 0.0)));
    let child = world.spawn((at(0.0, 1.0, 0.0), Parent(parents[0])));
    let below = world.spawn((at(0.0, 0.0, 1.0), Parent(child)));
    update(&mut world);
    let mut fork = world.fork().unwrap();
    world.set(child, Parent(parents[1])).unwrap();
    fork.remove::<Parent>(child).unwrap();
    for world in [&mut world, &mut fork] {
        update(world);
    }
    assert_eq!(place(&world, below), Vec3::new(5.0, 1.0, 1.0));
    assert_eq!(place(&fork, below), Vec3::new(0.0, 1.0, 1.0));
    assert!(!fork.has::<Buffer<Child>>(parents[0]) && !world.has::<Buffer<Child>>(parents[0]));
}
