//! Computes the column offsets and the capacity of a chunk from sizes and alignments.
//!
//! ```text
//! | ids, 8 bytes each | gap | first column | gap | second column | unused |
//! 0                         ^ multiple of 64     ^                        chunk size
//! ```
//!
//! Columns begin at cache lines, so that two columns never share a line, and loops over them start aligned. With many small
//! columns, the gaps may cost more than half of the capacity. Columns are then packed as closely as the alignment of their types
//! allows.

use std::num::NonZero;

/// The size of a cache line in bytes. Columns are aligned to it.
const LINE: u32 = 64;
const ID_SIZE: u64 = 8;

/// The size and alignment of a component type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ColumnSize {
    /// The size of a value: a multiple of the alignment, and zero for tags.
    pub(crate) size: u32,
    /// The alignment of a value: a power of two.
    pub(crate) align: u32,
}

/// The capacity and the column offsets of a chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChunkLayout {
    /// The number of entities that fit in the chunk: at least one.
    pub(crate) capacity: u32,
    /// The offset of each column. Offset 0 is that of the ids. Tags, which have no bytes, also have offset 0, because it is a
    /// multiple of every alignment.
    pub(crate) offsets: Box<[u32]>,
}

/// The error that a chunk is too small for one entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DoesNotFit {
    /// The number of bytes that one entity needs, including gaps.
    pub(crate) entity_bytes: usize,
    /// The size of a chunk in bytes.
    pub(crate) room: usize,
}

/// Divides a chunk into ids and columns. Chunks begin at multiples of 64 and of the largest alignment.
///
/// The capacity is as large as possible, up to the limit.
///
/// # Errors
///
/// [`DoesNotFit`] if the chunk is too small for one entity, or the alignment of a type is larger than the chunk.
pub(crate) fn chunk_layout(
    chunk_size: u32,
    capacity_limit: Option<NonZero<u32>>,
    columns: &[ColumnSize],
) -> Result<ChunkLayout, DoesNotFit> {
    debug_assert!(chunk_size.is_power_of_two());
    debug_assert!(columns.iter().all(|c| c.align.is_power_of_two() && c.size % c.align == 0));

    let largest_align = columns.iter().map(|column| column.align).max().unwrap_or(1);
    let limit = capacity_limit.map_or(u32::MAX, NonZero::get);
    let packed = capacity(chunk_size, limit, columns, 1);
    if packed == 0 || largest_align > chunk_size {
        let entity_bytes = end_of_columns(columns, 1, 1).max(u64::from(largest_align));
        let entity_bytes = usize::try_from(entity_bytes).unwrap_or(usize::MAX);
        return Err(DoesNotFit { entity_bytes, room: chunk_size as usize });
    }
    // The limited capacities are compared, because gaps have no cost if the limit is reached anyway.
    let at_lines = capacity(chunk_size, limit, columns, LINE);
    let (capacity, start) =
        if at_lines < packed - at_lines { (packed, 1) } else { (at_lines, LINE) };
    Ok(ChunkLayout { capacity, offsets: offsets(columns, capacity, start) })
}

/// Returns the number of entities that fit, up to the limit, if columns begin at multiples of `start`.
fn capacity(chunk_size: u32, limit: u32, columns: &[ColumnSize], start: u32) -> u32 {
    let entity_bytes = columns.iter().fold(ID_SIZE, |sum, c| sum.saturating_add(c.size.into()));
    // `may_fit` is the number of entities that would fit without gaps. It also keeps the products below in bounds. The columns of
    // more entities end later, so a binary search finds the largest number that fits.
    let mut fits = 0;
    let mut may_fit = (u64::from(chunk_size) / entity_bytes).min(limit.into()) as u32;
    while fits < may_fit {
        let middle = fits + (may_fit - fits).div_ceil(2);
        if end_of_columns(columns, middle, start) <= u64::from(chunk_size) {
            fits = middle;
        } else {
            may_fit = middle - 1;
        }
    }
    fits
}

/// Returns the end of the last column for this capacity, if columns begin at multiples of `start`.
fn end_of_columns(columns: &[ColumnSize], capacity: u32, start: u32) -> u64 {
    sized(columns).fold(u64::from(capacity) * ID_SIZE, |end, column| {
        array_start(end, column, start)
            .saturating_add(u64::from(capacity).saturating_mul(column.size.into()))
    })
}

