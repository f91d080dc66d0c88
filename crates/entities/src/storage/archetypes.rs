//! All archetypes of a world.

use std::ops::{Index, IndexMut};
use std::sync::Arc;

use hashbrown::HashTable;

use super::archetype::{Archetype, ArchetypeShape};
use super::chunk::{Chunk, NOWHERE};
use super::chunk_layout::DoesNotFit;
use super::groups::Groups;
use super::rows::list_place;
use super::settings::StorageSettings;
use super::shared::SharedValues;
use crate::component::ComponentType;

/// The archetypes in the order in which they came to be. None ever goes.
#[derive(Clone, Default)]
pub(crate) struct Archetypes {
    list: Vec<Archetype>,
    /// The groups of those that have some.
    groups: Vec<Groups>,
    by_types: HashTable<u32>,
}

impl Archetypes {
    /// Finds the archetype of these types, which are sorted and all different, or makes it.
    ///
    /// Tables are made for shared types, which may run code of the user.
    pub(crate) fn find_or_create(
        &mut self,
        types: &[ComponentType],
        settings: &StorageSettings,
        values: &mut SharedValues,
    ) -> Result<u32, DoesNotFit> {
        let hash = hash_of(types);
        let list = &self.list;
        let same = |&number: &u32| *list[number as usize].shape.types == *types;
        if let Some(&number) = self.by_types.find(hash, same) {
            return Ok(number);
        }
        let shape = Arc::new(ArchetypeShape::new(types, settings)?);
        let shared = types.iter().filter(|ty| ty.is_shared());
        let tables: Box<[u32]> = shared.map(|&ty| values.ensure(ty)).collect();
        let groups = if tables.is_empty() { NOWHERE } else { list_place(self.groups.len()) };
        if !tables.is_empty() {
            self.groups.push(Groups::new(tables));
        }
        let number = u32::try_from(self.list.len()).expect("fewer archetypes than entities");
        self.list.push(Archetype {
            shape,
            chunks: Vec::new(),
            with_room: Vec::new(),
            groups,
            order_events: 0,
        });
        let list = &self.list;
        self.by_types
            .insert_unique(hash, number, |&number| hash_of(&list[number as usize].shape.types));
        Ok(number)
    }

    pub(crate) fn get(&self, number: u32) -> Option<&Archetype> {
        self.list.get(number as usize)
    }

    /// All of them, each at the place of its number.
    #[inline]
    pub(crate) fn as_slice(&self) -> &[Archetype] {
        &self.list
    }

    /// The groups of an archetype, if it has shared types.
    pub(crate) fn groups(&self, archetype: u32) -> Option<&Groups> {
        self.groups.get(self[archetype].groups as usize)
    }

    /// The groups of an archetype, if it has shared types, to be changed.
    pub(crate) fn groups_mut(&mut self, archetype: u32) -> Option<&mut Groups> {
        let at = self[archetype].groups;
        self.groups.get_mut(at as usize)
    }

    /// The chunks with room of an archetype, in a group if it has some.
    pub(crate) fn rooms(&self, archetype: u32, group: u32) -> &[u32] {
        match self.groups(archetype) {
            Some(groups) => &groups.at(group).with_room,
            None => &self[archetype].with_room,
        }
    }

    /// As [`rooms`](Self::rooms), to be changed.
    pub(crate) fn rooms_mut(&mut self, archetype: u32, group: u32) -> &mut Vec<u32> {
        if self[archetype].groups == NOWHERE {
            return &mut self[archetype].with_room;
        }
        let at = self[archetype].groups;
        &mut self.groups[at as usize].at_mut(group).with_room
    }

    /// The values of a chunk's shared types: which tables they are in, and at which indices.
    pub(crate) fn values_of(&self, chunk: &Chunk) -> impl Iterator<Item = (u32, u32)> {
        let group = chunk.group;
        self.groups(chunk.archetype).into_iter().flat_map(move |groups| {
            groups.tables.iter().copied().zip(groups.at(group).values.iter().copied())
        })
    }

    /// Where the value of a chunk's shared type is, if it has it: in which table, and at which index.
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

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Archetype> {
        self.list.iter_mut()
    }
}

/// The hashes of the names are numbers as good as random.
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
