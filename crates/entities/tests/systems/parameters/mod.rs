//! Parameters of function systems.

mod conflicts;
mod functions;
mod single;
mod singletons;
