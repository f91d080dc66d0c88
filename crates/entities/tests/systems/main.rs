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
mod conditions;
mod failures;
mod groups;
mod lifecycle;
mod messages;
mod model;
mod observers;
mod one_shot;
mod parameters;
mod plugins;
mod startup;
mod states;
mod timers;
mod tools;
mod worlds;
