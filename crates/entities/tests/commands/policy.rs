//! Buffers played once or several times, in one world or in several.

use ancho_entities::{
    Buffer, CommandError, CommandFault, Entity, EntityCommandBuffer, EntityTracker, Managed,
    QueryDescriptor, Shared, World,
};

use crate::common::*;

#[test]
fn a_buffer_for_one_playback_is_refused_the_second_time_also_by_another_world() {
    let (mut one, mut other) = (world(), world());
    let mut buffer = EntityCommandBuffer::new();
    buffer.commands().unwrap().spawn(A(1));
    one.play(&mut buffer).unwrap();
    for world in [&mut one, &mut other] {
        let before = world.state_hash();
        let refused = world.play(&mut buffer).unwrap_err();
        assert!(matches!(refused, CommandError::AlreadyPlayed { .. }), "{refused}");
        assert_eq!(world.state_hash(), before);
    }
    assert!(matches!(buffer.commands().unwrap_err(), CommandError::AlreadyPlayed { .. }));
    assert!(matches!(one.commands(&mut buffer).unwrap_err(), CommandError::AlreadyPlayed { .. }));
}

#[test]
fn a_stopped_buffer_counts_as_played() {
    let mut world = world();
    let mut buffer = EntityCommandBuffer::new();
    buffer.commands().unwrap().set(Entity::NULL, A(1));
    first_failure(world.play(&mut buffer));
    let refused = world.play(&mut buffer).unwrap_err();
    assert!(matches!(refused, CommandError::AlreadyPlayed { .. }), "{refused}");
    buffer.clear().unwrap();
    buffer.commands().unwrap().spawn(A(1));
    world.play(&mut buffer).unwrap();
}

#[test]
fn a_reusable_buffer_records_nothing_after_playback() {
    let mut world = world();
    let mut buffer = EntityCommandBuffer::reusable();
    buffer.commands().unwrap().spawn(A(1));
    buffer.commands().unwrap().spawn(A(2));
    world.play(&mut buffer).unwrap();
    assert!(matches!(buffer.commands().unwrap_err(), CommandError::AlreadyPlayed { .. }));
    world.play(&mut buffer).unwrap();
    assert_eq!(world.entity_count(), 4);
    buffer.clear().unwrap();
    buffer.commands().unwrap().spawn(A(3));
    world.play(&mut buffer).unwrap();
    world.play(&mut buffer).unwrap();
    assert_eq!(world.entity_count(), 6);
}

#[test]
fn an_empty_buffer_changes_nothing_and_stays_as_it_was() {
    let mut world = world();
    let entity = world.spawn(A(1));
    let mut tracker = EntityTracker::new();
    world.entity_changes(&mut tracker);
    let before = (world.state_hash(), world.version());
    for mut buffer in [EntityCommandBuffer::new(), EntityCommandBuffer::reusable()] {
        for _ in 0..3 {
            world.play(&mut buffer).unwrap();
        }
        assert!(buffer.is_empty());
        assert_eq!((world.state_hash(), world.version()), before);
        // Playing an empty buffer does not use it up.
        buffer.commands().unwrap().set(entity, A(1));
    }
    // A buffer whose recorder was borrowed without recording.
    let mut buffer = EntityCommandBuffer::new();
    _ = buffer.commands().unwrap();
    _ = world.commands(&mut buffer).unwrap();
    world.play(&mut buffer).unwrap();
    assert_eq!((world.state_hash(), world.version()), before);
}

#[test]
fn an_empty_buffer_belongs_to_no_world() {
    let (one, mut other) = (world(), world());
    let mut buffer = EntityCommandBuffer::new();
    // Nothing is recorded, so no ids are reserved.
    _ = one.commands(&mut buffer).unwrap();
    other.play(&mut buffer).unwrap();
}

