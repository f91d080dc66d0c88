//! Enabled bits of components.
#![forbid(unsafe_code)]

pub(crate) mod bits;
mod model;
