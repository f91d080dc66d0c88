//! Changes of all entities that a query has found.
//!
//! A change is done in three steps, so that it is done as a whole, or not at all:
//!
//! 1. [`plan`]: what becomes of the rows of each chunk is decided, and room is made for those that move. BulkMemory can be missing.
//! 2. [`values`]: what the entities are given is cloned, or made by default. That is code of the user, and can panic.
//! 3. [`apply`]: values, ids and whole chunks go where they belong. Nothing is refused any more. What is left over is dropped
//!    at the end.

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
use crate::shared::{Shared, SharedComponent};
use crate::storage::{Change, FEW_SHARED, Few, NOWHERE, Reserved, Run, Sought};
use apply::NewValues;
use plan::{BulkPlan, PlanLists};

mod apply;
mod plan;

/// Rows that a query has found.
#[derive(Debug, Default)]
pub(crate) struct RowSelection {
    /// Those of one archetype follow each other, and so do those of one chunk, which rise.
    runs: Vec<Run>,
    /// The archetypes, each with the number of its first run.
    archetypes: Vec<(u32, usize)>,
    /// Which rows of a chunk have changed: memory for who looks for that.
    pub(crate) changed: Vec<u64>,
}

impl RowSelection {
    /// Makes room for so many runs.
    pub(crate) fn reserve(&mut self, runs: usize) {
        self.runs.reserve(runs);
    }

    /// Leaves nothing but the memory.
    fn clear(&mut self) {
        self.runs.clear();
        self.archetypes.clear();
        self.changed.clear();
    }

    /// Adds rows of an archetype.
    #[inline]
    pub(crate) fn push(&mut self, archetype: u32, run: Run) {
        if self.archetypes.last().is_none_or(|&(last, _)| last != archetype) {
            self.archetypes.push((archetype, self.runs.len()));
        }
        self.runs.push(run);
    }

    /// Adds a row of an archetype, behind all that were added.
    fn push_row(&mut self, archetype: u32, chunk: u32, row: u32) {
        match self.runs.last_mut() {
            Some(run) if run.chunk == chunk && run.first + run.rows == row => run.rows += 1,
            _ => self.push(archetype, Run { chunk, first: row, rows: 1 }),
        }
    }

    /// How many rows there are.
    pub(super) fn rows(&self) -> usize {
        self.runs.iter().map(|run| run.rows as usize).sum()
    }

    /// The archetypes, each with its runs.
    pub(super) fn by_archetype(&self) -> impl Iterator<Item = (u32, &[Run])> {
        let ends = self.archetypes.iter().skip(1).map(|&(_, first)| first);
        let ends = ends.chain([self.runs.len()]);
        self.archetypes
            .iter()
            .zip(ends)
            .map(|(&(archetype, first), end)| (archetype, &self.runs[first..end]))
    }
}

/// What is done to all entities that were found.
struct BulkChange<'a> {
    /// Which components, by the number of the set.
    set: u32,
    change: Change,
    values: NewValues<'a>,
    /// The values of the set's shared types.
    given: Few<SharedValue, FEW_SHARED>,
}

impl EntityManager {
    /// Despawns what was found, as [`Batch::despawn`](super::Batch::despawn) does. Returns how many entities that were.
    pub(crate) fn despawn_rows(&mut self, found: &RowSelection) -> Result<usize, EntityError> {
        let set = self.set_number::<()>()?;
        let order = BulkChange {
            set,
            change: Change::Despawn,
            values: NewValues::Nothing,
            given: Few::new(),
        };
        if self.has_roots(found) {
            let all = self.with_groups(found);
            let despawned = self.change_found(&all, order);
            self.keep_selection(all);
            return despawned;
        }
        self.change_found(found, order)
    }

    /// Adds components to what was found, as [`add`](Self::add) does. Returns for how many entities one was new.
    pub(crate) fn add_to_rows<S: CloneSet>(
        &mut self,
        found: &RowSelection,
        set: S,
    ) -> Result<usize, Rejected<S, EntityError>> {
        let given = shared_values_of(&set);
        let added = self.set_number::<S>().and_then(|number| {
            let values = NewValues::Clones(&set);
            self.change_found(found, BulkChange { set: number, change: Change::Add, values, given })
        });
        match added {
            Ok(added) => Ok(added),
            Err(error) => Err(Rejected { value: set, error }),
        }
    }