#[test]
fn one_buffer_in_several_worlds_resolves_to_the_last() {
    let mut buffer = EntityCommandBuffer::reusable();
    let commands = buffer.commands().unwrap();
    let king = commands.spawn((A(1), Text("king".into()), Shared::new(Team("red"))));
    let knight =
        commands.spawn((Link(king), Buffer::from([Friend(king), Friend(king), Friend(king)])));
    commands.add(king, Managed::new(Note { text: "n".into(), about: knight }));
    let brief = commands.spawn(Text("brief".into()));
    commands.despawn(brief);
    for offset in [5, 0, 17, 0] {
        let mut world = world();
        world.spawn_many(Tag, offset);
        for round in 1..4 {
            world.play(&mut buffer).unwrap();
            let (king, knight) = (buffer.resolve(king).unwrap(), buffer.resolve(knight).unwrap());
            assert_eq!(world.get(king), Ok(&Text("king".into())));
            assert_eq!(world.get(knight), Ok(&Link(king)));
            assert_eq!(world.buffer(knight), Ok(&[Friend(king); 3][..]));
            assert_eq!(world.managed::<Note>(king).unwrap().about, knight);
            assert_eq!(world.shared(king), Ok(&Team("red")));
            assert_eq!(world.entity_count(), offset + 2 * round);
            world.check_invariants().unwrap();
        }
    }
}

#[test]
fn only_a_reusable_buffer_refuses_values_that_cannot_be_duplicated() {
    let mut world = world();
    play(&mut world, |commands| _ = commands.spawn(Only(1))).unwrap();
    let mut buffer = EntityCommandBuffer::reusable();
    buffer.commands().unwrap().spawn(A(1));
    buffer.commands().unwrap().spawn(Only(2));
    let stopped = first_failure(world.play(&mut buffer));
    assert_eq!(stopped.number(), 2);
    assert!(
        matches!(stopped.fault(), CommandFault::NotDuplicable { component } if component.name() == "game::Only")
    );
    assert_eq!(world.entity_count(), 2);
}

#[test]
fn values_are_cloned_for_each_playback_and_dropped_with_the_buffer() {
    let ledger = Ledger::new();
    {
        let mut world = world();
        let mut buffer = EntityCommandBuffer::reusable();
        let commands = buffer.commands().unwrap();
        let entity = commands.spawn(ledger.value(1));
        commands.set(entity, ledger.value(2));
        commands.spawn_many(ledger.value(3), 3);
        commands.spawn_batch((4..6).map(|at| ledger.value(at)));
        commands.batch(QueryDescriptor::of::<&A, ()>()).add(ledger.value(6));
        assert_eq!(ledger.live(), 6);
        for round in 1..4 {
            world.play(&mut buffer).unwrap();
            assert_eq!(ledger.live(), 6 + round * 6);
        }
        let mut numbers: Vec<_> =
            world.query::<&Counted>().iter().map(|value| value.number).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, [2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 4, 4, 4, 5, 5, 5]);
        buffer.clear().unwrap();
        assert_eq!(ledger.live(), 18);
    }
    assert_eq!(ledger.live(), 0);
}

#[test]
fn a_reusable_buffer_fails_only_in_worlds_without_the_entity() {
    let (mut one, mut other) = (world(), world());
    let entity = one.spawn(A(1));
    let mut buffer = EntityCommandBuffer::reusable();
    buffer.commands().unwrap().spawn(Tag);
    buffer.commands().unwrap().set(entity, A(2));
    one.play(&mut buffer).unwrap();
    assert_eq!(first_failure(other.play(&mut buffer)).number(), 2);
    one.play(&mut buffer).unwrap();
    assert_eq!((one.entity_count(), other.entity_count()), (3, 1));
}

#[test]
fn a_buffer_that_is_not_to_be_played_does_nothing_until_it_is() {
    let ledger = Ledger::new();
    let (mut one, mut other) = (world(), world());
    let mut buffer = EntityCommandBuffer::new();
    let id = one.commands(&mut buffer).unwrap().spawn(ledger.value(1));
    buffer.set_should_play(false);
    assert!(!buffer.should_play());
    // Commands that the other world would refuse are skipped, too.
    for world in [&mut one, &mut other] {
        let before = (world.state_hash(), world.version());
        for _ in 0..3 {
            world.play(&mut buffer).unwrap();
            assert_eq!((world.state_hash(), world.version()), before);
        }
    }
    assert_eq!((buffer.len(), ledger.live()), (1, 1));
    assert_eq!(buffer.trace().lines().next(), Some("not to be played:"));
    assert_eq!(buffer.trace().lines().count(), 2);
    // More can be recorded, and playback applies all of it.
    buffer.commands().unwrap().add(id, A(2));
    buffer.set_should_play(true);
    one.play(&mut buffer).unwrap();
    assert_eq!((one.get(id), ledger.live()), (Ok(&A(2)), 1));
    // A buffer that was already played is skipped, too.
    buffer.set_should_play(false);
    one.play(&mut buffer).unwrap();
    assert!(matches!(buffer.commands().unwrap_err(), CommandError::AlreadyPlayed { .. }));
}

