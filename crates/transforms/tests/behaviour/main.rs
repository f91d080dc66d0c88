//! What transforms do, through the public API.

mod aspect;
mod attach;
mod bad_numbers;
mod changes;
mod common;
mod depth;
mod disabled;
mod freeze;
mod helpers;
mod inputs;
mod links;
mod on_demand;
mod systems;
mod trees;
mod write_groups;
