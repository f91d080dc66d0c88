//! Groups: the chunks of an archetype, divided by the values of its shared components.

use std::any::Any;
use std::hash::BuildHasher;

use ancho_collections::FixedState;
use hashbrown::HashTable;

use super::Storage;
use super::arena::OutOfMemory;
use super::chunk::{Chunk, NOWHERE};
use super::chunk_lists::list_place;
use super::inline_vec::{InlineIndices, InlineVec};
use super::shared_values::{SharedLookup, make_roomy};
use super::transfer::{SharedSource, Transfer};
use crate::component::{ComponentType, SharedValue};

/// The groups of an archetype with shared components: one for each combination of shared values.
#[derive(Clone)]
pub(crate) struct SharedGroups {
    /// The numbers of the tables of shared values, in the order of the shared columns.
    pub(crate) tables: Box<[u32]>,
    list: Vec<SharedGroup>,
    /// The free group numbers. The last one is used next.
    free: Vec<u32>,
    by_values: HashTable<u32>,
}

/// A group: the chunks with one combination of shared values.
#[derive(Clone, Default)]
pub(crate) struct SharedGroup {
    /// The indices of the shared values, in the order of the columns. Empty if the group's number is free, so that the memory is
    /// reused.
    pub(crate) values: Vec<u32>,
    /// The chunks with room. New entities go to the last one.
    pub(crate) with_room: Vec<u32>,
    /// The number of chunks in the group. The group is removed with its last chunk.
    pub(crate) chunks: u32,
}

/// The number of shared components up to which moving an entity does not allocate. Entities rarely have more.
pub(crate) const INLINE_SHARED: usize = 4;

/// A combination of shared values, some of which may not be in their tables yet.
pub(crate) struct GroupKey(InlineVec<SharedLookup, INLINE_SHARED>);

impl GroupKey {
    /// Creates the key of values that are in their tables, given their indices.
    pub(super) fn found(values: &[u32]) -> Self {
        Self(values.iter().map(|&index| SharedLookup::Found(index)).collect())
    }
}

impl SharedGroups {
    pub(crate) fn new(tables: Box<[u32]>) -> Self {
        Self { tables, list: Vec::new(), free: Vec::new(), by_values: HashTable::new() }
    }

    #[inline]
    pub(crate) fn at(&self, number: u32) -> &SharedGroup {
        &self.list[number as usize]
    }

    pub(crate) fn at_mut(&mut self, number: u32) -> &mut SharedGroup {
        &mut self.list[number as usize]
    }

    /// Iterates over all groups with their numbers.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &SharedGroup)> {
        (0..).zip(&self.list).filter(|(_, group)| !group.values.is_empty())
    }

    /// Finds the group with these values.
    pub(crate) fn find(&self, values: &[u32]) -> Option<u32> {
        let same = |&number: &u32| *self.list[number as usize].values == *values;
        self.by_values.find(hash_of(values), same).copied()
    }

    /// Finds the group with these values, or creates it without chunks.
    /// Calls a function for each list of chunks with room.
    pub(super) fn for_each_room_list(&mut self, each: &mut impl FnMut(&mut Vec<u32>)) {
        self.list.iter_mut().for_each(|group| each(&mut group.with_room));
    }

    fn find_or_create(&mut self, values: &[u32]) -> u32 {
        if let Some(number) = self.find(values) {
            return number;
        }
        let number = self.free.pop().unwrap_or_else(|| {
            self.list.push(SharedGroup::default());
            let list = &self.list;
            make_roomy(&mut self.by_values, list.len(), |&at| hash_of(&list[at as usize].values));
            list_place(list.len() - 1)
        });
        self.list[number as usize].values.extend_from_slice(values);
        let list = &self.list;
        self.by_values
            .insert_unique(hash_of(values), number, |&at| hash_of(&list[at as usize].values));
        number
    }

    /// Removes a group if it has no chunks, and returns its values.
    fn remove_empty(&mut self, number: u32) -> Option<InlineIndices> {
        let group = &mut self.list[number as usize];
        if group.chunks > 0 || group.values.is_empty() {
            return None;
        }
        group.with_room.clear();
        let values: InlineIndices = group.values.drain(..).collect();
        if let Ok(entry) = self.by_values.find_entry(hash_of(&values), |&at| at == number) {
            entry.remove();
        }
        self.free.push(number);
        Some(values)
    }
}

