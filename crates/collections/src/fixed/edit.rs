//! Methods that change a string of fixed size.

use std::fmt::{self, Display, Write};
use std::ops::RangeBounds;

use super::error::{FixedStringError, FormatError};
use super::string::FixedString;
use crate::error::bounds;

impl<const N: usize> FixedString<N> {
    /// Appends a code point.
    ///
    /// # Errors
    ///
    /// Returns [`Overflow`](FixedStringError::Overflow) if there is no room for it.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut text = ancho_collections::FixedString::<8>::from_static("ano");
    /// assert_eq!(text.push('ñ'), Ok(()));
    /// assert!(text.push('s').is_err());
    /// assert_eq!(text, "anoñ");
    /// ```
    pub fn push(&mut self, c: char) -> Result<(), FixedStringError> {
        self.push_str(c.encode_utf8(&mut [0; 4]))
    }

    /// Appends a whole text, or nothing.
    ///
    /// # Errors
    ///
    /// Returns [`Overflow`](FixedStringError::Overflow) if there is no room for it.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut text = ancho_collections::FixedString::<8>::from_static("año");
    /// assert!(text.push_str(" 1").is_err());
    /// assert_eq!(text, "año");
    /// ```
    pub fn push_str(&mut self, text: &str) -> Result<(), FixedStringError> {
        self.raw.push_str(text)
    }

    /// Appends a value formatted with `{}`, or nothing.
    ///
    /// Takes numbers, and with `format_args!` anything that the standard library can format. The
    /// `write!` macro works as well, but keeps the part written before the capacity was exceeded.
    ///
    /// # Errors
    ///
    /// Returns [`Overflow`](FixedStringError::Overflow) if there is no room for it, and
    /// [`Format`](FixedStringError::Format) if its `Display` returns an error.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut text = ancho_collections::FixedString32::from_static("hp ");
    /// text.append(75)?;
    /// text.append(format_args!(" ({:.1}%)", 37.5))?;
    /// assert_eq!(text, "hp 75 (37.5%)");
    /// # Ok::<(), ancho_collections::FixedStringError>(())
    /// ```
    pub fn append(&mut self, value: impl Display) -> Result<(), FixedStringError> {
        let mut appender = Appender::new(self);
        write_value(&mut appender, &value)?;
        appender.finish()
    }

    /// Appends a format with the arguments in place of `{0}` to `{9}`, or nothing.
    ///
    /// For formats that are not literals, such as those of a translation. `{{` and `}}` stand for
    /// braces. An argument may be named twice, or not at all.
    ///
    /// # Errors
    ///
    /// Returns [`Format`](FixedStringError::Format) if the format is invalid, with the reason and the position. Returns
    /// [`Overflow`](FixedStringError::Overflow) if there is no room for the result.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{FixedString32, FixedStringError, FormatError};
    ///
    /// let mut text = FixedString32::new();
    /// text.append_format("{1} of {0} {{coins}}", &[&10, &3])?;
    /// assert_eq!(text, "3 of 10 {coins}");
    /// let refused = text.append_format("no {coins}", &[]).unwrap_err();
    /// assert_eq!(refused, FormatError::BadFormat { position: 3 }.into());
    /// # Ok::<(), FixedStringError>(())
    /// ```
    pub fn append_format(
        &mut self,
        format: &str,
        arguments: &[&dyn Display],
    ) -> Result<(), FixedStringError> {
        let mut appender = Appender::new(self);
        write_format(&mut appender, format, arguments)?;
        appender.finish()
    }

    /// Inserts a code point before the byte at `index`.
    ///
    /// # Panics
    ///
    /// Panics with code A0031 if `index` is inside a code point, or beyond the end.
    ///
    /// # Errors
    ///
    /// Returns [`Overflow`](FixedStringError::Overflow) if there is no room for it.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut text = ancho_collections::FixedString32::from_static("ao");
    /// text.insert(1, 'ñ')?;
    /// assert_eq!(text, "año");
    /// # Ok::<(), ancho_collections::FixedStringError>(())
    /// ```
    #[track_caller]
    pub fn insert(&mut self, index: usize, c: char) -> Result<(), FixedStringError> {
        self.insert_str(index, c.encode_utf8(&mut [0; 4]))
    }

