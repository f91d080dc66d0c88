//! Systems: parameters, lifecycles, groups, commands and failures.
#![cfg(feature = "derive")]

#[path = "../fixtures/mod.rs"]
mod fixtures;

mod common;
mod trace;

#[cfg(feature = "auto")]
mod auto;
mod change_detection;
mod commands;
mod failures;
mod groups;
mod lifecycle;
mod model;
mod parameters;
mod tools;
mod worlds;
