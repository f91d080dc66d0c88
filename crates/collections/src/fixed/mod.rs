//! Strings and lists that live inside the value that owns them.
//!
//! Both consist only of bytes: the length in the first two, then the contents, then zeros. They own
//! no memory elsewhere, so they are `Copy`, and components can hold them. A change that does not
//! fit leaves them as they were.
//!
//! `raw` keeps the bytes valid, and has the only unsafe code. `string` and `list` are the public
//! types, `edit` changes strings, and `compare` and `convert` implement comparisons and conversions
//! for both.

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
