//! Who is whose child: T3, T18-7.

use ancho_entities::{Buffer, Component, Entity, LinkedEntityGroup, Prefab};
use ancho_transforms::{
    Child, LocalToWorld, LocalTransform, Parent, Position, PreviousParent, TransformError,
    update_transforms,
};
use glam::Vec3;

use crate::common::{at, chain, children, place, update, world};

#[test]
fn t3_children_are_in_the_buffer_of_their_parent_in_order() {
    let mut world = world();
    let parent = world.spawn(at(1.0, 0.0, 0.0));
    let all: Vec<_> = (0..5).map(|_| world.spawn((at(0.0, 1.0, 0.0), Parent(parent)))).collect();
    update(&mut world);
    assert_eq!(children(&world, parent), all);
    assert_eq!(world.get::<PreviousParent>(all[3]).unwrap().get(), parent);
    world.remove::<Parent>(all[1]).unwrap();
    world.despawn(all[3]).unwrap();
    let late = world.spawn((at(0.0, 1.0, 0.0), Parent(parent)));
    update(&mut world);
    assert_eq!(children(&world, parent), [all[0], all[2], all[4], late]);
    assert!(!world.has::<PreviousParent>(all[1]) && !world.exists(all[3]));
    assert_eq!(place(&world, all[1]), Vec3::Y, "by the same numbers in the world");
}

#[test]
fn t3_a_child_goes_to_another_parent() {
    let mut world = world();
    let (left, right) = (world.spawn(at(-1.0, 0.0, 0.0)), world.spawn(at(1.0, 0.0, 0.0)));
    let child = world.spawn((at(0.0, 1.0, 0.0), Parent(left)));
    update(&mut world);
    world.get_mut::<Parent>(child).unwrap().0 = right;
    update(&mut world);
    assert_eq!(children(&world, right), [child]);
    assert!(!world.has::<Buffer<Child>>(left), "a buffer that is empty goes");
    assert_eq!(place(&world, child), Vec3::new(1.0, 1.0, 0.0));
}

#[test]
fn t3_children_of_who_is_despawned_are_placed_in_the_world() {
    let mut world = world();
    let parent = world.spawn(at(1.0, 0.0, 0.0));
    let child = world.spawn((at(0.0, 1.0, 0.0), Parent(parent)));
    update(&mut world);
    world.despawn(parent).unwrap();
    assert!(world.exists(parent), "until somebody has seen it");
    update(&mut world);
    assert!(!world.exists(parent));
    assert!(!world.has::<Parent>(child) && !world.has::<PreviousParent>(child));
    assert_eq!(place(&world, child), Vec3::Y);
}

#[test]
fn t18_7_parent_and_child_that_are_despawned_are_gone_after_the_update() {
    let mut world = world();
    let parent = world.spawn(at(1.0, 0.0, 0.0));
    let child = world.spawn((at(0.0, 1.0, 0.0), Parent(parent)));
    let grandchild = world.spawn((at(0.0, 1.0, 0.0), Parent(child)));
    world.add_buffer::<LinkedEntityGroup>(parent).unwrap();
    let group = [parent, child, grandchild].map(LinkedEntityGroup);
    world.buffer_mut::<LinkedEntityGroup>(parent).unwrap().copy_from(&group);
    update(&mut world);
    world.despawn(parent).unwrap();
    assert_eq!(world.entity_count(), 3);
    update(&mut world);
    assert_eq!(world.entity_count(), 0);
}

#[test]
fn t3_parents_that_do_not_exist_are_removed() {
    let mut world = world();
    let gone = world.spawn(());
    world.despawn(gone).unwrap();
    let child = world.spawn((at(0.0, 1.0, 0.0), Parent(gone)));
    let of_nobody = world.spawn((at(0.0, 1.0, 0.0), Parent(Entity::NULL)));
    let first = world.spawn(at(1.0, 0.0, 0.0));
    let brief = world.spawn((at(0.0, 1.0, 0.0), Parent(first)));
    world.despawn(first).unwrap();
    update(&mut world);
    for entity in [child, of_nobody, brief] {
        assert!(!world.has::<Parent>(entity) && !world.has::<PreviousParent>(entity));
        assert_eq!(place(&world, entity), Vec3::Y);
    }
}

