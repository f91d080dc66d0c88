//! Trees that are spawned in one call, and reports of prefab trees that were built by hand and are incomplete.

use ancho_entities::{
    Buffer, Component, Disabled, Entity, IncludePrefabs, LinkedEntityGroup, Prefab, World,
};
use ancho_transforms::{
    AddTransforms, Parent, Position, TransformError, spawn_prefab, spawn_tree, update_transforms,
};
use glam::Vec3;

use crate::common::{at, children, place, update, world};

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Number(u32);

/// Returns the sentence of the only error of an update.
#[track_caller]
fn only_error(world: &mut World) -> String {
    let errors = update_transforms(world).unwrap_err();
    assert_eq!(errors.iter().len(), 1, "{errors}");
    errors.to_string()
}

/// Spawns a tree of four entities: a root with two children, the second of which has a child.
fn tank(world: &mut World) -> [Entity; 4] {
    let mut below = Vec::new();
    let root = spawn_prefab(world, at(1.0, 0.0, 0.0), |root| {
        below.push(root.spawn((Number(1), at(0.0, 1.0, 0.0))));
        let mut leaf = Entity::NULL;
        let inner = root.spawn_with_children((Number(2), at(0.0, 2.0, 0.0)), |inner| {
            leaf = inner.spawn((Number(3), at(0.0, 0.0, 1.0)));
        });
        below.extend([inner, leaf]);
    });
    [root, below[0], below[1], below[2]]
}

#[test]
fn a_prefab_tree_has_tags_parents_and_a_group() {
    let mut world = world();
    let all @ [root, first, inner, leaf] = tank(&mut world);
    assert!(all.iter().all(|&entity| world.has::<Prefab>(entity)));
    assert_eq!(world.get::<Parent>(root).ok(), None);
    let parents = [first, inner, leaf].map(|entity| world.get::<Parent>(entity).unwrap().0);
    assert_eq!(parents, [root, root, inner]);
    assert_eq!(world.buffer::<LinkedEntityGroup>(root).unwrap(), all.map(LinkedEntityGroup));
    assert!(
        [first, inner, leaf].iter().all(|&entity| !world.has::<Buffer<LinkedEntityGroup>>(entity))
    );
    update(&mut world);

    let copy = world.instantiate(root).unwrap();
    update(&mut world);
    let below = children(&world, copy);
    assert_eq!(below.len(), 2);
    assert_eq!(world.get(below[1]), Ok(&Number(2)));
    assert_eq!(place(&world, children(&world, below[1])[0]), Vec3::new(1.0, 2.0, 1.0));
    world.despawn(copy).unwrap();
    update(&mut world);
    assert_eq!(world.entity_count(), 4, "the prefab itself");
}

#[test]
fn a_living_tree_is_despawned_with_its_root() {
    let mut world = world();
    let mut leaf = Entity::NULL;
    let root = spawn_tree(&mut world, at(1.0, 0.0, 0.0), |root| {
        root.spawn_with_children(at(0.0, 1.0, 0.0), |inner| {
            leaf = inner.spawn(at(0.0, 0.0, 1.0));
        });
    });
    update(&mut world);
    assert_eq!(place(&world, leaf), Vec3::ONE);
    assert_eq!(world.query_filtered::<&Prefab, IncludePrefabs>().count(), 0);
    world.despawn(root).unwrap();
    update(&mut world);
    assert_eq!(world.entity_count(), 0);
}

#[test]
fn a_tree_without_children_has_no_group() {
    let mut world = world();
    let alone = spawn_prefab(&mut world, Number(1), |_| {});
    assert!(!world.has::<Buffer<LinkedEntityGroup>>(alone) && world.has::<Prefab>(alone));
}

#[test]
#[should_panic(expected = "A0053")]
fn a_parent_among_the_components_is_refused() {
    let mut world = world();
    spawn_tree(&mut world, (), |root| _ = root.spawn(Parent(root.parent())));
}

#[test]
fn a_living_child_of_a_prefab_is_reported_once() {
    let mut world = world();
    let prefab = world.spawn((at(1.0, 0.0, 0.0), Prefab));
    let child = world.spawn((at(0.0, 1.0, 0.0), Parent(prefab)));
    assert_eq!(
        only_error(&mut world),
        format!(
            "A0170: the `Parent` of {child} is the prefab {prefab}, but {child} is not a prefab; build the tree with \
             `spawn_prefab`, which tags every entity of the tree, and instantiate its root"
        )
    );
    update(&mut world);
    world.add(child, Prefab).unwrap();
    world.add(prefab, Buffer::from([prefab, child].map(LinkedEntityGroup))).unwrap();
    update(&mut world);
}

