//! The error of bytes that are not UTF-8.

use std::error::Error;
use std::fmt;

use crate::error::debug_as_display;

/// The error of bytes that are not UTF-8. Code A0027.
///
/// # Examples
///
/// ```
/// use ancho_collections::{InvalidUtf8, Text};
///
/// let refused = Text::from_utf8(b"caf\xE9").unwrap_err();
/// assert_eq!(refused, InvalidUtf8 { valid_up_to: 3 });
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct InvalidUtf8 {
    /// Number of bytes that are text.
    pub valid_up_to: usize,
}

impl fmt::Display for InvalidUtf8 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { valid_up_to } = self;
        write!(
            f,
            "A0027: the bytes are not UTF-8 from byte {valid_up_to} on; use `String::from_utf8_lossy` to replace \
             invalid bytes"
        )
    }
}

impl Error for InvalidUtf8 {}

debug_as_display!(InvalidUtf8);
