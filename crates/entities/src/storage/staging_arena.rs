//! Values that are nobody's for a while, and dropped at the end.

#![expect(
    unsafe_code,
    reason = "values whose type is not known, in memory of the global allocator"
)]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::mem;
use std::ptr::NonNull;

use super::chunk::RowPlace;
use crate::component::ComponentType;

/// What a block has at least.
const LEAST: usize = 4096;

/// What blocks are aligned to, unless a value asks for more.
const ALIGN: usize = 64;

/// Memory for values that are in no chunk: those that wait to be put into one, and those that are to be dropped when everything
/// else is done.
///
/// Blocks never move, so that addresses stay. The largest is kept when all is [cleared](Self::clear), so that the next time
/// nothing is allocated.
#[derive(Default)]
pub(crate) struct StagingArena {
    blocks: Vec<StagingBlock>,
    /// How many bytes of the last block are in use.
    used: usize,
    /// What is dropped at the end.
    dead: Vec<PendingDrop>,
}

/// Values that are dropped at the end.
struct PendingDrop {
    value: *mut u8,
    drop: unsafe fn(*mut u8),
    ty: Option<ComponentType>,
}

struct StagingBlock {
    memory: NonNull<u8>,
    layout: Layout,
}

// SAFETY: it owns its memory, as a box does, and what is in it are components, and sets of them, which are `Send`.
unsafe impl Send for StagingArena {}

impl StagingArena {
    /// Room for a value, until everything is cleared.
    pub(crate) fn place(&mut self, layout: Layout) -> *mut u8 {
        if let Some(block) = self.blocks.last() {
            let first = block.memory.as_ptr().addr() + self.used;
            let start = self.used + (first.next_multiple_of(layout.align()) - first);
            if start + layout.size() <= block.layout.size() {
                self.used = start + layout.size();
                // SAFETY: it is in the block.
                return unsafe { block.memory.as_ptr().add(start) };
            }
        }
        self.open_block(layout)
    }

    /// Room for a value at the beginning of another block.
    #[cold]
    fn open_block(&mut self, value: Layout) -> *mut u8 {
        let before = self.blocks.last().map_or(0, |block| block.layout.size());
        let size = value.size().max(before * 2).max(LEAST);
        let layout = Layout::from_size_align(size, value.align().max(ALIGN));
        let layout = layout.expect("as large as what is in memory already");
        // SAFETY: it has a size.
        let memory = unsafe { alloc(layout) };
        let memory = NonNull::new(memory).unwrap_or_else(|| handle_alloc_error(layout));
        self.blocks.push(StagingBlock { memory, layout });
        self.used = value.size();
        memory.as_ptr()
    }

    /// Has a value dropped at the end, which is where it is until then.
    ///
    /// # Safety
    ///
    /// - there is a value of the type, which is in this memory, and nobody else's
    pub(crate) unsafe fn drop_later(&mut self, ty: ComponentType, value: *mut u8) {
        if ty.0.drop.is_some() {
            self.dead.push(PendingDrop { value, drop: nothing, ty: Some(ty) });
        }
    }

    /// Has a value dropped at the end by a function, and returns where that was noted: it can be
    /// [taken back](Self::cancel_drop).
    ///
    /// # Safety
    ///
    /// - the function drops what is there, which is in this memory, and nobody else's, unless it is taken back
    pub(crate) unsafe fn drop_later_by(&mut self, drop: unsafe fn(*mut u8), value: *mut u8) -> u32 {
        let at = u32::try_from(self.dead.len()).expect("fewer values than entities");
        self.dead.push(PendingDrop { value, drop, ty: None });
        at
    }

    /// Lets a value not be dropped: it has another owner now.
    pub(crate) fn cancel_drop(&mut self, at: u32) {
        self.dead[at as usize].drop = nothing;
    }

    /// Moves a value here, to be dropped at the end.
    ///
    /// # Safety
    ///
    /// - there is a value of the type, which is not used any more where it is
    pub(crate) unsafe fn discard(&mut self, ty: ComponentType, value: *const u8) {
        if ty.0.drop.is_none() {
            return;
        }
        let layout = Layout::from_size_align(ty.size(), ty.align()).expect("the layout of a type");
        let place = self.place(layout);
        // SAFETY: both have room for a value, apart from each other. It is nobody else's then.
        unsafe {
            place.copy_from_nonoverlapping(value, ty.size());
            self.drop_later(ty, place);
        }
    }

    /// Drops what is to be dropped: all of it, also when one value panics. Keeps the largest block.
    pub(crate) fn clear(&mut self) {
        /// Goes on with the rest if something panics.
        struct Rest<'c>(&'c mut StagingArena);

