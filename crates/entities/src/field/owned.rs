//! Values that own memory: boxes, text, collections.
#![expect(unsafe_code, reason = "says what collections consist of")]

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use super::composite::remap_all;
use super::{EntityRemap, Field, FieldKind, Shape, StateHasher, shape_of};

// SAFETY: nothing is said of the bytes.
unsafe impl<T: Field> Field for Box<T> {
    const SHAPE: &'static Shape = &Shape::new::<Self>("Box", FieldKind::Boxed(shape_of::<T>));

    fn hash_state(&self, state: &mut StateHasher) {
        T::hash_state(self, state);
    }

    fn remap(&mut self, map: &mut EntityRemap<'_>) {
        T::remap(self, map);
    }
}

/// Implements `Field` for a list whose elements are one slice.
macro_rules! slices {
    ($($name:literal $list:ty;)*) => {$(
        // SAFETY: nothing is said of the bytes.
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

// SAFETY: nothing is said of the bytes.
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

// SAFETY: nothing is said of the bytes.
unsafe impl<T: Field + Ord + Clone> Field for BTreeSet<T> {
    const SHAPE: &'static Shape = &Shape::new::<Self>("BTreeSet", FieldKind::Set(shape_of::<T>));

    fn hash_state(&self, state: &mut StateHasher) {
        state.write_len(self.len());
        self.iter().for_each(|value| value.hash_state(state));
    }

    /// Sorts the set again. Values that become equal become one. If it panics, the set is unchanged.
    fn remap(&mut self, map: &mut EntityRemap<'_>) {
        if T::HAS_ENTITIES {
            // Clones, since user code compares the new values: if it panics, a set cannot be made of the old ones again.
            let mut values: Vec<T> = self.iter().cloned().collect();
            remap_all(&mut values, map);
            *self = values.into_iter().collect();
        }
    }
}

// SAFETY: nothing is said of the bytes.
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

    /// Sorts the map again if keys may have changed. Of keys that become equal, the last one before stays. If keys may have
    /// changed and it panics, the map is unchanged.
    fn remap(&mut self, map: &mut EntityRemap<'_>) {
        if K::HAS_ENTITIES {
            // Clones, since user code compares the new keys.
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
        // SAFETY: nothing is said of the bytes.
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

/// Writes a text as its length in bytes, and its bytes.
pub(super) fn write_text(text: &str, state: &mut StateHasher) {
    state.write_len(text.len());
    state.write_bytes(text.as_bytes());
}
