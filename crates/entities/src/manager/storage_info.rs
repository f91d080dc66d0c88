//! Where entities are.

use std::fmt;

use super::chunks::ArchetypeChunk;
use super::{EntityManager, Jobs};
use crate::entity::Entity;
use crate::storage::PageView;

/// Which entities there are, and where: for many of them. Unity's `EntityStorageInfoLookup`.
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
/// let places = world.storage_info();
/// let place = places.get(orcs[7]).unwrap();
/// assert_eq!(place.row(), 7);
/// assert_eq!(place.chunk().entities()[7], orcs[7]);
/// ```
pub struct StorageInfoLookup<'w> {
    pages: PageView<'w>,
    entities: &'w EntityManager,
}

/// Where an entity is: what [`StorageInfoLookup::get`] returns. Unity's `EntityStorageInfo`.
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
/// let (orc, other) = (world.spawn(Health(20)), world.spawn(Health(10)));
/// let info = |entity| world.storage_info().get(entity).unwrap();
/// assert_eq!(info(orc).chunk_number(), info(other).chunk_number());
/// assert_eq!((info(orc).row(), info(other).row()), (0, 1));
/// ```
#[derive(Clone, Copy)]
pub struct StorageInfo<'w> {
    chunk: ArchetypeChunk<'w>,
    jobs: &'w Jobs,
    number: u32,
    row: u32,
}

impl<'w> StorageInfoLookup<'w> {
    /// Whether an entity is there.
    #[inline]
    pub fn exists(&self, entity: Entity) -> bool {
        self.pages.locate(entity).is_some()
    }

    /// Where an entity is, if it is there.
    pub fn get(&self, entity: Entity) -> Option<StorageInfo<'w>> {
        let at = self.pages.locate(entity)?;
        let chunk = self.entities.chunk(at.chunk);
        Some(StorageInfo { chunk, jobs: &self.entities.jobs, number: at.chunk, row: at.row })
    }
}

impl<'w> StorageInfo<'w> {
    /// The chunk of the entity.
    pub fn chunk(&self) -> ArchetypeChunk<'w> {
        self.jobs.sync_all();
        self.chunk
    }

    /// The number of the chunk: no other that is there has it, and a chunk keeps it as long as it has entities. Numbers are small,
    /// and are used again; [`ArchetypeChunk::sequence_number`] is not.
    pub fn chunk_number(&self) -> u32 {
        self.number
    }

    /// Where the entity is in its chunk, and in the slices of it.
    pub fn row(&self) -> usize {
        self.row as usize
    }
}

impl fmt::Debug for StorageInfoLookup<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.entities.entity_count();
        f.debug_struct("StorageInfoLookup").field("entities", &count).finish()
    }
}

impl fmt::Debug for StorageInfo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StorageInfo")
            .field("chunk_number", &self.number)
            .field("row", &self.row)
            .finish_non_exhaustive()
    }
}

impl EntityManager {
    /// Which entities there are, and where.
    ///
    /// # Complexity
    ///
    /// Linear in the number of pages of the table of entities, about a nanosecond each.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::World;
    ///
    /// let mut world = World::new("Simulation");
    /// let (stone, dust) = (world.spawn(()), world.spawn(()));
    /// world.despawn(dust).unwrap();
    /// let places = world.storage_info();
    /// assert!(places.exists(stone) && !places.exists(dust));
    /// ```
    pub fn storage_info(&self) -> StorageInfoLookup<'_> {
        StorageInfoLookup { pages: self.storage.table.page_view(), entities: self }
    }
}
