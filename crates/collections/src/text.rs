//! Growable text.
#![expect(unsafe_code, reason = "treats bytes as text without a second check")]

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::convert::Infallible;
use std::error::Error;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::str::{self, FromStr};

use crate::allocator::Allocator;
use crate::error::{AllocationError, debug_as_display, expect_memory};
use crate::list::List;
use crate::native::{Growable, Native, labelled_as};

/// Growable text: a `String` with an allocator, for jobs.
///
/// The text is UTF-8, and can be read as a `str`. Jobs access a [`NativeText`] as this type.
///
/// A reader borrows the text, so it cannot be changed meanwhile:
///
/// ```compile_fail,E0502
/// let mut text = ancho_collections::Text::from("one");
/// let word = text.as_str();
/// text.push_str(" two");
/// assert_eq!(word, "one");
/// ```
///
/// # Examples
///
/// ```
/// use std::fmt::Write;
///
/// let mut text = ancho_collections::Text::from("score: ");
/// write!(text, "{}", 42)?;
/// assert_eq!(text, "score: 42");
/// # Ok::<(), std::fmt::Error>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
#[doc(alias = "UnsafeText")]
pub struct Text {
    /// Always UTF-8.
    bytes: List<u8>,
}

/// A [`Text`] that jobs share.
///
/// # Examples
///
/// ```
/// use ancho_collections::NativeText;
/// use ancho_jobs::{JobPool, JobScheduler};
///
/// let jobs = JobScheduler::new(&JobPool::new());
/// let mut greeting = NativeText::from("Hello");
/// jobs.complete(jobs.schedule(&[], greeting.write(), |greeting| greeting.push_str(", Ada"))?);
/// assert_eq!(*greeting.get()?, "Hello, Ada");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type NativeText = Native<Text>;

labelled_as!(Text, NativeText);

impl Text {
    /// Creates an empty text, without allocating.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(ancho_collections::Text::new().is_empty());
    /// ```
    pub const fn new() -> Self {
        Self { bytes: List::new() }
    }

    /// Creates an empty text that uses the allocator.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{Allocator, Text};
    /// assert_eq!(Text::new_in(&Allocator::PERSISTENT).capacity(), 0);
    /// ```
    pub fn new_in(allocator: &Allocator) -> Self {
        Self { bytes: List::new_in(allocator) }
    }

    /// Creates an empty text with room for `capacity` bytes.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_collections::Text::with_capacity(100).capacity(), 100);
    /// ```
    #[track_caller]
    pub fn with_capacity(capacity: usize) -> Self {
        Self { bytes: List::with_capacity(capacity) }
    }

    /// Creates an empty text with room for `capacity` bytes, in the allocator's memory.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{Allocator, Text};
    /// assert_eq!(Text::with_capacity_in(100, &Allocator::PERSISTENT).capacity(), 100);
    /// ```
    #[track_caller]
    pub fn with_capacity_in(capacity: usize, allocator: &Allocator) -> Self {
        Self { bytes: List::with_capacity_in(capacity, allocator) }
    }

    /// Creates a text of UTF-8 bytes.
    ///
    /// # Errors
    ///
    /// Returns an error with code A0027 if the bytes are not UTF-8.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_collections::Text::from_utf8(b"Ada").unwrap(), "Ada");
    /// ```
    #[track_caller]
    pub fn from_utf8(bytes: &[u8]) -> Result<Self, InvalidUtf8> {
        let mut text = Self::new();
        text.push_utf8(bytes)?;
        Ok(text)
    }

    /// Returns the text as a `str`.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_collections::Text::from("Ada").as_str(), "Ada");
    /// ```
    #[inline]
    pub fn as_str(&self) -> &str {
        // SAFETY: every method keeps the bytes UTF-8: it adds those of a `str`, and cuts only
        // between characters.
        unsafe { str::from_utf8_unchecked(&self.bytes) }
    }

