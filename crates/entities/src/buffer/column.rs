//! Functions on columns of buffers, for storage, which does not know what they are.

#![expect(unsafe_code, reason = "buffers whose type was erased")]

use std::any::TypeId;
use std::marker::PhantomData;
use std::mem::{self, needs_drop};
use std::ptr::{self, slice_from_raw_parts_mut};
use std::slice;
use std::sync::atomic::AtomicBool;

use super::element::LayoutOf;
use super::{Buffer, BufferElement, Header};
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