    /// Adds a set of components to each entity that was found, in the order of `to_entities`. Returns for how many entities one was
    /// new.
    pub(crate) fn add_each_to_rows<S: ComponentSet>(
        &mut self,
        found: &RowSelection,
        sets: Vec<S>,
    ) -> Result<usize, Rejected<Vec<S>, EntityError>> {
        const {
            assert!(S::COUNT > 0, "`add_each` adds one component at least");
            assert!(
                !S::SHARED,
                "`add_each` adds no shared component, since its values divide entities among chunks; use `add`, or `set_shared` \
                 for each entity"
            );
        }
        let (expected, given) = (found.rows(), sets.len());
        if expected != given {
            let mut first = None;
            S::types(&mut |ty| _ = first.get_or_insert(ty));
            let component = first.expect("there is one at least");
            let error = EntityError::WrongCount { component, expected, found: given };
            return Err(Rejected { value: sets, error });
        }
        // They are moved if there is no error, and only then.
        let sets: Vec<_> = sets.into_iter().map(ManuallyDrop::new).collect();
        let added = self.set_number::<S>().and_then(|set| {
            let (change, values) = (Change::Add, NewValues::Each(&sets));
            self.change_found(found, BulkChange { set, change, values, given: Few::new() })
        });
        added.map_err(|error| {
            let value = sets.into_iter().map(ManuallyDrop::into_inner).collect();
            Rejected { value, error }
        })
    }

    /// Adds the components that are missing to what was found, as [`add_types`](Self::add_types) does. Returns how many entities
    /// lacked one.
    pub(crate) fn add_types_to_rows(
        &mut self,
        found: &RowSelection,
        types: &[ComponentType],
    ) -> Result<usize, EntityError> {
        let set = self.set_number_of(types)?;
        let (change, values) = (Change::AddMissing, NewValues::Initial);
        self.change_found(found, BulkChange { set, change, values, given: Few::new() })
    }

    /// Removes components from what was found, as [`remove`](Self::remove) does. Returns how many entities had one.
    pub(crate) fn remove_from_rows<S: ComponentSet>(
        &mut self,
        found: &RowSelection,
    ) -> Result<usize, EntityError> {
        let set = self.set_number::<S>()?;
        self.remove_set_from_found(found, set)
    }

