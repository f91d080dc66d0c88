//! Operations on values of type-erased components: move, copy, drop, duplicate and prefetch.

#![expect(unsafe_code, reason = "values of erased types")]

use std::mem::MaybeUninit;
use std::ptr;

use ancho_burst::dispatch;

use super::archetype::{ArchetypeShape, ColumnSlot};
use crate::component::{Beginning, ComponentType, Copying, Written};

/// The size in bytes of the largest value that [`copy_small_value`] copies.
pub(crate) const SMALL: u32 = 64;

/// Copies the bytes of one value.
///
/// # Safety
///
/// - both addresses are valid for `size` bytes, and the ranges are disjoint
#[inline(always)]
pub(crate) unsafe fn copy_value(from: *const u8, to: *mut u8, size: u32) {
    // SAFETY: both ranges are valid for `size` bytes and disjoint, as both copies require. `size` is at most `SMALL` for the
    // first.
    unsafe {
        if size <= SMALL {
            copy_small_value(from, to, size);
        } else {
            to.copy_from_nonoverlapping(from, size as usize);
        }
    }
}

/// Copies the bytes of one value inline, without calling `memcpy`.
///
/// A call of `memcpy` costs more than copying a value of a typical size. Values are copied in two or four pieces, which may
/// overlap, so that few piece sizes serve all value sizes.
///
/// # Safety
///
/// - both addresses are valid for `size` bytes, and the ranges are disjoint
/// - `size` is at most [`SMALL`]
#[inline(always)]
pub(crate) unsafe fn copy_small_value(from: *const u8, to: *mut u8, size: u32) {
    /// Copies the first `EACH` and the last `EACH` pieces of a value.
    ///
    /// # Safety
    ///
    /// - both addresses are valid for `size` bytes, and the ranges are disjoint
    /// - `EACH` pieces are together at most `size` bytes
    #[inline(always)]
    unsafe fn ends<Piece: Copy, const EACH: usize>(from: *const u8, to: *mut u8, size: usize) {
        let last = size - EACH * size_of::<Piece>();
        // SAFETY: the pieces are inside of the value, and may be uninitialised. All pieces are read before the first is written.
        unsafe {
            let read = |from: *const u8| -> [MaybeUninit<Piece>; EACH] {
                std::array::from_fn(|at| from.cast::<MaybeUninit<Piece>>().add(at).read_unaligned())
            };
            let write = |to: *mut u8, pieces: [MaybeUninit<Piece>; EACH]| {
                for (at, piece) in pieces.into_iter().enumerate() {
                    to.cast::<MaybeUninit<Piece>>().add(at).write_unaligned(piece);
                }
            };
            let (first_pieces, last_pieces) = (read(from), read(from.add(last)));
            write(to, first_pieces);
            write(to.add(last), last_pieces);
        }
    }

    debug_assert!(size <= SMALL);
    let size = size as usize;
    // SAFETY: both ranges are valid for `size` bytes and disjoint. In each case, `EACH` pieces are together at most `size` bytes.
    unsafe {
        match size {
            8..=16 => ends::<u64, 1>(from, to, size),
            4..=7 => ends::<u32, 1>(from, to, size),
            17..=32 => ends::<u128, 1>(from, to, size),
            33.. => ends::<u128, 2>(from, to, size),
            2..=3 => ends::<u16, 1>(from, to, size),
            1 => ends::<u8, 1>(from, to, size),
            0 => {}
        }
    }
}

/// Drops the values of some columns of a chunk. If a drop panics, the remaining values are still dropped.
///
/// # Safety
///
/// - the memory is that of a chunk of the shape, with values in these columns and rows
/// - the values are not used afterwards
pub(crate) unsafe fn drop_values(
    shape: &ArchetypeShape,
    data: *mut u8,
    columns: &[u32],
    first_row: u32,
    rows: u32,
) {
    for_each_to_end(columns, |&column| {
        let place = shape.columns[column as usize];
        if let Some(drop) = shape.types[column as usize].0.drop {
            let first = place.offset as usize + first_row as usize * place.size as usize;
            // SAFETY: the rows have values of this type, which are not used afterwards.
            unsafe { drop(data.add(first), rows as usize) };
        }
    });
}

