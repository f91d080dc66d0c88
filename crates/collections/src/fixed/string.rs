//! A string of fixed size.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt::{self, Debug, Display};
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::str::FromStr;

use super::error::FixedStringError;
use super::raw::RawText;

/// A text of up to 29 bytes, in a value of 32 bytes.
#[doc(alias = "FixedString32Bytes")]
pub type FixedString32 = FixedString<32>;
/// A text of up to 61 bytes, in a value of 64 bytes.
#[doc(alias = "FixedString64Bytes")]
pub type FixedString64 = FixedString<64>;
/// A text of up to 125 bytes, in a value of 128 bytes.
#[doc(alias = "FixedString128Bytes")]
pub type FixedString128 = FixedString<128>;
/// A text of up to 509 bytes, in a value of 512 bytes.
#[doc(alias = "FixedString512Bytes")]
pub type FixedString512 = FixedString<512>;
/// A text of up to 4093 bytes, in a value of 4096 bytes.
#[doc(alias = "FixedString4096Bytes")]
pub type FixedString4096 = FixedString<4096>;

/// A text in UTF-8 that is stored in the value itself, of `N` bytes.
///
/// It is `Copy` and owns no memory elsewhere, so a component or a job can hold it. Reading it works
/// as with a `str`. Writing returns an error where there is no room, and then changes nothing. For
/// a text of any length, use `String`.
///
/// Unity's five sizes have names: [`FixedString32`] is its `FixedString32Bytes`. Any other size
/// from 3 to 65538 bytes can be used too.
///
/// # Layout
///
/// ```text
/// byte   0   1   2   3   4   5                   N-1
///      ┌───┬───┬───┬───┬───┬───┬─────────────────┬───┐
///      │ 3   0 │ A   n   a │ 0   0   0   0   …   │ 0 │
///      └───┴───┴───┴───┴───┴───┴─────────────────┴───┘
///        length  text        zeros                 NUL
/// ```
///
/// The length is a `u16` in little-endian order, and counts bytes. All bytes after the text are
/// zero: equal strings have equal bytes, on every machine. The last byte is always zero, so C finds
/// a terminator. The alignment is 1.
///
/// # Examples
///
/// ```
/// use ancho_collections::FixedString32;
///
/// let mut name = FixedString32::from_static("Ana");
/// name.push_str(" Paz")?;
/// assert_eq!(name, "Ana Paz");
/// assert_eq!((name.len(), size_of_val(&name)), (7, 32));
/// // It is read and parsed like a `str`.
/// assert!(name.starts_with("Ana"));
/// assert_eq!(FixedString32::from_static("1.5").parse(), Ok(1.5_f32));
/// # Ok::<(), ancho_collections::FixedStringError>(())
/// ```
#[derive(Clone, Copy)]
#[cfg_attr(
    feature = "zerocopy",
    derive(zerocopy::IntoBytes, zerocopy::Immutable, zerocopy::KnownLayout, zerocopy::Unaligned)
)]
#[repr(transparent)]
pub struct FixedString<const N: usize> {
    pub(super) raw: RawText<N>,
}

impl<const N: usize> FixedString<N> {
    /// Maximum length of the text in bytes: three less than the size.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::FixedString64;
    ///
    /// assert_eq!(FixedString64::CAPACITY, 61);
    /// ```
    pub const CAPACITY: usize = RawText::<N>::CAPACITY;

    /// Creates an empty string.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_collections::FixedString32::new(), "");
    /// ```
    #[must_use]
    pub const fn new() -> Self {
        Self { raw: RawText::new() }
    }

    /// Creates a string from a text that is expected to fit, such as a literal.
    ///
    /// In a constant, a text that does not fit is a compile error. For a text of unknown length,
    /// use `try_from`, or [`from_truncated`](Self::from_truncated).
    ///
    /// # Panics
    ///
    /// Panics with code A0030 if the text is longer than [`CAPACITY`](Self::CAPACITY).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::FixedString32;
    ///
    /// const PLAYER: FixedString32 = FixedString32::from_static("Player");
    /// assert_eq!(PLAYER, "Player");
    /// ```
    ///
    /// ```compile_fail,E0080
    /// use ancho_collections::FixedString;
    ///
    /// const PLAYER: FixedString<8> = FixedString::from_static("Player");
    /// # let player = PLAYER;
    /// ```
    #[must_use]
    #[track_caller]
    pub const fn from_static(text: &'static str) -> Self {
        let mut raw = RawText::new();
        match raw.push_str(text) {
            Ok(()) => Self { raw },
            // The compiler shows only text, so the values are converted to text.
            Err(_) => panic!("{}", too_long(text.len(), N, Self::CAPACITY).as_str()),
        }
    }

