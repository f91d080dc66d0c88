//! Readers of lanes.

use std::fmt;

use zerocopy::FromBytes;

use super::StreamError;
use super::writer::SIZE_BYTES;

/// Reader of the values of a lane, in the order in which they were written.
///
/// # Examples
///
/// ```
/// let mut stream = ancho_collections::Stream::new(1);
/// let mut lane = stream.lane(0);
/// lane.write(2_u8);
/// lane.write([3.5_f32, 4.5]);
///
/// let mut reader = stream.reader(0)?;
/// assert_eq!(reader.remaining(), 2);
/// let count = reader.read::<u8>()?;
/// let pair = reader.read::<[f32; 2]>()?;
/// assert_eq!((count, pair), (2, [3.5, 4.5]));
/// reader.finish()?;
/// # Ok::<(), ancho_collections::StreamError>(())
/// ```
#[derive(Clone)]
pub struct LaneReader<'a> {
    lane: usize,
    /// The remaining values, each after its size.
    bytes: &'a [u8],
    remaining: usize,
}

impl<'a> LaneReader<'a> {
    pub(super) fn new(lane: usize, bytes: &'a [u8], remaining: usize) -> Self {
        Self { lane, bytes, remaining }
    }

    /// Returns the index of the lane.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_collections::Stream::new(5).reader(3).unwrap().lane(), 3);
    /// ```
    pub fn lane(&self) -> usize {
        self.lane
    }

    /// Returns the number of remaining values (Unity's `RemainingItemCount`).
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_collections::Stream::new(5).reader(3).unwrap().remaining(), 0);
    /// ```
    #[inline]
    pub fn remaining(&self) -> usize {
        self.remaining
    }

    /// Reads the next value.
    ///
    /// # Errors
    ///
    /// Returns an error with code A0026, and does not advance, if there is no value left, or if the
    /// next one has another size.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut stream = ancho_collections::Stream::new(1);
    /// stream.lane(0).write(5_u32);
    /// let mut reader = stream.reader(0).unwrap();
    /// assert!(reader.read::<u64>().is_err());
    /// assert_eq!(reader.read::<u32>(), Ok(5));
    /// ```
    #[inline]
    pub fn read<T: FromBytes>(&mut self) -> Result<T, StreamError> {
        let (value, rest) = self.next()?;
        self.bytes = rest;
        self.remaining -= 1;
        Ok(value)
    }

    /// Reads the next value without advancing.
    ///
    /// # Errors
    ///
    /// Returns an error with code A0026 if there is no value left, or if the next one has another size.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut stream = ancho_collections::Stream::new(1);
    /// stream.lane(0).write(5_u32);
    /// let reader = stream.reader(0).unwrap();
    /// assert_eq!(reader.peek::<u32>(), Ok(5));
    /// assert_eq!(reader.remaining(), 1);
    /// ```
    #[inline]
    pub fn peek<T: FromBytes>(&self) -> Result<T, StreamError> {
        self.next().map(|(value, _)| value)
    }

    /// Checks that all values were read (Unity's `EndForEachIndex`).
    ///
    /// Drop the reader instead to ignore the remaining values.
    ///
    /// # Errors
    ///
    /// Returns an error with code A0026 if there are values left.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut stream = ancho_collections::Stream::new(1);
    /// stream.lane(0).write(5_u32);
    /// assert!(stream.reader(0).unwrap().finish().is_err());
    /// ```
    pub fn finish(self) -> Result<(), StreamError> {
        match self.remaining {
            0 => Ok(()),
            left => Err(StreamError::NotAllRead { lane: self.lane, left }),
        }
    }

    /// Returns the next value, and the bytes after it.
    #[inline]
    fn next<T: FromBytes>(&self) -> Result<(T, &'a [u8]), StreamError> {
        let lane = self.lane;
        let Some((size, rest)) = self.bytes.split_first_chunk::<SIZE_BYTES>() else {
            return Err(StreamError::NothingLeft { lane });
        };
        let (written, asked) = (u32::from_ne_bytes(*size) as usize, size_of::<T>());
        if written != asked {
            return Err(StreamError::OtherSize { lane, written, asked });
        }
        let (value, rest) = rest.split_at(written);
        Ok((T::read_from_bytes(value).expect("it has the size of the type"), rest))
    }
}

impl fmt::Debug for LaneReader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LaneReader")
            .field("lane", &self.lane)
            .field("remaining", &self.remaining)
            .finish()
    }
}
