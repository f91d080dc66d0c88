//! Types of `ancho_collections`: fixed strings and lists, blob assets and references to them.
//!
//! Blobs are hashed by the hashes of their content. So it does not matter where an asset is in memory, and in which order assets
//! came to their store.
#![expect(unsafe_code, reason = "says what types of another crate consist of")]

use ancho_collections::{BlobAsset, BlobAssetReference, FixedList, FixedString};

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

// SAFETY: nothing is said of the bytes.
unsafe impl<T: 'static> Field for BlobAsset<T> {
    const SHAPE: &'static Shape = &Shape::new::<Self>("BlobAsset", FieldKind::Blob);

    fn hash_state(&self, state: &mut StateHasher) {
        state.write_u64(self.content_hash());
    }

    #[inline]
    fn remap(&mut self, _: &mut EntityRemap<'_>) {}
}

// SAFETY: nothing is said of the bytes.
unsafe impl<T: 'static> Field for BlobAssetReference<T> {
    const SHAPE: &'static Shape = &Shape::new::<Self>("BlobAssetReference", FieldKind::Blob);

    fn hash_state(&self, state: &mut StateHasher) {
        state.write_u64(self.content_hash().into());
    }

    #[inline]
    fn remap(&mut self, _: &mut EntityRemap<'_>) {}
}
