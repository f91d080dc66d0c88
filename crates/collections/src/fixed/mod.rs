//! Strings and lists that live inside the value that owns them.
//!
//! Both are a number of bytes and nothing else: the length in the first two, the content behind it,
//! zeros to the end. They own no memory elsewhere, so they are `Copy`, and components can hold them.
//! What changes them either fits, or leaves them as they were.
//!
//! `raw` keeps the bytes in order, and has the only unsafe code. `string` and `list` are the types
//! that users see, `edit` is what changes a string; `compare` and `convert` are what both are compared
//! with and made from.

mod compare;
mod convert;
mod edit;
mod error;
pub(crate) mod format;
mod into_iter;
mod list;
mod raw;
mod string;

pub use error::{FixedListFull, FixedStringError, FormatError};
pub use into_iter::FixedListIntoIter;
pub(crate) use list::swap_range_to_end;
pub use list::{FixedList, FixedList32, FixedList64, FixedList128, FixedList512, FixedList4096};
pub use string::{
    FixedString, FixedString32, FixedString64, FixedString128, FixedString512, FixedString4096,
};
