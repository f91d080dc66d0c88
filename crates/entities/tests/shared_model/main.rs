//! Random scripts of what can be done with shared components, against plain maps.
//!
//! Entities have shared values of three types, one of which stays, beside components that are switched off, have to be
//! dropped, or are buffers; in worlds and their forks, some of them with little memory. Values count how many there are.
//! Each script runs twice, and must come to the same hashes.
//!
//! `PROPTEST_CASES=10000` makes it a long run.
#![cfg(feature = "derive")]
// One thread at a time: there is nothing for a race detector.
#![cfg(not(tsan))]
#![forbid(unsafe_code)]

#[path = "../common/model.rs"]
mod cases;
mod row;
mod script;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ancho_entities::{ChunkArena, World, WorldSettings};
use cases::cases;
use proptest::prelude::*;
use row::{Mesh, Team, look};
use script::{Pair, Run, Step, any_script};

/// Compares everything with the plain world.
fn check(Pair { world, plain, orders }: &mut Pair) {
    world.check_invariants().unwrap();
    assert_eq!(world.entity_count(), plain.len());
    for (&entity, row) in &*plain {
        assert_eq!(look(world, entity), *row, "{entity}");
    }
    let entities = world.entities();
    let mut chunks = BTreeMap::new();
    for chunk in entities.chunks() {
        if let Some(team) = chunk.shared::<Team>() {
            *chunks.entry(team.0).or_insert(0) += 1;
        }
        for entity in chunk.entities() {
            assert_eq!(chunk.shared::<Team>().map(|team| team.0), plain[entity].team);
            assert_eq!(chunk.shared::<Mesh>().map(|mesh| mesh.0), plain[entity].mesh);
        }
    }
    let listed: Vec<u32> = world.shared_values::<Team>().map(|team| team.0).collect();
    assert_eq!(listed[0], 0);
    let mut sorted = listed.clone();
    sorted.sort_unstable();
    let expected: BTreeSet<u32> = chunks.keys().copied().chain([0]).collect();
    assert!(sorted.iter().eq(&expected), "{listed:?} {expected:?}");
    for number in 0..5 {
        let value = Team(number, None);
        let count = chunks.get(&number).copied().unwrap_or(0);
        assert_eq!(entities.shared_reference_count(&value), count);
        if count > 0 {
            let now = entities.shared_order_version(&value);
            assert!(now >= orders.insert(number, now).unwrap_or(0));
        }
    }
}

/// Runs a script, and returns the hashes it came to.
fn run(script: &[Step], settings: WorldSettings, limited: bool) -> Vec<u64> {
    let world = World::with_settings("model", settings);
    let pair = Pair { world, plain: BTreeMap::new(), orders: BTreeMap::new() };
    let owner = Arc::new(());
    let mut run = Run { pairs: vec![pair], owner: owner.clone(), limited };
    let mut hashes = Vec::new();
    for step in script {
        run.step(step);
        let pair = run.pairs.last_mut().unwrap();
        check(pair);
        hashes.push(pair.world.state_hash());
    }
    run.pairs.iter_mut().for_each(check);
    drop(run);
    assert_eq!(Arc::strong_count(&owner), 1, "values leaked");
    hashes
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn chunks_that_fill_fast(script in any_script(), limit in 1..5_usize) {
        let settings = || WorldSettings::new().chunk_capacity_limit(limit).arena(ChunkArena::new());
        assert_eq!(run(&script, settings(), false), run(&script, settings(), false));
    }

    #[test]
    fn chunks_as_usual(script in any_script()) {
        run(&script, WorldSettings::new(), false);
    }

    #[test]
    fn little_memory(script in any_script(), chunks in 1..30_usize) {
        let settings = || {
            let arena = ChunkArena::with_limit(chunks * 16 * 1024);
            WorldSettings::new().chunk_capacity_limit(3).arena(arena)
        };
        assert_eq!(run(&script, settings(), true), run(&script, settings(), true));
    }
}
