//! Worlds: entities that move to another world, replaced contents, and all storage operations against a model.
#![cfg(feature = "derive")]
#![forbid(unsafe_code)]
#![deny(warnings)]

#[path = "../fixtures/mod.rs"]
mod fixtures;

mod common;
mod random_steps;

mod replace;
mod replace_model;
mod storage_model;
mod transfer;
