//! The fields of a blob that lead to values elsewhere in it: arrays, texts and pointers.
#![expect(unsafe_code, reason = "turns offsets into references")]

use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr;
use std::slice;

use super::data::{BlobData, BlobVisitor, check_target};

/// An array in a blob, read as a slice.
///
/// An array is an offset and a length. Its elements are later in the same blob. A new array is
/// empty, and [`BlobBuilder::array`](crate::BlobBuilder::array) fills it. An array with elements
/// exists only in a blob: it can be read there, but not moved, copied, swapped or changed. To keep
/// the elements without the blob, copy them with `to_vec`.
///
/// Elements are not zero-sized. An array of a zero-sized type, such as a struct without fields,
/// does not compile as part of a blob.
///
/// # Examples
///
/// ```
/// use ancho_collections::{BlobArray, BlobBuilder};
///
/// let mut builder = BlobBuilder::new(BlobArray::new());
/// builder.array(builder.root(), |root| root, [2.0, 3.0, 5.0]).unwrap();
/// let samples = builder.build().unwrap();
/// assert_eq!(samples[1], 3.0);
/// assert_eq!(samples.iter().sum::<f64>(), 10.0);
/// ```
#[repr(C)]
pub struct BlobArray<T> {
    /// Distance in bytes from this field to the first element, or 0 if the array is empty.
    offset: u32,
    length: u32,
    elements: PhantomData<T>,
}

// SAFETY: reported as an array, which it is: two words, no cells, no pointers, no destructor. Any
// two words that the visitor accepts as an array lead to valid elements.
unsafe impl<T: BlobData> BlobData for BlobArray<T> {
    fn visit<V: BlobVisitor>(visitor: &mut V) {
        const { check_target::<T>() };
        visitor.array::<T>();
    }
}

impl<T> BlobArray<T> {
    /// Creates an empty array, to be filled by the builder.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::BlobArray;
    ///
    /// assert!(BlobArray::<f32>::new().is_empty());
    /// ```
    pub const fn new() -> Self {
        Self { offset: 0, length: 0, elements: PhantomData }
    }
}

impl<T> Deref for BlobArray<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        if self.offset == 0 {
            return &[];
        }
        // SAFETY: an array with an offset is in a block, since only building a block sets it, and
        // nothing moves it from there. The builder has placed `length` elements at the offset, or
        // the check has found them.
        unsafe { follow(self, self.offset, self.length as usize) }
    }
}

impl<T> Default for BlobArray<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'a, T> IntoIterator for &'a BlobArray<T> {
    type Item = &'a T;
    type IntoIter = slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T: fmt::Debug> fmt::Debug for BlobArray<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: PartialEq> PartialEq for BlobArray<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Eq> Eq for BlobArray<T> {}

impl<T: PartialEq> PartialEq<[T]> for BlobArray<T> {
    fn eq(&self, other: &[T]) -> bool {
        **self == *other
    }
}

impl<T: PartialEq, const N: usize> PartialEq<[T; N]> for BlobArray<T> {
    fn eq(&self, other: &[T; N]) -> bool {
        **self == *other
    }
}

impl<T: Hash> Hash for BlobArray<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

/// A text in a blob, read as a `str`.
///
/// A new `BlobString` is empty, and [`BlobBuilder::string`](crate::BlobBuilder::string) fills it.
/// As with [`BlobArray`], a `BlobString` with text exists only in a blob. To keep the text without
/// the blob, copy it with `to_string`.
///
/// # Examples
///
/// ```
/// use ancho_collections::{BlobBuilder, BlobString};
///
/// let mut builder = BlobBuilder::new(BlobString::new());
/// builder.string(builder.root(), |root| root, "Ada").unwrap();
/// let name = builder.build().unwrap();
/// assert_eq!(&**name, "Ada");
/// assert_eq!(name.to_uppercase(), "ADA");
/// ```
#[derive(Default)]
#[repr(transparent)]
pub struct BlobString {
    /// The text as UTF-8 bytes. The array is never lent, because the builder could then fill it
    /// with other bytes.
    bytes: BlobArray<u8>,
}

// SAFETY: reported as a text, which it is: two words, no cells, no pointers, no destructor. Any two
// words that the visitor accepts as a text lead to UTF-8.
unsafe impl BlobData for BlobString {
    fn visit<V: BlobVisitor>(visitor: &mut V) {
        visitor.string();
    }
}

impl BlobString {
    /// Creates an empty text, to be filled by the builder.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::BlobString;
    ///
    /// assert!(BlobString::new().is_empty());
    /// ```
    pub const fn new() -> Self {
        Self { bytes: BlobArray::new() }
    }
}

impl Deref for BlobString {
    type Target = str;