    /// Returns the number of bytes that fit without reallocation, including the existing bytes.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_collections::Text::from("Ada").capacity(), 64);
    /// ```
    pub fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// Returns the allocator that the memory is from.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_collections::Text::new().allocator().name(), "Persistent");
    /// ```
    pub fn allocator(&self) -> &Allocator {
        self.bytes.allocator()
    }

    /// Reserves room for `additional` more bytes.
    ///
    /// # Errors
    ///
    /// Returns an error, and changes nothing, if there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut text = ancho_collections::Text::from("Ada");
    /// assert!(text.try_reserve(100).is_ok());
    /// assert!(text.try_reserve(usize::MAX).is_err());
    /// ```
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), AllocationError> {
        self.bytes.try_reserve(additional)
    }

    /// Reserves room for `additional` more bytes.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut text = ancho_collections::Text::new();
    /// text.reserve(100);
    /// assert!(text.capacity() >= 100);
    /// ```
    #[track_caller]
    pub fn reserve(&mut self, additional: usize) {
        self.bytes.reserve(additional);
    }

    /// Frees the capacity that the bytes do not need (Unity's `TrimExcess`).
    ///
    /// The bytes are moved to smaller memory. If the allocator has no memory for that, nothing
    /// changes.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut text = ancho_collections::Text::from("Ada");
    /// text.reserve(100);
    /// text.shrink_to_fit();
    /// assert_eq!(text.capacity(), 3);
    /// ```
    #[doc(alias = "TrimExcess")]
    #[doc(alias = "trim")]
    pub fn shrink_to_fit(&mut self) {
        self.bytes.shrink_to_fit();
    }

    /// Adds a character at the end.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if the text has to grow and there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut text = ancho_collections::Text::from("caf");
    /// text.push('é');
    /// assert_eq!(text, "café");
    /// ```
    #[track_caller]
    pub fn push(&mut self, character: char) {
        self.push_str(character.encode_utf8(&mut [0; 4]));
    }

    /// Adds a string at the end.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if the text has to grow and there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut text = ancho_collections::Text::from("Ada");
    /// text.push_str(" Lovelace");
    /// assert_eq!(text, "Ada Lovelace");
    /// ```
    #[track_caller]
    pub fn push_str(&mut self, string: &str) {
        expect_memory(self.try_push_str(string));
    }

    /// Adds a string at the end, if there is memory for it.
    ///
    /// # Errors
    ///
    /// Returns an error, and changes nothing, if the text has to grow and there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut text = ancho_collections::Text::new();
    /// assert!(text.try_push_str("Ada").is_ok());
    /// ```
    pub fn try_push_str(&mut self, string: &str) -> Result<(), AllocationError> {
        self.bytes.try_reserve(string.len())?;
        self.bytes.extend_from_slice(string.as_bytes());
        Ok(())
    }

    /// Adds UTF-8 bytes at the end.
    ///
    /// # Errors
    ///
    /// Returns an error with code A0027, and changes nothing, if the bytes are not UTF-8.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if the text has to grow and there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut text = ancho_collections::Text::from("Ada");
    /// assert!(text.push_utf8(b" caf\xE9").is_err());
    /// assert!(text.push_utf8(b" Lovelace").is_ok());
    /// assert_eq!(text, "Ada Lovelace");
    /// ```
    #[track_caller]
    pub fn push_utf8(&mut self, bytes: &[u8]) -> Result<(), InvalidUtf8> {
        match str::from_utf8(bytes) {
            Ok(string) => {
                self.push_str(string);
                Ok(())
            }
            Err(error) => Err(InvalidUtf8 { valid_up_to: error.valid_up_to() }),
        }
    }

    /// Inserts a string before the byte at `index`.
    ///
    /// # Panics
    ///
    /// Panics with code A0014 if the index is beyond the end or inside of a character, and with code A0017
    /// if there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut text = ancho_collections::Text::from("Ada Lovelace");
    /// text.insert_str(4, "King-");
    /// assert_eq!(text, "Ada King-Lovelace");
    /// ```
    #[track_caller]
    pub fn insert_str(&mut self, index: usize, string: &str) {
        self.check_boundary(index);
        self.bytes.insert_slice(index, string.as_bytes());
    }

    /// Removes the character that begins at the byte at `index`, and returns it.
    ///
    /// # Panics
    ///
    /// Panics with code A0014 if no character begins there.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut text = ancho_collections::Text::from("café!");
    /// assert_eq!(text.remove(3), 'é');
    /// assert_eq!(text, "caf!");
    /// ```
    #[track_caller]
    pub fn remove(&mut self, index: usize) -> char {
        self.check_boundary(index);
        let Some(character) = self[index..].chars().next() else {
            no_character(index, self.len());
        };
        self.bytes.remove_range(index..index + character.len_utf8());
        character
    }

    /// Removes the last character, if there is one, and returns it.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut text = ancho_collections::Text::from("café");
    /// assert_eq!(text.pop(), Some('é'));
    /// assert_eq!(text, "caf");
    /// ```
    pub fn pop(&mut self) -> Option<char> {
        let character = self.chars().next_back()?;
        self.bytes.truncate(self.len() - character.len_utf8());
        Some(character)
    }

    /// Shortens the text to `length` bytes, if it has more.
    ///
    /// # Panics
    ///
    /// Panics with code A0014 if that is inside of a character.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut text = ancho_collections::Text::from("Ada Lovelace");
    /// text.truncate(3);
    /// assert_eq!(text, "Ada");
    /// ```
    #[track_caller]
    pub fn truncate(&mut self, length: usize) {
        if length < self.len() {
            self.check_boundary(length);
            self.bytes.truncate(length);
        }
    }

    /// Removes all characters, and keeps the memory.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut text = ancho_collections::Text::from("Ada");
    /// text.clear();
    /// assert!(text.is_empty() && text.capacity() >= 3);
    /// ```
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    #[track_caller]
    fn check_boundary(&self, index: usize) {
        if !self.is_char_boundary(index) {
            no_character(index, self.len());
        }
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn no_character(index: usize, length: usize) -> ! {
    panic!(
        "A0014: no character begins at byte {index} of a text of {length} bytes; take an index from \
         `char_indices` or `find`"
    );
}

impl Deref for Text {
    type Target = str;

    #[inline]
    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl Growable for Text {
    fn new_in(allocator: &Allocator) -> Self {
        Self::new_in(allocator)
    }

    fn with_capacity_in(capacity: usize, allocator: &Allocator) -> Self {
        Self::with_capacity_in(capacity, allocator)
    }
}

impl From<&str> for Native<Text> {
    #[track_caller]
    fn from(string: &str) -> Self {
        Self::of(Text::from(string))
    }
}

impl AsRef<str> for Text {
    fn as_ref(&self) -> &str {
        self
    }
}

impl Borrow<str> for Text {
    fn borrow(&self) -> &str {
        self
    }
}

impl From<&str> for Text {
    #[track_caller]
    fn from(string: &str) -> Self {
        let mut text = Self::new();
        text.push_str(string);
        text
    }
}

impl FromStr for Text {
    type Err = Infallible;

    #[track_caller]
    fn from_str(string: &str) -> Result<Self, Infallible> {
        Ok(Self::from(string))
    }
}

impl FromIterator<char> for Text {
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = char>>(characters: I) -> Self {
        let mut text = Self::new();
        text.extend(characters);
        text
    }
}

impl Extend<char> for Text {
    #[track_caller]
    fn extend<I: IntoIterator<Item = char>>(&mut self, characters: I) {
        // Not `for_each`: a closure would hide the caller's location from the panic.
        for character in characters {
            self.push(character);
        }
    }
}

/// Writing fails, and changes nothing, if there is no memory.
impl fmt::Write for Text {
    fn write_str(&mut self, string: &str) -> fmt::Result {
        self.try_push_str(string).map_err(|_| fmt::Error)
    }
}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl PartialOrd for Text {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Text {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other)
    }
}

impl Hash for Text {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

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
    /// Number of leading bytes that are valid UTF-8.
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
