//! Dynamic buffers.

mod contents;
mod elements;
mod model;
mod panics;
