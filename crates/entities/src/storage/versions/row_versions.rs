//! The change versions of single rows, for tracked component types.

#![expect(unsafe_code, reason = "memory whose address jobs keep")]

use std::ptr::NonNull;

use super::chunk_versions::MetadataPool;
use crate::storage::enabled::{EnabledMasks, set_bits};
use crate::storage::raw_values::prefetch;
use crate::storage::row_moves::RowMove;
use crate::version::Version;

/// The versions of each row of a chunk, for each of its [tracked](crate::Component::TRACK_CHANGES) types.
///
/// Each type has two columns: the version of the last write, and the version at which the component arrived. The second columns
/// follow the first ones of all types. A type is identified by the index of its first column.
// The columns are not in a `Box`, because jobs keep their addresses.
pub(crate) struct RowVersions {
    columns: NonNull<[TrackedColumn]>,
}

/// The version of each row of a chunk, for one type.
///
/// Usually a system writes all rows or only a few, and queries test for the last write. So the rows of the newest version are
/// stored as a mask, which is fast to write and to read. Older rows share one version. If they differ, they have one version
/// each:
///
/// ```text
/// the mask:    rows that were written at version 17     00100000 00000001 …
/// the others:  all at version 9                          or      9 9 12 9 16 9 9 9 …
/// ```
///
/// A write at another version moves the rows of the mask to the older rows and starts a new mask. A write of all rows needs no
/// mask. Storing a version per row in all cases would be simpler, but would double the time of a loop over small values.
///
/// **Invariant:** bits after the last row are zero. All existing rows have a version.
#[derive(Clone)]
pub(crate) struct TrackedColumn {
    /// The version of the rows in the mask.
    newest: Version,
    /// The version of all rows that are not in the mask, if it is the same for all of them.
    all: Version,
    /// An upper bound for the versions of rows that are not in the mask.
    others: Version,
    /// The number of rows at the last call of `begin`.
    len: u32,
    /// The capacity of the chunk.
    capacity: u32,
    /// False if the mask is empty.
    has_rows: bool,
    /// The mask of rows with the newest version, stored like a mask of enabled bits.
    mask: EnabledMasks,
    /// The version of each row, if the rows that are not in the mask have different versions. Otherwise empty.
    rows: Vec<Version>,
}

// A write of all rows accesses one cache line.
const _: () = assert!(size_of::<TrackedColumn>() <= 64);

// SAFETY: `RowVersions` owns its memory, as a box does, and all fields of a column are `Send`.
unsafe impl Send for RowVersions {}

impl RowVersions {
    /// Creates the row versions of a chunk without rows, with this number of tracked types.
    pub(crate) fn new(columns: usize, capacity: u32) -> Self {
        Self::of(vec![TrackedColumn::new(capacity); 2 * columns])
    }

    fn of(columns: Vec<TrackedColumn>) -> Self {
        Self { columns: NonNull::from(Box::leak(columns.into_boxed_slice())) }
    }

    /// Returns the number of tracked types.
    pub(crate) fn len(&self) -> usize {
        self.columns.len() / 2
    }

    /// Returns the index of the column with the versions at which a type arrived.
    fn added(&self, at: u32) -> u32 {
        self.len() as u32 + at
    }

    /// Returns whether the masks of all columns have exactly the size for a chunk of this capacity.
    pub(crate) fn is_for(&self, capacity: u32) -> bool {
        self.columns().iter().all(|column| column.mask.is_for(1, capacity))
    }

    /// Resets the versions to those of a [new](Self::new) chunk without rows, and reuses the memory.
    pub(crate) fn renew(&mut self, capacity: u32) {
        for column in self.columns_mut() {
            let TrackedColumn { mut mask, mut rows, .. } =
                std::mem::replace(column, TrackedColumn::new(0));
            if mask.is_for(1, capacity) {
                mask.words_mut(0).fill(0);
            } else {
                mask = EnabledMasks::new(1, capacity);
            }
            rows.clear();
            *column = TrackedColumn { capacity, mask, rows, ..TrackedColumn::new(0) };
        }
    }

    /// Frees the memory of versions per row.
    pub(crate) fn forget_rows(&mut self) {
        self.columns_mut().iter_mut().for_each(|column| column.rows = Vec::new());
    }

    fn columns(&self) -> &[TrackedColumn] {
        // SAFETY: the columns live as long as `self`, and the result borrows `self`.
        unsafe { self.columns.as_ref() }
    }

