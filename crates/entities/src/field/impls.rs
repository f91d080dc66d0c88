//! Implementations of `Field` for types of the standard library, of `ancho_collections` and of `glam`.
#![expect(unsafe_code, reason = "says what these types consist of")]

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::marker::PhantomData;
use std::mem::offset_of;
use std::num::{NonZero, Saturating, Wrapping};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{
    AtomicBool, AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicU8, AtomicU16,
    AtomicU32, AtomicU64, AtomicUsize, Ordering as Atomic,
};
use std::time::Duration;

use ancho_collections::{BlobAsset, BlobAssetReference, FixedList, FixedString};

use super::{
    EntityRemap, Field, FieldKind, FieldShape, Shape, StateHasher, VariantShape, shape_of,
};
use crate::Entity;

/// Implements `Field` for types without entities. Each entry has a shape, and an expression that writes a value to a hasher.
///
/// The comment of an entry says why the shape describes the type correctly.
macro_rules! leaves {
    ($(impl[$($generics:tt)*] $ty:ty = $shape:expr, |$value:pat_param, $state:pat_param| $write:expr;)*) => {$(
        // SAFETY: the comment of the macro's entry says why the shape describes the type correctly.
        #[diagnostic::do_not_recommend]
        unsafe impl<$($generics)*> Field for $ty {
            const SHAPE: &'static Shape = &$shape;

            #[inline]
            fn hash_state(&self, $state: &mut StateHasher) {
                let $value = self;
                $write
            }

            #[inline]
            fn remap(&mut self, _: &mut EntityRemap<'_>) {}
        }
    )*};
}

/// Implements `Field` for a unit struct.
macro_rules! unit_field {
    ($name:ident) => {
        #[expect(unsafe_code, reason = "describes the fields of a unit struct")]
        // SAFETY: a value has no bytes, which the assertion proves, and no fields.
        unsafe impl $crate::field::Field for $name {
            const SHAPE: &'static $crate::field::Shape = {
                assert!(size_of::<Self>() == 0);
                let kind = $crate::field::FieldKind::Struct(&[]);
                &$crate::field::Shape::new::<Self>(stringify!($name), kind)
            };

            fn hash_state(&self, _: &mut $crate::field::StateHasher) {}

            fn remap(&mut self, _: &mut $crate::field::EntityRemap<'_>) {}
        }
    };
}

pub(crate) use unit_field;

leaves! {
    // `bool` has one byte. The shape declares invalid bit patterns.
    impl[] bool = Shape::new::<Self>("bool", FieldKind::Bool), |value, state| state.write_u8(u8::from(*value));
    // `char` has four bytes. The shape declares invalid bit patterns.
    impl[] char = Shape::new::<Self>("char", FieldKind::Char), |value, state| state.write_u32(u32::from(*value));
    // The kinds are those of the number types.
    impl[] f32 = Shape::new::<Self>("f32", FieldKind::F32), |value, state| state.write_f32(*value);
    impl[] f64 = Shape::new::<Self>("f64", FieldKind::F64), |value, state| state.write_f64(*value);
    // `AtomicBool` has one byte. The shape declares invalid bit patterns, and changes through shared references.
    impl[] AtomicBool = Shape::new::<Self>("AtomicBool", FieldKind::Bool).shared(),
        |value, state| value.load(Atomic::Relaxed).hash_state(state);
    // These types have no bytes.
    impl[] () = Shape::new::<Self>("()", FieldKind::Unit), |_, _| ();
    impl[T: ?Sized + 'static] PhantomData<T> = Shape::new::<Self>("PhantomData", FieldKind::Unit), |_, _| ();
    // These shapes are neither `plain` nor `any_bits`.
    impl[] Duration = Shape::new::<Self>("Duration", FieldKind::Duration), |value, state| {
        state.write_u64(value.as_secs());
        state.write_u32(value.subsec_nanos());
    };
    impl[] String = Shape::new::<Self>("String", FieldKind::Text), |text, state| write_text(text, state);
    impl[] Box<str> = Shape::new::<Self>("Box<str>", FieldKind::Text), |text, state| write_text(text, state);
    impl[] Arc<str> = Shape::new::<Self>("Arc<str>", FieldKind::Text), |text, state| write_text(text, state);
    impl[] &'static str = Shape::new::<Self>("&str", FieldKind::Text), |text, state| write_text(text, state);
    impl[const N: usize] FixedString<N> = Shape::new::<Self>("FixedString", FieldKind::Text),
        |text, state| write_text(text, state);
    impl[T: 'static] BlobAsset<T> = Shape::new::<Self>("BlobAsset", FieldKind::Blob),
        |blob, state| state.write_u64(blob.content_hash());
    impl[T: 'static] BlobAssetReference<T> = Shape::new::<Self>("BlobAssetReference", FieldKind::Blob),
        |blob, state| state.write_u64(blob.content_hash().into());
    impl[] Ordering = Shape::new::<Self>("Ordering", FieldKind::Enum(&[
        VariantShape { name: "Less", fields: &[] },
        VariantShape { name: "Equal", fields: &[] },
        VariantShape { name: "Greater", fields: &[] },
    ])), |value, state| state.write_u32((*value as i8 + 1) as u32);
}

/// Implements `Field` for a number, its `NonZero`, and its atomic if there is one.
///
/// `$wide` is the type that is written to the hasher, followed by the method that writes it.
macro_rules! integers {
    ($($number:ident $kind:ident $write:ident($wide:ident) $($atomic:ident)?;)*) => {
        leaves! {$(
            // The kind is that of the number type.
            impl[] $number = Shape::new::<Self>(stringify!($number), FieldKind::$kind),
                |value, state| state.$write(*value as $wide);
            // `NonZero` has the layout of the number. Zero is invalid, so the shape declares invalid bit patterns.
            impl[] NonZero<$number> =
                Shape::new::<Self>(concat!("NonZero<", stringify!($number), ">"), FieldKind::$kind).checked(),
                |value, state| value.get().hash_state(state);
            $(
                // The atomic has the layout of the number. The shape declares changes through shared references.
                impl[] $atomic = Shape::new::<Self>(stringify!($atomic), FieldKind::$kind).shared(),
                    |value, state| value.load(Atomic::Relaxed).hash_state(state);
            )?
        )*}
    };
}

integers! {
    u8 U8 write_u8(u8) AtomicU8;
    u16 U16 write_u16(u16) AtomicU16;
    u32 U32 write_u32(u32) AtomicU32;
    u64 U64 write_u64(u64) AtomicU64;
    u128 U128 write_u128(u128);
    usize Usize write_u64(u64) AtomicUsize;
    i8 I8 write_u8(u8) AtomicI8;
    i16 I16 write_u16(u16) AtomicI16;
    i32 I32 write_u32(u32) AtomicI32;
    i64 I64 write_u64(u64) AtomicI64;
    i128 I128 write_u128(u128);
    isize Isize write_u64(u64) AtomicIsize;
}

// SAFETY: an entity consists of two contiguous numbers, eight bytes without padding. Any numbers are a valid `Entity` value,
// because worlds check whether the entity exists.
unsafe impl Field for Entity {
    const SHAPE: &'static Shape = &Shape::new::<Self>("Entity", FieldKind::Entity);

    #[inline]
    fn hash_state(&self, state: &mut StateHasher) {
        state.write_u64(self.to_bits());
    }

    #[inline]
    fn remap(&mut self, map: &mut EntityRemap<'_>) {
        *self = map.apply(*self);
    }
}

/// Implements `Field` for a transparent wrapper with the shape of its inner value.
macro_rules! transparent {
    ($($wrapper:ident)*) => {$(
        // SAFETY: the wrapper is `repr(transparent)`, and all values of the inner type are valid.
        unsafe impl<T: Field> Field for $wrapper<T> {
            const SHAPE: &'static Shape = T::SHAPE;

            #[inline]
            fn hash_state(&self, state: &mut StateHasher) {
                self.0.hash_state(state);
            }

            #[inline]
            fn remap(&mut self, map: &mut EntityRemap<'_>) {
                self.0.remap(map);
            }
        }
    )*};
}

transparent!(Wrapping Saturating);

/// Implements `Field` for the tuple of the types, and for all shorter tuples.
///
/// The arguments are pairs of a name and an index, in descending order of the indices.
macro_rules! tuples {
    () => {};
    ($last:ident $last_index:tt $($name:ident $index:tt)*) => {
        tuples!($($name $index)*);
        tuples!(@reverse [$last $last_index $($name $index)*]);
    };
    (@reverse [] $($name:ident $index:tt)*) => {
        // SAFETY:
        // - all fields are listed, with the offsets that the compiler computes
        // - the properties of the bytes follow from the fields
        unsafe impl<$($name: Field),*> Field for ($($name,)*) {
            const SHAPE: &'static Shape = &Shape::new::<Self>(
                "tuple",
                FieldKind::Tuple(&[$(
                    FieldShape::new::<$name>(stringify!($index), offset_of!(Self, $index)),
                )*]),
            );

            #[inline]
            fn hash_state(&self, state: &mut StateHasher) {
                $(self.$index.hash_state(state);)*
            }

            #[inline]
            fn remap(&mut self, map: &mut EntityRemap<'_>) {
                $(self.$index.remap(map);)*
            }
        }
    };
    (@reverse [$first:ident $first_index:tt $($rest:tt)*] $($done:tt)*) => {
        tuples!(@reverse [$($rest)*] $first $first_index $($done)*);
    };
}

tuples!(L 11 K 10 J 9 I 8 H 7 G 6 F 5 E 4 D 3 C 2 B 1 A 0);

// SAFETY: the elements are contiguous, without gaps.
unsafe impl<T: Field, const N: usize> Field for [T; N] {
    const SHAPE: &'static Shape =
        &Shape::new::<Self>("array", FieldKind::Array { element: T::SHAPE, len: N });

    #[inline]
    fn hash_state(&self, state: &mut StateHasher) {
        T::hash_states(self, state);
    }

    #[inline]
    fn hash_states(values: &[Self], state: &mut StateHasher) {
        T::hash_states(values.as_flattened(), state);
    }

    #[inline]
    fn remap(&mut self, map: &mut EntityRemap<'_>) {
        remap_all(self, map);
    }
}

// SAFETY:
// - both fields are listed, with the offsets that the compiler computes
// - any two values are a valid range
unsafe impl<T: Field> Field for Range<T> {
    const SHAPE: &'static Shape = &Shape::new::<Self>(
        "Range",
        FieldKind::Struct(&[
            FieldShape::new::<T>("start", offset_of!(Self, start)),
            FieldShape::new::<T>("end", offset_of!(Self, end)),
        ]),
    );

    #[inline]
    fn hash_state(&self, state: &mut StateHasher) {
        self.start.hash_state(state);
        self.end.hash_state(state);
    }

    #[inline]
    fn remap(&mut self, map: &mut EntityRemap<'_>) {
        self.start.remap(map);
        self.end.remap(map);
    }
}

// SAFETY: the shape has the size and alignment of the type, lists no offsets, and is neither `plain` nor `any_bits`.
unsafe impl<T: Field> Field for Option<T> {
    const SHAPE: &'static Shape = &Shape::new::<Self>("Option", FieldKind::Optional(T::SHAPE));

    #[inline]
    fn hash_state(&self, state: &mut StateHasher) {
        state.write_u32(u32::from(self.is_some()));
        if let Some(value) = self {
            value.hash_state(state);
        }
    }

    #[inline]
    fn remap(&mut self, map: &mut EntityRemap<'_>) {
        if let Some(value) = self {
            value.remap(map);
        }
    }
}

// SAFETY: the shape has the size and alignment of the type, lists no offsets, and is neither `plain` nor `any_bits`.
unsafe impl<T: Field, E: Field> Field for Result<T, E> {
    const SHAPE: &'static Shape = &Shape::new::<Self>(
        "Result",
        FieldKind::Enum(&[
            VariantShape { name: "Ok", fields: &[FieldShape::new::<T>("0", 0)] },
            VariantShape { name: "Err", fields: &[FieldShape::new::<E>("0", 0)] },
        ]),
    );

    #[inline]
    fn hash_state(&self, state: &mut StateHasher) {
        state.write_u32(u32::from(self.is_err()));
        match self {
            Ok(value) => value.hash_state(state),
            Err(error) => error.hash_state(state),
        }
    }

    #[inline]
    fn remap(&mut self, map: &mut EntityRemap<'_>) {
        match self {
            Ok(value) => value.remap(map),
            Err(error) => error.remap(map),
        }
    }
}

/// Replaces the entities in all values, if values of the type may contain entities.
#[inline]
fn remap_all<'v, T: Field>(values: impl IntoIterator<Item = &'v mut T>, map: &mut EntityRemap<'_>) {
    if T::HAS_ENTITIES {
        for value in values {
            value.remap(map);
        }
    }
}

