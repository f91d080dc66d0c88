//! Links of relationships: source components, and the lists of sources that their targets have.
//!
//! An operation whose types belong to a relationship takes a separate path through these files:
//!
//! 1. The changes of links are listed, and [checked](EntityManager::check_links): targets exist, no source refers to itself, no cycle
//!    is closed. Nothing was changed yet.
//! 2. Targets without a list get an empty one, and lists that will change are made unshared. This fails if there is no memory; the
//!    empty lists are then removed again.
//! 3. The operation itself is made by the same code as for other components.
//! 4. The [lists](lists) are updated, and empty lists are removed. This cannot fail: if there is no memory for the move, an empty
//!    list remains.
//!
//! User code can panic in the third step, before or after the change. Then only those changes of links are made whose sources were
//! changed.

mod changes;
mod check;
mod instances;
mod lists;
mod remove;
mod transfer;
mod write;

pub(super) use instances::InstanceLinks;

use crate::component::{ComponentType, RelationshipInfo};
use crate::entity::Entity;
use crate::error::EntityError;
use crate::manager::{DistinctEntities, EntityManager};
use crate::storage::ArchetypeShape;

/// The change of one link. A null entity stands for no target.
#[derive(Clone, Copy)]
pub(super) struct LinkChange {
    pub(super) relationship: &'static RelationshipInfo,
    pub(super) source: Entity,
    pub(super) old: Entity,
    pub(super) new: Entity,
}

/// Memory for changes of links, which the next change reuses.
#[derive(Default)]
pub(super) struct LinkMemory {
    indices: lists::SourceIndices,
    changes: Vec<LinkChange>,
    /// The targets that got an empty list.
    given: Vec<(&'static RelationshipInfo, Entity)>,
    sources: Vec<Entity>,
    /// The changes of the current run of commands.
    run: Vec<LinkChange>,
    run_links: write::RunLinks,
    /// The entities that are despawned.
    members: Vec<Entity>,
    /// The target archetypes and groups of moves.
    places: Vec<(u32, u32)>,
    /// The chunks that were opened for moves of the current operation.
    opened: Vec<u32>,
    /// A bit for each index of an entity that is a member of the current operation.
    marks: Vec<u64>,
}

impl LinkMemory {
    /// Marks an entity. Returns whether it was not marked before.
    fn mark(&mut self, entity: Entity) -> bool {
        let (word, bit) = (entity.index() as usize / 64, 1 << (entity.index() % 64));
        if word >= self.marks.len() {
            self.marks.resize((word + 1).next_power_of_two(), 0);
        }
        let is_new = self.marks[word] & bit == 0;
        self.marks[word] |= bit;
        is_new
    }

    fn is_marked(&self, entity: Entity) -> bool {
        let word = self.marks.get(entity.index() as usize / 64);
        word.is_some_and(|word| word >> (entity.index() % 64) & 1 != 0)
    }

    fn unmark(&mut self, entities: &[Entity]) {
        for entity in entities {
            if let Some(word) = self.marks.get_mut(entity.index() as usize / 64) {
                *word = 0;
            }
        }
    }
}

/// Iterates over the relationships whose sources a shape has.
fn sources_in(shape: &ArchetypeShape) -> impl Iterator<Item = &'static RelationshipInfo> {
    shape.links.iter().filter_map(|&column| shape.types[column as usize].0.relationship)
}

/// Iterates over the relationships whose lists a shape has.
fn lists_in(shape: &ArchetypeShape) -> impl Iterator<Item = &'static RelationshipInfo> {
    shape.links.iter().filter_map(|&column| shape.types[column as usize].0.reverse_of)
}

/// Returns the list type among these types, if there is one.
fn find_list(types: &[ComponentType]) -> Option<ComponentType> {
    types.iter().copied().find(|ty| ty.0.reverse_of.is_some())
}

impl EntityManager {
    /// Makes an operation that gives a source another target, which is not null, and updates the lists of the targets.
    pub(super) fn put_linked<R>(
        &mut self,
        source: Entity,
        relationship: &'static RelationshipInfo,
        target: Entity,
        operation: impl FnOnce(&mut Self) -> Result<R, EntityError>,
    ) -> Result<R, EntityError> {
        let mut changes = self.take_changes();
        self.list_change(&mut changes, relationship, source, target);
        let checked = self.check_links(&changes);
        let done = checked.and_then(|()| self.change_links(&changes, operation));
        self.keep_changes(changes);
        done
    }

    /// Returns whether entities of a chunk have sources or lists of relationships.
    #[inline]
    pub(super) fn has_links(&self, chunk: u32) -> bool {
        self.storage.chunks[chunk].has_links()
    }

    /// Returns whether entities of a chunk have linked sources, which are despawned with them.
    pub(super) fn has_linked_sources(&self, chunk: u32) -> bool {
        let shape = self.storage.chunks[chunk].shape();
        shape.has_links() && lists_in(shape).any(|relationship| relationship.linked)
    }

    /// Pushes the linked sources of an entity to a stack, the first on top.
    pub(super) fn push_linked_sources(&self, entity: Entity, next: &mut Vec<Entity>) {
        let Some(archetype) = self.storage.archetype_of(entity) else { return };
        if !archetype.shape.has_links() {
            return;
        }
        let before = next.len();
        for relationship in lists_in(&archetype.shape).filter(|relationship| relationship.linked) {
            next.extend_from_slice(self.link_sources(relationship, entity));
        }
        next[before..].reverse();
    }

    /// Adds the linked sources of all entities in a list, depth first.
    pub(super) fn add_linked_sources(&self, members: &mut DistinctEntities) {
        let mut next = Vec::new();
        for at in 0..members.len() {
            self.push_linked_sources(members[at], &mut next);
            while let Some(entity) = next.pop() {
                if members.insert(entity) {
                    self.push_linked_sources(entity, &mut next);
                }
            }
        }
    }
}
