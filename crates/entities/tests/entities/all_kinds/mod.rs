//! Components of all kinds on the same entities.
#![forbid(unsafe_code)]

mod combinations;
mod invariants;
mod model;
mod panics;
