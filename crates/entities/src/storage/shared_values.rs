//! The values of shared components: each once, as long as a chunk has it.

use std::any::Any;
use std::sync::Arc;

use ancho_collections::FixedState;
use hashbrown::{HashMap, HashTable};

use crate::component::{ComponentType, SharedFunctions, SharedValue};
use crate::field::{EntityRemap, StateHasher};

/// All shared values of a world, a table for each type.
///
/// Code of the user, which compares and hashes them, runs in [`look_up`](Self::look_up) and when a table is
/// [made](Self::ensure), and nowhere else: while nothing is changed. Values that nobody has any more are kept until they
/// are [taken](Self::take_unused), by who is about to end a change.
#[derive(Default)]
pub(crate) struct SharedValues {
    tables: Vec<SharedTable>,
    by_type: HashMap<ComponentType, u32, FixedState>,
    dead: Vec<SharedValue>,
}

/// The values of one type.
///
/// If the type has a default, that is at index 0 and stays. All other values are there as long as a chunk has them.
#[derive(Clone)]
struct SharedTable {
    functions: SharedFunctions,
    slots: Vec<ValueSlot>,
    /// Indices that are free, the one to be used next last.
    free: Vec<u32>,
    /// The indices of values, by the hashes of those.
    by_value: HashTable<u32>,
    /// The most that was counted for a value that is gone. Values that come begin there, so that none counts backwards when it
    /// comes again.
    gone_events: u32,
}

#[derive(Clone)]
struct ValueSlot {
    /// `None` if it is free.
    value: Option<SharedValue>,
    hash: u64,
    /// How many chunks have it.
    references: u32,
    /// How often rows came or went in chunks that had it and are gone, or whole chunks did where they are.
    order_events: u32,
}

/// What a table knows of a value.
#[derive(Clone)]
pub(crate) enum SharedLookup {
    /// It is there, at this index.
    Found(u32),
    /// It is not, and would have this hash.
    Missing(u64, SharedValue),
}

/// Values that nobody has any more. They are dropped with this: all of them, also when one panics. The memory of their list is kept.
#[must_use = "to drop them runs code of the user, which is for the end of a change"]
pub(crate) struct UnusedValues<'s>(&'s mut Vec<SharedValue>);

impl Drop for UnusedValues<'_> {
    fn drop(&mut self) {
        self.0.clear();
    }
}

impl SharedValues {
    /// The table of a type, if there is one.
    pub(crate) fn table(&self, ty: ComponentType) -> Option<u32> {
        self.by_type.get(&ty).copied()
    }

    /// The table of a type that is shared, which is made if it is not there: then code of the user runs.
    pub(crate) fn ensure(&mut self, ty: ComponentType) -> u32 {
        if let Some(number) = self.table(ty) {
            return number;
        }
        let table = SharedTable::new(ty.0.shared.expect("only types that are shared have tables"));
        let number = u32::try_from(self.tables.len()).expect("fewer types than numbers for them");
        self.tables.push(table);
        self.by_type.insert(ty, number);
        number
    }

    /// Looks for a value. Runs code of the user.
    pub(crate) fn look_up(&self, table: u32, value: &SharedValue) -> SharedLookup {
        match self.find(table, &**value) {
            Ok(index) => SharedLookup::Found(index),
            Err(hash) => SharedLookup::Missing(hash, value.clone()),
        }
    }

    /// The index of a value, or the hash that it would have. Runs code of the user.
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

    /// Whether values of a table may refer to entities.
    pub(crate) fn may_refer(&self, table: u32) -> bool {
        self.tables[table as usize].functions.remap.is_some()
    }

    /// The places of all values that chunks have and that may refer to entities, by table and index.
    pub(crate) fn referring(&self) -> impl Iterator<Item = (u32, u32)> {
        let tables = (0..).zip(&self.tables).filter(|(_, table)| table.functions.remap.is_some());
        tables.flat_map(|(number, table)| {
            let held = (0..).zip(&table.slots).filter(|(_, slot)| slot.references > 0);
            held.map(move |(index, _)| (number, index))
        })
    }

    /// The value at an index with other entities in it. `None` if it refers to none, or all of them stay. Runs code of the user.
    pub(crate) fn remapped(
        &self,
        table: u32,
        index: u32,
        map: &mut EntityRemap<'_>,
    ) -> Option<SharedValue> {
        let remap = self.tables[table as usize].functions.remap?;
        remap(&**self.value(table, index), map)
    }

    /// Whether two values of a table are equal. Runs code of the user.
    pub(super) fn are_equal(&self, table: u32, left: &SharedValue, right: &SharedValue) -> bool {
        (self.tables[table as usize].functions.equal)(&**left, &**right)
    }

