//! Plans of queries as values, and the archetypes of a world that match them.
//!
//! [`terms`] holds the conditions of a query as values, without Rust types. [`state`] holds a plan and the archetypes that match
//! it. [`cache`] holds the states of all queries that a world has run.

pub(crate) mod cache;
pub(crate) mod state;
pub(crate) mod terms;
