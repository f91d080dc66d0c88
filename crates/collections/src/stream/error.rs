//! Errors of reading a stream.

use std::error::Error;
use std::fmt;

use crate::error::debug_as_display;

/// Errors of reading a stream. Code A0026.
///
/// # Examples
///
/// ```
/// use ancho_collections::{Stream, StreamError};
///
/// let stream = Stream::new(3);
/// let refused = stream.reader(7).unwrap_err();
/// assert_eq!(refused, StreamError::NoSuchLane { lane: 7, lanes: 3 });
/// assert!(refused.to_string().starts_with("A0026: lane 7 cannot be read, "));
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamError {
    /// The lane does not exist.
    NoSuchLane {
        /// The requested capacity.
        lane: usize,
        /// Number of lanes.
        lanes: usize,
    },
    /// All values of the lane were read.
    NothingLeft {
        /// The lane.
        lane: usize,
    },
    /// The next value has another size.
    OtherSize {
        /// The lane.
        lane: usize,
        /// The size of the value that was written, in bytes.
        written: usize,
        /// The size of the requested type, in bytes.
        asked: usize,
    },
    /// Not all values of the lane were read.
    NotAllRead {
        /// The lane.
        lane: usize,
        /// Number of values that were not read.
        left: usize,
    },
}

impl fmt::Display for StreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchLane { lane, lanes } => write!(
                f,
                "A0026: lane {lane} cannot be read, since the stream has {lanes} lanes; check `lanes()` \
                 first"
            ),
            Self::NothingLeft { lane } => write!(
                f,
                "A0026: there is no value left in lane {lane}; check `remaining()` before each read"
            ),
            Self::OtherSize { lane, written, asked } => write!(
                f,
                "A0026: the next value in lane {lane} has {written} bytes, but a type of {asked} bytes was requested; \
                 read the types in the order in which they were written"
            ),
            Self::NotAllRead { lane, left } => write!(
                f,
                "A0026: {left} values in lane {lane} were not read; read them, or drop the reader \
                 without `finish`"
            ),
        }
    }
}

impl Error for StreamError {}

debug_as_display!(StreamError);
