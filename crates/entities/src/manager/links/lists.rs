//! Access to the targets of sources, and to the lists of sources that targets have.

#![expect(unsafe_code, reason = "sources and lists of relationships whose type was erased")]

use std::slice;

use crate::component::{ComponentType, RelationshipInfo, SourceList};
use crate::entity::Entity;
use crate::error::EntityError;
use crate::manager::EntityManager;
use crate::storage::Location;

/// The index of a source that no table has recorded.
const UNKNOWN: u32 = u32::MAX;

/// The indices of sources in the lists of their targets, so that unordered lists are changed in constant time.
///
/// An index is a hint: it is compared with the list before it is used. So the table need not be forked or restored.
#[derive(Default)]
pub(super) struct SourceIndices {
    /// The hints by relationship, and by the index of the source.
    tables: Vec<(ComponentType, Vec<u32>)>,
}

impl SourceIndices {
    fn table(&mut self, relationship: &RelationshipInfo) -> &mut Vec<u32> {
        let ty = (relationship.source)();
        let at = match self.tables.iter().position(|&(known, _)| known == ty) {
            Some(at) => at,
            None => {
                self.tables.push((ty, Vec::new()));
                self.tables.len() - 1
            }
        };
        &mut self.tables[at].1
    }
}

/// Returns the hint of a source.
fn hint(table: &[u32], source: Entity) -> u32 {
    table.get(source.index() as usize).copied().unwrap_or(UNKNOWN)
}

/// Records the indices of sources, which are contiguous from `first` on.
fn note(table: &mut Vec<u32>, first: usize, sources: &[Entity]) {
    for (at, source) in (first..).zip(sources) {
        let index = source.index() as usize;
        if index >= table.len() {
            table.resize((index + 1).next_power_of_two(), UNKNOWN);
        }
        table[index] = at as u32;
    }
}

impl EntityManager {
    /// Returns the target of a source, or `None` if the entity does not exist or is no source.
    ///
    /// Jobs cannot write sources, so none is completed.
    pub(super) fn link_target(
        &self,
        relationship: &RelationshipInfo,
        source: Entity,
    ) -> Option<Entity> {
        let value = self.storage.find(source, (relationship.source)())?;
        // SAFETY: the address is that of a value of this type, which is not written while the manager is borrowed.
        Some(unsafe { (relationship.target)(value) })
    }

    /// Returns the target of the source in a row of a column.
    pub(super) fn link_target_at(
        &self,
        relationship: &RelationshipInfo,
        Location { chunk, row }: Location,
    ) -> Option<Entity> {
        let ty = (relationship.source)();
        let chunk = &self.storage.chunks[chunk];
        let offset = chunk.find(ty)?.offset;
        let value = chunk.column(offset).wrapping_add(row as usize * ty.size());
        // SAFETY: the row exists, and has a value of this type, which is not written while the manager is borrowed.
        Some(unsafe { (relationship.target)(value) })
    }

    /// Returns the sources of a target. The list is empty if the entity does not exist or is no target.
    pub(crate) fn link_sources(
        &self,
        relationship: &RelationshipInfo,
        target: Entity,
    ) -> &[Entity] {
        let ty = (relationship.reverse)();
        let (Some(value), Some(elements)) = (self.storage.find(target, ty), ty.0.elements) else {
            return &[];
        };
        // SAFETY: the address is that of a buffer of this type, which is not written while the manager is borrowed.
        let (_, first, count) = unsafe { elements(value) };
        // SAFETY: `RelationshipInfo::of` has checked that the elements have the size and the alignment of entities, and consist of
        // initialised bytes. Any bytes are a valid entity.
        unsafe { slice::from_raw_parts(first.cast(), count) }
    }

    /// Adds a source component to an entity, and does not change the list of the target.
    pub(super) fn add_source(
        &mut self,
        relationship: &RelationshipInfo,
        source: Entity,
        target: Entity,
    ) -> Result<bool, EntityError> {
        self.add_with(source, (relationship.source)(), |value| {
            // SAFETY: the address has room for a value of the type.
            unsafe { (relationship.write)(value, target) };
        })
    }

    /// Adds an empty list to a target, which moves it. Returns whether the target had none.
    pub(super) fn add_list(
        &mut self,
        relationship: &RelationshipInfo,
        target: Entity,
    ) -> Result<bool, EntityError> {
        self.add_with(target, (relationship.reverse)(), |value| {
            // SAFETY: the address has room for a value of the type.
            unsafe { (relationship.write_empty)(value) };
        })
    }

