//! When something was changed.

use std::fmt;

/// A moment in the life of a world: rises with every system that runs, so that it can be told what changed since.
///
/// Versions are compared as if they never wrapped around, which holds for moments less than 2³¹ apart.
/// Unity's `GlobalSystemVersion`.
///
/// # Examples
///
/// ```
/// use ancho_entities::Version;
///
/// let first = Version::FIRST;
/// assert!(first.next().is_newer_than(first));
/// assert!(!first.is_newer_than(first));
/// // Everything is newer than never.
/// assert!(first.is_newer_than(Version::NEVER));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Version(u32);

impl Version {
    /// Before everything: the version of who has not looked yet.
    pub const NEVER: Self = Self(0);

    /// The version of a new world.
    pub const FIRST: Self = Self(1);

    /// The version of this number; zero is [`NEVER`](Self::NEVER).
    pub const fn from_number(number: u32) -> Self {
        Self(number)
    }

    /// The version as a number.
    pub const fn number(self) -> u32 {
        self.0
    }

    /// The version after this one. Never is passed over when the numbers begin again.
    #[must_use = "the version itself does not change"]
    pub const fn next(self) -> Self {
        match self.0.wrapping_add(1) {
            0 => Self::FIRST,
            number => Self(number),
        }
    }

    /// Whether this is after `other`: whether something of this version changed since.
    #[inline]
    pub const fn is_newer_than(self, other: Self) -> bool {
        other.0 == 0 || (self.0.wrapping_sub(other.0) as i32) > 0
    }

    /// The later of two.
    #[inline]
    pub(crate) const fn newest(self, other: Self) -> Self {
        if other.0 != 0 && other.is_newer_than(self) { other } else { self }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Version({})", self.0)
    }
}
