//! The state of a world besides entities: resources, time and rates, in forks, hashes and rollbacks.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use ancho_entities::{
    EntityError, FixedRateCatchUp, FixedRateSimple, FixedStep, IntoSystem, Local, Res, ResMut,
    Resource, SystemGroup, Time, World, assert_replays,
};

use crate::common::{A, Log, Number, take, world};
use crate::fixtures::{Wrapped, panic_message};

/// A resource that counts its clones.
#[derive(Resource, Debug)]
struct Counted {
    value: u32,
    #[field(opaque)]
    clones: Arc<AtomicU32>,
}

impl Clone for Counted {
    fn clone(&self) -> Self {
        self.clones.fetch_add(1, Ordering::Relaxed);
        Self { value: self.value, clones: Arc::clone(&self.clones) }
    }
}

#[test]
fn a_fork_shares_a_resource_until_one_world_writes_it() {
    let clones = Arc::new(AtomicU32::new(0));
    let count = || clones.load(Ordering::Relaxed);
    let mut world = world();
    world.insert_resource(Counted { value: 1, clones: Arc::clone(&clones) });
    let mut fork = world.fork().unwrap();
    assert_eq!((world.resource::<Counted>().value, fork.resource::<Counted>().value), (1, 1));
    world.add_system(|counted: ResMut<Counted>| assert_ne!(counted.value, 0));
    world.try_update(0.1).unwrap();
    assert_eq!(count(), 0, "reading does not clone");
    world.add_system(|mut counted: ResMut<Counted>| {
        counted.value += 1;
        counted.value += 1;
    });
    world.try_update(0.1).unwrap();
    assert_eq!(count(), 1, "the first write clones");
    world.try_update(0.1).unwrap();
    fork.resource_mut::<Counted>().value = 9;
    assert_eq!(count(), 1, "the other world is the only owner now");
    assert_eq!((world.resource::<Counted>().value, fork.resource::<Counted>().value), (5, 9));
    assert_eq!(fork.remove_resource::<Counted>().unwrap().value, 9);
    let fork = world.fork().unwrap();
    assert_eq!(world.remove_resource::<Counted>().unwrap().value, 5);
    assert_eq!((count(), fork.resource::<Counted>().value), (2, 5), "a removed value is cloned");
    drop(fork);
    let copy = world.duplicate().unwrap();
    assert!(!copy.has_resource::<Counted>());
}

#[test]
fn a_duplicate_shares_no_resource() {
    let clones = Arc::new(AtomicU32::new(0));
    let mut world = world();
    world.insert_resource(Counted { value: 1, clones: Arc::clone(&clones) });
    let mut copy = world.duplicate().unwrap();
    assert_eq!(clones.load(Ordering::Relaxed), 1);
    copy.resource_mut::<Counted>().value = 2;
    assert_eq!(clones.load(Ordering::Relaxed), 1);
    assert_eq!(world.resource::<Counted>().value, 1);
}

#[test]
fn a_fork_has_state_and_no_local_resources() {
    let mut world = world();
    world.insert_resource(Number(1));
    let mut fork = world.fork().unwrap();
    assert_eq!(fork.resource::<Number>(), &Number(1));
    assert!(!fork.has_resource::<Log>());
    fork.insert_resource(Log::default());
    assert_eq!(fork.remove_resource::<Number>(), Some(Number(1)));
    assert_eq!(world.resource::<Number>(), &Number(1));
    drop(world);
    assert!(fork.has_resource::<Log>());
}

#[test]
fn a_fork_and_its_world_can_write_on_two_threads() {
    let mut world = world();
    world.insert_resource(Number(1));
    let mut fork = world.fork().unwrap();
    let fork = std::thread::spawn(move || {
        fork.resource_mut::<Number>().0 += 1;
        fork
    });
    world.resource_mut::<Number>().0 += 10;
    let fork = fork.join().unwrap();
    assert_eq!((world.resource::<Number>().0, fork.resource::<Number>().0), (11, 2));
}

