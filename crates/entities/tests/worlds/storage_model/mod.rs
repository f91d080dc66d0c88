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

use crate::cases::{cases, time_is_up};
use ancho_entities::{ChunkArena, World, WorldSettings};
use proptest::prelude::*;
use script::{Run, Step, any_step};
use sets::SETS;

/// Runs a script in a world of these settings, and returns its hashes.
///
/// The second time it goes on in a fork of its world every other step, which must make no difference, unless there is
/// little memory: then a fork is refused what its world was not.
fn run(script: &[Step], setup: Setup, second: bool) -> Vec<u64> {
    let forks = second && setup.chunks.is_none();
    let mut run = Run::new(World::with_settings("model", setup.settings()), setup);
    for (number, step) in script.iter().enumerate() {
        if forks && number % 2 == 1 {
            run.go_on_in_fork();
        }
        if step.elsewhere {
            // Everything goes to another thread, and comes back.
            std::thread::scope(|scope| scope.spawn(|| run.step(step)).join().unwrap());
        } else {
            run.step(step);
        }
        // What the second run comes to is compared with the first, whose worlds were looked at after each step.
        run.check_current(!second || number % 8 == 7);
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
    focus: Focus,
}

/// Which components and calls a script is about. With fewer components more entities have the same, and with fewer calls
/// more is done to what others have done.
#[derive(Clone, Copy, Debug)]
struct Focus {
    /// The first set of those that are used, and how many are.
    first: usize,
    sets: usize,
    /// The bits of kinds that are used.
    bits: usize,
    /// The calls, a bit for each.
    calls: u64,
}

impl Setup {
    /// The set that a number is for.
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
    fn chunks_that_fill_fast(
        script in any_script(),
        focus in any_focus(),
        strict: bool,
        limit in 1..6_usize,
    ) {
        let limit = Some(limit);
        run_twice(&script, Setup { chunk_size: 16 << 10, strict, chunks: None, limit, focus });
    }

    #[test]
    fn chunks_as_usual(script in any_script(), focus in any_focus()) {
        run_twice(&script, Setup { chunk_size: 16 << 10, strict: false, chunks: None, limit: None, focus });
    }

    #[test]
    fn small_chunks(script in any_script(), focus in any_focus(), strict: bool) {
        run_twice(&script, Setup { chunk_size: 4 << 10, strict, chunks: None, limit: None, focus });
    }

    #[test]
    fn little_memory(script in any_script(), focus in any_focus(), strict: bool, chunks in 1..40_usize) {
        let setup = Setup { chunk_size: 16 << 10, strict, chunks: Some(chunks), limit: Some(3), focus };
        run_twice(&script, setup);
    }
}
