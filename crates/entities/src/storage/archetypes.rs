//! All archetypes of a world.

use std::ops::{Deref, Index, IndexMut};
use std::slice;
use std::sync::Arc;

use hashbrown::HashTable;

use super::StorageSettings;
use super::archetype::{Archetype, ArchetypeShape};
use super::chunk::{Chunk, NOWHERE};
use super::chunk_layout::DoesNotFit;
use super::chunk_lists::list_place;
use super::shared_groups::SharedGroups;
use super::shared_values::SharedValues;
use crate::component::ComponentType;

/// The archetypes of a world in order of creation. An archetype is never removed.
#[derive(Clone, Default)]
pub(crate) struct Archetypes {
    list: Vec<Archetype>,
    /// The groups of the archetypes with shared types.
    groups: Vec<SharedGroups>,
    by_types: HashTable<u32>,
    /// The number of changes to the archetypes and to their lists of chunks, by which cached lists are validated. Not zero once
    /// there is an archetype.
    changes: u64,
}

/// The numbers of an archetype's chunks, in iteration order.
///
/// **Invariant:** the list changes only through methods of [`Archetypes`], which count the change.
#[derive(Clone)]
pub(crate) struct ChunkList(Vec<u32>);

impl Deref for ChunkList {
    type Target = [u32];

    #[inline(always)]
    fn deref(&self) -> &[u32] {
        &self.0
    }
}

impl<'a> IntoIterator for &'a ChunkList {
    type Item = &'a u32;
    type IntoIter = slice::Iter<'a, u32>;

