//! Plans of queries as values, and the archetypes of a world that match them.
//!
//! [`terms`] are the conditions of a query, without its types. A [`state`] is a plan and the archetypes that match it; the [`cache`] of a
//! world has the states of all queries that the world has run.

pub(crate) mod cache;
pub(crate) mod state;
pub(crate) mod terms;
