//! What a user does who depends on the umbrella alone.

mod auto;
mod macros;
mod prelude;
