//! Change versions.

use std::fmt;

/// A change version of a world. It increases with each system that runs, so that changes since an earlier version can be detected.
///
/// Comparison handles wraparound correctly for versions that are less than 2³¹ apart. This is Unity's `GlobalSystemVersion`.
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
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Version(u32);

impl Version {
    /// The version before all others, for systems that have not run yet. It is the default.
    pub const NEVER: Self = Self(0);

    /// The version of a new world.
    pub const FIRST: Self = Self(1);

    /// Creates a version from its number; zero is [`NEVER`](Self::NEVER).
    pub const fn from_number(number: u32) -> Self {
        Self(number)
    }

    /// Returns the version as a number.
    pub const fn number(self) -> u32 {
        self.0
    }

    /// Returns the next version. It skips `NEVER` when the numbers wrap around.
    #[must_use = "the version itself does not change"]
    pub const fn next(self) -> Self {
        match self.0.wrapping_add(1) {
            0 => Self::FIRST,
            number => Self(number),
        }
    }

    /// Returns `true` if this version is after `other`.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::Version;
    ///
    /// let old = Version::from_number(u32::MAX - 1);
    /// let new = old.next().next();
    /// assert_eq!(new.number(), 1, "the numbers wrapped around");
    /// assert!(new.is_newer_than(old) && !old.is_newer_than(new));
    /// ```
    #[inline]
    pub const fn is_newer_than(self, other: Self) -> bool {
        other.0 == 0 || (self.0.wrapping_sub(other.0) as i32) > 0
    }

    /// Returns the newer of two versions.
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