    /// Creates a string from the part of the text that fits, cut between two code points.
    ///
    /// [`copy_from_truncated`](Self::copy_from_truncated) also returns whether the text was cut.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::FixedString;
    ///
    /// // The text has room for five bytes, and ñ takes two.
    /// assert_eq!(FixedString::<8>::from_truncated("mañana"), "maña");
    /// assert_eq!(FixedString::<8>::from_truncated("cabañas"), "caba");
    /// ```
    #[must_use]
    pub fn from_truncated(text: &str) -> Self {
        let mut string = Self::new();
        // Cutting is the purpose of this function.
        let _ = string.copy_from_truncated(text);
        string
    }

    /// Replaces the contents by the part of the text that fits, cut between two code points.
    ///
    /// # Errors
    ///
    /// Returns [`Truncation`](FixedStringError::Truncation) if the text was cut. The string then has the
    /// part that fits.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{FixedString, FixedStringError};
    ///
    /// let mut word = FixedString::<8>::new();
    /// assert_eq!(word.copy_from_truncated("año"), Ok(()));
    /// let cut = word.copy_from_truncated("cabañas");
    /// assert_eq!(cut, Err(FixedStringError::Truncation { kept: 4, len: 8 }));
    /// assert_eq!(word, "caba");
    /// ```
    pub fn copy_from_truncated(&mut self, text: &str) -> Result<(), FixedStringError> {
        let kept = text.floor_char_boundary(Self::CAPACITY);
        self.clear();
        self.push_str(&text[..kept])?;
        if kept == text.len() {
            Ok(())
        } else {
            Err(FixedStringError::Truncation { kept, len: text.len() })
        }
    }

    /// Creates a string from UTF-8 bytes.
    ///
    /// # Errors
    ///
    /// Returns [`Encoding`](FixedStringError::Encoding) if they are not UTF-8, and
    /// [`Overflow`](FixedStringError::Overflow) if they do not fit.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{FixedString32, FixedStringError};
    ///
    /// assert_eq!(FixedString32::from_utf8(b"Ana")?, "Ana");
    /// let refused = FixedString32::from_utf8(b"An\xff").unwrap_err();
    /// assert_eq!(refused, FixedStringError::Encoding { position: 2 });
    /// # Ok::<(), FixedStringError>(())
    /// ```
    pub fn from_utf8(bytes: &[u8]) -> Result<Self, FixedStringError> {
        Self::try_from(str::from_utf8(bytes)?)
    }

    /// Creates a string from all its bytes, as returned by [`raw_bytes`](Self::raw_bytes).
    ///
    /// They are checked, so they may come from a file or from another machine.
    ///
    /// # Errors
    ///
    /// Returns [`Overflow`](FixedStringError::Overflow) if the length is larger than the capacity;
    /// [`Encoding`](FixedStringError::Encoding) if the text is not UTF-8;
    /// [`NotZero`](FixedStringError::NotZero) if a later byte is not zero.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{FixedString, FixedStringError};
    ///
    /// assert_eq!(FixedString::from_raw_bytes([2, 0, b'h', b'i', 0, 0, 0, 0])?, "hi");
    /// let refused = FixedString::from_raw_bytes([1, 0, b'h', b'i', 0, 0, 0, 0]).unwrap_err();
    /// assert_eq!(refused, FixedStringError::NotZero { position: 3 });
    /// # Ok::<(), FixedStringError>(())
    /// ```
    pub fn from_raw_bytes(bytes: [u8; N]) -> Result<Self, FixedStringError> {
        Ok(Self { raw: RawText::from_bytes(bytes)? })
    }

    /// Returns all bytes of the string: the length, the text, and the zeros after it.
    ///
    /// Equal strings have equal bytes, so their checksums are equal too. `as_bytes` returns the
    /// bytes of the text alone.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::ffi::CStr;
    ///
    /// let text = ancho_collections::FixedString::<8>::from_static("hi");
    /// assert_eq!(text.raw_bytes(), &[2, 0, b'h', b'i', 0, 0, 0, 0]);
    /// // The text for C begins after the length.
    /// assert_eq!(CStr::from_bytes_until_nul(&text.raw_bytes()[2..]), Ok(c"hi"));
    /// ```
    #[must_use]
    pub const fn raw_bytes(&self) -> &[u8; N] {
        self.raw.bytes()
    }

    /// Returns the text.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_collections::FixedString32::from_static("Ana").as_str(), "Ana");
    /// ```
    #[must_use]
    pub const fn as_str(&self) -> &str {
        self.raw.as_str()
    }

    /// Returns the maximum length in bytes, which is [`CAPACITY`](Self::CAPACITY).
    ///
    /// # Examples
    ///
    /// ```
    /// let text = ancho_collections::FixedString32::from_static("Ana");
    /// assert_eq!(text.capacity() - text.len(), 26);
    /// ```
    #[must_use]
    pub const fn capacity(&self) -> usize {
        Self::CAPACITY
    }
}

