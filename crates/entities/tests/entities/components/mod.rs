//! Component types, and single components of entities.

mod add;
mod batches;
mod bundles;
mod bytes;
mod derive;
mod get;
mod panics;
mod remove;
mod required;
mod swap;
mod tags;
mod types;
