//! Strings and lists are equal, ordered and hashed by their contents, like `str` and `[T]`. The
//! sizes of the two sides may differ.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use super::list::FixedList;
use super::string::FixedString;

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

impl<T: Copy + PartialEq, const N: usize, const M: usize> PartialEq<FixedList<T, M>>
    for FixedList<T, N>
{
    fn eq(&self, other: &FixedList<T, M>) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl<T: Copy + Eq, const N: usize> Eq for FixedList<T, N> {}

impl<T: Copy + PartialOrd, const N: usize, const M: usize> PartialOrd<FixedList<T, M>>
    for FixedList<T, N>
{
    fn partial_cmp(&self, other: &FixedList<T, M>) -> Option<Ordering> {
        self.as_slice().partial_cmp(other.as_slice())
    }
}

impl<T: Copy + Ord, const N: usize> Ord for FixedList<T, N> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_slice().cmp(other.as_slice())
    }
}

impl<T: Copy + Hash, const N: usize> Hash for FixedList<T, N> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_slice().hash(state);
    }
}

impl<T: Copy, const N: usize> Borrow<[T]> for FixedList<T, N> {
    fn borrow(&self) -> &[T] {
        self
    }
}

impl<T: Copy + PartialEq, const N: usize> PartialEq<[T]> for FixedList<T, N> {
    fn eq(&self, other: &[T]) -> bool {
        self.as_slice() == other
    }
}

impl<T: Copy + PartialEq, const N: usize> PartialEq<&[T]> for FixedList<T, N> {
    fn eq(&self, other: &&[T]) -> bool {
        self.as_slice() == *other
    }
}

impl<T: Copy + PartialEq, const N: usize, const K: usize> PartialEq<[T; K]> for FixedList<T, N> {
    fn eq(&self, other: &[T; K]) -> bool {
        self.as_slice() == other
    }
}
