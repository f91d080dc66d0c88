//! Systems as the specification has them, row by row, written without a look at how they are made.
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
