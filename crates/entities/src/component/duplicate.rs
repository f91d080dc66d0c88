//! How one value of a component is made of another.

#![expect(unsafe_code, reason = "copies values whose type says that they can be")]

use std::fmt;

/// How values of a component type are duplicated: as bytes, by cloning, or not at all.
///
/// `#[derive(Component)]` chooses the first of them that the type allows.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, Duplicate};
///
/// #[derive(Component, Clone)]
/// struct Name(String);
///
/// #[derive(Component)]
/// struct Ticket(u32);
///
/// assert_eq!(format!("{:?}", Name::duplicate()), "clone");
/// assert_eq!(format!("{:?}", Ticket::duplicate()), "none");
/// ```
#[must_use = "this says how values are duplicated, and duplicates none"]
pub struct Duplicate<T> {
    pub(crate) how: How<T>,
}

pub(crate) enum How<T> {
    NotAtAll,
    Bytes,
    Clone(fn(&T) -> T),
}

impl<T> Duplicate<T> {
    /// Values cannot be duplicated. A world with such a component cannot be forked.
    pub const fn none() -> Self {
        Self { how: How::NotAtAll }
    }

    /// Values are duplicated by copying their bytes.
    pub const fn bytes() -> Self
    where
        T: Copy,
    {
        Self { how: How::Bytes }
    }

    /// Whether values can be duplicated.
    pub(crate) const fn is_possible(&self) -> bool {
        !matches!(self.how, How::NotAtAll)
    }

    /// Makes a second value of one, if that can be.
    pub(crate) fn apply(&self, value: &T) -> Option<T> {
        match self.how {
            How::NotAtAll => None,
            // SAFETY: only values that can be copied are duplicated as bytes.
            How::Bytes => Some(unsafe { std::ptr::read(value) }),
            How::Clone(clone) => Some(clone(value)),
        }
    }

    /// Values are duplicated by cloning them.
    pub const fn clone() -> Self
    where
        T: Clone,
    {
        Self { how: How::Clone(T::clone) }
    }
}

impl<T> fmt::Debug for Duplicate<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.how {
            How::NotAtAll => "none",
            How::Bytes => "bytes",
            How::Clone(_) => "clone",
        })
    }
}