// SAFETY: the shape has the size and alignment of the type, lists no offsets, and is neither `plain` nor `any_bits`.
unsafe impl<T: Field> Field for Box<T> {
    const SHAPE: &'static Shape = &Shape::new::<Self>("Box", FieldKind::Boxed(shape_of::<T>));

    fn hash_state(&self, state: &mut StateHasher) {
        T::hash_state(self, state);
    }

    fn remap(&mut self, map: &mut EntityRemap<'_>) {
        T::remap(self, map);
    }
}

/// Implements `Field` for a list type that dereferences to a slice.
macro_rules! slices {
    ($(impl[$($generics:tt)*] $list:ty = $shape:expr;)*) => {$(
        // SAFETY: the shape has the size and alignment of the type, lists no offsets, and is neither `plain` nor `any_bits`.
        unsafe impl<$($generics)*> Field for $list {
            const SHAPE: &'static Shape = &$shape;

            fn hash_state(&self, state: &mut StateHasher) {
                state.write_len(self.len());
                T::hash_states(self, state);
            }

            fn remap(&mut self, map: &mut EntityRemap<'_>) {
                remap_all(&mut **self, map);
            }
        }
    )*};
}

slices! {
    impl[T: Field] Vec<T> = Shape::new::<Self>("Vec", FieldKind::List(shape_of::<T>));
    impl[T: Field] Box<[T]> = Shape::new::<Self>("Box", FieldKind::List(shape_of::<T>));
    impl[T: Field + Copy, const N: usize] FixedList<T, N> =
        Shape::new::<Self>("FixedList", FieldKind::List(shape_of::<T>)).with_entities(T::HAS_ENTITIES);
}