    fn columns_mut(&mut self) -> &mut [TrackedColumn] {
        // SAFETY: the columns live as long as `self`, and the result borrows `self` mutably.
        unsafe { self.columns.as_mut() }
    }

    /// Prefetches the first tracked columns.
    #[inline(always)]
    pub(crate) fn prefetch(&self) {
        prefetch(self.columns.cast::<u8>().as_ptr());
    }

    /// Returns the address of a column, which never changes.
    pub(crate) fn address(&self, at: u32) -> NonNull<TrackedColumn> {
        assert!((at as usize) < self.columns.len());
        // SAFETY: the place is in bounds.
        unsafe { self.columns.cast::<TrackedColumn>().add(at as usize) }
    }

    /// Returns the address of the column with the versions at which a type arrived. The address never changes.
    pub(crate) fn added_address(&self, at: u32) -> NonNull<TrackedColumn> {
        self.address(self.added(at))
    }

    /// Returns a column without borrowing other columns, which jobs may be changing.
    fn column(&self, at: u32) -> &TrackedColumn {
        // SAFETY: the column lives as long as `self`, and the result borrows `self`.
        unsafe { self.address(at).as_ref() }
    }

    /// Returns a column mutably.
    fn column_mut(&mut self, at: u32) -> &mut TrackedColumn {
        &mut self.columns_mut()[at as usize]
    }

    /// Marks contiguous rows of a column as written at a version. `len` is the number of rows without new ones.
    pub(crate) fn mark(&mut self, at: u32, first: u32, rows: u32, version: Version, len: u32) {
        let column = self.column_mut(at);
        column.begin(version, len);
        column.mark(first, rows);
    }

    /// Marks contiguous rows of a type as written and new at a version. `len` is the number of rows without new ones.
    pub(crate) fn mark_new(&mut self, at: u32, first: u32, rows: u32, version: Version, len: u32) {
        self.mark(at, first, rows, version, len);
        self.mark(self.added(at), first, rows, version, len);
    }

    /// Marks contiguous rows of all types as written at a version, and as new if `is_new` is set. `len` is the number of rows without
    /// new ones.
    pub(crate) fn mark_all(
        &mut self,
        first: u32,
        rows: u32,
        version: Version,
        len: u32,
        is_new: bool,
    ) {
        let columns = if is_new { self.columns.len() } else { self.len() };
        for column in &mut self.columns_mut()[..columns] {
            column.begin(version, len);
            column.mark(first, rows);
        }
    }

    /// Adapts row versions to an archetype with other types. `columns` has the old position of each type, or `None` for a new type,
    /// all of whose rows get `version`. Returns `None` if there are no types.
    pub(crate) fn rearranged(
        old: Option<Self>,
        columns: impl ExactSizeIterator<Item = Option<u32>> + Clone,
        capacity: u32,
        version: Version,
        memory: &mut MetadataPool,
    ) -> Option<Self> {
        let mut old = old;
        let mut new = (columns.len() > 0).then(|| memory.take_tracking(columns.len(), capacity));
        let places = new.iter_mut().flat_map(|new| new.columns_mut());
        let before = old.as_ref().map_or(0, |old| old.len() as u32);
        let added = columns.clone().map(|column| column.map(|at| before + at));
        for (place, column) in places.zip(columns.chain(added)) {
            match column.zip(old.as_mut()) {
                // Each old column is used at most once, so it can be moved instead of copied.
                Some((at, old)) => std::mem::swap(place, &mut old.columns_mut()[at as usize]),
                None => place.set_all(version),
            }
        }
        if let Some(old) = old {
            // No limit is needed: there are at most as many row versions as there were chunks.
            memory.give_tracking_back(old, usize::MAX);
        }
        new
    }

    /// Returns the version of a row in a column.
    pub(crate) fn version(&self, at: u32, row: u32) -> Version {
        self.column(at).version(row)
    }

    /// Copies the versions of a type for rows that arrive from another chunk.
    pub(crate) fn follow_rows(&mut self, at: u32, moved: RowMove, from: &Self, from_at: u32) {
        self.follow_column(at, moved, from, from_at);
        self.follow_added(at, moved, from, from_at);
    }

    /// Copies the versions at which a type arrived, for rows that arrive from another chunk.
    pub(crate) fn follow_added(&mut self, at: u32, moved: RowMove, from: &Self, from_at: u32) {
        self.follow_column(self.added(at), moved, from, from.added(from_at));
    }

