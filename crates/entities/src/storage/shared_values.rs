//! The values of shared components. Each value is stored once, as long as a chunk has it.

use std::any::Any;
use std::sync::Arc;

use ancho_collections::FixedState;
use hashbrown::{HashMap, HashTable};

use crate::component::{ComponentType, SharedFunctions, SharedValue};
use crate::field::{EntityRemap, StateHasher};

/// All shared values of a world, in one table per type.
///
/// Comparing and hashing values runs user code. It runs only in [`look_up`](Self::look_up), in [`find`](Self::find) and when a
/// table is [created](Self::ensure), before anything is changed. Values that no chunk has any more are kept until they are
/// [taken](Self::take_unused) at the end of a change.
#[derive(Default)]
pub(crate) struct SharedValues {
    tables: Vec<SharedTable>,
    by_type: HashMap<ComponentType, u32, FixedState>,
    unused: Vec<SharedValue>,
}

/// The shared values of one type.
///
/// The default value, if the type has one, is at index 0 and is never removed. Other values are removed when no chunk has them.
#[derive(Clone)]
struct SharedTable {
    functions: SharedFunctions,
    slots: Vec<ValueSlot>,
    /// The free indices. The last one is used next.
    free: Vec<u32>,
    /// The indices of the values, by the hashes of the values.
    by_value: HashTable<u32>,
    /// The largest event count of a removed value. New values begin with it, so that the count of a value that is removed and
    /// inserted again never decreases.
    gone_events: u32,
}

#[derive(Clone)]
struct ValueSlot {
    /// The value, or `None` if the index is free.
    value: Option<SharedValue>,
    hash: u64,
    /// The number of chunks that have the shared value.
    references: u32,
    /// The number of times that rows were added or removed in chunks that no longer have the value, and of moves of whole chunks
    /// between groups.
    order_events: u32,
}

/// The result of looking up a shared value.
#[derive(Clone)]
pub(crate) enum SharedLookup {
    /// The index of the shared value in its table.
    Found(u32),
    /// The hash of a value that is not in the table, and the value.
    Missing(u64, SharedValue),
}

/// Values that no chunk has any more. They are dropped on drop, even if one of them panics. The memory of the list is kept.
#[must_use = "dropping them runs user code: do it at the end of a change"]
pub(crate) struct UnusedValues<'s>(&'s mut Vec<SharedValue>);

impl Drop for UnusedValues<'_> {
    fn drop(&mut self) {
        self.0.clear();
    }
}

impl SharedValues {
    /// Returns the number of a type's table, if there is one.
    pub(crate) fn table(&self, ty: ComponentType) -> Option<u32> {
        self.by_type.get(&ty).copied()
    }

    /// Returns the number of a shared type's table. Creates the table if necessary, which runs user code.
    pub(crate) fn ensure(&mut self, ty: ComponentType) -> u32 {
        let functions = ty.0.shared.expect("only types that are shared have tables");
        self.ensure_with(ty, || SharedTable::new(functions))
    }

    fn ensure_with(&mut self, ty: ComponentType, make: impl FnOnce() -> SharedTable) -> u32 {
        if let Some(number) = self.table(ty) {
            return number;
        }
        let table = make();
        let number = u32::try_from(self.tables.len()).expect("fewer types than numbers for them");
        self.tables.push(table);
        self.by_type.insert(ty, number);
        number
    }

    /// Looks up a value in a table. Runs user code.
    pub(crate) fn look_up(&self, table: u32, value: &SharedValue) -> SharedLookup {
        match self.find(table, &**value) {
            Ok(index) => SharedLookup::Found(index),
            Err(hash) => SharedLookup::Missing(hash, value.clone()),
        }
    }

    /// Returns the index of a value or, if it is not in the table, its hash. Runs user code.
    pub(crate) fn find(&self, table: u32, value: &(dyn Any + Send + Sync)) -> Result<u32, u64> {
        let SharedTable { functions, by_value, slots, .. } = &self.tables[table as usize];
        let hash = (functions.hash)(value);
        let equal = |&index: &u32| {
            let slot = &slots[index as usize];
            let other = slot.value.as_ref().expect("values that are found are there");
            slot.hash == hash && (functions.equal)(&**other, value)
        };
        by_value.find(hash, equal).copied().ok_or(hash)
    }

