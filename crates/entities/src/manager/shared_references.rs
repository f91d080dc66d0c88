//! Shared values refer to other entities.

use ancho_collections::FixedState;
use hashbrown::HashMap;

use super::EntityManager;
use crate::component::ComponentType;
use crate::error::EntityError;
use crate::field::EntityRemap;
use crate::storage::{RowRange, SetOperation, SharedLookup, SharedLookups};

/// Other values for some, by the places of those. They are there until this goes, also while no chunk has them.
struct Others<'m> {
    manager: &'m mut EntityManager,
    /// By table and index: the table, and the index of the other.
    places: HashMap<(u32, u32), (u32, u32), FixedState>,
}

impl Drop for Others<'_> {
    fn drop(&mut self) {
        let shared = &mut self.manager.storage.shared;
        // In an order of their own, since it decides which places are used again.
        let mut held: Vec<_> = self.places.values().copied().collect();
        held.sort_unstable();
        held.into_iter().for_each(|(table, index)| shared.let_go(table, index, 0));
        drop(shared.take_unused());
    }
}

impl EntityManager {
    /// Replaces the entities that shared values refer to: chunks whose value is another then have that, and nothing in them moves. All
    /// values are asked before the first is replaced.
    pub(super) fn remap_shared(&mut self, map: &mut EntityRemap<'_>) -> Result<(), EntityError> {
        let shared = &self.storage.shared;
        let mut sought = SharedLookups::default();
        let mut old = Vec::new();
        for (table, index) in shared.referring() {
            if let Some(other) = shared.remapped(table, index, map) {
                sought.look_up(shared, table, &other);
                old.push((table, index));
            }
        }
        if old.is_empty() {
            return Ok(());
        }
        let new = sought.hold(&mut self.storage.shared);
        let mut others = Others { manager: self, places: old.into_iter().zip(new).collect() };
        let chunks: Vec<_> =
            others.manager.storage.chunks.iter().map(|(number, _)| number).collect();
        chunks.into_iter().try_for_each(|number| others.give_to(number))
    }
}

impl Others<'_> {
    /// Gives a chunk the others of the values that it has.
    fn give_to(&mut self, number: u32) -> Result<(), EntityError> {
        let Self { manager, places } = self;
        let chunk = &manager.storage.chunks[number];
        let (shape, archetype, rows) = (chunk.shape(), chunk.archetype, chunk.len);
        let values = manager.storage.archetypes.values_of(chunk);
        let (types, given): (Vec<ComponentType>, Vec<SharedLookup>) = shape
            .shared
            .iter()
            .zip(values)
            .filter_map(|(&column, at)| {
                // Values may be equal that refer to different entities.
                let &(_, index) = places.get(&at).filter(|&&other| other != at)?;
                Some((shape.types[column as usize], SharedLookup::Found(index)))
            })
            .unzip();
        if types.is_empty() {
            return Ok(());
        }
        let set = manager
            .sets
            .number_of_types(&types)
            .map_err(|component| EntityError::DuplicateComponent { component })?;
        let transfer = manager.transfer(archetype, set, SetOperation::Set)?;
        let transfer = &manager.transfers[transfer];
        let wanted = manager.storage.group_key(&transfer.shared, Some(number), &given);
        let all = RowRange { chunk: number, first: 0, rows };
        manager.storage.set_group_of_rows(&mut manager.runs, all, transfer, wanted)?;
        Ok(())
    }
}
