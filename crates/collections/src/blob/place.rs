//! Places of values in a blob that is being built.

use std::fmt;
use std::marker::PhantomData;

/// Place of a value in a blob that is being built.
///
/// A [`BlobBuilder`](crate::BlobBuilder) returns one for each value, and takes it to fill the
/// fields of that value. It is a key, not a pointer, and other builders refuse it.
///
/// # Examples
///
/// ```
/// use ancho_collections::{BlobBuilder, BlobPtr, BlobString};
///
/// let mut builder = BlobBuilder::new(BlobPtr::new());
/// let name = builder.pointer(builder.root(), |root| root, BlobString::new()).unwrap();
/// builder.string(name, |name| name, "Ada").unwrap();
/// assert_eq!(builder.build().unwrap().get().unwrap(), "Ada");
/// ```
pub struct BlobPlace<T> {
    pub(super) builder: u64,
    pub(super) piece: u32,
    pub(super) offset: u32,
    value: PhantomData<fn() -> T>,
}

/// Places of the elements of an array in a blob that is being built.
///
/// # Examples
///
/// ```
/// use ancho_collections::{BlobArray, BlobBuilder, BlobString};
///
/// let texts = ["Ada", "Grace"];
/// let mut builder = BlobBuilder::new(BlobArray::new());
/// let empty = texts.map(|_| BlobString::new());
/// let places = builder.array(builder.root(), |root| root, empty).unwrap();
/// for (place, text) in places.iter().zip(texts) {
///     builder.string(place, |name| name, text).unwrap();
/// }
/// assert_eq!(builder.build().unwrap()[1], "Grace");
/// ```
pub struct BlobPlaces<T> {
    first: BlobPlace<T>,
    length: u32,
}

impl<T> BlobPlace<T> {
    pub(super) fn new(builder: u64, piece: u32) -> Self {
        Self { builder, piece, offset: 0, value: PhantomData }
    }
}

impl<T> BlobPlaces<T> {
    pub(super) fn new(first: BlobPlace<T>, length: u32) -> Self {
        Self { first, length }
    }

    /// Returns the number of elements.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{BlobArray, BlobBuilder};
    ///
    /// let mut builder = BlobBuilder::new(BlobArray::new());
    /// let places = builder.array(builder.root(), |root| root, [1, 2, 3]).unwrap();
    /// assert_eq!(places.len(), 3);
    /// ```
    pub fn len(&self) -> usize {
        self.length as usize
    }

    /// Returns whether there are no elements.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{BlobArray, BlobBuilder};
    ///
    /// let mut builder = BlobBuilder::new(BlobArray::<u8>::new());
    /// let places = builder.array(builder.root(), |root| root, []).unwrap();
    /// assert!(places.is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Returns the place of an element, if the index is within bounds.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{BlobArray, BlobBuilder};
    ///
    /// let mut builder = BlobBuilder::new(BlobArray::new());
    /// let places = builder.array(builder.root(), |root| root, [1, 2, 3]).unwrap();
    /// assert!(places.get(2).is_some());
    /// assert!(places.get(3).is_none());
    /// ```
    pub fn get(&self, index: usize) -> Option<BlobPlace<T>> {
        (index < self.len()).then(|| self.at(index))
    }

    /// Returns the places of the elements, in order.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{BlobArray, BlobBuilder};
    ///
    /// let mut builder = BlobBuilder::new(BlobArray::new());
    /// let places = builder.array(builder.root(), |root| root, [1, 2, 3]).unwrap();
    /// assert_eq!(places.iter().count(), 3);
    /// ```
    pub fn iter(self) -> impl ExactSizeIterator<Item = BlobPlace<T>> {
        (0..self.len()).map(move |index| self.at(index))
    }

    fn at(&self, index: usize) -> BlobPlace<T> {
        // Within the piece, the size of which fits a `u32`.
        BlobPlace { offset: (index * size_of::<T>()) as u32, ..self.first }
    }
}

impl<T> Clone for BlobPlace<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for BlobPlace<T> {}

impl<T> Clone for BlobPlaces<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for BlobPlaces<T> {}

impl<T> fmt::Debug for BlobPlace<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { piece, offset, .. } = self;
        write!(f, "BlobPlace(byte {offset} of piece {piece})")
    }
}

impl<T> fmt::Debug for BlobPlaces<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BlobPlaces({} in piece {})", self.length, self.first.piece)
    }
}
