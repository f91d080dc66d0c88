//! Conversions from and to strings and lists of fixed size.

use std::str::FromStr;

use super::error::{FixedListFull, FixedStringError};
use super::list::FixedList;
use super::string::FixedString;

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

/// An array that does not fit is a compile error.
///
/// ```compile_fail,E0080
/// // The list holds three.
/// let list = ancho_collections::FixedList32::from([1_u64, 2, 3, 4]);
/// ```
impl<T: Copy, const N: usize, const K: usize> From<[T; K]> for FixedList<T, N> {
    fn from(values: [T; K]) -> Self {
        const { assert!(K <= Self::CAPACITY, "the array has more elements than the FixedList holds") };
        let mut list = Self::new();
        list.extend_from_slice(&values);
        list
    }
}

impl<'a, T: Copy, const N: usize> TryFrom<&'a [T]> for FixedList<T, N> {
    type Error = FixedListFull<&'a [T]>;

    fn try_from(values: &'a [T]) -> Result<Self, FixedListFull<&'a [T]>> {
        let mut list = Self::new();
        list.try_extend_from_slice(values)?;
        Ok(list)
    }
}

impl<T: Copy, const N: usize> From<FixedList<T, N>> for Vec<T> {
    fn from(list: FixedList<T, N>) -> Self {
        list.to_vec()
    }
}

impl<T: Copy, const N: usize> AsRef<[T]> for FixedList<T, N> {
    fn as_ref(&self) -> &[T] {
        self
    }
}

/// # Panics
///
/// With A0032, if there are more elements than the list holds.
impl<T: Copy, const N: usize> FromIterator<T> for FixedList<T, N> {
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Self {
        let mut list = Self::new();
        list.extend(elements);
        list
    }
}

/// # Panics
///
/// With A0032, when the list is full. The elements before that are in the list.
impl<T: Copy, const N: usize> Extend<T> for FixedList<T, N> {
    #[track_caller]
    fn extend<I: IntoIterator<Item = T>>(&mut self, elements: I) {
        // Not `for_each`: a closure would hide the caller's location from the panic.
        for element in elements {
            self.push(element);
        }
    }
}
