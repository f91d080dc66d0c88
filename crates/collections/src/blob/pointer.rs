//! Pointers in blobs.
#![expect(unsafe_code, reason = "follows offsets")]

use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;

use super::data::{BlobData, BlobVisitor, check_target};
use super::relative::follow;

/// A pointer to one value in the same blob, or null.
///
/// A new one is null; [`BlobBuilder::pointer`](crate::BlobBuilder::pointer) sets its value. As with
/// [`BlobArray`](crate::BlobArray), one with a value exists only in a blob. Several pointers can
/// share a value, but cycles are refused.
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
    /// From this field to the value; 0 if null.
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
    /// Makes a null pointer, to be filled by the builder.
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
