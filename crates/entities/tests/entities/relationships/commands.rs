//! Links in recorded commands.

use ancho_entities::{Buffer, EntityCommandBuffer, Parent, Prefab};

use super::{ChildOf, Children, Targets};
use crate::common::*;

#[test]
fn children_are_attached_in_the_order_of_the_commands() {
    for count in [3, 100] {
        let mut world = world();
        let (left, right) = (world.spawn(()), world.spawn(()));
        let all: Vec<_> = world.spawn_many(A(1), count).collect();
        let mut buffer = EntityCommandBuffer::new();
        let commands = buffer.commands().unwrap();
        for (at, &child) in all.iter().enumerate() {
            commands.add(child, ChildOf(if at % 3 == 0 { left } else { right }));
        }
        world.play(&mut buffer).unwrap();
        let every =
            |at: usize| all.iter().enumerate().filter(move |(n, _)| (n % 3 == 0) == (at == 0));
        assert!(world.sources::<ChildOf>(left).iter().eq(every(0).map(|(_, child)| child)));
        assert!(world.sources::<ChildOf>(right).iter().eq(every(1).map(|(_, child)| child)));
    }
}

#[test]
fn placeholders_are_sources_and_targets() {
    let mut world = world();
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    let root = commands.spawn(A(0));
    let child = commands.spawn((A(1), ChildOf(root)));
    let leaf = commands.spawn(A(2));
    commands.add(leaf, ChildOf(child));
    commands.entity(root).with_children(|root| {
        let first = root.spawn(A(3));
        root.with_children(first, |first| _ = first.spawn(A(4)));
    });
    world.play(&mut buffer).unwrap();
    let [root, child, leaf] = [root, child, leaf].map(|entity| buffer.resolve(entity).unwrap());
    assert!(world.descendants::<ChildOf>(root).unwrap().eq([child, leaf]));
    assert_eq!(world.descendants::<Parent>(root).unwrap().count(), 2);
}

#[test]
fn commands_whose_target_is_gone_are_skipped() {
    for count in [1, 20] {
        let mut world = world();
        let (parent, gone) = (world.spawn(()), world.spawn(()));
        world.despawn(gone).unwrap();
        let all: Vec<_> = world.spawn_many(A(1), count).collect();
        let mut buffer = EntityCommandBuffer::new();
        let commands = buffer.commands().unwrap();
        for &child in &all {
            commands.add(child, ChildOf(parent));
        }
        commands.add(all[0], ChildOf(gone));
        let lost = commands.spawn((A(2), ChildOf(gone)));
        commands.add(lost, B(1));
        let kept = commands.spawn((A(3), ChildOf(parent)));
        let report = world.play(&mut buffer).unwrap();
        assert_eq!(report.skipped(), 3);
        assert_eq!(world.sources::<ChildOf>(parent).len(), count + 1);
        assert_eq!(world.entity_count(), count + 2);
        assert!(world.exists(buffer.resolve(kept).unwrap()));
    }
}

#[test]
fn a_parent_that_an_earlier_command_despawns_takes_its_children_along() {
    let mut world = world();
    let parent = world.spawn(());
    let child = world.spawn(ChildOf(parent));
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    commands.add(child, A(1));
    commands.despawn(parent);
    commands.add(child, A(2));
    let late = commands.spawn(ChildOf(parent));
    commands.despawn(late);
    let report = world.play(&mut buffer).unwrap();
    assert_eq!(world.entity_count(), 0);
    assert!(report.skipped() >= 2, "{report:?}");
}

#[test]
fn removing_a_link_and_despawning_the_target_keeps_the_source() {
    let mut world = world();
    let parents: Vec<_> = world.spawn_many(A(0), 10).collect();
    let children: Vec<_> =
        world.spawn_batch(parents.iter().map(|&parent| ChildOf(parent))).collect();
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    for &parent in &parents {
        commands.remove::<Buffer<Children>>(parent);
    }
    for &parent in &parents {
        commands.despawn(parent);
    }
    world.play(&mut buffer).unwrap();
    assert!(children.iter().all(|&child| world.exists(child)));
    assert_eq!(world.entity_count(), 10);
}

#[test]
fn wrong_links_are_reported_and_the_others_are_made() {
    let mut world = world();
    let root = world.spawn(());
    let all: Vec<_> = world.spawn_many(A(1), 10).collect();
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    for &child in &all {
        commands.add(child, ChildOf(root));
    }
    commands.add(root, ChildOf(all[3]));
    commands.add(all[0], ChildOf(all[1]));
    let error = world.play(&mut buffer).unwrap_err();
    assert!(error.to_string().contains("A0140: cycle of `game::ChildOf`: "), "{error}");
    assert_eq!(world.sources::<ChildOf>(root).len(), 9);
    assert_eq!(world.sources::<ChildOf>(all[1]), [all[0]]);
}

#[test]
fn an_entity_that_is_attached_twice_ends_at_the_last_parent() {
    let mut world = world();
    let (left, right) = (world.spawn(()), world.spawn(()));
    let all: Vec<_> = world.spawn_many(A(1), 5).collect();
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    for parent in [left, right] {
        for &child in &all {
            commands.add(child, ChildOf(parent));
        }
    }
    world.play(&mut buffer).unwrap();
    assert_eq!(world.sources::<ChildOf>(right), all);
    assert!(!world.has::<Buffer<Children>>(left));
}

#[test]
fn hierarchy_commands_do_what_the_world_does() {
    let mut world = world();
    let (root, prefab) = (world.spawn(()), world.spawn(Prefab));
    let all: Vec<_> = world.spawn_many(A(1), 4).collect();
    let below = world.spawn(Parent(all[3]));
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    commands.entity(root).add_child(all[0]).add_child(all[1]).insert_child(0, all[2]);
    commands.entity(all[1]).detach();
    commands.entity(all[3]).despawn_children();
    commands.entity(prefab).with_children(|prefab| _ = prefab.spawn(A(5)));
    world.play(&mut buffer).unwrap();
    assert_eq!(world.children(root), [all[2], all[0]]);
    assert!(!world.exists(below) && world.exists(all[3]));
    assert!(world.has::<Prefab>(world.children(prefab)[0]));
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    commands.entity(root).detach_children();
    world.play(&mut buffer).unwrap();
    assert!(world.children(root).is_empty() && world.exists(all[0]));
}

#[test]
fn a_reusable_buffer_writes_links_each_time() {
    let mut world = world();
    let parent = world.spawn(());
    let mut buffer = EntityCommandBuffer::reusable();
    let commands = buffer.commands().unwrap();
    for _ in 0..6 {
        commands.spawn((A(1), Targets { enemy: parent }));
    }
    commands.batch(&[parent]).add(A(9));
    for round in 1..4 {
        world.play(&mut buffer).unwrap();
        assert_eq!(world.sources::<Targets>(parent).len(), 6 * round);
    }
}
