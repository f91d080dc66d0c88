//! Random worlds replaced by others, repeatedly.

use std::collections::BTreeMap;
use std::sync::Arc;

use ancho_entities::{Changed, Entity, IncludeDisabled, IncludePrefabs, World};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::common::*;
use crate::fixtures::model::{cases, time_is_up};
use crate::random_steps::{Step, live, owned, step};

/// Returns the observable state of a world, in iteration order.
fn seen(world: &World) -> Vec<(Entity, Portrait, Option<Focus>)> {
    let all = portraits(world).into_iter();
    all.map(|(entity, portrait)| {
        let focus = world.chunk_component::<Focus>(entity).ok().copied();
        (entity, portrait, focus)
    })
    .collect()
}

/// Returns the number of entities in each chunk.
fn chunks(world: &World) -> Vec<usize> {
    world.chunks().map(|chunk| chunk.entities().len()).collect()
}

#[track_caller]
fn assert_alike(one: &World, other: &World) {
    assert_eq!(seen(one), seen(other));
    assert_eq!(chunks(one), chunks(other));
    assert_eq!(one.state_hash(), other.state_hash());
    assert_eq!(one.entity_count(), other.entity_count());
    one.check_invariants().unwrap();
}

fn lamps(world: &World) -> BTreeMap<Entity, Lamp> {
    let lamps = world.query_filtered::<(Entity, &Lamp), (IncludeDisabled, IncludePrefabs)>();
    lamps.iter().map(|(entity, lamp)| (entity, *lamp)).collect()
}

fn numbers(world: &World) -> BTreeMap<Entity, A> {
    world.query::<(Entity, &A)>().iter().map(|(entity, a)| (entity, *a)).collect()
}

/// One round: both worlds change, and one replaces the other.
#[derive(Clone, Debug)]
struct Round {
    source: Vec<Step>,
    destination: Vec<Step>,
    is_forked: bool,
}

fn round() -> impl Strategy<Value = Round> {
    // Often little changes, and sometimes nothing.
    let few =
        || prop_oneof![1 => Just(Vec::new()), 2 => vec(step(), 0..6), 1 => vec(step(), 0..80)];
    (few(), few(), any::<bool>()).prop_map(|(source, destination, is_forked)| Round {
        source,
        destination,
        is_forked,
    })
}

fn check(rounds: &[Round], limit: usize) -> Vec<u64> {
    let owner = Arc::new(());
    let [mut source, mut destination] = [chunks_of(limit), chunks_of(limit)];
    let mut hashes = Vec::new();
    for Round { source: there, destination: here, is_forked } in rounds {
        live(&mut source, there, &owner);
        live(&mut destination, here, &owner);
        let forks = is_forked.then(|| [source.fork().unwrap(), destination.fork().unwrap()]);
        let of_forks = forks.as_ref().map(|forks| forks.each_ref().map(seen));
        let before = (seen(&source), source.state_hash());
        let (old_numbers, old_lamps) = (numbers(&destination), lamps(&destination));
        let since = destination.version();
        destination.advance_version();

        destination.copy_and_replace_from(&mut source).unwrap();
        assert_eq!((seen(&source), source.state_hash()), before, "the source is as it was");
        assert_alike(&destination, &source);
        // Repeated replacing has the same result as replacing once.
        let mut fresh = chunks_of(limit);
        fresh.copy_and_replace_from(&mut source).unwrap();
        assert_alike(&destination, &fresh);
        // Different values count as changed.
        let changed: BTreeMap<_, _> = destination
            .query_filtered::<(Entity, &A), Changed<A>>()
            .since(since)
            .iter()
            .map(|(entity, a)| (entity, *a))
            .collect();
        for (entity, a) in numbers(&destination) {
            let is_new = old_numbers.get(&entity) != Some(&a);
            assert!(!is_new || changed.contains_key(&entity), "{entity} has another number");
        }
        let changed =
            destination.query_filtered::<Entity, Changed<Lamp>>().since(since).to_entities();
        for (entity, lamp) in lamps(&destination) {
            let is_new = old_lamps.get(&entity) != Some(&lamp);
            assert!(!is_new || changed.contains(&entity), "{entity} has another lamp");
        }
        // Each value is in each world once, unless they share it.
        drop(fresh);
        if let (Some(forks), Some(of_forks)) = (forks, of_forks) {
            for (fork, before) in forks.iter().zip(of_forks) {
                fork.check_invariants().unwrap();
                assert_eq!(seen(fork), before, "forks are as they were");
            }
        }
        assert_eq!(owned(&source), owned(&destination));
        hashes.push(destination.state_hash());
    }
    // Both worlds behave the same, with the same ids, and neither sees the other's changes.
    let steps = rounds.iter().flat_map(|round| round.source.clone()).collect::<Vec<_>>();
    live(&mut source, &steps, &owner);
    assert_eq!(hashes.last().copied(), rounds.last().map(|_| destination.state_hash()));
    live(&mut destination, &steps, &owner);
    assert_alike(&source, &destination);
    drop(source);
    destination.check_invariants().unwrap();
    assert_eq!(Arc::strong_count(&owner), 1 + owned(&destination));
    drop(destination);
    assert_eq!(Arc::strong_count(&owner), 1);
    hashes
}

#[test]
fn a_replaced_world_equals_the_other() {
    let limit = prop_oneof![Just(1_usize), Just(2), Just(5), Just(1000)];
    let strategy = (vec(round(), 1..6), limit);
    let mut runner = proptest::test_runner::TestRunner::new(cases(96));
    let result = runner.run(&strategy, |(rounds, limit)| {
        if time_is_up() {
            return Ok(());
        }
        let first = check(&rounds, limit);
        assert_eq!(check(&rounds, limit), first);
        Ok(())
    });
    result.unwrap();
}
