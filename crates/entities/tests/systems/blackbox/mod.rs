//! Systems by the rows of the specification, written without knowledge of the implementation.
#![cfg(feature = "derive")]

mod commands;
mod dependencies;
mod failures;
mod groups;
mod hostile;
mod lifecycle;
mod memory;
mod nesting;
mod order;
mod singletons;
mod support;
mod time;
mod worlds;
