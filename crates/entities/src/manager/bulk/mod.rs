//! Structural changes of many rows: the rows that a query matches, or the entities of a batch.
//!
//! A change has three steps, so that it is made completely or not at all:
//!
//! 1. [`plan`] determines the action for the rows of each chunk, and reserves rows for those that move. It fails if there is no
//!    memory.
//! 2. [`BulkPlan::write_values`](plan::BulkPlan::write_values) clones or creates the new values. This runs user code, which can
//!    panic.
//! 3. [`apply`] moves values, ids and whole chunks. It cannot fail. Old values are dropped at the end.

mod apply;
mod plan;

use std::cell::Cell;
use std::mem::{self, ManuallyDrop};

use ancho_collections::Rejected;

use super::linked_groups::GroupMemory;
use super::shared_components::shared_values_of;
use crate::builtin::Disabled;
use crate::component::{ComponentType, SharedValue};
use crate::entity::Entity;
use crate::error::EntityError;
use crate::manager::EntityManager;
use crate::set::{CloneSet, ComponentSet};
use crate::storage::{
    INLINE_SHARED, InlineVec, NOWHERE, ReservedRows, RowRange, SetOperation, SharedLookup,
};
use apply::NewValues;
use plan::{BulkPlan, PlanLists};

/// A selection of rows, by archetype and chunk.
#[derive(Debug, Default)]
pub(crate) struct RowSelection {
    /// The runs of rows, grouped by archetype and chunk, and in ascending order within a chunk.
    runs: Vec<RowRange>,
    /// The archetypes, each with the index of its first run.
    archetypes: Vec<(u32, usize)>,
    /// Scratch bits for the changed rows of a chunk, used by queries with change filters.
    pub(crate) changed: Vec<u64>,
}

impl RowSelection {
    /// Reserves memory for `runs` more runs.
    pub(crate) fn reserve(&mut self, runs: usize) {
        self.runs.reserve(runs);
    }

    /// Clears the selection, and keeps its memory.
    fn clear(&mut self) {
        self.runs.clear();
        self.archetypes.clear();
        self.changed.clear();
    }

    /// Adds a run of rows of an archetype.
    #[inline]
    pub(crate) fn push(&mut self, archetype: u32, run: RowRange) {
        if self.archetypes.last().is_none_or(|&(last, _)| last != archetype) {
            self.archetypes.push((archetype, self.runs.len()));
        }
        self.runs.push(run);
    }

    /// Adds one row of an archetype, which follows all rows so far.
    fn push_row(&mut self, archetype: u32, chunk: u32, row: u32) {
        match self.runs.last_mut() {
            Some(run) if run.chunk == chunk && run.first + run.rows == row => run.rows += 1,
            _ => self.push(archetype, RowRange { chunk, first: row, rows: 1 }),
        }
    }

    /// Returns the number of selected rows.
    pub(super) fn rows(&self) -> usize {
        self.runs.iter().map(|run| run.rows as usize).sum()
    }

    /// Iterates over the archetypes and the runs of each.
    pub(super) fn by_archetype(&self) -> impl Iterator<Item = (u32, &[RowRange])> {
        let ends = self.archetypes.iter().skip(1).map(|&(_, first)| first);
        let ends = ends.chain([self.runs.len()]);
        self.archetypes
            .iter()
            .zip(ends)
            .map(|(&(archetype, first), end)| (archetype, &self.runs[first..end]))
    }
}

/// A bulk change: the operation, the component set, and the new values.
struct BulkChange<'a> {
    /// The number of the component set.
    set: u32,
    change: SetOperation,
    values: NewValues<'a>,
    /// The values of the shared types in the set.
    given: InlineVec<SharedValue, INLINE_SHARED>,
}

impl<'a> BulkChange<'a> {
    /// Creates a change without shared values.
    fn new(set: u32, change: SetOperation, values: NewValues<'a>) -> Self {
        Self { set, change, values, given: InlineVec::new() }
    }
}