    /// The index of what was sought. If it is not there, it is from now on, and has to be [held](Self::hold).
    pub(crate) fn resolve(&mut self, table: u32, sought: SharedLookup) -> u32 {
        match sought {
            SharedLookup::Found(index) => index,
            SharedLookup::Missing(hash, value) => self.tables[table as usize].insert(hash, value),
        }
    }

    /// The value at an index.
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

    /// All values that are there: first the default, if there is one, also if no chunk has it.
    pub(crate) fn iter(&self, table: u32) -> impl Iterator<Item = &SharedValue> {
        self.tables[table as usize].slots.iter().filter_map(|slot| slot.value.as_ref())
    }

    /// How many chunks have the value at an index.
    pub(crate) fn references(&self, table: u32, index: u32) -> u32 {
        self.tables[table as usize].slots[index as usize].references
    }

    /// How often rows came or went in chunks that had the value and are gone, or whole chunks did where they are.
    pub(crate) fn order_events(&self, table: u32, index: u32) -> u32 {
        self.tables[table as usize].slots[index as usize].order_events
    }

    /// The count of a value that is not there: no less than it was when the value went.
    pub(crate) fn gone_events(&self, table: u32) -> u32 {
        self.tables[table as usize].gone_events
    }

    /// Lets the counts of values go on after those of other tables that these take the place of. No count is less than it was
    /// there. Runs no code of the user.
    ///
    /// The function says how much chunks have counted for a value of the others, by table and index, beside the table's own count.
    pub(crate) fn replace(&mut self, before: &Self, chunks: impl Fn(u32, u32) -> u32) {
        // In the order of the tables, so that those that are added have the same numbers everywhere.
        let mut types: Vec<_> = before.by_type.iter().map(|(&ty, &number)| (number, ty)).collect();
        types.sort_unstable_by_key(|&(number, _)| number);
        for (number, ty) in types {
            let other = &before.tables[number as usize];
            let total = |index: u32| {
                other.slots[index as usize].order_events.wrapping_add(chunks(number, index))
            };
            let table = match self.by_type.get(&ty) {
                Some(&own) => &mut self.tables[own as usize],
                None => {
                    let own =
                        u32::try_from(self.tables.len()).expect("fewer than there were types");
                    self.by_type.insert(ty, own);
                    self.tables.push(other.emptied());
                    self.tables.last_mut().expect("it was just added")
                }
            };
            // Values that both have are at the same address. If the address is another, they may be equal all the same.
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

    /// Takes from the count of a value what a chunk goes on counting.
    pub(crate) fn uncount(&mut self, table: u32, index: u32, events: u32) {
        let slot = &mut self.tables[table as usize].slots[index as usize];
        slot.order_events = slot.order_events.wrapping_sub(events);
    }

    /// Counts that rows came to a value, or left it, without a chunk that knows of it.
    pub(crate) fn count_event(&mut self, table: u32, index: u32) {
        let slot = &mut self.tables[table as usize].slots[index as usize];
        slot.order_events = slot.order_events.wrapping_add(1);
    }

    /// Counts one more owner of a value.
    pub(crate) fn hold(&mut self, table: u32, index: u32) {
        self.tables[table as usize].slots[index as usize].references += 1;
    }

    /// Counts one owner less, in which so many rows came or went.
    pub(crate) fn let_go(&mut self, table: u32, index: u32, events: u32) {
        let slot = &mut self.tables[table as usize].slots[index as usize];
        slot.references -= 1;
        slot.order_events = slot.order_events.wrapping_add(events);
        self.forget_unused(table, index);
    }

    /// Lets go of a value that no chunk has, unless it is the default.
    pub(crate) fn forget_unused(&mut self, table: u32, index: u32) {
        let table = &mut self.tables[table as usize];
        let is_default = index == 0 && table.functions.default.is_some();
        let slot = &mut table.slots[index as usize];
        if slot.references > 0 || is_default {
            return;
        }
        let Some(value) = slot.value.take() else { return };
        table.gone_events = newest(table.gone_events, slot.order_events);
        // By the index, so that no code of the user runs.
        if let Ok(entry) = table.by_value.find_entry(slot.hash, |&at| at == index) {
            entry.remove();
        }
        table.free.push(index);
        self.dead.push(value);
    }

    /// The values that nobody has any more, to be dropped when everything else is done.
    pub(crate) fn take_unused(&mut self) -> UnusedValues<'_> {
        UnusedValues(&mut self.dead)
    }

    /// A second one with the same values. Runs no code of the user.
    pub(crate) fn fork(&self) -> Self {
        Self { tables: self.tables.clone(), by_type: self.by_type.clone(), dead: Vec::new() }
    }

    /// Checks that each value has so many owners as were counted, by the numbers of tables and indices.
    pub(crate) fn check(
        &self,
        counted: &HashMap<(u32, u32), u32, FixedState>,
    ) -> Result<(), String> {
        if !self.dead.is_empty() {
            return Err(format!("{} shared values are dead and not dropped", self.dead.len()));
        }
        for (number, table) in (0_u32..).zip(&self.tables) {
            for (index, slot) in (0_u32..).zip(&table.slots) {
                let place = format!("value {index} of table {number}");
                let references = counted.get(&(number, index)).copied().unwrap_or(0);
                if references != slot.references {
                    let has = slot.references;
                    return Err(format!("{references} chunks have {place}, which counts {has}"));
                }
                let is_default = index == 0 && table.functions.default.is_some();
                if slot.value.is_some() != (references > 0 || is_default) {
                    return Err(format!("{place} has {references} owners, and is there or not"));
                }
                let is_free = table.free.iter().filter(|&&free| free == index).count();
                if is_free != usize::from(slot.value.is_none()) {
                    return Err(format!("{place} is {is_free} times among those that are free"));
                }
                let found = table.by_value.find(slot.hash, |&at| at == index).is_some();
                if found != slot.value.is_some() {
                    return Err(format!("{place} is found by its hash, or should be"));
                }
            }
            let there = table.slots.len() - table.free.len();
            if table.by_value.len() != there {
                return Err(format!("{there} values of table {number} are there, and not found"));
            }
        }
        Ok(())
    }
}

impl SharedTable {
    /// A table with nothing in it but the default, if there is one. Runs code of the user.
    fn new(functions: SharedFunctions) -> Self {
        let mut table = Self {
            functions,
            slots: Vec::new(),
            free: Vec::new(),
            by_value: HashTable::new(),
            gone_events: 0,
        };
        if let Some(make) = functions.default {
            let value = make();
            let hash = (functions.hash)(&*value);
            table.insert(hash, value);
        }
        table
    }

