//! The fixed strings and lists of `ancho_collections`.
#![expect(unsafe_code, reason = "says what fixed strings and lists consist of")]

use ancho_collections::{FixedList, FixedString};

use super::composite::remap_all;
use super::owned::write_text;
use super::{EntityRemap, Field, FieldKind, Shape, StateHasher, shape_of};

// SAFETY: nothing is said of the bytes.
unsafe impl<const N: usize> Field for FixedString<N> {
    const SHAPE: &'static Shape = &Shape::new::<Self>("FixedString", FieldKind::Text);

    fn hash_state(&self, state: &mut StateHasher) {
        write_text(self, state);
    }

    #[inline]
    fn remap(&mut self, _: &mut EntityRemap<'_>) {}
}

// SAFETY: nothing is said of the bytes.
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