    /// Returns whether the values of a table may refer to entities.
    pub(crate) fn may_refer(&self, table: u32) -> bool {
        self.tables[table as usize].functions.remap.is_some()
    }

    /// Iterates over the values that chunks have and that may refer to entities. Yields the table and the index of each.
    pub(crate) fn referring(&self) -> impl Iterator<Item = (u32, u32)> {
        let tables = (0..).zip(&self.tables).filter(|(_, table)| table.functions.remap.is_some());
        tables.flat_map(|(number, table)| {
            let held = (0..).zip(&table.slots).filter(|(_, slot)| slot.references > 0);
            held.map(move |(index, _)| (number, index))
        })
    }

    /// Returns the value at an index with its entity references replaced, or `None` if no reference changes. Runs user code.
    pub(crate) fn remapped(
        &self,
        table: u32,
        index: u32,
        map: &mut EntityRemap<'_>,
    ) -> Option<SharedValue> {
        let remap = self.tables[table as usize].functions.remap?;
        remap(&**self.value(table, index), map)
    }

    /// Returns whether two values of a table are equal. Runs user code.
    pub(super) fn are_equal(&self, table: u32, left: &SharedValue, right: &SharedValue) -> bool {
        (self.tables[table as usize].functions.equal)(&**left, &**right)
    }

    /// Returns the index of a value that was looked up. A missing value is inserted; the caller has to [hold](Self::hold) it.
    pub(crate) fn resolve(&mut self, table: u32, lookup: SharedLookup) -> u32 {
        match lookup {
            SharedLookup::Found(index) => index,
            SharedLookup::Missing(hash, value) => self.tables[table as usize].insert(hash, value),
        }
    }

    /// Returns the value at an index.
    pub(crate) fn value(&self, table: u32, index: u32) -> &SharedValue {
        self.tables[table as usize].slots[index as usize]
            .value
            .as_ref()
            .expect("chunks have values that are there")
    }

    /// Feeds the value at an index to a hasher.
    pub(crate) fn feed(&self, table: u32, index: u32, state: &mut StateHasher) {
        (self.tables[table as usize].functions.feed)(&**self.value(table, index), state);
    }

    /// Returns the values of a table by index, with `None` for free indices, and the free indices in the order of their use.
    pub(crate) fn slots(&self, table: u32) -> (impl Iterator<Item = Option<&SharedValue>>, &[u32]) {
        let SharedTable { slots, free, .. } = &self.tables[table as usize];
        (slots.iter().map(|slot| slot.value.as_ref()), free)
    }

    /// Adds the values of a type to tables without values, at the same indices as in another world if possible. `free` lists the
    /// indices without values in the order of their use. Returns the new index of each index. Runs user code.
    ///
    /// Returns `None` if two values are equal, or `free` does not list the indices without values.
    pub(crate) fn restore(
        &mut self,
        ty: ComponentType,
        slots: &[Option<SharedValue>],
        free: &[u32],
    ) -> Option<Vec<u32>> {
        let number = self.ensure(ty);
        let default = self.tables[number as usize].functions.default;
        let mut indices = Vec::with_capacity(slots.len());
        let is_default = |value: &Option<SharedValue>| {
            let value = value.as_ref()?;
            Some(self.find(number, &**value) == Ok(0))
        };
        let is_same = default.is_none() || slots.first().and_then(is_default) == Some(true);
        if !is_same || self.tables[number as usize].slots.len() > usize::from(default.is_some()) {
            // The default of the type has changed since, so that indices shift.
            for value in slots {
                let lookup = value.as_ref().map(|value| self.look_up(number, value));
                indices.push(lookup.map_or(0, |lookup| self.resolve(number, lookup)));
            }
            return Some(indices);
        }
        let mut left: Vec<u32> = free.to_vec();
        left.sort_unstable();
        let without = (0..).zip(slots).filter(|(_, value)| value.is_none()).map(|(index, _)| index);
        if !without.eq(left.iter().copied()) {
            return None;
        }
        for (index, value) in (0_u32..).zip(slots) {
            indices.push(index);
            if index == 0 && default.is_some() {
                continue;
            }
            match value {
                Some(value) => {
                    let hash = self.find(number, &**value).err()?;
                    // No index is free yet, so that the value gets the next one.
                    self.tables[number as usize].insert(hash, value.clone());
                }
                None => {
                    let slot = ValueSlot { value: None, hash: 0, references: 0, order_events: 0 };
                    self.tables[number as usize].slots.push(slot);
                }
            }
        }
        self.tables[number as usize].free = free.to_vec();
        Some(indices)
    }

