//! A storage takes the place of another, and goes on counting where that was.

use std::sync::Arc;

use ancho_collections::FixedState;
use hashbrown::HashMap;

use super::Storage;
use super::chunk::Chunk;
use crate::component::{ComponentType, SharedValue};

impl Storage {
    /// Lets what is noted of this storage, which is a fork of any, go on after another that it takes the place of: what is as it was
    /// there was changed when it was changed there, and all else was changed now.
    ///
    /// The other is no good any more then, but to be dropped.
    pub(crate) fn continue_after(&mut self, before: &mut Self) {
        self.version = before.version;
        self.room_changes = self.room_changes.max(before.room_changes) + 1;
        let numbers: Vec<u32> = self.chunks.iter().map(|(number, _)| number).collect();
        // How often rows came or went in what is not there any more, for each archetype: as often as they did before, and once more
        // in each chunk that is not found again.
        let mut events: Vec<u32> = self
            .archetypes
            .iter()
            .map(|(_, archetype)| before.order_events_of(&archetype.shape.types))
            .collect();
        // The same for each shared value.
        let mut counted: HashMap<(u32, u32), u32, FixedState> = HashMap::default();
        for (_, chunk) in before.chunks.iter() {
            let more = chunk.order_events.wrapping_add(1);
            for place in before.archetypes.values_of(chunk) {
                let events = counted.entry(place).or_insert(0);
                *events = events.wrapping_add(more);
            }
        }
        let chunks = |table, index| counted.get(&(table, index)).copied().unwrap_or(0);
        self.shared.continue_after(&before.shared, chunks);
        for number in numbers {
            let is_same =
                before.chunks.get(number).is_some_and(|old| self.is_same(number, old, before));
            let chunk = &mut self.chunks[number];
            let events = &mut events[chunk.archetype as usize];
            if is_same {
                let old = &mut before.chunks[number];
                std::mem::swap(&mut chunk.state, &mut old.state);
                chunk.order_version = old.order_version;
                chunk.order_events = old.order_events;
                *events = events.wrapping_sub(old.order_events).wrapping_sub(1);
                let more = old.order_events.wrapping_add(1);
                for (table, index) in self.archetypes.values_of(&self.chunks[number]) {
                    self.shared.uncount(table, index, more);
                }
            } else {
                // Whether they differed before is the matter of the storage that this is a fork of.
                _ = chunk.note_all_written(self.version);
                chunk.order_events = 0;
                chunk.note_order(self.version);
            }
            self.chunks.note_uniform(number);
        }
        for (number, events) in (0..).zip(events) {
            self.archetypes[number].order_events = events;
        }
    }

    /// How often rows of the archetype with these types came or went, if they all go now.
    fn order_events_of(&self, types: &[ComponentType]) -> u32 {
        let Some(archetype) = self.archetypes.find(types) else { return 0 };
        let archetype = &self.archetypes[archetype];
        let chunks = archetype.chunks.iter().map(|&number| self.chunks[number].order_events);
        chunks.fold(archetype.order_events, |sum, events| sum.wrapping_add(events).wrapping_add(1))
    }

    /// Whether a chunk is as another of the same number, in a storage before this, was: memory that two have is written by neither.
    fn is_same(&self, number: u32, old: &Chunk, before: &Self) -> bool {
        let chunk = &self.chunks[number];
        let shape = chunk.shape();
        let has_same_masks = || {
            (0..shape.enableable.len() as u32)
                .all(|mask| chunk.enabled.words(mask) == old.enabled.words(mask))
        };
        chunk.memory_address() == old.memory_address()
            && chunk.len == old.len
            && shape.values.is_none()
            && shape.types == old.shape().types
            && has_same_masks()
            && self.values(chunk).eq(before.values(old))
    }

    /// Which shared values a chunk has, by their addresses.
    fn values(&self, chunk: &Chunk) -> impl Iterator<Item = *const ()> {
        let address = |value: &SharedValue| Arc::as_ptr(value).cast::<()>();
        let places = self.archetypes.values_of(chunk);
        places.map(move |(table, index)| address(self.shared.value(table, index)))
    }
}
