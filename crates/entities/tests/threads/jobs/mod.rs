//! Jobs over entities: dependencies, blocked operations, and results.
//!
//! Where the order of waiting matters, a job blocks at a [`Gate`](common::Gate), so that it is known to run meanwhile.
#![forbid(unsafe_code)]

pub(crate) mod common;

mod arrays;
mod background;
mod buffer_elements;
mod changes;
mod chunk_jobs;
mod coverage;
mod dependencies;
mod determinism;
mod disjoint_components;
mod errors;
mod failures;
mod forks;
mod forms;
mod growth;
mod lists;
mod lookups;
mod masks;
mod moved;
mod relationships;
mod soundness;
mod split_jobs;
mod structural;
