//! Parameters of function systems.

mod conflicts;
mod derived;
mod functions;
mod non_send;
mod resources;
mod single;
mod singletons;
