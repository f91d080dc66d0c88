//! The builder of blobs.
#![expect(unsafe_code, reason = "vouches for the types at places, and for that of the root")]

use std::any::type_name;
use std::fmt;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};

use super::asset::BlobAsset;
use super::data::BlobData;
use super::error::BlobError;
use super::pieces::{FieldKey, LayoutFault, Link, Pieces, Placed};
use super::relative::{BlobArray, BlobPtr, BlobString};

/// Builder of a blob: a root, and the contents of its arrays, texts and pointers, at any depth.
///
/// Values are passed to the builder with empty arrays, texts and pointers. Each of these fields is
/// filled later, once, by a call with the place of the value and a closure that returns the field.
/// The new contents also have places, and their fields are filled in the same way. Fields that are
/// not filled stay empty.
///
/// The bytes of the blob depend on the values and on sharing, not on the order of the calls.
///
/// # Examples
///
/// ```
/// # #[cfg(feature = "derive")] {
/// use ancho_collections::{BlobArray, BlobBuilder, BlobData, BlobString};
///
/// #[derive(BlobData, Default)]
/// #[repr(C)]
/// struct Curve {
///     name: BlobString,
///     samples: BlobArray<f32>,
/// }
///
/// let mut builder = BlobBuilder::new(Curve::default());
/// builder.string(builder.root(), |curve| &curve.name, "jump").unwrap();
/// builder.array(builder.root(), |curve| &curve.samples, [0.0, 0.7, 1.0]).unwrap();
/// let curve = builder.build().unwrap();
/// assert_eq!(&*curve.name, "jump");
/// assert_eq!(curve.samples[1], 0.7);
/// # }
/// ```
#[must_use = "a blob is made by `build`"]
pub struct BlobBuilder<T> {
    /// Identifies the builder, to recognise its places.
    id: u64,
    pieces: Pieces,
    root: PhantomData<fn() -> T>,
}

