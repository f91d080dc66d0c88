//! Old values of removed and replaced components.

use std::sync::Arc;

use ancho_entities::{
    Commands, Component, Entity, On, QueryDescriptor, Remove, Replace, Value, World,
};

use super::{A, B, Log, Tag, b};

/// A component that counts its owners.
#[derive(Component, Clone)]
struct Counted(#[field(opaque)] Arc<u32>);

/// The kind of an event, the entity, and the old value.
type Seen = (&'static str, Entity, Option<String>);

fn observed() -> (World, Log<Seen>) {
    let (mut world, log) = (World::new("Observed"), Log::new());
    let (removed, replaced) = (log.clone(), log.clone());
    world.add_observer(move |events: On<Remove<B>, Value>| {
        for event in &events {
            removed.push(("-B", event.entity(), event.value().map(|value| value.0.clone())));
        }
    });
    world.add_observer(move |events: On<Replace<B>, Value>| {
        for event in &events {
            replaced.push(("=B", event.entity(), event.value().map(|value| value.0.clone())));
        }
    });
    (world, log)
}

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[test]
fn old_values_are_at_hand_for_each_operation() {
    let (mut world, log) = observed();
    let orc = world.spawn((A(1), b("one")));
    world.set(orc, b("two")).unwrap();
    assert_eq!(log.take(), [("=B", orc, text("one"))]);
    world.add(orc, (b("three"), Tag)).unwrap();
    assert_eq!(log.take(), [("=B", orc, text("two"))], "and the entity has moved");
    world.remove::<B>(orc).unwrap();
    assert_eq!(log.take(), [("-B", orc, text("three"))]);
    world.add(orc, b("four")).unwrap();
    world.despawn(orc).unwrap();
    assert_eq!(log.take(), [("-B", orc, text("four"))]);
    let elf = world.spawn(b("five"));
    assert_eq!(world.take::<B>(elf), Ok(b("five")));
    assert_eq!(log.take(), [("-B", elf, None)], "the caller has the value");
    world.check_invariants().unwrap();
}

#[test]
fn old_values_of_many_entities_are_at_hand() {
    for count in [3, 1000] {
        let (mut world, log) = observed();
        let values: Vec<_> = (0..count).map(|at| B(at.to_string())).collect();
        let expected = |name, ids: &[Entity]| -> Vec<_> {
            let events = ids.iter().zip(&values).map(|(&id, value)| (name, id, text(&value.0)));
            let mut events: Vec<_> = events.collect();
            events.sort_unstable_by_key(|&(_, entity, _)| entity);
            events
        };
        let by_id = |log: &Log<_>| {
            let mut events: Vec<Seen> = log.take();
            events.sort_unstable_by_key(|&(_, entity, _)| entity);
            events
        };
        let all = QueryDescriptor::of::<&B, ()>();
        let ids: Vec<_> = world.spawn_batch(values.iter().cloned().map(|b| (A(1), b))).collect();
        world.batch(&all).remove::<B>().unwrap();
        assert_eq!(by_id(&log), expected("-B", &ids));
        world.batch(&ids).add_each(values.clone()).unwrap();
        world.batch(&all).add(b("new")).unwrap();
        assert_eq!(by_id(&log), expected("=B", &ids));
        world.batch(&ids).add_each(values.clone()).unwrap();
        assert_eq!(by_id(&log).len(), ids.len());
        world.batch(&all).despawn().unwrap();
        assert_eq!(by_id(&log), expected("-B", &ids));
        let ids: Vec<_> = world.spawn_batch(values.iter().cloned()).collect();
        assert_eq!(world.despawn_all(), Ok(ids.len()));
        assert_eq!(by_id(&log), expected("-B", &ids));
        world.check_invariants().unwrap();
    }
}

#[test]
fn the_value_is_that_before_the_first_change_of_the_delivery() {
    let (mut world, log) = observed();
    let [orc, elf, dwarf] = ["orc", "elf", "dwarf"].map(|name| world.spawn((A(1), b(name))));
    let mut is_done = false;
    world.add_system(move |mut commands: Commands| {
        if std::mem::replace(&mut is_done, true) {
            return;
        }
        commands.set(orc, b("second"));
        commands.set(orc, b("third"));
        commands.set(elf, b("second"));
        commands.remove::<B>(elf);
        commands.remove::<B>(dwarf);
        commands.add(dwarf, b("second"));
    });
    world.update(0.1);
    let mut events = log.take();
    events.sort();
    let expected =
        [("-B", elf, text("elf")), ("=B", orc, text("orc")), ("=B", dwarf, text("dwarf"))];
    assert_eq!(events, expected);
    assert_eq!(world.get::<B>(orc), Ok(&b("third")));
}

#[test]
fn values_are_dropped_once_after_the_observers() {
    let counter = Arc::new(7);
    let (mut world, log) = (World::new("Observed"), Log::new());
    let count = log.clone();
    world.add_observer(move |events: On<Remove<Counted>, Value>| {
        events.iter().for_each(|e| count.push(Arc::strong_count(&e.value().unwrap().0)));
    });
    let counted = || Counted(Arc::clone(&counter));
    let ids: Vec<_> = world.spawn_batch((0..10).map(|_| (A(1), counted()))).collect();
    assert_eq!(Arc::strong_count(&counter), 11);
    world.despawn(ids[0]).unwrap();
    assert_eq!(log.take(), [11], "the observer has the value");
    assert_eq!(Arc::strong_count(&counter), 10);
    world.batch(&ids[1..4]).remove::<Counted>().unwrap();
    assert_eq!(log.take(), [10; 3]);
    world.set(ids[4], counted()).unwrap();
    assert_eq!((log.take(), Arc::strong_count(&counter)), (vec![], 7));
    let mut fork = world.fork().unwrap();
    world.despawn(ids[5]).unwrap();
    world.batch(&ids[4..]).despawn().unwrap();
    assert_eq!(log.take().len(), 6);
    assert_eq!(fork.query::<&Counted>().count(), 6);
    assert!(fork.query::<&Counted>().iter().all(|counted| *counted.0 == 7));
    fork.despawn_all().unwrap();
    drop(world);
    assert_eq!(Arc::strong_count(&counter), 1);
}

#[test]
fn pending_values_are_dropped_with_the_world() {
    let counter = Arc::new(7);
    let mut world = World::new("Observed");
    world.add_observer(|_: On<Remove<Counted>, Value>| ());
    let id = world.spawn(Counted(Arc::clone(&counter)));
    // The manager alone does not deliver.
    ancho_entities::EntityManager::despawn(&mut world, id).unwrap();
    assert_eq!(Arc::strong_count(&counter), 2);
    drop(world);
    assert_eq!(Arc::strong_count(&counter), 1);
}
