//! Managed components.
#![forbid(unsafe_code)]

mod components;
mod panics;
