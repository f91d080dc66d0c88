//! Observers that fail.

use ancho_entities::{Add, Component, IntoSystem, On, Remove, Single, Value, World};

use super::{A, Log, Tag, b};

#[test]
fn the_other_observers_get_the_events_of_one_that_panics() {
    let (mut world, log) = (World::new("Observed"), Log::new());
    let (before, after) = (log.clone(), log.clone());
    world.add_observer(move |_: On<Add<A>>| before.push("before"));
    let bad = |_: On<Add<A>>| panic!("no reason");
    world.add_observer(bad.named("bad"));
    world.add_observer(move |_: On<Add<A>>| after.push("after"));
    world.spawn(A(1));
    assert_eq!(log.take(), ["before", "after"]);
    let errors = world.try_update(0.1).unwrap_err();
    assert_eq!(errors.to_string(), "A0105: system `bad` panicked: no reason");
    world.check_invariants().unwrap();
    world.add_system(|mut commands: ancho_entities::Commands| _ = commands.spawn(A(2)));
    let errors = world.try_update(0.1).unwrap_err();
    assert_eq!(errors.to_string(), "A0105: system `bad` panicked: no reason");
    assert_eq!(log.take(), ["before", "after"]);
}

#[test]
fn an_observer_that_fails_or_lacks_a_parameter_is_named() {
    let mut world = World::new("Observed");
    let fails = |_: On<Add<A>>| Err::<(), _>("no fuel");
    world.add_observer(fails.named("fails"));
    let lacks = |_: On<Add<A>>, _: Single<&Tag>| ();
    world.add_observer(lacks.named("lacks"));
    world.spawn(A(1));
    let errors = world.try_update(0.1).unwrap_err();
    let systems: Vec<_> = errors.iter().map(|error| error.system().to_owned()).collect();
    assert_eq!(systems, ["fails", "lacks"]);
    world.try_update(0.1).unwrap();
}

#[derive(Component)]
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("boom");
        }
    }
}

#[test]
fn a_panic_in_the_drop_of_an_old_value_is_reported() {
    let (mut world, log) = (World::new("Observed"), Log::new());
    let seen = log.clone();
    world.add_observer(move |events: On<Remove<Bomb>, Value>| seen.push(events.len()));
    let bombs = [(); 2].map(|()| world.spawn((Bomb, A(1))));
    world.remove::<Bomb>(bombs[0]).unwrap();
    world.despawn(bombs[1]).unwrap();
    assert_eq!(log.take(), [1, 1]);
    let errors = world.try_update(0.1).unwrap_err();
    assert_eq!(errors.iter().count(), 2);
    assert!(errors.to_string().contains("boom"), "{errors}");
    world.check_invariants().unwrap();
    world.try_update(0.1).unwrap();
}

#[test]
fn a_system_that_fails_has_raised_its_direct_changes() {
    let (mut world, log) = (World::new("Observed"), Log::new());
    let seen = log.clone();
    world.add_observer(move |events: On<Add<A>>| seen.push(events.len()));
    let fails = |world: &mut World| -> Result<(), &'static str> {
        world.spawn(A(1));
        Err("no fuel")
    };
    world.add_system(fails);
    let discarded = |mut commands: ancho_entities::Commands| -> Result<(), &'static str> {
        commands.spawn((A(1), b("never")));
        Err("no fuel")
    };
    world.add_system(discarded);
    assert_eq!(world.try_update(0.1).unwrap_err().iter().count(), 2);
    assert_eq!(log.take(), [1]);
}
