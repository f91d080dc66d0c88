//! Commands for all entities that a query finds at playback.

use ancho_entities::{
    Buffer, CommandFault, ComponentType, EntityCommandBuffer, EntityError, Linked,
    LinkedEntityGroup, Present, QueryDescriptor, Shared, With, Without,
};

use crate::common::*;

#[test]
fn queries_are_evaluated_at_playback() {
    let mut world = world();
    let early = world.spawn(A(1));
    let changed = world.spawn(A(2));
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    commands.batch(QueryDescriptor::of::<&A, Without<Lamp>>()).add(Tag);
    // Between recording and playback.
    let late = world.spawn(A(3));
    world.add(changed, Lamp).unwrap();
    world.despawn(early).unwrap();
    world.play(&mut buffer).unwrap();
    assert!(world.has::<Tag>(late) && !world.has::<Tag>(changed));
}

#[test]
fn a_slice_keeps_the_entities_found_when_recording() {
    let mut world = world();
    let found: Vec<_> = world.spawn_many(A(1), 3).collect();
    let mut buffer = EntityCommandBuffer::new();
    let query = world.query_filtered::<&A, Without<Tag>>();
    buffer.commands().unwrap().batch(&query.to_entities()).add(Tag);
    // The entities were listed at recording: later matches and changes do not count.
    let late = world.spawn(A(2));
    world.remove::<A>(found[1]).unwrap();
    world.play(&mut buffer).unwrap();
    assert!(found.iter().all(|&entity| world.has::<Tag>(entity)) && !world.has::<Tag>(late));
    buffer.clear().unwrap();
    buffer.commands().unwrap().batch(&found).add(Lamp);
    world.despawn(found[1]).unwrap();
    assert_eq!(world.play(&mut buffer).unwrap().skipped(), 1);
    let lit: Vec<_> = found.iter().map(|&entity| world.has::<Lamp>(entity)).collect();
    assert_eq!(lit, [true, false, true], "those that are left are changed");
}

#[test]
fn queries_see_earlier_commands_and_not_later_ones() {
    let mut world = world();
    let old = world.spawn(A(1));
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    let before = commands.spawn(A(2));
    commands.remove::<A>(old);
    commands.batch(QueryDescriptor::of::<&A, ()>()).add(Tag);
    let after = commands.spawn(A(3));
    commands.add(old, A(4));
    commands.batch(QueryDescriptor::of::<(), With<Tag>>()).add(Text("tagged".into()));
    world.play(&mut buffer).unwrap();
    let id = |placeholder| buffer.resolve(placeholder).unwrap();
    assert!(world.has::<(Tag, Text)>(id(before)));
    assert!(!world.has::<Tag>(id(after)) && !world.has::<Tag>(old));
}

#[test]
fn a_query_is_played_in_the_order_of_its_sort_key() {
    let mut world = world();
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    commands.set_sort_key(Some(5));
    commands.spawn_many(A(1), 3);
    commands.set_sort_key(Some(4));
    commands.batch(QueryDescriptor::of::<&A, ()>()).despawn();
    commands.set_sort_key(Some(3));
    commands.spawn_many(A(2), 7);
    world.play(&mut buffer).unwrap();
    assert!(world.query::<&A>().iter().map(|a| a.0).eq([1, 1, 1]));
}

#[test]
fn a_query_finds_entities_that_a_later_command_destroys() {
    // An entity that is destroyed in the end is still created if a query may see it in between.
    let mut world = world();
    let old = world.spawn(A(1));
    let ledger = Ledger::new();
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    let brief = commands.spawn((A(2), ledger.value(1)));
    commands.add(old, Lamp);
    commands.batch(QueryDescriptor::of::<&A, With<Lamp>>()).add(Stays(1));
    commands.batch(QueryDescriptor::of::<&A, With<Counted>>()).add(Stays(2));
    commands.despawn(brief);
    commands.despawn(old);
    world.play(&mut buffer).unwrap();
    let brief = buffer.resolve(brief).unwrap();
    assert_eq!((world.get(old), world.get(brief)), (Ok(&Stays(1)), Ok(&Stays(2))));
    assert!(!world.has::<A>(old) && !world.has::<A>(brief));
    assert_eq!(ledger.live(), 0);
}

