//! Command buffers: recording, playback, placeholders and failures.
#![cfg(feature = "derive")]
#![forbid(unsafe_code)]

#[path = "../fixtures/mod.rs"]
mod fixtures;

mod common;

mod basics;
mod batch_targets;
mod by_query;
mod cancelled;
mod checks;
mod coalesced;
mod destroyed_later;
mod entity_commands;
mod every_command;
mod keys;
mod layouts;
mod messages;
mod misuse;
mod model;
mod panics;
mod placeholders;
mod policy;
mod runs_of_one_kind;
mod shared_values;
mod single_commands;
mod skipped;
mod steps;
mod targets;
mod world_commands;
