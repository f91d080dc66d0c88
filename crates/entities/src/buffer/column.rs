//! Functions on columns of buffers, for storage, which does not know what they are.
#![expect(unsafe_code, reason = "buffers whose type was erased")]

use std::alloc::{self, Layout, handle_alloc_error};
use std::any::TypeId;
use std::marker::PhantomData;
use std::mem::{self, needs_drop};
use std::ptr::{self, NonNull, slice_from_raw_parts_mut};
use std::slice;
use std::sync::atomic::AtomicBool;

use super::element::LayoutOf;
use super::element::too_many;
use super::{Buffer, BufferElement};
use crate::component::{
    Beginning, Copying, How, TypeInfo, Written, registry, stable_hash, stable_name,
};
use crate::field::{EntityRemap, FieldKind, Shape, StateHasher, shape_of};

/// What is known of a column of buffers.
pub(super) fn info<T: BufferElement>(index: u32) -> TypeInfo {
    const {
        assert!(!(T::ENABLEABLE && T::CLEANUP), "a buffer that stays cannot be switched off");
    }
    let name = registry::keep_name(format!("Buffer<{}>", T::name()));
    let stable_name = registry::keep_name(format!("Buffer<{}>", stable_name::<T>(T::name())));
    let layout = LayoutOf::<T>::LAYOUT;
    let keeps_nothing = size_of::<T>() == 0 && !needs_drop::<T>();
    TypeInfo {
        index,
        name,
        stable_name,
        stable_hash: stable_hash(stable_name),
        shares_stable_name: AtomicBool::new(false),
        size: layout.size,
        align: layout.align,
        shape: LayoutOf::<T>::SHAPE,
        enableable: T::ENABLEABLE,
        cleanup: T::CLEANUP,
        tracked: T::TRACK_CHANGES,
        write_groups: T::WRITE_GROUPS,
        maximum_capacity: T::MAXIMUM_CHUNK_CAPACITY,
        sync: true,
        type_id: Some(TypeId::of::<Buffer<T>>()),
        drop: (!keeps_nothing).then_some(drop_buffers::<T>),
        copying: match T::duplicate().how {
            How::NotAtAll => Copying::NotAtAll,
            How::Bytes if keeps_nothing => Copying::Bytes,
            How::Bytes => Copying::Deep(copy_buffers::<T>),
            How::Clone(_) => Copying::Clone(clone_buffers::<T>),
        },
        beginning: Beginning::Default(write_empty_buffers::<T>),
        hash: hash_buffers::<T>,
        remap: T::HAS_ENTITIES.then_some(remap_buffers::<T>),
        per_chunk: None,
        shared: None,
        elements: Some(find_elements::<T>),
    }
}

impl<T: BufferElement> LayoutOf<T> {
    /// A list. Its bytes are neither read nor written as such, as for every list.
    const SHAPE: &'static Shape = &Shape::laid_out(
        "Buffer",
        FieldKind::List(shape_of::<T>),
        Self::LAYOUT.size,
        Self::LAYOUT.align,
    )
    .with_entities(T::HAS_ENTITIES);
}

/// The address of a buffer of a column.
fn buffer_at<T: BufferElement>(column: *mut u8, at: usize) -> *mut Header {
    column.wrapping_add(at * LayoutOf::<T>::LAYOUT.size).cast()
}

/// The elements of a buffer.
///
/// # Safety
///
/// - there is a buffer of `T`, which nobody changes for the lifetime
#[inline]
pub(crate) unsafe fn elements_of<'a, T: BufferElement>(buffer: *const Header) -> &'a [T] {
    let buffer = buffer.cast_mut();
    // SAFETY: there is a buffer of this layout, with so many elements.
    unsafe {
        let elements = Header::elements::<T>(buffer, &LayoutOf::<T>::LAYOUT);
        slice::from_raw_parts(elements, (*buffer).len as usize)
    }
}

/// Writes a buffer without elements.
///
/// # Safety
///
/// - there is room for a buffer of `T`
#[inline]
pub(crate) unsafe fn write_empty<T: BufferElement>(to: *mut Header) {
    // SAFETY: as the caller promises.
    unsafe { to.write(Header::empty(&LayoutOf::<T>::LAYOUT)) }
}