#[test]
fn a0105_a_clone_that_panics_fails_the_system_and_changes_nothing() {
    #[derive(Resource)]
    struct Fragile(u32);

    impl Clone for Fragile {
        fn clone(&self) -> Self {
            panic!("cracked")
        }
    }

    let mut world = world();
    world.insert_resource(Fragile(1));
    world.add_system((|mut fragile: ResMut<Fragile>| fragile.0 += 1).named("write"));
    let fork = world.fork().unwrap();
    let errors = world.try_update(0.1).unwrap_err().to_string();
    assert!(errors.starts_with("A0105: system `write` panicked: cracked"), "{errors}");
    assert_eq!((world.resource::<Fragile>().0, fork.resource::<Fragile>().0), (1, 1));
    assert_eq!(panic_message(|| _ = world.insert_resource(Fragile(2))), "cracked");
    assert_eq!(panic_message(|| _ = world.remove_resource::<Fragile>()), "cracked");
    assert_eq!(world.resource::<Fragile>().0, 1);
    drop(fork);
    world.try_update(0.1).unwrap();
    assert_eq!(world.resource::<Fragile>().0, 2, "the only owner does not clone");
}

#[test]
fn the_state_hash_has_the_state_resources_by_name() {
    let make = |first: u32, swap: bool| {
        let mut world = World::new("test");
        if swap {
            world.insert_resource(Wrapped(1));
            world.insert_resource(Flag(true));
            world.insert_resource(Number(first));
        } else {
            world.insert_resource(Number(first));
            world.insert_resource(Flag(true));
        }
        world
    };
    #[derive(Resource, Clone, Default)]
    struct Flag(bool);

    assert_eq!(make(1, false).state_hash(), make(1, true).state_hash(), "neither order nor locals");
    assert_ne!(make(1, false).state_hash(), make(2, false).state_hash());
    let mut absent = make(1, false);
    absent.remove_resource::<Flag>();
    let mut default = make(1, false);
    default.insert_resource(Flag::default());
    assert_ne!(absent.state_hash(), default.state_hash(), "absent is not the default");
    let (empty, mut declared) = (World::new("test"), World::new("test"));
    declared.add_system(|_: Option<Res<Number>>| ());
    assert_eq!(empty.state_hash(), declared.state_hash(), "a system that can read it is no state");
}

#[test]
fn opaque_fields_are_forked_and_not_hashed() {
    let counter = Arc::new(AtomicU32::new(5));
    let mut world = World::new("test");
    world.insert_resource(Counted { value: 1, clones: Arc::default() });
    let mut fork = world.fork().unwrap();
    fork.resource_mut::<Counted>().clones = Arc::clone(&counter);
    assert_eq!(world.state_hash(), fork.state_hash());
    world.restore(&mut fork).unwrap();
    assert_eq!(Arc::strong_count(&counter), 3 - 1);
    assert_eq!(world.resource::<Counted>().clones.load(Ordering::Relaxed), 5);
}

#[test]
fn a_rollback_restores_state_resources_with_exact_change_detection() {
    let mut world = world();
    world.insert_resource(Number(1));
    world.add_system(|number: Option<Res<Number>>, mut log: ResMut<Log>| {
        log.0.push(number.map_or("absent".into(), |it| format!("{} {}", it.0, it.is_changed())));
    });
    world.try_update(0.1).unwrap();
    world.resource_mut::<Number>().0 = 2;
    let mut snapshot = world.fork().unwrap();
    take(&mut world);
    for _ in 0..3 {
        world.try_update(0.1).unwrap();
        world.try_update(0.1).unwrap();
        world.resource_mut::<Number>().0 = 3;
        world.try_update(0.1).unwrap();
        world.remove_resource::<Number>();
        world.try_update(0.1).unwrap();
        assert_eq!(take(&mut world), ["2 true", "2 false", "3 true", "absent"]);
        world.restore(&mut snapshot).unwrap();
        assert_eq!(world.state_hash(), snapshot.state_hash());
    }
}

#[test]
fn a_rollback_removes_resources_that_the_snapshot_does_not_have() {
    let mut world = world();
    let mut snapshot = world.fork().unwrap();
    world.insert_resource(Number(1));
    world.resource_mut::<Log>().0.push("kept".into());
    world.restore(&mut snapshot).unwrap();
    assert!(!world.has_resource::<Number>());
    assert_eq!(take(&mut world), ["kept"]);
    snapshot.insert_resource(Number(2));
    world.restore(&mut snapshot).unwrap();
    assert_eq!(world.resource::<Number>(), &Number(2));
}

