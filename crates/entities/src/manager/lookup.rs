//! One component of many entities, in any order.

#![expect(unsafe_code, reason = "references to values in chunks")]

use std::fmt;
use std::iter::FusedIterator;
use std::marker::PhantomData;
use std::ptr;

use super::EntityManager;
use crate::component::{Component, ComponentType};
use crate::entity::Entity;
use crate::storage::{Chunk, Chunks, Location, PageView, prefetch};
use crate::version::Version;

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
/// let orcs: Vec<_> = world.spawn_many(Health(20), 100).collect();
/// let health = world.lookup::<Health>();
/// let sum: u32 = orcs.iter().rev().filter_map(|&orc| health.get(orc)).map(|health| health.0).sum();
/// assert_eq!(sum, 2000);
/// ```
pub struct ComponentLookup<'w, T> {
    column: ColumnLookup<'w>,
    values: PhantomData<&'w T>,
}

/// The values of one type, to be found by entity.
pub(super) struct ColumnLookup<'w> {
    ty: ComponentType,
    chunks: &'w Chunks,
    pages: PageView<'w>,
    /// Where the column begins in each chunk, or null.
    columns: Box<[*mut u8]>,
}

impl<'w, T: Component> ComponentLookup<'w, T> {
    /// The value of an entity, if the entity is there and has one. Of a tag it is the tag: there is nothing in it, and nothing
    /// wrong with asking.
    #[inline]
    pub fn get(&self, entity: Entity) -> Option<&'w T> {
        let value = self.column.find(entity, size_of::<T>())?;
        // SAFETY: there is a value of this type. Who could write to it would have to borrow the world mutably.
        Some(unsafe { &*value.cast::<T>() })
    }

    /// The values of entities, one after the other, each if the entity is there and has one.
    ///
    /// Where the entities are in no order, this takes a fraction of the time of [`get`](Self::get) for each: while one is
    /// worked with, the memory of the next ones is on its way.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Entity, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Position(f32);
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Target(Entity);
    ///
    /// let mut world = World::new("Simulation");
    /// let towers: Vec<_> = world.spawn_batch((0..100).map(|x| Position(x as f32))).collect();
    /// let targets: Vec<_> = (0..1000).map(|archer| towers[archer * 7 % 100]).collect();
    /// let positions = world.lookup::<Position>();
    /// let sum: f32 = positions.get_many(&targets).flatten().map(|position| position.0).sum();
    /// assert_eq!(sum, 49_500.0);
    /// ```
    #[inline]
    pub fn get_many<'l>(&'l self, entities: &'l [Entity]) -> GetMany<'l, 'w, T> {
        GetMany::new(&self.column, entities)
    }

    /// Whether an entity is there and has the component.
    #[inline]
    pub fn has(&self, entity: Entity) -> bool {
        self.column.find(entity, size_of::<T>()).is_some()
    }

    /// Whether the component was written in the entity's chunk since; not if the entity is gone or does not have it.
    ///
    /// Neighbours of what was written count as written, too, unless the component [tracks changes](Component::TRACK_CHANGES): then
    /// it is known of the entity itself.
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
    /// let orc = world.spawn(Health(20));
    /// let seen = world.version();
    /// assert!(!world.lookup::<Health>().did_change(orc, seen));
    /// world.advance_version();
    /// world.get_mut::<Health>(orc).unwrap().0 -= 1;
    /// assert!(world.lookup::<Health>().did_change(orc, seen));
    /// ```
    pub fn did_change(&self, entity: Entity, since: Version) -> bool {
        self.column.change_version(entity).is_some_and(|version| version.is_newer_than(since))
    }
}

/// The values of many entities: what [`ComponentLookup::get_many`] returns.
pub struct GetMany<'l, 'w, T> {
    column: &'l ColumnLookup<'w>,
    entities: &'l [Entity],
    /// Which is next.
    next: usize,
    /// Where the values of the next ones are, or null, each at its number modulo the length.
    found: [*const T; AHEAD],
    values: PhantomData<&'w T>,
}

/// How many values are looked for before the first is used, and for how many more the slots are.
const AHEAD: usize = 8;

impl<'l, 'w, T: Component> GetMany<'l, 'w, T> {
    #[inline]
    fn new(column: &'l ColumnLookup<'w>, entities: &'l [Entity]) -> Self {
        let found = [ptr::null(); AHEAD];
        let mut this = Self { column, entities, next: 0, found, values: PhantomData };
        (0..2 * AHEAD).for_each(|at| this.fetch_slot(at));
        (0..AHEAD).for_each(|at| this.find(at));
        this
    }

    #[inline(always)]
    fn fetch_slot(&self, at: usize) {
        if let Some(&entity) = self.entities.get(at) {
            self.column.pages.prefetch(entity);
        }
    }

    #[inline(always)]
    fn find(&mut self, at: usize) {
        if let Some(&entity) = self.entities.get(at) {
            let value = self.column.find(entity, size_of::<T>()).unwrap_or(ptr::null_mut());
            prefetch(value);
            self.found[at % AHEAD] = value.cast();
        }
    }
}

impl<'w, T: Component> Iterator for GetMany<'_, 'w, T> {
    type Item = Option<&'w T>;

    #[inline]
    fn next(&mut self) -> Option<Option<&'w T>> {
        let at = self.next;
        if at >= self.entities.len() {
            return None;
        }
        self.next = at + 1;
        let value = self.found[at % AHEAD];
        self.fetch_slot(at + 2 * AHEAD);
        self.find(at + AHEAD);
        // SAFETY: it is null, or leads to a value of this type. Who could write to it would have to borrow the world mutably.
        Some(unsafe { value.as_ref() })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.entities.len() - self.next;
        (left, Some(left))
    }
}

impl<T: Component> ExactSizeIterator for GetMany<'_, '_, T> {}

impl<T: Component> FusedIterator for GetMany<'_, '_, T> {}

impl<T> fmt::Debug for GetMany<'_, '_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GetMany")
            .field("component", &std::any::type_name::<T>())
            .field("left", &(self.entities.len() - self.next))
            .finish()
    }
}

impl<'w> ColumnLookup<'w> {
    pub(super) fn new(entities: &'w EntityManager, ty: ComponentType) -> Self {
        entities.jobs.sync_for_read(ty);
        let storage = &entities.storage;
        let column = |chunk: Option<&Chunk>| {
            let chunk = chunk?;
            Some(chunk.column(chunk.find(ty)?.offset))
        };
        let columns = (0..storage.chunks.numbers() as u32)
            .map(|number| column(storage.chunks.get(number)).unwrap_or(ptr::null_mut()));
        let (pages, columns) = (storage.table.page_view(), columns.collect());
        Self { ty, chunks: &storage.chunks, pages, columns }
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

    /// When the value of an entity was last written, if the entity is there and has one; unless that is tracked, when one of its
    /// chunk was.
    pub(super) fn change_version(&self, entity: Entity) -> Option<Version> {
        let Location { chunk, row } = self.pages.locate(entity)?;
        let chunk = &self.chunks[chunk];
        let column = chunk.find(self.ty)?.column;
        // SAFETY: the chunk has the column and the row. Jobs that write it were waited for, and others would have to borrow the
        // world mutably.
        Some(unsafe { chunk.row_version(column, row) })
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
