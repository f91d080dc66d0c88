//! Rebuilding a storage from ids and columns that were written to a file.

#![expect(unsafe_code, reason = "reads and writes columns as bytes")]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::{self, NonNull};
use std::slice;

use super::arena::OutOfMemory;
use super::chunk::Chunk;
use super::reserve::{NewRows, RowRange};
use super::{GroupKey, Storage};
use crate::component::{Beginning, ComponentType};
use crate::entity::Entity;
use crate::field::{FlatLayout, ValueError, ValueReader, ValueWriter};

/// New rows, whose columns are written one after the other.
///
/// If they are not committed, their values are dropped, and empty chunks remain in the storage. The caller then drops the storage.
pub(crate) struct RebuiltRows<'s> {
    storage: &'s mut Storage,
    /// The rows by chunk, in order.
    parts: Vec<NewRows>,
    types: Box<[ComponentType]>,
    /// The first column that has no values.
    next: u32,
}

impl Storage {
    /// Opens chunks for a number of rows that have these shared values, given as indices in the tables of the shared types. If the
    /// rows are packed, they go to chunks with room first.
    ///
    /// # Panics
    ///
    /// Panics if there is not one index for each shared type, or a shared value does not exist.
    pub(crate) fn rebuild_rows(
        &mut self,
        archetype: u32,
        shared: &[u32],
        rows: usize,
        is_packed: bool,
    ) -> Result<RebuiltRows<'_>, OutOfMemory> {
        let shape = &self.archetypes[archetype].shape;
        assert_eq!(shape.shared.len(), shared.len());
        let (types, capacity) = (shape.types.clone(), shape.capacity as usize);
        let group = self.group_of(archetype, GroupKey::found(shared));
        let has_chunks = match self.archetypes.groups(archetype) {
            Some(groups) => groups.at(group).chunks > 0,
            None => !self.archetypes[archetype].chunks.is_empty(),
        };
        let mut known = None;
        if has_chunks && is_packed {
            known = self.archetypes.rooms(archetype, group).last().copied();
        }
        let mut left = rows;
        let mut parts = Vec::new();
        while left > 0 {
            let number = match known.take() {
                Some(number) => number,
                None => self.open_chunk_in(archetype, group)?,
            };
            let chunk = &self.chunks[number];
            let first = chunk.len;
            let run =
                RowRange { chunk: number, first, rows: left.min(capacity - first as usize) as u32 };
            // SAFETY:
            // - the chunk is unshared, because the storage has no forks, has room for the rows, and nothing else writes to them
            // - the chunk and its archetype live as long as the storage, which the result borrows
            parts.push(unsafe { NewRows::in_memory(chunk.shape(), chunk.data(), run) });
            left -= run.rows as usize;
        }
        Ok(RebuiltRows { storage: self, parts, types, next: 0 })
    }
}