    /// Removes all values that no chunk has, except defaults. The caller drops them.
    pub(crate) fn forget_all_unused(&mut self) {
        for table in 0..self.tables.len() as u32 {
            for index in 0..self.tables[table as usize].slots.len() as u32 {
                self.forget_unused(table, index);
            }
        }
    }

    /// Iterates over all values of a table. The default comes first, if there is one, even if no chunk has it.
    pub(crate) fn iter(&self, table: u32) -> impl Iterator<Item = &SharedValue> {
        self.tables[table as usize].slots.iter().filter_map(|slot| slot.value.as_ref())
    }

    /// Returns the number of chunks that have the value at an index.
    pub(crate) fn references(&self, table: u32, index: u32) -> u32 {
        self.tables[table as usize].slots[index as usize].references
    }

    /// Returns the number of events in chunks that no longer have the value, and of moves of whole chunks.
    pub(crate) fn order_events(&self, table: u32, index: u32) -> u32 {
        self.tables[table as usize].slots[index as usize].order_events
    }

    /// Returns the event count of a value that is not in the table. If the value was removed, this is at least its count at that
    /// time.
    pub(crate) fn gone_events(&self, table: u32) -> u32 {
        self.tables[table as usize].gone_events
    }

    /// Continues the event counts of the tables `before`, which these tables replace, so that no count decreases. Runs no user
    /// code.
    ///
    /// `chunks` gets a table and an index of `before`, and returns the events that chunks have counted for the value, in addition
    /// to the count of the table.
    pub(crate) fn replace(&mut self, before: &Self, chunks: impl Fn(u32, u32) -> u32) {
        // The types are sorted by table, so that new tables get the same numbers in every run.
        let mut types: Vec<_> = before.by_type.iter().map(|(&ty, &number)| (number, ty)).collect();
        types.sort_unstable_by_key(|&(number, _)| number);
        for (number, ty) in types {
            let other = &before.tables[number as usize];
            let total = |index: u32| {
                other.slots[index as usize].order_events.wrapping_add(chunks(number, index))
            };
            let own = self.ensure_with(ty, || other.emptied());
            let table = &mut self.tables[own as usize];
            // Values that both storages share have the same address. Values with different addresses may still be equal.
            let mut left: HashMap<*const (), u32, FixedState> = (0..)
                .zip(&other.slots)
                .filter_map(|(index, slot)| Some((address(slot.value.as_ref()?), index)))
                .collect();
            let has_default = table.functions.default.is_some();
            let mut others = Vec::new();
            for (index, slot) in (0..).zip(&mut table.slots) {
                let Some(value) = &slot.value else { continue };
                let is_default = index == 0 && has_default;
                let old = if is_default { other.slots[0].value.as_ref() } else { Some(value) };
                match old.and_then(|old| left.remove(&address(old))) {
                    Some(old) => slot.order_events = total(old),
                    None => others.push(slot),
                }
            }
            let gone = left.values().map(|&index| total(index)).fold(other.gone_events, newest);
            others.into_iter().for_each(|slot| slot.order_events = gone);
            table.gone_events = gone;
        }
    }

    /// Subtracts events from the count of a value, because a chunk continues to count them.
    pub(crate) fn uncount(&mut self, table: u32, index: u32, events: u32) {
        let slot = self.slot_mut(table, index);
        slot.order_events = slot.order_events.wrapping_sub(events);
    }

    /// Adds one to the event count of a shared value, for an event that no chunk counts.
    pub(crate) fn count_event(&mut self, table: u32, index: u32) {
        let slot = self.slot_mut(table, index);
        slot.order_events = slot.order_events.wrapping_add(1);
    }