    /// Removes components from what was found, as [`remove_types`](Self::remove_types) does.
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
        let (change, values) = (Change::Remove, NewValues::Nothing);
        self.change_found(found, BulkChange { set, change, values, given: Few::new() })
    }

    /// Gives what was found another value of a shared component, as [`set_shared`](Self::set_shared) does. Returns how many
    /// entities had another.
    pub(crate) fn set_shared_of_rows<T: SharedComponent>(
        &mut self,
        found: &RowSelection,
        value: Shared<T>,
    ) -> Result<usize, EntityError> {
        let set = self.set_number::<Shared<T>>()?;
        let given = [value.into_erased()].into_iter().collect();
        let (change, values) = (Change::Set, NewValues::Nothing);
        self.change_found(found, BulkChange { set, change, values, given })
    }

    /// Refuses what was found if not all entities have a component.
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

    /// The entities of rows, in their order.
    pub(super) fn entities_in<'a>(
        &'a self,
        found: &'a RowSelection,
    ) -> impl Iterator<Item = Entity> + 'a {
        found.runs.iter().flat_map(|run| {
            let entities = self.storage.chunks[run.chunk].entities();
            entities[run.first as usize..][..run.rows as usize].iter().copied()
        })
    }

    /// The first entity of a run.
    fn first_of(&self, run: &Run) -> Entity {
        self.storage.chunks[run.chunk].entities()[run.first as usize]
    }

    /// Lets what was found take part or not, as [`set_enabled`](Self::set_enabled) does. Returns how many entities that was a
    /// change for.
    pub(crate) fn set_rows_enabled(
        &mut self,
        found: &RowSelection,
        enabled: bool,
    ) -> Result<usize, EntityError> {
        let set = self.set_number::<Disabled>()?;
        let all = self.has_roots(found).then(|| self.with_members(found));
        let disabled = ComponentType::of::<Disabled>();
        let mut switched = self.take_selection();
        for run in &all.as_ref().unwrap_or(found).runs {
            let chunk = &self.storage.chunks[run.chunk];
            if chunk.shape().has(disabled) == enabled {
                switched.push(chunk.archetype, *run);
            }
        }
        let order = if enabled {
            BulkChange {
                set,
                change: Change::Remove,
                values: NewValues::Nothing,
                given: Few::new(),
            }
        } else {
            let values = NewValues::Clones(&Disabled);
            BulkChange { set, change: Change::Add, values, given: Few::new() }
        };
        let changed = self.change_found(&switched, order);
        self.keep_selection(switched);
        all.into_iter().for_each(|all| self.keep_selection(all));
        changed
    }

    /// Does what was ordered to all that was found: everything, or nothing. Returns for how many entities that was a change.
    fn change_found(
        &mut self,
        found: &RowSelection,
        order: BulkChange<'_>,
    ) -> Result<usize, EntityError> {
        if found.runs.is_empty() {
            return Ok(0);
        }
        let mut lists = mem::take(&mut self.memory.lists);
        self.transfers_for(found, &order, &mut lists.transfer_numbers)?;
        let from = found.archetypes.iter().map(|&(from, _)| from);
        let to = lists.transfer_numbers.iter().filter(|&&action| action != NOWHERE);
        let to = to.map(|&action| self.transfers[action].to);
        self.sync_for_move(from.chain(to));
        let held = self.hold_values(&order);
        let Self { storage, transfers, sets, runs, .. } = &mut *held.manager;
        let types = &sets.get(order.set).types;
        let reserved = Reserved::nothing(storage, runs);
        let plan = BulkPlan::new(reserved, transfers, &order, types, &held.values, lists, found)?;
        let changed = plan.changed(transfers, order.change);
        let written = plan.write_values(transfers, types, &order.values);
        let (mut lists, dead) = written.apply(transfers, found);
        // Only now, since it is code of the user. The shared values that nobody has any more follow it.
        lists.dead = dead.finish();
        lists.clear();
        held.manager.memory.lists = lists;
        Ok(changed)
    }

    /// Looks for the shared values of an order, and keeps them as long as what is returned.
    fn hold_values(&mut self, order: &BulkChange<'_>) -> HeldShared<'_> {
        let shared = &self.storage.shared;
        let types = self.sets.get(order.set).types.iter().filter(|ty| ty.is_shared());
        // All of them are looked for before the first is put into its table, since that is code of the user.
        let sought: Few<(u32, Sought), FEW_SHARED> = types
            .zip(order.given.iter())
            .map(|(&ty, value)| {
                let table = shared.table(ty).expect("the archetypes were looked for");
                (table, shared.seek(table, value))
            })
            .collect();
        let mut held = HeldShared { manager: self, values: Few::new() };
        for (table, sought) in sought {
            let shared = &mut held.manager.storage.shared;
            let index = shared.settle(table, sought);
            shared.hold(table, index);
            held.values.push((table, index));
        }
        held
    }

    /// Whether there are roots of groups among what was found.
    fn has_roots(&self, found: &RowSelection) -> bool {
        found.archetypes.iter().any(|&(_, first)| self.has_groups(found.runs[first].chunk))
    }

    /// What was found, and the members of its groups, and of theirs.
    fn with_groups(&mut self, found: &RowSelection) -> RowSelection {
        let mut lists = mem::take(&mut self.group_lists);
        let GroupMemory { members, next, rows, .. } = &mut lists;
        rows.extend(rows_of(found));
        self.list_members(found, next);
        while let Some(entity) = next.pop() {
            if let Some(at) = self.storage.table.locate(entity)
                && members.insert(entity)
            {
                rows.push((self.storage.archetype_at(at), at.chunk, at.row));
                next.extend(self.group_of(entity).iter().map(|member| member.0));
            }
        }
        let all = self.found_of(rows);
        lists.clear();
        self.group_lists = lists;
        all
    }

    /// What was found, and the members of its groups.
    fn with_members(&mut self, found: &RowSelection) -> RowSelection {
        let mut lists = mem::take(&mut self.group_lists);
        let GroupMemory { next, rows, .. } = &mut lists;
        rows.extend(rows_of(found));
        self.list_members(found, next);
        let members = next.iter().filter_map(|&member| self.storage.table.locate(member));
        rows.extend(members.map(|at| (self.storage.archetype_at(at), at.chunk, at.row)));
        let all = self.found_of(rows);
        lists.clear();
        self.group_lists = lists;
        all
    }

    /// All rows there are.
    pub(super) fn found_all(&self) -> RowSelection {
        let mut found = RowSelection::default();
        for (number, archetype) in self.storage.archetypes.iter() {
            for &chunk in &archetype.chunks {
                let rows = self.storage.chunks[chunk].len;
                found.push(number, Run { chunk, first: 0, rows });
            }
        }
        found
    }

    /// The rows of these entities, some perhaps named twice.
    pub(super) fn found_entities(&self, entities: &[Entity]) -> Result<RowSelection, EntityError> {
        let rows = entities.iter().map(|&entity| {
            let at = self.locate(entity)?;
            Ok((self.storage.archetype_at(at), at.chunk, at.row))
        });
        Ok(self.found_of(&mut rows.collect::<Result<_, EntityError>>()?))
    }

    /// Rows of chunks of archetypes in any order, some perhaps named twice.
    fn found_of(&self, rows: &mut Vec<(u32, u32, u32)>) -> RowSelection {
        rows.sort_unstable();
        rows.dedup();
        let mut found = self.take_selection();
        rows.iter().for_each(|&(archetype, chunk, row)| found.push_row(archetype, chunk, row));
        found
    }

    /// PlanLists the members of groups whose roots were found.
    fn list_members(&self, found: &RowSelection, members: &mut Vec<Entity>) {
        for run in found.runs.iter().filter(|run| self.has_groups(run.chunk)) {
            let entities = self.storage.chunks[run.chunk].entities();
            for &root in &entities[run.first as usize..][..run.rows as usize] {
                members.extend(self.group_of(root).iter().map(|member| member.0));
            }
        }
    }
}

