//! Chunks of an archetype, apart by the values of its shared components.

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

/// The groups of an archetype with shared components: one for each combination of values that entities have.
#[derive(Clone)]
pub(crate) struct SharedGroups {
    /// Which tables the values of the shared types are in, in the order of their columns.
    pub(crate) tables: Box<[u32]>,
    list: Vec<SharedGroup>,
    /// Numbers that are free, the one to be used next last.
    free: Vec<u32>,
    by_values: HashTable<u32>,
}

/// The chunks with one combination of values.
#[derive(Clone, Default)]
pub(crate) struct SharedGroup {
    /// The indices of the values, in the order of the columns. Empty if the group's number is free: the next one has the memory.
    pub(crate) values: Vec<u32>,
    /// Those of the chunks that have room. New entities go to the last.
    pub(crate) with_room: Vec<u32>,
    /// How many chunks there are. Without one the group goes.
    pub(crate) chunks: u32,
}

/// How many shared components entities mostly have at most. Of so many, nothing takes memory while an entity moves.
pub(crate) const INLINE_SHARED: usize = 4;

/// A combination of values, some of which may not be there yet.
pub(crate) struct GroupKey(InlineVec<SharedLookup, INLINE_SHARED>);

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

    /// All groups, by number.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &SharedGroup)> {
        (0..).zip(&self.list).filter(|(_, group)| !group.values.is_empty())
    }

    /// Finds the group of these values.
    pub(crate) fn find(&self, values: &[u32]) -> Option<u32> {
        let same = |&number: &u32| *self.list[number as usize].values == *values;
        self.by_values.find(hash_of(values), same).copied()
    }

    /// Finds the group of these values, or makes it, without chunks.
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

    /// Takes a group out if it has no chunks, and returns its values.
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
    /// The value that the entities of a chunk have of a shared type, if they have it.
    pub(crate) fn shared_value(&self, chunk: &Chunk, ty: ComponentType) -> Option<&SharedValue> {
        let (table, index) = self.archetypes.shared_place(chunk, ty)?;
        Some(self.shared.value(table, index))
    }

    /// Looks for the values of a set in the tables of its types, which are there. Runs code of the user.
    pub(crate) fn look_up_shared(
        &self,
        types: &[ComponentType],
        given: &InlineVec<SharedValue, INLINE_SHARED>,
    ) -> InlineVec<SharedLookup, INLINE_SHARED> {
        let shared = types.iter().filter(|ty| ty.is_shared());
        let tables = shared.map(|&ty| self.shared.table(ty).expect("the archetype was looked for"));
        tables.zip(given.iter()).map(|(table, value)| self.shared.look_up(table, value)).collect()
    }

    /// The combination of values that entities have in an archetype, if those of its shared types come from there: from a
    /// chunk, and from what was given.
    pub(crate) fn group_key(
        &self,
        sources: &[SharedSource],
        from: Option<u32>,
        given: &[SharedLookup],
    ) -> GroupKey {
        self.group_key_with(sources, from, |at| given.get(at))
    }

    /// As [`group_key`](Self::group_key), with a function that says what was given.
    pub(crate) fn group_key_with<'g>(
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
            // That there is a default was checked.
            SharedSource::Default => SharedLookup::Found(0),
        };
        GroupKey(sources.iter().map(value).collect())
    }

    /// Whether a chunk is of an archetype, and has just these values.
    pub(crate) fn has_group_key(&self, chunk: u32, archetype: u32, wanted: &GroupKey) -> bool {
        let chunk = &self.chunks[chunk];
        let Some(groups) = self.archetypes.groups(archetype) else { return false };
        chunk.archetype == archetype
            && groups
                .at(chunk.group)
                .values
                .iter()
                .zip(wanted.0.iter())
                .all(|(&has, sought)| matches!(*sought, SharedLookup::Found(index) if index == has))
    }

    /// The group of an archetype with these values. It may have no chunks yet: then one has to be opened at once, or the
    /// group be [forgotten](Self::forget_group).
    pub(crate) fn group_of(&mut self, archetype: u32, GroupKey(wanted): GroupKey) -> u32 {
        let Some(groups) = self.archetypes.groups_mut(archetype) else { return NOWHERE };
        let mut values = InlineIndices::default();
        for (&table, sought) in groups.tables.iter().zip(wanted) {
            values.push(self.shared.resolve(table, sought));
        }
        groups.find_or_create(&values)
    }

    /// The group that a row of a chunk gets to by a transfer which is given nothing.
    pub(crate) fn group_by(&mut self, transfer: &Transfer, from: u32) -> u32 {
        if transfer.shared.is_empty() {
            return NOWHERE;
        }
        let wanted = self.group_key(&transfer.shared, Some(from), &[]);
        self.group_of(transfer.to, wanted)
    }

    /// The group of an archetype whose shared types all have defaults.
    pub(crate) fn group_of_defaults(&mut self, archetype: u32) -> u32 {
        let shared = self.archetypes[archetype].shape.shared.len();
        // That there are defaults was checked.
        let wanted = GroupKey((0..shared).map(|_| SharedLookup::Found(0)).collect());
        self.group_of(archetype, wanted)
    }

    /// A chunk with room that a row of another gets to by a transfer which is given nothing.
    #[inline]
    pub(crate) fn room_by(&mut self, transfer: &Transfer, from: u32) -> Result<u32, OutOfMemory> {
        if transfer.shared.is_empty() {
            return self.chunk_with_room(transfer.to);
        }
        let group = self.group_by(transfer, from);
        self.room_in_group(transfer.to, group)
    }

    /// A chunk with room whose entities have the same values as those of another but for one type, of which they have this. It
    /// is the same chunk if those have it too. `None` if there is none. Runs code of the user.
    pub(crate) fn room_with(
        &self,
        chunk: u32,
        ty: ComponentType,
        value: &(dyn Any + Send + Sync),
    ) -> Option<u32> {
        /// More types than entities mostly share.
        const MOST: usize = 8;

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
        let mut wanted = [0; MOST];
        let wanted = wanted.get_mut(..has.len())?;
        wanted.copy_from_slice(has);
        wanted[at] = index;
        groups.at(groups.find(wanted)?).with_room.last().copied()
    }

    /// A chunk of the archetype with these values that has room, and is the world's alone.
    pub(crate) fn room_for(
        &mut self,
        archetype: u32,
        wanted: GroupKey,
    ) -> Result<u32, OutOfMemory> {
        let group = self.group_of(archetype, wanted);
        self.room_in_group(archetype, group)
    }

    fn room_in_group(&mut self, archetype: u32, group: u32) -> Result<u32, OutOfMemory> {
        /// Forgets a group that has no chunk: there is no memory for one, or the default of what it has for itself panics.
        struct Opening<'s> {
            storage: &'s mut Storage,
            archetype: u32,
            group: u32,
        }

        impl Drop for Opening<'_> {
            fn drop(&mut self) {
                self.storage.forget_group(self.archetype, self.group);
                drop(self.storage.shared.take_unused());
            }
        }

        if let Some(&number) = self.archetypes.rooms(archetype, group).last() {
            self.make_unique(number)?;
            return Ok(number);
        }
        let opening = Opening { storage: self, archetype, group };
        opening.storage.open_chunk_in(archetype, group)
    }

    /// Counts a chunk that was opened in a group.
    pub(crate) fn enter_group(&mut self, archetype: u32, group: u32) {
        let Some(groups) = self.archetypes.groups_mut(archetype) else { return };
        groups.at_mut(group).chunks += 1;
        for (&table, &value) in groups.tables.iter().zip(&groups.at(group).values) {
            self.shared.hold(table, value);
        }
    }

    /// Counts a chunk less in its group, in which so many rows came or went. Without chunks the group goes, and what nobody
    /// else has of its values is dead.
    pub(crate) fn leave_group(&mut self, archetype: u32, group: u32, events: u32) {
        let Some(groups) = self.archetypes.groups_mut(archetype) else { return };
        groups.at_mut(group).chunks -= 1;
        for (&table, &value) in groups.tables.iter().zip(&groups.at(group).values) {
            self.shared.let_go(table, value, events);
        }
        groups.remove_empty(group);
    }

    /// Counts that entities went to another group of their archetype, where they are: for each value that they have no more,
    /// and each that they have now.
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

    /// Takes a group out if it has no chunks, with those of its values that nobody else has.
    pub(crate) fn forget_group(&mut self, archetype: u32, group: u32) {
        let Some(groups) = self.archetypes.groups_mut(archetype) else { return };
        let Some(values) = groups.remove_empty(group) else { return };
        for (&table, &value) in groups.tables.iter().zip(&*values) {
            self.shared.forget_unused(table, value);
        }
    }
}
