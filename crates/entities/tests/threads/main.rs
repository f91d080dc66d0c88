//! Tests that use several threads. ThreadSanitizer runs this binary.
#![cfg(feature = "derive")]

#[path = "../fixtures/mod.rs"]
mod fixtures;

#[expect(dead_code, reason = "the tests of queries use the rest")]
#[path = "../queries/common.rs"]
mod common;

mod commands;
mod jobs;
mod queries;
mod systems;
mod waiting_for_jobs;
mod worlds;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Returns a lock for the tests that limit the CPU level. A limit applies to all threads of the process.
fn lock_cpu_level() -> MutexGuard<'static, ()> {
    static CPU_LEVEL: Mutex<()> = Mutex::new(());
    CPU_LEVEL.lock().unwrap_or_else(PoisonError::into_inner)
}