    fn follow_column(&mut self, at: u32, moved: RowMove, from: &Self, from_at: u32) {
        let RowMove { from: from_first, to: first, rows } = moved;
        let (column, from) =
            (&mut self.columns_mut()[at as usize], &from.columns()[from_at as usize]);
        if from.rows.is_empty() && !from.has_rows {
            return column.set_rows(first, rows, from.all);
        }
        // Rows with the same version are copied together.
        let mut done = 0;
        while done < rows {
            let version = from.version(from_first + done);
            let end = (done + 1..rows).find(|&row| from.version(from_first + row) != version);
            let end = end.unwrap_or(rows);
            column.set_rows(first + done, end - done, version);
            done = end;
        }
    }

    /// Copies the versions of contiguous rows to other rows. The two ranges are disjoint or equal.
    pub(crate) fn copy_rows(&mut self, from: u32, to: u32, rows: u32) {
        for column in self.columns_mut() {
            column.mask.copy_rows(from, to, rows);
            if !column.rows.is_empty() {
                column.rows.copy_within(from as usize..(from + rows) as usize, to as usize);
            }
        }
    }

    /// Removes contiguous rows from the masks of all columns, because the rows are removed.
    pub(crate) fn clear_rows(&mut self, first: u32, rows: u32) {
        self.columns_mut()
            .iter_mut()
            .for_each(|column| column.mask.set_all_rows(first, rows, false));
    }

    /// Sets the bits of rows that are newer than a version in a mask with one word per 64 rows. Bits after the last row have no
    /// meaning.
    pub(crate) fn add_newer(&self, at: u32, since: Version, into: &mut [u64]) {
        let column = self.column(at);
        let words = column.mask.words(0);
        let newest = if column.newest.is_newer_than(since) { u64::MAX } else { 0 };
        if !column.others.is_newer_than(since) {
            into.iter_mut().zip(words).for_each(|(into, word)| *into |= word & newest);
        } else if column.rows.is_empty() {
            let others = if column.all.is_newer_than(since) { u64::MAX } else { 0 };
            for (into, word) in into.iter_mut().zip(words) {
                *into |= (word & newest) | (!word & others);
            }
        } else {
            let others = column.rows.chunks(64);
            for ((into, word), others) in into.iter_mut().zip(words).zip(others) {
                *into |= (word & newest) | (!word & newer(others, since));
            }
        }
    }

    /// Checks the invariants for a chunk with this number of columns, capacity and length.
    pub(crate) fn check(&self, columns: usize, capacity: u32, len: u32) -> Result<(), String> {
        holds!(self.columns.len() == 2 * columns, "does not track the types that ask for it");
        let has_room =
            |column: &TrackedColumn| column.capacity == capacity && column.mask.is_for(1, capacity);
        let all_have_room = self.columns().iter().all(has_room);
        holds!(all_have_room, "does not track as many rows as there is room for");
        self.columns().iter().try_for_each(|column| column.check(len))
    }
}

impl Clone for RowVersions {
    fn clone(&self) -> Self {
        Self::of(self.columns().to_vec())
    }
}

impl Drop for RowVersions {
    fn drop(&mut self) {
        // SAFETY: the columns were leaked from a box, and are not used afterwards.
        drop(unsafe { Box::from_raw(self.columns.as_ptr()) });
    }
}

impl TrackedColumn {
    fn new(capacity: u32) -> Self {
        Self {
            newest: Version::NEVER,
            all: Version::NEVER,
            others: Version::NEVER,
            len: 0,
            capacity,
            has_rows: false,
            mask: EnabledMasks::new(1, capacity),
            rows: Vec::new(),
        }
    }

    /// Sets the version of rows that are [marked](Self::mark) from now on. `len` is the number of rows.
    #[inline]
    pub(crate) fn begin(&mut self, version: Version, len: u32) {
        if self.newest != version {
            if self.has_rows {
                self.put_aside(len);
            }
            self.newest = version;
        }
        self.len = len;
    }

    /// Moves the rows of the mask to the older rows, and clears the mask.
    #[inline(never)]
    fn put_aside(&mut self, len: u32) {
        if is_full(self.mask.words(0), len) {
            return self.set_all(self.newest);
        }
        for word in 0..self.mask.words(0).len() {
            let mut bits = std::mem::take(&mut self.mask.words_mut(0)[word]);
            while bits != 0 {
                self.set_row(word * 64 + bits.trailing_zeros() as usize, self.newest);
                bits &= bits - 1;
            }
        }
        self.has_rows = false;
    }