#[test]
fn a_local_resource_that_changed_before_a_rollback_counts_as_changed_once() {
    let mut world = world();
    world.insert_resource(Wrapped(0));
    let watch =
        |it: Res<Wrapped<i32>>, mut log: ResMut<Log>| log.0.push(it.is_changed().to_string());
    world.add_system(watch);
    world.add_system(|mut number: Local<u32>| *number += 1);
    world.try_update(0.1).unwrap();
    let mut snapshot = world.fork().unwrap();
    (0..10).for_each(|_| world.try_update(0.1).unwrap());
    world.resource_mut::<Wrapped<i32>>().0 = 1;
    world.restore(&mut snapshot).unwrap();
    take(&mut world);
    (0..3).for_each(|_| world.try_update(0.1).unwrap());
    assert_eq!(take(&mut world), ["true", "false", "false"]);
}

#[test]
fn copy_and_replace_marks_the_resources_that_differ() {
    #[derive(Resource, Clone)]
    struct Other;

    let (mut game, mut shown) = (World::new("game"), world());
    game.insert_resource(Number(1));
    shown.insert_resource(Other);
    let watch = |number: Res<Number>, other: Option<Res<Other>>, mut log: ResMut<Log>| {
        log.0.push(format!("{} {} {}", number.is_added(), number.is_changed(), other.is_some()));
    };
    shown.copy_and_replace_from(&mut game).unwrap();
    assert_eq!(shown.state_hash(), game.state_hash());
    shown.add_system(watch);
    shown.try_update(0.1).unwrap();
    shown.copy_and_replace_from(&mut game).unwrap();
    shown.try_update(0.1).unwrap();
    game.resource_mut::<Number>().0 = 2;
    shown.copy_and_replace_from(&mut game).unwrap();
    shown.try_update(0.1).unwrap();
    game.remove_resource::<Number>();
    shown.copy_and_replace_from(&mut game).unwrap();
    assert!(shown.try_update(0.1).is_err());
    game.insert_resource(Number(3));
    shown.copy_and_replace_from(&mut game).unwrap();
    shown.try_update(0.1).unwrap();
    assert_eq!(
        take(&mut shown),
        ["true true false", "false false false", "false true false", "true true false"]
    );
}

#[test]
fn a_world_transfer_does_not_touch_resources() {
    let (mut one, mut other) = (world(), world());
    one.insert_resource(Number(1));
    other.insert_resource(Number(2));
    one.spawn(A(1));
    other.move_entities_from(&mut one).unwrap();
    assert_eq!((one.resource::<Number>().0, other.resource::<Number>().0), (1, 2));
}

#[test]
fn forks_hashes_and_rollbacks_include_the_time() {
    let mut world = world();
    world.update(0.25);
    let empty = world.fork().unwrap();
    world.set_time_scale(0.5).unwrap();
    let scaled = world.fork().unwrap();
    world.pause();
    let mut paused = world.fork().unwrap();
    let hashes = [&empty, &scaled, &paused].map(World::state_hash);
    assert!(hashes[0] != hashes[1] && hashes[1] != hashes[2]);
    assert_eq!((paused.time(), paused.time_scale(), paused.is_paused()), (world.time(), 0.5, true));
    world.resume();
    world.set_time_scale(1.0).unwrap();
    world.update(0.5);
    world.restore(&mut paused).unwrap();
    assert_eq!((world.time(), world.time_scale(), world.is_paused()), (paused.time(), 0.5, true));
    assert_eq!(world.state_hash(), paused.state_hash());
}

#[test]
fn the_unscaled_delta_is_not_hashed() {
    let (mut one, mut other) = (World::new("one"), World::new("other"));
    for world in [&mut one, &mut other] {
        world.pause();
    }
    one.update(0.1);
    other.update(0.2);
    assert_eq!(one.state_hash(), other.state_hash());
}

#[test]
fn a0181_a_world_is_not_forked_while_a_time_is_pushed() {
    let mut world = world();
    world.push_time(Time::new(1.0, 0.0)).unwrap();
    assert_eq!(world.fork().unwrap_err(), EntityError::TimePushed);
    assert_eq!(
        world.duplicate().unwrap_err().to_string(),
        "A0181: a world cannot be forked while a time is pushed, because the fork would have another time; fork it after \
         `pop_time`, and outside of the systems of a group with a rate"
    );
    world.pop_time().unwrap();
    world.fork().unwrap();
    let fork = |world: &mut World| assert_eq!(world.fork().unwrap_err(), EntityError::TimePushed);
    world.add_system(fork.in_group(FixedStep));
    world.add_system(|world: &mut World| drop(world.fork().unwrap()));
    world.try_update(0.1).unwrap();
}

