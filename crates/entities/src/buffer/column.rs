//! Type-erased functions on columns of buffers.
#![expect(unsafe_code, reason = "buffers whose type was erased")]

use std::alloc::{self, Layout, handle_alloc_error};
use std::any::TypeId;
use std::marker::PhantomData;
use std::mem::{self, needs_drop};
use std::ptr::{self, NonNull, slice_from_raw_parts_mut};
use std::slice;

use super::element::LayoutOf;
use super::element::too_many;
use super::{Buffer, BufferElement};
use crate::component::{Beginning, Copying, How, TypeInfo, Written};
use crate::field::{
    EntityRemap, FieldKind, Shape, StateHasher, ValueError, ValueReader, ValueWriter, read_list,
    shape_of, write_list,
};
use crate::storage::for_each_to_end;

/// Returns the metadata of a column of buffers.
pub(super) fn info<T: BufferElement>(index: u32) -> TypeInfo {
    const {
        assert!(!(T::ENABLEABLE && T::CLEANUP), "a cleanup buffer cannot be enableable");
    }
    let keeps_nothing = size_of::<T>() == 0 && !needs_drop::<T>();
    TypeInfo {
        enableable: T::ENABLEABLE,
        cleanup: T::CLEANUP,
        tracked: T::TRACK_CHANGES,
        write_groups: T::WRITE_GROUPS,
        maximum_capacity: T::MAXIMUM_CHUNK_CAPACITY,
        drop: (!keeps_nothing).then_some(drop_buffers::<T>),
        copying: match T::duplicate().how {
            How::NotAtAll => Copying::NotAtAll,
            How::Bytes(_) if keeps_nothing => Copying::Bytes,
            How::Bytes(_) => Copying::Deep(copy_buffers::<T>),
            How::Clone(_) => Copying::Clone(clone_buffers::<T>),
        },
        // The world creates the buffers of relationships.
        beginning: match T::REVERSE_OF {
            None => Beginning::Default(write_empty_buffers::<T>),
            Some(_) => Beginning::None,
        },
        hash: hash_buffers::<T>,
        remap: T::HAS_ENTITIES.then_some(remap_buffers::<T>),
        write: write_buffers::<T>,
        read: read_buffers::<T>,
        elements: Some(find_elements::<T>),
        // The functions of another type would misread the elements.
        reverse_of: T::REVERSE_OF.filter(|info| (info.rust_types)().1 == TypeId::of::<T>()),
        ..TypeInfo::of_wrapper::<Buffer<T>, T>(index, "Buffer", T::name(), LayoutOf::<T>::SHAPE)
    }
}

impl<T: BufferElement> LayoutOf<T> {
    /// The shape of a buffer. The bytes of a buffer are neither read nor written directly.
    const SHAPE: &'static Shape = &Shape::laid_out(
        "Buffer",
        FieldKind::List(shape_of::<T>),
        Self::LAYOUT.size,
        Self::LAYOUT.align,
    )
    .with_entities(T::HAS_ENTITIES);
}

/// Returns the address of the buffer at an index of a column.
fn buffer_at<T: BufferElement>(column: *mut u8, at: usize) -> *mut Header {
    column.wrapping_add(at * LayoutOf::<T>::LAYOUT.size).cast()
}

/// Returns the elements of a buffer.
///
/// # Safety
///
/// - the address has a buffer of `T`, which does not change for the lifetime
#[inline]
pub(crate) unsafe fn elements_of<'a, T: BufferElement>(buffer: *const Header) -> &'a [T] {
    let buffer = buffer.cast_mut();
    // SAFETY: the address has a buffer of this layout with `len` elements, which do not change for the lifetime.
    unsafe {
        let elements = Header::elements::<T>(buffer, &LayoutOf::<T>::LAYOUT);
        slice::from_raw_parts(elements, (*buffer).len as usize)
    }
}

/// Returns the address and the number of the elements of a buffer.
///
/// # Safety
///
/// - the address has a buffer of `T`, whose number of elements no other code changes meanwhile
#[inline]
pub(crate) unsafe fn place_of_elements<T: BufferElement>(buffer: *mut Header) -> NonNull<[T]> {
    // SAFETY: the address has a buffer of this layout, whose elements are never at the null address.
    unsafe {
        let elements = Header::elements::<T>(buffer, &LayoutOf::<T>::LAYOUT);
        NonNull::slice_from_raw_parts(NonNull::new_unchecked(elements), (*buffer).len as usize)
    }
}

