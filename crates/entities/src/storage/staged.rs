//! Values of a set of components, outside of chunks.

#![expect(
    unsafe_code,
    reason = "values whose type is not known, in memory of the global allocator"
)]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;

use super::row_place::RowPlace;
use crate::component::ComponentType;

/// Values of a set of components, for some rows, that wait to be put into chunks. Dropped if they are not.
///
/// The columns lie one after the other, in the order of the set.
pub(crate) struct Staged {
    memory: NonNull<u8>,
    layout: Layout,
    types: Box<[ComponentType]>,
    offsets: Box<[u32]>,
    rows: usize,
    /// How many of the columns have values.
    done: usize,
}

impl Staged {
    /// Has a function write the values: it is given the place of the first row, and counts the columns that are done. If it
    /// panics, those are dropped.
    ///
    /// # Safety
    ///
    /// - the function writes values of these types to so many rows from the place on, one column after the other
    pub(crate) unsafe fn new(
        types: &[ComponentType],
        rows: usize,
        write: impl FnOnce(RowPlace, &mut usize),
    ) -> Self {
        // One byte, so that there is something to be allocated also if no value has bytes.
        let mut layout = Layout::new::<u8>();
        let mut offsets = Vec::with_capacity(types.len());
        for ty in types {
            let column = Layout::from_size_align(ty.size() * rows, ty.align());
            let (all, offset) = layout
                .extend(column.expect("as large as a chunk at most"))
                .expect("as large as a chunk of each at most");
            layout = all;
            offsets.push(u32::try_from(offset).expect("as large as a chunk of each at most"));
        }
        // SAFETY: the layout has a size.
        let memory = unsafe { alloc(layout) };
        let memory = NonNull::new(memory).unwrap_or_else(|| handle_alloc_error(layout));
        let (types, offsets) = (types.into(), offsets.into());
        let mut staged = Self { memory, layout, types, offsets, rows, done: 0 };
        write(RowPlace::new(memory.as_ptr(), &staged.offsets, 0), &mut staged.done);
        debug_assert_eq!(staged.done, staged.types.len());
        staged
    }

    /// The values of each type: where the first is.
    pub(crate) fn columns(&self) -> impl Iterator<Item = (ComponentType, *mut u8)> {
        let columns = self.types.iter().zip(&self.offsets);
        // SAFETY: the columns are in the memory.
        columns.map(|(&ty, &offset)| (ty, unsafe { self.memory.add(offset as usize).as_ptr() }))
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        /// Goes on with the columns that are left when one has panicked, and frees the memory.
        struct Rest<'a> {
            staged: &'a Staged,
            next: usize,
        }

        impl Rest<'_> {
            fn go_on(&mut self) {
                while self.next < self.staged.done {
                    let (ty, offset) =
                        (self.staged.types[self.next], self.staged.offsets[self.next]);
                    self.next += 1;
                    if let Some(drop) = ty.0.drop {
                        // SAFETY: the column has so many values, which are not used afterwards.
                        unsafe {
                            drop(
                                self.staged.memory.add(offset as usize).as_ptr(),
                                self.staged.rows,
                            );
                        }
                    }
                }
            }
        }

        impl Drop for Rest<'_> {
            fn drop(&mut self) {
                self.go_on();
                // SAFETY: it was allocated with this layout, and is not used afterwards.
                unsafe { dealloc(self.staged.memory.as_ptr(), self.staged.layout) };
            }
        }

        Rest { staged: self, next: 0 }.go_on();
    }
}