/// Writes a buffer whose elements are clones, with room for so many.
///
/// # Safety
///
/// - there is room for a buffer of `T`
/// - there are at most as many elements as shall have room
pub(super) unsafe fn write_clones<T: BufferElement>(
    to: *mut Header,
    elements: &[T],
    capacity: u32,
    how: How<T>,
) {
    /// A buffer that nobody knows of yet: without elements, perhaps with a block.
    struct New<T: BufferElement>(*mut Header, PhantomData<T>);

    impl<T: BufferElement> Drop for New<T> {
        fn drop(&mut self) {
            // SAFETY: it was written, and nobody else knows of it.
            unsafe { (*self.0).free(&LayoutOf::<T>::LAYOUT) }
        }
    }

    let layout = &LayoutOf::<T>::LAYOUT;
    // SAFETY: there is room.
    unsafe { write_empty::<T>(to) };
    let new = New::<T>(to, PhantomData);
    // SAFETY: the buffer was just written, and has no elements.
    unsafe { Header::set_capacity(to, layout, capacity) };
    // SAFETY: as above.
    let first = unsafe { Header::elements::<T>(to, layout) };
    match how {
        // SAFETY: there is room for as many. Who says that bytes can be copied has shown that they can.
        How::Bytes => unsafe {
            first.copy_from_nonoverlapping(elements.as_ptr(), elements.len());
        },
        // SAFETY: there is room for as many.
        How::Clone(clone) => unsafe {
            Written::fill(first, elements.len(), |index| clone(&elements[index]));
        },
        How::NotAtAll => panic!("`{}` is no longer duplicated", T::name()),
    }
    mem::forget(new);
    // SAFETY: the buffer was just written; so many elements are there.
    unsafe { (*to).len = elements.len() as u32 };
}

/// See [`DropColumn`](crate::component::DropColumn).
///
/// # Safety
///
/// - as there
unsafe fn drop_buffers<T: BufferElement>(column: *mut u8, count: usize) {
    /// Goes on with the buffers that are left when the elements of one panic.
    struct Rest<T: BufferElement> {
        next: *mut Header,
        left: usize,
        of: PhantomData<T>,
    }

    impl<T: BufferElement> Rest<T> {
        fn go_on(&mut self) {
            while self.left > 0 {
                let buffer = self.next;
                self.left -= 1;
                self.next = self.next.wrapping_byte_add(LayoutOf::<T>::LAYOUT.size);
                // SAFETY: there is a buffer, which is not used afterwards.
                unsafe { drop_buffer::<T>(buffer) };
            }
        }
    }

    impl<T: BufferElement> Drop for Rest<T> {
        fn drop(&mut self) {
            self.go_on();
        }
    }

    Rest::<T> { next: column.cast(), left: count, of: PhantomData }.go_on();
}

/// Drops the elements of a buffer and frees its block, also when an element panics.
///
/// # Safety
///
/// - there is a buffer of `T`, which is not used afterwards
unsafe fn drop_buffer<T: BufferElement>(buffer: *mut Header) {
    struct Block<T: BufferElement>(Header, PhantomData<T>);

    impl<T: BufferElement> Drop for Block<T> {
        fn drop(&mut self) {
            // SAFETY: the elements were dropped, and are not used afterwards.
            unsafe { self.0.free(&LayoutOf::<T>::LAYOUT) }
        }
    }

    // SAFETY: there is a buffer.
    let header = unsafe { *buffer };
    let _block = Block::<T>(header, PhantomData);
    // SAFETY: so many elements are there, and not used afterwards.
    unsafe {
        let first = Header::elements::<T>(buffer, &LayoutOf::<T>::LAYOUT);
        ptr::drop_in_place(slice_from_raw_parts_mut(first, header.len as usize));
    }
}

/// Buffers that were written and not yet handed over: dropped if something panics before that.
struct WrittenBuffers<T: BufferElement> {
    first: *mut u8,
    count: usize,
    of: PhantomData<T>,
}

impl<T: BufferElement> Drop for WrittenBuffers<T> {
    fn drop(&mut self) {
        // SAFETY: so many were written, and nobody else knows of them.
        unsafe { drop_buffers::<T>(self.first, self.count) }
    }
}

/// Writes so many buffers, each with a function: all of them, or, when it panics, none.
///
/// # Safety
///
/// - the address has room for as many buffers of `T`
/// - the function writes a buffer of `T` where it is told to, unless it panics
pub(super) unsafe fn fill_buffers<T: BufferElement>(
    column: *mut u8,
    count: usize,
    mut write: impl FnMut(usize, *mut Header),
) {
    let mut written = WrittenBuffers::<T> { first: column, count: 0, of: PhantomData };
    for at in 0..count {
        write(at, buffer_at::<T>(column, at));
        written.count = at + 1;
    }
    mem::forget(written);
}

/// See [`CloneColumn`](crate::component::CloneColumn). Clones have the capacity of what they are clones of.
///
/// # Safety
///
/// - as there
unsafe fn clone_buffers<T: BufferElement>(from: *const u8, to: *mut u8, count: usize) {
    // SAFETY: there is room for as many; each is written.
    unsafe {
        fill_buffers::<T>(to, count, |at, to| {
            let from = buffer_at::<T>(from.cast_mut(), at);
            // Asked again, since the function cannot be kept without its type. An answer that differs is no harm.
            write_clones::<T>(to, elements_of(from), (*from).capacity, T::duplicate().how);
        });
    }
}

