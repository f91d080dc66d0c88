//! Commands that jobs record.
#![forbid(unsafe_code)]

#[expect(dead_code, reason = "the tests of commands use the rest")]
#[path = "../../commands/common.rs"]
mod common;
#[path = "../../commands/every_command.rs"]
mod every_command;

mod buffer_in_use;
mod failures;
mod order;
mod recorded_by_jobs;
mod single_commands;
