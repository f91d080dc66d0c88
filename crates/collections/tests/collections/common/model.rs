//! Case counts and time limits of model tests.
#![expect(clippy::print_stdout, reason = "is shown if the test fails")]

use std::cell::Cell;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use proptest::test_runner::{Config, RngSeed};

/// Time limit for all cases of one test. Each run draws other cases, so that many short runs find what a long one finds.
const LIMIT: Duration = Duration::from_secs(2);

thread_local! {
    /// The deadline of the test on this thread.
    static END: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Returns a configuration that draws other cases on each run. A failing test prints its seed, which reproduces the
/// cases.
///
/// `PROPTEST_CASES` overrides the number of cases, for long runs, and lifts the time limit.
pub(crate) fn cases(cases: u32) -> Config {
    let asked = |name: &str| std::env::var(name).ok();
    let seed = asked("PROPTEST_RNG_SEED").and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        now.map_or(0, |now| now.as_nanos() as u64)
    });
    let long = asked("PROPTEST_CASES").and_then(|cases| cases.parse().ok());
    END.set(if long.is_none() { Instant::now().checked_add(LIMIT) } else { None });
    // A debug build takes ten times as long for each case. Cases beyond the time limit are still drawn.
    let cases = long.unwrap_or(if cfg!(debug_assertions) { cases.div_ceil(4) } else { cases });
    println!("the seed is {seed}; PROPTEST_RNG_SEED={seed} draws the same cases");
    Config { cases, failure_persistence: None, rng_seed: RngSeed::Fixed(seed), ..Config::default() }
}

/// Returns whether the test on this thread has used up its time: the remaining cases pass unchecked. A failed case is
/// shrunk no further.
pub(crate) fn time_is_up() -> bool {
    END.get().is_some_and(|end| Instant::now() > end)
}
