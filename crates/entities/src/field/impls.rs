//! Implementations of `Field` for types of the standard library, of `ancho_burst`, of `ancho_collections` and of `glam`.
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

use ancho_burst::math::Random;
use ancho_collections::{BlobAsset, BlobAssetReference, BlobData, FixedList, FixedString};

use super::values::{read_list, write_elements, write_list};
use super::{
    EntityRemap, Field, FieldKind, FieldShape, Scalar, Shape, StateHasher, ValueError, ValuePart,
    ValueReader, ValueWriter, VariantShape, missing, shape_of,
};
use crate::Entity;
use crate::timer::{Stopwatch, Timer};

/// Implements `Field` for types without entities. Each entry has a shape, and expressions that write a value to a hasher, write
/// it to a [`ValueWriter`], and read it.
///
/// The comment of an entry says why the shape describes the type correctly.
macro_rules! leaves {
    ($(impl[$($generics:tt)*] $ty:ty = $shape:expr, |$value:pat_param, $state:pat_param| $write:expr,
        |$held:pat_param, $out:pat_param| $save:expr, |$from:pat_param| $load:expr;)*) => {$(
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

            fn write_value(&self, $out: &mut dyn ValueWriter) {
                let $held = self;
                $save
            }

            fn read_value($from: &mut dyn ValueReader) -> Result<Self, ValueError> {
                $load
            }
        }
    )*};
}

/// Reads a scalar of a kind, which is a variant of `FieldKind`, as a variant of `Scalar`.
macro_rules! scalar {
    ($from:ident, $kind:ident as $variant:ident) => {
        match $from.scalar(FieldKind::$kind)? {
            Scalar::$variant(value) => value,
            _ => return Err($from.error(concat!("expected ", stringify!($kind)))),
        }
    };
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

            fn write_value(&self, out: &mut dyn $crate::field::ValueWriter) {
                out.begin($crate::field::ValuePart::Struct);
                out.end();
            }

            fn read_value(
                from: &mut dyn $crate::field::ValueReader,
            ) -> Result<Self, $crate::field::ValueError> {
                from.begin_struct(&[])?;
                while from.next_field()?.is_some() {}
                from.end()?;
                Ok(Self)
            }
        }
    };
}

pub(crate) use unit_field;

