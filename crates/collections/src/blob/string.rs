//! Text in blobs.
#![expect(unsafe_code, reason = "reads text that was checked when the blob was made")]

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;

use super::array::BlobArray;
use super::data::{BlobData, BlobVisitor};

/// A text in a blob, read as a `str`.
///
/// A new one is empty; [`BlobBuilder::string`](crate::BlobBuilder::string) fills it. As with
/// [`BlobArray`], one with text exists only in a blob. To keep the text without the blob, copy it
/// with `to_string`.
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
    /// UTF-8. Never lent as an array, since the builder could then fill it with other bytes.
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
    /// Makes an empty text, to be filled by the builder.
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
