//! Entities and their components: one module for each concept.
//!
//! `README.md` lists the modules, and the parts of Unity's reference manual that are not tested here.
#![deny(warnings)]

#[cfg(feature = "derive")]
#[path = "../fixtures/mod.rs"]
mod fixtures;

#[cfg(feature = "derive")]
mod common;

mod fields;

#[cfg(feature = "derive")]
mod all_kinds;
#[cfg(feature = "derive")]
mod archetypes;
#[cfg(feature = "derive")]
mod buffers;
#[cfg(feature = "derive")]
mod change_detection;
#[cfg(feature = "derive")]
mod chunks;
#[cfg(feature = "derive")]
mod components;
#[cfg(feature = "derive")]
mod despawn;
#[cfg(feature = "derive")]
mod enabled;
#[cfg(feature = "derive")]
mod entity;
#[cfg(feature = "derive")]
mod error_messages;
#[cfg(feature = "derive")]
mod instantiate;
#[cfg(feature = "derive")]
mod limits;
#[cfg(feature = "derive")]
mod managed;
#[cfg(feature = "derive")]
mod relationships;
#[cfg(feature = "derive")]
mod shared;
#[cfg(feature = "derive")]
mod spawn;
