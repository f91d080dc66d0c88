//! Memory of changes that are done, for those to come.

use std::cell::Cell;

use super::Found;
use super::plan::Lists;
use crate::manager::EntityManager;

/// What changes of all that was found have lists for. Between two of them, nothing is in these.
///
/// Who changes something takes what is needed, and puts it back when all is done. If code of the user panics meanwhile, it is
/// dropped, with what is in it.
#[derive(Default)]
pub(in crate::manager) struct Memory {
    found: Cell<Vec<Found>>,
    pub(super) lists: Lists,
}

/// How many lists of rows are kept. More are never used at a time.
const KEPT: usize = 4;

impl EntityManager {
    /// A list without rows, with the memory of one that was [kept](Self::keep_found).
    pub(crate) fn take_found(&self) -> Found {
        let mut kept = self.memory.found.take();
        let found = kept.pop().unwrap_or_default();
        self.memory.found.set(kept);
        found
    }

    /// Takes the memory of a list that is not needed any more.
    pub(crate) fn keep_found(&self, mut found: Found) {
        let mut kept = self.memory.found.take();
        if kept.len() < KEPT {
            found.clear();
            kept.push(found);
        }
        self.memory.found.set(kept);
    }
}
