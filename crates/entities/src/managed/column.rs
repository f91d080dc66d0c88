//! Functions on columns of managed components, for storage, which does not know what they are.
//!
//! A column is an array of boxes.

#![expect(unsafe_code, reason = "managed components whose type was erased")]

use std::any::TypeId;
use std::marker::PhantomData;
use std::sync::atomic::AtomicBool;
use std::{ptr, slice};

use super::{Managed, ManagedComponent};
use crate::component::{
    Beginning, Copying, How, TypeInfo, Written, drop_column, registry, stable_hash, stable_name,
};
use crate::field::{EntityRemap, FieldKind, Shape, StateHasher, shape_of};

/// What is known of a column of managed components.
pub(super) fn info<T: ManagedComponent>(index: u32) -> TypeInfo {
    const {
        assert!(!(T::ENABLEABLE && T::CLEANUP), "a component that stays cannot be switched off");
    }
    let name = registry::keep_name(format!("Managed<{}>", T::name()));
    let stable_name = registry::keep_name(format!("Managed<{}>", stable_name::<T>(T::name())));
    TypeInfo {
        index,
        name,
        stable_name,
        stable_hash: stable_hash(stable_name),
        shares_stable_name: AtomicBool::new(false),
        size: size_of::<Box<T>>(),
        align: align_of::<Box<T>>(),
        shape: ShapeOf::<T>::SHAPE,
        enableable: T::ENABLEABLE,
        cleanup: T::CLEANUP,
        tracked: T::TRACK_CHANGES,
        write_groups: T::WRITE_GROUPS,
        maximum_capacity: T::MAXIMUM_CHUNK_CAPACITY,
        // Forks may be on other threads.
        sync: false,
        type_id: Some(TypeId::of::<Managed<T>>()),
        drop: Some(drop_column::<Box<T>>),
        copying: match T::duplicate().how {
            How::NotAtAll => Copying::NotAtAll,
            How::Bytes | How::Clone(_) => Copying::Clone(clone_boxes::<T>),
        },
        beginning: match T::initial().make {
            None => Beginning::None,
            Some(_) => Beginning::Default(write_initial_boxes::<T>),
        },
        hash: hash_boxes::<T>,
        remap: T::HAS_ENTITIES.then_some(remap_boxes::<T>),
        elements: None,
        per_chunk: None,
        shared: None,
    }
}

/// The shape of the column's values, as a constant.
struct ShapeOf<T>(PhantomData<T>);

impl<T: ManagedComponent> ShapeOf<T> {
    /// A box. Its bytes are neither read nor written as such.
    const SHAPE: &'static Shape = &Shape::new::<Box<T>>("Managed", FieldKind::Boxed(shape_of::<T>))
        .with_entities(T::HAS_ENTITIES);
}

/// See [`CloneColumn`](crate::component::CloneColumn).
///
/// # Safety
///
/// - as there
unsafe fn clone_boxes<T: ManagedComponent>(from: *const u8, to: *mut u8, count: usize) {
    // SAFETY: there are so many values. Memory with them is its world's alone, so that no other thread uses them.
    let values = unsafe { slice::from_raw_parts(from.cast::<Box<T>>(), count) };
    // Asked again, since the function cannot be kept without its type. An answer that differs is no harm.
    let how = T::duplicate().how;
    let make = |index: usize| {
        let value: &T = &values[index];
        Box::new(match how {
            // SAFETY: who says that bytes can be copied has shown that they can.
            How::Bytes => unsafe { ptr::read(value) },
            How::Clone(clone) => clone(value),
            How::NotAtAll => panic!("`{}` is no longer duplicated", T::name()),
        })
    };
    // SAFETY: there is room for as many.
    unsafe { Written::fill(to.cast::<Box<T>>(), count, make) }
}

/// See [`InitialColumn`](crate::component::InitialColumn).
///
/// # Safety
///
/// - as there
unsafe fn write_initial_boxes<T: ManagedComponent>(to: *mut u8, count: usize) {
    let Some(make) = T::initial().make else {
        panic!("`{}` no longer has an initial value", T::name());
    };
    // SAFETY: there is room for as many.
    unsafe { Written::fill(to.cast::<Box<T>>(), count, |_| Box::new(make())) }
}

/// See [`HashColumn`](crate::component::HashColumn).
///
/// # Safety
///
/// - as there
unsafe fn hash_boxes<T: ManagedComponent>(
    _: &'static Shape,
    column: *const u8,
    count: usize,
    state: &mut StateHasher,
) {
    // SAFETY: there are so many values. Memory with them is its world's alone, so that no other thread uses them.
    for value in unsafe { slice::from_raw_parts(column.cast::<Box<T>>(), count) } {
        T::hash_state(value, state);
    }
}

/// See [`RemapColumn`](crate::component::RemapColumn).
///
/// # Safety
///
/// - as there
unsafe fn remap_boxes<T: ManagedComponent>(
    _: &'static Shape,
    column: *mut u8,
    count: usize,
    map: &mut EntityRemap<'_>,
) {
    // SAFETY: there are so many values, and nobody else uses them.
    for value in unsafe { slice::from_raw_parts_mut(column.cast::<Box<T>>(), count) } {
        map.begin_value();
        T::remap(value, map);
    }
}
