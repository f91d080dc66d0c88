//! Random worlds are moved and copied, and compared entity by entity.

use std::sync::Arc;

use ancho_entities::{Entity, EntityMap, QueryDescriptor, World};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::common::*;
use crate::fixtures::model::{cases, time_is_up};
use crate::random_steps::{Step, live, owned, step};

/// The entities to move or copy.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Extent {
    All,
    Slice(u64),
    Lamps,
    Linked,
}

/// The operation.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Verb {
    Move,
    Copy,
}

fn chosen(world: &World, extent: Extent) -> Vec<Entity> {
    match extent {
        Extent::All => world.all_entities(),
        Extent::Slice(bits) => {
            let all = world.iter_entities();
            all.filter(|entity| bits >> (entity.index() % 64) & 1 != 0).collect()
        }
        Extent::Lamps => world.query::<&Lamp>().to_entities(),
        Extent::Linked => world.query::<&Link>().to_entities(),
    }
}

fn act(source: &mut World, destination: &mut World, verb: Verb, extent: Extent) -> EntityMap {
    let slice = chosen(source, extent);
    let result = match (verb, extent) {
        (Verb::Move, Extent::All) => destination.move_entities_from(source),
        (Verb::Copy, Extent::All) => destination.copy_entities_from(source),
        (Verb::Move, Extent::Slice(_)) => source.batch(&slice).move_to(destination),
        (Verb::Copy, Extent::Slice(_)) => source.batch(&slice).copy_to(destination),
        (Verb::Move, Extent::Lamps) => {
            source.batch(QueryDescriptor::of::<&Lamp, ()>()).move_to(destination)
        }
        (Verb::Copy, Extent::Lamps) => {
            QueryDescriptor::of::<&Lamp, ()>().copy_to(source, destination)
        }
        (Verb::Move, Extent::Linked) => {
            source.batch(QueryDescriptor::of::<&Link, ()>()).move_to(destination)
        }
        (Verb::Copy, Extent::Linked) => {
            QueryDescriptor::of::<&Link, ()>().copy_to(source, destination)
        }
    };
    result.unwrap()
}

fn check(
    lives: &[Vec<Step>; 2],
    limits: [usize; 2],
    is_forked: bool,
    verb: Verb,
    extent: Extent,
) -> [u64; 2] {
    let owner = Arc::new(());
    let [mut source, mut destination] = limits.map(chunks_of);
    live(&mut source, &lives[0], &owner);
    live(&mut destination, &lives[1], &owner);
    let forks = is_forked.then(|| [source.fork().unwrap(), destination.fork().unwrap()]);
    let hashes = [source.state_hash(), destination.state_hash()];
    let (there, here) = (portraits(&source), portraits(&destination));
    let chosen = chosen(&source, extent);
    let map = act(&mut source, &mut destination, verb, extent);

    assert_eq!(map.len(), chosen.len());
    assert_eq!(destination.entity_count(), here.len() + chosen.len());
    for (entity, portrait) in here {
        assert_eq!(Portrait::of(&destination, entity), portrait);
    }
    for (old, portrait) in there {
        let is_chosen = chosen.contains(&old);
        assert_eq!(map.get(old).is_some(), is_chosen);
        if let Some(new) = map.get(old) {
            let expected = portrait.clone().in_other_world(&map);
            assert_eq!(Portrait::of(&destination, new), expected);
        }
        let stays = verb == Verb::Copy || !is_chosen;
        assert_eq!(source.exists(old), stays);
        if stays {
            assert_eq!(Portrait::of(&source, old), portrait);
        }
    }
    source.check_invariants().unwrap();
    destination.check_invariants().unwrap();
    if let Some(forks) = forks {
        for (fork, before) in forks.iter().zip(hashes) {
            fork.check_invariants().unwrap();
            assert_eq!(fork.state_hash(), before);
        }
    }
    // Each value exists once.
    assert_eq!(Arc::strong_count(&owner), 1 + owned(&source) + owned(&destination));
    // Both worlds still work.
    live(&mut source, &lives[1], &owner);
    live(&mut destination, &lives[0], &owner);
    let hashes = [source.state_hash(), destination.state_hash()];
    drop(source);
    assert_eq!(Arc::strong_count(&owner), 1 + owned(&destination));
    drop(destination);
    assert_eq!(Arc::strong_count(&owner), 1);
    hashes
}

#[test]
fn moved_and_copied_entities_are_unchanged() {
    let extent = prop_oneof![
        2 => Just(Extent::All),
        2 => any::<u64>().prop_map(Extent::Slice),
        1 => Just(Extent::Lamps),
        1 => Just(Extent::Linked),
    ];
    let verb = prop_oneof![Just(Verb::Move), Just(Verb::Copy)];
    let limit = || prop_oneof![Just(1_usize), Just(2), Just(5), Just(1000)];
    let lives = [vec(step(), 0..120), vec(step(), 0..60)];
    let strategy = (lives, limit(), limit(), any::<bool>(), any::<bool>(), verb, extent);
    let config = cases(256);
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let result = runner.run(&strategy, |(lives, one, other, is_same, is_forked, verb, extent)| {
        if time_is_up() {
            return Ok(());
        }
        let limits = [one, if is_same { one } else { other }];
        let first = check(&lives, limits, is_forked, verb, extent);
        assert_eq!(check(&lives, limits, is_forked, verb, extent), first);
        Ok(())
    });
    result.unwrap();
}