    /// Completes the jobs that use the list of a target, and makes its chunk unshared, so that the list can be changed.
    pub(in crate::manager) fn open_list(
        &mut self,
        relationship: &RelationshipInfo,
        target: Entity,
    ) -> Result<(), EntityError> {
        self.sync_for_write(target, (relationship.reverse)());
        let location = self.locate(target)?;
        Ok(self.storage.make_unique(location.chunk)?)
    }

    /// Calls a function with the list of a target. Returns `None` if the target has none.
    pub(super) fn edit_list<R>(
        &mut self,
        relationship: &RelationshipInfo,
        target: Entity,
        edit: impl FnOnce(&mut dyn SourceList) -> R,
    ) -> Option<R> {
        let ty = (relationship.reverse)();
        let (column, row) = self.column_mut(target, ty).ok()?;
        let value = column.wrapping_add(row * ty.size());
        let (mut edit, mut result) = (Some(edit), None);
        // SAFETY: the row has a buffer of this type, in unshared memory, and the manager is borrowed mutably.
        unsafe {
            (relationship.edit)(value, &mut |list| {
                result = edit.take().map(|edit| edit(list));
            });
        }
        result
    }

    /// Appends sources to the list of a target.
    pub(super) fn append_sources(
        &mut self,
        relationship: &RelationshipInfo,
        target: Entity,
        sources: &[Entity],
    ) {
        let first = self.edit_list(relationship, target, |list| {
            list.extend(sources);
            list.as_slice().len() - sources.len()
        });
        if let Some(first) = first
            && !relationship.ordered
        {
            note(self.links.indices.table(relationship), first, sources);
        }
    }

    /// Removes a source from the list of a target. Returns its index, if it was there.
    pub(super) fn remove_source(
        &mut self,
        relationship: &RelationshipInfo,
        target: Entity,
        source: Entity,
    ) -> Option<usize> {
        if relationship.ordered {
            return self.edit_list(relationship, target, |list| {
                let index = list.as_slice().iter().position(|&other| other == source)?;
                list.remove(index);
                Some(index)
            })?;
        }
        let mut indices = std::mem::take(&mut self.links.indices);
        let table = indices.table(relationship);
        let hinted = hint(table, source) as usize;
        let removed = self.edit_list(relationship, target, |list| {
            let all = list.as_slice();
            let index = if all.get(hinted) == Some(&source) {
                hinted
            } else {
                // The list was copied, or comes from another world. The hints of all its sources are recorded.
                note(table, 0, all);
                all.iter().position(|&other| other == source)?
            };
            list.swap_remove(index);
            if let Some(&moved) = list.as_slice().get(index) {
                note(table, index, &[moved]);
            }
            Some(index)
        });
        self.links.indices = indices;
        removed.flatten()
    }

    /// Moves a source to an index of an ordered list. An index past the end stands for the end.
    pub(in crate::manager) fn move_source(
        &mut self,
        relationship: &RelationshipInfo,
        target: Entity,
        source: Entity,
        index: usize,
    ) {
        self.edit_list(relationship, target, |list| {
            if let Some(at) = list.as_slice().iter().position(|&other| other == source) {
                list.remove(at);
                list.insert(index.min(list.as_slice().len()), source);
            }
        });
    }

    /// Replaces the sources of a target by a permutation of them.
    pub(in crate::manager) fn set_order(
        &mut self,
        relationship: &RelationshipInfo,
        target: Entity,
        sources: &[Entity],
    ) {
        self.edit_list(relationship, target, |list| list.as_mut_slice().copy_from_slice(sources));
        if !relationship.ordered {
            note(self.links.indices.table(relationship), 0, sources);
        }
    }

    /// Keeps the sources of a list that refer to the target.
    pub(super) fn keep_true_sources(&mut self, relationship: &RelationshipInfo, target: Entity) {
        let mut kept = std::mem::take(&mut self.links.sources);
        let is_true = |source: &&Entity| self.link_target(relationship, **source) == Some(target);
        kept.extend(self.link_sources(relationship, target).iter().filter(is_true));
        self.edit_list(relationship, target, |list| {
            list.truncate(kept.len());
            list.as_mut_slice().copy_from_slice(&kept);
        });
        if !relationship.ordered {
            note(self.links.indices.table(relationship), 0, &kept);
        }
        kept.clear();
        self.links.sources = kept;
    }
}
