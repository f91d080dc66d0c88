//! Runs of commands of one kind, applied together: the result is the same as one by one.

use ancho_entities::{
    Buffer, Entity, EntityCommandBuffer, LinkedEntityGroup, QueryDescriptor, World,
};

use crate::common::*;

#[test]
fn instances_have_the_changes_of_their_source_in_between() {
    let mut world = world();
    let source = world.spawn((A(1), Lamp));
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    let first = commands.instantiate_many(source, 2);
    commands.set(source, A(2));
    let second = commands.instantiate(source);
    commands.add(source, Text("b".into()));
    let third = commands.instantiate(source);
    commands.set_component_enabled::<Lamp>(source, false);
    let fourth = commands.instantiate(source);
    commands.remove::<A>(source);
    let fifth = commands.instantiate(source);
    commands.batch(QueryDescriptor::of::<(), ()>()).add(Tag);
    let sixth = commands.instantiate(source);
    commands.run("change", move |entities| {
        entities.get_mut::<Text>(source)?.0 = "run".into();
        Ok(())
    });
    let seventh = commands.instantiate(source);
    world.play(&mut buffer).unwrap();
    let id = |placeholder| buffer.resolve(placeholder).unwrap();
    let is_on = |entity| world.is_component_enabled::<Lamp>(id(entity)).unwrap();
    assert!(first.iter().all(|entity| world.get(id(entity)) == Ok(&A(1))));
    assert_eq!(world.get(id(second)), Ok(&A(2)));
    assert!(!world.has::<Text>(id(second)) && world.has::<Text>(id(third)));
    assert!(is_on(third) && !is_on(fourth) && !is_on(fifth));
    assert!(world.has::<A>(id(fourth)) && !world.has::<A>(id(fifth)));
    // A query also finds entities that earlier commands created and enabled.
    assert!(world.has::<Tag>(id(first.get(0).unwrap())) && world.has::<Tag>(id(sixth)));
    assert_eq!(world.get(id(sixth)), Ok(&Text("b".into())));
    assert_eq!(world.get(id(seventh)), Ok(&Text("run".into())));
}

#[test]
fn instances_of_instances() {
    let mut world = world();
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    let mut last = commands.spawn((A(0), Buffer::<Item>::new()));
    let mut all = vec![last];
    for at in 1..200 {
        last = commands.instantiate(last);
        commands.set(last, A(at));
        commands.append(last, Item(at));
        all.push(last);
    }
    world.play(&mut buffer).unwrap();
    for (at, &entity) in (0..).zip(&all) {
        let entity = buffer.resolve(entity).unwrap();
        assert_eq!(world.get(entity), Ok(&A(at)));
        assert!(world.buffer::<Item>(entity).unwrap().iter().map(|item| item.0).eq(1..=at));
    }
}

#[test]
fn a_source_that_is_destroyed_in_between_is_missed_by_the_next() {
    let mut world = world();
    let source = world.spawn(A(1));
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    let first = commands.instantiate(source);
    commands.despawn(source);
    let second = commands.instantiate(source);
    let report = world.play(&mut buffer).unwrap();
    assert_eq!((report.skipped(), report.first_skipped().unwrap().number()), (1, 3));
    assert_eq!(buffer.resolve(second), None);
    assert_eq!(world.get(buffer.resolve(first).unwrap()), Ok(&A(1)));
    assert_eq!(world.entity_count(), 1);
}

#[test]
fn runs_over_more_than_a_chunk_equal_single_commands() {
    const COUNT: u32 = 700;
    let build = || {
        let mut world = chunks_of(100);
        let all: Vec<_> = world.spawn_batch((0..COUNT).map(|at| (A(at), Lamp))).collect();
        (world, all)
    };
    let ((mut world, all), (mut expected, _)) = (build(), build());
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    // The entities of the run go to several archetypes, some twice, and in no order.
    let order: Vec<_> = (0..COUNT).map(|at| at * 277 % COUNT).collect();
    for &at in &order {
        commands.add(all[at as usize], Text(at.to_string()));
    }
    for &at in &order {
        commands.set(all[at as usize], A(at + 1));
    }
    for &at in &order[..400] {
        commands.remove::<Lamp>(all[at as usize]);
    }
    for &at in &order[200..300] {
        commands.add(all[at as usize], Buffer::from([Item(at); 3]));
    }
    for &at in &order[100..600] {
        commands.add(all[at as usize], (Tag, A(at)));
    }
    for &at in &order[250..260] {
        commands.append(all[at as usize], Item(at));
    }
    for &at in &order[50..150] {
        commands.despawn(all[at as usize]);
    }
    for &at in &order[400..500] {
        commands.set_component_enabled::<Lamp>(all[at as usize], false);
    }
    world.play(&mut buffer).unwrap();
    let entity = |at: u32| all[at as usize];
    for &at in &order {
        expected.add(entity(at), Text(at.to_string())).unwrap();
    }
    for &at in &order {
        expected.set(entity(at), A(at + 1)).unwrap();
    }
    for &at in &order[..400] {
        expected.remove::<Lamp>(entity(at)).unwrap();
    }
    for &at in &order[200..300] {
        expected.add(entity(at), Buffer::from([Item(at); 3])).unwrap();
    }
    for &at in &order[100..600] {
        expected.add(entity(at), (Tag, A(at))).unwrap();
    }
    for &at in &order[250..260] {
        expected.buffer_mut::<Item>(entity(at)).unwrap().push(Item(at));
    }
    for &at in &order[50..150] {
        expected.despawn(entity(at)).unwrap();
    }
    for &at in &order[400..500] {
        expected.set_component_enabled::<Lamp>(entity(at), false).unwrap();
    }
    same(&world, &expected);
}