impl EntityManager {
    /// Despawns the entities of rows, like [`Batch::despawn`](super::Batch::despawn). Returns their number.
    pub(crate) fn despawn_rows(&mut self, found: &RowSelection) -> Result<usize, EntityError> {
        let set = self.set_number::<()>()?;
        let order = BulkChange::new(set, SetOperation::Despawn, NewValues::Nothing);
        if self.found_has_links(found) {
            return self.despawn_linked(&self.entities_in(found).collect::<Vec<_>>());
        }
        if self.has_roots(found) {
            let all = self.with_groups(found, true);
            let despawned = if self.found_has_links(&all) {
                self.despawn_linked(&self.entities_in(found).collect::<Vec<_>>())
            } else {
                self.change_found(&all, order)
            };
            self.keep_selection(all);
            return despawned;
        }
        self.change_found(found, order)
    }

    /// Adds clones of components to the entities of rows, like [`add`](Self::add). Returns the number of entities that lacked one
    /// of them.
    pub(crate) fn add_to_rows<S: CloneSet>(
        &mut self,
        found: &RowSelection,
        set: S,
    ) -> Result<usize, Rejected<S, EntityError>> {
        if S::LINKS {
            return self.add_linked_to_rows(found, set);
        }
        let given = shared_values_of(&set);
        let added = self.set_number::<S>().and_then(|number| {
            let order = BulkChange::new(number, SetOperation::Add, NewValues::Clones(&set));
            self.change_found(found, BulkChange { given, ..order })
        });
        added.map_err(|error| Rejected { value: set, error })
    }

    /// Adds a separate set of components to each entity of rows, in the order of `to_entities`. Returns the number of entities
    /// that lacked one of the components.
    pub(crate) fn add_each_to_rows<S: ComponentSet>(
        &mut self,
        found: &RowSelection,
        sets: Vec<S>,
    ) -> Result<usize, Rejected<Vec<S>, EntityError>> {
        const {
            assert!(S::COUNT > 0, "`add_each` adds at least one component");
            assert!(
                !S::SHARED,
                "`add_each` cannot add shared components, because their values determine the chunk; use `add`, or \
                 `set_shared` for each entity"
            );
        }
        if let Err(error) = check_count::<S>(found.rows(), sets.len()) {
            return Err(Rejected { value: sets, error });
        }
        if S::LINKS {
            let entities: Vec<_> = self.entities_in(found).collect();
            return self.write_linked(&entities, sets, SetOperation::Add);
        }
        // The sets are moved out of this list only if there is no error.
        let sets: Vec<_> = sets.into_iter().map(ManuallyDrop::new).collect();
        let added = self.set_number::<S>().and_then(|set| {
            self.change_found(
                found,
                BulkChange::new(set, SetOperation::Add, NewValues::Each(&sets)),
            )
        });
        added.map_err(|error| {
            let value = sets.into_iter().map(ManuallyDrop::into_inner).collect();
            Rejected { value, error }
        })
    }

    /// Adds missing components to the entities of rows, like [`add_types`](Self::add_types). Returns the number of entities that
    /// lacked one of them.
    pub(crate) fn add_types_to_rows(
        &mut self,
        found: &RowSelection,
        types: &[ComponentType],
    ) -> Result<usize, EntityError> {
        let set = self.set_number_of(types)?;
        self.change_found(found, BulkChange::new(set, SetOperation::AddMissing, NewValues::Initial))
    }

    /// Removes components from the entities of rows, like [`remove`](Self::remove). Returns the number of entities that had one
    /// of them.
    pub(crate) fn remove_from_rows<S: ComponentSet>(
        &mut self,
        found: &RowSelection,
    ) -> Result<usize, EntityError> {
        let set = self.set_number::<S>()?;
        self.remove_set_from_found(found, set)
    }

    /// Removes components from the entities of rows, like [`remove_types`](Self::remove_types). Returns the number of entities
    /// that had one of them.
    pub(crate) fn remove_types_from_rows(
        &mut self,
        found: &RowSelection,
        types: &[ComponentType],
    ) -> Result<usize, EntityError> {
        let set = self.set_number_of(types)?;
        self.remove_set_from_found(found, set)
    }

