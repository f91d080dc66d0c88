//! What the thread of the world waits for before it does something.
//!
//! Each method that reads or changes what jobs may use begins with one of these, or has one in front of the first thing that it
//! changes: whoever is in the way is completed there. Completing runs code of the user, and may take its time, so nothing is
//! half done then.
//!
//! | what is done | what is waited for |
//! |---|---|
//! | a value is read | jobs that write the component |
//! | a value is written | jobs that use the component; if its chunk may have to be copied, as below |
//! | it is asked whether a component is on | jobs that switch it |
//! | a component is switched | jobs that use the component, or ask whether it is on |
//! | chunks are copied | jobs that go through their archetypes, or look for entities in them |
//! | rows come, go or move | jobs that go through their archetypes, or look for entities anywhere |
//! | anything else | all jobs |
//!
//! Whether an entity is there, which components it has, and how many there are, can always be asked: only the thread of the world
//! changes that.
//!
//! Jobs that go through chunks have declared the rows of their archetypes, and jobs that look for entities these and the table. There
//! are no others. So who has waited for both has all values of these archetypes to itself, whatever their types.

use ancho_jobs::Access;

use super::EntityManager;
use super::fences::Resource;
use crate::component::ComponentType;
use crate::entity::Entity;
use crate::storage::Location;

impl EntityManager {
    /// Before a value of an entity is written.
    #[inline(always)]
    pub(super) fn before_writing(&self, entity: Entity, ty: ComponentType) {
        if self.jobs.are_live() {
            self.wait_to_write(entity, ty);
        }
    }

    /// Before a value is written that is not in the memory of its chunk.
    #[inline(always)]
    pub(super) fn before_writing_beside(&self, ty: ComponentType) {
        if self.jobs.are_live() {
            self.jobs.before([(Resource::Values(ty), Access::Write)]);
        }
    }

    /// Before a component is switched on or off: that counts as a change of its values.
    #[inline(always)]
    pub(crate) fn before_switching(&self, ty: ComponentType) {
        if self.jobs.are_live() {
            let mask = (Resource::Mask(ty), Access::Write);
            self.jobs.before([mask, (Resource::Values(ty), Access::Write)]);
        }
    }

    /// Before rows of archetypes come, go or move, their chunks are copied, or all their values are written. Without archetypes:
    /// before something else is done to the table of entities.
    #[inline(always)]
    pub(crate) fn before_moving(&self, archetypes: impl IntoIterator<Item = u32>) {
        if self.jobs.are_live() {
            self.wait_to_move(archetypes);
        }
    }

    /// Before a transfer, by which an entity goes to another archetype, or stays and gets other values.
    #[inline(always)]
    pub(super) fn before_transfer(&self, location: Location, transfer: u32) {
        if self.jobs.are_live() {
            self.wait_for_transfer(location, transfer);
        }
    }

    /// The archetypes of those of the entities that are there.
    pub(super) fn archetypes_of(&self, entities: &[Entity]) -> impl Iterator<Item = u32> {
        let there = entities.iter().filter_map(|&entity| self.storage.table.locate(entity));
        there.map(|location| self.storage.archetype_at(location))
    }

    #[cold]
    #[inline(never)]
    fn wait_to_write(&self, entity: Entity, ty: ComponentType) {
        if let Some(location) = self.storage.table.locate(entity) {
            self.wait_to_write_at(location, &[ty]);
        }
    }

    /// Waits until values of these types can be written in a chunk.
    #[cold]
    fn wait_to_write_at(&self, location: Location, types: &[ComponentType]) {
        let chunk = &self.storage.chunks[location.chunk];
        let copied =
            chunk.may_be_shared().then_some((Resource::Rows(chunk.archetype), Access::Write));
        let written = types.iter().map(|&ty| (Resource::Values(ty), Access::Write));
        self.jobs.before(written.chain(copied));
    }

    #[cold]
    #[inline(never)]
    fn wait_to_move(&self, archetypes: impl IntoIterator<Item = u32>) {
        // Mostly entities come after others of their kind.
        let mut last = None;
        let distinct =
            archetypes.into_iter().filter(|&number| last.replace(number) != Some(number));
        let rows = distinct.map(|number| (Resource::Rows(number), Access::Write));
        self.jobs.before(rows.chain([(Resource::Table, Access::Write)]));
    }

    #[cold]
    #[inline(never)]
    fn wait_for_transfer(&self, location: Location, transfer: u32) {
        let transfer = &self.transfers[transfer];
        let from = self.storage.archetype_at(location);
        let shape = &self.storage.archetypes[from].shape;
        // With another shared value an entity goes to another chunk of its archetype.
        let regroups = transfer.written.iter().any(|column| shape.shared.contains(column));
        if transfer.to != from || regroups {
            return self.wait_to_move([from, transfer.to]);
        }
        let written = transfer.written.iter().map(|&column| shape.types[column as usize]);
        let written: Vec<_> = written.collect();
        if !written.is_empty() {
            self.wait_to_write_at(location, &written);
        }
    }
}

#[cfg(test)]
mod tests;
