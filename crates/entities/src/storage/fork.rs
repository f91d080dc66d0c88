//! A second storage with the same entities, which shares memory with the first until one of them writes to it.

use super::Storage;
use super::arena::OutOfMemory;
use crate::component::{ComponentType, Copying};

impl Storage {
    /// The first type with a value that cannot be duplicated.
    pub(crate) fn not_duplicable(&self) -> Option<ComponentType> {
        self.archetypes
            .iter()
            .filter(|(_, archetype)| !archetype.chunks.is_empty())
            .flat_map(|(_, archetype)| archetype.shape.types.iter().copied())
            .find(|ty| matches!(ty.0.copying, Copying::NotAtAll))
    }

    /// A fork. Before that, it was checked that everything can be duplicated.
    pub(crate) fn fork(&mut self) -> Self {
        debug_assert_eq!(self.not_duplicable(), None);
        Self {
            settings: self.settings.clone(),
            table: self.table.fork(),
            archetypes: self.archetypes.clone(),
            chunks: self.chunks.fork(),
            version: self.version,
            room_changes: self.room_changes,
        }
    }

    /// Copies what is still shared with forks.
    pub(crate) fn make_all_unique(&mut self) -> Result<(), OutOfMemory> {
        let numbers: Vec<u32> = self.chunks.iter().map(|(number, _)| number).collect();
        for number in numbers {
            self.make_unique(number)?;
        }
        self.table.unshare();
        Ok(())
    }
}
