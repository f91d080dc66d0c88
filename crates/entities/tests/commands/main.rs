//! Command buffers.

mod basics;