    /// Marks contiguous rows as written at the newest version.
    pub(crate) fn mark(&mut self, first: u32, rows: u32) {
        if (first, rows) == (0, self.len) {
            return self.set_all(self.newest);
        }
        set_bits(self.mask.words_mut(0), first, rows, true);
        self.has_rows = true;
    }

    /// Marks the rows with a bit in `rows`, among the 64 rows of a word, as written at the newest version.
    pub(crate) fn mark_bits(&mut self, word: u32, rows: u64) {
        self.mask.words_mut(0)[word as usize] |= rows;
        self.has_rows |= rows != 0;
    }

    /// Marks a row as written at the newest version.
    #[inline]
    pub(crate) fn mark_row(&mut self, row: u32) {
        self.mask.set(0, row, true);
        self.has_rows = true;
    }

    /// Sets the version of all rows.
    #[inline]
    fn set_all(&mut self, version: Version) {
        self.all = version;
        self.others = version;
        self.rows.clear();
        if std::mem::take(&mut self.has_rows) {
            self.mask.words_mut(0).fill(0);
        }
    }

    /// Sets the version of contiguous rows that have arrived after the last row.
    fn set_rows(&mut self, first: u32, rows: u32, version: Version) {
        if first == 0 {
            // The first rows set the common version, which usually remains.
            self.set_all(version);
        } else if self.newest == version {
            set_bits(self.mask.words_mut(0), first, rows, true);
            self.has_rows = true;
        } else if self.all != version || !self.rows.is_empty() {
            if self.rows.is_empty() {
                self.rows.resize(self.capacity as usize, self.all);
            }
            self.rows[first as usize..][..rows as usize].fill(version);
            self.others = self.others.newest(version);
        }
    }

    /// Sets the version of a row that is not in the mask.
    fn set_row(&mut self, row: usize, version: Version) {
        if self.rows.is_empty() {
            self.rows.resize(self.capacity as usize, self.all);
        }
        self.rows[row] = version;
        self.others = self.others.newest(version);
    }

    pub(crate) fn version(&self, row: u32) -> Version {
        match self.mask.get(0, row) {
            true => self.newest,
            false => self.rows.get(row as usize).copied().unwrap_or(self.all),
        }
    }

    fn check(&self, len: u32) -> Result<(), String> {
        let is_full = self.rows.is_empty() || self.rows.len() == self.capacity as usize;
        holds!(is_full, "does not track all its rows");
        let mut behind = len..self.capacity;
        holds!(!behind.any(|row| self.mask.get(0, row)), "tracks rows that are not there");
        let knows = self.has_rows || self.mask.count(0) == 0;
        holds!(knows, "has rows that were written last, and does not know");
        let is_never = |row| self.version(row) == Version::NEVER;
        holds!(!(0..len).any(is_never), "does not know when a row was written");
        let is_newer = |row| !self.mask.get(0, row) && self.version(row).is_newer_than(self.others);
        holds!(!(0..len).any(is_newer), "has a row that is newer than all of them");
        Ok(())
    }
}

/// Returns whether a mask contains all of the first `rows` rows, and `rows` is not zero.
fn is_full(words: &[u64], rows: u32) -> bool {
    let (whole, rest) = ((rows / 64) as usize, rows % 64);
    rows > 0
        && words[..whole].iter().all(|&word| word == u64::MAX)
        && (rest == 0 || words[whole] == (1 << rest) - 1)
}