        impl Rest<'_> {
            fn go_on(&mut self) {
                while let Some(PendingDrop { value, drop, ty }) = self.0.dead.pop() {
                    match ty.and_then(|ty| ty.0.drop) {
                        // SAFETY: there is a value of the type, which nobody else has.
                        Some(drop) => unsafe { drop(value, 1) },
                        // SAFETY: the function is for what is there, or does nothing.
                        None => unsafe { drop(value) },
                    }
                }
            }
        }

        impl Drop for Rest<'_> {
            fn drop(&mut self) {
                self.go_on();
                let StagingArena { blocks, used, .. } = &mut *self.0;
                *used = 0;
                // The last is the largest.
                if blocks.len() > 1 {
                    blocks.drain(..blocks.len() - 1);
                }
            }
        }

        if !self.dead.is_empty() || !self.blocks.is_empty() {
            Rest(self).go_on();
        }
    }
}

/// Drops nothing.
///
/// # Safety
///
/// - none
unsafe fn nothing(_: *mut u8) {}

impl Drop for StagingArena {
    fn drop(&mut self) {
        self.clear();
    }
}

impl Drop for StagingBlock {
    fn drop(&mut self) {
        // SAFETY: it was allocated with this layout.
        unsafe { dealloc(self.memory.as_ptr(), self.layout) };
    }
}

/// Values of a set of components, for some rows, that wait to be put into chunks. Dropped if they are not.
///
/// The columns lie one after the other, in the order of the set. Once the values are gone, the memory can be used again.
#[derive(Default)]
pub(crate) struct StagedRows {
    memory: Memory,
    types: Vec<ComponentType>,
    offsets: Vec<u32>,
    rows: usize,
    /// How many of the columns have values.
    done: usize,
}

/// Memory for columns, or none.
struct Memory {
    first: NonNull<u8>,
    layout: Layout,
}

// SAFETY: it owns its memory, as a box does, and components are `Send`.
unsafe impl Send for Memory {}

impl StagedRows {
    /// Has a function write the values, where there are none: it is given the place of the first row, and counts the columns that
    /// are done. If it panics, those are there, and dropped with this.
    ///
    /// # Safety
    ///
    /// - the function writes values of these types to so many rows from the place on, one column after the other
    pub(crate) unsafe fn write(
        &mut self,
        types: &[ComponentType],
        rows: usize,
        write: impl FnOnce(RowPlace, &mut usize),
    ) {
        assert_eq!(self.done, 0, "what is there is dropped first");
        // One byte, so that there is something to be allocated also if no value has bytes.
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
        write(RowPlace::new(self.memory.first.as_ptr(), &self.offsets, 0), &mut self.done);
        debug_assert_eq!(self.done, self.types.len());
    }

    /// The values of each type: where the first is.
    pub(crate) fn columns(&self) -> impl Iterator<Item = (ComponentType, *mut u8)> {
        let columns = self.types.iter().zip(&self.offsets);
        // SAFETY: the columns are in the memory.
        columns.map(|(&ty, &offset)| (ty, unsafe { self.memory.column(offset) }))
    }

    /// How many bytes of memory there are.
    pub(crate) fn bytes(&self) -> usize {
        self.memory.layout.size()
    }

    /// Drops the values, and keeps the memory.
    pub(crate) fn clear(&mut self) {
        /// Goes on with the columns that are left when one has panicked.
        struct Rest<'a> {
            staged: &'a StagedRows,
            next: usize,
            end: usize,
        }

        impl Rest<'_> {
            fn go_on(&mut self) {
                while self.next < self.end {
                    let (ty, offset) =
                        (self.staged.types[self.next], self.staged.offsets[self.next]);
                    self.next += 1;
                    if let Some(drop) = ty.0.drop {
                        // SAFETY: the column has so many values, which are not used afterwards.
                        unsafe { drop(self.staged.memory.column(offset), self.staged.rows) };
                    }
                }
            }
        }

        impl Drop for Rest<'_> {
            fn drop(&mut self) {
                self.go_on();
            }
        }

        let end = mem::take(&mut self.done);
        Rest { staged: self, next: 0, end }.go_on();
    }
}

impl Drop for StagedRows {
    fn drop(&mut self) {
        // Also if it panics, the memory is freed behind it.
        self.clear();
    }
}

impl Memory {
    /// Sees to it that there is enough for this. What was there is lost.
    fn require(&mut self, layout: Layout) {
        if layout.size() <= self.layout.size() && layout.align() <= self.layout.align() {
            return;
        }
        *self = Self::default();
        // SAFETY: the layout has a size.
        let first = unsafe { alloc(layout) };
        let first = NonNull::new(first).unwrap_or_else(|| handle_alloc_error(layout));
        *self = Self { first, layout };
    }

    /// Where a column begins.
    ///
    /// # Safety
    ///
    /// - it is in the memory
    unsafe fn column(&self, offset: u32) -> *mut u8 {
        // SAFETY: the caller's promise.
        unsafe { self.first.add(offset as usize).as_ptr() }
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self { first: NonNull::dangling(), layout: Layout::new::<()>() }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if self.layout.size() > 0 {
            // SAFETY: it was allocated with this layout, and is not used afterwards.
            unsafe { dealloc(self.first.as_ptr(), self.layout) };
        }
    }
}
