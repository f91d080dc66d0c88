//! Buffers, shared components, values of chunks and managed components as data of queries.

#![expect(unsafe_code, reason = "references to values in chunks")]

use super::batch::{ChunkMarks, ChunkView};
use super::data::{ChunkData, ColumnFetch, QueryData, ReadOnlyData, one_part};
use super::matched::Place;
use super::parallel::ParallelData;
use super::plan::{Need, Part};
use crate::buffer::{
    Buffer, BufferAccessor, BufferAccessorMut, BufferElement, BufferLayout, DynamicBuffer, Header,
    elements_of,
};
use crate::component::{Component, ComponentType};
use crate::managed::{Managed, ManagedComponent};
use crate::per_chunk::PerChunk;
use crate::shared::{Shared, SharedComponent};

/// Where the buffer of a row is, of a column of buffers.
#[inline(always)]
fn buffer_at<T: BufferElement>(fetch: ColumnFetch<u8>, row: usize) -> *mut Header {
    fetch.first.as_ptr().wrapping_add(row * BufferLayout::of::<T>().size).cast()
}

// SAFETY: one part, at one place, which is read.
unsafe impl<T: BufferElement> QueryData for &Buffer<T> {
    type Item<'w> = &'w [T];
    type Static = &'static Buffer<T>;
    type Fetch = ColumnFetch<u8>;
    one_part!(ComponentType::of_buffer::<T>(), Need::On, false, false);

    #[inline(always)]
    unsafe fn fetch(view: ChunkView<'_>, places: &[Place]) -> ColumnFetch<u8> {
        ColumnFetch::new(view, places[0], T::ENABLEABLE)
    }

    #[inline(always)]
    unsafe fn is_on(fetch: ColumnFetch<u8>, row: usize) -> bool {
        // SAFETY: there is such a row.
        unsafe { fetch.is_on(row) }
    }

    #[inline(always)]
    unsafe fn get<'w>(fetch: ColumnFetch<u8>, row: usize) -> &'w [T] {
        // SAFETY: there is a buffer in each row, which nobody changes.
        unsafe { elements_of(buffer_at::<T>(fetch, row)) }
    }
}

// SAFETY: nothing can be changed.
unsafe impl<T: BufferElement> ReadOnlyData for &Buffer<T> {}

// SAFETY: elements can be shared and sent.
unsafe impl<T: BufferElement> ParallelData for &Buffer<T> {}

// SAFETY: elements can be shared and sent.
unsafe impl<T: BufferElement> ParallelData for &mut Buffer<T> {}

// SAFETY: buffers lie side by side.
unsafe impl<T: BufferElement> ChunkData for &Buffer<T> {
    type Slices<'w> = BufferAccessor<'w, T>;

    unsafe fn slices<'w>(
        fetch: ColumnFetch<u8>,
        first: usize,
        count: usize,
    ) -> BufferAccessor<'w, T> {
        // SAFETY: there is a buffer in each row, which nobody changes.
        unsafe { BufferAccessor::new(buffer_at::<T>(fetch, first).cast(), count) }
    }
}

// SAFETY: one part, at one place, which is written.
unsafe impl<T: BufferElement> QueryData for &mut Buffer<T> {
    type Item<'w> = DynamicBuffer<'w, T>;
    type Static = &'static mut Buffer<T>;
    type Fetch = ColumnFetch<u8>;
    one_part!(ComponentType::of_buffer::<T>(), Need::On, true, false, T::TRACK_CHANGES);

    #[inline(always)]
    unsafe fn fetch(view: ChunkView<'_>, places: &[Place]) -> ColumnFetch<u8> {
        ColumnFetch::new_mut(view, places[0], T::ENABLEABLE, T::TRACK_CHANGES)
    }

    #[inline(always)]
    unsafe fn is_on(fetch: ColumnFetch<u8>, row: usize) -> bool {
        // SAFETY: there is such a row.
        unsafe { fetch.is_on(row) }
    }

    #[inline(always)]
    unsafe fn get<'w>(fetch: ColumnFetch<u8>, row: usize) -> DynamicBuffer<'w, T> {
        // SAFETY: there is a buffer in each row, which nobody else uses.
        unsafe { DynamicBuffer::new(buffer_at::<T>(fetch, row)) }
    }
}

// SAFETY: buffers lie side by side.
unsafe impl<T: BufferElement> ChunkData for &mut Buffer<T> {
    type Slices<'w> = BufferAccessorMut<'w, T>;

    unsafe fn slices<'w>(
        fetch: ColumnFetch<u8>,
        first: usize,
        count: usize,
    ) -> BufferAccessorMut<'w, T> {
        // SAFETY: there is a buffer in each row, which nobody else uses.
        unsafe { BufferAccessorMut::new(buffer_at::<T>(fetch, first).cast(), count) }
    }
}

// SAFETY: one part, the value of a chunk's group, which is read.
unsafe impl<T: SharedComponent> QueryData for &Shared<T> {
    type Item<'w> = &'w T;
    type Static = &'static Shared<T>;
    type Fetch = *const T;
    one_part!(ComponentType::of_shared::<T>(), Need::On, false, false);

