//! The values of one component of all that a query finds, as one list.

#![expect(unsafe_code, reason = "columns of chunks that were found")]

use std::slice;

use super::cursor::Cursor;
use super::data::track_rows;
use crate::component::{Component, ComponentType};
use crate::storage::OutOfMemory;

impl Cursor<'_> {
    /// Clones the values, in the order of the entities.
    ///
    /// # Safety
    ///
    /// - all entities that are found have the component, and nobody changes a value of it meanwhile
    pub(super) unsafe fn clone_values<T: Component + Clone>(mut self) -> Vec<T> {
        let mut all = Vec::new();
        while self.next_chunk() {
            let chunk = self.view().chunk;
            let found = chunk.find(ComponentType::of::<T>()).expect("the query asks for it");
            let first = chunk.column(found.offset).cast_const().cast::<T>();
            // SAFETY: there is a value for each row, and nobody changes it, as the caller promises.
            let values = unsafe { slice::from_raw_parts(first, chunk.len as usize) };
            while let Some((first, end)) = self.next_run() {
                all.extend_from_slice(&values[first as usize..end as usize]);
            }
        }
        all
    }

    /// Writes the values, of which there are as many as entities, in their order.
    ///
    /// # Safety
    ///
    /// - all entities that are found have the component, and the walk makes it the world's alone
    /// - nobody else uses a value of it meanwhile
    pub(super) unsafe fn write_values<T: Component + Copy>(
        mut self,
        values: &[T],
    ) -> Result<(), OutOfMemory> {
        let mut rest = values;
        while self.next_chunk() {
            let chunk = self.view().chunk;
            let place = chunk.find(ComponentType::of::<T>()).expect("the query asks for it");
            let column = chunk.column(place.offset).cast::<T>();
            let written = chunk.tracked_column(place.column);
            while let Some((first, end)) = self.next_run() {
                let (now, later) = rest.split_at((end - first) as usize);
                // SAFETY: the rows are there, and nobody else uses them, as the caller promises. Nothing has to be dropped of what
                // can be copied.
                unsafe {
                    track_rows(written, first as usize, now.len());
                    column.add(first as usize).copy_from_nonoverlapping(now.as_ptr(), now.len());
                }
                rest = later;
            }
        }
        self.end()
    }
}