/// The same for elements whose type has said that their bytes are copied: it is not asked again.
///
/// # Safety
///
/// - as there, and it has said so
unsafe fn copy_buffers<T: BufferElement>(from: *const u8, to: *mut u8, count: usize) {
    for at in 0..count {
        let (from, to) = (buffer_at::<T>(from.cast_mut(), at), buffer_at::<T>(to, at));
        // SAFETY: there are so many buffers, and room for as many. The room that a buffer has, another can have.
        unsafe { write_clones::<T>(to, elements_of(from), (*from).capacity, How::Bytes) };
    }
}

/// See [`InitialColumn`](crate::component::InitialColumn).
///
/// # Safety
///
/// - as there
unsafe fn write_empty_buffers<T: BufferElement>(to: *mut u8, count: usize) {
    for at in 0..count {
        // SAFETY: there is room for as many.
        unsafe { write_empty::<T>(buffer_at::<T>(to, at)) };
    }
}

/// See [`HashColumn`](crate::component::HashColumn). Each buffer is hashed as a list is: its length, then its elements.
///
/// # Safety
///
/// - as there
unsafe fn hash_buffers<T: BufferElement>(
    _: &'static Shape,
    column: *const u8,
    count: usize,
    state: &mut StateHasher,
) {
    for at in 0..count {
        // SAFETY: there are so many buffers.
        let elements = unsafe { elements_of::<T>(buffer_at::<T>(column.cast_mut(), at)) };
        state.write_len(elements.len());
        T::hash_states(elements, state);
    }
}

/// See [`FindElements`](crate::component::FindElements).
///
/// # Safety
///
/// - as there
unsafe fn find_elements<T: BufferElement>(buffer: *const u8) -> (&'static Shape, *const u8, usize) {
    // SAFETY: there is a buffer, which nobody changes meanwhile.
    let elements = unsafe { elements_of::<T>(buffer.cast()) };
    (T::SHAPE, elements.as_ptr().cast(), elements.len())
}

