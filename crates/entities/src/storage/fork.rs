//! A second storage with the same entities, which shares memory with the first until one of them writes to it.

#![expect(unsafe_code, reason = "what can be duplicated, which was checked")]

use super::Storage;
use super::arena::OutOfMemory;
use super::chunk_copy::ChunkCopy;
use crate::component::{ComponentType, Copying};

impl Storage {
    /// The first type with a value that cannot be duplicated.
    pub(crate) fn not_duplicable(&self) -> Option<ComponentType> {
        let all = self.archetypes.iter();
        self.not_duplicable_in(
            all.filter(|(_, archetype)| !archetype.chunks.is_empty()).map(|(number, _)| number),
        )
    }

    /// The first type of these archetypes whose values cannot be duplicated.
    pub(crate) fn not_duplicable_in(
        &self,
        archetypes: impl Iterator<Item = u32>,
    ) -> Option<ComponentType> {
        let types =
            archetypes.flat_map(|number| self.archetypes[number].shape.types.iter().copied());
        types.into_iter().find(|ty| {
            let value = ty.0.per_chunk.map_or(*ty, |value| value.of);
            matches!(value.0.copying, Copying::NotAtAll)
        })
    }

    /// A fork. Before that, it was checked that everything can be duplicated.
    pub(crate) fn fork(&mut self) -> Result<Self, OutOfMemory> {
        debug_assert_eq!(self.not_duplicable(), None);
        // Only this runs code of the user, and it comes before everything else: if it panics, there is no fork, and nothing
        // has changed.
        let copies = self.copies_for_fork()?;
        Ok(Self {
            settings: self.settings.clone(),
            table: self.table.fork(),
            archetypes: self.archetypes.clone(),
            chunks: self.chunks.fork(copies),
            shared: self.shared.fork(),
            version: self.version,
            room_changes: self.room_changes,
            noted_groups: Vec::new(),
        })
    }

    /// Copies of what cannot be shared of chunks, by rising number.
    fn copies_for_fork(&self) -> Result<Vec<ChunkCopy>, OutOfMemory> {
        let mut copies = Vec::new();
        for (_, owner) in self.archetypes.iter() {
            let shape = &owner.shape;
            if shape.is_shared && shape.values.is_none() {
                continue;
            }
            for &number in &owner.chunks {
                let chunk = &self.chunks[number];
                // SAFETY: it is a chunk of the archetype. Before a fork it was checked that everything can be duplicated.
                copies.push(unsafe { ChunkCopy::new(number, chunk, shape, &self.settings)? });
            }
        }
        copies.sort_unstable_by_key(|copy| copy.number);
        Ok(copies)
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
