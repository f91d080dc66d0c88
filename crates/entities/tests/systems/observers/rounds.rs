//! Commands of observers, and the rounds of a delivery.

use ancho_entities::{Add, Commands, IntoSystem, On, Remove, World};

use super::{A, Log, Tag, b, watched};

#[test]
fn commands_of_an_observer_raise_events_of_the_next_round() {
    let (mut world, log) = (World::new("Observed"), Log::new());
    let (first, second, last) = (log.clone(), log.clone(), log.clone());
    world.add_observer(move |added: On<Add<A>>, mut commands: Commands| {
        first.push("A");
        added.entities().for_each(|entity| commands.add(entity, Tag));
    });
    world.add_observer(move |_: On<Add<A>>| second.push("also A"));
    world.add_observer(move |added: On<Add<Tag>>, mut commands: Commands| {
        last.push("Tag");
        added.entities().for_each(|entity| commands.despawn(entity));
    });
    world.spawn_batch([A(1), A(2)]);
    assert_eq!(log.take(), ["A", "also A", "Tag"]);
    assert_eq!(world.entity_count(), 0);
}

#[test]
fn the_created_entities_are_returned_even_if_an_observer_despawns_them() {
    let mut world = World::new("Observed");
    world.add_observer(|added: On<Add<A>>, mut commands: Commands| {
        added.entities().for_each(|entity| commands.despawn(entity));
    });
    let created: Vec<_> = world.spawn_many(A(1), 5).collect();
    assert_eq!(created.len(), 5);
    assert!(created.iter().all(|&entity| !world.exists(entity)));
    let template = world.spawn(Tag);
    let instances: Vec<_> = world.instantiate_many(template, 3).unwrap().collect();
    assert!(instances.iter().all(|&entity| world.exists(entity)));
}

#[test]
fn endless_rounds_end_with_an_error_that_names_observers_and_types() {
    let mut world = World::new("Observed");
    let ping = |added: On<Add<A>>, mut commands: Commands| {
        added.entities().for_each(|entity| {
            commands.remove::<A>(entity);
            commands.add(entity, Tag);
        });
    };
    let pong = |added: On<Add<Tag>>, mut commands: Commands| {
        added.entities().for_each(|entity| {
            commands.remove::<Tag>(entity);
            commands.add(entity, A(1));
        });
    };
    world.add_observer(ping.named("ping"));
    world.add_observer(pong.named("pong"));
    let orc = world.spawn(A(1));
    let errors = world.try_update(0.1).unwrap_err();
    let message = errors.to_string();
    assert!(
        message.starts_with("A0205: in world `Observed`, the commands of observers raised"),
        "{message}"
    );
    assert!(
        message.contains("observers of the last round: `ping`; types of the dropped events: `")
    );
    // The rest of the log is dropped, and the world goes on.
    assert!(world.has::<A>(orc));
    world.try_update(0.1).unwrap();
    world.check_invariants().unwrap();
}

#[test]
fn an_observer_with_the_world_changes_it_without_recursion() {
    let (mut world, log) = (World::new("Observed"), Log::new());
    let depth = log.clone();
    world.add_observer(move |added: On<Add<A>>, world: &mut World| {
        let before = depth.0.lock().unwrap().len();
        for entity in added.entities() {
            let value = world.get::<A>(entity).unwrap().0;
            if value > 0 {
                world.spawn(A(value - 1));
            }
        }
        assert_eq!(depth.0.lock().unwrap().len(), before, "no observer ran meanwhile");
        depth.push(added.len());
    });
    world.spawn(A(10));
    assert_eq!(log.take(), [1; 11]);
    assert_eq!(world.entity_count(), 11);
}

#[test]
fn systems_with_the_world_and_structs_deliver_after_they_return() {
    let (mut world, log) = watched();
    let seen = log.clone();
    world.add_system(move |world: &mut World| {
        let orc = world.spawn(A(1));
        world.add(orc, b("x")).unwrap();
        world.remove::<A>(orc).unwrap();
        assert_eq!(seen.take(), []);
    });
    world.update(0.1);
    let events: Vec<_> = log.take().into_iter().map(|(name, _)| name).collect();
    assert_eq!(events, ["+B"]);
}

#[test]
fn observers_see_the_world_after_the_change() {
    let mut world = World::new("Observed");
    world.add_observer(|removed: On<Remove<A>>, world: &mut World| {
        assert!(removed.entities().all(|entity| world.exists(entity) && !world.has::<A>(entity)));
    });
    world.add_observer(|added: On<Add<A>>, all: ancho_entities::Query<&A>| {
        assert!(added.entities().all(|entity| all.get(entity).is_some()));
    });
    let orc = world.spawn((A(1), Tag));
    world.remove::<A>(orc).unwrap();
    world.try_update(0.1).unwrap();
}
