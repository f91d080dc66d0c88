//! Entities that come from another world: they are moved, or copied.
//!
//! Whatever comes, comes in three steps, so that it comes as a whole, or not at all:
//!
//! 1. [`plan`]: where the rows of each chunk of the other world go is decided, and room is made for those whose chunk does not come
//!    with them. Shared values are looked for, which is code of the user, and memory can be missing. Those that refer to entities are
//!    replaced before, so that it has to be foreseen which ids there will be.
//! 2. Values are cloned, if they are copied: that too is code of the user, and can panic. Those that are moved stay where they are.
//! 3. [`apply`]: chunks and rows go where they belong, and their entities get ids. Nothing is refused any more.
//!
//! When all that is done, references among what has come are replaced, and what is left over is dropped.

mod apply;
mod copy_entities;
mod move_entities;
mod plan;
mod replace;

use std::any::Any;

use crate::entity_map::EntityMap;
use crate::field::EntityRemap;
use crate::storage::{Arrival, Storage};

/// Entities that have come.
#[derive(Default)]
struct Arrived {
    /// Which they were, and which they are.
    map: EntityMap,
    /// Those of them that may refer to entities.
    referring: Vec<Arrival>,
}

impl Arrived {
    /// Replaces references among what has come, and takes away all others. Returns what the first value panics with that does:
    /// the others are replaced all the same.
    fn replace_references(&self, storage: &mut Storage) -> Option<Box<dyn Any + Send>> {
        let mut panicked = None;
        for &arrival in &self.referring {
            let mut replacement = self.map.replacement();
            let mut remap = EntityRemap::new(&mut replacement);
            let result = storage.remap_arrival(arrival, &mut remap);
            panicked = panicked.or(result);
        }
        panicked
    }
}

#[cfg(test)]
mod tests;