#[test]
fn an_instance_of_a_child_alone_is_reported() {
    let mut world = world();
    let [root, first, ..] = tank(&mut world);
    let copy = world.instantiate(first).unwrap();
    let errors = update_transforms(&mut world).unwrap_err();
    assert!(errors.iter().eq(&[TransformError::ChildOfPrefab { child: copy, prefab: root }]));
}

#[test]
fn a_child_of_a_disabled_parent_is_no_error() {
    let mut world = world();
    let parent = world.spawn((at(1.0, 0.0, 0.0), Disabled));
    world.spawn((at(0.0, 1.0, 0.0), Parent(parent)));
    update(&mut world);
}

#[test]
fn a_prefab_that_no_group_lists_is_reported() {
    let mut world = world();
    let root = world.spawn((at(1.0, 0.0, 0.0), Prefab));
    let inner = world.spawn((at(0.0, 1.0, 0.0), Prefab, Parent(root)));
    world.add(root, Buffer::from([root, inner].map(LinkedEntityGroup))).unwrap();
    update(&mut world);
    let leaf = world.spawn((Number(3), at(0.0, 0.0, 1.0), Prefab, Parent(inner)));
    assert_eq!(
        only_error(&mut world),
        format!(
            "A0171: the prefab {leaf} is below the prefab {root}, but the `LinkedEntityGroup` of {root} does not list \
             it, so the groups of instances lack its copy; build the tree with `spawn_prefab`, which lists every entity \
             of the tree, or remove the group"
        )
    );
    update(&mut world);
    world.set(leaf, Parent(root)).unwrap();
    assert!(only_error(&mut world).starts_with("A0171"), "its parent was written");
    world.add(root, Buffer::from([root, inner, leaf].map(LinkedEntityGroup))).unwrap();
    world.set(leaf, Parent(inner)).unwrap();
    update(&mut world);
}

#[test]
fn a_prefab_below_a_living_entity_is_no_error() {
    let mut world = world();
    let ship = world.spawn(at(1.0, 0.0, 0.0));
    let bullet = world.spawn((at(0.0, 1.0, 0.0), Prefab, Parent(ship)));
    let shot = world.instantiate(bullet).unwrap();
    update(&mut world);
    assert_eq!(place(&world, shot), Vec3::new(1.0, 1.0, 0.0));
}

#[test]
fn prefabs_without_a_group_are_no_error() {
    let mut world = world();
    let root = world.spawn((at(1.0, 0.0, 0.0), Prefab));
    world.with_children(root, |root| _ = root.spawn(at(0.0, 1.0, 0.0))).unwrap();
    update(&mut world);
    let copy = world.instantiate(root).unwrap();
    update(&mut world);
    assert_eq!(place(&world, children(&world, copy)[0]), Vec3::new(1.0, 1.0, 0.0));
}

#[test]
fn a_child_of_a_prefab_that_loses_its_tag_is_reported_once() {
    let mut world = world();
    let [root, first, ..] = tank(&mut world);
    let late = world.spawn((at(0.0, 1.0, 0.0), Prefab));
    update(&mut world);
    world.remove::<Prefab>(first).unwrap();
    let errors = update_transforms(&mut world).unwrap_err();
    assert!(errors.iter().eq(&[TransformError::ChildOfPrefab { child: first, prefab: root }]));
    world.add(late, Number(4)).unwrap();
    update(&mut world);
    // It has the tag meanwhile, and loses it again.
    world.add(first, Prefab).unwrap();
    update(&mut world);
    world.remove::<Prefab>(first).unwrap();
    assert!(only_error(&mut world).starts_with("A0170"));
}

#[test]
fn the_system_reports_it() {
    let mut world = world();
    world.add_transforms();
    let prefab = world.spawn((Position(Vec3::ZERO), Prefab));
    world.spawn((Position(Vec3::ZERO), Parent(prefab)));
    let errors = world.try_update(0.1).unwrap_err().to_string();
    assert!(errors.contains("ParentSystem") && errors.contains("A0170"), "{errors}");
    world.try_update(0.1).unwrap();
}