#[test]
fn commands_that_are_not_played_are_dropped_with_the_buffer_or_by_clear() {
    let ledger = Ledger::new();
    let mut world = world();
    for mut buffer in [EntityCommandBuffer::new(), EntityCommandBuffer::reusable()] {
        buffer.commands().unwrap().spawn_batch((0..5).map(|at| ledger.value(at)));
        buffer.set_should_play(false);
        world.play(&mut buffer).unwrap();
        assert_eq!(ledger.live(), 5);
        buffer.clear().unwrap();
        assert!(ledger.live() == 0 && buffer.should_play());
        buffer.commands().unwrap().spawn(ledger.value(6));
        buffer.set_should_play(false);
        world.play(&mut buffer).unwrap();
        drop(buffer);
        assert_eq!((ledger.live(), world.entity_count()), (0, 0));
    }
}

#[test]
fn ids_of_one_world_are_played_in_no_other() {
    let (mut one, mut other) = (world(), world());
    let mut buffer = EntityCommandBuffer::new();
    let id = one.commands(&mut buffer).unwrap().spawn(A(1));
    assert!(matches!(other.commands(&mut buffer).unwrap_err(), CommandError::OtherWorld { .. }));
    assert!(matches!(other.play(&mut buffer).unwrap_err(), CommandError::OtherWorld { .. }));
    assert_eq!((one.entity_count(), other.entity_count()), (0, 0));
    one.play(&mut buffer).unwrap();
    assert_eq!(one.get(id), Ok(&A(1)));
}

#[test]
fn ids_and_placeholders_in_one_buffer() {
    let mut world = world();
    let mut buffer = EntityCommandBuffer::new();
    let first = buffer.commands().unwrap().spawn(A(1));
    let second = world.commands(&mut buffer).unwrap().spawn(Link(first));
    let third = buffer.commands().unwrap().spawn(Link(second));
    buffer.commands().unwrap().add(second, Text("second".into()));
    let fourth = world.commands(&mut buffer).unwrap().instantiate(third);
    assert!(first.is_placeholder() && third.is_placeholder());
    assert!(!second.is_placeholder() && !fourth.is_placeholder());
    // Other entities are created and destroyed before playback.
    let others: Vec<_> = world.spawn_many(Tag, 4).collect();
    world.batch(&others).despawn().unwrap();
    world.check_invariants().unwrap();
    world.play(&mut buffer).unwrap();
    let (first, third) = (buffer.resolve(first).unwrap(), buffer.resolve(third).unwrap());
    assert_eq!(world.get(first), Ok(&A(1)));
    assert_eq!(world.get(second), Ok(&Link(first)));
    assert_eq!(world.get(second), Ok(&Text("second".into())));
    assert_eq!((world.get(third), world.get(fourth)), (Ok(&Link(second)), Ok(&Link(second))));
    assert_eq!(world.entity_count(), 4);
}

#[test]
fn reserved_ids_are_returned_when_a_buffer_is_cleared_or_stopped() {
    let mut world = strict_world();
    let mut buffer = EntityCommandBuffer::new();
    for round in 0..100 {
        let mut commands = world.commands(&mut buffer).unwrap();
        commands.spawn_many(A(1), 10);
        if round % 2 == 0 {
            commands.spawn(A(2));
            commands.set_sort_key(Some(1));
            commands.set(Entity::NULL, A(1));
            first_failure(world.play(&mut buffer));
        }
        buffer.clear().unwrap();
        world.check_invariants().unwrap();
    }
    assert_eq!(world.entity_count(), 0);
    let mut next: Vec<_> = world.spawn_many((), 11).map(|entity| entity.index()).collect();
    next.sort_unstable();
    assert!(next.iter().all(|&index| index < 22), "{next:?}");
}

