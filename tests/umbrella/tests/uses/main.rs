//! What a user does who depends on the umbrella alone.

mod macros;
mod prelude;
