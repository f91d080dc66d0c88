//! Differences between two states.

use ancho_entities::{Entity, World};
use ancho_serialize::{Delta, LoadOptions, SerializeErrorKind as Kind};

use crate::common::*;

fn changed(world: &mut World, step: u32) {
    let some: Vec<Entity> = world.query::<&Position>().to_entities();
    for (at, &entity) in some.iter().enumerate().skip(step as usize).step_by(97) {
        match at % 3 {
            0 => _ = world.despawn(entity).unwrap(),
            1 => world.get_mut::<Position>(entity).unwrap().0[1] += 1.0,
            _ => _ = world.add(entity, Engine(step.into())).unwrap(),
        }
    }
    world.spawn_many(Position([step as f32; 3]), 300);
}

#[test]
fn a_delta_leads_from_one_state_to_the_other() {
    let mut world = varied_world();
    let mut client = world.fork().unwrap();
    for step in 0..4 {
        let before = world.fork().unwrap();
        changed(&mut world, step);
        let delta = Delta::between(&before, &world).unwrap();
        let delta = Delta::from_reader(&delta.to_bytes()[..]).unwrap();
        delta.apply(&mut client, LoadOptions::new()).unwrap();
        assert_eq!(client.state_hash(), world.state_hash());
        assert_eq!(client.spawn(()), world.spawn(()));
    }
}

#[test]
fn the_size_is_that_of_what_has_changed() {
    let mut world = World::new("Game");
    let all: Vec<Entity> = world.spawn_many(Position::default(), 100_000).collect();
    let before = world.fork().unwrap();
    assert!(Delta::between(&before, &world).unwrap().is_empty());
    world.get_mut::<Position>(all[50_000]).unwrap().0 = [1.0; 3];
    let delta = Delta::between(&before, &world).unwrap();
    let len = delta.to_bytes().len();
    assert!(len < 1000, "{len} bytes");
}

#[test]
fn composed_deltas_have_the_effect_of_both() {
    let mut world = varied_world();
    let start = world.fork().unwrap();
    changed(&mut world, 1);
    let middle = world.fork().unwrap();
    changed(&mut world, 2);
    let first = Delta::between(&start, &middle).unwrap();
    let second = Delta::between(&middle, &world).unwrap();
    let both = first.then(&second).unwrap();
    let mut client = { start }.fork().unwrap();
    both.apply(&mut client, LoadOptions::new()).unwrap();
    assert_eq!(client.state_hash(), world.state_hash());
    assert_eq!(second.then(&first).unwrap_err().kind(), Kind::WrongBase);
}

#[test]
fn another_base_is_refused_and_unchanged() {
    let mut world = varied_world();
    let before = world.fork().unwrap();
    changed(&mut world, 1);
    let delta = Delta::between(&before, &world).unwrap();
    let hash = world.state_hash();
    let refused = delta.apply(&mut world, LoadOptions::new()).unwrap_err();
    assert_eq!(refused.kind(), Kind::WrongBase);
    assert_eq!(world.state_hash(), hash);
}

#[test]
fn invalid_deltas_never_panic() {
    let mut world = World::new("Game");
    let all: Vec<Entity> = world.spawn_many(Position::default(), 100).collect();
    let mut before = world.fork().unwrap();
    let mut base = world.fork().unwrap();
    world.get_mut::<Position>(all[7]).unwrap().0 = [1.0; 3];
    world.despawn(all[9]).unwrap();
    let bytes = Delta::between(&before, &world).unwrap().to_bytes();
    let hash = before.state_hash();
    for at in 0..bytes.len() {
        assert!(Delta::from_reader(&bytes[..at]).is_err());
        for bit in 0..8 {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << bit;
            assert!(Delta::from_reader(&changed[..]).is_err(), "byte {at}");
            repair(&mut changed);
            if let Ok(delta) = Delta::from_reader(&changed[..])
                && changed != bytes
            {
                // Another division of the same bytes is still right.
                if delta.apply(&mut before, LoadOptions::new()).is_ok() {
                    assert_eq!(before.state_hash(), world.state_hash());
                    before.restore(&mut base).unwrap();
                }
            }
        }
    }
    assert_eq!(before.state_hash(), hash);
}