impl RebuiltRows<'_> {
    /// Returns the numbers of the chunks that the rows are in.
    pub(crate) fn chunks(&self) -> impl Iterator<Item = u32> {
        self.parts.iter().map(|rows| rows.run.chunk)
    }

    fn begin(&mut self, column: u32) -> ComponentType {
        assert_eq!(self.next, column, "columns are written in order");
        self.next += 1;
        self.types[column as usize]
    }

    /// Writes a column whose values have no bytes.
    pub(crate) fn write_nothing(&mut self, column: u32) {
        let ty = self.begin(column);
        assert!(ty.size() == 0 && ty.0.drop.is_none());
    }

    /// Writes the memory of the next column. Returns the row of an invalid value as an error.
    ///
    /// # Panics
    ///
    /// Panics if the layout or the number of bytes is not that of the column.
    pub(crate) fn write_bytes(
        &mut self,
        column: u32,
        layout: &FlatLayout,
        bytes: &[u8],
    ) -> Result<(), usize> {
        let ty = self.begin(column);
        let rows: usize = self.parts.iter().map(NewRows::len).sum();
        assert_eq!(bytes.len(), rows * ty.size());
        assert!(layout.is_of(ty.0.shape));
        if let Some(row) = layout.find_invalid(bytes) {
            return Err(row);
        }
        let mut rest = bytes;
        for part in &mut self.parts {
            let (now, later) = rest.split_at(part.len() * ty.size());
            rest = later;
            // SAFETY:
            // - the rows have room for these values in the column, and the bytes are in other memory
            // - the layout is that of the type, and all scalars in it are valid, so that the bytes are values of the type
            // - each column is written once, and `part` then owns the values
            unsafe {
                part.column(column).copy_from_nonoverlapping(now.as_ptr(), now.len());
                part.own(column);
            }
        }
        Ok(())
    }

    /// Reads the values of the next column field by field.
    pub(crate) fn read_values(
        &mut self,
        column: u32,
        from: &mut dyn ValueReader,
    ) -> Result<(), ValueError> {
        let ty = self.begin(column);
        for part in &mut self.parts {
            // SAFETY: the rows have room for values of the type. Each column is written once, and `part` then owns the values.
            unsafe {
                (ty.0.read)(ty.0.shape, part.column(column), part.len(), from)?;
                part.own(column);
            }
        }
        Ok(())
    }

    /// Writes the initial values of the next column. Returns `false` if its type has none.
    pub(crate) fn write_initial(&mut self, column: u32) -> bool {
        let ty = self.begin(column);
        for part in &mut self.parts {
            let (to, count) = (part.column(column), part.len());
            // SAFETY: the rows have room for values of the type. Each column is written once, and `part` then owns the values. Zeros
            // are valid values of a type whose initial value consists of them.
            unsafe {
                match ty.0.beginning {
                    Beginning::None => return false,
                    Beginning::Zero => to.write_bytes(0, count * ty.size()),
                    Beginning::Default(write) => write(to, count),
                }
                part.own(column);
            }
        }
        true
    }

    /// Reads the value of a chunk component for the first chunk of the rows. Other chunks keep the default.
    ///
    /// # Panics
    ///
    /// Panics if the column is not that of a chunk component.
    pub(crate) fn read_chunk_value(
        &mut self,
        column: u32,
        from: &mut dyn ValueReader,
    ) -> Result<(), ValueError> {
        let value = self.types[column as usize].0.per_chunk.expect("a chunk component").of;
        let Some(part) = self.parts.first().filter(|part| part.run.first == 0) else {
            return Ok(());
        };
        let place = self.storage.chunks[part.run.chunk].values.find(column);
        let place = place.expect("a chunk component").as_ptr();
        // SAFETY: the chunk has a value of the type at the address, which nothing else uses. The old value is dropped at the end.
        unsafe { ReadValue::new(value, from)?.swap(place) };
        Ok(())
    }

    /// Gives the rows their ids and enabled bits, and makes them visible. `masks` has the words of each enableable column.
    ///
    /// # Panics
    ///
    /// Panics if a column has no values, or the number of ids is not the number of rows.
    pub(crate) fn commit(self, ids: &[Entity], masks: &[&[u64]]) {
        assert_eq!(self.next as usize, self.types.len(), "all columns have values");
        assert_eq!(self.parts.iter().map(NewRows::len).sum::<usize>(), ids.len());
        let (storage, mut first) = (self.storage, 0);
        for part in self.parts {
            let RowRange { chunk: number, first: begin, rows } = part.run;
            let chunk = &mut storage.chunks[number];
            let ids = &ids[first as usize..][..rows as usize];
            for (to, id) in chunk.new_ids(begin, rows).iter_mut().zip(ids) {
                to.write(*id);
            }
            let is_uniform = chunk.note_new(begin, rows, storage.version);
            assert_eq!(masks.len(), chunk.shape().enableable.len());
            for (mask, words) in (0..).zip(masks) {
                for row in 0..rows {
                    let at = first + row;
                    let word = words.get(at as usize / 64).copied().unwrap_or(0);
                    chunk.enabled.set(mask, begin + row, word >> (at % 64) & 1 == 1);
                }
            }
            if is_uniform {
                storage.chunks.note_uniform(number);
            }
            // The chunk owns the values from here on.
            part.keep();
            storage.add_rows(number, rows);
            first += rows;
        }
    }
}

/// A value of an erased type that was read, in memory of its own.
pub(crate) struct ReadValue {
    ty: ComponentType,
    memory: NonNull<u8>,
    layout: Layout,
    has_value: bool,
}

impl ReadValue {
    /// Reads a value field by field.
    pub(crate) fn new(ty: ComponentType, from: &mut dyn ValueReader) -> Result<Self, ValueError> {
        let mut value = Self::allocate(ty);
        // SAFETY: the memory has room for one value.
        unsafe { (ty.0.read)(ty.0.shape, value.memory.as_ptr(), 1, from)? };
        value.has_value = true;
        Ok(value)
    }

    /// Creates the initial value of a type, or returns `None` if it has none.
    pub(crate) fn initial(ty: ComponentType) -> Option<Self> {
        let mut value = Self::allocate(ty);
        // SAFETY: the memory has room for one value. Zeros are a valid value of a type whose initial value consists of them.
        unsafe {
            match ty.0.beginning {
                Beginning::None => return None,
                Beginning::Zero => value.memory.write_bytes(0, ty.size()),
                Beginning::Default(write) => write(value.memory.as_ptr(), 1),
            }
        }
        value.has_value = true;
        Some(value)
    }

    /// Writes the value field by field.
    pub(crate) fn write(&self, out: &mut dyn ValueWriter) {
        assert!(self.has_value);
        // SAFETY: the memory has a value of the type.
        unsafe { (self.ty.0.write)(self.ty.0.shape, self.memory.as_ptr(), 1, out) };
    }

    /// Allocates memory without a value.
    fn allocate(ty: ComponentType) -> Self {
        let layout = Layout::from_size_align(ty.size().max(1), ty.align());
        let layout = layout.expect("the layout of a type");
        // SAFETY: the layout has at least one byte.
        let memory = unsafe { alloc(layout) };
        let memory = NonNull::new(memory).unwrap_or_else(|| handle_alloc_error(layout));
        Self { ty, memory, layout, has_value: false }
    }

