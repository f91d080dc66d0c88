//! `Field` for compound types: tuples, arrays, options and collections.
#![expect(unsafe_code, reason = "says what tuples and arrays consist of")]

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::mem::offset_of;
use std::ops::Range;
use std::sync::Arc;

use ancho_collections::{BlobAsset, BlobAssetReference, FixedList, FixedString};

use super::{
    EntityRemap, Field, FieldKind, FieldShape, Shape, StateHasher, VariantField, VariantShape,
    shape_of,
};

/// Implements `Field` for the tuple of the types, and for all shorter tuples.
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

// SAFETY: the shape promises nothing about the bytes.
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

// SAFETY: the shape promises nothing about the bytes.
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

// SAFETY: the shape promises nothing about the bytes.
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

/// Replaces the entities in all values, if the type may hold any.
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

// SAFETY: the shape promises nothing about the bytes.
unsafe impl<T: Field> Field for Box<T> {
    const SHAPE: &'static Shape = &Shape::new::<Self>("Box", FieldKind::Boxed(shape_of::<T>));

    fn hash_state(&self, state: &mut StateHasher) {
        T::hash_state(self, state);
    }

    fn remap(&mut self, map: &mut EntityRemap<'_>) {
        T::remap(self, map);
    }
}

/// Implements `Field` for a list that derefs to a slice.
macro_rules! slices {
    ($($name:literal $list:ty;)*) => {$(
        // SAFETY: the shape promises nothing about the bytes.
        unsafe impl<T: Field> Field for $list {
            const SHAPE: &'static Shape = &Shape::new::<Self>($name, FieldKind::List(shape_of::<T>));

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
    "Vec" Vec<T>;
    "Box" Box<[T]>;
}

// SAFETY: the shape promises nothing about the bytes.
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

// SAFETY: the shape promises nothing about the bytes.
unsafe impl<T: Field + Ord + Clone> Field for BTreeSet<T> {
    const SHAPE: &'static Shape = &Shape::new::<Self>("BTreeSet", FieldKind::Set(shape_of::<T>));

    fn hash_state(&self, state: &mut StateHasher) {
        state.write_len(self.len());
        self.iter().for_each(|value| value.hash_state(state));
    }

    /// Rebuilds the set. Values that become equal are merged. If it panics, the set is unchanged.
    fn remap(&mut self, map: &mut EntityRemap<'_>) {
        if T::HAS_ENTITIES {
            // Clones the values: user code compares the new ones, and if it panics, the old set could not be rebuilt.
            let mut values: Vec<T> = self.iter().cloned().collect();
            remap_all(&mut values, map);
            *self = values.into_iter().collect();
        }
    }
}

// SAFETY: the shape promises nothing about the bytes.
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

    /// Rebuilds the map if keys may have changed. Of keys that become equal, the last one stays. If keys may have changed and it
    /// panics, the map is unchanged.
    fn remap(&mut self, map: &mut EntityRemap<'_>) {
        if K::HAS_ENTITIES {
            // Clones the pairs, since user code compares the new keys.
            let mut pairs: Vec<(K, V)> =
                self.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
            remap_all(&mut pairs, map);
            *self = pairs.into_iter().collect();
        } else {
            remap_all(self.values_mut(), map);
        }
    }
}

/// Implements `Field` for text that derefs to `str`.
macro_rules! texts {
    ($($name:literal $text:ty;)*) => {$(
        // SAFETY: the shape promises nothing about the bytes.
        unsafe impl Field for $text {
            const SHAPE: &'static Shape = &Shape::new::<Self>($name, FieldKind::Text);

            fn hash_state(&self, state: &mut StateHasher) {
                write_text(self, state);
            }

            #[inline]
            fn remap(&mut self, _: &mut EntityRemap<'_>) {}
        }
    )*};
}

texts! {
    "String" String;
    "Box<str>" Box<str>;
    "Arc<str>" Arc<str>;
    "&str" &'static str;
}

/// Writes the length of a text in bytes, then its bytes.
pub(super) fn write_text(text: &str, state: &mut StateHasher) {
    state.write_len(text.len());
    state.write_bytes(text.as_bytes());
}

// SAFETY: the shape promises nothing about the bytes.
unsafe impl<const N: usize> Field for FixedString<N> {
    const SHAPE: &'static Shape = &Shape::new::<Self>("FixedString", FieldKind::Text);

    fn hash_state(&self, state: &mut StateHasher) {
        write_text(self, state);
    }

    #[inline]
    fn remap(&mut self, _: &mut EntityRemap<'_>) {}
}

// SAFETY: the shape promises nothing about the bytes.
unsafe impl<T: Field + Copy, const N: usize> Field for FixedList<T, N> {
    const SHAPE: &'static Shape = &Shape::new::<Self>("FixedList", FieldKind::List(shape_of::<T>))
        .with_entities(T::HAS_ENTITIES);

    fn hash_state(&self, state: &mut StateHasher) {
        state.write_len(self.len());
        T::hash_states(self, state);
    }

    fn remap(&mut self, map: &mut EntityRemap<'_>) {
        remap_all(&mut **self, map);
    }
}

// SAFETY: the shape promises nothing about the bytes.
unsafe impl<T: 'static> Field for BlobAsset<T> {
    const SHAPE: &'static Shape = &Shape::new::<Self>("BlobAsset", FieldKind::Blob);

    fn hash_state(&self, state: &mut StateHasher) {
        state.write_u64(self.content_hash());
    }

    #[inline]
    fn remap(&mut self, _: &mut EntityRemap<'_>) {}
}

// SAFETY: the shape promises nothing about the bytes.
unsafe impl<T: 'static> Field for BlobAssetReference<T> {
    const SHAPE: &'static Shape = &Shape::new::<Self>("BlobAssetReference", FieldKind::Blob);

    fn hash_state(&self, state: &mut StateHasher) {
        state.write_u64(self.content_hash().into());
    }

    #[inline]
    fn remap(&mut self, _: &mut EntityRemap<'_>) {}
}