/// Returns the offsets of the columns for a capacity that fits, if columns begin at multiples of `start`.
fn offsets(columns: &[ColumnSize], capacity: u32, start: u32) -> Box<[u32]> {
    let mut end = u64::from(capacity) * ID_SIZE;
    let offset = |column: &ColumnSize| {
        if column.size == 0 {
            return 0;
        }
        let offset = array_start(end, column, start);
        end = offset + u64::from(capacity) * u64::from(column.size);
        // The offset is inside of the chunk, whose size is a `u32`.
        offset as u32
    };
    columns.iter().map(offset).collect()
}

/// Returns the offset of a column that follows `end` bytes.
fn array_start(end: u64, column: &ColumnSize, start: u32) -> u64 {
    end.checked_next_multiple_of(column.align.max(start).into()).unwrap_or(u64::MAX)
}

fn sized(columns: &[ColumnSize]) -> impl Iterator<Item = &ColumnSize> {
    columns.iter().filter(|column| column.size != 0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CHUNK: u32 = 16 << 10;

    fn column(size: u32, align: u32) -> ColumnSize {
        ColumnSize { size, align }
    }

    fn floats(counts: &[u32]) -> Vec<ColumnSize> {
        counts.iter().map(|count| column(4 * count, 4)).collect()
    }

    fn laid_out(columns: &[ColumnSize]) -> ChunkLayout {
        chunk_layout(CHUNK, None, columns).unwrap()
    }

    #[test]
    fn ids_alone_fill_a_chunk() {
        let expected = ChunkLayout { capacity: 2048, offsets: Box::new([]) };
        assert_eq!(laid_out(&[]), expected);
    }

    #[test]
    fn entities_of_the_size_of_the_seeds() {
        // Position: 12 bytes, and 20 with the id. Without the gap, 819 entities would fit.
        assert_eq!(laid_out(&floats(&[3])).capacity, 816);
        // LocalToWorld, Position, Rotation, Scale: 112 bytes with the id. Without gaps, 146 entities would fit.
        let transform = laid_out(&floats(&[16, 3, 4, 3]));
        assert_eq!(transform.capacity, 144);
        assert_eq!(*transform.offsets, [1152, 10_368, 12_096, 14_400]);
        // Five columns of 64 bytes: 328 bytes with the id.
        assert_eq!(laid_out(&[column(64, 4); 5]).capacity, 16_384 / 328);
        // One column that fills the chunk except for the cache line of the id.
        assert_eq!(laid_out(&[column(CHUNK - 64, 4)]).offsets[0], 64);
    }

    #[test]
    fn the_limit_is_kept_and_moves_columns_together() {
        let limit = NonZero::new(128);
        let layout = chunk_layout(CHUNK, limit, &floats(&[3, 3])).unwrap();
        assert_eq!(layout, ChunkLayout { capacity: 128, offsets: Box::new([1024, 2560]) });
        let large = chunk_layout(CHUNK, limit, &[column(300, 4)]).unwrap();
        assert_eq!(large.capacity, 53);
    }

    #[test]
    fn tags_take_no_room_whatever_their_alignment() {
        let plain = laid_out(&floats(&[3, 1]));
        let [first, second] = [column(12, 4), column(4, 4)];
        let tagged = laid_out(&[column(0, 1), first, column(0, CHUNK), second, column(0, 64)]);
        assert_eq!(tagged.capacity, plain.capacity);
        assert_eq!(*tagged.offsets, [0, plain.offsets[0], 0, plain.offsets[1], 0]);
    }

    #[test]
    fn many_small_columns_are_packed() {
        // Columns that begin at cache lines would not fit.
        let thousand = laid_out(&floats(&[1; 1000]));
        assert_eq!(thousand.capacity, 4);
        assert_eq!(thousand.offsets[..3], [32, 48, 64]);
        // With a limit of one entity, columns that begin at cache lines fit, and are not packed.
        let hundred = chunk_layout(CHUNK, NonZero::new(1), &floats(&[1; 100])).unwrap();
        assert_eq!(hundred.offsets[..3], [64, 128, 192]);
        // Packed, 63 entities would fit. With columns at cache lines, 32 fit, which is more than half.
        let bytes = |count| laid_out(&vec![column(1, 1); count]);
        assert_eq!((bytes(252).capacity, bytes(252).offsets[0]), (32, 256));
        // Packed, 62 entities fit. With columns at cache lines, 24 would fit, which is less than half.
        assert_eq!((bytes(253).capacity, bytes(253).offsets[1]), (62, 558));
    }

    #[test]
    fn alignment_counts_up_to_that_of_the_chunk() {
        let layout = laid_out(&[column(4, 4), column(128, 128), column(4096, 4096)]);
        assert_eq!(*layout.offsets, [64, 128, 4096]);
        assert_eq!(layout.capacity, 3);
        let half = laid_out(&[column(CHUNK / 2, CHUNK / 2)]);
        assert_eq!((half.capacity, half.offsets[0]), (1, CHUNK / 2));

        let refused = |columns: &[ColumnSize]| chunk_layout(CHUNK, None, columns).unwrap_err();
        let room = CHUNK as usize;
        assert_eq!(refused(&[column(CHUNK, CHUNK)]), DoesNotFit { entity_bytes: 2 * room, room });
        assert_eq!(refused(&[column(0, 2 * CHUNK)]), DoesNotFit { entity_bytes: 2 * room, room });
    }

    #[test]
    fn what_does_not_fit_is_measured() {
        let refused = |columns: &[ColumnSize]| chunk_layout(CHUNK, None, columns).unwrap_err();
        assert_eq!(
            refused(&[column(16_380, 4)]),
            DoesNotFit { entity_bytes: 16_388, room: 16_384 }
        );
        assert_eq!(chunk_layout(CHUNK, None, &[column(16_376, 8)]).unwrap().capacity, 1);
        let huge = column(1 << 31, 1 << 31);
        assert_eq!(refused(&[huge; 64]).entity_bytes, 65 << 31);
        assert_eq!(refused(&[column(u32::MAX, 1); 3]).entity_bytes, 8 + 3 * u32::MAX as usize);
    }

    /// Returns the end of the columns if each begins as early as possible.
    fn naive_end(columns: &[ColumnSize], capacity: u64, start: u64) -> u64 {
        let mut end = 8 * capacity;
        for column in columns.iter().filter(|column| column.size > 0) {
            let align = start.max(column.align.into());
            end = end.div_ceil(align) * align + capacity * u64::from(column.size);
        }
        end
    }

    fn any_column() -> impl Strategy<Value = ColumnSize> {
        let small = (0_u32..8, 0_u32..30);
        let large = (0_u32..14, 0_u32..2);
        prop_oneof![8 => small, 1 => large]
            .prop_map(|(shift, count)| column(count << shift, 1 << shift))
    }

    proptest! {
        #[test]
        fn arrays_are_aligned_disjoint_in_bounds_and_as_long_as_possible(
            columns in prop::collection::vec(any_column(), 0..40),
            chunk_shift in 12_u32..=20,
            limit in 0_u32..300,
        ) {
            let chunk_size = 1_u32 << chunk_shift;
            let limit = NonZero::new(limit);
            let (size, most) = (u64::from(chunk_size), limit.map_or(u64::MAX, |l| l.get().into()));
            let Ok(layout) = chunk_layout(chunk_size, limit, &columns) else {
                prop_assert!(
                    naive_end(&columns, 1, 1) > size || columns.iter().any(|c| c.align > chunk_size)
                );
                return Ok(());
            };
            prop_assert_eq!(layout.offsets.len(), columns.len());
            let capacity = u64::from(layout.capacity);
            let mut end = 8 * capacity;
            for (column, &offset) in columns.iter().zip(&layout.offsets) {
                prop_assert_eq!(offset % column.align, 0);
                prop_assert!(offset < chunk_size);
                if column.size > 0 {
                    prop_assert!(u64::from(offset) >= end);
                    end = u64::from(offset) + capacity * u64::from(column.size);
                }
            }
            prop_assert!(end <= size);
            prop_assert!(capacity >= 1 && capacity <= most);
            // One more entity would not fit with columns at cache lines, nor packed if cache lines cost more than half of the
            // capacity.
            let at_lines = layout.offsets.iter().all(|offset| offset % LINE == 0);
            let start = if at_lines { 64 } else { 1 };
            let fits = |n, start| n <= most && naive_end(&columns, n, start) <= size;
            prop_assert!(!fits(capacity + 1, start));
            prop_assert!(!fits(2 * capacity + 1, 1));
        }
    }
}
