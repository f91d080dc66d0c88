//! Errors of strings and lists of fixed size.

use std::error::Error;
use std::fmt;
use std::str::Utf8Error;

use crate::error::debug_as_display;

/// Error of an operation on a [`FixedString`](crate::FixedString).
///
/// Except for [`Truncation`](Self::Truncation), nothing was changed.
///
/// # Examples
///
/// ```
/// use ancho_collections::{FixedString32, FixedStringError};
///
/// let mut name = FixedString32::from_static("Ana");
/// let refused = name.push_str(" of the seven mountains and hills");
/// assert_eq!(refused, Err(FixedStringError::Overflow { capacity: 29, needed: 36 }));
/// assert_eq!(name, "Ana");
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FixedStringError {
    /// The text is longer than the string can be.
    Overflow {
        /// Capacity of the string in bytes.
        capacity: usize,
        /// Capacity that the string would need.
        needed: usize,
    },
    /// The text was cut to fit, between two code points.
    Truncation {
        /// Number of bytes of the text that the string holds now.
        kept: usize,
        /// Length of the text in bytes.
        len: usize,
    },
    /// The bytes are not UTF-8.
    Encoding {
        /// Position of the first byte that is not part of a code point.
        position: usize,
    },
    /// A byte after the text is not zero.
    NotZero {
        /// Position of the byte in the string.
        position: usize,
    },
    /// The format cannot be filled in.
    Format(FormatError),
}

impl fmt::Display for FixedStringError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Overflow { capacity, needed } => write!(
                f,
                "a text of {needed} bytes does not fit in a string that holds {capacity}; take a larger \
                 size, or cut the text with `copy_from_truncated`"
            ),
            Self::Truncation { kept, len } => {
                write!(f, "a text of {len} bytes was cut to {kept}, to fit in the string")
            }
            Self::Encoding { position } => write!(f, "the text is not UTF-8 at byte {position}"),
            Self::NotZero { position } => {
                write!(f, "byte {position} of the string is after its text, and is not zero")
            }
            Self::Format(error) => error.fmt(f),
        }
    }
}

impl Error for FixedStringError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Format(error) => Some(error),
            _ => None,
        }
    }
}

impl From<FormatError> for FixedStringError {
    fn from(error: FormatError) -> Self {
        Self::Format(error)
    }
}

impl From<Utf8Error> for FixedStringError {
    fn from(error: Utf8Error) -> Self {
        Self::Encoding { position: error.valid_up_to() }
    }
}

/// Error of filling in a format. Nothing was appended.
///
/// # Examples
///
/// ```
/// use ancho_collections::{FixedString32, FixedStringError, FormatError};
///
/// let mut text = FixedString32::new();
/// let refused = text.append_format("{0} of {1}", &[&3]).unwrap_err();
/// let missing = FormatError::MissingArgument { position: 7, index: 1, given: 1 };
/// assert_eq!(refused, FixedStringError::Format(missing));
/// assert!(text.is_empty());
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FormatError {
    /// A brace is neither doubled nor part of `{0}` to `{9}`.
    BadFormat {
        /// Position of the byte in the format.
        position: usize,
    },
    /// The format names an argument that is missing.
    MissingArgument {
        /// Position of the byte in the format.
        position: usize,
        /// Index of the argument.
        index: usize,
        /// Number of arguments.
        given: usize,
    },
    /// There are more arguments than a format can name.
    TooManyArguments {
        /// Number of arguments.
        given: usize,
    },
    /// The `Display` of a value returned an error.
    Display,
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::BadFormat { position } => write!(
                f,
                "the brace at byte {position} of the format is unmatched; write {{0}} to {{9}} for an argument, and \
                 {{{{ or }}}} for a brace"
            ),
            Self::MissingArgument { position, index, given } => write!(
                f,
                "the format names {{{index}}} at byte {position}, and the number of arguments is {given}"
            ),
            Self::TooManyArguments { given } => {
                write!(f, "a format takes up to 10 arguments, and {given} were given")
            }
            Self::Display => f.write_str("the `Display` of a value returned an error"),
        }
    }
}

impl Error for FormatError {}

/// Error with the value that did not fit in a [`FixedList`](crate::FixedList).
///
/// The list was not changed.
///
/// # Examples
///
/// ```
/// use ancho_collections::FixedList32;
///
/// let mut scores = FixedList32::from([1, 2, 3, 4, 5, 6, 7]);
/// let full = scores.try_push(8).unwrap_err();
/// assert_eq!((full.value, full.capacity), (8, 7));
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct FixedListFull<V> {
    /// The value that was not added: an element, or a slice.
    pub value: V,
    /// Maximum number of elements.
    pub capacity: usize,
}

impl<V> fmt::Display for FixedListFull<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the list holds {} elements, and has no room for more; take a larger size",
            self.capacity
        )
    }
}

impl<V> fmt::Debug for FixedListFull<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<V> Error for FixedListFull<V> {}

debug_as_display!(FixedStringError, FormatError);
