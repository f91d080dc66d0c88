//! The entities that were just created.

use std::fmt;
use std::iter::FusedIterator;

use crate::entity::Entity;
use crate::storage::{RowRange, Storage};

/// The entities that were just created, in the order of what they were created from.
///
/// They are there already: nothing has to be done with this.
///
/// # Examples
///
/// ```
/// use ancho_entities::World;
///
/// let mut world = World::new("Simulation");
/// let all: Vec<_> = world.spawn_many((), 3).collect();
/// assert_eq!(all.len(), 3);
/// world.spawn_many((), 1000);
/// assert_eq!(world.entity_count(), 1003);
/// ```
#[derive(Clone)]
pub struct NewEntities<'w> {
    storage: &'w Storage,
    runs: &'w [RowRange],
    current: &'w [Entity],
    left: usize,
}

impl<'w> NewEntities<'w> {
    pub(super) fn new(storage: &'w Storage, runs: &'w [RowRange]) -> Self {
        let left = runs.iter().map(|run| run.rows as usize).sum();
        Self { storage, runs, current: &[], left }
    }
}

impl Iterator for NewEntities<'_> {
    type Item = Entity;

    #[inline]
    fn next(&mut self) -> Option<Entity> {
        while self.current.is_empty() {
            let (run, rest) = self.runs.split_first()?;
            self.runs = rest;
            let first = run.first as usize;
            self.current =
                &self.storage.chunks[run.chunk].entities()[first..first + run.rows as usize];
        }
        let (&entity, rest) = self.current.split_first()?;
        self.current = rest;
        self.left -= 1;
        Some(entity)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for NewEntities<'_> {}

impl FusedIterator for NewEntities<'_> {}

impl fmt::Debug for NewEntities<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}
