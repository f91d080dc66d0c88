//! References to assets in stores.

use std::any::type_name;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;

/// A reference to a blob asset in a [`BlobStore`](crate::BlobStore), for components.
///
/// It is a key of 16 bytes, not a pointer: each access is checked. A reference to a removed asset
/// returns an error, never the asset that replaced it. Sixteen zero bytes are [`NULL`](Self::NULL).
/// Two references are equal if they lead to the same asset.
///
/// It also holds half of the asset's content hash, so that the state of a simulation can be hashed
/// without the store.
///
/// ```text
///  byte  0         4             8         12        16
///        ┌─────────┬─────────────┬─────────┬─────────┐
///        │ index   │ generation  │ store   │ content │
///        └─────────┴─────────────┴─────────┴─────────┘
/// ```
///
/// # Examples
///
/// ```
/// use ancho_collections::{BlobAssetReference, BlobBuilder, BlobStore};
///
/// #[derive(Clone, Copy)]
/// struct Jump {
///     height: BlobAssetReference<f32>,
/// }
///
/// let mut store = BlobStore::new();
/// let jump = Jump { height: store.insert(BlobBuilder::new(1.5).build().unwrap()) };
/// assert_eq!(store.get(jump.height), Ok(&1.5));
/// ```
#[repr(C)]
pub struct BlobAssetReference<T> {
    pub(super) index: u32,
    /// The generation of the asset's slot, from 1 on. 0 in a null reference.
    pub(super) generation: u32,
    /// The number of the store, from 1 on. 0 in a null reference.
    pub(super) store: u32,
    /// The lower half of the content hash. 0 in a null reference.
    pub(super) content: u32,
    asset: PhantomData<fn() -> T>,
}

impl<T> BlobAssetReference<T> {
    /// The null reference.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::BlobAssetReference;
    ///
    /// assert!(BlobAssetReference::<f32>::NULL.is_null());
    /// ```
    pub const NULL: Self = Self::new(0, 0, 0, 0);

    pub(super) const fn new(index: u32, generation: u32, store: u32, content: u32) -> Self {
        Self { index, generation, store, content, asset: PhantomData }
    }

    /// Returns the lower half of the asset's [content hash](crate::BlobAsset::content_hash); 0 for null.
    ///
    /// References to equal assets have the same hash, even in other stores and runs, and after
    /// removal.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{BlobBuilder, BlobStore};
    ///
    /// let asset = BlobBuilder::new(1.5).build().unwrap();
    /// let [first, second] = [(); 2].map(|()| BlobStore::new().insert(asset.clone()));
    /// assert_ne!(first, second, "they belong to two stores");
    /// assert_eq!(first.content_hash(), second.content_hash());
    /// assert_eq!(first.content_hash(), asset.content_hash() as u32);
    /// ```
    pub const fn content_hash(self) -> u32 {
        self.content
    }

    /// Returns whether this is the null reference.
    ///
    /// A non-null reference may still lead to a removed asset.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{BlobBuilder, BlobStore};
    ///
    /// let mut store = BlobStore::new();
    /// assert!(!store.insert(BlobBuilder::new(1.5).build().unwrap()).is_null());
    /// ```
    pub const fn is_null(self) -> bool {
        self.generation == 0
    }

    /// Returns the reference as a number, for tools that write components as bytes.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::BlobAssetReference;
    ///
    /// assert_eq!(BlobAssetReference::<f32>::NULL.to_bits(), 0);
    /// ```
    pub const fn to_bits(self) -> u128 {
        let slot = (self.generation as u128) << 32 | self.index as u128;
        (self.content as u128) << 96 | (self.store as u128) << 64 | slot
    }

    /// Creates a reference from the number that [`to_bits`](Self::to_bits) returned, in the same run of the program.
    ///
    /// Any number is allowed: if it leads to no asset, or to one of another type, the store returns
    /// an error.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{BlobAssetReference, BlobBuilder, BlobStore};
    ///
    /// let mut store = BlobStore::new();
    /// let reference = store.insert(BlobBuilder::new(1.5_f32).build().unwrap());
    /// assert_eq!(BlobAssetReference::from_bits(reference.to_bits()), reference);
    /// let other = BlobAssetReference::<u32>::from_bits(reference.to_bits());
    /// assert!(store.get(other).is_err());
    /// ```
    pub const fn from_bits(bits: u128) -> Self {
        Self::new(bits as u32, (bits >> 32) as u32, (bits >> 64) as u32, (bits >> 96) as u32)
    }
}

impl<T> Clone for BlobAssetReference<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for BlobAssetReference<T> {}

impl<T> Default for BlobAssetReference<T> {
    fn default() -> Self {
        Self::NULL
    }
}

impl<T> PartialEq for BlobAssetReference<T> {
    fn eq(&self, other: &Self) -> bool {
        self.to_bits() == other.to_bits()
    }
}

impl<T> Eq for BlobAssetReference<T> {}

impl<T> Hash for BlobAssetReference<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.to_bits().hash(state);
    }
}

impl<T> fmt::Debug for BlobAssetReference<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { index, generation, store, .. } = self;
        let asset = type_name::<T>();
        if self.is_null() {
            write!(f, "BlobAssetReference<{asset}>(null)")
        } else {
            write!(f, "BlobAssetReference<{asset}>({index}v{generation} of store {store})")
        }
    }
}
