//! Parameters of function systems.

mod conflicts;
mod functions;
mod non_send;
mod single;
mod singletons;
