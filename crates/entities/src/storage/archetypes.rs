//! All archetypes of a world.

use std::ops::{Index, IndexMut};
use std::sync::Arc;

use hashbrown::HashTable;

use super::archetype::{Archetype, ArchetypeShape};
use super::chunk_layout::DoesNotFit;
use super::settings::StorageSettings;
use crate::component::ComponentType;

/// The archetypes in the order in which they came to be. None ever goes.
#[derive(Clone, Default)]
pub(crate) struct Archetypes {
    list: Vec<Archetype>,
    by_types: HashTable<u32>,
}

impl Archetypes {
    /// Finds the archetype of these types, which are sorted and all different, or makes it.
    pub(crate) fn find_or_create(
        &mut self,
        types: &[ComponentType],
        settings: &StorageSettings,
    ) -> Result<u32, DoesNotFit> {
        let hash = hash_of(types);
        let list = &self.list;
        let same = |&number: &u32| *list[number as usize].shape.types == *types;
        if let Some(&number) = self.by_types.find(hash, same) {
            return Ok(number);
        }
        let shape = Arc::new(ArchetypeShape::new(types, settings)?);
        let number = u32::try_from(self.list.len()).expect("fewer archetypes than entities");
        self.list.push(Archetype {
            shape,
            chunks: Vec::new(),
            with_room: Vec::new(),
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
