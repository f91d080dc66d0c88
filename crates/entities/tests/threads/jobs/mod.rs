//! Jobs over entities: dependencies, blocked operations, and results.
//!
//! Tests are named after the rows of the behaviour they check. Where the order of waiting matters, a job blocks at a
//! [`Gate`](common::Gate), so that it is known to run meanwhile.
#![cfg(feature = "derive")]
#![forbid(unsafe_code)]

mod common;

mod arrays;
mod background;
mod changes;
mod chunk_jobs;
mod coverage;
mod dependencies;
mod determinism;
mod errors;
mod failures;
mod forks;
mod forms;
mod growth;
mod lists;
mod lookups;
mod masks;
mod moved;
mod side_by_side;
mod split_jobs;
mod structural;
mod systems;
