//! Random scripts of everything that can be done with worlds, against plain maps.
//!
//! All operations, on worlds and their forks, in worlds that are set up in several ways, some of them with little
//! memory. Components are of every kind; those that have to be dropped are counted. Each script runs twice, and must
//! come to the same hashes.
//!
//! `PROPTEST_CASES=10000` makes it a long run.
#![cfg(feature = "derive")]
// One thread at a time: there is nothing for a race detector.
#![cfg(not(tsan))]

mod buffers;
#[path = "../common/model.rs"]
mod cases;
mod check;
mod components;
mod groups;
mod plain;
mod script;
mod structure;
mod values;

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, PoisonError};

use ancho_entities::{ChunkArena, World, WorldSettings};
use cases::cases;
use proptest::prelude::*;
use script::{Run, Step, any_step};

/// Runs a script in a world of these settings, and returns its hashes.
fn run(script: &[Step], settings: WorldSettings, setup: Setup) -> Vec<u64> {
    let mut run = Run::new(World::with_settings("model", settings), setup);
    for (number, step) in script.iter().enumerate() {
        if step.elsewhere {
            // Everything goes to another thread, and comes back.
            std::thread::scope(|scope| scope.spawn(|| run.step(step)).join().unwrap());
        } else {
            run.step(step);
        }
        // Walking everything after each step is for long runs.
        run.check_current(number % 4 == 3 || std::env::var_os("PROPTEST_CASES").is_some());
        if number % 16 == 15 {
            run.check_all();
        }
    }
    run.check_all();
    run.hashes
}

/// What a script has to know of the settings.
#[derive(Clone, Copy, Debug)]
struct Setup {
    chunk_size: usize,
    strict: bool,
    /// How many chunks there are, if that is few.
    chunks: Option<usize>,
    /// How many entities a chunk holds at most.
    limit: Option<usize>,
}

impl Setup {
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
    // Values are counted for the whole program.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    components::LIVE.store(0, Relaxed);
    let first = run(script, setup.settings(), setup);
    assert_eq!(components::LIVE.load(Relaxed), 0, "values leaked, or were dropped twice");
    let second = run(script, setup.settings(), setup);
    assert_eq!(first, second, "the same script came to another state");
}

fn any_script() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(any_step(), 1..120)
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn chunks_that_fill_fast(script in any_script(), strict: bool) {
        run_twice(&script, Setup { chunk_size: 16 << 10, strict, chunks: None, limit: Some(3) });
    }

    #[test]
    fn chunks_as_usual(script in any_script()) {
        run_twice(&script, Setup { chunk_size: 16 << 10, strict: false, chunks: None, limit: None });
    }

    #[test]
    fn small_chunks(script in any_script(), strict: bool) {
        run_twice(&script, Setup { chunk_size: 4 << 10, strict, chunks: None, limit: None });
    }

    #[test]
    fn little_memory(script in any_script(), strict: bool, chunks in 1..40_usize) {
        let setup = Setup { chunk_size: 16 << 10, strict, chunks: Some(chunks), limit: Some(3) };
        run_twice(&script, setup);
    }
}
