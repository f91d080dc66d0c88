//! Configuration of tests against a model.
#![expect(clippy::print_stdout, reason = "is shown if the test fails")]

use std::time::{SystemTime, UNIX_EPOCH};

use proptest::test_runner::{Config, RngSeed};

/// The cases differ on each run. A failing test prints the seed, which reproduces them.
pub(crate) fn cases(cases: u32) -> Config {
    let asked = std::env::var("PROPTEST_RNG_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = asked.unwrap_or_else(|| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        now.map_or(0, |now| now.as_nanos() as u64)
    });
    // ThreadSanitizer is slow, and most models have one thread.
    let cases = if cfg!(tsan) { cases.div_ceil(16) } else { cases };
    println!("the seed is {seed}; PROPTEST_RNG_SEED={seed} draws the same cases");
    Config { cases, failure_persistence: None, rng_seed: RngSeed::Fixed(seed), ..Config::default() }
}
