//! Forks, snapshots, transfers and transactions.

use std::sync::{Arc, Mutex};

use ancho_entities::{
    Add, Entity, EntityCommandBuffer, EntityManager, On, QueryDescriptor, Remove, RemoveCause,
    Replaced, World,
};

use super::{A, Log, Tag, b, watch_in, watched};

#[test]
fn a_fork_has_no_observers() {
    let (mut world, log) = watched();
    world.spawn(A(1));
    log.take();
    let mut fork = world.fork().unwrap();
    let orc = fork.spawn(A(1));
    fork.despawn(orc).unwrap();
    let mut copy = world.duplicate().unwrap();
    copy.despawn_all().unwrap();
    assert_eq!(log.take(), []);
    assert_eq!(fork.state_hash(), {
        let mut other = world.fork().unwrap();
        let orc = other.spawn(A(1));
        other.despawn(orc).unwrap();
        other.state_hash()
    });
    fork.update(0.1);
    assert_eq!(log.take(), []);
}

#[test]
fn a_snapshot_raises_one_event() {
    let (mut world, log) = watched();
    let replaced = Log::new();
    let seen = replaced.clone();
    world.add_observer(move |events: On<Replaced>| {
        assert!(events.is_empty());
        seen.push(());
    });
    let orc = world.spawn(A(1));
    let mut snapshot = world.fork().unwrap();
    world.despawn(orc).unwrap();
    world.spawn(b("later"));
    log.take();
    world.restore(&mut snapshot).unwrap();
    assert_eq!((log.take(), replaced.take().len()), (vec![], 1));
    // The restored entities are observed.
    world.add(orc, Tag).unwrap();
    assert_eq!(log.take(), [("+Tag", orc)]);
    let mut other = World::new("Other");
    other.spawn(A(5));
    world.copy_and_replace_from(&mut other).unwrap();
    assert_eq!((log.take(), replaced.take().len()), (vec![], 1));
    assert_eq!(world.despawn_all(), Ok(1));
    assert_eq!(log.take().len(), 2);
    assert_eq!(replaced.take().len(), 0);
}

#[test]
fn a_transfer_raises_add_in_the_target_and_remove_in_the_source() {
    let (mut from, left) = watched();
    let (mut to, arrived) = (World::new("Target"), Log::new());
    watch_in(&mut to, &arrived);
    let causes = Log::new();
    let seen = causes.clone();
    from.add_observer(move |events: On<Remove<A>>| {
        events.iter().for_each(|event| seen.push(event.cause()));
    });
    let orcs: Vec<_> = from.spawn_many(A(1), 300).collect();
    left.take();
    let map = to.move_entities_from(&mut from).unwrap();
    let new: Vec<_> = orcs.iter().map(|&orc| map.get(orc).unwrap()).collect();
    let ids = |log: &Log<(&'static str, Entity)>, name: &str| -> Vec<Entity> {
        log.take()
            .into_iter()
            .map(|(event, id)| {
                assert_eq!(event, name);
                id
            })
            .collect()
    };
    assert_eq!(ids(&arrived, "+A"), new);
    assert_eq!(left.take(), [], "the source delivers in its next update");
    from.update(0.1);
    assert_eq!(ids(&left, "-A"), orcs, "and none is despawned");
    assert_eq!(causes.take(), [RemoveCause::Moved; 300]);
    // Some of the rows, and copies.
    let back = to.batch(&new[10..20]).move_to(&mut from).unwrap();
    assert_eq!(ids(&arrived, "-A"), &new[10..20]);
    from.update(0.1);
    assert_eq!(ids(&left, "+A").len(), back.len());
    from.copy_entities_from(&to).unwrap();
    assert_eq!(ids(&left, "+A").len(), 290);
    assert_eq!(arrived.take(), []);
    QueryDescriptor::of::<&A, ()>().copy_to(&to, &mut from).unwrap();
    assert_eq!(left.take(), [], "the manager alone does not deliver");
    from.update(0.1);
    assert_eq!(ids(&left, "+A").len(), 290);
    from.check_invariants().unwrap();
    to.check_invariants().unwrap();
}

#[test]
fn changes_of_a_transaction_are_delivered_at_its_end() {
    let (mut world, log) = watched();
    let orc = world.spawn(A(1));
    log.take();
    let mut transaction = world.begin_transaction();
    let change = transaction.schedule(&[], move |entities| {
        entities.add(orc, Tag).unwrap();
        entities.spawn(A(2));
    });
    transaction.jobs().complete(change.unwrap());
    assert_eq!(log.take(), []);
    let world = transaction.end().unwrap();
    let mut names: Vec<_> = log.take().into_iter().map(|(name, _)| name).collect();
    names.sort_unstable();
    assert_eq!(names, ["+A", "+Tag"]);
    drop(world);
}

#[test]
fn changes_of_the_manager_are_delivered_at_the_next_point() {
    let (mut world, log) = (World::new("Observed"), Log::new());
    let seen = log.clone();
    world.add_observer(move |events: On<Add<A>>| seen.push(events.len()));
    EntityManager::spawn(&mut world, A(1));
    EntityManager::spawn(&mut world, A(2));
    assert_eq!(log.take(), []);
    world.spawn(A(3));
    assert_eq!(log.take(), [3]);
    EntityManager::spawn(&mut world, A(4));
    world.update(0.1);
    assert_eq!(log.take(), [1]);
}