    /// Inserts a whole text before the byte at `index`, or nothing.
    ///
    /// # Panics
    ///
    /// Panics with code A0031 if `index` is inside a code point, or beyond the end.
    ///
    /// # Errors
    ///
    /// Returns [`Overflow`](FixedStringError::Overflow) if there is no room for it.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut text = ancho_collections::FixedString32::from_static("Ana");
    /// text.insert_str(0, "Lady ")?;
    /// assert_eq!(text, "Lady Ana");
    /// # Ok::<(), ancho_collections::FixedStringError>(())
    /// ```
    #[track_caller]
    pub fn insert_str(&mut self, index: usize, text: &str) -> Result<(), FixedStringError> {
        self.replace_range(index..index, text)
    }

    /// Replaces a range of bytes by a whole text, or changes nothing.
    ///
    /// # Panics
    ///
    /// Panics with code A0031 if the range begins or ends inside a code point, or beyond the end, or if it ends
    /// before it begins.
    ///
    /// # Errors
    ///
    /// Returns [`Overflow`](FixedStringError::Overflow) if there is no room for the result.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut text = ancho_collections::FixedString32::from_static("3 of 10");
    /// text.replace_range(..1, "nine")?;
    /// assert_eq!(text, "nine of 10");
    /// # Ok::<(), ancho_collections::FixedStringError>(())
    /// ```
    #[track_caller]
    pub fn replace_range(
        &mut self,
        range: impl RangeBounds<usize>,
        with: &str,
    ) -> Result<(), FixedStringError> {
        let (start, end) = bounds(range, self.len());
        self.check_boundary(start);
        self.check_boundary(end);
        if start > end {
            bad_range(start, end, N);
        }
        self.raw.replace_range(start..end, with)
    }

    /// Replaces every occurrence of a text by another one, or none if the result does not fit.
    ///
    /// Finds the same occurrences as `str::replace`, which returns a `String` instead.
    ///
    /// # Errors
    ///
    /// Returns [`Overflow`](FixedStringError::Overflow) if there is no room for the result.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut text = ancho_collections::FixedString32::from_static("1, 2, 3");
    /// text.replace_all(", ", "-")?;
    /// assert_eq!(text, "1-2-3");
    /// # Ok::<(), ancho_collections::FixedStringError>(())
    /// ```
    pub fn replace_all(&mut self, from: &str, to: &str) -> Result<(), FixedStringError> {
        let mut replaced = Self::new();
        let mut appender = Appender::new(&mut replaced);
        let mut end = 0;
        for (at, found) in self.match_indices(from) {
            appender.add(&self[end..at]);
            appender.add(to);
            end = at + found.len();
        }
        appender.add(&self[end..]);
        appender.finish()?;
        *self = replaced;
        Ok(())
    }

    /// Removes the code point that begins at byte `index`, and returns it.
    ///
    /// # Panics
    ///
    /// Panics with code A0031 if no code point begins there.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut text = ancho_collections::FixedString32::from_static("año");
    /// assert_eq!(text.remove(1), 'ñ');
    /// assert_eq!(text, "ao");
    /// ```
    #[track_caller]
    pub fn remove(&mut self, index: usize) -> char {
        let Some(c) = self.get(index..).and_then(|rest| rest.chars().next()) else {
            bad_position(self, index, N);
        };
        self.cut(index, index + c.len_utf8());
        c
    }

    /// Removes the last code point, and returns it.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut text = ancho_collections::FixedString32::from_static("sí");
    /// assert_eq!((text.pop(), text.pop(), text.pop()), (Some('í'), Some('s'), None));
    /// ```
    pub fn pop(&mut self) -> Option<char> {
        let last = self.chars().next_back()?;
        let len = self.len();
        self.cut(len - last.len_utf8(), len);
        Some(last)
    }

    /// Removes all text after byte `len`, if any.
    ///
    /// # Panics
    ///
    /// Panics with code A0031 if `len` is inside a code point.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut text = ancho_collections::FixedString32::from_static("Ana Paz");
    /// text.truncate(3);
    /// assert_eq!(text, "Ana");
    /// ```
    #[track_caller]
    pub fn truncate(&mut self, len: usize) {
        let end = self.len();
        if len < end {
            self.check_boundary(len);
            self.cut(len, end);
        }
    }

    /// Removes all text.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut text = ancho_collections::FixedString32::from_static("Ana");
    /// text.clear();
    /// assert!(text.is_empty());
    /// ```
    pub fn clear(&mut self) {
        self.truncate(0);
    }

    /// Removes a range whose ends are code point boundaries.
    fn cut(&mut self, start: usize, end: usize) {
        let cut = self.raw.replace_range(start..end, "");
        debug_assert_eq!(cut, Ok(()), "a shorter text fits");
    }