    /// Adds a chunk to the number of chunks that have a value.
    pub(crate) fn hold(&mut self, table: u32, index: u32) {
        self.slot_mut(table, index).references += 1;
    }

    fn slot_mut(&mut self, table: u32, index: u32) -> &mut ValueSlot {
        &mut self.tables[table as usize].slots[index as usize]
    }

    /// Removes a chunk from the number of chunks that have a value, and adds the events of the chunk.
    pub(crate) fn let_go(&mut self, table: u32, index: u32, events: u32) {
        let slot = self.slot_mut(table, index);
        slot.references -= 1;
        slot.order_events = slot.order_events.wrapping_add(events);
        self.forget_unused(table, index);
    }

    /// Releases values that were held, and drops those that no chunk has. Dropping values runs user code.
    pub(crate) fn let_go_all(&mut self, held: impl Iterator<Item = (u32, u32)>) {
        // The values are sorted, because the order determines which indices are reused.
        let mut held: Vec<_> = held.collect();
        held.sort_unstable();
        held.into_iter().for_each(|(table, index)| self.let_go(table, index, 0));
        drop(self.take_unused());
    }

    /// Removes a value if no chunk has it, unless it is the default.
    pub(crate) fn forget_unused(&mut self, table: u32, index: u32) {
        let table = &mut self.tables[table as usize];
        let is_default = index == 0 && table.functions.default.is_some();
        let slot = &mut table.slots[index as usize];
        if slot.references > 0 || is_default {
            return;
        }
        let Some(value) = slot.value.take() else { return };
        table.gone_events = newest(table.gone_events, slot.order_events);
        // The entry is found by its index, so that no user code runs.
        if let Ok(entry) = table.by_value.find_entry(slot.hash, |&at| at == index) {
            entry.remove();
        }
        table.free.push(index);
        self.unused.push(value);
    }

    /// Returns the values that no chunk has any more. The caller drops them when the change is complete.
    pub(crate) fn take_unused(&mut self) -> UnusedValues<'_> {
        UnusedValues(&mut self.unused)
    }

    /// Copies the tables, with the same values. Runs no user code.
    pub(crate) fn fork(&self) -> Self {
        Self { tables: self.tables.clone(), by_type: self.by_type.clone(), unused: Vec::new() }
    }

    /// Checks that the reference counts are equal to the given counts, by table and index.
    pub(crate) fn check(
        &self,
        counted: &HashMap<(u32, u32), u32, FixedState>,
    ) -> Result<(), String> {
        let unused = self.unused.len();
        holds!(unused == 0, "{unused} shared values are dead and not dropped");
        for (number, table) in (0_u32..).zip(&self.tables) {
            for (index, slot) in (0_u32..).zip(&table.slots) {
                let place = format!("value {index} of table {number}");
                let references = counted.get(&(number, index)).copied().unwrap_or(0);
                let has = slot.references;
                holds!(references == has, "{references} chunks have {place}, which counts {has}");
                let is_default = index == 0 && table.functions.default.is_some();
                holds!(
                    slot.value.is_some() == (references > 0 || is_default),
                    "{place} has {references} owners, and is there or not"
                );
                let is_free = table.free.iter().filter(|&&free| free == index).count();
                holds!(
                    is_free == usize::from(slot.value.is_none()),
                    "{place} is {is_free} times among those that are free"
                );
                let found = table.by_value.find(slot.hash, |&at| at == index).is_some();
                holds!(found == slot.value.is_some(), "{place} is found by its hash, or should be");
            }
            let there = table.slots.len() - table.free.len();
            holds!(
                table.by_value.len() == there,
                "{there} values of table {number} are there, and not found"
            );
        }
        Ok(())
    }
}

impl SharedTable {
    /// Creates a table with the default value, if there is one. Runs user code.
    fn new(functions: SharedFunctions) -> Self {
        let default = functions.default.map(|make| {
            let value = make();
            ((functions.hash)(&*value), value)
        });
        Self::with_default(functions, default)
    }

    /// Creates a table that has only the same default value.
    fn emptied(&self) -> Self {
        let default = self.functions.default.map(|_| {
            let ValueSlot { hash, value, .. } = &self.slots[0];
            (*hash, value.clone().expect("the default stays"))
        });
        Self::with_default(self.functions, default)
    }