impl<const N: usize> Default for FixedString<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize> Deref for FixedString<N> {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl<const N: usize> Display for FixedString<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Display::fmt(self.as_str(), f)
    }
}

impl<const N: usize> Debug for FixedString<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Debug::fmt(self.as_str(), f)
    }
}

/// Returns the panic message of `from_static`, for a text of `len` bytes.
const fn too_long(len: usize, size: usize, capacity: usize) -> RawText<256> {
    const fn push(message: &mut RawText<256>, text: &str) {
        assert!(message.push_str(text).is_ok());
    }
    const fn push_number(message: &mut RawText<256>, number: usize) {
        if number >= 10 {
            push_number(message, number / 10);
        }
        push(message, "0123456789".split_at(number % 10).1.split_at(1).0);
    }
    let mut message = RawText::new();
    push(&mut message, "A0030: a text of ");
    push_number(&mut message, len);
    push(&mut message, " bytes does not fit in a FixedString<");
    push_number(&mut message, size);
    push(&mut message, ">, which holds ");
    push_number(&mut message, capacity);
    push(&mut message, "; take a larger size, or cut the text with `from_truncated`");
    message
}

impl<const N: usize, const M: usize> PartialEq<FixedString<M>> for FixedString<N> {
    fn eq(&self, other: &FixedString<M>) -> bool {
        self.as_str() == other.as_str()
    }
}

impl<const N: usize> Eq for FixedString<N> {}

impl<const N: usize, const M: usize> PartialOrd<FixedString<M>> for FixedString<N> {
    fn partial_cmp(&self, other: &FixedString<M>) -> Option<Ordering> {
        Some(self.as_str().cmp(other.as_str()))
    }
}

impl<const N: usize> Ord for FixedString<N> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl<const N: usize> Hash for FixedString<N> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl<const N: usize> Borrow<str> for FixedString<N> {
    fn borrow(&self) -> &str {
        self
    }
}

/// Compares a `FixedString` with the text types of the standard library, on either side.
macro_rules! compare_with_text {
    ($($text:ty),+) => {$(
        impl<const N: usize> PartialEq<$text> for FixedString<N> {
            fn eq(&self, other: &$text) -> bool {
                self.as_str() == &other[..]
            }
        }

        impl<const N: usize> PartialEq<FixedString<N>> for $text {
            fn eq(&self, other: &FixedString<N>) -> bool {
                &self[..] == other.as_str()
            }
        }

        impl<const N: usize> PartialOrd<$text> for FixedString<N> {
            fn partial_cmp(&self, other: &$text) -> Option<Ordering> {
                Some(self.as_str().cmp(&other[..]))
            }
        }

        impl<const N: usize> PartialOrd<FixedString<N>> for $text {
            fn partial_cmp(&self, other: &FixedString<N>) -> Option<Ordering> {
                Some(self[..].cmp(other.as_str()))
            }
        }
    )+};
}

compare_with_text!(str, &str, String);

impl<const N: usize> TryFrom<&str> for FixedString<N> {
    type Error = FixedStringError;

    fn try_from(text: &str) -> Result<Self, FixedStringError> {
        let mut string = Self::new();
        string.push_str(text)?;
        Ok(string)
    }
}

impl<const N: usize> FromStr for FixedString<N> {
    type Err = FixedStringError;

    fn from_str(text: &str) -> Result<Self, FixedStringError> {
        Self::try_from(text)
    }
}

impl<const N: usize> From<FixedString<N>> for String {
    fn from(string: FixedString<N>) -> Self {
        string.as_str().to_owned()
    }
}

impl<const N: usize> AsRef<str> for FixedString<N> {
    fn as_ref(&self) -> &str {
        self
    }
}

/// Converts strings of one size to larger sizes, and back if they fit.
///
/// A generic `From` for any two sizes would overlap with the standard library's for equal sizes.
macro_rules! widen {
    ($small:literal => $($large:literal),+) => {$(
        impl From<FixedString<$small>> for FixedString<$large> {
            fn from(small: FixedString<$small>) -> Self {
                // It fits, so nothing is cut.
                Self::from_truncated(&small)
            }
        }

        impl TryFrom<FixedString<$large>> for FixedString<$small> {
            type Error = FixedStringError;

            fn try_from(large: FixedString<$large>) -> Result<Self, FixedStringError> {
                Self::try_from(large.as_str())
            }
        }
    )+};
}

widen!(32 => 64, 128, 512, 4096);
widen!(64 => 128, 512, 4096);
widen!(128 => 512, 4096);
widen!(512 => 4096);