    #[track_caller]
    fn check_boundary(&self, position: usize) {
        if !self.is_char_boundary(position) {
            bad_position(self, position, N);
        }
    }
}

/// Each piece of text is written completely or not at all. A `write!` of several pieces may keep the first ones.
impl<const N: usize> Write for FixedString<N> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push_str(text).map_err(|_| fmt::Error)
    }
}

/// A guard that appends pieces of text to a string, and keeps them only if all of them fit.
///
/// Pieces that are not kept are removed on drop, even if a `Display` panics.
struct Appender<'a, const N: usize> {
    string: &'a mut FixedString<N>,
    /// Length to which the string is truncated on drop.
    kept: usize,
    /// Length with all pieces, which may exceed the capacity.
    needed: usize,
}

impl<'a, const N: usize> Appender<'a, N> {
    fn new(string: &'a mut FixedString<N>) -> Self {
        let len = string.len();
        Self { string, kept: len, needed: len }
    }

    fn add(&mut self, text: &str) {
        self.needed = self.needed.saturating_add(text.len());
        // After the first piece that does not fit, pieces are only counted, for the error.
        if self.needed <= FixedString::<N>::CAPACITY {
            let pushed = self.string.push_str(text);
            debug_assert_eq!(pushed, Ok(()), "the length is what was counted");
        }
    }

    fn finish(mut self) -> Result<(), FixedStringError> {
        let (capacity, needed) = (FixedString::<N>::CAPACITY, self.needed);
        if needed > capacity {
            return Err(FixedStringError::Overflow { capacity, needed });
        }
        self.kept = needed;
        Ok(())
    }
}

impl<const N: usize> Drop for Appender<'_, N> {
    fn drop(&mut self) {
        self.string.truncate(self.kept);
    }
}

impl<const N: usize> Write for Appender<'_, N> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.add(text);
        Ok(())
    }
}

#[cold]
#[track_caller]
fn bad_position(text: &str, position: usize, size: usize) -> ! {
    let len = text.len();
    let begin = text.floor_char_boundary(position);
    match text[begin..].chars().next() {
        Some(c) => panic!(
            "A0031: byte {position} of a FixedString<{size}> is inside {c:?}, which begins at byte {begin}; \
             take positions from `find` or `char_indices`"
        ),
        None => panic!(
            "A0031: byte {position} of a FixedString<{size}> is beyond the end of its text, which has {len} bytes; \
             take positions from `find` or `char_indices`"
        ),
    }
}

#[cold]
#[track_caller]
fn bad_range(start: usize, end: usize, size: usize) -> ! {
    panic!(
        "A0031: a range of a FixedString<{size}> begins at byte {start} and ends before it, at byte {end}; \
         pass the smaller position first"
    )
}

/// Maximum number of arguments of a format: `{0}` to `{9}`.
const MAX_ARGUMENTS: usize = 10;

/// Writes a format, with the arguments in place of `{0}` to `{9}`, and one brace for two.
///
/// If an error occurs after a part was written, the caller removes that part. So the format is read only once.
fn write_format(
    out: &mut dyn Write,
    format: &str,
    arguments: &[&dyn Display],
) -> Result<(), FormatError> {
    let given = arguments.len();
    if given > MAX_ARGUMENTS {
        return Err(FormatError::TooManyArguments { given });
    }
    let mut rest = format;
    while let Some(at) = rest.find(['{', '}']) {
        let position = format.len() - rest.len() + at;
        write_text(out, &rest[..at])?;
        let taken = match rest.as_bytes()[at..] {
            [b'{', b'{', ..] | [b'}', b'}', ..] => {
                write_text(out, &rest[at..=at])?;
                2
            }
            [b'{', digit @ b'0'..=b'9', b'}', ..] => {
                let index = usize::from(digit - b'0');
                let Some(argument) = arguments.get(index) else {
                    return Err(FormatError::MissingArgument { position, index, given });
                };
                write_value(out, argument)?;
                3
            }
            _ => return Err(FormatError::BadFormat { position }),
        };
        rest = &rest[at + taken..];
    }
    write_text(out, rest)
}

/// Writes a value as `{}` would.
fn write_value(out: &mut dyn Write, value: &dyn Display) -> Result<(), FormatError> {
    write!(out, "{value}").map_err(|_| FormatError::Display)
}

fn write_text(out: &mut dyn Write, text: &str) -> Result<(), FormatError> {
    out.write_str(text).map_err(|_| FormatError::Display)
}
