//! Behaviour of transforms, through the public API.

mod aspect;
mod attach;
mod bad_numbers;
mod bits;
mod changes;
mod common;
mod depth;
mod disabled;
mod errors;
mod freeze;
mod helpers;
mod inputs;
mod links;
mod on_demand;
mod prefabs;
mod rollback;
mod systems;
mod trees;
mod worlds;
mod write_groups;