#[test]
fn a_query_without_results_changes_nothing() {
    let mut world = world();
    world.spawn(A(1));
    let before = world.state_hash();
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    commands.batch(QueryDescriptor::of::<&Text, ()>()).despawn();
    commands.batch(QueryDescriptor::of::<&Text, ()>()).add(A(1));
    commands.batch(QueryDescriptor::of::<&Text, ()>()).remove::<A>();
    commands.batch(QueryDescriptor::of::<&Text, ()>()).set_enabled(false);
    world.play(&mut buffer).unwrap();
    assert_eq!((world.state_hash(), world.entity_count()), (before, 1));
}

#[test]
fn queries_report_the_errors_of_the_world() {
    let mut world = world();
    world.spawn(A(1));
    let direct = world.batch(QueryDescriptor::of::<&A, ()>()).set_shared(Team("red")).unwrap_err();
    let (number, fault) = fails(&mut world, |commands| {
        commands.batch(QueryDescriptor::of::<&A, ()>()).set(Shared::new(Team("red")));
    });
    assert_eq!((number, fault), (1, CommandFault::Entity(direct)));
    let direct = world
        .batch(QueryDescriptor::of::<&A, ()>())
        .set_component_enabled::<Lamp>(false)
        .unwrap_err();
    let (_, fault) = fails(&mut world, |commands| {
        commands.batch(QueryDescriptor::of::<&A, ()>()).set_component_enabled::<Lamp>(false);
    });
    assert_eq!(fault, CommandFault::Entity(direct));
}

#[test]
fn values_are_cloned_for_all_that_are_found() {
    let ledger = Ledger::new();
    let mut world = chunks_of(10);
    world.spawn_many((A(1), Shared::new(Team("red"))), 25);
    let mut buffer = EntityCommandBuffer::new();
    buffer
        .commands()
        .unwrap()
        .batch(QueryDescriptor::of::<&A, Present<Shared<Team>>>())
        .add(ledger.value(5));
    assert_eq!(ledger.live(), 1);
    world.play(&mut buffer).unwrap();
    assert_eq!(ledger.live(), 25);
    assert!(world.query::<&Counted>().iter().all(|value| value.number == 5));
    buffer.clear().unwrap();
    buffer.commands().unwrap().batch(QueryDescriptor::of::<&Counted, ()>()).despawn();
    world.play(&mut buffer).unwrap();
    assert_eq!(ledger.live(), 0);
}

#[test]
fn shared_filters_and_dynamic_queries_are_evaluated_at_playback() {
    let mut world = world();
    let [early, late] = ["red", "blue"].map(|team| world.spawn((A(1), Shared::new(Team(team)))));
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    commands.batch(QueryDescriptor::of::<&A, ()>().with_shared(Team("red"))).add(Tag);
    let lamps = QueryDescriptor::new().all([ComponentType::of::<Lamp>()]);
    commands.batch(lamps.with_shared(Team("red"))).remove::<A>();
    // Between recording and playback.
    world.set_shared(early, Team("blue")).unwrap();
    world.set_shared(late, Team("red")).unwrap();
    world.add(late, Lamp).unwrap();
    let other = world.spawn((A(2), Lamp));
    world.play(&mut buffer).unwrap();
    assert!(world.has::<(Tag, Lamp)>(late) && !world.has::<A>(late));
    assert!(!world.has::<Tag>(early) && world.has::<A>(early) && world.has::<A>(other));
}

