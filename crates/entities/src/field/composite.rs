//! Values of several others: tuples, arrays, options.
#![expect(unsafe_code, reason = "says what tuples and arrays consist of")]

use std::cmp::Ordering;
use std::mem::offset_of;
use std::ops::Range;

use super::{
    EntityRemap, Field, FieldKind, FieldShape, Shape, StateHasher, VariantField, VariantShape,
};

/// Implements `Field` for the tuple of the types, and for all shorter ones.
///
/// Takes `name index` pairs, the last one first.
macro_rules! tuples {
    () => {};
    ($last:ident $last_index:tt $($name:ident $index:tt)*) => {
        tuples!($($name $index)*);
        tuples!(@reverse [$last $last_index $($name $index)*]);
    };
    (@reverse [] $($name:ident $index:tt)*) => {
        // SAFETY:
        // - all fields are there, with the offsets that the compiler has found
        // - what the bytes are follows from them
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

// SAFETY: the elements are side by side, without gaps.
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
// - both fields are there, with the offsets that the compiler has found
// - any two values are a range
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

// SAFETY: nothing is said of the bytes.
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

// SAFETY: nothing is said of the bytes.
unsafe impl<T: Field, E: Field> Field for Result<T, E> {
    const SHAPE: &'static Shape = &Shape::new::<Self>(
        "Result",
        FieldKind::Enum(&[
            VariantShape { name: "Ok", fields: &[VariantField::new::<T>("0")] },
            VariantShape { name: "Err", fields: &[VariantField::new::<E>("0")] },
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

// SAFETY: nothing is said of the bytes.
unsafe impl Field for Ordering {
    const SHAPE: &'static Shape = &Shape::new::<Self>(
        "Ordering",
        FieldKind::Enum(&[
            VariantShape { name: "Less", fields: &[] },
            VariantShape { name: "Equal", fields: &[] },
            VariantShape { name: "Greater", fields: &[] },
        ]),
    );

    #[inline]
    fn hash_state(&self, state: &mut StateHasher) {
        state.write_u32(match self {
            Self::Less => 0,
            Self::Equal => 1,
            Self::Greater => 2,
        });
    }

    #[inline]
    fn remap(&mut self, _: &mut EntityRemap<'_>) {}
}

/// Replaces the entities in all values, if there can be any.
#[inline]
pub(super) fn remap_all<'v, T: Field>(
    values: impl IntoIterator<Item = &'v mut T>,
    map: &mut EntityRemap<'_>,
) {
    if T::HAS_ENTITIES {
        for value in values {
            value.remap(map);
        }
    }
}