/// Calls a function for each item. If a call panics, the remaining calls are still made. A second panic aborts the process.
pub(crate) fn for_each_to_end<I: IntoIterator>(items: I, call: impl FnMut(I::Item)) {
    struct Guard<I: Iterator, F: FnMut(I::Item)> {
        items: I,
        call: F,
    }

    impl<I: Iterator, F: FnMut(I::Item)> Guard<I, F> {
        fn call_rest(&mut self) {
            self.items.by_ref().for_each(&mut self.call);
        }
    }

    impl<I: Iterator, F: FnMut(I::Item)> Drop for Guard<I, F> {
        fn drop(&mut self) {
            self.call_rest();
        }
    }

    Guard { items: items.into_iter(), call }.call_rest();
}

/// Duplicates contiguous values of one type. If a clone panics, no duplicates remain.
///
/// # Safety
///
/// - `from` points to `count` values of the type, which can be duplicated
/// - `to` has room for `count` values, and does not overlap the values
pub(super) unsafe fn duplicate_column(
    ty: ComponentType,
    from: *const u8,
    to: *mut u8,
    count: usize,
) {
    // SAFETY: `from` has `count` values, `to` has room for as many, and both are disjoint, by the contract of this function.
    unsafe {
        match ty.0.copying {
            Copying::Bytes => to.copy_from_nonoverlapping(from, count * ty.size()),
            Copying::Deep(clone) | Copying::Clone(clone) => clone(from, to, count),
            Copying::NotAtAll => unreachable!("`{ty}` cannot be duplicated, which was checked"),
        }
    }
}

/// Writes initial values to rows of a column.
///
/// # Safety
///
/// - the memory is that of a chunk of the shape, with room for values in this column and these rows
/// - the type has an initial value
pub(crate) unsafe fn write_initial(
    shape: &ArchetypeShape,
    data: *mut u8,
    column: u32,
    first_row: u32,
    rows: u32,
) {
    let (ty, place) = (shape.types[column as usize], shape.columns[column as usize]);
    let first = data.wrapping_add(place.offset as usize + first_row as usize * place.size as usize);
    // SAFETY: the column has room for the rows. Only runtime types begin as zeros, and all bytes are valid for their values.
    unsafe {
        match ty.0.beginning {
            Beginning::Default(write) => write(first, rows as usize),
            Beginning::Zero => first.write_bytes(0, rows as usize * place.size as usize),
            Beginning::None => unreachable!("`{ty}` has no initial value, which was checked"),
        }
    }
}

/// Writes `count` copies of a value's bytes.
///
/// # Safety
///
/// - `value` is valid for `size` bytes, which is not zero
/// - `to` has room for `count` values, and does not overlap the value
pub(crate) unsafe fn repeat_bytes(value: *const u8, to: *mut u8, size: usize, count: usize) {
    /// The size of the largest pattern that is kept in registers.
    const MOST: usize = 128;

    /// Writes `count` copies of a pattern of type `T`, from a few wide registers.
    ///
    /// # Safety
    ///
    /// - `to` has room for `count` values of type `T`
    unsafe fn repeat<T: Copy>(pattern: &[MaybeUninit<u8>; MOST], to: *mut u8, count: usize) {
        // SAFETY: the pattern is at least as large as `T`, and may be uninitialised. `to` has room for `count` values of type
        // `T`.
        unsafe {
            // Outside of the loop's function, which then writes several values per turn.
            let pattern = pattern.as_ptr().cast::<MaybeUninit<T>>().read_unaligned();
            dispatch(|| {
                for index in 0..count {
                    to.cast::<MaybeUninit<T>>().add(index).write_unaligned(pattern);
                }
            });
        }
    }

    // The smallest number of values that end at a multiple of 16 bytes, the size of a register.
    let values = 16 >> size.trailing_zeros().min(4);
    let block = size * values;
    if block > MOST {
        // The pattern is too large for registers, so the values are copied one by one.
        for index in 0..count {
            // SAFETY: `value` is valid for `size` bytes, and `to` has room for `count` values, apart from it.
            unsafe { to.add(index * size).copy_from_nonoverlapping(value, size) };
        }
        return;
    }
    let mut pattern = [MaybeUninit::<u8>::uninit(); MOST];
    let (blocks, rest) = (count / values, count % values);
    // SAFETY: the pattern has room for `values` values, and `to` for all blocks and the values that follow them.
    unsafe {
        for index in 0..values {
            pattern.as_mut_ptr().add(index * size).copy_from_nonoverlapping(value.cast(), size);
        }
        match block / 16 {
            1 => repeat::<[u64; 2]>(&pattern, to, blocks),
            2 => repeat::<[u64; 4]>(&pattern, to, blocks),
            3 => repeat::<[u64; 6]>(&pattern, to, blocks),
            4 => repeat::<[u64; 8]>(&pattern, to, blocks),
            5 => repeat::<[u64; 10]>(&pattern, to, blocks),
            6 => repeat::<[u64; 12]>(&pattern, to, blocks),
            7 => repeat::<[u64; 14]>(&pattern, to, blocks),
            _ => repeat::<[u64; 16]>(&pattern, to, blocks),
        }
        to.add(blocks * block).copy_from_nonoverlapping(pattern.as_ptr().cast(), rest * size);
    }
}

