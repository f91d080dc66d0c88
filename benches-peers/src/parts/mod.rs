//! The parts of the benchmark, a module each.

mod burst;
mod collections;
mod features;
mod iterate;
mod jobs;
mod storage;
mod systems;
mod transforms;

use crate::harness::Part;

/// Every part, in the dependency order of the crates.
pub(crate) static ALL: &[&Part] = &[
    &burst::PART,
    &jobs::PART,
    &collections::PART,
    &storage::PART,
    &iterate::PART,
    &systems::PART,
    &transforms::PART,
    &features::PART,
];

/// Finds a part by name.
pub(crate) fn find(name: &str) -> Option<&'static Part> {
    ALL.iter().copied().find(|part| part.name == name)
}
