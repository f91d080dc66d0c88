//! Links between parents and children.

use ancho_entities::{
    Buffer, Component, Disabled, Entity, LinkedEntityGroup, Prefab, QueryDescriptor, With, World,
};
use ancho_transforms::{
    Child, LocalToWorld, LocalTransform, Parent, Position, PreviousParent, TransformError,
    update_transforms,
};
use glam::Vec3;

use crate::common::{at, chain, children, place, update, world};

#[test]
fn children_are_in_the_buffer_of_their_parent_in_order() {
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
fn a_child_moves_to_another_parent() {
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
fn children_of_a_despawned_parent_become_roots() {
    let mut world = world();
    let parent = world.spawn(at(1.0, 0.0, 0.0));
    let child = world.spawn((at(0.0, 1.0, 0.0), Parent(parent)));
    update(&mut world);
    world.despawn(parent).unwrap();
    assert!(world.exists(parent), "until its cleanup component is removed");
    update(&mut world);
    assert!(!world.exists(parent));
    assert!(!world.has::<Parent>(child) && !world.has::<PreviousParent>(child));
    assert_eq!(place(&world, child), Vec3::Y);
}

#[test]
fn parent_and_child_that_are_despawned_are_gone_after_the_update() {
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
fn parents_that_do_not_exist_are_removed() {
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
fn a_child_changes_its_parent_while_the_old_one_is_despawned() {
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
fn cycles_are_errors_that_name_the_entities_and_change_nothing() {
    let mut world = world();
    let chain = chain(&mut world, 4);
    let before = update_transforms(&mut world);
    assert_eq!(before, Ok(()));
    world.add(chain[0], Parent(chain[2])).unwrap();
    let errors = update_transforms(&mut world).unwrap_err();
    let expected = TransformError::Cycle {
        entities: vec![chain[0], chain[2], chain[1]],
        undone: Some(chain[0]),
    };
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
fn only_the_entity_that_closes_a_cycle_loses_its_new_parent() {
    let mut world = world();
    let [a, b, c] = [1.0, 2.0, 4.0].map(|x| world.spawn(at(x, 0.0, 0.0)));
    update(&mut world);
    // None of them is a cycle without the last one.
    for (child, parent) in [(a, b), (b, c), (c, a)] {
        world.add(child, Parent(parent)).unwrap();
    }
    let errors = update_transforms(&mut world).unwrap_err();
    let expected = TransformError::Cycle { entities: vec![c, a, b], undone: Some(c) };
    assert_eq!(errors.iter().collect::<Vec<_>>(), [&expected]);
    assert_eq!(
        errors.to_string(),
        format!(
            "A0140: cycle of parents: {c} -> {a} -> {b} -> {c}; {c} keeps its previous parent, if \
             any, and the others keep theirs: set the `Parent` of {c} to an entity outside the cycle"
        )
    );
    assert_eq!((world.get(a), world.get(b)), (Ok(&Parent(b)), Ok(&Parent(c))));
    assert!(!world.has::<Parent>(c));
    assert_eq!(place(&world, a), Vec3::new(7.0, 0.0, 0.0));
    update(&mut world);

    // Of two that are new, the last in the order of the world closes the cycle.
    let root = world.spawn(at(10.0, 0.0, 0.0));
    world.add(c, Parent(root)).unwrap();
    update(&mut world);
    let new = world.spawn((at(0.0, 1.0, 0.0), Parent(a)));
    world.get_mut::<Parent>(c).unwrap().0 = new;
    let errors = update_transforms(&mut world).unwrap_err();
    let expected = TransformError::Cycle { entities: vec![c, new, a, b], undone: Some(c) };
    assert_eq!(errors.iter().collect::<Vec<_>>(), [&expected]);
    assert_eq!(world.get(c), Ok(&Parent(root)), "it keeps the one that it had");
    assert_eq!(world.get(new), Ok(&Parent(a)));
    assert_eq!(place(&world, new), Vec3::new(17.0, 1.0, 0.0));
    update(&mut world);
}

#[test]
fn an_undone_parent_that_closes_another_cycle_has_the_last_of_that_undone() {
    let mut world = world();
    let chain = chain(&mut world, 4);
    update(&mut world);
    // All point the other way, but for the last, which stays below the one before it.
    for pair in chain[..4].windows(2) {
        let parent = Parent(pair[1]);
        match world.has::<Parent>(pair[0]) {
            true => world.set(pair[0], parent).unwrap(),
            false => _ = world.add(pair[0], parent).unwrap(),
        }
    }
    let errors = update_transforms(&mut world).unwrap_err();
    let undone: Vec<_> = errors
        .iter()
        .map(|error| match error {
            TransformError::Cycle { undone: Some(undone), .. } => *undone,
            error => panic!("{error}"),
        })
        .collect();
    assert_eq!(undone, [chain[2], chain[1], chain[0]]);
    for pair in chain.windows(2) {
        assert_eq!(world.get(pair[1]), Ok(&Parent(pair[0])));
        assert_eq!(children(&world, pair[0]), [pair[1]]);
    }
    update(&mut world);
}

#[test]
fn all_new_parents_apply_in_the_same_update() {
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
    world.despawn(parent).unwrap();
    update(&mut world);
    assert!(!world.has::<Parent>(child));
    update(&mut world);
}

#[test]
fn a_child_missing_from_the_buffer_of_its_parent_is_reported_and_detached() {
    let mut world = world();
    let (parent, other) = (world.spawn(at(1.0, 0.0, 0.0)), world.spawn(at(2.0, 0.0, 0.0)));
    let all = [(); 4].map(|()| world.spawn((at(0.0, 1.0, 0.0), Parent(parent))));
    update(&mut world);
    // One is taken out, and another put in who is no child.
    let stay = [all[0], all[2], all[3], other].map(Child);
    world.buffer_mut::<Child>(parent).unwrap().copy_from(&stay);
    world.get_mut::<Parent>(all[1]).unwrap().0 = other;
    world.remove::<Parent>(all[2]).unwrap();
    let errors = update_transforms(&mut world).unwrap_err();
    let expected = TransformError::NotInParent { child: all[1], parent };
    assert_eq!(errors.iter().collect::<Vec<_>>(), [&expected]);
    let message = errors.to_string();
    assert_eq!(
        message,
        format!(
            "A0146: {} leaves its parent {parent}, but is not in its `Child` buffer; the child was detached: write \
             only `Parent`, and leave `Child` buffers to the systems",
            all[1]
        )
    );
    assert_eq!(children(&world, parent), [all[0], all[3]], "who is no child is out, too");
    assert_eq!(children(&world, other), [all[1]]);
    assert_eq!(place(&world, all[1]), Vec3::new(2.0, 1.0, 0.0));
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
fn missing_entities_in_a_buffer_are_ignored() {
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
fn previous_parents_written_by_user_code_cause_no_endless_loop() {
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
    let expected = TransformError::Cycle { entities: vec![second, first], undone: Some(second) };
    assert_eq!(told, [expected]);
    for _ in 0..2 {
        update(&mut world);
        assert_eq!(world.get(first), Ok(&Parent(second)));
        assert!(!world.has::<Parent>(second) && !world.has::<PreviousParent>(second));
        assert_eq!(children(&world, first), [of_first, late]);
        assert_eq!(place(&world, late), Vec3::new(3.0, 3.0, 0.0));
        assert_eq!(place(&world, of_second), Vec3::new(2.0, 1.0, 0.0));
    }
}

#[test]
fn refused_cycles_keep_the_order_of_siblings() {
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
fn many_cycles_are_reported_one_by_one() {
    let mut world = world();
    let all: Vec<_> = world.spawn_many(at(1.0, 0.0, 0.0), 10_000).collect();
    for pair in all.chunks(2) {
        world.add(pair[0], Parent(pair[1])).unwrap();
        world.add(pair[1], Parent(pair[0])).unwrap();
    }
    let errors = update_transforms(&mut world).unwrap_err();
    let expected = TransformError::Cycle { entities: vec![all[1], all[0]], undone: Some(all[1]) };
    assert_eq!((errors.iter().len(), errors.iter().next()), (5_000, Some(&expected)));
    for pair in all.chunks(2) {
        assert_eq!(world.get(pair[0]), Ok(&Parent(pair[1])));
        assert!(!world.has::<Parent>(pair[1]));
    }
    update(&mut world);
    world.batch(QueryDescriptor::of::<(), With<Parent>>()).remove::<Parent>().unwrap();
    update(&mut world);

    // All of them in one.
    for (number, &entity) in all.iter().enumerate() {
        world.add(entity, Parent(all[(number + 1) % all.len()])).unwrap();
    }
    let errors = update_transforms(&mut world).unwrap_err();
    let told: Vec<_> = errors.iter().collect();
    let [TransformError::Cycle { entities, undone: Some(undone) }] = &told[..] else {
        panic!("{told:?}")
    };
    assert_eq!((entities.len(), entities[0]), (10_000, *undone));
    let roots: Vec<_> = all.iter().filter(|&&entity| !world.has::<Parent>(entity)).collect();
    assert_eq!(roots, [undone]);
    update(&mut world);
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
        assert!(!world.has::<Buffer<Child>>(root) && !world.has::<LocalToWorld>(leaf));
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
fn children_that_exchange_their_components_exchange_their_parents() {
    let mut world = world();
    let (p, q) = (world.spawn(at(1.0, 0.0, 0.0)), world.spawn(at(10.0, 0.0, 0.0)));
    let a = world.spawn((at(0.0, 1.0, 0.0), Parent(p)));
    let b = world.spawn((at(0.0, 2.0, 0.0), Parent(q)));
    update(&mut world);
    world.swap_components(a, b).unwrap();
    update(&mut world);
    assert_eq!(place(&world, a), Vec3::new(10.0, 2.0, 0.0));
    assert_eq!(place(&world, b), Vec3::new(1.0, 1.0, 0.0));
}

#[test]
fn children_leave_a_parent_whose_buffer_was_removed_without_an_error() {
    let mut world = world();
    let (parent, other) = (world.spawn(at(1.0, 0.0, 0.0)), world.spawn(at(2.0, 0.0, 0.0)));
    let all = [(); 3].map(|()| world.spawn((at(0.0, 1.0, 0.0), Parent(parent))));
    update(&mut world);
    world.remove::<Buffer<Child>>(parent).unwrap();
    world.despawn(all[0]).unwrap();
    world.get_mut::<Parent>(all[1]).unwrap().0 = other;
    world.remove::<Parent>(all[2]).unwrap();
    update(&mut world);
    assert!(!world.exists(all[0]) && !world.has::<Buffer<Child>>(parent));
    assert_eq!(children(&world, other), [all[1]]);
    assert!(!world.has::<PreviousParent>(all[2]));
}

/// Spawns two parents with two children each, and updates.
fn two_families(world: &mut World) -> [(Entity, [Entity; 2]); 2] {
    let families = [1.0, 5.0].map(|x| {
        let parent = world.spawn(at(x, 0.0, 0.0));
        (parent, [1.0, 2.0].map(|y| world.spawn((at(0.0, y, 0.0), Parent(parent)))))
    });
    update(world);
    families
}

/// Checks that the buffer of each parent lists its children, and that each child is listed.
#[track_caller]
fn check_links(world: &World) {
    let mut listed = Vec::new();
    for (parent, children) in world.query::<(Entity, &Buffer<Child>)>().iter() {
        for &Child(child) in children {
            assert_eq!(world.get(child), Ok(&Parent(parent)));
            assert_eq!(world.get::<PreviousParent>(child).unwrap().get(), parent);
            listed.push(child);
        }
    }
    let mut all: Vec<_> = world.query_filtered::<Entity, With<Parent>>().iter().collect();
    all.sort();
    listed.sort();
    assert_eq!(all, listed);
}

#[test]
fn children_that_exchange_their_components_are_listed_by_their_new_parents() {
    let mut world = world();
    let [(a, [a0, a1]), (b, [b0, b1])] = two_families(&mut world);
    world.swap_components(a0, b1).unwrap();
    update(&mut world);
    check_links(&world);
    let mut listed = [children(&world, a), children(&world, b)];
    listed.iter_mut().for_each(|listed| listed.sort());
    assert_eq!(listed, [[a1, b1], [a0, b0]]);
    assert_eq!(place(&world, a0), Vec3::new(5.0, 2.0, 0.0));
    // The second time the parents are as in the beginning.
    world.swap_components(a0, b1).unwrap();
    update(&mut world);
    check_links(&world);
    world.get_mut::<Parent>(a0).unwrap().0 = b;
    update(&mut world);
    check_links(&world);
}

#[test]
fn children_that_exchange_their_components_follow_other_changes_of_the_frame() {
    let mut world = world();
    let [(a, [a0, _]), (b, [b0, b1])] = two_families(&mut world);
    // The parent of one of them is despawned.
    world.swap_components(a0, b0).unwrap();
    world.despawn(a).unwrap();
    update(&mut world);
    check_links(&world);
    assert!(!world.exists(a) && !world.has::<Parent>(b0));
    assert_eq!(children(&world, b).len(), 2);
    // One is given another parent, and the other one is despawned.
    let c = world.spawn(at(3.0, 0.0, 0.0));
    let of_c = world.spawn((at(0.0, 1.0, 0.0), Parent(c)));
    update(&mut world);
    world.swap_components(of_c, b1).unwrap();
    world.get_mut::<Parent>(of_c).unwrap().0 = a0;
    world.despawn(b1).unwrap();
    update(&mut world);
    check_links(&world);
    assert!(!world.exists(b1) && !world.has::<Buffer<Child>>(c));
    assert_eq!((children(&world, b), children(&world, a0)), (vec![a0], vec![of_c]));
}

#[test]
fn disabled_children_that_exchange_their_components_are_listed_by_their_new_parents() {
    let mut world = world();
    let [(a, [a0, _]), (_, [b0, _])] = two_families(&mut world);
    world.add(a0, Disabled).unwrap();
    world.add(b0, Disabled).unwrap();
    update(&mut world);
    world.swap_components(a0, b0).unwrap();
    update(&mut world);
    world.remove::<Disabled>(a0).unwrap();
    world.remove::<Disabled>(b0).unwrap();
    update(&mut world);
    check_links(&world);
    assert!(children(&world, a).contains(&b0));
}

#[test]
fn parents_that_exchange_their_components_keep_their_children() {
    let mut world = world();
    let [(a, of_a), (b, of_b)] = two_families(&mut world);
    world.swap_components(a, b).unwrap();
    update(&mut world);
    check_links(&world);
    let sorted = |world: &World, parent| {
        let mut listed = children(world, parent);
        listed.sort();
        listed
    };
    assert_eq!((sorted(&world, a), sorted(&world, b)), (of_a.to_vec(), of_b.to_vec()));
    assert_eq!(place(&world, of_a[0]), Vec3::new(5.0, 1.0, 0.0));
    // Also if one of them is despawned in the same frame.
    world.swap_components(a, b).unwrap();
    world.despawn(a).unwrap();
    update(&mut world);
    check_links(&world);
    assert!(!world.exists(a) && !world.has::<Parent>(of_a[0]) && !world.has::<Parent>(of_a[1]));
    assert_eq!(sorted(&world, b), of_b);
}

#[test]
fn a_parent_whose_buffer_was_emptied_leaves_nothing_when_it_is_despawned() {
    let mut world = world();
    let [(a, of_a), (b, of_b)] = two_families(&mut world);
    world.buffer_mut::<Child>(a).unwrap().clear();
    world.despawn(a).unwrap();
    // One that is left in the buffer does not hide the other.
    world.buffer_mut::<Child>(b).unwrap().copy_from(&[Child(of_b[1])]);
    world.despawn(b).unwrap();
    // One that never had children.
    let empty = world.spawn(at(0.0, 0.0, 0.0));
    world.add_buffer::<Child>(empty).unwrap();
    update(&mut world);
    world.despawn(empty).unwrap();
    update(&mut world);
    for parent in [a, b, empty] {
        assert!(!world.exists(parent));
    }
    for (child, y) in [(of_a[0], 1.0), (of_a[1], 2.0), (of_b[0], 1.0), (of_b[1], 2.0)] {
        assert!(!world.has::<Parent>(child) && !world.has::<PreviousParent>(child));
        assert_eq!(place(&world, child), Vec3::new(0.0, y, 0.0));
    }
}