/// Shared values that are there until this goes, also while no chunk has them.
struct HeldShared<'m> {
    manager: &'m mut EntityManager,
    /// By table and index.
    values: Few<(u32, u32), FEW_SHARED>,
}

impl Drop for HeldShared<'_> {
    fn drop(&mut self) {
        let shared = &mut self.manager.storage.shared;
        for &(table, index) in self.values.iter() {
            shared.let_go(table, index, 0);
        }
        drop(shared.take_dead());
    }
}

/// The archetypes, chunks and rows of what was found.
fn rows_of(found: &RowSelection) -> impl Iterator<Item = (u32, u32, u32)> {
    let rows = |archetype, &Run { chunk, first, rows }: &Run| {
        (first..first + rows).map(move |row| (archetype, chunk, row))
    };
    found
        .by_archetype()
        .flat_map(move |(archetype, runs)| runs.iter().flat_map(move |run| rows(archetype, run)))
}

/// What changes of all that was found have lists for. Between two of them, nothing is in these.
///
/// Who changes something takes what is needed, and puts it back when all is done. If code of the user panics meanwhile, it is
/// dropped, with what is in it.
#[derive(Default)]
pub(in crate::manager) struct BulkMemory {
    found: Cell<Vec<RowSelection>>,
    lists: PlanLists,
}

/// How many lists of rows are kept. More are never used at a time.
const KEPT: usize = 4;

impl EntityManager {
    /// A list without rows, with the memory of one that was [kept](Self::keep_selection).
    pub(crate) fn take_selection(&self) -> RowSelection {
        let mut kept = self.memory.found.take();
        let found = kept.pop().unwrap_or_default();
        self.memory.found.set(kept);
        found
    }

    /// Takes the memory of a list that is not needed any more.
    pub(crate) fn keep_selection(&self, mut found: RowSelection) {
        let mut kept = self.memory.found.take();
        if kept.len() < KEPT {
            found.clear();
            kept.push(found);
        }
        self.memory.found.set(kept);
    }
}
