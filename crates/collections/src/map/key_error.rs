//! Errors of duplicate and missing keys.

use std::any::type_name;
use std::error::Error;
use std::fmt;

use crate::error::debug_as_display;

/// Error of adding a key that exists already. Code A0018.
///
/// # Examples
///
/// ```
/// let mut scores = ancho_collections::Map::from([("Ada", 10)]);
/// let refused = scores.add("Ada", 20).unwrap_err();
/// assert_eq!(refused.value, ("Ada", 20));
/// assert!(refused.to_string().starts_with("A0018: a key of type `&str` is in the map already; "));
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct DuplicateKey {
    /// The key's type.
    pub key_type: &'static str,
}

impl DuplicateKey {
    pub(crate) fn of<K>() -> Self {
        Self { key_type: type_name::<K>() }
    }
}

impl fmt::Display for DuplicateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "A0018: a key of type `{}` is in the map already; use `insert` to replace its value, or \
             `try_add` to leave it",
            self.key_type
        )
    }
}

impl Error for DuplicateKey {}

debug_as_display!(DuplicateKey);

/// Panics because a key is missing. Keys need not be printable, so the message names their type.
#[cold]
#[inline(never)]
#[track_caller]
pub(super) fn missing_key<K>() -> ! {
    panic!(
        "A0018: a key of type `{}` is not in the map; use `get` if it may be missing",
        type_name::<K>()
    );
}
