//! Component types, and single components of entities.

mod add;
mod batches;
mod bytes;
mod derive;
mod get;
mod panics;
mod remove;
mod swap;
mod tags;
mod types;
