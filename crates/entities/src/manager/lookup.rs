//! One component of many entities, in any order.

#![expect(unsafe_code, reason = "references to values in chunks")]

use std::fmt;
use std::marker::PhantomData;

use super::EntityManager;
use crate::component::{Component, ComponentType};
use crate::entity::Entity;
use crate::storage::{Chunks, EntityTable, Location};

/// The values of one component, to be found by entity: what [`get`](EntityManager::get) does, for many of them.
///
/// It looks for the component's place in each archetype once, when it is made, and not for each entity.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, World};
///
/// #[derive(Component, Clone, Copy)]
/// struct Health(u32);
///
/// let mut world = World::new("Simulation");
/// let orcs: Vec<_> = world.spawn_many(100, Health(20)).collect();
/// let health = world.entities().lookup::<Health>();
/// let sum: u32 = orcs.iter().rev().filter_map(|&orc| health.get(orc)).map(|health| health.0).sum();
/// assert_eq!(sum, 2000);
/// ```
pub struct ComponentLookup<'w, T> {
    table: &'w EntityTable,
    chunks: &'w Chunks,
    /// Where the column begins in the chunks of each archetype, or [`NOT_THERE`].
    offsets: Box<[u32]>,
    values: PhantomData<&'w T>,
}

/// Chunks are not that large.
const NOT_THERE: u32 = u32::MAX;

impl<'w, T: Component> ComponentLookup<'w, T> {
    /// The value of an entity, if the entity is there and has one.
    #[inline]
    pub fn get(&self, entity: Entity) -> Option<&'w T> {
        let Location { chunk, row } = self.table.locate(entity)?;
        // SAFETY: the table names chunks that are there.
        let chunk = unsafe { self.chunks.address(chunk) };
        let offset = self.offsets[chunk.archetype as usize];
        if offset == NOT_THERE {
            return None;
        }
        // SAFETY: there is a column of this type with this row. Who could write to it would have to borrow the world
        // mutably.
        Some(unsafe { &*chunk.column(offset).cast::<T>().add(row as usize) })
    }

    /// Whether an entity is there and has the component.
    #[inline]
    pub fn has(&self, entity: Entity) -> bool {
        self.get(entity).is_some()
    }
}

impl<T> fmt::Debug for ComponentLookup<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let with = self.offsets.iter().filter(|&&offset| offset != NOT_THERE).count();
        f.debug_struct("ComponentLookup")
            .field("component", &std::any::type_name::<T>())
            .field("archetypes", &with)
            .finish()
    }
}

impl EntityManager {
    /// The values of one component, to be found by entity.
    ///
    /// # Complexity
    ///
    /// Linear in the number of archetypes.
    pub fn lookup<T: Component>(&self) -> ComponentLookup<'_, T> {
        let ty = ComponentType::of::<T>();
        let offset = |index: &crate::storage::ColumnIndex| index.find(ty).map(|found| found.offset);
        ComponentLookup {
            table: &self.storage.table,
            chunks: &self.storage.chunks,
            offsets: self
                .storage
                .archetypes
                .iter()
                .map(|(_, archetype)| offset(&archetype.shape.index).unwrap_or(NOT_THERE))
                .collect(),
            values: PhantomData,
        }
    }
}
