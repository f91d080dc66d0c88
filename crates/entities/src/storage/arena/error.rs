//! What an arena refuses.

use std::error::Error;
use std::fmt;

/// Why there was no memory for a chunk. Code A0056.
///
/// # Examples
///
/// ```
/// use ancho_entities::OutOfMemory;
///
/// let refused = OutOfMemory { requested: 16384, limit: Some(65536) };
/// assert!(refused.to_string().starts_with("A0056: there is no room for a chunk of 16384 bytes"));
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct OutOfMemory {
    /// How many bytes were asked for.
    pub requested: usize,
    /// The limit of the arena that would have been passed. `None` if it was the system that had no more.
    pub limit: Option<usize>,
}

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { requested, limit } = self;
        write!(f, "A0056: there is no room for a chunk of {requested} bytes: ")?;
        match limit {
            Some(limit) => write!(
                f,
                "the arena is limited to {limit} bytes in use; despawn entities, or give the world an \
                 arena with a higher limit"
            ),
            None => write!(f, "the system has no more memory; despawn entities"),
        }
    }
}

/// What `unwrap` shows is the sentence, with the code and the remedy.
impl fmt::Debug for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for OutOfMemory {}
