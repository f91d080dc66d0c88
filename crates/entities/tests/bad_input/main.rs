//! Invalid input, panicking user code, and exhausted memory: nothing breaks, nothing leaks.
#![cfg(feature = "derive")]
#![forbid(unsafe_code)]
#![deny(warnings)]

mod common;
mod fragile;

mod alignment;
mod by_query;
mod bytes;
mod clone_panics;
mod default_panics;
mod drop_panics;
mod foreign_archetypes;
mod groups;
mod iterator_panics;
mod many_types;
mod missing_entities;
mod no_memory;
mod no_memory_in_forks;
mod shared;
mod together;
mod too_large;
mod wrap_around;
mod zero_sized;