/// Writes a buffer without elements.
///
/// # Safety
///
/// - the address has room for a buffer of `T`
#[inline]
pub(crate) unsafe fn write_empty<T: BufferElement>(to: *mut Header) {
    // SAFETY: the address has room for a buffer of `T`.
    unsafe { to.write(Header::empty(&LayoutOf::<T>::LAYOUT)) }
}

/// Writes a buffer with the given capacity and clones of the elements.
///
/// # Safety
///
/// - the address has room for a buffer of `T`
/// - the capacity is at least the number of elements
/// - if `clone` is `None`, elements can be copied as bytes
pub(super) unsafe fn write_clones<T: BufferElement>(
    to: *mut Header,
    elements: &[T],
    capacity: u32,
    clone: Option<fn(&T) -> T>,
) {
    /// A guard for a new buffer without elements, which frees the heap block of the buffer if a clone panics.
    struct New<T: BufferElement>(*mut Header, PhantomData<T>);

    impl<T: BufferElement> Drop for New<T> {
        fn drop(&mut self) {
            // SAFETY: the buffer was written, and no other code has access to it.
            unsafe { drop_buffer::<T>(self.0) }
        }
    }

    let layout = &LayoutOf::<T>::LAYOUT;
    // SAFETY: the address has room for a buffer of `T`.
    unsafe { write_empty::<T>(to) };
    let new = New::<T>(to, PhantomData);
    // SAFETY: the buffer was just written, and has no elements.
    unsafe { Header::set_capacity(to, layout, capacity) };
    // SAFETY: the buffer was just written with this layout.
    let first = unsafe { Header::elements::<T>(to, layout) };
    match clone {
        // SAFETY: the capacity covers all elements, which can be copied as bytes.
        None => unsafe {
            first.copy_from_nonoverlapping(elements.as_ptr(), elements.len());
        },
        // SAFETY: the capacity covers all elements.
        Some(clone) => unsafe {
            Written::fill(first, elements.len(), |index| clone(&elements[index]));
        },
    }
    mem::forget(new);
    // SAFETY: the buffer was just written, and all its elements are initialised.
    unsafe { (*to).len = elements.len() as u32 };
}

/// Implements [`DropColumn`](crate::component::DropColumn) for buffers of `T`.
///
/// # Safety
///
/// - the column has `count` buffers of `T`
/// - the buffers are not used afterwards
unsafe fn drop_buffers<T: BufferElement>(column: *mut u8, count: usize) {
    // SAFETY: the column has `count` buffers of `T`, which are not used afterwards.
    for_each_to_end(0..count, |at| unsafe { drop_buffer::<T>(buffer_at::<T>(column, at)) });
}

/// Drops the elements of a buffer and frees its block, even if dropping an element panics.
///
/// # Safety
///
/// - the address has a buffer of `T`, which is not used afterwards
unsafe fn drop_buffer<T: BufferElement>(buffer: *mut Header) {
    // SAFETY: the address has a buffer of `T` with `len` elements, which are not used afterwards. A block on the heap is that of a
    // vector with exactly `capacity` elements.
    unsafe {
        let Header { heap, len, capacity } = *buffer;
        if heap.is_null() {
            let first = Header::elements::<T>(buffer, &LayoutOf::<T>::LAYOUT);
            ptr::drop_in_place(slice_from_raw_parts_mut(first, len as usize));
        } else {
            drop(Vec::<T>::from_raw_parts(heap.cast(), len as usize, capacity as usize));
        }
    }
}

/// Writes `count` buffers with a function. If the function panics, no buffer remains.
///
/// # Safety
///
/// - the address has room for `count` buffers of `T`
/// - the function writes a buffer of `T` to the address it receives, unless it panics
pub(super) unsafe fn fill_buffers<T: BufferElement>(
    column: *mut u8,
    count: usize,
    mut write: impl FnMut(usize, *mut Header),
) {
    // SAFETY: the function writes a buffer of `T` to each of the `count` places, and `drop_buffers` drops them.
    unsafe {
        Written::fill_with(column, count, Some(drop_buffers::<T>), |at| {
            write(at, buffer_at::<T>(column, at));
        });
    }
}

/// Implements [`CloneColumn`](crate::component::CloneColumn) for buffers of `T`. Clones have the capacity of their sources.
///
/// # Safety
///
/// - `from` has `count` buffers of `T`
/// - `to` has room for `count` buffers and does not overlap `from`
unsafe fn clone_buffers<T: BufferElement>(from: *const u8, to: *mut u8, count: usize) {
    // SAFETY: `from` has `count` buffers and `to` has room for `count`; the function writes one per call.
    unsafe {
        fill_buffers::<T>(to, count, |at, to| {
            let from = buffer_at::<T>(from.cast_mut(), at);
            // `duplicate` is called again, because the function cannot be stored without its type. A different result is
            // harmless.
            let (How::Bytes(clone) | How::Clone(clone)) = T::duplicate().how else {
                panic!("`{}` is no longer duplicated", T::name());
            };
            write_clones::<T>(to, elements_of(from), (*from).capacity, Some(clone));
        });
    }
}