// SAFETY: the shape has the size and alignment of the type, lists no offsets, and is neither `plain` nor `any_bits`.
unsafe impl<T: Field> Field for VecDeque<T> {
    const SHAPE: &'static Shape = &Shape::new::<Self>("VecDeque", FieldKind::List(shape_of::<T>));

    fn hash_state(&self, state: &mut StateHasher) {
        state.write_len(self.len());
        let (front, back) = self.as_slices();
        T::hash_states(front, state);
        T::hash_states(back, state);
    }

    fn remap(&mut self, map: &mut EntityRemap<'_>) {
        remap_all(self, map);
    }
}

// SAFETY: the shape has the size and alignment of the type, lists no offsets, and is neither `plain` nor `any_bits`.
unsafe impl<T: Field + Ord + Clone> Field for BTreeSet<T> {
    const SHAPE: &'static Shape = &Shape::new::<Self>("BTreeSet", FieldKind::Set(shape_of::<T>));

    fn hash_state(&self, state: &mut StateHasher) {
        state.write_len(self.len());
        self.iter().for_each(|value| value.hash_state(state));
    }

    /// Replaces the entities in all values, by rebuilding the set. Values that become equal are merged. If a comparison panics, the
    /// set is unchanged.
    fn remap(&mut self, map: &mut EntityRemap<'_>) {
        if T::HAS_ENTITIES {
            // The values are cloned, because user code compares the new values. If it panics, the old set must be intact.
            let mut values: Vec<T> = self.iter().cloned().collect();
            remap_all(&mut values, map);
            *self = values.into_iter().collect();
        }
    }
}