    fn remove_set_from_found(
        &mut self,
        found: &RowSelection,
        set: u32,
    ) -> Result<usize, EntityError> {
        if self.sets.get(set).types.iter().any(|ty| ty.is_in_relationship()) {
            return self.remove_linked(&self.entities_in(found).collect::<Vec<_>>(), set);
        }
        self.change_found(found, BulkChange::new(set, SetOperation::Remove, NewValues::Nothing))
    }

    /// Sets a shared component of the entities of rows, like [`set_shared`](Self::set_shared). Returns the number of entities
    /// that had another value.
    pub(crate) fn set_shared_of_rows<S: ComponentSet>(
        &mut self,
        found: &RowSelection,
        value: &S,
    ) -> Result<usize, EntityError> {
        debug_assert!(S::SHARED && S::COUNT == 1, "one shared value");
        let set = self.set_number::<S>()?;
        let order = BulkChange::new(set, SetOperation::Set, NewValues::Nothing);
        self.change_found(found, BulkChange { given: shared_values_of(value), ..order })
    }

    /// Appends the entities of rows to a list.
    pub(crate) fn list_rows(&self, found: &RowSelection, list: &mut Vec<Entity>) {
        for &run in &found.runs {
            list.extend_from_slice(self.storage.chunks.entities_in(run));
        }
    }

    /// Returns an error unless all entities of rows have a component.
    pub(crate) fn check_all_have(
        &self,
        found: &RowSelection,
        component: ComponentType,
    ) -> Result<(), EntityError> {
        for &(archetype, first) in &found.archetypes {
            if !self.storage.archetypes[archetype].shape.has(component) {
                let entity = self.first_of(&found.runs[first]);
                return Err(EntityError::MissingComponent { entity, component });
            }
        }
        Ok(())
    }

