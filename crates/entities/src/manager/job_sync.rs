//! Synchronisation with jobs: the world's thread completes conflicting jobs before it accesses data.
//!
//! Each method that reads or changes data which jobs may use calls one of the `sync_…` methods before its first change. Completing a job
//! runs user code, so no change may be half made then.
//!
//! | access | jobs that are completed |
//! |---|---|
//! | a value is read | jobs that write the component |
//! | a value is written | jobs that use the component; if its chunk may have to be copied, as below |
//! | an enabled bit is read | jobs that set it |
//! | an enabled bit is set | jobs that use the component or its bits |
//! | chunks are copied | jobs over their archetypes, or with lookups in them |
//! | rows are added, removed or moved | jobs over their archetypes, or with lookups anywhere |
//! | anything else | all jobs |
//!
//! The existence, the components and the number of entities can be read at any time: only the world's thread changes them.
//!
//! Jobs over chunks declare the rows of their archetypes, and jobs with lookups declare these and the table. There are no other jobs. So
//! after waiting for both, no job uses any value of these archetypes.

use ancho_jobs::Access;

use super::EntityManager;
use super::job_access::Resource;
use crate::component::ComponentType;
use crate::entity::Entity;
use crate::storage::Location;

impl EntityManager {
    /// Completes jobs that conflict with a write to a value of an entity.
    #[inline(always)]
    pub(super) fn sync_for_write(&self, entity: Entity, ty: ComponentType) {
        if self.jobs.are_live()
            && let Some(location) = self.storage.table.locate(entity)
        {
            self.wait_to_write_at(location, &[ty]);
        }
    }

    /// Completes jobs that conflict with a write to a value outside of chunk memory.
    #[inline(always)]
    pub(super) fn sync_for_external_write(&self, ty: ComponentType) {
        if self.jobs.are_live() {
            self.jobs.sync([(Resource::Values(ty), Access::Write)]);
        }
    }

    /// Completes jobs that conflict with setting enabled bits, which counts as a write to the component.
    #[inline(always)]
    pub(crate) fn sync_for_set_enabled(&self, ty: ComponentType) {
        if self.jobs.are_live() {
            let mask = (Resource::Mask(ty), Access::Write);
            self.jobs.sync([mask, (Resource::Values(ty), Access::Write)]);
        }
    }

    /// Completes jobs that conflict with added, removed or moved rows of archetypes, with copies of their chunks, or with writes to all
    /// their values. Without archetypes: jobs that conflict with a change of the entity table.
    #[inline(always)]
    pub(crate) fn sync_for_move(&self, archetypes: impl IntoIterator<Item = u32>) {
        if self.jobs.are_live() {
            self.wait_to_move(archetypes);
        }
    }

    /// Completes jobs that conflict with a transfer, by which an entity moves to another archetype, or gets new values in place.
    #[inline(always)]
    pub(super) fn sync_for_transfer(&self, location: Location, transfer: u32) {
        if self.jobs.are_live() {
            self.wait_for_transfer(location, transfer);
        }
    }

    /// Returns the archetypes of those entities that exist.
    pub(super) fn archetypes_of(&self, entities: &[Entity]) -> impl Iterator<Item = u32> {
        let there = entities.iter().filter_map(|&entity| self.storage.table.locate(entity));
        there.map(|location| self.storage.archetype_at(location))
    }

    /// Waits until values of these types can be written in a chunk.
    #[cold]
    #[inline(never)]
    fn wait_to_write_at(&self, location: Location, types: &[ComponentType]) {
        let chunk = &self.storage.chunks[location.chunk];
        let copied =
            chunk.may_be_shared().then_some((Resource::Rows(chunk.archetype), Access::Write));
        let written = types.iter().map(|&ty| (Resource::Values(ty), Access::Write));
        self.jobs.sync(written.chain(copied));
    }

    #[cold]
    #[inline(never)]
    fn wait_to_move(&self, archetypes: impl IntoIterator<Item = u32>) {
        // Often consecutive entities have the same archetype.
        let mut last = None;
        let distinct =
            archetypes.into_iter().filter(|&number| last.replace(number) != Some(number));
        let rows = distinct.map(|number| (Resource::Rows(number), Access::Write));
        self.jobs.sync(rows.chain([(Resource::Table, Access::Write)]));
    }

    #[cold]
    #[inline(never)]
    fn wait_for_transfer(&self, location: Location, transfer: u32) {
        let transfer = &self.transfers[transfer];
        let from = self.storage.archetype_at(location);
        let shape = &self.storage.archetypes[from].shape;
        // With another shared value an entity moves to another chunk of its archetype.
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