/// Checks that both worlds have the same entities with the same values, in any rows.
#[track_caller]
fn same(world: &World, expected: &World) {
    let sorted = |world: &World| {
        let mut all = world.all_entities();
        all.sort_unstable_by_key(|entity| entity.to_bits());
        all
    };
    let all = sorted(expected);
    assert_eq!(sorted(world), all);
    for entity in all {
        let of = |world: &World| {
            let items = world.buffer::<Item>(entity).ok().map(<[_]>::to_vec);
            let is_on = world.is_component_enabled::<Lamp>(entity).ok();
            let (a, b) =
                (world.get::<A>(entity).ok().copied(), world.get::<Text>(entity).ok().cloned());
            (a, b, items, is_on, world.has::<Tag>(entity))
        };
        assert_eq!(of(world), of(expected), "{entity}");
    }
    world.check_invariants().unwrap();
}

#[test]
fn one_entity_again_and_again_in_a_run() {
    let mut world = world();
    let (one, other) = (world.spawn(()), world.spawn(A(0)));
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    for at in 0..1000 {
        commands.add(if at % 3 == 0 { other } else { one }, (A(at), Text(at.to_string())));
    }
    for _ in 0..10 {
        commands.remove::<A>(one);
    }
    world.play(&mut buffer).unwrap();
    assert_eq!(world.get(one), Ok(&Text("998".into())));
    assert!(!world.has::<A>(one));
    assert_eq!(world.get(other), Ok(&A(999)));
}

#[test]
fn entities_have_the_same_components_as_after_single_commands() {
    // A destroyed entity leaves a gap, which the last row of its chunk fills. The order of rows is not compared.
    let run = |in_one: bool| {
        let mut world = chunks_of(10);
        let all: Vec<_> = world.spawn_batch((0..35).map(A)).collect();
        let mut buffer = EntityCommandBuffer::new();
        let mut next = |buffer: &mut EntityCommandBuffer, is_last: bool| {
            if !in_one || is_last {
                world.play(buffer).unwrap();
                buffer.clear().unwrap();
            }
        };
        for at in [3, 17, 4, 33, 0] {
            buffer.commands().unwrap().add(all[at], Text("b".into()));
            next(&mut buffer, false);
        }
        for at in [20, 5] {
            buffer.commands().unwrap().despawn(all[at]);
            next(&mut buffer, false);
        }
        buffer.commands().unwrap().set(all[7], A(70));
        next(&mut buffer, true);
        let query = world.query::<(Entity, &A, Option<&Text>)>();
        let all = query.iter().map(|(entity, a, b)| (entity, a.0, b.cloned()));
        let mut all: Vec<_> = all.collect();
        all.sort_unstable_by_key(|&(entity, ..)| entity);
        all
    };
    assert_eq!(run(true), run(false));
}

#[test]
fn groups_that_share_members_are_destroyed_in_a_run() {
    let mut world = world();
    let member = world.spawn(A(1));
    let roots: Vec<_> = (0..5)
        .map(|at| {
            let root = world.spawn(A(at));
            world.add(root, Buffer::from([root, member].map(LinkedEntityGroup))).unwrap();
            root
        })
        .collect();
    let stays = world.spawn((A(9), Stays(1)));
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    for &root in &roots {
        commands.despawn(root);
        commands.despawn(stays);
        commands.despawn(member);
    }
    world.play(&mut buffer).unwrap();
    assert_eq!(world.all_entities(), [stays]);
    assert_eq!(world.get(stays), Ok(&Stays(1)));
}