/// Implements [`CloneColumn`](crate::component::CloneColumn) for elements that are copied as bytes. It does not call `duplicate`
/// again.
///
/// # Safety
///
/// - `from` has `count` buffers of `T`
/// - `to` has room for `count` buffers and does not overlap `from`
/// - `T::duplicate` returned [`Duplicate::bytes`](crate::Duplicate::bytes)
unsafe fn copy_buffers<T: BufferElement>(from: *const u8, to: *mut u8, count: usize) {
    for at in 0..count {
        let (from, to) = (buffer_at::<T>(from.cast_mut(), at), buffer_at::<T>(to, at));
        // SAFETY: `from` has `count` buffers, `to` has room for `count`, and the elements can be copied as bytes. A capacity that
        // exists is valid for another buffer.
        unsafe { write_clones::<T>(to, elements_of(from), (*from).capacity, None) };
    }
}

/// Implements [`InitialColumn`](crate::component::InitialColumn) for buffers of `T`.
///
/// # Safety
///
/// - `to` has room for `count` buffers of `T`
unsafe fn write_empty_buffers<T: BufferElement>(to: *mut u8, count: usize) {
    for at in 0..count {
        // SAFETY: `to` has room for `count` buffers, and `at` is less than `count`.
        unsafe { write_empty::<T>(buffer_at::<T>(to, at)) };
    }
}

/// Implements [`HashColumn`](crate::component::HashColumn) for buffers of `T`. Each buffer is hashed as a list: its length, then
/// its elements.
///
/// # Safety
///
/// - the column has `count` buffers of `T`
unsafe fn hash_buffers<T: BufferElement>(
    _: &'static Shape,
    column: *const u8,
    count: usize,
    state: &mut StateHasher,
) {
    for at in 0..count {
        // SAFETY: the column has `count` buffers, and `at` is less than `count`.
        let elements = unsafe { elements_of::<T>(buffer_at::<T>(column.cast_mut(), at)) };
        state.write_len(elements.len());
        T::hash_states(elements, state);
    }
}

/// Implements `WriteColumn` for buffers of `T`.
///
/// # Safety
///
/// - the column has `count` buffers of `T`
unsafe fn write_buffers<T: BufferElement>(
    _: &'static Shape,
    column: *const u8,
    count: usize,
    out: &mut dyn ValueWriter,
) {
    for at in 0..count {
        // SAFETY: the column has `count` buffers, and `at` is less than `count`.
        let elements = unsafe { elements_of::<T>(buffer_at::<T>(column.cast_mut(), at)) };
        out.element();
        write_list(elements, out);
    }
}

/// Implements `ReadColumn` for buffers of `T`.
///
/// # Safety
///
/// - `to` has room for `count` buffers of `T`
unsafe fn read_buffers<T: BufferElement>(
    _: &'static Shape,
    to: *mut u8,
    count: usize,
    from: &mut dyn ValueReader,
) -> Result<(), ValueError> {
    let mut values: Vec<Vec<T>> = Vec::new();
    for _ in 0..count {
        let elements = read_list::<T>(None, from)?;
        if u32::try_from(elements.len()).is_err() {
            return Err(from.error("a buffer has at most 2³² - 1 elements"));
        }
        values.push(elements);
    }
    for (at, mut elements) in values.into_iter().enumerate() {
        let buffer = buffer_at::<T>(to, at);
        let len = elements.len() as u32;
        let capacity = len.max(LayoutOf::<T>::LAYOUT.inline);
        // SAFETY:
        // - the address has room for a buffer, and `at` is less than `count`
        // - the buffer has the capacity for the elements, which it owns afterwards, because the vector forgets them
        unsafe {
            write_empty::<T>(buffer);
            Header::set_capacity(buffer, &LayoutOf::<T>::LAYOUT, capacity);
            let first = Header::elements::<T>(buffer, &LayoutOf::<T>::LAYOUT);
            first.copy_from_nonoverlapping(elements.as_ptr(), elements.len());
            elements.set_len(0);
            (*buffer).len = len;
        }
    }
    Ok(())
}