/// Returns a mask of the rows that are newer than a version. There are at most 64 rows.
fn newer(rows: &[Version], since: Version) -> u64 {
    (0..).zip(rows).fold(0, |bits, (at, row)| bits | u64::from(row.is_newer_than(since)) << at)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAPACITY: u32 = 150;

    /// A generator of pseudo-random numbers, which are the same in every run.
    struct Numbers(u64);

    impl Numbers {
        fn below(&mut self, end: u32) -> u32 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            ((self.0 >> 33) % u64::from(end)) as u32
        }
    }

    #[test]
    fn rows_are_as_in_a_list_of_versions() {
        for seed in 0..300 {
            let mut numbers = Numbers(seed);
            let mut memory = MetadataPool::default();
            let mut tracking = RowVersions::new(1, CAPACITY);
            let mut model: Vec<u32> = Vec::new();
            let mut arrived: Vec<u32> = Vec::new();
            let mut now = 1;
            for _ in 0..120 {
                let len = model.len() as u32;
                let version = Version::from_number(now);
                match numbers.below(12) {
                    0 => now += 1,
                    1 => {
                        let rows = numbers.below(CAPACITY - len + 1);
                        tracking.mark_all(len, rows, version, len, true);
                        model.resize((len + rows) as usize, now);
                        arrived.resize((len + rows) as usize, now);
                    }
                    2 if len > 0 => {
                        let first = numbers.below(len);
                        let rows = numbers.below(len - first) + 1;
                        tracking.mark(0, first, rows, version, len);
                        model[first as usize..][..rows as usize].fill(now);
                    }
                    3 if len > 0 => {
                        tracking.mark_all(0, len, version, len, false);
                        model.fill(now);
                    }
                    4 if len < CAPACITY => {
                        // The old version is often that of an existing row, which may be the common version.
                        let old = match numbers.below(2) {
                            0 if len > 0 => model[numbers.below(len) as usize],
                            _ => numbers.below(now) + 1,
                        };
                        let rows = numbers.below((CAPACITY - len).min(9)) + 1;
                        let mut other = RowVersions::new(1, CAPACITY);
                        other.mark_new(0, 0, CAPACITY, Version::from_number(old), CAPACITY);
                        // Some of the rows were written at the current version.
                        let written = numbers.below(rows);
                        other.mark(0, 3, written, Version::from_number(now), CAPACITY);
                        tracking.follow_rows(0, RowMove { from: 3, to: len, rows }, &other, 0);
                        model.resize((len + rows) as usize, old);
                        arrived.resize((len + rows) as usize, old);
                        model[len as usize..][..written as usize].fill(now);
                    }
                    5 if len > 0 => {
                        let first = numbers.below(len);
                        let rows = numbers.below(len - first) + 1;
                        // The removed rows are replaced by the last rows, as far as there are enough.
                        let moved = rows.min(len - first - rows);
                        tracking.copy_rows(len - moved, first, moved);
                        tracking.clear_rows(len - rows, rows);
                        for model in [&mut model, &mut arrived] {
                            let last = model.split_off((len - moved) as usize);
                            model.truncate((len - rows) as usize);
                            model[first as usize..][..moved as usize].copy_from_slice(&last);
                        }
                    }
                    6 => {
                        let new = numbers.below(2) == 0;
                        let columns = [Some(0).filter(|_| !new)].into_iter();
                        let version = Version::from_number(now);
                        let old = Some(tracking);
                        let other =
                            RowVersions::rearranged(old, columns, CAPACITY, version, &mut memory);
                        tracking = other.unwrap();
                        if new {
                            model.fill(now);
                            arrived.fill(now);
                        }
                    }
                    7 if len > 0 => {
                        let word = numbers.below(len.div_ceil(64));
                        let there = (len - word * 64).min(64);
                        let bits = (0..there).filter(|_| numbers.below(3) == 0);
                        let bits = bits.fold(0_u64, |bits, at| bits | 1 << at);
                        tracking.column_mut(0).begin(version, len);
                        tracking.column_mut(0).mark_bits(word, bits);
                        for at in (0..there).filter(|at| bits >> at & 1 != 0) {
                            model[(word * 64 + at) as usize] = now;
                        }
                    }
                    _ if len > 0 => {
                        let row = numbers.below(len);
                        tracking.copy_rows(len - 1, row, 1);
                        tracking.clear_rows(len - 1, 1);
                        model.swap_remove(row as usize);
                        arrived.swap_remove(row as usize);
                    }
                    _ => {}
                }
                let len = model.len() as u32;
                tracking.check(1, CAPACITY, len).unwrap();
                let since = numbers.below(now + 1);
                // The second column has the versions of arrival.
                for (at, model) in [(0, &model), (1, &arrived)] {
                    let mut words = vec![0; CAPACITY.div_ceil(64) as usize];
                    tracking.add_newer(at, Version::from_number(since), &mut words);
                    for (row, &version) in (0..).zip(model) {
                        assert_eq!(tracking.version(at, row).number(), version);
                        let is_newer = words[(row / 64) as usize] >> (row % 64) & 1 != 0;
                        assert_eq!(is_newer, version > since, "{version} after {since}");
                    }
                }
            }
        }
    }
}