#[test]
fn exchanged_managers_are_observed_by_their_new_worlds() {
    let (mut one, first) = watched();
    let (mut other, second) = (World::new("Other"), Log::new());
    let seen = second.clone();
    // The types of the two worlds have different numbers.
    other.add_observer(move |events: On<Remove<super::B>, ancho_entities::Value>| {
        events.iter().for_each(|event| seen.push(event.value().unwrap().0.clone()));
    });
    let orc = one.spawn((A(1), b("orc")));
    let elf = other.spawn((A(2), b("elf")));
    first.take();
    EntityManager::remove::<A>(&mut one, orc).unwrap();
    std::mem::swap::<EntityManager>(&mut one, &mut other);
    other.remove::<super::B>(orc).unwrap();
    assert_eq!(second.take(), [""; 0], "the exchange is noticed at the next delivery");
    one.update(0.1);
    other.update(0.1);
    one.despawn(elf).unwrap();
    let mut events = first.take();
    events.sort_unstable();
    assert_eq!(events, [("-A", elf), ("-B", elf), ("gone", elf)]);
    other.add(orc, b("new")).unwrap();
    other.despawn(orc).unwrap();
    assert_eq!(second.take(), ["new"]);
}

#[test]
fn the_list_of_new_entities_is_not_changed_by_observers() {
    let mut world = World::new("Observed");
    world.add_observer(|events: On<Add<A>>, world: &mut World| {
        world.spawn_many(Tag, events.len() + 1);
        world.instantiate_many(events.iter().next().unwrap().entity(), 0).unwrap();
    });
    world.add_observer(|_: On<Add<Tag>>| ());
    let template = world.spawn(A(1));
    let new: Vec<Entity> = world.instantiate_many(template, 3).unwrap().collect();
    assert_eq!(new.len(), 3);
    assert!(new.iter().all(|&entity| world.has::<A>(entity)));
    let new: Vec<Entity> = world.spawn_many(A(2), 2).collect();
    assert_eq!(new.len(), 2);
    assert!(new.iter().all(|&entity| world.has::<A>(entity)));
}

#[test]
fn a_world_that_an_observer_exchanged_delivers_again() {
    let (mut world, log) = watched();
    let away = Arc::new(Mutex::new(Some(World::new("Other"))));
    let place = Arc::clone(&away);
    world.add_observer(move |_: On<Add<Tag>>, world: &mut World| {
        std::mem::swap(world, place.lock().unwrap().as_mut().unwrap());
    });
    world.spawn(Tag);
    assert_eq!(world.name(), "Other");
    log.take();
    let mut own = away.lock().unwrap().take().unwrap();
    let orc = own.spawn(A(1));
    assert_eq!(log.take(), [("+A", orc)]);
    own.update(0.1);
    own.despawn(orc).unwrap();
    assert_eq!(log.take(), [("-A", orc), ("gone", orc)]);
}

#[test]
fn a_world_that_a_command_exchanged_delivers_again() {
    let (mut world, log) = watched();
    let (other, other_log) = watched();
    let away = Arc::new(Mutex::new(Some(other)));
    let (place, seen) = (Arc::clone(&away), log.clone());
    let mut buffer = EntityCommandBuffer::new();
    buffer.commands().unwrap().run("exchange", move |world| {
        let mut place = place.lock().unwrap();
        let other = place.as_mut().unwrap();
        std::mem::swap(world, other);
        // The call that holds the world has not ended yet.
        other.spawn(A(1));
        assert_eq!(seen.take(), []);
        Ok(())
    });
    // Whether the playback is an error is not tested here.
    _ = world.play(&mut buffer);
    assert_eq!(log.take(), []);
    let mut own = away.lock().unwrap().take().unwrap();
    let orc = own.spawn(A(2));
    let events = log.take();
    assert_eq!((events.len(), events.last()), (2, Some(&("+A", orc))));
    own.despawn(orc).unwrap();
    assert_eq!(log.take(), [("-A", orc), ("gone", orc)]);
    // The world that took its place was never held.
    let elf = world.spawn(A(3));
    assert_eq!(other_log.take(), [("+A", elf)]);
    // A later playback holds the world as usual.
    let mut buffer = EntityCommandBuffer::new();
    let seen = log.clone();
    buffer.commands().unwrap().run("spawn", move |world| {
        world.spawn(A(4));
        assert_eq!(seen.take(), []);
        Ok(())
    });
    own.play(&mut buffer).unwrap();
    assert_eq!(log.take().len(), 1);
}

#[test]
fn a_world_that_an_observer_brings_at_the_beginning_of_an_update_is_not_updated() {
    let mut world = World::new("Own");
    let (log, mut other) = (Log::new(), World::new("Other"));
    let runs = log.clone();
    other.add_system(move || runs.push("run"));
    let mut other = Some(other);
    world.add_observer(move |_: On<Add<Tag>>, world: &mut World| {
        if let Some(other) = other.take() {
            *world = other;
        }
    });
    // A change of the manager is delivered by the next update.
    EntityManager::spawn(&mut world, Tag);
    assert!(world.try_update(0.1).is_err());
    assert_eq!((world.name(), log.take().len(), world.time().frame()), ("Other", 0, 0));
    world.update(0.1);
    assert_eq!((log.take().len(), world.time().frame()), (1, 1));
}
