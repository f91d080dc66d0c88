//! Systems: function parameters, struct lifecycles, groups, points, and error reports.
//!
//! Test names begin with the row of the specification that they show.
#![cfg(feature = "derive")]

#[path = "../common/panic_message.rs"]
mod panic_message;

mod blackbox;
mod common;
mod creation;
mod errors;
mod exchange;
mod going;
mod groups;
mod hostile;
mod jobs;
mod latency;
mod lifecycle;
mod model;
mod nested;
mod parameters;
mod points;
mod program;
mod recording_jobs;
mod refused;
mod rollback;
mod singletons;
mod stretches;
mod tools;
mod versions;