    fn with_default(functions: SharedFunctions, default: Option<(u64, SharedValue)>) -> Self {
        let (slots, free, by_value) = (Vec::new(), Vec::new(), HashTable::new());
        let mut table = Self { functions, slots, free, by_value, gone_events: 0 };
        if let Some((hash, value)) = default {
            table.insert(hash, value);
        }
        table
    }

    fn insert(&mut self, hash: u64, value: SharedValue) -> u32 {
        let order_events = self.gone_events;
        let slot = ValueSlot { value: Some(value), hash, references: 0, order_events };
        let index = if let Some(index) = self.free.pop() {
            self.slots[index as usize] = slot;
            index
        } else {
            self.slots.push(slot);
            let slots = &self.slots;
            make_roomy(&mut self.by_value, slots.len(), |&at| slots[at as usize].hash);
            u32::try_from(slots.len() - 1).expect("fewer shared values than entities")
        };
        let slots = &self.slots;
        self.by_value.insert_unique(hash, index, |&at| slots[at as usize].hash);
        index
    }
}

/// Returns the greater of two counts that may wrap around.
fn newest(one: u32, other: u32) -> u32 {
    if one.wrapping_sub(other).cast_signed() > 0 { one } else { other }
}

/// Returns the address of a value, which identifies the value without running user code.
fn address(value: &SharedValue) -> *const () {
    Arc::as_ptr(value).cast()
}

/// Reserves memory in a hash table of at most `most` values, so that inserting and removing values never allocates again.
///
/// The entries of removed values are not reused immediately. When no other entries are left, they are cleaned up in place if the
/// table is at least half empty. Otherwise the table would grow.
pub(super) fn make_roomy(table: &mut HashTable<u32>, most: usize, hash: impl Fn(&u32) -> u64) {
    // One in eight buckets always remains empty.
    if table.num_buckets() < 4 * most {
        table.reserve(3 * most - table.len(), hash);
    }
}

/// Shared values that are all looked up before the first is inserted, because looking up runs user code.
///
/// Equal values that are not in a table yet get the same index.
#[derive(Default)]
pub(crate) struct SharedLookups {
    /// The table and the result of each lookup.
    all: Vec<(u32, PendingLookup)>,
    /// The positions in `all` of missing values, by table and hash.
    new: HashMap<(u32, u64), Vec<usize>, FixedState>,
}

enum PendingLookup {
    Sought(SharedLookup),
    /// The value is equal to the missing value of the lookup at this position.
    As(usize),
}

impl SharedLookups {
    /// Looks a value up in its table. Runs user code.
    pub(crate) fn look_up(&mut self, values: &SharedValues, table: u32, value: &SharedValue) {
        let known = match values.look_up(table, value) {
            SharedLookup::Found(index) => PendingLookup::Sought(SharedLookup::Found(index)),
            SharedLookup::Missing(hash, value) => {
                let alike = self.new.entry((table, hash)).or_default();
                let is_same = |&at: &usize| match &self.all[at].1 {
                    PendingLookup::Sought(SharedLookup::Missing(_, other)) => {
                        values.are_equal(table, other, &value)
                    }
                    _ => false,
                };
                if let Some(at) = alike.iter().copied().find(is_same) {
                    PendingLookup::As(at)
                } else {
                    alike.push(self.all.len());
                    PendingLookup::Sought(SharedLookup::Missing(hash, value))
                }
            }
        };
        self.all.push((table, known));
    }

    /// Inserts missing values, and adds a chunk to the count of each value. Returns tables and indices in the order of the
    /// lookups. Runs no user code.
    pub(crate) fn hold(self, values: &mut SharedValues) -> Vec<(u32, u32)> {
        let mut places = Vec::<(u32, u32)>::with_capacity(self.all.len());
        for (table, known) in self.all {
            let index = match known {
                PendingLookup::Sought(lookup) => values.resolve(table, lookup),
                PendingLookup::As(at) => places[at].1,
            };
            values.hold(table, index);
            places.push((table, index));
        }
        places
    }
}