#[test]
fn errors_of_dynamic_queries_change_nothing() {
    let mut world = world();
    world.spawn((A(1), Lamp));
    let lacks = world.spawn(A(2));
    let before = world.state_hash();
    let query = || QueryDescriptor::new().all([ComponentType::of::<A>()]);
    let (_, fault) = fails(&mut world, |commands| {
        commands.batch(query()).set_component_enabled::<Lamp>(false);
    });
    let component = ComponentType::of::<Lamp>();
    let missing = EntityError::MissingComponent { entity: lacks, component };
    assert_eq!(fault, CommandFault::Entity(missing));
    let (_, fault) = fails(&mut world, |commands| {
        commands.batch(query()).set_type_enabled(ComponentType::of::<A>(), false);
    });
    assert!(matches!(fault, CommandFault::Entity(EntityError::NotEnableable { .. })), "{fault}");
    let (_, fault) = fails(&mut world, |commands| {
        commands.batch(query()).add_types(&[ComponentType::of::<Only>()]);
    });
    assert!(matches!(fault, CommandFault::Entity(_)), "{fault}");
    assert_eq!(world.state_hash(), before);
}

#[test]
fn queries_of_a_reusable_buffer_are_evaluated_at_each_playback() {
    let mut buffer = EntityCommandBuffer::reusable();
    let commands = buffer.commands().unwrap();
    let dynamic = QueryDescriptor::new().all([ComponentType::of::<A>()]);
    commands.batch(dynamic.with_shared(Team("red"))).add_types(&[ComponentType::of::<Tag>()]);
    commands.batch(QueryDescriptor::of::<&A, ()>().with_shared(Team("blue"))).despawn();
    for _ in 0..2 {
        let mut world = world();
        for round in 1..4 {
            world.spawn((A(1), Shared::new(Team("red"))));
            world.spawn((A(1), Shared::new(Team("blue"))));
            world.play(&mut buffer).unwrap();
            assert_eq!((world.query::<&Tag>().count(), world.entity_count()), (round, round));
        }
    }
}

#[test]
fn an_invalid_query_panics_at_playback() {
    let mut world = world();
    let message = panic_message(|| {
        let _ = play(&mut world, |commands| {
            commands.batch(QueryDescriptor::of::<(&mut A, &A), ()>()).despawn();
        });
    });
    assert!(message.starts_with("A0086"), "{message}");
    world.check_invariants().unwrap();
}

/// Creates a root with `A`, a member with `A` and a disabled lamp, one member without components, and one that is dead.
fn group(world: &mut Checked) -> [ancho_entities::Entity; 4] {
    let root = world.spawn(A(1));
    let member = world.spawn((A(2), Lamp));
    world.set_component_enabled::<Lamp>(member, false).unwrap();
    let (bare, dead) = (world.spawn(()), world.spawn(A(3)));
    let all = [root, member, bare, dead];
    let members = [root, member, bare, dead, member].map(LinkedEntityGroup);
    world.add(root, Buffer::from(members)).unwrap();
    world.despawn(dead).unwrap();
    all
}

#[test]
fn only_group_members_that_match_the_query_are_changed() {
    let mut world = world();
    let [root, member, bare, _] = group(&mut world);
    play(&mut world, |commands| {
        commands
            .batch(Linked(root).matching(QueryDescriptor::of::<&A, ()>()))
            .add(Text("a".into()));
        let bare = QueryDescriptor::new().absent([ComponentType::of::<A>()]);
        commands.batch(Linked(root).matching(bare)).add(Stays(1));
        // DIFFERENCE: Unity's masks ignore enabled state. A query respects it by default.
        commands.batch(Linked(root).matching(QueryDescriptor::of::<&Lamp, ()>())).set(A(7));
        let lamps = QueryDescriptor::of::<&Lamp, ()>().ignore_enabled();
        commands.batch(Linked(root).matching(lamps)).set(Text("lamp".into()));
        commands
            .batch(Linked(root).matching(QueryDescriptor::of::<(), Without<Lamp>>()))
            .remove::<A>();
    })
    .unwrap();
    assert_eq!(world.get(root), Ok(&Text("a".into())));
    assert_eq!(world.get(member), Ok(&Text("lamp".into())));
    assert!(world.has::<Stays>(bare) && !world.has::<Text>(bare));
    assert!(!world.has::<Stays>(root) && !world.has::<Stays>(member));
    // A disabled lamp matches `Without`.
    assert!(!world.has::<A>(root) && !world.has::<A>(member));
}

