//! Creating entities.
#![forbid(unsafe_code)]

mod create;
mod default_panics;
mod iterator_panics;
