//! Strings and lists that live inside the value that owns them.
//!
//! Both consist only of bytes: the length in the first two, then the contents, then zeros. They own
//! no memory elsewhere, so they are `Copy`, and components can hold them. A change that does not
//! fit leaves them as they were.
//!
//! `raw` keeps the bytes valid, and has the only unsafe code. `string` and `list` are the public
//! types, and `edit` changes strings. Strings and lists are equal, ordered and hashed by their
//! contents, like `str` and `[T]`; the sizes of the two sides may differ.

mod edit;
mod error;
mod list;
mod raw;
mod string;

pub use error::{FixedListFull, FixedStringError, FormatError};
pub(crate) use list::swap_range_to_end;
pub use list::{
    FixedList, FixedList32, FixedList64, FixedList128, FixedList512, FixedList4096,
    FixedListIntoIter,
};
pub use string::{
    FixedString, FixedString32, FixedString64, FixedString128, FixedString512, FixedString4096,
};