#[test]
fn queries_over_groups_are_evaluated_before_the_first_change() {
    let mut world = world();
    let [root, member, bare, _] = group(&mut world);
    let mut buffer = EntityCommandBuffer::reusable();
    let commands = buffer.commands().unwrap();
    commands
        .batch(Linked(root).matching(QueryDescriptor::of::<(), Without<Tag>>()))
        .add((Tag, A(9)));
    world.add(bare, Tag).unwrap();
    world.play(&mut buffer).unwrap();
    assert_eq!((world.get(root), world.get(member)), (Ok(&A(9)), Ok(&A(9))));
    assert!(!world.has::<A>(bare));
    world.remove::<Tag>(bare).unwrap();
    world.play(&mut buffer).unwrap();
    assert_eq!(world.get(bare), Ok(&A(9)));
}

#[test]
fn commands_by_query_and_for_groups_say_which() {
    let root = world().spawn(());
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    commands.batch(QueryDescriptor::of::<(), With<A>>()).add(A(1));
    commands.batch(QueryDescriptor::new()).despawn();
    commands.batch(QueryDescriptor::new()).remove_types(&[ComponentType::of::<A>()]);
    commands.batch(Linked(root)).set(A(1));
    commands.batch(Linked(root).matching(QueryDescriptor::new())).set(A(1));
    commands.batch(Linked(root).matching(QueryDescriptor::of::<(), With<A>>())).remove::<A>();
    assert_eq!(
        buffer.trace(),
        "1: add `game::A` to all entities that match the query of `()`\n2: despawn all entities that match a dynamic \
         query\n3: remove 1 types from all entities that match a dynamic query\n4: set `game::A` of the linked group of \
         0v1\n5: set `game::A` of all entities of the linked group of 0v1 that match a dynamic query\n6: remove \
         `game::A` from all entities of the linked group of 0v1 that match the query of `()`\n"
    );
    let mut other = world();
    // The text is also right for a command whose value was already taken.
    buffer.clear().unwrap();
    buffer.commands().unwrap().batch(QueryDescriptor::new()).set(Shared::new(Team("red")));
    other.spawn(A(1));
    let stopped = first_failure(other.play(&mut buffer));
    assert!(
        stopped.command().ends_with("of all entities that match a dynamic query"),
        "{stopped:?}"
    );
}

#[test]
fn each_match_of_a_query_gets_its_own_value() {
    let mut world = world();
    let all: Vec<_> = world.spawn_batch((0..10).map(A)).collect();
    world.add(all[3], Link(all[0])).unwrap();
    let found = world.query::<&A>().to_entities();
    let mut buffer = EntityCommandBuffer::reusable();
    let commands = buffer.commands().unwrap();
    let camp = commands.spawn(Tag);
    let sets = (0..10).map(|at| (Text(at.to_string()), Link(camp)));
    commands.batch(QueryDescriptor::of::<&A, ()>()).add_each(sets);
    assert_eq!(
        buffer.trace().lines().nth(1).unwrap(),
        "2: add `game::Text`, `game::Link` to each of all entities that match the query of \
         `&commands::fixtures::components::A`"
    );
    world.play(&mut buffer).unwrap();
    let check = |world: &ancho_entities::World, found: &[ancho_entities::Entity], camp| {
        for (at, &entity) in found.iter().enumerate() {
            assert_eq!(world.get(entity), Ok(&Text(at.to_string())));
            assert_eq!(world.get(entity), Ok(&Link(camp)));
        }
    };
    check(&world, &found, buffer.resolve(camp).unwrap());
    // Playing again uses the same values.
    let found = world.query::<&A>().to_entities();
    world.play(&mut buffer).unwrap();
    check(&world, &found, buffer.resolve(camp).unwrap());
    // The query finds one more entity now.
    world.spawn(A(10));
    let before = world.query::<&Text>().count();
    let stopped = first_failure(world.play(&mut buffer));
    let wrong =
        EntityError::WrongCount { component: ComponentType::of::<Text>(), expected: 11, found: 10 };
    assert_eq!(stopped.fault(), CommandFault::Entity(wrong));
    assert_eq!(world.query::<&Text>().count(), before);
}