// SAFETY: the shape has the size and alignment of the type, lists no offsets, and is neither `plain` nor `any_bits`.
unsafe impl<K: Field + Ord + Clone, V: Field + Clone> Field for BTreeMap<K, V> {
    const SHAPE: &'static Shape = &Shape::new::<Self>(
        "BTreeMap",
        FieldKind::Map { key: shape_of::<K>, value: shape_of::<V> },
    );

    fn hash_state(&self, state: &mut StateHasher) {
        state.write_len(self.len());
        for (key, value) in self {
            key.hash_state(state);
            value.hash_state(state);
        }
    }

    /// Replaces the entities in all keys and values. Rebuilds the map if keys may contain entities. If keys become equal, the last
    /// one stays. If a comparison of keys panics, the map is unchanged.
    fn remap(&mut self, map: &mut EntityRemap<'_>) {
        if K::HAS_ENTITIES {
            // The pairs are cloned, because user code compares the new keys. If it panics, the old map must be intact.
            let mut pairs: Vec<(K, V)> =
                self.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
            remap_all(&mut pairs, map);
            *self = pairs.into_iter().collect();
        } else {
            remap_all(self.values_mut(), map);
        }
    }
}

/// Writes the length of a text in bytes, then its bytes.
fn write_text(text: &str, state: &mut StateHasher) {
    state.write_len(text.len());
    state.write_bytes(text.as_bytes());
}