/// Implements [`FindElements`](crate::component::FindElements) for buffers of `T`.
///
/// # Safety
///
/// - the address has a buffer of `T`, which does not change during the call
unsafe fn find_elements<T: BufferElement>(buffer: *const u8) -> (&'static Shape, *const u8, usize) {
    // SAFETY: the address has a buffer of `T`, which does not change during the call.
    let elements = unsafe { elements_of::<T>(buffer.cast()) };
    (T::SHAPE, elements.as_ptr().cast(), elements.len())
}

/// Implements [`RemapColumn`](crate::component::RemapColumn) for buffers of `T`.
///
/// # Safety
///
/// - the column has `count` buffers of `T`, which no other code uses during the call
unsafe fn remap_buffers<T: BufferElement>(
    _: &'static Shape,
    column: *mut u8,
    count: usize,
    map: &mut EntityRemap<'_>,
) {
    for at in 0..count {
        let buffer = buffer_at::<T>(column, at);
        // SAFETY: the column has `count` buffers, and no other code uses them during the call.
        let elements = unsafe {
            let first = Header::elements::<T>(buffer, &LayoutOf::<T>::LAYOUT);
            slice::from_raw_parts_mut(first, (*buffer).len as usize)
        };
        map.begin_value();
        for element in elements {
            element.remap(map);
        }
    }
}

/// The header of a buffer.
///
/// **Invariant:** `len` elements are initialised, and `capacity` is at least `len`. If `heap` is not null, the elements are on the
/// heap in a block of exactly `capacity` elements; otherwise they are inline.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
pub(crate) struct Header {
    pub(super) heap: *mut u8,
    pub(super) len: u32,
    pub(super) capacity: u32,
}

/// The minimum capacity of a buffer on the heap after it has grown.
const LEAST: u32 = 8;

/// The memory layout of the buffers of an element type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BufferLayout {
    /// The layout of one element.
    pub(super) element: Layout,
    /// The number of inline elements after the header.
    pub(super) inline: u32,
    /// The offset of the inline elements.
    first: usize,
    /// The size of a buffer in its chunk, which is a multiple of the alignment.
    pub(crate) size: usize,
    pub(crate) align: usize,
}

impl BufferLayout {
    /// Returns the layout of buffers of `T`.
    pub(crate) const fn of<T: BufferElement>() -> Self {
        Self::new(Layout::new::<T>(), T::INLINE)
    }

    const fn new(element: Layout, inline: usize) -> Self {
        let inline = if inline > u32::MAX as usize { u32::MAX } else { inline as u32 };
        let bytes = element.size().checked_mul(inline as usize);
        // If no elements are inline, the buffer does not need their alignment.
        let (first, align) = match bytes {
            Some(0) => (size_of::<Header>(), align_of::<Header>()),
            _ if element.align() > align_of::<Header>() => {
                (size_of::<Header>().next_multiple_of(element.align()), element.align())
            }
            _ => (size_of::<Header>(), align_of::<Header>()),
        };
        let size = match bytes {
            Some(bytes) if bytes < isize::MAX as usize - first - align => {
                (first + bytes).next_multiple_of(align)
            }
            _ => panic!("the inline elements of a buffer are larger than all memory"),
        };
        Self { element, inline, first, size, align }
    }

    /// Returns `true` if `capacity` elements fit without a block on the heap.
    pub(super) const fn is_inline(&self, capacity: u32) -> bool {
        capacity <= self.inline || self.element.size() == 0
    }

    /// Returns the layout of the heap block for `capacity` elements.
    #[track_caller]
    fn block(&self, capacity: u32) -> Layout {
        let bytes = self.element.size().checked_mul(capacity as usize);
        let block =
            bytes.and_then(|bytes| Layout::from_size_align(bytes, self.element.align()).ok());
        match block {
            Some(block) => block,
            None => too_many(capacity as usize),
        }
    }
}

impl Header {
    /// Returns a header without elements and without a heap block.
    pub(super) const fn empty(layout: &BufferLayout) -> Self {
        Self { heap: ptr::null_mut(), len: 0, capacity: layout.inline }
    }

    /// Returns the address of the elements of a buffer. It is aligned even if the buffer is empty.
    ///
    /// # Safety
    ///
    /// - the address is that of a buffer of this layout, and `T` has the size of its elements and no larger alignment
    #[inline(always)]
    pub(super) unsafe fn elements<T>(this: *mut Self, layout: &BufferLayout) -> *mut T {
        if size_of::<T>() == 0 {
            return NonNull::dangling().as_ptr();
        }
        // SAFETY: the address is that of a buffer.
        let heap = unsafe { (*this).heap };
        // The address of inline elements is inside of the buffer. If no elements are inline, the address is never dereferenced,
        // but it has to be aligned.
        let inline = if layout.inline == 0 {
            NonNull::<T>::dangling().as_ptr()
        } else {
            this.wrapping_byte_add(layout.first).cast::<T>()
        };
        if heap.is_null() { inline } else { heap.cast::<T>() }
    }

