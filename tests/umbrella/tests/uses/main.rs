//! A user crate that depends on the umbrella crate alone.

mod auto;
mod macros;
mod prelude;
