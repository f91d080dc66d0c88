//! Staging memory for values outside of any chunk, which drops remaining values.

#![expect(unsafe_code, reason = "values of erased types, in memory of the global allocator")]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::mem;
use std::ptr::NonNull;

use super::chunk::RowPlace;
use super::raw_values::for_each_to_end;
use crate::component::ComponentType;

/// The minimum size of a block.
const MIN_BLOCK_SIZE: usize = 4096;

/// The minimum alignment of a block.
const MIN_BLOCK_ALIGN: usize = 64;

/// An arena for values that are later moved into a chunk, or dropped after a change.
///
/// Blocks never move, so that addresses remain valid. [`clear`](Self::clear) keeps the largest block, so that the next use does
/// not allocate.
#[derive(Default)]
pub(crate) struct StagingArena {
    blocks: Vec<RawBlock>,
    /// The number of used bytes in the last block.
    used: usize,
    /// The values that `clear` drops.
    pending: Vec<PendingDrop>,
}

/// A value that [`StagingArena::clear`] drops.
struct PendingDrop {
    value: *mut u8,
    drop: unsafe fn(*mut u8),
    ty: Option<ComponentType>,
    /// The number of values of the type, contiguous.
    count: usize,
}

// SAFETY: `StagingArena` owns its memory, as a box does. The values are components and sets of components, which are `Send`.
unsafe impl Send for StagingArena {}

impl StagingArena {
    /// Returns whether the arena has no values.
    pub(crate) fn is_unused(&self) -> bool {
        self.pending.is_empty() && self.used == 0
    }

    /// Allocates memory for a value. It is valid until the arena is cleared.
    pub(crate) fn place(&mut self, layout: Layout) -> *mut u8 {
        if let Some(block) = self.blocks.last() {
            let first = block.memory.as_ptr().addr() + self.used;
            let start = self.used + (first.next_multiple_of(layout.align()) - first);
            if start + layout.size() <= block.layout.size() {
                self.used = start + layout.size();
                // SAFETY: the range is inside of the block.
                return unsafe { block.memory.as_ptr().add(start) };
            }
        }
        self.open_block(layout)
    }

    /// Allocates a block, and returns its beginning as the memory of a value.
    #[cold]
    fn open_block(&mut self, value: Layout) -> *mut u8 {
        let before = self.blocks.last().map_or(0, |block| block.layout.size());
        let size = value.size().max(before * 2).max(MIN_BLOCK_SIZE);
        let layout = Layout::from_size_align(size, value.align().max(MIN_BLOCK_ALIGN));
        let block = RawBlock::new(layout.expect("as large as what is in memory already"));
        let memory = block.memory.as_ptr();
        self.blocks.push(block);
        self.used = value.size();
        memory
    }

    /// Registers a value in the arena, so that it is dropped when the arena is cleared.
    ///
    /// # Safety
    ///
    /// - there is a value of the type at the address, in this arena, and nothing else owns it
    pub(crate) unsafe fn drop_later(&mut self, ty: ComponentType, value: *mut u8) {
        // SAFETY: both functions have the same contract, for one value.
        unsafe { self.drop_all_later(ty, value, 1) };
    }

    /// Registers values in the arena that are contiguous, so that they are dropped when the arena is cleared.
    ///
    /// # Safety
    ///
    /// - there are `count` values of the type at the address, in this arena, and nothing else owns them
    pub(crate) unsafe fn drop_all_later(
        &mut self,
        ty: ComponentType,
        value: *mut u8,
        count: usize,
    ) {
        if ty.0.drop.is_some() {
            self.pending.push(PendingDrop { value, drop: drop_nothing, ty: Some(ty), count });
        }
    }

    /// Registers a value and the function that drops it when the arena is cleared. Returns a number for
    /// [`cancel_drop`](Self::cancel_drop).
    ///
    /// # Safety
    ///
    /// - `drop` drops the value at the address, which is in this arena; nothing else owns the value unless the drop is cancelled
    pub(crate) unsafe fn drop_later_by(&mut self, drop: unsafe fn(*mut u8), value: *mut u8) -> u32 {
        let at = u32::try_from(self.pending.len()).expect("fewer values than entities");
        self.pending.push(PendingDrop { value, drop, ty: None, count: 1 });
        at
    }

    /// Cancels the drop of a value that now has another owner.
    pub(crate) fn cancel_drop(&mut self, at: u32) {
        self.pending[at as usize].drop = drop_nothing;
    }

    /// Moves a value into the arena, which drops it when it is cleared.
    ///
    /// # Safety
    ///
    /// - there is a value of the type at the address, which is not used there afterwards
    pub(crate) unsafe fn discard(&mut self, ty: ComponentType, value: *const u8) {
        if ty.0.drop.is_none() {
            return;
        }
        let layout = Layout::from_size_align(ty.size(), ty.align()).expect("the layout of a type");
        let place = self.place(layout);
        // SAFETY: there is a value at `value`, and room for it at `place`. Afterwards only the arena owns the value.
        unsafe {
            place.copy_from_nonoverlapping(value, ty.size());
            self.drop_later(ty, place);
        }
    }

    /// Drops all pending values, even if one panics, and keeps the largest block.
    pub(crate) fn clear(&mut self) {
        /// Drops the remaining values if the drop of one panics.
        struct DropGuard<'c>(&'c mut StagingArena);