/// See [`RemapColumn`](crate::component::RemapColumn).
///
/// # Safety
///
/// - as there
unsafe fn remap_buffers<T: BufferElement>(
    _: &'static Shape,
    column: *mut u8,
    count: usize,
    map: &mut EntityRemap<'_>,
) {
    for at in 0..count {
        let buffer = buffer_at::<T>(column, at);
        // SAFETY: there are so many buffers, and nobody else uses them.
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

/// The beginning of a buffer.
///
/// **Invariant:** `len` elements are there, and there is room for `capacity`, which is not less: on the heap, in a block of
/// just as many, unless the address is null.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
pub(crate) struct Header {
    pub(super) heap: *mut u8,
    pub(super) len: u32,
    pub(super) capacity: u32,
}

/// The least that is allocated when a buffer grows.
const LEAST: u32 = 8;

/// How the buffers of an element type lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BufferLayout {
    /// Of one element.
    pub(super) element: Layout,
    /// How many elements have room behind the header.
    pub(super) inline: u32,
    /// Where the inline elements begin.
    first: usize,
    /// What a buffer takes in its chunk: a multiple of the alignment.
    pub(crate) size: usize,
    pub(crate) align: usize,
}

impl BufferLayout {
    /// The layout of buffers of `T`.
    pub(crate) const fn of<T: BufferElement>() -> Self {
        Self::new(Layout::new::<T>(), T::INLINE)
    }

    const fn new(element: Layout, inline: usize) -> Self {
        let inline = if inline > u32::MAX as usize { u32::MAX } else { inline as u32 };
        let bytes = element.size().checked_mul(inline as usize);
        // Elements that are never inline do not have to be aligned here.
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

    /// Whether so many elements have room without a block on the heap.
    pub(super) const fn is_inline(&self, capacity: u32) -> bool {
        capacity <= self.inline || self.element.size() == 0
    }

    /// The block on the heap for so many elements.
    #[track_caller]
    fn block(&self, capacity: u32) -> Layout {
        let bytes = self.element.size().checked_mul(capacity as usize);
        bytes
            .and_then(|bytes| Layout::from_size_align(bytes, self.element.align()).ok())
            .unwrap_or_else(|| too_many(capacity as usize))
    }
}

impl Header {
    /// A buffer without elements, and without a block on the heap.
    pub(super) const fn empty(layout: &BufferLayout) -> Self {
        Self { heap: ptr::null_mut(), len: 0, capacity: layout.inline }
    }

    /// Where the elements of a buffer are. Aligned also if there are none.
    ///
    /// # Safety
    ///
    /// - the address is that of a buffer of this layout, with `T` as large as its elements and no more aligned
    #[inline(always)]
    pub(super) unsafe fn elements<T>(this: *mut Self, layout: &BufferLayout) -> *mut T {
        if size_of::<T>() == 0 {
            return NonNull::dangling().as_ptr();
        }
        // SAFETY: there is a header.
        let heap = unsafe { (*this).heap };
        // The first address is within the buffer, or just behind it if none are inline. Then nobody looks, but it has to
        // be aligned.
        let inline = if layout.inline == 0 {
            NonNull::<T>::dangling().as_ptr()
        } else {
            this.wrapping_byte_add(layout.first).cast::<T>()
        };
        if heap.is_null() { inline } else { heap.cast::<T>() }
    }

    /// Makes room for so many elements, and not more.
    ///
    /// # Panics
    ///
    /// With A0068 if no block is that large. Nothing has changed then.
    ///
    /// # Safety
    ///
    /// - the address is that of a buffer of this layout, which nobody else uses
    /// - there are not more elements
    #[track_caller]
    pub(super) unsafe fn set_capacity(this: *mut Self, layout: &BufferLayout, capacity: u32) {
        // SAFETY: there is a header.
        let Self { heap, len, capacity: old } = unsafe { *this };
        debug_assert!(len <= capacity);
        let inline = this.cast::<u8>().wrapping_add(layout.first);
        let bytes = len as usize * layout.element.size();
        let new_heap = match (heap.is_null(), layout.is_inline(capacity)) {
            (true, true) => heap,
            (true, false) => {
                let block = allocate(layout.block(capacity));
                // SAFETY: so many bytes are inline, and the block has room for more.
                unsafe { block.copy_from_nonoverlapping(inline, bytes) };
                block
            }
            (false, true) => {
                // SAFETY: so many bytes are on the heap, and there is room for more of them inline.
                unsafe { inline.copy_from_nonoverlapping(heap, bytes) };
                // SAFETY: the block is of the old capacity, and nobody looks at it any more.
                unsafe { alloc::dealloc(heap, layout.block(old)) };
                ptr::null_mut()
            }
            (false, false) => {
                let block = layout.block(capacity);
                // SAFETY:
                // - the block is of the old capacity
                // - the size is not zero: what is not inline has a size, and there are some; it is that of a layout
                let moved = unsafe { alloc::realloc(heap, layout.block(old), block.size()) };
                if moved.is_null() {
                    handle_alloc_error(block);
                }
                moved
            }
        };
        // SAFETY: there is a header, which nobody else uses.
        unsafe { *this = Self { heap: new_heap, len, capacity } };
    }

    /// Makes room for so many elements, and for some that may follow.
    ///
    /// # Panics
    ///
    /// With A0068 if that is more than there can be. Nothing has changed then.
    ///
    /// # Safety
    ///
    /// - the address is that of a buffer of this layout, which nobody else uses
    #[cold]
    #[inline(never)]
    #[track_caller]
    pub(super) unsafe fn grow(this: *mut Self, layout: &BufferLayout, needed: usize) {
        let needed = u32::try_from(needed).unwrap_or_else(|_| too_many(needed));
        // SAFETY: there is a header.
        let capacity = unsafe { (*this).capacity };
        if needed > capacity {
            let doubled = capacity.saturating_mul(2);
            // SAFETY: as the caller promises; there are at most as many elements as had room.
            unsafe { Self::set_capacity(this, layout, needed.max(doubled).max(LEAST)) };
        }
    }

    /// Frees the block on the heap, if there is one, and not what is in it.
    ///
    /// # Safety
    ///
    /// - the header is that of a buffer of this layout
    /// - its elements are not used afterwards
    pub(super) unsafe fn free(self, layout: &BufferLayout) {
        if !self.heap.is_null() {
            // SAFETY: the block is of this capacity, and nobody looks at it any more.
            unsafe { alloc::dealloc(self.heap, layout.block(self.capacity)) };
        }
    }
}

/// A new block. It is not of zero bytes.
fn allocate(block: Layout) -> *mut u8 {
    debug_assert!(block.size() > 0);
    // SAFETY: it is not of zero bytes.
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
        // What is only ever on the heap is aligned there.
        assert_eq!(layout(128, 128, 0), (16, 16, 8));
        assert_eq!(layout(0, 128, usize::MAX), (16, 16, 8));
    }

    #[test]
    #[should_panic(expected = "larger than all memory")]
    fn there_are_not_more_inline_than_memory_has() {
        layout(1 << 40, 8, usize::MAX);
    }
}
