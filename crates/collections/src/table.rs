//! Additions to `hashbrown`'s table for maps and sets: growth that reports a lack of memory, and a
//! capacity that removing does not lower.

use std::iter::Zip;
use std::vec::IntoIter;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use crate::allocator::Allocator;
use crate::error::{AllocationError, CapacityError};

pub(crate) type Table<T> = HashTable<T, Allocator>;

/// Returns the number of elements for which there are buckets, including the existing ones.
///
/// The table's own capacity excludes the tombstones of removed elements, until it is rebuilt.
pub(crate) fn capacity<T>(table: &Table<T>) -> usize {
    // The maximum load: all buckets but one if they are few, seven of eight otherwise.
    let buckets = table.num_buckets();
    let full = if buckets <= 8 { buckets - 1 } else { buckets / 8 * 7 };
    table.capacity().max(full)
}

/// Returns whether the next new element requires a rehash.
#[inline(always)]
pub(crate) fn is_full<T>(table: &Table<T>) -> bool {
    table.len() == table.capacity()
}

/// Makes room for `additional` more elements.
pub(crate) fn try_reserve<T>(
    table: &mut Table<T>,
    additional: usize,
    hasher: impl Fn(&T) -> u64,
) -> Result<(), AllocationError> {
    let needed = table.len().saturating_add(additional);
    if needed > table.capacity() && needed <= capacity(table) / 2 {
        // The table is rehashed in place. A hasher that panics then would lose elements, so it is
        // called here first.
        table.iter().for_each(|element| _ = hasher(element));
    }
    table.try_reserve(additional, hasher).map_err(|_| AllocationError {
        allocator: table.allocator().name(),
        elements: table.len().saturating_add(additional),
        element_size: size_of::<T>(),
    })
}

/// Copies a table, with elements in the same places.
///
/// `Clone` would abort if the allocator refuses. Copying into a table with the same number of
/// buckets does not allocate.
pub(crate) fn try_clone<T: Clone>(table: &Table<T>) -> Result<Table<T>, AllocationError> {
    let mut copy = Table::new_in(table.allocator().clone());
    try_reserve(&mut copy, capacity(table), |_| unreachable!("there is nothing to hash"))?;
    debug_assert_eq!(copy.num_buckets(), table.num_buckets(), "or it asks for memory again");
    copy.clone_from(table);
    Ok(copy)
}

/// Makes room for at least `wanted` elements in total, and not for many more.
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
        // The number of buckets is a power of two, so this may save memory.
        let mut smaller = Table::new_in(table.allocator().clone());
        try_reserve(&mut smaller, wanted, &hasher)?;
        let elements = take_all(table, &hasher);
        put_all(&mut smaller, elements, hasher);
        *table = smaller;
    }
    Ok(())
}

/// Removes the tombstones of removed elements in place, so that the whole capacity can be used.
pub(crate) fn purge<T>(table: &mut Table<T>, hasher: impl Fn(&T) -> u64) {
    let elements = take_all(table, &hasher);
    put_all(table, elements, hasher);
}

/// Takes all elements out, with their hashes. All hashes are computed first, so that a panic loses
/// no element.
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

/// Finds an element, or the place for a new one. Makes room only for a new one.
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

/// Panics at the caller's location if there is no memory.
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
