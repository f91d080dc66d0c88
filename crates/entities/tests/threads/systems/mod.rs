//! Systems that schedule jobs.

#[expect(unused_imports, reason = "the tests of systems use the rest")]
#[path = "../../systems/common.rs"]
mod common;
#[expect(dead_code, reason = "the tests of systems use the rest")]
#[path = "../../systems/trace.rs"]
mod trace;

mod dependencies;
mod determinism;
mod entity_jobs;
mod failing_jobs;
mod jobs;
mod latency;
mod messages;
mod program;
mod recording_jobs;
mod results;
mod waiting;
mod worlds;