fn hash_of(values: &[u32]) -> u64 {
    FixedState::default().hash_one(values)
}

impl Storage {
    /// Returns the value that the entities of a chunk have of a shared type.
    pub(crate) fn shared_value(&self, chunk: &Chunk, ty: ComponentType) -> Option<&SharedValue> {
        let (table, index) = self.archetypes.shared_place(chunk, ty)?;
        Some(self.shared.value(table, index))
    }

    /// Looks up the shared values of a set in the tables of their types, which exist. Runs user code.
    pub(crate) fn look_up_shared(
        &self,
        types: &[ComponentType],
        given: &InlineVec<SharedValue, INLINE_SHARED>,
    ) -> InlineVec<SharedLookup, INLINE_SHARED> {
        let shared = types.iter().filter(|ty| ty.is_shared());
        let tables = shared.map(|&ty| self.shared.table(ty).expect("the archetype was looked for"));
        tables.zip(given.iter()).map(|(table, value)| self.shared.look_up(table, value)).collect()
    }

    /// Returns the key of the group whose values come from these sources: [kept](SharedSource::Kept) values from chunk `from`,
    /// and [given](SharedSource::Given) values from the function `given`.
    pub(crate) fn group_key<'g>(
        &self,
        sources: &[SharedSource],
        from: Option<u32>,
        given: impl Fn(usize) -> Option<&'g SharedLookup>,
    ) -> GroupKey {
        let kept = from.map_or(&[][..], |from| {
            let chunk = &self.chunks[from];
            let groups = self.archetypes.groups(chunk.archetype);
            groups.map_or(&[][..], |groups| &groups.at(chunk.group).values)
        });
        let value = |source: &SharedSource| match *source {
            SharedSource::Kept(at) => SharedLookup::Found(kept[at as usize]),
            SharedSource::Given(at) => given(at as usize).expect("all are given").clone(),
            // The caller has checked that the type has a default value.
            SharedSource::Default => SharedLookup::Found(0),
        };
        GroupKey(sources.iter().map(value).collect())
    }

    /// Returns whether a chunk belongs to an archetype and to its group with this key.
    pub(crate) fn has_group_key(&self, chunk: u32, archetype: u32, key: &GroupKey) -> bool {
        let chunk = &self.chunks[chunk];
        let Some(groups) = self.archetypes.groups(archetype) else { return false };
        chunk.archetype == archetype
            && groups
                .at(chunk.group)
                .values
                .iter()
                .zip(key.0.iter())
                .all(|(&has, lookup)| matches!(*lookup, SharedLookup::Found(index) if index == has))
    }

    /// Finds or creates the group of an archetype with this key. If the group has no chunks, the caller creates one immediately,
    /// or [removes](Self::forget_group) the group.
    pub(crate) fn group_of(&mut self, archetype: u32, GroupKey(key): GroupKey) -> u32 {
        let Some(groups) = self.archetypes.groups_mut(archetype) else { return NOWHERE };
        let mut values = InlineIndices::default();
        for (&table, lookup) in groups.tables.iter().zip(key) {
            values.push(self.shared.resolve(table, lookup));
        }
        groups.find_or_create(&values)
    }

    /// Returns the group that rows of chunk `from` move to with a transfer that has no given shared values. Creates it if
    /// necessary.
    pub(crate) fn group_by(&mut self, transfer: &Transfer, from: u32) -> u32 {
        if transfer.shared.is_empty() {
            return NOWHERE;
        }
        let key = self.group_key(&transfer.shared, Some(from), |_| None);
        self.group_of(transfer.to, key)
    }

    /// Returns the group of an archetype with the default values of all shared types. Creates it if necessary.
    pub(crate) fn group_of_defaults(&mut self, archetype: u32) -> u32 {
        let shared = self.archetypes[archetype].shape.shared.len();
        // The caller has checked that all types have default values.
        let key = GroupKey((0..shared).map(|_| SharedLookup::Found(0)).collect());
        self.group_of(archetype, key)
    }

    /// Returns a chunk with room for a row that moves from chunk `from` with a transfer that has no given shared values.
    #[inline]
    pub(crate) fn room_by(&mut self, transfer: &Transfer, from: u32) -> Result<u32, OutOfMemory> {
        if transfer.shared.is_empty() {
            return self.chunk_with_room(transfer.to);
        }
        let group = self.group_by(transfer, from);
        self.room_in_group(transfer.to, group)
    }

    /// Returns a chunk with room whose shared values are those of another chunk, except for the given one. Returns the other
    /// chunk if it already has the value, and `None` if there is no chunk with room. Runs user code.
    pub(crate) fn room_with(
        &self,
        chunk: u32,
        ty: ComponentType,
        value: &(dyn Any + Send + Sync),
    ) -> Option<u32> {
        /// The maximum number of shared types for which this function looks for a chunk. Entities rarely have more.
        const MAX_SHARED: usize = 8;

        let number = chunk;
        let chunk = &self.chunks[chunk];
        let column = chunk.find(ty)?.column;
        let at = chunk.shape().shared.binary_search(&column).ok()?;
        let groups = self.archetypes.groups(chunk.archetype)?;
        let index = self.shared.find(groups.tables[at], value).ok()?;
        let has = &groups.at(chunk.group).values;
        if has[at] == index {
            return Some(number);
        }
        let mut key = [0; MAX_SHARED];
        let key = key.get_mut(..has.len())?;
        key.copy_from_slice(has);
        key[at] = index;
        groups.at(groups.find(key)?).with_room.last().copied()
    }

    /// Returns an unshared chunk with room in the group of an archetype with this key. Creates group and chunk if necessary.
    pub(crate) fn room_for(&mut self, archetype: u32, key: GroupKey) -> Result<u32, OutOfMemory> {
        let group = self.group_of(archetype, key);
        self.room_in_group(archetype, group)
    }

    fn room_in_group(&mut self, archetype: u32, group: u32) -> Result<u32, OutOfMemory> {
        /// Removes the group if no chunk can be created, because there is no memory or the default of a chunk component panics.
        struct OpenGuard<'s> {
            storage: &'s mut Storage,
            archetype: u32,
            group: u32,
        }

        impl Drop for OpenGuard<'_> {
            fn drop(&mut self) {
                self.storage.forget_group(self.archetype, self.group);
                drop(self.storage.shared.take_unused());
            }
        }

        if let Some(&number) = self.archetypes.rooms(archetype, group).last() {
            self.make_unique(number)?;
            return Ok(number);
        }
        let opening = OpenGuard { storage: self, archetype, group };
        opening.storage.open_chunk_in(archetype, group)
    }

    /// Counts a chunk that joins a group.
    pub(crate) fn enter_group(&mut self, archetype: u32, group: u32) {
        let Some(groups) = self.archetypes.groups_mut(archetype) else { return };
        groups.at_mut(group).chunks += 1;
        for (&table, &value) in groups.tables.iter().zip(&groups.at(group).values) {
            self.shared.hold(table, value);
        }
    }

    /// Counts a chunk that leaves its group, and adds its events to those of the group's values. The group is removed with its
    /// last chunk, and values that no other chunk has become unused.
    pub(crate) fn leave_group(&mut self, archetype: u32, group: u32, events: u32) {
        let Some(groups) = self.archetypes.groups_mut(archetype) else { return };
        groups.at_mut(group).chunks -= 1;
        for (&table, &value) in groups.tables.iter().zip(&groups.at(group).values) {
            self.shared.let_go(table, value, events);
        }
        groups.remove_empty(group);
    }

    /// Counts an event for each shared value that the entities of a chunk lose or get when the chunk moves to another group of
    /// the archetype.
    pub(crate) fn count_other_values(&mut self, archetype: u32, from: u32, to: u32) {
        let Some(groups) = self.archetypes.groups(archetype) else { return };
        let values = groups.at(from).values.iter().zip(&groups.at(to).values);
        for (&table, (&old, &new)) in groups.tables.iter().zip(values) {
            if old != new {
                self.shared.count_event(table, old);
                self.shared.count_event(table, new);
            }
        }
    }

    /// Removes a group if it has no chunks, together with those of its values that no chunk has.
    pub(crate) fn forget_group(&mut self, archetype: u32, group: u32) {
        let Some(groups) = self.archetypes.groups_mut(archetype) else { return };
        let Some(values) = groups.remove_empty(group) else { return };
        for (&table, &value) in groups.tables.iter().zip(&*values) {
            self.shared.forget_unused(table, value);
        }
    }
}