    #[inline]
    unsafe fn fetch(view: ChunkView<'_>, places: &[Place]) -> *const T {
        let value = view.shared_value(places[0].offset as usize);
        // SAFETY: the value is there as long as a chunk has it.
        unsafe { &*value }.downcast_ref::<T>().expect("a value of the type")
    }

    #[inline(always)]
    unsafe fn is_on(_: *const T, _: usize) -> bool {
        true
    }

    #[inline(always)]
    unsafe fn get<'w>(fetch: *const T, _: usize) -> &'w T {
        // SAFETY: the value is there as long as a chunk has it, and never changed.
        unsafe { &*fetch }
    }
}

// SAFETY: nothing can be changed.
unsafe impl<T: SharedComponent> ReadOnlyData for &Shared<T> {}

// SAFETY: shared components can be shared.
unsafe impl<T: SharedComponent> ParallelData for &Shared<T> {}

// SAFETY: all rows have the same value.
unsafe impl<T: SharedComponent> ChunkData for &Shared<T> {
    type Slices<'w> = &'w T;

    #[inline(always)]
    unsafe fn slices<'w>(fetch: *const T, _: usize, _: usize) -> &'w T {
        // SAFETY: as for one row.
        unsafe { &*fetch }
    }
}

// SAFETY: one part, the value of a chunk, which is read.
unsafe impl<T: Component + Default> QueryData for &PerChunk<T> {
    type Item<'w> = &'w T;
    type Static = &'static PerChunk<T>;
    type Fetch = *const T;
    one_part!(ComponentType::of_chunk::<T>(), Need::On, false, false);

    #[inline]
    unsafe fn fetch(view: ChunkView<'_>, places: &[Place]) -> *const T {
        let value = view.chunk.values.find(places[0].column).expect("chunks have their values");
        value.as_ptr().cast_const().cast()
    }

    #[inline(always)]
    unsafe fn is_on(_: *const T, _: usize) -> bool {
        true
    }

    #[inline(always)]
    unsafe fn get<'w>(fetch: *const T, _: usize) -> &'w T {
        // SAFETY: there is a value of this type, and the query has declared that it reads it. Only a job writes it, which would have to
        // declare that, and conflict.
        unsafe { &*fetch }
    }
}

// SAFETY: nothing can be changed.
unsafe impl<T: Component + Default> ReadOnlyData for &PerChunk<T> {}

// SAFETY: components can be shared.
unsafe impl<T: Component + Default> ParallelData for &PerChunk<T> {}

// SAFETY: all rows have the same value.
unsafe impl<T: Component + Default> ChunkData for &PerChunk<T> {
    type Slices<'w> = &'w T;

    #[inline(always)]
    unsafe fn slices<'w>(fetch: *const T, _: usize, _: usize) -> &'w T {
        // SAFETY: as for one row.
        unsafe { &*fetch }
    }
}

// SAFETY: one part, at one place, which is read. Neither views nor iterators of queries are sent to other threads.
unsafe impl<T: ManagedComponent> QueryData for &Managed<T> {
    type Item<'w> = &'w T;
    type Static = &'static Managed<T>;
    type Fetch = ColumnFetch<Box<T>>;
    one_part!(ComponentType::of_managed::<T>(), Need::On, false, false);

    #[inline(always)]
    unsafe fn fetch(view: ChunkView<'_>, places: &[Place]) -> ColumnFetch<Box<T>> {
        ColumnFetch::new(view, places[0], T::ENABLEABLE)
    }

    #[inline(always)]
    unsafe fn is_on(fetch: ColumnFetch<Box<T>>, row: usize) -> bool {
        // SAFETY: there is such a row.
        unsafe { fetch.is_on(row) }
    }

    #[inline(always)]
    unsafe fn get<'w>(fetch: ColumnFetch<Box<T>>, row: usize) -> &'w T {
        // SAFETY: there is a value in each row, which nobody changes, and no other thread reads: the memory is shared with
        // no fork, and this stays on its thread unless `T` may be shared.
        unsafe { &*fetch.first.as_ptr().add(row) }
    }
}

// SAFETY: nothing can be changed.
unsafe impl<T: ManagedComponent> ReadOnlyData for &Managed<T> {}

// SAFETY: one part, at one place, which is written.
unsafe impl<T: ManagedComponent> QueryData for &mut Managed<T> {
    type Item<'w> = &'w mut T;
    type Static = &'static mut Managed<T>;
    type Fetch = ColumnFetch<Box<T>>;
    one_part!(ComponentType::of_managed::<T>(), Need::On, true, false, T::TRACK_CHANGES);

    #[inline(always)]
    unsafe fn fetch(view: ChunkView<'_>, places: &[Place]) -> ColumnFetch<Box<T>> {
        ColumnFetch::new_mut(view, places[0], T::ENABLEABLE, T::TRACK_CHANGES)
    }

    #[inline(always)]
    unsafe fn is_on(fetch: ColumnFetch<Box<T>>, row: usize) -> bool {
        // SAFETY: there is such a row.
        unsafe { fetch.is_on(row) }
    }

    #[inline(always)]
    unsafe fn get<'w>(fetch: ColumnFetch<Box<T>>, row: usize) -> &'w mut T {
        // SAFETY: there is a value in each row, which nobody else uses.
        unsafe { &mut *fetch.first.as_ptr().add(row) }
    }
}