    #[inline(always)]
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl Archetypes {
    /// Finds the archetype with exactly these types, which are sorted and distinct.
    pub(crate) fn find(&self, types: &[ComponentType]) -> Option<u32> {
        let same = |&number: &u32| *self.list[number as usize].shape.types == *types;
        self.by_types.find(hash_of(types), same).copied()
    }

    /// Finds or creates the archetype with exactly these types, which are sorted and distinct.
    ///
    /// Creating the table of a shared type may run user code.
    pub(crate) fn find_or_create(
        &mut self,
        types: &[ComponentType],
        settings: &StorageSettings,
        values: &mut SharedValues,
    ) -> Result<u32, DoesNotFit> {
        if let Some(number) = self.find(types) {
            return Ok(number);
        }
        let hash = hash_of(types);
        let shape = Arc::new(ArchetypeShape::new(types, settings)?);
        let shared = types.iter().filter(|ty| ty.is_shared());
        let tables: Box<[u32]> = shared.map(|&ty| values.ensure(ty)).collect();
        let groups = if tables.is_empty() { NOWHERE } else { list_place(self.groups.len()) };
        if !tables.is_empty() {
            self.groups.push(SharedGroups::new(tables));
        }
        let number = u32::try_from(self.list.len()).expect("fewer archetypes than entities");
        self.list.push(Archetype {
            shape,
            chunks: ChunkList(Vec::new()),
            with_room: Vec::new(),
            groups,
            order_events: 0,
        });
        self.changes += 1;
        let list = &self.list;
        self.by_types
            .insert_unique(hash, number, |&number| hash_of(&list[number as usize].shape.types));
        Ok(number)
    }

    /// Returns the number of changes to the list of archetypes and to their lists of chunks.
    #[inline]
    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    /// Appends a chunk to the list of an archetype, and returns its position in the list.
    #[inline]
    pub(crate) fn list_chunk(&mut self, archetype: u32, chunk: u32) -> u32 {
        self.changes += 1;
        let ChunkList(list) = &mut self[archetype].chunks;
        list.push(chunk);
        list_place(list.len() - 1)
    }

    /// Removes the chunk at a position from the list of an archetype. Returns the chunk that is moved to the position, if any.
    #[inline]
    pub(crate) fn unlist_chunk(&mut self, archetype: u32, place: u32) -> Option<u32> {
        self.changes += 1;
        let ChunkList(list) = &mut self[archetype].chunks;
        list.swap_remove(place as usize);
        list.get(place as usize).copied()
    }

    /// Clears the list of chunks of an archetype, before all of them move to another archetype. Removing them one by one would
    /// each time move the last chunk of the list.
    pub(crate) fn unlist_chunks(&mut self, archetype: u32) {
        self.changes += 1;
        self[archetype].chunks.0.clear();
    }

    /// Clears the lists of chunks, and of chunks with room, of all archetypes.
    pub(crate) fn unlist_all(&mut self) {
        self.changes += 1;
        for archetype in self.list.iter_mut().filter(|archetype| !archetype.chunks.is_empty()) {
            archetype.chunks.0.clear();
            archetype.with_room.clear();
        }
    }

    pub(crate) fn get(&self, number: u32) -> Option<&Archetype> {
        self.list.get(number as usize)
    }

    /// Returns all archetypes, indexed by their numbers.
    #[inline]
    pub(crate) fn as_slice(&self) -> &[Archetype] {
        &self.list
    }

    /// Returns the groups of an archetype, or `None` if it has no shared types.
    pub(crate) fn groups(&self, archetype: u32) -> Option<&SharedGroups> {
        self.groups.get(self[archetype].groups as usize)
    }

    /// Returns the groups of an archetype mutably, or `None` if it has no shared types.
    pub(crate) fn groups_mut(&mut self, archetype: u32) -> Option<&mut SharedGroups> {
        let at = self[archetype].groups;
        self.groups.get_mut(at as usize)
    }

    /// Returns the chunks with room of a group, or of the archetype if it has no groups.
    pub(crate) fn rooms(&self, archetype: u32, group: u32) -> &[u32] {
        match self.groups(archetype) {
            Some(groups) => &groups.at(group).with_room,
            None => &self[archetype].with_room,
        }
    }

    /// Returns the chunks with room of a group, or of the archetype if it has no groups, mutably.
    pub(crate) fn rooms_mut(&mut self, archetype: u32, group: u32) -> &mut Vec<u32> {
        if self[archetype].groups == NOWHERE {
            return &mut self[archetype].with_room;
        }
        let at = self[archetype].groups;
        &mut self.groups[at as usize].at_mut(group).with_room
    }

    /// Calls a function for each list of chunks with room.
    pub(crate) fn for_each_room_list(&mut self, mut each: impl FnMut(&mut Vec<u32>)) {
        self.list.iter_mut().for_each(|archetype| each(&mut archetype.with_room));
        self.groups.iter_mut().for_each(|groups| groups.for_each_room_list(&mut each));
    }

    /// Iterates over the shared values of a chunk. Yields the table and the index of each.
    pub(crate) fn values_of(&self, chunk: &Chunk) -> impl Iterator<Item = (u32, u32)> {
        let group = chunk.group;
        self.groups(chunk.archetype).into_iter().flat_map(move |groups| {
            groups.tables.iter().copied().zip(groups.at(group).values.iter().copied())
        })
    }

    /// Returns the table and the index of the value that a chunk has of a shared type.
    pub(crate) fn shared_place(&self, chunk: &Chunk, ty: ComponentType) -> Option<(u32, u32)> {
        let column = chunk.find(ty)?.column;
        let at = chunk.shape().shared.binary_search(&column).ok()?;
        let groups = self.groups(chunk.archetype)?;
        Some((groups.tables[at], groups.at(chunk.group).values[at]))
    }

    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &Archetype)> {
        (0..).zip(&self.list)
    }
}

/// Combines the hashes of the types' stable names. They need no further mixing, because hashes of names are evenly distributed.
fn hash_of(types: &[ComponentType]) -> u64 {
    types.iter().fold(0, |hash: u64, ty| {
        (hash.rotate_left(5) ^ ty.stable_hash()).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    })
}

impl Index<u32> for Archetypes {
    type Output = Archetype;

    #[inline]
    fn index(&self, number: u32) -> &Archetype {
        &self.list[number as usize]
    }
}

impl IndexMut<u32> for Archetypes {
    #[inline]
    fn index_mut(&mut self, number: u32) -> &mut Archetype {
        &mut self.list[number as usize]
    }
}
