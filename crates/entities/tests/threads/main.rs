//! Worlds, jobs and commands on several threads. ThreadSanitizer runs this binary.

#[cfg(feature = "derive")]
#[expect(dead_code, reason = "the tests of queries use the rest")]
#[path = "../queries/common.rs"]
mod common;

mod commands;
mod dispatch;
mod jobs;
mod jobs_gates;
mod jobs_soundness;
mod managed;
mod parallel;
mod storage;
mod systems_determinism;
mod systems_waiting;
mod world;
mod worlds;