#[test]
fn ids_reserved_by_a_dropped_buffer_are_never_used() {
    let mut world = world();
    let all: Vec<_> = world.spawn_many(A(1), 5).collect();
    world.batch(&all[1..3]).despawn().unwrap();
    let mut buffer = EntityCommandBuffer::new();
    let promised = world.commands(&mut buffer).unwrap().spawn_many(Tag, 4).to_vec();
    drop(buffer);
    world.advance_version();
    let next: Vec<_> = world.spawn_many(Tag, 4).collect();
    assert!(promised.iter().all(|id| !next.contains(id) && !world.exists(*id)));
    let indices = |ids: &[Entity]| {
        let mut indices: Vec<_> = ids.iter().map(|id| id.index()).collect();
        indices.sort_unstable();
        indices
    };
    assert_eq!(indices(&promised), indices(&next));
    world.check_invariants().unwrap();
}

#[test]
fn a_fork_does_not_have_the_reserved_ids() {
    let mut world = world();
    world.spawn(A(1));
    let mut buffer = EntityCommandBuffer::new();
    let promised = world.commands(&mut buffer).unwrap().spawn(A(2));
    let mut fork = world.fork().unwrap();
    let refused = fork.play(&mut buffer).unwrap_err();
    assert!(matches!(refused, CommandError::OtherWorld { .. }), "{refused}");
    let next = fork.spawn(A(3));
    assert_ne!(next, promised);
    fork.check_invariants().unwrap();
    world.play(&mut buffer).unwrap();
    assert_eq!(world.get(promised), Ok(&A(2)));
    assert_eq!(fork.entity_count(), 2);
}

#[test]
fn a_promise_is_broken_when_everything_is_despawned() {
    let mut world = world();
    world.spawn_many(A(1), 3);
    let mut buffer = EntityCommandBuffer::new();
    let promised = world.commands(&mut buffer).unwrap().spawn(A(2));
    world.despawn_all().unwrap();
    match world.play(&mut buffer) {
        // Keeping the promise would be correct as well.
        Ok(_) => assert_eq!(world.get(promised), Ok(&A(2))),
        error => {
            let fault = first_failure(error).fault();
            assert_eq!(fault, CommandFault::PromiseBroken { entity: promised });
            assert_eq!(world.entity_count(), 0);
        }
    }
    world.check_invariants().unwrap();
}

#[test]
fn values_are_dropped_by_clear_and_kept_memory_is_used_again() {
    let ledger = Ledger::new();
    let mut buffer = EntityCommandBuffer::new();
    for round in 0..50 {
        let commands = buffer.commands().unwrap();
        for at in 0..round * 20 {
            let entity = commands.spawn((ledger.value(at), A(at)));
            commands.add(entity, ledger.value(at));
            commands.batch(&[entity, entity]).add(ledger.value(at));
            commands.set_name(entity, &"n".repeat(at as usize));
        }
        assert_eq!(ledger.live(), round as isize * 60);
        assert_eq!(buffer.len(), round as usize * 80);
        buffer.clear().unwrap();
        assert_eq!((ledger.live(), buffer.len()), (0, 0));
    }
}

#[test]
fn a_world_may_go_before_its_buffer() {
    let mut buffer = EntityCommandBuffer::new();
    {
        let world = World::new("Brief");
        world.commands(&mut buffer).unwrap().spawn_many(Text("b".into()), 100);
    }
    let mut other = world();
    assert!(matches!(other.play(&mut buffer).unwrap_err(), CommandError::OtherWorld { .. }));
    buffer.clear().unwrap();
    other.commands(&mut buffer).unwrap().spawn(A(1));
    other.play(&mut buffer).unwrap();
    assert_eq!(other.entity_count(), 1);
}

#[test]
fn ids_do_not_grow_for_ever_when_buffers_are_cleared_and_dropped() {
    let mut world = world();
    for round in 0..1000 {
        let mut buffer = EntityCommandBuffer::new();
        world.commands(&mut buffer).unwrap().spawn_many(Tag, 10);
        if round % 2 == 0 {
            buffer.clear().unwrap();
        }
        drop(buffer);
        let next = world.spawn(A(1));
        world.despawn(next).unwrap();
        world.advance_version();
    }
    let next = world.spawn(A(1));
    assert!(next.index() < 1000, "{next}");
}
