//! Arrays in blobs.
#![expect(unsafe_code, reason = "follows offsets")]

use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::ops::Deref;
use std::slice;

use super::data::{BlobData, BlobVisitor, check_target};
use super::relative::follow;

/// An array in a blob, read as a slice.
///
/// It is an offset and a length; its elements are later in the same blob. A new one is empty;
/// [`BlobBuilder::array`](crate::BlobBuilder::array) fills it. One with elements exists only in a
/// blob: it can be read there, but neither moved, copied, swapped nor changed. To keep the elements
/// without the blob, copy them with `to_vec`.
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
    /// From this field to the first element; 0 if the array is empty.
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
    /// Makes an empty array, to be filled by the builder.
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