/// Implements `Field` for types whose fields are contiguous and start with the first byte, which holds for all types of `glam`.
///
/// The offsets cannot be computed with `offset_of!`, because with SIMD many types expose their fields only through `Deref`. A
/// test compares the offsets with the addresses of the fields. `Vec3A` and `Affine2` have padding after the fields, which
/// `Shape` detects by their size.
#[cfg(feature = "glam")]
macro_rules! side_by_side {
    ($($name:ident { $($field:ident: $ty:ty),* })*) => {
        $(
            // SAFETY:
            // - all fields are listed, and they are contiguous and start with the first byte
            // - the properties of the bytes follow from the fields, and any numbers are a valid value
            unsafe impl Field for $name {
                const SHAPE: &'static Shape = &Shape::new::<Self>(
                    stringify!($name),
                    FieldKind::Struct(&placed([$(FieldShape::new::<$ty>(stringify!($field), 0)),*])),
                );

                #[inline]
                fn hash_state(&self, state: &mut StateHasher) {
                    $(self.$field.hash_state(state);)*
                }

                #[inline]
                fn remap(&mut self, _: &mut EntityRemap<'_>) {}
            }
        )*

        #[test]
        fn fields_are_where_their_shapes_say() {
            $(
                let value = $name::default();
                let at = |address: usize| address - (&raw const value).addr();
                let fields = [$((stringify!($field), at((&raw const value.$field).addr()))),*];
                let shapes = $name::SHAPE.fields().iter().map(|field| (field.name, field.offset));
                assert_eq!(shapes.collect::<Vec<_>>(), fields, stringify!($name));
            )*
        }
    };
}

/// Assigns contiguous offsets to the fields.
#[cfg(feature = "glam")]
const fn placed<const N: usize>(mut fields: [FieldShape; N]) -> [FieldShape; N] {
    let (mut index, mut offset) = (0, 0);
    while index < N {
        fields[index].offset = offset;
        offset += fields[index].shape.size;
        index += 1;
    }
    fields
}

/// Implements `Field` for the types of a version of `glam`, in a module.
#[cfg(feature = "glam")]
macro_rules! glam_types {
    ($module:ident $glam:ident) => {
        mod $module {
            use $glam::{
                Affine2, Affine3, Affine3A, BVec2, BVec3, BVec4, DAffine2, DAffine3, DMat2, DMat3,
                DMat4, DQuat, DVec2, DVec3, DVec4, IVec2, IVec3, IVec4, Mat2, Mat3, Mat3A, Mat4,
                Quat, UVec2, UVec3, UVec4, Vec2, Vec3, Vec3A, Vec4,
            };

            use super::*;

            side_by_side! {
                Vec2 { x: f32, y: f32 }
                Vec3 { x: f32, y: f32, z: f32 }
                Vec3A { x: f32, y: f32, z: f32 }
                Vec4 { x: f32, y: f32, z: f32, w: f32 }
                Quat { x: f32, y: f32, z: f32, w: f32 }
                Mat2 { x_axis: Vec2, y_axis: Vec2 }
                Mat3 { x_axis: Vec3, y_axis: Vec3, z_axis: Vec3 }
                Mat3A { x_axis: Vec3A, y_axis: Vec3A, z_axis: Vec3A }
                Mat4 { x_axis: Vec4, y_axis: Vec4, z_axis: Vec4, w_axis: Vec4 }
                Affine2 { matrix2: Mat2, translation: Vec2 }
                Affine3 { matrix3: Mat3, translation: Vec3 }
                Affine3A { matrix3: Mat3A, translation: Vec3A }
                DVec2 { x: f64, y: f64 }
                DVec3 { x: f64, y: f64, z: f64 }
                DVec4 { x: f64, y: f64, z: f64, w: f64 }
                DQuat { x: f64, y: f64, z: f64, w: f64 }
                DMat2 { x_axis: DVec2, y_axis: DVec2 }
                DMat3 { x_axis: DVec3, y_axis: DVec3, z_axis: DVec3 }
                DMat4 { x_axis: DVec4, y_axis: DVec4, z_axis: DVec4, w_axis: DVec4 }
                DAffine2 { matrix2: DMat2, translation: DVec2 }
                DAffine3 { matrix3: DMat3, translation: DVec3 }
                IVec2 { x: i32, y: i32 }
                IVec3 { x: i32, y: i32, z: i32 }
                IVec4 { x: i32, y: i32, z: i32, w: i32 }
                UVec2 { x: u32, y: u32 }
                UVec3 { x: u32, y: u32, z: u32 }
                UVec4 { x: u32, y: u32, z: u32, w: u32 }
                BVec2 { x: bool, y: bool }
                BVec3 { x: bool, y: bool, z: bool }
                BVec4 { x: bool, y: bool, z: bool, w: bool }
            }
        }
    };
}

#[cfg(feature = "glam")]
glam_types!(newest_glam glam);
#[cfg(feature = "glam_0_33")]
glam_types!(glam_0_33_types glam_0_33);
