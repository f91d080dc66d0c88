//! Synchronisation with jobs: the world's thread completes conflicting jobs before it accesses data.
//!
//! Each method that reads or changes data which jobs may use calls one of the `sync_…` methods before its first change.
//! Completing a job runs user code, so a change must not be half made at that point.
//!
//! | access | jobs that are completed |
//! |---|---|
//! | a value is read | jobs that write the component |
//! | a value is written | jobs that use the component; if its chunk may have to be copied, also the jobs of the row "chunks are
//! copied" |
//! | an enabled bit is read | jobs that set it |
//! | an enabled bit is set | jobs that use the component or its bits |
//! | chunks are copied | jobs over their archetypes, or with lookups in them |
//! | rows are added, removed or moved | jobs over their archetypes, or with lookups anywhere |
//! | anything else | all jobs |
//!
//! The existence, the components and the number of entities can be read at any time, because only the world's thread changes
//! them.
//!
//! Jobs over chunks declare the rows of their archetypes, and jobs with lookups declare the rows and the table. There are no
//! other jobs. So after completing both, no job uses any value of these archetypes.

use ancho_jobs::Access;

use super::EntityManager;
use super::job_access::Resource;
use crate::component::ComponentType;
use crate::entity::Entity;
use crate::storage::Location;

impl EntityManager {
    /// Completes jobs that conflict with a write to a component of an entity.
    #[inline(always)]
    pub(super) fn sync_for_write(&self, entity: Entity, ty: ComponentType) {
        if self.jobs.are_live()
            && let Some(location) = self.storage.table.locate(entity)
        {
            self.wait_to_write_at(location, &[ty]);
        }
    }

    /// Completes jobs that conflict with a write to a component outside of chunk memory.
    #[inline(always)]
    pub(super) fn sync_for_external_write(&self, ty: ComponentType) {
        if self.jobs.are_live() {
            self.jobs.sync([(Resource::Values(ty), Access::Write)]);
        }
    }

    /// Completes jobs that conflict with setting enabled bits of a component, which counts as a write to the component.
    #[inline(always)]
    pub(crate) fn sync_for_set_enabled(&self, ty: ComponentType) {
        if self.jobs.are_live() {
            let mask = (Resource::Mask(ty), Access::Write);
            self.jobs.sync([mask, (Resource::Values(ty), Access::Write)]);
        }
    }

    /// Completes jobs that conflict with adding, removing or moving rows of archetypes, with copying their chunks, or with
    /// writing all their values. Without archetypes, completes jobs that conflict with a change of the entity table.
    #[inline(always)]
    pub(crate) fn sync_for_move(&self, archetypes: impl IntoIterator<Item = u32>) {
        if self.jobs.are_live() {
            self.wait_to_move(archetypes);
        }
    }

    /// Completes jobs that conflict with a transfer, which moves an entity to another archetype or replaces its values in place.
    #[inline(always)]
    pub(super) fn sync_for_transfer(&self, location: Location, transfer: u32) {
        if self.jobs.are_live() {
            self.wait_for_transfer(location, transfer);
        }
    }

    /// Iterates over the archetypes of those entities that exist.
    pub(super) fn archetypes_of(&self, entities: &[Entity]) -> impl Iterator<Item = u32> {
        let there = entities.iter().filter_map(|&entity| self.storage.table.locate(entity));
        there.map(|location| self.storage.archetype_at(location))
    }

    /// Completes jobs that conflict with writing values of these types in the chunk at a location.
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
        // Consecutive entities often have the same archetype.
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
        // An entity that gets another shared value moves to another chunk of its archetype.
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