leaves! {
    // `bool` has one byte. The shape declares invalid bit patterns.
    impl[] bool = Shape::new::<Self>("bool", FieldKind::Bool), |value, state| state.write_u8(u8::from(*value)),
        |value, out| out.scalar(Scalar::Bool(*value)), |from| Ok(scalar!(from, Bool as Bool));
    // `char` has four bytes. The shape declares invalid bit patterns.
    impl[] char = Shape::new::<Self>("char", FieldKind::Char), |value, state| state.write_u32(u32::from(*value)),
        |value, out| out.scalar(Scalar::Char(*value)), |from| Ok(scalar!(from, Char as Char));
    // The kinds are those of the number types.
    impl[] f32 = Shape::new::<Self>("f32", FieldKind::F32), |value, state| state.write_f32(*value),
        |value, out| out.scalar(Scalar::F32(*value)), |from| Ok(scalar!(from, F32 as F32));
    impl[] f64 = Shape::new::<Self>("f64", FieldKind::F64), |value, state| state.write_f64(*value),
        |value, out| out.scalar(Scalar::F64(*value)), |from| Ok(scalar!(from, F64 as F64));
    // `AtomicBool` has one byte. The shape declares invalid bit patterns, and changes through shared references.
    impl[] AtomicBool = Shape::new::<Self>("AtomicBool", FieldKind::Bool).shared(),
        |value, state| value.load(Atomic::Relaxed).hash_state(state),
        |value, out| value.load(Atomic::Relaxed).write_value(out), |from| bool::read_value(from).map(Self::new);
    // `Random` is a transparent struct with an array of two numbers, and any two are a valid state.
    impl[] Random = Shape::new::<Self>("Random", FieldKind::Array { element: u32::SHAPE, len: 2 }),
        |random, state| random.state().hash_state(state), |random, out| random.state().write_value(out),
        |from| <[u32; 2]>::read_value(from).map(Self::from_state);
    // These types have no bytes.
    impl[] () = Shape::new::<Self>("()", FieldKind::Unit), |_, _| (),
        |_, out| out.scalar(Scalar::Unit), |from| from.scalar(FieldKind::Unit).map(|_| ());
    impl[T: ?Sized + 'static] PhantomData<T> = Shape::new::<Self>("PhantomData", FieldKind::Unit), |_, _| (),
        |_, out| out.scalar(Scalar::Unit), |from| from.scalar(FieldKind::Unit).map(|_| Self);
    // These shapes are neither `plain` nor `any_bits`.
    impl[] Duration = Shape::new::<Self>("Duration", FieldKind::Duration), |value, state| {
        state.write_u64(value.as_secs());
        state.write_u32(value.subsec_nanos());
    }, |value, out| out.duration(*value), |from| from.duration();
    impl[] String = Shape::new::<Self>("String", FieldKind::Text), |text, state| write_text(text, state),
        |text, out| out.text(text), |from| from.text().map(Self::from);
    impl[] Box<str> = Shape::new::<Self>("Box<str>", FieldKind::Text), |text, state| write_text(text, state),
        |text, out| out.text(text), |from| from.text().map(Self::from);
    impl[] Arc<str> = Shape::new::<Self>("Arc<str>", FieldKind::Text), |text, state| write_text(text, state),
        |text, out| out.text(text), |from| from.text().map(Self::from);
    impl[] &'static str = Shape::new::<Self>("&str", FieldKind::Text), |text, state| write_text(text, state),
        |text, out| out.text(text),
        |from| Err(from.error("a `&'static str` cannot be read; use a `String` or a `FixedString`"));
    impl[const N: usize] FixedString<N> = Shape::new::<Self>("FixedString", FieldKind::Text),
        |text, state| write_text(text, state), |text, out| out.text(text), |from| {
            let fixed = Self::from_utf8(from.text()?.as_bytes());
            fixed.map_err(|error| from.error(&error.to_string()))
        };
    // The bytes of a blob are checked when they are read.
    impl[T: BlobData] BlobAsset<T> = Shape::new::<Self>("BlobAsset", FieldKind::Blob),
        |blob, state| state.write_u64(blob.content_hash()), |blob, out| out.blob(&blob.to_bytes(0)), |from| {
            let blob = Self::from_bytes(from.blob()?, 0);
            blob.map_err(|error| from.error(&error.to_string()))
        };
    // Any number is allowed as a reference.
    impl[T: 'static] BlobAssetReference<T> = Shape::new::<Self>("BlobAssetReference", FieldKind::Blob),
        |blob, state| state.write_u64(blob.content_hash().into()),
        |blob, out| out.blob(&blob.to_bits().to_le_bytes()), |from| match from.blob()?.try_into() {
            Ok(bits) => Ok(Self::from_bits(u128::from_le_bytes(bits))),
            Err(_) => Err(from.error("a reference to a blob has 16 bytes")),
        };
    impl[] Ordering = Shape::new::<Self>("Ordering", FieldKind::Enum(&[
        VariantShape { name: "Less", fields: &[], aliases: &[] },
        VariantShape { name: "Equal", fields: &[], aliases: &[] },
        VariantShape { name: "Greater", fields: &[], aliases: &[] },
    ])), |value, state| state.write_u32((*value as i8 + 1) as u32), |value, out| {
        let (index, name) = match value {
            Self::Less => (0, "Less"),
            Self::Equal => (1, "Equal"),
            Self::Greater => (2, "Greater"),
        };
        out.begin(ValuePart::Variant { index, name, is_tuple: false });
        out.end();
    }, |from| {
        let FieldKind::Enum(variants) = Self::SHAPE.kind else { unreachable!("an enum") };
        let index = from.begin_variant(variants)?;
        while from.next_field()?.is_some() {}
        from.end()?;
        Ok([Self::Less, Self::Equal, Self::Greater][index])
    };
}

/// Implements `Field` for a number, its `NonZero`, and its atomic if there is one.
///
/// `$wide` is the type that is written to the hasher, after the method that writes it. `$scalar` is the variant of `Scalar`, with
/// the type of its value.
macro_rules! integers {
    ($($number:ident $kind:ident $write:ident($wide:ident) $scalar:ident($value:ident) $($atomic:ident)?;)*) => {
        leaves! {$(
            // The kind is that of the number type.
            impl[] $number = Shape::new::<Self>(stringify!($number), FieldKind::$kind),
                |value, state| state.$write(*value as $wide),
                |value, out| out.scalar(Scalar::$scalar(*value as $value)), |from| {
                    let value = scalar!(from, $kind as $scalar);
                    Self::try_from(value).map_err(|_| from.error("the number is too large for this machine"))
                };
            // `NonZero` has the layout of the number. Zero is invalid, so the shape declares invalid bit patterns.
            impl[] NonZero<$number> =
                Shape::new::<Self>(concat!("NonZero<", stringify!($number), ">"), FieldKind::$kind).checked(),
                |value, state| value.get().hash_state(state), |value, out| value.get().write_value(out), |from| {
                    let value = <$number>::read_value(from)?;
                    Self::new(value).ok_or_else(|| from.error("expected a number other than zero"))
                };
            $(
                // The atomic has the layout of the number. The shape declares changes through shared references.
                impl[] $atomic = Shape::new::<Self>(stringify!($atomic), FieldKind::$kind).shared(),
                    |value, state| value.load(Atomic::Relaxed).hash_state(state),
                    |value, out| value.load(Atomic::Relaxed).write_value(out),
                    |from| <$number>::read_value(from).map(Self::new);
            )?
        )*}
    };
}

integers! {
    u8 U8 write_u8(u8) U8(u8) AtomicU8;
    u16 U16 write_u16(u16) U16(u16) AtomicU16;
    u32 U32 write_u32(u32) U32(u32) AtomicU32;
    u64 U64 write_u64(u64) U64(u64) AtomicU64;
    u128 U128 write_u128(u128) U128(u128);
    usize Usize write_u64(u64) U64(u64) AtomicUsize;
    i8 I8 write_u8(u8) I8(i8) AtomicI8;
    i16 I16 write_u16(u16) I16(i16) AtomicI16;
    i32 I32 write_u32(u32) I32(i32) AtomicI32;
    i64 I64 write_u64(u64) I64(i64) AtomicI64;
    i128 I128 write_u128(u128) I128(i128);
    isize Isize write_u64(u64) I64(i64) AtomicIsize;
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

    fn write_value(&self, out: &mut dyn ValueWriter) {
        out.scalar(Scalar::Entity(*self));
    }

    fn read_value(from: &mut dyn ValueReader) -> Result<Self, ValueError> {
        Ok(scalar!(from, Entity as Entity))
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

            fn write_value(&self, out: &mut dyn ValueWriter) {
                self.0.write_value(out);
            }

            fn read_value(from: &mut dyn ValueReader) -> Result<Self, ValueError> {
                T::read_value(from).map(Self)
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

            fn write_value(&self, out: &mut dyn ValueWriter) {
                out.begin(ValuePart::Tuple);
                $(
                    out.field(stringify!($index));
                    self.$index.write_value(out);
                )*
                out.end();
            }

            #[expect(non_snake_case, reason = "variables have the names of type parameters")]
            fn read_value(from: &mut dyn ValueReader) -> Result<Self, ValueError> {
                from.begin_struct(Self::SHAPE.fields())?;
                $(let mut $name = None;)*
                while let Some(index) = from.next_field()? {
                    match index {
                        $($index => $name = Some(<$name as Field>::read_value(from)?),)*
                        _ => return Err(from.error("the tuple has no such field")),
                    }
                }
                from.end()?;
                Ok(($($name.ok_or_else(|| missing(from, stringify!($index)))?,)*))
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

    fn write_value(&self, out: &mut dyn ValueWriter) {
        out.begin(ValuePart::Array { len: N });
        write_elements(self, out);
        out.end();
    }

    fn read_value(from: &mut dyn ValueReader) -> Result<Self, ValueError> {
        let values = read_list::<T>(Some(N), from)?;
        Self::try_from(values).map_err(|_| from.error(&format!("expected {N} elements")))
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

    fn write_value(&self, out: &mut dyn ValueWriter) {
        out.begin(ValuePart::Struct);
        out.field("start");
        self.start.write_value(out);
        out.field("end");
        self.end.write_value(out);
        out.end();
    }

    fn read_value(from: &mut dyn ValueReader) -> Result<Self, ValueError> {
        from.begin_struct(Self::SHAPE.fields())?;
        let (mut start, mut end) = (None, None);
        while let Some(index) = from.next_field()? {
            let value = Some(T::read_value(from)?);
            if index == 0 { start = value } else { end = value }
        }
        from.end()?;
        let start = start.ok_or_else(|| missing(from, "start"))?;
        Ok(start..end.ok_or_else(|| missing(from, "end"))?)
    }
}

/// Implements `Field` for structs of this crate, whose fields have no entities.
macro_rules! structs {
    ($($name:ident { $($field:ident: $ty:ty),* })*) => {$(
        // SAFETY:
        // - all fields are listed, with the offsets that the compiler computes
        // - the properties of the bytes follow from the fields, and any numbers are a valid value
        unsafe impl Field for $name {
            const SHAPE: &'static Shape = &Shape::new::<Self>(
                stringify!($name),
                FieldKind::Struct(&[$(
                    FieldShape::new::<$ty>(stringify!($field), offset_of!(Self, $field)),
                )*]),
            );

            #[inline]
            fn hash_state(&self, state: &mut StateHasher) {
                $(self.$field.hash_state(state);)*
            }

            #[inline]
            fn remap(&mut self, _: &mut EntityRemap<'_>) {}

            fn write_value(&self, out: &mut dyn ValueWriter) {
                out.begin(ValuePart::Struct);
                $(
                    out.field(stringify!($field));
                    self.$field.write_value(out);
                )*
                out.end();
            }

            fn read_value(from: &mut dyn ValueReader) -> Result<Self, ValueError> {
                from.begin_struct(Self::SHAPE.fields())?;
                $(let mut $field = None;)*
                while let Some(index) = from.next_field()? {
                    match Self::SHAPE.fields()[index].name {
                        $(stringify!($field) => $field = Some(<$ty as Field>::read_value(from)?),)*
                        name => return Err(missing(from, name)),
                    }
                }
                from.end()?;
                Ok(Self { $($field: $field.ok_or_else(|| missing(from, stringify!($field)))?),* })
            }
        }
    )*};
}

structs! {
    Timer { duration: f64, elapsed: f64, state: u64 }
    Stopwatch { elapsed: f64, state: u64 }
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

    fn write_value(&self, out: &mut dyn ValueWriter) {
        match self {
            None => out.begin(ValuePart::None),
            Some(value) => {
                out.begin(ValuePart::Some);
                value.write_value(out);
            }
        }
        out.end();
    }

    fn read_value(from: &mut dyn ValueReader) -> Result<Self, ValueError> {
        let has_value = from.begin_option()?;
        let value = has_value.then(|| T::read_value(from)).transpose()?;
        from.end()?;
        Ok(value)
    }
}

// SAFETY: the shape has the size and alignment of the type, lists no offsets, and is neither `plain` nor `any_bits`.
unsafe impl<T: Field, E: Field> Field for Result<T, E> {
    const SHAPE: &'static Shape = &Shape::new::<Self>(
        "Result",
        FieldKind::Enum(&[
            VariantShape { name: "Ok", fields: &[FieldShape::new::<T>("0", 0)], aliases: &[] },
            VariantShape { name: "Err", fields: &[FieldShape::new::<E>("0", 0)], aliases: &[] },
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

    fn write_value(&self, out: &mut dyn ValueWriter) {
        let (index, name) = if self.is_ok() { (0, "Ok") } else { (1, "Err") };
        out.begin(ValuePart::Variant { index, name, is_tuple: true });
        out.field("0");
        match self {
            Ok(value) => value.write_value(out),
            Err(error) => error.write_value(out),
        }
        out.end();
    }

    fn read_value(from: &mut dyn ValueReader) -> Result<Self, ValueError> {
        let FieldKind::Enum(variants) = Self::SHAPE.kind else { unreachable!("an enum") };
        let is_ok = from.begin_variant(variants)? == 0;
        let mut result = None;
        while from.next_field()?.is_some() {
            result = Some(if is_ok { Ok(T::read_value(from)?) } else { Err(E::read_value(from)?) });
        }
        from.end()?;
        result.ok_or_else(|| missing(from, "0"))
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

    fn write_value(&self, out: &mut dyn ValueWriter) {
        out.begin(ValuePart::Boxed { size: size_of::<T>() });
        T::write_value(self, out);
        out.end();
    }

    fn read_value(from: &mut dyn ValueReader) -> Result<Self, ValueError> {
        from.begin_boxed(size_of::<T>())?;
        let value = Self::new(T::read_value(from)?);
        from.end()?;
        Ok(value)
    }
}

/// Implements `Field` for a list type that dereferences to a slice.
macro_rules! slices {
    ($(impl[$($generics:tt)*] $list:ty = $shape:expr, |$from:pat_param| $load:expr;)*) => {$(
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

            fn write_value(&self, out: &mut dyn ValueWriter) {
                write_list::<T>(self, out);
            }

            fn read_value($from: &mut dyn ValueReader) -> Result<Self, ValueError> {
                $load
            }
        }
    )*};
}

slices! {
    impl[T: Field] Vec<T> = Shape::new::<Self>("Vec", FieldKind::List(shape_of::<T>)),
        |from| read_list(None, from);
    impl[T: Field] Box<[T]> = Shape::new::<Self>("Box", FieldKind::List(shape_of::<T>)),
        |from| read_list(None, from).map(Vec::into_boxed_slice);
    impl[T: Field + Copy, const N: usize] FixedList<T, N> =
        Shape::new::<Self>("FixedList", FieldKind::List(shape_of::<T>)).with_entities(T::HAS_ENTITIES),
        |from| {
            let values = read_list::<T>(None, from)?;
            let mut list = Self::new();
            match values.iter().try_for_each(|&value| list.try_push(value)) {
                Ok(()) => Ok(list),
                Err(_) => Err(from.error(&format!("{} elements do not fit in the fixed list", values.len()))),
            }
        };
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

    fn write_value(&self, out: &mut dyn ValueWriter) {
        out.begin(ValuePart::List { len: self.len(), size: size_of::<T>() });
        let (front, back) = self.as_slices();
        write_elements(front, out);
        write_elements(back, out);
        out.end();
    }

    fn read_value(from: &mut dyn ValueReader) -> Result<Self, ValueError> {
        read_list(None, from).map(Self::from)
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

    fn write_value(&self, out: &mut dyn ValueWriter) {
        out.begin(ValuePart::List { len: self.len(), size: size_of::<T>() });
        for value in self {
            out.element();
            value.write_value(out);
        }
        out.end();
    }

    fn read_value(from: &mut dyn ValueReader) -> Result<Self, ValueError> {
        read_list(None, from).map(Self::from_iter)
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

    fn write_value(&self, out: &mut dyn ValueWriter) {
        out.begin(ValuePart::List { len: self.len(), size: size_of::<(K, V)>() });
        for (key, value) in self {
            out.element();
            out.begin(ValuePart::Tuple);
            out.field("0");
            key.write_value(out);
            out.field("1");
            value.write_value(out);
            out.end();
        }
        out.end();
    }

    fn read_value(from: &mut dyn ValueReader) -> Result<Self, ValueError> {
        read_list::<(K, V)>(None, from).map(Self::from_iter)
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

                fn write_value(&self, out: &mut dyn ValueWriter) {
                    out.begin(ValuePart::Struct);
                    $(
                        out.field(stringify!($field));
                        self.$field.write_value(out);
                    )*
                    out.end();
                }

                fn read_value(from: &mut dyn ValueReader) -> Result<Self, ValueError> {
                    let mut value = Self::default();
                    from.begin_struct(Self::SHAPE.fields())?;
                    while let Some(index) = from.next_field()? {
                        match Self::SHAPE.fields()[index].name {
                            $(stringify!($field) => value.$field = <$ty as Field>::read_value(from)?,)*
                            name => return Err(missing(from, name)),
                        }
                    }
                    from.end()?;
                    Ok(value)
                }
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