        impl DropGuard<'_> {
            fn drop_rest(&mut self) {
                while let Some(PendingDrop { value, drop, ty, count }) = self.0.pending.pop() {
                    match ty.and_then(|ty| ty.0.drop) {
                        // SAFETY: there are `count` values of the type at the address, and only the arena owns them.
                        Some(drop) => unsafe { drop(value, count) },
                        // SAFETY: the function drops the value at the address, or does nothing.
                        None => unsafe { drop(value) },
                    }
                }
            }
        }

        impl Drop for DropGuard<'_> {
            fn drop(&mut self) {
                self.drop_rest();
                let StagingArena { blocks, used, .. } = &mut *self.0;
                *used = 0;
                // The last block is the largest.
                if blocks.len() > 1 {
                    blocks.drain(..blocks.len() - 1);
                }
            }
        }

        if !self.is_unused() || self.blocks.len() > 1 {
            DropGuard(self).drop_rest();
        }
    }
}

/// Replaces the drop function of a value whose drop was cancelled, and does nothing.
///
/// # Safety
///
/// - this function has no requirements
unsafe fn drop_nothing(_: *mut u8) {}

impl Drop for StagingArena {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Values of a set of components for some rows, which are later moved into chunks. Values that are not moved are dropped.
///
/// The columns are stored one after the other in the order of the set. The memory is reused for the next values.
#[derive(Default)]
pub(crate) struct StagedRows {
    memory: RawBlock,
    types: Vec<ComponentType>,
    offsets: Vec<u32>,
    rows: usize,
    /// The number of columns with values.
    done: usize,
    /// The types whose values were moved elsewhere.
    moved: Vec<ComponentType>,
}

impl StagedRows {
    /// Writes values with a function, which gets the place of the first row and counts the columns that it has finished. Before
    /// the call there are no values. If the function panics, the values of finished columns are dropped later.
    ///
    /// # Safety
    ///
    /// - `write` writes values of these types to `rows` rows, beginning at the place, one column after the other
    pub(crate) unsafe fn write(
        &mut self,
        types: &[ComponentType],
        rows: usize,
        write: impl FnOnce(RowPlace, &mut usize),
    ) {
        assert_eq!(self.done, 0, "what is there is dropped first");
        // One more byte keeps the allocation from being empty if no value has bytes.
        let mut layout = Layout::new::<u8>();
        self.offsets.clear();
        for ty in types {
            let column = Layout::from_size_align(ty.size() * rows, ty.align());
            let (all, offset) = layout
                .extend(column.expect("as large as a chunk at most"))
                .expect("as large as a chunk of each at most");
            layout = all;
            self.offsets.push(u32::try_from(offset).expect("as large as a chunk of each at most"));
        }
        self.types.clear();
        self.types.extend_from_slice(types);
        self.rows = rows;
        self.memory.require(layout);
        write(RowPlace::new(self.memory.memory.as_ptr(), &self.offsets, 0), &mut self.done);
        debug_assert_eq!(self.done, self.types.len());
    }

    /// Iterates over the columns. Yields the type and the address of the first value of each.
    pub(crate) fn columns(&self) -> impl Iterator<Item = (ComponentType, *mut u8)> {
        let columns = self.types.iter().zip(&self.offsets);
        columns.map(|(&ty, &offset)| (ty, self.memory.column(offset)))
    }

    /// Gives up the ownership of the values of a type, which were moved elsewhere.
    pub(crate) fn forget(&mut self, ty: ComponentType) {
        self.moved.push(ty);
    }

    /// Returns the size of the memory in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.memory.layout.size()
    }

    /// Drops the values, and keeps the memory.
    pub(crate) fn clear(&mut self) {
        let end = mem::take(&mut self.done);
        let mut moved = mem::take(&mut self.moved);
        for_each_to_end(self.types.iter().zip(&self.offsets).take(end), |(ty, &offset)| {
            if let Some(drop) = ty.0.drop.filter(|_| !moved.contains(ty)) {
                // SAFETY: the column at the offset has a value for each row. The values are not used afterwards.
                unsafe { drop(self.memory.column(offset), self.rows) };
            }
        });
        moved.clear();
        self.moved = moved;
    }
}

impl Drop for StagedRows {
    fn drop(&mut self) {
        // The memory is freed even if this panics.
        self.clear();
    }
}

/// Memory from the global allocator, which may be empty.
struct RawBlock {
    memory: NonNull<u8>,
    layout: Layout,
}

// SAFETY: `RawBlock` owns its memory, as a box does. The values in it are components and sets of components, which are `Send`.
unsafe impl Send for RawBlock {}

impl RawBlock {
    /// Allocates memory for a layout, which is not empty.
    fn new(layout: Layout) -> Self {
        assert!(layout.size() > 0);
        // SAFETY: the layout is not empty.
        let memory = unsafe { alloc(layout) };
        let memory = NonNull::new(memory).unwrap_or_else(|| handle_alloc_error(layout));
        Self { memory, layout }
    }

    /// Makes the memory large enough for a layout. The contents are lost.
    fn require(&mut self, layout: Layout) {
        if layout.size() > self.layout.size() || layout.align() > self.layout.align() {
            *self = Self::default();
            *self = Self::new(layout);
        }
    }

    /// Returns the address at an offset of the memory.
    fn column(&self, offset: u32) -> *mut u8 {
        self.memory.as_ptr().wrapping_add(offset as usize)
    }
}

impl Default for RawBlock {
    fn default() -> Self {
        Self { memory: NonNull::dangling(), layout: Layout::new::<()>() }
    }
}

impl Drop for RawBlock {
    fn drop(&mut self) {
        if self.layout.size() > 0 {
            // SAFETY: the memory was allocated with this layout, and is not used afterwards.
            unsafe { dealloc(self.memory.as_ptr(), self.layout) };
        }
    }
}
