//! Versions of chunks, components and worlds.
#![forbid(unsafe_code)]

mod change_versions;
mod order_versions;
mod wrap_around;
