//! References among entities that are instantiated together.

#![expect(unsafe_code, reason = "replaces references in rows that were just written")]

use ancho_collections::FixedState;
use hashbrown::HashMap;

use crate::entity::Entity;
use crate::field::EntityRemap;
use crate::storage::{Chunk, EntityTable, NextIds, RowRange};

/// So many sources are found by looking at all of them.
const FEW: usize = 8;

/// Which entities take the place of the sources, in values that were copied from them.
pub(super) struct References {
    lists: ReferenceLists,
    /// How many instances each has.
    count: usize,
    /// The instances to be, those of one source after those of another.
    pub(super) instances: NextIds,
    /// How many rows were looked at.
    done: usize,
}

/// The lists of references. When they are not needed any more, the next ones have their memory.
#[derive(Default)]
pub(super) struct ReferenceLists {
    sources: Vec<Entity>,
    /// Where each of the sources is among them, if they are not few.
    places: HashMap<Entity, usize, FixedState>,
    /// What the value before referred to, in its order, and where the instances of that begin. Copies of one value refer to the same, so that those of the first are
    /// looked for, and then only compared.
    known: Vec<(Entity, Option<usize>)>,
    /// Memory for the instances to be.
    instances: Vec<Entity>,
}

impl References {
    /// For sources that have so many instances each, which are made next, with lists that have nothing in them.
    pub(super) fn new(
        sources: impl Iterator<Item = Entity>,
        count: usize,
        table: &EntityTable,
        mut lists: ReferenceLists,
    ) -> Self {
        lists.sources.extend(sources);
        if lists.sources.len() > FEW {
            let places = lists.sources.iter().enumerate().map(|(at, &source)| (source, at));
            lists.places.extend(places);
        }
        let memory = std::mem::take(&mut lists.instances);
        let instances = table.next_ids(lists.sources.len() * count, memory);
        Self { lists, count, instances, done: 0 }
    }

    /// The lists, with nothing in them.
    pub(super) fn into_lists(self) -> ReferenceLists {
        let mut lists = self.lists;
        lists.sources.clear();
        lists.places.clear();
        lists.known.clear();
        lists.instances = self.instances.into_list();
        lists
    }

    /// Where the instances of an entity begin, if it is a source: what a value refers to in this place.
    #[cold]
    #[inline(never)]
    fn find(&mut self, entity: Entity, place: usize) -> Option<usize> {
        let ReferenceLists { sources, places, known, .. } = &mut self.lists;
        let source = if sources.len() > FEW {
            places.get(&entity).copied()
        } else {
            sources.iter().position(|&source| source == entity)
        };
        let first = source.map(|source| source * self.count);
        known.truncate(place);
        known.push((entity, first));
        first
    }

    /// Replaces the sources by their instances in the values of a run. All runs have to come, in their order.
    ///
    /// # Safety
    ///
    /// - the rows of the chunk have values in all columns, which nobody else uses
    pub(super) unsafe fn replace(&mut self, chunk: &Chunk, RowRange { first, rows, .. }: RowRange) {
        let shape = chunk.shape();
        // The how manieth instance of its source the first row is.
        let nth = self.done % self.count;
        self.done += rows as usize;
        for (ty, column) in shape.types.iter().zip(&shape.columns) {
            let Some(remap) = ty.0.remap else { continue };
            self.lists.known.clear();
            for row in 0..rows as usize {
                let at = nth + row;
                let mut asked = 0;
                let mut instance_of = |entity| {
                    let first = match self.lists.known.get(asked) {
                        Some(&(before, first)) if before == entity => first,
                        _ => self.find(entity, asked),
                    };
                    asked += 1;
                    first.map_or(entity, |first| self.instances.get(first + at))
                };
                let row = first as usize + row;
                let value = chunk.column(column.offset).wrapping_add(row * ty.size());
                // SAFETY: the row has a value of this type, which nobody else uses.
                unsafe { remap(ty.0.shape, value, 1, &mut EntityRemap::new(&mut instance_of)) };
            }
        }
    }
}
