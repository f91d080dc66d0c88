//! Behaviour of queries, by the rows of the specification.
//!
//! Each test names the rows it was written from. `README.md` lists the differences, and the reasons.
#![cfg(feature = "derive")]
#![forbid(unsafe_code)]
#![deny(warnings)]

#[path = "../common/model.rs"]
mod cases;
mod common;

mod add_each;
mod alternatives;
mod archetypes;
mod aspects;
mod by_query;
mod by_query_kinds;
mod by_query_refit;
mod changes;
mod counts;
mod data;
mod dynamic;
mod either_changed;
mod forks;
mod iteration;
mod long_walks;
mod lookups;
mod many_archetypes;
mod marks;
mod model;
mod no_limits;
mod one_by_one;
mod option_filters;
mod pairs;
mod panics;
mod scan;
mod shared;
mod split;
mod structural;
mod tracked_changes;
mod tracked_model;
mod truth_tables;
mod views;
mod write_groups;
