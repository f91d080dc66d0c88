//! Despawning entities, and cleanup components, which stay.
#![forbid(unsafe_code)]

mod cleanup;
mod cleanup_pattern;
mod destroy;
mod drop_panics;
