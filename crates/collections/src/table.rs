//! What the maps and sets need of a hash table that `hashbrown` leaves to them: growing that reports a
//! lack of memory, and a capacity that removing does not lower.

use std::iter::Zip;
use std::vec::IntoIter;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use crate::allocator::Allocator;
use crate::error::{AllocationError, CapacityError};

pub(crate) type Table<T> = HashTable<T, Allocator>;

/// Returns for how many elements there are buckets, those that are there included.
///
/// The table's own answer is less by the traces that removed elements leave, until it is rebuilt.
pub(crate) fn capacity<T>(table: &Table<T>) -> usize {
    // The table's load: all buckets but one if they are few, seven of eight otherwise.
    let buckets = table.num_buckets();
    let full = if buckets <= 8 { buckets - 1 } else { buckets / 8 * 7 };
    table.capacity().max(full)
}

/// Says whether the next new element needs the table to be changed first.
#[inline(always)]
pub(crate) fn is_full<T>(table: &Table<T>) -> bool {
    table.len() == table.capacity()
}

/// Makes room for so many more elements.
pub(crate) fn try_reserve<T>(
    table: &mut Table<T>,
    additional: usize,
    hasher: impl Fn(&T) -> u64,
) -> Result<(), AllocationError> {
    let needed = table.len().saturating_add(additional);
    if needed > table.capacity() && needed <= capacity(table) / 2 {
        // The table is tidied up where it is. A hasher that panics would take elements with it, so it panics here.
        table.iter().for_each(|element| _ = hasher(element));
    }
    table.try_reserve(additional, hasher).map_err(|_| AllocationError {
        allocator: table.allocator().name(),
        elements: table.len().saturating_add(additional),
        element_size: size_of::<T>(),
    })
}

/// Copies a table, elements in the same places.
///
/// Not as the table is cloned: that ends the program if the allocator refuses. A table that has as many
/// buckets already is copied into those.
pub(crate) fn try_clone<T: Clone>(table: &Table<T>) -> Result<Table<T>, AllocationError> {
    let mut copy = Table::new_in(table.allocator().clone());
    try_reserve(&mut copy, capacity(table), |_| unreachable!("there is nothing to hash"))?;
    debug_assert_eq!(copy.num_buckets(), table.num_buckets(), "or it asks for memory again");
    copy.clone_from(table);
    Ok(copy)
}

/// Makes room for at least so many elements in all, and not for many more.
pub(crate) fn set_capacity<T>(
    table: &mut Table<T>,
    wanted: usize,
    hasher: impl Fn(&T) -> u64,
) -> Result<(), CapacityError> {
    let length = table.len();
    if wanted < length {
        return Err(CapacityError::BelowLength { capacity: wanted, length });
    }
    let now = capacity(table);
    if wanted > now {
        try_reserve(table, wanted - length, hasher)?;
    } else if wanted <= now / 2 {
        // The number of buckets is a power of two, so there is something to gain.
        let mut smaller = Table::new_in(table.allocator().clone());
        try_reserve(&mut smaller, wanted, &hasher)?;
        let elements = take_all(table, &hasher);
        put_all(&mut smaller, elements, hasher);
        *table = smaller;
    }
    Ok(())
}

/// Wipes out the traces of removed elements, where they are, so that the capacity can be used to its end.
pub(crate) fn purge<T>(table: &mut Table<T>, hasher: impl Fn(&T) -> u64) {
    let elements = take_all(table, &hasher);
    put_all(table, elements, hasher);
}

/// Takes all elements out, with their hashes. A hasher that panics does so while they are still in.
fn take_all<T>(
    table: &mut Table<T>,
    hasher: impl Fn(&T) -> u64,
) -> Zip<IntoIter<u64>, IntoIter<T>> {
    let hashes: Vec<u64> = table.iter().map(hasher).collect();
    let elements: Vec<T> = table.drain().collect();
    hashes.into_iter().zip(elements)
}

fn put_all<T>(
    table: &mut Table<T>,
    elements: impl Iterator<Item = (u64, T)>,
    hasher: impl Fn(&T) -> u64,
) {
    for (hash, element) in elements {
        table.insert_unique(hash, element, &hasher);
    }
}

/// Finds an element, or where it is to be put: room is made only for one that is not there.
#[inline]
pub(crate) fn entry<T>(
    table: &mut Table<T>,
    hash: u64,
    is_same: impl Fn(&T) -> bool,
    hasher: impl Fn(&T) -> u64,
) -> Result<Entry<'_, T, Allocator>, AllocationError> {
    if is_full(table) {
        return entry_when_full(table, hash, is_same, hasher);
    }
    Ok(table.entry(hash, is_same, hasher))
}

#[cold]
#[inline(never)]
fn entry_when_full<T>(
    table: &mut Table<T>,
    hash: u64,
    is_same: impl Fn(&T) -> bool,
    hasher: impl Fn(&T) -> u64,
) -> Result<Entry<'_, T, Allocator>, AllocationError> {
    if table.find(hash, &is_same).is_none() {
        try_reserve(table, 1, &hasher)?;
        return Ok(table.entry(hash, is_same, hasher));
    }
    match table.find_entry(hash, is_same) {
        Ok(occupied) => Ok(Entry::Occupied(occupied)),
        Err(_) => unreachable!("an element that was found is found again"),
    }
}

/// Panics, with the caller as the place, if there is no memory.
#[inline(always)]
#[track_caller]
pub(crate) fn unwrap<R>(result: Result<R, AllocationError>) -> R {
    match result {
        Ok(value) => value,
        Err(error) => no_memory(&error),
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn no_memory(error: &AllocationError) -> ! {
    panic!("{error}");
}
