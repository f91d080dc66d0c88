//! The operations of the features, and the expected results: the same for every subject.

use std::sync::atomic::{AtomicU64, Ordering};

pub(super) use crate::parts::storage::work::{FEW, MANY, MILLION, body, body_row, in_any_order};

/// Number of readers that read the same messages.
pub(super) const READERS: usize = 3;
/// Number of entities with a link to the same target.
pub(super) const SOURCES: usize = 10_000_000;
/// Number of systems in the cases of empty systems.
pub(super) const SYSTEMS: usize = 100;
/// Number of failing systems.
pub(super) const FAILING: usize = 1_000;
/// Number of children of each node of a tree.
pub(super) const BRANCHES: usize = 4;
/// Number of writes to one resource in an operation.
pub(super) const WRITES: usize = 1_000;
/// Number of chunks whose enabled bits are observed. One in a hundred changes.
pub(super) const CHUNKS: usize = 10_000;
/// Number of entities in each of these chunks.
pub(super) const ROWS: usize = 16;
/// The length of a frame in seconds.
pub(super) const FRAME: f64 = 1.0 / 60.0;

/// A message of 16 bytes.
#[derive(Clone, Copy, ancho_entities::Message, bevy_ecs::message::Message)]
pub(super) struct Hit {
    pub(super) target: u64,
    pub(super) damage: f64,
}

/// Returns the message with a number.
#[inline]
pub(super) fn hit(index: usize) -> Hit {
    Hit { target: index as u64, damage: index as f64 }
}

/// Condenses messages, in any order.
pub(super) fn hits(all: impl Iterator<Item = Hit>) -> u64 {
    in_any_order(all.map(|hit| hit.target ^ hit.damage.to_bits()))
}

/// Returns the damage of a message as a number that is the same in any order of adding.
#[inline]
pub(super) fn damage(hit: &Hit) -> u64 {
    hit.target
}

/// A sum that systems of any library can add to.
pub(super) static SUM: AtomicU64 = AtomicU64::new(0);

/// Adds to the sum.
#[inline]
pub(super) fn add(number: u64) {
    SUM.fetch_add(number, Ordering::Relaxed);
}

/// Returns the sum, and sets it to zero.
pub(super) fn take_sum() -> u64 {
    SUM.swap(0, Ordering::Relaxed)
}

/// Returns the number of the parent of a node in a tree with [`BRANCHES`] children per node, or `None` for the root.
pub(super) fn parent_of(node: usize) -> Option<usize> {
    (node > 0).then(|| (node - 1) / BRANCHES)
}