    /// Returns the address of the value.
    pub(crate) fn as_ptr(&self) -> *const u8 {
        self.memory.as_ptr()
    }

    /// Exchanges the value with another one of the type.
    ///
    /// # Safety
    ///
    /// - the address has a value of the type, in memory that nothing else uses
    pub(crate) unsafe fn swap(&mut self, other: *mut u8) {
        // SAFETY: both addresses have a value of the type, and do not overlap, because this memory is not that of a chunk.
        unsafe { ptr::swap_nonoverlapping(other, self.memory.as_ptr(), self.ty.size()) };
    }

    /// Moves the value to an address, which then owns it.
    ///
    /// # Safety
    ///
    /// - the address has room for a value of the type
    pub(crate) unsafe fn move_to(mut self, to: *mut u8) {
        self.has_value = false;
        // SAFETY: the address has room for the value, and does not overlap this memory.
        unsafe { to.copy_from_nonoverlapping(self.memory.as_ptr(), self.ty.size()) };
    }
}

impl Drop for ReadValue {
    fn drop(&mut self) {
        struct Memory(NonNull<u8>, Layout);

        impl Drop for Memory {
            fn drop(&mut self) {
                // SAFETY: the memory was allocated with this layout, and is not used afterwards.
                unsafe { dealloc(self.0.as_ptr(), self.1) };
            }
        }

        // The memory is freed even if the drop of the value panics.
        let memory = Memory(self.memory, self.layout);
        if let Some(drop) = self.ty.0.drop.filter(|_| self.has_value) {
            // SAFETY: the memory has a value of the type, which is not used afterwards.
            unsafe { drop(memory.0.as_ptr(), 1) };
        }
    }
}

impl Chunk {
    /// Returns the memory of a column, or `None` if its type is not [plain](crate::Shape::plain). No job may be writing to it.
    pub(crate) fn plain_column(&self, column: usize) -> Option<&[u8]> {
        let (ty, slot) = (self.shape().types[column], self.shape().columns[column]);
        let len = self.len as usize * ty.size();
        // SAFETY: the first `len` rows have values, all of whose bytes are initialised and do not change through shared references.
        ty.0.shape.plain.then(|| unsafe { slice::from_raw_parts(self.column(slot.offset), len) })
    }

    /// Appends the memory of a column, with zeros instead of padding. No job may be writing to it.
    ///
    /// # Panics
    ///
    /// Panics if the layout is not that of the column.
    pub(crate) fn copy_column(&self, column: usize, layout: &FlatLayout, out: &mut Vec<u8>) {
        let (ty, slot) = (self.shape().types[column], self.shape().columns[column]);
        assert!(layout.is_of(ty.0.shape));
        let begin = out.len();
        out.resize(begin + self.len as usize * ty.size(), 0);
        let rows = out[begin..].chunks_exact_mut(ty.size().max(1));
        for (row, to) in rows.enumerate() {
            for range in layout.ranges() {
                let from = self.column(slot.offset).wrapping_add(row * ty.size() + range.start);
                // SAFETY: the row has a value, and the range holds scalars of it, whose bytes are initialised and do not change
                // through shared references.
                let bytes = unsafe { slice::from_raw_parts(from, range.len()) };
                to[range].copy_from_slice(bytes);
            }
        }
    }

    /// Writes the values of a column field by field. No job may be writing to it.
    pub(crate) fn write_column(&self, column: usize, out: &mut dyn ValueWriter) {
        let (ty, slot) = (self.shape().types[column], self.shape().columns[column]);
        // SAFETY: the first `len` rows have values of the type.
        unsafe { (ty.0.write)(ty.0.shape, self.column(slot.offset), self.len as usize, out) };
    }

    /// Writes the value of one row in a column field by field. No job may be writing to it.
    ///
    /// # Panics
    ///
    /// Panics if the chunk does not have the row.
    pub(crate) fn write_row(&self, column: usize, row: usize, out: &mut dyn ValueWriter) {
        assert!(row < self.len as usize);
        let (ty, slot) = (self.shape().types[column], self.shape().columns[column]);
        let value = self.column(slot.offset).wrapping_add(row * ty.size());
        // SAFETY: the row has a value of the type.
        unsafe { (ty.0.write)(ty.0.shape, value, 1, out) };
    }

    /// Writes the value of a chunk component field by field. Writes nothing if the column is not that of a chunk component.
    pub(crate) fn write_chunk_value(&self, column: u32, out: &mut dyn ValueWriter) {
        let found = self.values.iter().find(|&(found, ..)| found == column);
        if let Some((_, ty, value)) = found {
            // SAFETY: there is one value of the type at the address.
            unsafe { (ty.0.write)(ty.0.shape, value.as_ptr(), 1, out) };
        }
    }
}
