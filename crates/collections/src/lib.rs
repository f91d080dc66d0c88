#![doc = include_str!("../README.md")]

#[allow(dead_code, unused_imports, reason = "containers are yet to use it")]
mod allocator;

pub use allocator::{Allocator, LineAligned, LiveContainer, MemorySource};