    /// A table of the same type with nothing in it but the default, if there is one. Runs no code of the user.
    fn emptied(&self) -> Self {
        let mut table = Self {
            functions: self.functions,
            slots: Vec::new(),
            free: Vec::new(),
            by_value: HashTable::new(),
            gone_events: 0,
        };
        if self.functions.default.is_some() {
            let ValueSlot { hash, value, .. } = &self.slots[0];
            table.insert(*hash, value.clone().expect("the default stays"));
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

/// The greater of two counts, which may have begun anew at zero between them.
fn newest(one: u32, other: u32) -> u32 {
    if one.wrapping_sub(other).cast_signed() > 0 { one } else { other }
}

/// Where a value is, which tells it from others without code of the user.
fn address(value: &SharedValue) -> *const () {
    Arc::as_ptr(value).cast()
}

/// Makes room in a table of values that come and go, of which there are so many at most: so much that it never asks for memory again.
///
/// Places of values that are gone are not used again at once. When there are no others left, they are cleared up, if the table is at
/// least half empty; else a larger one is made.
pub(super) fn make_roomy(table: &mut HashTable<u32>, most: usize, hash: impl Fn(&u32) -> u64) {
    // One in eight of the buckets stays empty.
    if table.num_buckets() < 4 * most {
        table.reserve(3 * most - table.len(), hash);
    }
}

/// Shared values that are all looked for before the first of them is put into its table, since that is code of the user.
///
/// Of those that are in no table yet some may be equal: they get one place.
#[derive(Default)]
pub(crate) struct SharedLookups {
    /// The tables, and what those know.
    all: Vec<(u32, PendingLookup)>,
    /// Those that are in no table yet, by their tables and hashes.
    new: HashMap<(u32, u64), Vec<usize>, FixedState>,
}

enum PendingLookup {
    Sought(SharedLookup),
    /// As much as is known of another, which is equal.
    As(usize),
}

impl SharedLookups {
    /// Looks for a value in its table. Runs code of the user.
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

    /// Puts those into their tables that are not there, and counts one more owner for each. Returns where they are, in the order in
    /// which they were looked for. Runs no code of the user.
    pub(crate) fn hold(self, values: &mut SharedValues) -> Vec<(u32, u32)> {
        let mut places = Vec::<(u32, u32)>::with_capacity(self.all.len());
        for (table, known) in self.all {
            let index = match known {
                PendingLookup::Sought(sought) => values.resolve(table, sought),
                PendingLookup::As(at) => places[at].1,
            };
            values.hold(table, index);
            places.push((table, index));
        }
        places
    }
}