struct Lockstep;

impl SystemGroup for Lockstep {}

/// A world with two groups that log their steps.
fn world_with_steps() -> World {
    let mut world = world();
    world.set_rate(FixedStep, FixedRateCatchUp::new(0.25)).unwrap();
    world.add_system(Lockstep.rate(FixedRateSimple::new(0.5)));
    let log = |name: &'static str| {
        move |time: Time, mut log: ResMut<Log>| log.0.push(format!("{name} {}", time.elapsed()))
    };
    world.add_system(log("fixed").in_group(FixedStep));
    world.add_system(log("lockstep").in_group(Lockstep));
    world
}

#[test]
fn a_rollback_repeats_the_same_steps() {
    let mut world = world_with_steps();
    world.update(0.3);
    let mut snapshot = world.fork().unwrap();
    let mut fresh = world_with_steps();
    assert_ne!(fresh.state_hash(), snapshot.state_hash());
    for _ in 0..2 {
        take(&mut world);
        (0..2).for_each(|_| world.update(0.3));
        assert_eq!(take(&mut world), ["fixed 0.5", "lockstep 0.5", "fixed 0.75", "lockstep 1"]);
        world.restore(&mut snapshot).unwrap();
        assert_eq!(world.state_hash(), snapshot.state_hash());
    }
    let mut start = fresh.fork().unwrap();
    fresh.update(0.3);
    fresh.restore(&mut start).unwrap();
    take(&mut fresh);
    fresh.update(0.3);
    assert_eq!(take(&mut fresh), ["fixed 0", "fixed 0.25", "lockstep 0"], "not started again");
}

#[test]
fn groups_that_are_added_to_a_fork_continue_at_its_step() {
    let mut world = world_with_steps();
    world.update(0.3);
    let mut fork = world.fork().unwrap();
    fork.insert_resource(Log::default());
    fork.set_rate(FixedStep, FixedRateCatchUp::new(0.25)).unwrap();
    fork.add_system(Lockstep.rate(FixedRateSimple::new(0.5)));
    assert_eq!(fork.state_hash(), world.state_hash());
    let log = |time: Time, mut log: ResMut<Log>| log.0.push(time.elapsed().to_string());
    fork.add_system(log.in_group(FixedStep));
    fork.add_system(log.in_group(Lockstep));
    fork.update(0.3);
    world.update(0.3);
    assert_eq!(take(&mut fork), ["0.5", "0.5"]);
    assert_eq!(fork.state_hash(), world.state_hash());
    fork.set_rate(FixedStep, FixedRateCatchUp::new(0.25)).unwrap();
    fork.update(0.0);
    assert_eq!(take(&mut fork), ["0", "0.25", "0.5", "1"], "a rate that is set later begins anew");
}

#[test]
fn replays_of_resources_and_time_are_equal() {
    #[derive(Resource, Clone)]
    struct Sum(f64);

    let mut world = world_with_steps();
    world.insert_resource(Number(0));
    world.insert_resource(Sum(0.0));
    world.add_system(|number: Res<Number>, mut sum: ResMut<Sum>, time: Time| {
        sum.0 += time.elapsed() * if number.is_changed() { 1.0 } else { 0.5 };
    });
    world.add_system(
        (|mut number: ResMut<Number>, time: Time| {
            if time.frame().is_multiple_of(3) {
                number.0 += 1;
            }
        })
        .in_group(FixedStep),
    );
    world.update(0.1);
    assert_replays(&mut world, 20);
}

#[test]
fn a0182_a_replay_that_depends_on_a_local_names_the_resource() {
    let mut world = world();
    world.insert_resource(Number(0));
    world.add_system(|mut runs: Local<u32>, mut number: ResMut<Number>| {
        *runs += 1;
        number.0 += *runs / 3;
    });
    assert_eq!(
        panic_message(|| assert_replays(&mut world, 2)),
        "A0182: the replay of world `test` differs from its first run after update 1: resource `Number` differs; keep what the \
         systems depend on in components and state resources, not in `Local`s, struct systems, local resources or clocks"
    );
}