    /// Iterates over the entities of rows, in order.
    pub(crate) fn entities_in<'a>(
        &'a self,
        found: &'a RowSelection,
    ) -> impl Iterator<Item = Entity> + 'a {
        found.runs.iter().flat_map(|&run| self.storage.chunks.entities_in(run).iter().copied())
    }

    /// Returns the first entity of a run.
    fn first_of(&self, run: &RowRange) -> Entity {
        self.storage.chunks[run.chunk].entities()[run.first as usize]
    }

    /// Enables or disables the entities of rows, like [`set_enabled`](Self::set_enabled). Returns the number of entities that
    /// were changed.
    pub(crate) fn set_rows_enabled(
        &mut self,
        found: &RowSelection,
        enabled: bool,
    ) -> Result<usize, EntityError> {
        let set = self.set_number::<Disabled>()?;
        let is_alone = !self.has_roots(found) && !self.found_has_links(found);
        let all = (!is_alone).then(|| self.with_groups(found, false));
        let disabled = ComponentType::of::<Disabled>();
        let mut switched = self.take_selection();
        for run in &all.as_ref().unwrap_or(found).runs {
            let chunk = &self.storage.chunks[run.chunk];
            if chunk.shape().has(disabled) == enabled {
                switched.push(chunk.archetype, *run);
            }
        }
        let (change, values) = if enabled {
            (SetOperation::Remove, NewValues::Nothing)
        } else {
            (SetOperation::Add, NewValues::Clones(&Disabled))
        };
        let changed = self.change_found(&switched, BulkChange::new(set, change, values));
        self.keep_selection(switched);
        all.into_iter().for_each(|all| self.keep_selection(all));
        changed
    }

    /// Applies a change to all rows. If there is an error, no row is changed. Returns the number of entities that were changed.
    fn change_found(
        &mut self,
        found: &RowSelection,
        order: BulkChange<'_>,
    ) -> Result<usize, EntityError> {
        if found.runs.is_empty() {
            return Ok(0);
        }
        let mut lists = mem::take(&mut self.memory.lists);
        for &(from, first) in &found.archetypes {
            let number = self.transfer_for(from, &found.runs[first], &order)?;
            lists.transfer_numbers.push(number);
        }
        let from = found.archetypes.iter().map(|&(from, _)| from);
        let to = lists.transfer_numbers.iter().filter(|&&action| action != NOWHERE);
        let to = to.map(|&action| self.transfers[action].to);
        self.sync_for_move(from.chain(to));
        let held = self.hold_values(order.set, order.given.iter());
        let Self { storage, transfers, sets, runs, .. } = &mut *held.manager;
        let types = &sets.get(order.set).types;
        let reserved = ReservedRows::nothing(storage, runs);
        let plan = BulkPlan::new(reserved, transfers, &order, types, &held.values, lists, found)?;
        let changed = plan.changed;
        let written = plan.write_values(transfers, types, &order.values);
        let mut lists = written.apply(transfers, found);
        // Old values are dropped last, because that runs user code. Unused shared values are dropped with `held`.
        lists.dead.clear();
        lists.clear();
        held.manager.memory.lists = lists;
        Ok(changed)
    }

    /// Finds or inserts the values of a set's shared types. They are kept alive as long as the result.
    pub(super) fn hold_values<'v>(
        &mut self,
        set: u32,
        given: impl Iterator<Item = &'v SharedValue>,
    ) -> HeldShared<'_> {
        let shared = &self.storage.shared;
        let types = self.sets.get(set).types.iter().filter(|ty| ty.is_shared());
        // All values are looked up before the first is inserted, because comparing them runs user code.
        let sought: InlineVec<(u32, SharedLookup), INLINE_SHARED> = types
            .zip(given)
            .map(|(&ty, value)| {
                let table = shared.table(ty).expect("the archetypes were looked for");
                (table, shared.look_up(table, value))
            })
            .collect();
        let mut held = HeldShared { manager: self, values: InlineVec::new() };
        for (table, sought) in sought {
            let shared = &mut held.manager.storage.shared;
            let index = shared.resolve(table, sought);
            shared.hold(table, index);
            held.values.push((table, index));
        }
        held
    }

    /// Returns whether selected rows have sources or lists of relationships.
    pub(in crate::manager) fn found_has_links(&self, found: &RowSelection) -> bool {
        found.archetypes.iter().any(|&(_, first)| self.has_links(found.runs[first].chunk))
    }

    /// Returns whether rows may contain roots of linked groups.
    fn has_roots(&self, found: &RowSelection) -> bool {
        found.archetypes.iter().any(|&(_, first)| self.has_groups(found.runs[first].chunk))
    }

    /// Returns the rows together with the rows of the members of their linked groups. If `nested`, the groups of members are
    /// included recursively.
    fn with_groups(&mut self, found: &RowSelection, nested: bool) -> RowSelection {
        let mut lists = mem::take(&mut self.group_lists);
        let GroupMemory { members, next, rows, .. } = &mut lists;
        rows.extend(rows_of(found));
        self.list_members(found, next);
        for run in found.runs.iter().filter(|run| self.has_linked_sources(run.chunk)) {
            for &root in self.storage.chunks.entities_in(*run) {
                self.push_linked_sources(root, next);
            }
        }
        while let Some(entity) = next.pop() {
            if let Some(at) = self.storage.table.locate(entity)
                && members.insert(entity)
            {
                rows.push((self.storage.archetype_at(at), at.chunk, at.row));
                // Linked sources have linked sources of their own, but groups are not nested.
                self.push_linked_sources(entity, next);
                if nested {
                    next.extend(self.group_of(entity).iter().map(|member| member.0));
                }
            }
        }
        let all = self.found_of(rows);
        lists.clear();
        self.group_lists = lists;
        all
    }

    /// Returns all rows of the world.
    pub(super) fn found_all(&self) -> RowSelection {
        let mut found = RowSelection::default();
        for (number, archetype) in self.storage.archetypes.iter() {
            for &chunk in &archetype.chunks {
                let rows = self.storage.chunks[chunk].len;
                found.push(number, RowRange { chunk, first: 0, rows });
            }
        }
        found
    }

    /// Returns the rows of entities, which may occur more than once.
    pub(crate) fn found_entities(&self, entities: &[Entity]) -> Result<RowSelection, EntityError> {
        let rows = entities.iter().map(|&entity| {
            let at = self.locate(entity)?;
            Ok((self.storage.archetype_at(at), at.chunk, at.row))
        });
        Ok(self.found_of(&mut rows.collect::<Result<_, EntityError>>()?))
    }

    /// Sorts rows, given as archetype, chunk and row, and removes duplicates.
    fn found_of(&self, rows: &mut Vec<(u32, u32, u32)>) -> RowSelection {
        rows.sort_unstable();
        rows.dedup();
        let mut found = self.take_selection();
        rows.iter().for_each(|&(archetype, chunk, row)| found.push_row(archetype, chunk, row));
        found
    }

    /// Lists the members of the linked groups whose roots are in the rows.
    fn list_members(&self, found: &RowSelection, members: &mut Vec<Entity>) {
        for run in found.runs.iter().filter(|run| self.has_groups(run.chunk)) {
            for &root in self.storage.chunks.entities_in(*run) {
                members.extend(self.group_of(root).iter().map(|member| member.0));
            }
        }
    }
}

