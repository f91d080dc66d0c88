//! One component of many entities, in any order.

#![expect(unsafe_code, reason = "references to values in chunks")]

use std::fmt;
use std::marker::PhantomData;
use std::ptr;

use super::EntityManager;
use crate::component::{Component, ComponentType};
use crate::entity::Entity;
use crate::storage::{Chunk, Location, SeenPages};

/// The values of one component, to be found by entity: what [`get`](EntityManager::get) does, for many of them.
///
/// It looks for the component's place in each chunk once, when it is made, and not for each entity.
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
    column: ColumnLookup<'w>,
    values: PhantomData<&'w T>,
}

/// The values of one type, to be found by entity.
pub(super) struct ColumnLookup<'w> {
    pages: SeenPages<'w>,
    /// Where the column begins in each chunk, or null.
    columns: Box<[*mut u8]>,
}

impl<'w, T: Component> ComponentLookup<'w, T> {
    /// The value of an entity, if the entity is there and has one.
    #[inline]
    pub fn get(&self, entity: Entity) -> Option<&'w T> {
        let value = self.column.find(entity, size_of::<T>())?;
        // SAFETY: there is a value of this type. Who could write to it would have to borrow the world mutably.
        Some(unsafe { &*value.cast::<T>() })
    }

    /// Whether an entity is there and has the component.
    #[inline]
    pub fn has(&self, entity: Entity) -> bool {
        self.column.find(entity, size_of::<T>()).is_some()
    }
}

impl<'w> ColumnLookup<'w> {
    pub(super) fn new(entities: &'w EntityManager, ty: ComponentType) -> Self {
        let storage = &entities.storage;
        let column = |chunk: Option<&Chunk>| {
            let chunk = chunk?;
            Some(chunk.column(chunk.find(ty)?.offset))
        };
        let columns = (0..storage.chunks.numbers() as u32)
            .map(|number| column(storage.chunks.get(number)).unwrap_or(ptr::null_mut()));
        Self { pages: storage.table.seen_pages(), columns: columns.collect() }
    }

    /// Where the value of an entity is, of a type of this size, if the entity is there and has one.
    #[inline]
    pub(super) fn find(&self, entity: Entity, size: usize) -> Option<*mut u8> {
        let Location { chunk, row } = self.pages.locate(entity)?;
        // SAFETY: the table names chunks that are there, and there is an address for each.
        let column = unsafe { *self.columns.get_unchecked(chunk as usize) };
        if column.is_null() {
            return None;
        }
        Some(column.wrapping_add(row as usize * size))
    }

    /// How many chunks have such a column.
    pub(super) fn chunks(&self) -> usize {
        self.columns.iter().filter(|column| !column.is_null()).count()
    }
}

impl<T> fmt::Debug for ComponentLookup<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ComponentLookup")
            .field("component", &std::any::type_name::<T>())
            .field("chunks", &self.column.chunks())
            .finish()
    }
}

impl EntityManager {
    /// The values of one component, to be found by entity.
    ///
    /// # Complexity
    ///
    /// Linear in the number of chunks, about a nanosecond each.
    pub fn lookup<T: Component>(&self) -> ComponentLookup<'_, T> {
        ComponentLookup {
            column: ColumnLookup::new(self, ComponentType::of::<T>()),
            values: PhantomData,
        }
    }
}
