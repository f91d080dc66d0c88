//! Values of a set of components, outside of chunks.

#![expect(
    unsafe_code,
    reason = "values whose type is not known, in memory of the global allocator"
)]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::mem;
use std::ptr::NonNull;

use super::row_place::RowPlace;
use crate::component::ComponentType;

/// Values of a set of components, for some rows, that wait to be put into chunks. Dropped if they are not.
///
/// The columns lie one after the other, in the order of the set. Once the values are gone, the memory can be used again.
#[derive(Default)]
pub(crate) struct Staged {
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

impl Staged {
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
            staged: &'a Staged,
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

impl Drop for Staged {
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
