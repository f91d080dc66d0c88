//! Dynamic buffers.

pub(crate) mod contents;
mod elements;
mod model;
mod panics;