/// Shared values that are kept alive while no chunk has them.
pub(super) struct HeldShared<'m> {
    pub(super) manager: &'m mut EntityManager,
    /// The table and the index of each value.
    pub(super) values: InlineVec<(u32, u32), INLINE_SHARED>,
}

impl Drop for HeldShared<'_> {
    fn drop(&mut self) {
        let shared = &mut self.manager.storage.shared;
        for &(table, index) in self.values.iter() {
            shared.let_go(table, index, 0);
        }
        drop(shared.take_unused());
    }
}

/// Returns an error unless there are as many sets as entities. If the set type is empty, any number is accepted.
pub(crate) fn check_count<S: ComponentSet>(
    expected: usize,
    found: usize,
) -> Result<(), EntityError> {
    let mut first = None;
    S::types(&mut |ty| _ = first.get_or_insert(ty));
    match first {
        Some(component) if expected != found => {
            Err(EntityError::WrongCount { component, expected, found })
        }
        _ => Ok(()),
    }
}

/// Iterates over rows. Yields the archetype, the chunk and the row of each.
fn rows_of(found: &RowSelection) -> impl Iterator<Item = (u32, u32, u32)> {
    let rows = |archetype, &RowRange { chunk, first, rows }: &RowRange| {
        (first..first + rows).map(move |row| (archetype, chunk, row))
    };
    found
        .by_archetype()
        .flat_map(move |(archetype, runs)| runs.iter().flat_map(move |run| rows(archetype, run)))
}

/// Memory for bulk changes, which the next change reuses. It is empty between two changes.
///
/// A change takes the lists that it needs, and returns them at its end. If user code panics meanwhile, they are dropped.
#[derive(Default)]
pub(in crate::manager) struct BulkMemory {
    found: Cell<Vec<RowSelection>>,
    lists: PlanLists,
}

/// The maximum number of selections that are kept. No more are used at a time.
const KEPT: usize = 4;

impl EntityManager {
    /// Returns an empty selection. It reuses the memory of a selection that was [kept](Self::keep_selection).
    pub(crate) fn take_selection(&self) -> RowSelection {
        let mut kept = self.memory.found.take();
        let found = kept.pop().unwrap_or_default();
        self.memory.found.set(kept);
        found
    }

    /// Keeps the memory of a selection for reuse.
    pub(crate) fn keep_selection(&self, mut found: RowSelection) {
        let mut kept = self.memory.found.take();
        if kept.len() < KEPT {
            found.clear();
            kept.push(found);
        }
        self.memory.found.set(kept);
    }
}
