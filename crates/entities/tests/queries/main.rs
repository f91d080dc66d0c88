//! Queries: one module for each concept.
//!
//! `README.md` lists the differences from Unity's reference manual.
#![cfg(feature = "derive")]
#![forbid(unsafe_code)]
#![deny(warnings)]

#[path = "../fixtures/mod.rs"]
mod fixtures;

mod common;

mod archetypes;
mod aspects;
mod bulk;
mod change_detection;
mod data;
mod dynamic;
mod filters;
mod forks;
mod iteration;
mod lookups;
mod model;
mod rejected;
mod scan;
mod split;
mod views;