    /// Sets the capacity to exactly `capacity` elements.
    ///
    /// # Panics
    ///
    /// Panics with A0068 if a block cannot be that large. In that case the buffer is unchanged.
    ///
    /// # Safety
    ///
    /// - the address is that of a buffer of this layout, which no other code uses
    /// - the buffer has at most `capacity` elements
    #[track_caller]
    pub(super) unsafe fn set_capacity(this: *mut Self, layout: &BufferLayout, capacity: u32) {
        // SAFETY: the address is that of a buffer.
        let Self { heap, len, capacity: old } = unsafe { *this };
        debug_assert!(len <= capacity);
        let inline = this.cast::<u8>().wrapping_add(layout.first);
        let bytes = len as usize * layout.element.size();
        let new_heap = match (heap.is_null(), layout.is_inline(capacity)) {
            (true, true) => heap,
            (true, false) => {
                let block = allocate(layout.block(capacity));
                // SAFETY: `bytes` bytes of elements are inline, and the block has room for them.
                unsafe { block.copy_from_nonoverlapping(inline, bytes) };
                block
            }
            (false, true) => {
                // SAFETY: `bytes` bytes of elements are on the heap, and the inline memory has room for them.
                unsafe { inline.copy_from_nonoverlapping(heap, bytes) };
                // SAFETY: the block was allocated for the old capacity, and is not used afterwards.
                unsafe { alloc::dealloc(heap, layout.block(old)) };
                ptr::null_mut()
            }
            (false, false) => {
                let block = layout.block(capacity);
                // SAFETY:
                // - the block was allocated for the old capacity
                // - the new size is that of a valid layout, and not zero: elements on the heap have a size, and the capacity is not
                //   zero
                let moved = unsafe { alloc::realloc(heap, layout.block(old), block.size()) };
                if moved.is_null() {
                    handle_alloc_error(block);
                }
                moved
            }
        };
        // SAFETY: the address is that of a buffer, which no other code uses.
        unsafe { *this = Self { heap: new_heap, len, capacity } };
    }

    /// Reserves room for at least `needed` elements. The capacity grows geometrically.
    ///
    /// # Panics
    ///
    /// Panics with A0068 if `needed` exceeds the maximum. In that case the buffer is unchanged.
    ///
    /// # Safety
    ///
    /// - the address is that of a buffer of this layout, which no other code uses
    #[cold]
    #[inline(never)]
    #[track_caller]
    pub(super) unsafe fn grow(this: *mut Self, layout: &BufferLayout, needed: usize) {
        let Ok(needed) = u32::try_from(needed) else { too_many(needed) };
        // SAFETY: the address is that of a buffer.
        let capacity = unsafe { (*this).capacity };
        if needed > capacity {
            let doubled = capacity.saturating_mul(2);
            // SAFETY: the address is that of a buffer of this layout, which no other code uses. It has at most `capacity` elements,
            // and the new capacity is not smaller.
            unsafe { Self::set_capacity(this, layout, needed.max(doubled).max(LEAST)) };
        }
    }
}

/// Allocates a heap block, whose size is not zero.
fn allocate(block: Layout) -> *mut u8 {
    debug_assert!(block.size() > 0);
    // SAFETY: the size of the block is not zero.
    let address = unsafe { alloc::alloc(block) };
    if address.is_null() {
        handle_alloc_error(block);
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(size: usize, align: usize, inline: usize) -> (usize, usize, usize) {
        let element = Layout::from_size_align(size, align).unwrap();
        let BufferLayout { first, size, align, .. } = BufferLayout::new(element, inline);
        (first, size, align)
    }

    #[test]
    fn elements_are_behind_the_header_as_their_alignment_asks() {
        assert_eq!(size_of::<Header>(), 16);
        assert_eq!(layout(4, 4, 32), (16, 16 + 128, 8));
        assert_eq!(layout(1, 1, 3), (16, 24, 8));
        assert_eq!(layout(16, 16, 8), (16, 16 + 128, 16));
        assert_eq!(layout(64, 64, 2), (64, 64 + 128, 64));
        // Elements that are never inline are aligned on the heap.
        assert_eq!(layout(128, 128, 0), (16, 16, 8));
        assert_eq!(layout(0, 128, usize::MAX), (16, 16, 8));
    }

    #[test]
    #[should_panic(expected = "larger than all memory")]
    fn there_are_not_more_inline_than_memory_has() {
        layout(1 << 40, 8, usize::MAX);
    }
}
