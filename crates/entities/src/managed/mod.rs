//! Managed components: values of one thread, each in a box of its own.

mod column;
mod component;
mod owned;

pub use component::ManagedComponent;
pub use owned::Managed;
