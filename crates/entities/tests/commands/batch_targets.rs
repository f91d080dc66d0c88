//! Batches: every operation works for slices, placeholders, linked groups and queries.

use ancho_entities::{
    BatchTargets, Buffer, ComponentType, Entity, EntityCommandBuffer, Linked, LinkedEntityGroup,
    QueryDescriptor, Shared, With, World,
};

use crate::common::{A, Lamp, Tag, Team, strict_world, world};

/// Creates four entities. The first three are a group with the first as its root, and the only ones with [`A`].
fn group(world: &mut World) -> Vec<Entity> {
    let members: Vec<_> =
        (0..3).map(|at| world.spawn((A(at), Lamp, Shared::new(Team("red"))))).collect();
    let group: Buffer<_> = members.iter().copied().map(LinkedEntityGroup).collect();
    world.add(members[0], group).unwrap();
    let other = world.spawn((Lamp, Shared::new(Team("red"))));
    [members, vec![other]].concat()
}

/// Records for the first three entities of [`group`], by each kind of target, and checks each world.
fn for_all_targets(
    record: impl Fn(ancho_entities::BatchCommands<'_>),
    check: impl Fn(&mut World, &[Entity], Entity),
) {
    for way in ["slice", "group", "query", "matching members"] {
        for is_reusable in [false, true] {
            let mut world = world();
            let all = group(&mut world);
            let mut buffer = if is_reusable {
                EntityCommandBuffer::reusable()
            } else {
                EntityCommandBuffer::new()
            };
            let targets: BatchTargets<'_> = match way {
                "slice" => all[..3].into(),
                "group" => Linked(all[0]).into(),
                "query" => QueryDescriptor::of::<(), With<A>>().into(),
                _ => Linked(all[0]).matching(QueryDescriptor::of::<&A, ()>()),
            };
            record(buffer.commands().unwrap().batch(targets));
            world.play(&mut buffer).unwrap_or_else(|error| panic!("{way}: {error}"));
            check(&mut world, &all[..3], all[3]);
        }
    }
}

#[test]
fn add_set_and_remove_change_all_targets() {
    for_all_targets(
        |batch| batch.add(Tag),
        |world, all, other| {
            assert!(all.iter().all(|&entity| world.has::<Tag>(entity)) && !world.has::<Tag>(other));
        },
    );
    for_all_targets(
        |batch| batch.set(A(7)),
        |world, all, _| assert!(all.iter().all(|&entity| world.get(entity) == Ok(&A(7)))),
    );
    for_all_targets(
        |batch| batch.set(Shared::new(Team("blue"))),
        |world, all, other| {
            assert!(all.iter().all(|&entity| world.shared(entity) == Ok(&Team("blue"))));
            assert_eq!(world.shared(other), Ok(&Team("red")));
        },
    );
    for_all_targets(
        |batch| batch.remove::<(A, Shared<Team>)>(),
        |world, all, other| {
            assert!(all.iter().all(|&entity| !world.has::<A>(entity)));
            assert!(world.has::<Shared<Team>>(other));
        },
    );
    for_all_targets(
        |batch| batch.add_each((10..13).map(A)),
        |world, all, _| {
            let mut values: Vec<_> = all.iter().map(|&e| world.get::<A>(e).unwrap().0).collect();
            values.sort_unstable();
            assert_eq!(values, [10, 11, 12]);
        },
    );
}

#[test]
fn types_and_enabled_states_change_for_all_targets() {
    let (tag, a) = (ComponentType::of::<Tag>(), ComponentType::of::<A>());
    for_all_targets(
        |batch| batch.add_types(&[tag, a]),
        |world, all, other| {
            assert!(all.iter().all(|&entity| world.has::<(Tag, A)>(entity)));
            assert!(!world.has::<Tag>(other));
        },
    );
    for_all_targets(
        |batch| batch.remove_types(&[a, tag]),
        |world, all, _| assert!(all.iter().all(|&entity| !world.has::<A>(entity))),
    );
    for_all_targets(
        |batch| batch.set_component_enabled::<Lamp>(false),
        |world, all, other| {
            let is_on = |entity| world.is_component_enabled::<Lamp>(entity).unwrap();
            assert!(all.iter().all(|&entity| !is_on(entity)) && is_on(other));
        },
    );
    for_all_targets(
        |batch| batch.set_enabled(false),
        |world, all, other| {
            assert!(all.iter().all(|&entity| !world.is_enabled(entity)) && world.is_enabled(other));
        },
    );
}

#[test]
fn despawn_destroys_all_targets() {
    for_all_targets(
        |batch| batch.despawn(),
        |world, all, other| {
            assert!(all.iter().all(|&entity| !world.exists(entity)) && world.exists(other));
        },
    );
}

#[test]
fn placeholders_are_targets() {
    let mut world = world();
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    let some = commands.spawn_many(A(1), 3);
    commands.batch(some).add(Tag);
    commands.batch(&some.iter().collect::<Vec<_>>()).set(A(2));
    world.play(&mut buffer).unwrap();
    assert_eq!(world.query::<(&A, &Tag)>().iter().map(|(a, _)| a.0).sum::<u32>(), 6);
}

#[test]
fn no_target_changes_if_one_is_refused() {
    type Operation = (&'static str, fn(ancho_entities::BatchCommands<'_>));

    let lamp = ComponentType::of::<Lamp>();
    let operations: [Operation; 5] = [
        ("A0070", |batch| batch.set_component_enabled::<A>(false)),
        ("A0051", |batch| batch.set_component_enabled::<Lamp>(false)),
        ("A0060", |batch| batch.add_each([Tag])),
        ("A0051", |batch| batch.set((A(9), Tag))),
        ("A0050", |batch| batch.set_enabled(false)),
    ];
    for (code, operation) in operations {
        // Only a strict world refuses entities that were despawned.
        let mut world = if code == "A0050" { strict_world() } else { world() };
        let all = group(&mut world);
        if code == "A0051" {
            world.remove_types(all[2], &[lamp]).unwrap();
        }
        if code == "A0050" {
            world.despawn(all[3]).unwrap();
        }
        let mut buffer = EntityCommandBuffer::new();
        let targets = if code == "A0050" { &all[1..] } else { &all[..3] };
        operation(buffer.commands().unwrap().batch(targets));
        let error = world.play(&mut buffer).unwrap_err().to_string();
        assert!(error.contains(code), "{code}: {error}");
        assert!(world.is_enabled(all[1]) && world.get(all[1]) == Ok(&A(1)));
        assert!(world.is_component_enabled::<Lamp>(all[1]).unwrap() && !world.has::<Tag>(all[1]));
    }
}