/// Copies the values of one row to other rows, column by column in memory order.
///
/// # Safety
///
/// - `from` is a chunk of the shape with this row, and `to` is a chunk of the shape, possibly the same
/// - the new rows have room for values, and do not include the row
/// - all types of the shape are duplicated by copying their bytes
pub(crate) unsafe fn repeat_row(
    shape: &ArchetypeShape,
    from: *const u8,
    row: u32,
    to: *mut u8,
    first: u32,
    rows: u32,
) {
    for &(_, ColumnSlot { offset, size }) in &shape.sized {
        let value = |row: u32| offset as usize + row as usize * size as usize;
        // SAFETY: the row has a value of `size` bytes in this column, and the new rows, which do not include it, have room.
        unsafe {
            repeat_bytes(from.add(value(row)), to.add(value(first)), size as usize, rows as usize);
        };
    }
}

/// Writes `count` duplicates of one value. If a clone panics, no duplicates remain.
///
/// # Safety
///
/// - `value` points to a value of the type, which can be duplicated
/// - `to` has room for `count` values, and does not overlap the value
pub(crate) unsafe fn duplicate_value(
    ty: ComponentType,
    value: *const u8,
    to: *mut u8,
    count: usize,
) {
    let size = ty.size();
    match ty.0.copying {
        Copying::Bytes if size == 0 => {}
        // SAFETY: the value has `size` bytes, and `to` has room for `count` values, apart from the value.
        Copying::Bytes => unsafe { repeat_bytes(value, to, size, count) },
        Copying::Deep(clone) | Copying::Clone(clone) => {
            // SAFETY: `value` is a value of the type, and `to` has room for each duplicate. `ty.0.drop` drops values of the type.
            unsafe {
                Written::fill_with(to, count, ty.0.drop, |index| {
                    clone(value, to.add(index * size), 1);
                });
            }
        }
        Copying::NotAtAll => unreachable!("`{ty}` cannot be duplicated, which was checked"),
    }
}

/// Prefetches memory into all caches. The address may be invalid.
#[inline(always)]
pub(crate) fn prefetch(address: *const u8) {
    prefetch_into::<3>(address);
}

/// Prefetches memory into the second-level cache, which supports more pending cache misses. The address may be invalid.
#[inline(always)]
pub(crate) fn prefetch_soon(address: usize) {
    prefetch_into::<2>(ptr::without_provenance(address));
}

/// Prefetches memory. A `LOCALITY` of 3 selects all caches, and 2 selects the second level.
#[inline(always)]
fn prefetch_into<const LOCALITY: i32>(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: all x86-64 CPUs have the instruction. It reads nothing, and faults at no address.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<LOCALITY>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_repeated_for_all_sizes_and_counts() {
        for size in (1..=130).chain([256, 320, 1000]) {
            for count in [0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 33] {
                let value: Vec<u8> = (0..size).map(|at| at as u8).collect();
                let mut to = vec![0xee; size * count + 16];
                // SAFETY: the value has `size` bytes, and `to` has room for `count` copies.
                unsafe { repeat_bytes(value.as_ptr(), to.as_mut_ptr(), size, count) };
                assert!(
                    to[..size * count].chunks(size).all(|found| found == value),
                    "{size} {count}"
                );
                assert_eq!(to[size * count..], [0xee; 16], "{size} {count}");
            }
        }
    }

    #[test]
    fn values_of_all_sizes_are_copied() {
        for size in 0..200 {
            let from: Vec<u8> = (1..=size as u8).collect();
            let mut to = vec![0; size + 8];
            // SAFETY: both are valid for `size` bytes.
            unsafe { copy_value(from.as_ptr(), to.as_mut_ptr(), size as u32) };
            assert_eq!((&to[..size], &to[size..]), (&from[..], &[0; 8][..]));
        }
    }
}
