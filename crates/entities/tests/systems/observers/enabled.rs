//! Events of enabled bits.

use ancho_entities::{Disable, Enable, EnabledMut, Entity, On, Present, Query, World};

use super::{A, Lamp, Log, Tag};

fn observed() -> (World, Log<(&'static str, Entity)>) {
    let (mut world, log) = (World::new("Observed"), Log::new());
    let (on, off) = (log.clone(), log.clone());
    world.add_observer(move |e: On<Enable<Lamp>>| e.entities().for_each(|e| on.push(("on", e))));
    world.add_observer(move |e: On<Disable<Lamp>>| e.entities().for_each(|e| off.push(("off", e))));
    (world, log)
}

#[test]
fn changed_bits_are_found_at_command_points() {
    let (mut world, log) = observed();
    let [one, other] = [1, 2].map(|number| world.spawn(Lamp(number)));
    world.set_component_enabled::<Lamp>(one, false).unwrap();
    assert_eq!(log.take(), []);
    world.update(0.1);
    assert_eq!(log.take(), [("off", one)]);
    world.update(0.1);
    assert_eq!(log.take(), []);
    world.set_component_enabled::<Lamp>(one, true).unwrap();
    world.set_component_enabled::<Lamp>(other, false).unwrap();
    world.update(0.1);
    let mut events = log.take();
    events.sort_unstable();
    assert_eq!(events, [("off", other), ("on", one)]);
}

#[test]
fn two_flips_between_points_are_no_event() {
    let (mut world, log) = observed();
    let lamp = world.spawn(Lamp(1));
    world.update(0.1);
    world.set_component_enabled::<Lamp>(lamp, false).unwrap();
    world.set_component_enabled::<Lamp>(lamp, true).unwrap();
    world.update(0.1);
    assert_eq!(log.take(), []);
}

#[test]
fn bits_follow_rows_that_move() {
    let (mut world, log) = observed();
    let lamps: Vec<_> = world.spawn_batch((0..200).map(Lamp)).collect();
    for &lamp in lamps.iter().step_by(3) {
        world.set_component_enabled::<Lamp>(lamp, false).unwrap();
    }
    world.update(0.1);
    assert_eq!(log.take().len(), 67);
    world.add(lamps[0], Tag).unwrap();
    world.add(lamps[1], (Tag, A(1))).unwrap();
    world.despawn(lamps[6]).unwrap();
    world.batch(&lamps[50..100]).add(A(2)).unwrap();
    world.update(0.1);
    assert_eq!(log.take(), []);
    world.set_component_enabled::<Lamp>(lamps[0], true).unwrap();
    world.set_component_enabled::<Lamp>(lamps[1], false).unwrap();
    world.set_component_enabled::<Lamp>(lamps[51], true).unwrap();
    world.update(0.1);
    let mut events = log.take();
    events.sort_unstable();
    assert_eq!(events, [("off", lamps[1]), ("on", lamps[0]), ("on", lamps[51])]);
}

#[test]
fn a_component_that_is_removed_and_added_is_enabled_without_an_event() {
    let (mut world, log) = observed();
    let lamp = world.spawn(Lamp(1));
    world.set_component_enabled::<Lamp>(lamp, false).unwrap();
    world.update(0.1);
    log.take();
    world.remove::<Lamp>(lamp).unwrap();
    world.add(lamp, Lamp(2)).unwrap();
    world.update(0.1);
    assert_eq!(log.take(), []);
    world.set_component_enabled::<Lamp>(lamp, false).unwrap();
    world.set(lamp, Lamp(3)).unwrap();
    world.update(0.1);
    assert_eq!(log.take(), [("off", lamp)]);
    world.set(lamp, Lamp(4)).unwrap();
    world.update(0.1);
    assert_eq!(log.take(), [], "setting the value keeps the bit");
}

#[test]
fn bits_that_jobs_write_are_found_after_the_jobs() {
    let (mut world, log) = observed();
    let lamps: Vec<_> = world.spawn_batch((0..100).map(Lamp)).collect();
    world.add_system(|mut all: Query<(&Lamp, EnabledMut<Lamp>), Present<Lamp>>| {
        all.schedule_parallel(|(lamp, mut enabled)| enabled.set(lamp.0 >= 50));
    });
    world.update(0.1);
    let mut events = log.take();
    events.sort_unstable();
    assert_eq!(events, lamps[..50].iter().map(|&lamp| ("off", lamp)).collect::<Vec<_>>());
    world.update(0.1);
    assert_eq!(log.take(), []);
}

#[test]
fn bits_of_a_snapshot_raise_no_events() {
    let (mut world, log) = observed();
    let lamp = world.spawn(Lamp(1));
    world.update(0.1);
    let mut snapshot = world.fork().unwrap();
    world.set_component_enabled::<Lamp>(lamp, false).unwrap();
    world.update(0.1);
    assert_eq!(log.take(), [("off", lamp)]);
    world.restore(&mut snapshot).unwrap();
    world.update(0.1);
    assert_eq!(log.take(), []);
    world.set_component_enabled::<Lamp>(lamp, false).unwrap();
    world.update(0.1);
    assert_eq!(log.take(), [("off", lamp)]);
}