impl<T: BlobData> BlobBuilder<T> {
    /// Begins a blob with its root.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::BlobBuilder;
    ///
    /// let builder = BlobBuilder::new([1, 2, 3]);
    /// assert_eq!(*builder.build().unwrap(), [1, 2, 3]);
    /// ```
    pub fn new(root: T) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        // Relaxed: only uniqueness matters.
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        Self { id, pieces: Pieces::new(root), root: PhantomData }
    }

    /// Returns the place of the root.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{BlobBuilder, BlobString};
    ///
    /// let mut builder = BlobBuilder::new(BlobString::new());
    /// builder.string(builder.root(), |root| root, "Ada").unwrap();
    /// assert_eq!(*builder.build().unwrap(), "Ada");
    /// ```
    pub fn root(&self) -> BlobPlace<T> {
        BlobPlace::new(self.id, 0)
    }

    /// Fills an array, and returns the places of its elements.
    ///
    /// # Errors
    ///
    /// Returns an error if the place is of another builder, if the closure does not return a field
    /// of its argument, if the field was filled before, or if the blob exceeds 4 GiB.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{BlobArray, BlobBuilder};
    ///
    /// // An array of arrays.
    /// let mut builder = BlobBuilder::new(BlobArray::new());
    /// let rows = [const { BlobArray::new() }; 2];
    /// let rows = builder.array(builder.root(), |root| root, rows).unwrap();
    /// for (number, row) in rows.iter().enumerate() {
    ///     builder.array(row, |row| row, [number; 3].map(|number| number as u8)).unwrap();
    /// }
    /// assert_eq!(builder.build().unwrap()[1], [1, 1, 1]);
    /// ```
    pub fn array<P: BlobData, V: BlobData>(
        &mut self,
        place: BlobPlace<P>,
        field: impl FnOnce(&P) -> &BlobArray<V>,
        values: impl IntoIterator<Item = V>,
    ) -> Result<BlobPlaces<V>, BlobError> {
        let key = self.locate_empty(place, field)?;
        let Placed { piece, count } = self.pieces.place(values).map_err(explain::<T>)?;
        self.pieces.set_link(key, Link { target: piece, length: Some(count) });
        Ok(BlobPlaces::new(BlobPlace::new(self.id, piece.unwrap_or(0)), count))
    }

    /// Fills a text.
    ///
    /// # Errors
    ///
    /// Returns an error if the place is of another builder, if the closure does not return a field
    /// of its argument, if the field was filled before, or if the blob exceeds 4 GiB.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{BlobBuilder, BlobString};
    ///
    /// let mut builder = BlobBuilder::new([const { BlobString::new() }; 2]);
    /// builder.string(builder.root(), |names| &names[0], "Ada").unwrap();
    /// builder.string(builder.root(), |names| &names[1], "Grace").unwrap();
    /// assert_eq!(builder.build().unwrap()[1], "Grace");
    /// ```
    pub fn string<P: BlobData>(
        &mut self,
        place: BlobPlace<P>,
        field: impl FnOnce(&P) -> &BlobString,
        text: &str,
    ) -> Result<(), BlobError> {
        let key = self.locate_empty(place, field)?;
        let Placed { piece, count } = self.pieces.place(text.bytes()).map_err(explain::<T>)?;
        self.pieces.set_link(key, Link { target: piece, length: Some(count) });
        Ok(())
    }

    /// Sets the value of a pointer, and returns the value's place.
    ///
    /// # Errors
    ///
    /// Returns an error if the place is of another builder, if the closure does not return a field
    /// of its argument, if the field was filled before, or if the blob exceeds 4 GiB.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{BlobBuilder, BlobPtr};
    ///
    /// let mut builder = BlobBuilder::new(BlobPtr::new());
    /// builder.pointer(builder.root(), |root| root, 7).unwrap();
    /// assert_eq!(builder.build().unwrap().get(), Some(&7));
    /// ```
    pub fn pointer<P: BlobData, V: BlobData>(
        &mut self,
        place: BlobPlace<P>,
        field: impl FnOnce(&P) -> &BlobPtr<V>,
        value: V,
    ) -> Result<BlobPlace<V>, BlobError> {
        let key = self.locate_empty(place, field)?;
        let Placed { piece, .. } = self.pieces.place([value]).map_err(explain::<T>)?;
        self.pieces.set_link(key, Link { target: piece, length: None });
        Ok(BlobPlace::new(self.id, piece.unwrap_or(0)))
    }

    /// Fills an array with the elements of another array, which are then shared.
    ///
    /// # Errors
    ///
    /// Returns an error if a place is of another builder, or if a closure does not return a field
    /// of its argument. Also returns an error if the field was filled before, or if the field to
    /// share with was not filled.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{BlobArray, BlobBuilder};
    ///
    /// let mut builder = BlobBuilder::new([const { BlobArray::new() }; 2]);
    /// let root = builder.root();
    /// builder.array(root, |root| &root[0], [1, 2, 3]).unwrap();
    /// builder.share_array(root, |root| &root[1], root, |root| &root[0]).unwrap();
    /// let blob = builder.build().unwrap();
    /// assert_eq!(blob[0].as_ptr(), blob[1].as_ptr());
    /// ```
    pub fn share_array<P: BlobData, Q: BlobData, V: BlobData>(
        &mut self,
        place: BlobPlace<P>,
        field: impl FnOnce(&P) -> &BlobArray<V>,
        with: BlobPlace<Q>,
        with_field: impl FnOnce(&Q) -> &BlobArray<V>,
    ) -> Result<(), BlobError> {
        self.share(place, field, with, with_field)
    }

    /// Fills a text with the bytes of another text, which are then shared.
    ///
    /// # Errors
    ///
    /// Returns an error if a place is of another builder, or if a closure does not return a field
    /// of its argument. Also returns an error if the field was filled before, or if the field to
    /// share with was not filled.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{BlobBuilder, BlobString};
    ///
    /// let mut builder = BlobBuilder::new([const { BlobString::new() }; 2]);
    /// let root = builder.root();
    /// builder.string(root, |root| &root[0], "Ada").unwrap();
    /// builder.share_string(root, |root| &root[1], root, |root| &root[0]).unwrap();
    /// assert_eq!(builder.build().unwrap()[1], "Ada");
    /// ```
    pub fn share_string<P: BlobData, Q: BlobData>(
        &mut self,
        place: BlobPlace<P>,
        field: impl FnOnce(&P) -> &BlobString,
        with: BlobPlace<Q>,
        with_field: impl FnOnce(&Q) -> &BlobString,
    ) -> Result<(), BlobError> {
        self.share(place, field, with, with_field)
    }

    /// Sets a pointer to the value of another pointer, which is then shared.
    ///
    /// # Errors
    ///
    /// Returns an error if a place is of another builder, or if a closure does not return a field
    /// of its argument. Also returns an error if the field was filled before, or if the field to
    /// share with was not filled.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{BlobBuilder, BlobPtr};
    ///
    /// let mut builder = BlobBuilder::new([const { BlobPtr::new() }; 2]);
    /// let root = builder.root();
    /// builder.pointer(root, |root| &root[0], 7).unwrap();
    /// builder.share_pointer(root, |root| &root[1], root, |root| &root[0]).unwrap();
    /// assert_eq!(builder.build().unwrap()[1].get(), Some(&7));
    /// ```
    pub fn share_pointer<P: BlobData, Q: BlobData, V: BlobData>(
        &mut self,
        place: BlobPlace<P>,
        field: impl FnOnce(&P) -> &BlobPtr<V>,
        with: BlobPlace<Q>,
        with_field: impl FnOnce(&Q) -> &BlobPtr<V>,
    ) -> Result<(), BlobError> {
        self.share(place, field, with, with_field)
    }

    /// Builds the blob.
    ///
    /// # Errors
    ///
    /// Returns an error if the blob is larger than 4 GiB, if it is more than 256 pointers deep, or
    /// if a value contains itself. A shared value counts once for each path to it.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::BlobBuilder;
    ///
    /// let answer = BlobBuilder::new(42).build().unwrap();
    /// assert_eq!(*answer, 42);
    /// ```
    pub fn build(self) -> Result<BlobAsset<T>, BlobError> {
        let block = self.pieces.build().map_err(explain::<T>)?;
        // SAFETY: the first piece is the root, a `T`, and it comes first. Each filled field leads
        // to values of its type: the methods of the builder place such values, or share those of a
        // field of the same type.
        Ok(unsafe { BlobAsset::from_block(block) })
    }

    /// Shares the contents of one field with another field of the same type: an array, a text or a
    /// pointer.
    fn share<P: BlobData, Q: BlobData, F: BlobData>(
        &mut self,
        place: BlobPlace<P>,
        field: impl FnOnce(&P) -> &F,
        with: BlobPlace<Q>,
        with_field: impl FnOnce(&Q) -> &F,
    ) -> Result<(), BlobError> {
        let key = self.locate_empty(place, field)?;
        let source = self.locate(with, with_field)?;
        let nothing =
            BlobError::NothingToShare { value: type_name::<Q>(), field: type_name::<F>() };
        let link = self.pieces.link(source).ok_or(nothing)?;
        self.pieces.set_link(key, link);
        Ok(())
    }

    fn locate_empty<P: BlobData, F: BlobData>(
        &self,
        place: BlobPlace<P>,
        field: impl FnOnce(&P) -> &F,
    ) -> Result<FieldKey, BlobError> {
        let key = self.locate(place, field)?;
        match self.pieces.link(key) {
            None => Ok(key),
            Some(_) => {
                Err(BlobError::FilledTwice { value: type_name::<P>(), field: type_name::<F>() })
            }
        }
    }

    fn locate<P: BlobData, F: BlobData>(
        &self,
        place: BlobPlace<P>,
        field: impl FnOnce(&P) -> &F,
    ) -> Result<FieldKey, BlobError> {
        if place.builder != self.id {
            return Err(BlobError::ForeignPlace { value: type_name::<P>() });
        }
        // SAFETY: there is a `P` at the place: this builder returned the place when it stored the
        // `P` there, and no other builder has its number.
        let key = unsafe { self.pieces.locate(place.piece, place.offset, field) };
        key.ok_or(BlobError::NotAField { value: type_name::<P>(), field: type_name::<F>() })
    }
}

/// Converts the fault to an error that names the root.
fn explain<T>(fault: LayoutFault) -> BlobError {
    let root = type_name::<T>();
    match fault {
        LayoutFault::TooLarge => BlobError::TooLarge { root },
        LayoutFault::TooDeep => BlobError::TooDeep { root },
        LayoutFault::Cyclic => BlobError::Cyclic { root },
    }
}

impl<T> fmt::Debug for BlobBuilder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BlobBuilder<{}>({} pieces)", type_name::<T>(), self.pieces.len())
    }
}

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
    builder: u64,
    piece: u32,
    offset: u32,
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
    fn new(builder: u64, piece: u32) -> Self {
        Self { builder, piece, offset: 0, value: PhantomData }
    }
}

impl<T> BlobPlaces<T> {
    fn new(first: BlobPlace<T>, length: u32) -> Self {
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