#[test]
fn t3_a_parent_is_despawned_and_its_child_goes_to_another_at_once() {
    let mut world = world();
    let (old, new) = (world.spawn(at(-1.0, 0.0, 0.0)), world.spawn(at(1.0, 0.0, 0.0)));
    let child = world.spawn((at(0.0, 1.0, 0.0), Parent(old)));
    update(&mut world);
    world.despawn(old).unwrap();
    world.get_mut::<Parent>(child).unwrap().0 = new;
    update(&mut world);
    assert!(!world.exists(old));
    assert_eq!(children(&world, new), [child]);
    assert_eq!(place(&world, child), Vec3::new(1.0, 1.0, 0.0));
}

#[test]
fn parents_without_a_place_are_in_the_middle_of_the_world_or_where_their_parents_are() {
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
fn cycles_are_errors_that_name_the_entities_and_change_nothing() {
    let mut world = world();
    let chain = chain(&mut world, 4);
    let before = update_transforms(&mut world);
    assert_eq!(before, Ok(()));
    world.add(chain[0], Parent(chain[2])).unwrap();
    let errors = update_transforms(&mut world).unwrap_err();
    let expected = TransformError::Cycle { entities: vec![chain[0], chain[2], chain[1]] };
    assert_eq!(errors.iter().collect::<Vec<_>>(), [&expected]);
    let message = errors.to_string();
    assert!(message.starts_with("A0140: "), "{message}");
    for entity in &chain[..3] {
        assert!(message.contains(&entity.to_string()), "{message}");
    }
    assert!(!world.has::<Parent>(chain[0]), "it had none");
    assert_eq!(children(&world, chain[1]), [chain[2]]);
    assert_eq!(place(&world, chain[3]), Vec3::new(4.0, 0.0, 0.0));

    let itself = world.spawn(at(0.0, 0.0, 0.0));
    world.add(itself, Parent(itself)).unwrap();
    world.get_mut::<Parent>(chain[1]).unwrap().0 = chain[3];
    let errors = update_transforms(&mut world).unwrap_err();
    assert_eq!(errors.iter().len(), 2);
    assert_eq!(world.get(chain[1]), Ok(&Parent(chain[0])), "it keeps the one that it had");
    update(&mut world);
}

#[test]
fn all_new_parents_count_at_once() {
    let mut world = world();
    let chain = chain(&mut world, 3);
    update(&mut world);
    // The last and the one before change places: neither order of the two steps would do.
    world.get_mut::<Parent>(chain[1]).unwrap().0 = chain[2];
    world.get_mut::<Parent>(chain[2]).unwrap().0 = chain[0];
    update(&mut world);
    assert_eq!(children(&world, chain[0]), [chain[2]]);
    assert_eq!(children(&world, chain[2]), [chain[1]]);
    assert_eq!(place(&world, chain[1]), Vec3::new(3.0, 0.0, 0.0));
}

#[test]
fn instances_of_children_are_children_too() {
    let mut world = world();
    let parent = world.spawn(at(1.0, 0.0, 0.0));
    let child = world.spawn((at(0.0, 1.0, 0.0), Parent(parent)));
    update(&mut world);
    let copy = world.entities_mut().instantiate(child).unwrap();
    update(&mut world);
    assert_eq!(children(&world, parent), [child, copy]);
    assert_eq!(place(&world, copy), Vec3::new(1.0, 1.0, 0.0));
}

#[test]
fn a_strict_world_is_no_other() {
    let settings = ancho_entities::WorldSettings::new().strict(true);
    let mut world = ancho_entities::World::with_settings("Strict", settings);
    let parent = world.spawn(at(1.0, 0.0, 0.0));
    let child = world.spawn((at(0.0, 1.0, 0.0), Parent(parent), ancho_transforms::Static));
    for _ in 0..4 {
        update(&mut world);
    }
    world.despawn(parent).unwrap();
    update(&mut world);
    assert!(!world.has::<Parent>(child));
    update(&mut world);
}

#[test]
fn t3_a_child_that_is_not_in_the_buffer_of_its_parent_is_told_and_leaves() {
    let mut world = world();
    let (parent, other) = (world.spawn(at(1.0, 0.0, 0.0)), world.spawn(at(2.0, 0.0, 0.0)));
    let all = [(); 4].map(|()| world.spawn((at(0.0, 1.0, 0.0), Parent(parent))));
    update(&mut world);
    // One is taken out, and another put in who is no child.
    let stay = [all[0], all[2], all[3], other].map(Child);
    world.buffer_mut::<Child>(parent).unwrap().copy_from(&stay);
    update(&mut world);
    world.get_mut::<Parent>(all[1]).unwrap().0 = other;
    world.remove::<Parent>(all[2]).unwrap();
    let errors = update_transforms(&mut world).unwrap_err();
    let expected = TransformError::NotInParent { child: all[1], parent };
    assert_eq!(errors.iter().collect::<Vec<_>>(), [&expected]);
    let message = errors.to_string();
    assert_eq!(
        message,
        format!(
            "A0146: {} leaves its parent {parent}, but is not in its `Child` buffer; it has left: write `Parent` alone, and leave \
             the buffers to the systems",
            all[1]
        )
    );
    assert_eq!(children(&world, parent), [all[0], all[3]], "who is no child is out, too");
    assert_eq!(children(&world, other), [all[1]]);
    assert_eq!(place(&world, all[1]), Vec3::new(2.0, 1.0, 0.0));
    update(&mut world);

    // The whole buffer.
    world.remove::<Buffer<Child>>(parent).unwrap();
    world.despawn(all[0]).unwrap();
    world.get_mut::<Parent>(all[3]).unwrap().0 = other;
    let errors = update_transforms(&mut world).unwrap_err();
    let told: Vec<_> = errors.iter().cloned().collect();
    let expected = [all[0], all[3]].map(|child| TransformError::NotInParent { child, parent });
    assert_eq!(told, expected);
    assert!(!world.exists(all[0]));
    assert_eq!(children(&world, other), [all[1], all[3]]);
    update(&mut world);
}

/// Stays when its entity is despawned, and has nothing to do with transforms.
#[derive(Component, Clone, Copy)]
#[component(name = "tests::Stays", cleanup)]
struct Stays;

#[test]
fn t3_what_another_component_keeps_of_a_parent_is_no_parent() {
    let mut world = world();
    // One that was never a parent, and one that was.
    let first = world.spawn((at(1.0, 0.0, 0.0), Stays));
    let second = world.spawn((at(1.0, 0.0, 0.0), Stays));
    let old = world.spawn((at(0.0, 1.0, 0.0), Parent(second)));
    update(&mut world);
    world.despawn(first).unwrap();
    world.despawn(second).unwrap();
    let all = [first, second].map(|parent| world.spawn((at(0.0, 1.0, 0.0), Parent(parent))));
    for _ in 0..2 {
        update(&mut world);
        for child in [old, all[0], all[1]] {
            assert!(!world.has::<Parent>(child) && !world.has::<PreviousParent>(child));
            assert_eq!(place(&world, child), Vec3::Y);
        }
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
fn t3_a_parent_without_a_place_that_loses_its_matrix_is_not_gone() {
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
fn t3_who_is_in_a_buffer_without_being_there_does_no_harm() {
    let mut world = world();
    let strange = [Entity::from_parts(u32::MAX, 1), Entity::from_parts(u32::MAX - 1, 7)];
    let parent = world.spawn(at(1.0, 0.0, 0.0));
    let all = [(); 3].map(|()| world.spawn((at(0.0, 1.0, 0.0), Parent(parent))));
    update(&mut world);
    world.buffer_mut::<Child>(parent).unwrap().extend_from_slice(&strange.map(Child));
    world.remove::<Parent>(all[1]).unwrap();
    update(&mut world);
    assert_eq!(children(&world, parent), [all[0], all[2]]);
    // Also if the parent goes.
    world.buffer_mut::<Child>(parent).unwrap().extend_from_slice(&strange.map(Child));
    world.despawn(parent).unwrap();
    update(&mut world);
    assert!(!world.exists(parent) && !world.has::<Parent>(all[0]));
}

#[test]
fn t3_previous_parents_that_somebody_else_wrote_are_no_endless_way() {
    let mut world = world();
    let (first, second) = (world.spawn(at(1.0, 0.0, 0.0)), world.spawn(at(2.0, 0.0, 0.0)));
    let of_first = world.spawn((at(0.0, 1.0, 0.0), Parent(first)));
    let of_second = world.spawn((at(0.0, 1.0, 0.0), Parent(second)));
    update(&mut world);
    // Each is below the other, and always was.
    let previous = |entity| *world.get::<PreviousParent>(entity).unwrap();
    let (below_first, below_second) = (previous(of_first), previous(of_second));
    world.add(first, (Parent(second), below_second)).unwrap();
    world.add(second, (Parent(first), below_first)).unwrap();
    let late = world.spawn((at(0.0, 3.0, 0.0), Parent(first)));
    let errors = update_transforms(&mut world).unwrap_err();
    let told: Vec<_> = errors.iter().cloned().collect();
    let expected = [
        TransformError::Cycle { entities: vec![first, second] },
        TransformError::NotInParent { child: second, parent: first },
        TransformError::NotInParent { child: first, parent: second },
    ];
    assert_eq!(told, expected);
    for _ in 0..2 {
        update(&mut world);
        assert!(!world.has::<Parent>(first) && !world.has::<PreviousParent>(second));
        assert_eq!(children(&world, first), [of_first, late]);
        assert_eq!(place(&world, late), Vec3::new(1.0, 3.0, 0.0));
        assert_eq!(place(&world, of_second), Vec3::new(2.0, 1.0, 0.0));
    }
}

#[test]
fn cycles_that_are_refused_leave_siblings_in_their_order() {
    let mut world = world();
    let root = world.spawn(at(1.0, 0.0, 0.0));
    let all = [(); 3].map(|()| world.spawn((at(0.0, 1.0, 0.0), Parent(root))));
    let below = all.map(|child| world.spawn((at(0.0, 0.0, 1.0), Parent(child))));
    update(&mut world);
    for (child, below) in all.into_iter().zip(below) {
        world.get_mut::<Parent>(child).unwrap().0 = below;
    }
    assert_eq!(update_transforms(&mut world).unwrap_err().iter().len(), 3);
    assert_eq!(children(&world, root), all);
    world.get_mut::<Parent>(all[1]).unwrap().0 = below[1];
    assert_eq!(update_transforms(&mut world).unwrap_err().iter().len(), 1);
    assert_eq!(children(&world, root), all);
    update(&mut world);
}

#[test]
fn many_cycles_are_told_one_by_one() {
    let mut world = world();
    let all: Vec<_> = world.spawn_many(10_000, at(1.0, 0.0, 0.0)).collect();
    for pair in all.chunks(2) {
        world.add(pair[0], Parent(pair[1])).unwrap();
        world.add(pair[1], Parent(pair[0])).unwrap();
    }
    let errors = update_transforms(&mut world).unwrap_err();
    let expected = TransformError::Cycle { entities: vec![all[0], all[1]] };
    assert_eq!((errors.iter().len(), errors.iter().next()), (5_000, Some(&expected)));
    assert!(all.iter().all(|&entity| !world.has::<Parent>(entity)));
    update(&mut world);

    // All of them in one.
    for (number, &entity) in all.iter().enumerate() {
        world.add(entity, Parent(all[(number + 1) % all.len()])).unwrap();
    }
    let errors = update_transforms(&mut world).unwrap_err();
    let told: Vec<_> = errors.iter().collect();
    assert!(matches!(&told[..], [TransformError::Cycle { entities }] if entities.len() == 10_000));
    assert!(all.iter().all(|&entity| !world.has::<Parent>(entity)));
    update(&mut world);
}

#[test]
fn t3_an_instance_of_a_prefab_is_a_tree_of_its_own() {
    let mut world = world();
    let root = world.spawn((at(1.0, 0.0, 0.0), Prefab));
    let inner = world.spawn((at(0.0, 1.0, 0.0), Prefab, Parent(root)));
    let leaf = world.spawn((at(0.0, 0.0, 1.0), Prefab, Parent(inner)));
    world.add_buffer::<LinkedEntityGroup>(root).unwrap();
    let group = [root, inner, leaf].map(LinkedEntityGroup);
    world.buffer_mut::<LinkedEntityGroup>(root).unwrap().copy_from(&group);
    update(&mut world);
    let copies = [(); 3].map(|()| world.entities_mut().instantiate(root).unwrap());
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
        assert!(!world.has::<Buffer<Child>>(root) && !world.has::<LocalToWorld>(leaf));
        world.get_mut::<Position>(root).unwrap().0.x = 7.0;
    }
}

#[test]
fn t3_hierarchies_of_another_world_come_as_they_are() {
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
fn t3_children_that_exchange_their_components_exchange_their_parents() {
    let mut world = world();
    let (p, q) = (world.spawn(at(1.0, 0.0, 0.0)), world.spawn(at(10.0, 0.0, 0.0)));
    let a = world.spawn((at(0.0, 1.0, 0.0), Parent(p)));
    let b = world.spawn((at(0.0, 2.0, 0.0), Parent(q)));
    update(&mut world);
    world.entities_mut().swap_components(a, b).unwrap();
    update(&mut world);
    assert_eq!(place(&world, a), Vec3::new(10.0, 2.0, 0.0));
    assert_eq!(place(&world, b), Vec3::new(1.0, 1.0, 0.0));
}
