//! Random scripts of all operations on worlds, compared with plain maps.
//!
//! All operations run on worlds and their forks, with several settings, some with little memory. Components are of
//! every kind; those with a destructor are counted. Each script runs twice, and must produce the same hashes.
//!
//! `PROPTEST_CASES=10000` makes it a long run.

mod buffers;
mod check;
mod columns;
mod components;
mod groups;
mod managed;
mod per_chunk;
mod plain;
mod script;
mod sets;
mod shared;
mod structure;
mod values;

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, PoisonError};

use ancho_entities::{ChunkArena, World, WorldSettings};
use proptest::prelude::*;

use crate::fixtures::model::{cases, time_is_up};
use script::{Run, Step, any_step};
use sets::SETS;

/// Runs a script in a world of these settings, and returns its hashes.
///
/// The second run continues in a fork of its world every other step, which must make no difference. With little memory
/// it does not, since a fork may be refused what its world was not.
fn run(script: &[Step], setup: Setup, second: bool) -> Vec<u64> {
    let forks = second && setup.chunks.is_none();
    let mut run = Run::new(World::with_settings("model", setup.settings()), setup);
    for (number, step) in script.iter().enumerate() {
        if forks && number % 2 == 1 {
            run.go_on_in_fork();
        }
        if step.elsewhere {
            // Everything is sent to another thread, and back.
            std::thread::scope(|scope| scope.spawn(|| run.step(step)).join().unwrap());
        } else {
            run.step(step);
        }
        // The results of the second run are compared with the first, whose worlds were checked after each step.
        run.check_current(!second || number % 8 == 7);
        if number % 16 == 15 {
            run.check_all();
        }
    }
    run.check_all();
    run.hashes
}

/// The settings that a script depends on.
#[derive(Clone, Copy, Debug)]
struct Setup {
    chunk_size: usize,
    strict: bool,
    /// The number of chunks, if limited.
    chunks: Option<usize>,
    /// The maximum number of entities in a chunk.
    limit: Option<usize>,
    focus: Focus,
}

/// The components and calls of a script. With fewer components more entities have the same ones, and with fewer calls
/// more of them interact.
#[derive(Clone, Copy, Debug)]
struct Focus {
    /// The first used set, and the number of used sets.
    first: usize,
    sets: usize,
    /// The bits of used kinds.
    bits: usize,
    /// The used calls, one bit each.
    calls: u64,
}

impl Setup {
    /// Returns the set that a number selects.
    fn which(self, set: usize) -> usize {
        (self.focus.first + set % self.focus.sets) % SETS
    }

    fn settings(self) -> WorldSettings {
        let arena = match self.chunks {
            Some(chunks) => ChunkArena::with_limit(chunks * self.chunk_size),
            None => ChunkArena::new(),
        };
        let settings = WorldSettings::new().chunk_size(self.chunk_size).strict(self.strict);
        let settings = settings.arena(arena);
        match self.limit {
            Some(limit) => settings.chunk_capacity_limit(limit),
            None => settings,
        }
    }
}

fn run_twice(script: &[Step], setup: Setup) {
    if time_is_up() {
        return;
    }
    // Values are counted for the whole program.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    components::LIVE.store(0, Relaxed);
    managed::PAGES.store(0, Relaxed);
    let first = run(script, setup, false);
    assert_eq!(components::LIVE.load(Relaxed), 0, "values leaked, or were dropped twice");
    let second = run(script, setup, true);
    assert_eq!(components::LIVE.load(Relaxed), 0, "values leaked, or were dropped twice");
    assert_eq!(first, second, "the same script came to another state");
}

fn any_script() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(any_step(), 1..120)
}

fn any_focus() -> impl Strategy<Value = Focus> {
    let sets = prop_oneof![Just(SETS), 3..12_usize];
    let bits = prop_oneof![Just(usize::MAX), any::<usize>(), 0..128_usize];
    let calls = prop_oneof![Just(u64::MAX), any::<u64>(), any::<u64>()];
    (0..SETS, sets, bits, calls).prop_map(|(first, sets, bits, calls)| Focus {
        first,
        sets,
        bits,
        calls,
    })
}

proptest! {
    #![proptest_config(cases(20))]

    #[test]
    fn random_scripts_in_chunks_that_fill_fast(
        script in any_script(),
        focus in any_focus(),
        strict: bool,
        limit in 1..6_usize,
    ) {
        let limit = Some(limit);
        run_twice(&script, Setup { chunk_size: 16 << 10, strict, chunks: None, limit, focus });
    }

    #[test]
    fn random_scripts_in_default_chunks(script in any_script(), focus in any_focus()) {
        run_twice(&script, Setup { chunk_size: 16 << 10, strict: false, chunks: None, limit: None, focus });
    }

    #[test]
    fn random_scripts_in_small_chunks(script in any_script(), focus in any_focus(), strict: bool) {
        run_twice(&script, Setup { chunk_size: 4 << 10, strict, chunks: None, limit: None, focus });
    }

    #[test]
    fn random_scripts_with_little_memory(script in any_script(), focus in any_focus(), strict: bool, chunks in 1..40_usize) {
        let setup = Setup { chunk_size: 16 << 10, strict, chunks: Some(chunks), limit: Some(3), focus };
        run_twice(&script, setup);
    }
}
