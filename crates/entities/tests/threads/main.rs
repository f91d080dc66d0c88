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
