//! What transforms do, through the public API.

mod attach;
mod bad_numbers;
mod changes;
mod common;
mod disabled;
mod freeze;
mod inputs;
mod links;
mod on_demand;
mod systems;
mod trees;
mod write_groups;