    #[inline]
    fn deref(&self) -> &str {
        // SAFETY: the builder takes the bytes from a `str`, and loaded bytes are checked to be
        // UTF-8.
        unsafe { str::from_utf8_unchecked(&self.bytes) }
    }
}

impl fmt::Debug for BlobString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl fmt::Display for BlobString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}

impl PartialEq for BlobString {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for BlobString {}

impl PartialEq<str> for BlobString {
    fn eq(&self, other: &str) -> bool {
        **self == *other
    }
}

impl PartialEq<&str> for BlobString {
    fn eq(&self, other: &&str) -> bool {
        **self == **other
    }
}

impl Hash for BlobString {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

/// A pointer to one value in the same blob, or null.
///
/// A new pointer is null, and [`BlobBuilder::pointer`](crate::BlobBuilder::pointer) sets its value.
/// As with [`BlobArray`](crate::BlobArray), a pointer with a value exists only in a blob. Several
/// pointers can share a value, but cycles are refused.
///
/// # Examples
///
/// ```
/// use ancho_collections::{BlobBuilder, BlobPtr};
///
/// let mut builder = BlobBuilder::new([const { BlobPtr::new() }; 2]);
/// builder.pointer(builder.root(), |root| &root[0], 7).unwrap();
/// let pair = builder.build().unwrap();
/// assert_eq!(pair[0].get(), Some(&7));
/// assert_eq!(pair[1].get(), None);
/// ```
#[repr(C)]
pub struct BlobPtr<T> {
    /// Distance in bytes from this field to the value, or 0 if the pointer is null.
    offset: u32,
    value: PhantomData<T>,
}

// SAFETY: reported as a pointer, which it is: one word, no cells, no addresses, no destructor. Any
// word that the visitor accepts as a pointer leads to a valid value.
unsafe impl<T: BlobData> BlobData for BlobPtr<T> {
    fn visit<V: BlobVisitor>(visitor: &mut V) {
        const { check_target::<T>() };
        visitor.pointer::<T>();
    }
}

impl<T> BlobPtr<T> {
    /// Creates a null pointer, to be filled by the builder.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::BlobPtr;
    ///
    /// assert!(BlobPtr::<f32>::new().is_null());
    /// ```
    pub const fn new() -> Self {
        Self { offset: 0, value: PhantomData }
    }

    /// Returns the value, if there is one.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::BlobPtr;
    ///
    /// assert_eq!(BlobPtr::<f32>::new().get(), None);
    /// ```
    #[inline]
    pub fn get(&self) -> Option<&T> {
        if self.offset == 0 {
            return None;
        }
        // SAFETY: a pointer with an offset is in a block, since only building a block sets it, and
        // nothing moves it from there. The builder has placed a value at the offset, or the check
        // has found one.
        unsafe { follow::<_, T>(self, self.offset, 1) }.first()
    }

    /// Returns whether the pointer is null.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::BlobPtr;
    ///
    /// assert!(BlobPtr::<f32>::new().is_null());
    /// ```
    pub const fn is_null(&self) -> bool {
        self.offset == 0
    }
}

impl<T> Default for BlobPtr<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// Shows the value, or `null`.
impl<T: fmt::Debug> fmt::Debug for BlobPtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.get() {
            Some(value) => value.fmt(f),
            None => f.write_str("null"),
        }
    }
}

/// Compares the values, not their addresses.
impl<T: PartialEq> PartialEq for BlobPtr<T> {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq> Eq for BlobPtr<T> {}

impl<T: Hash> Hash for BlobPtr<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.get().hash(state);
    }
}

/// Follows an offset from the pointer that contains it to `length` values of `T`.
///
/// A reference to the pointer may be used only for the bytes of the pointer, not for later bytes of
/// the block. So the address is computed as a number, and becomes a pointer with the provenance
/// that the block has exposed. The alternative, a pointer to the block in each field, would take
/// space and would not be relocatable.
///
/// # Safety
///
/// - The pointer is in a [`Block`](super::asset::Block), at its place.
/// - At that offset from it the block has `length` values of `T`.
#[inline]
unsafe fn follow<P, T>(pointer: &P, offset: u32, length: usize) -> &[T] {
    let address = ptr::from_ref(pointer).addr() + offset as usize;
    let start = ptr::with_exposed_provenance::<T>(address);
    // SAFETY: the pointer is in a block, which has exposed the provenance of all its bytes, and at
    // the address are `length` values, aligned and initialised. The block lives as long as the
    // reference to the pointer in it, and is never written.
    unsafe { slice::from_raw_parts(start, length) }
}
