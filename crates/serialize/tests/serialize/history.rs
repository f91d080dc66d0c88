//! Snapshots by frame, and rewinding.

use ancho_entities::{Component, Entity, World};
use ancho_serialize::{History, SerializeErrorKind};

use crate::common::*;

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Age(u64);

fn grow(world: &mut World) {
    world.query_mut::<&mut Age>().for_each(|age| age.0 += 1);
    world.spawn(Age(0));
}

#[test]
fn a_rewound_world_repeats_the_same_frames() {
    let mut world = varied_world();
    let mut history = History::new(usize::MAX);
    let mut hashes = Vec::new();
    for frame in 0..20 {
        history.record(&mut world, frame).unwrap();
        hashes.push(world.state_hash());
        grow(&mut world);
        world.update(0.5);
    }
    history.rewind(&mut world, 12).unwrap();
    assert_eq!((history.oldest(), history.newest(), history.len()), (Some(0), Some(12), 13));
    assert_eq!(world.time().elapsed(), 6.0);
    for frame in 12..20 {
        assert_eq!(world.state_hash(), hashes[frame as usize]);
        history.record(&mut world, frame).unwrap();
        grow(&mut world);
        world.update(0.5);
    }
    assert_eq!(history.world(5).unwrap().state_hash(), hashes[5]);
    assert!(history.world(20).is_none());
}

#[test]
fn memory_is_that_of_chunks_that_have_changed() {
    let mut world = World::new("Game");
    let all: Vec<Entity> = world.spawn_many(Position::default(), 100_000).collect();
    let mut history = History::new(usize::MAX);
    history.record(&mut world, 0).unwrap();
    let nothing = history.memory();
    world.get_mut::<Position>(all[0]).unwrap().0 = [1.0; 3];
    history.record(&mut world, 1).unwrap();
    assert_eq!(history.memory() - 2 * nothing, 16 * 1024);
    history.record(&mut world, 2).unwrap();
    assert_eq!(history.memory() - 3 * nothing, 16 * 1024);
    history.rewind(&mut world, 0).unwrap();
    assert_eq!((history.memory(), history.len()), (nothing, 1));
}

#[test]
fn the_oldest_frames_are_dropped_at_the_limit() {
    let mut world = World::new("Game");
    world.spawn_many(Age(0), 100_000);
    let mut history = History::new(4 << 20);
    for frame in 0..20 {
        history.record(&mut world, frame).unwrap();
        grow(&mut world);
    }
    assert!(history.memory() <= 4 << 20, "{history:?}");
    assert_eq!(history.newest(), Some(19));
    assert!((2..5).contains(&history.len()), "{history:?}");
    let refused = history.rewind(&mut world, 3).unwrap_err();
    assert_eq!(refused.kind(), SerializeErrorKind::NoSuchFrame);
    let oldest = history.oldest().unwrap();
    assert_eq!(
        refused.to_string(),
        format!("A0272: the history does not have frame 3; it has frames from {oldest} to 19")
    );
    history.clear();
    assert_eq!((history.memory(), history.is_empty()), (0, true));
}
