//! Values of any type, in lanes.
//!
//! # Misuse
//!
//! Unity's `NativeStream` throws an exception in each of these cases. Here the lifetime of a
//! [`LaneWriter`] is the time between `BeginForEachIndex` and `EndForEachIndex`, so most of them do
//! not compile.
//!
//! |  # | Misuse | What happens |
//! |---:|---|---|
//! |  1 | writing without beginning a lane | does not compile: a stream has no `write` |
//! |  2 | ending a lane that was not begun | does not compile: there is nothing to call |
//! |  3 | not ending a lane | cannot happen: dropping the writer ends the lane |
//! |  4 | writing after the end of a lane | does not compile: the writer is gone |
//! |  5 | beginning a lane before the last one has ended | does not compile: a writer borrows its stream |
//! |  6 | copying a writer by value | does not compile: a writer is moved |
//! |  7 | passing a copy of a writer to a function | does not compile: a writer is moved |
//! |  8 | keeping a lane's writer after its turn in a job | does not compile: it is lent for one call |
//! |  9 | beginning a lane twice | panics with A0025 |
//! | 10 | a second job that writes a lane of the first one | the job panics with A0025 |
//! | 11 | writing a lane that does not exist | panics with A0025 |
//! | 12 | a job over more indices than there are lanes | the job panics with A0025 |
//! | 13 | a batch that writes the lane of another one | the job panics with A0025 |
//! | 14 | two jobs that write at a time, or one that reads meanwhile | scheduling returns A0001 |
//! | 15 | reading while a job that writes was not completed | `get` returns A0003 |
//! | 16 | reading without beginning a lane | does not compile: a stream has no `read` |
//! | 17 | reading a lane that does not exist | returns A0026 |
//! | 18 | reading more values than there are | returns A0026, and the reader stays where it is |
//! | 19 | reading a value of another size | returns A0026, and the reader stays where it is |
//! | 20 | ending a lane of which values were not read | [`LaneReader::finish`] returns A0026 |
//!
//! Using a stream that was disposed of (21), or was never made (22), does not compile. Values that have
//! pointers or padding in them (23) are not `IntoBytes`, and do not compile.
//!
//! Rows 1 and 16 do not compile:
//!
//! ```compile_fail,E0599
//! let mut stream = ancho_collections::Stream::new(1);
//! stream.write(5_u32);
//! ```
//!
//! ```compile_fail,E0599
//! let stream = ancho_collections::Stream::new(1);
//! stream.read::<u32>();
//! ```
//!
//! Nor do rows 2 and 4:
//!
//! ```compile_fail,E0382
//! let mut stream = ancho_collections::Stream::new(1);
//! let mut lane = stream.lane(0);
//! drop(lane);
//! lane.write(5_u32);
//! ```
//!
//! Row 5:
//!
//! ```compile_fail,E0499
//! let mut stream = ancho_collections::Stream::new(2);
//! let mut first = stream.lane(0);
//! let mut second = stream.lane(1);
//! first.write(5_u32);
//! ```
//!
//! Rows 6 and 7:
//!
//! ```compile_fail,E0382
//! use ancho_collections::{LaneWriter, Stream};
//!
//! fn write_five(mut lane: LaneWriter<'_>) {
//!     lane.write(5_u32);
//! }
//!
//! let mut stream = Stream::new(1);
//! let mut lane = stream.lane(0);
//! write_five(lane);
//! lane.write(6_u32);
//! ```
//!
//! Row 8:
//!
//! ```compile_fail
//! # use ancho_jobs::{JobPool, JobScheduler};
//! # let jobs = JobScheduler::new(&JobPool::new());
//! let mut stream = ancho_collections::NativeStream::new(2);
//! let kept = std::sync::Mutex::new(None);
//! let job = jobs.schedule_for_each(&[], stream.writer(), 2, 1, move |lane, _| {
//!     *kept.lock().unwrap() = Some(lane);
//! });
//! ```
//!
//! Reading a stream while a lane is written:
//!
//! ```compile_fail,E0502
//! let mut stream = ancho_collections::Stream::new(2);
//! let mut lane = stream.lane(0);
//! let reader = stream.reader(0);
//! lane.write(5_u32);
//! ```
//!
//! Row 21:
//!
//! ```compile_fail,E0382
//! let stream = ancho_collections::NativeStream::new(2);
//! stream.dispose();
//! stream.get();
//! ```
//!
//! Row 22:
//!
//! ```compile_fail,E0381
//! let stream: ancho_collections::NativeStream;
//! stream.get();
//! ```
//!
//! Row 23:
//!
//! ```compile_fail,E0277
//! ancho_collections::Stream::new(1).lane(0).write("text");
//! ```

mod reader;
mod writer;

pub use reader::LaneReader;
pub use writer::{LaneWriter, StreamWriter};

use std::error::Error;
use std::fmt;

use zerocopy::FromBytes;

use crate::allocator::Allocator;
use crate::error::{AllocationError, debug_as_display};
use crate::lanes::Lanes;
use crate::list::List;
use crate::native::{Native, labelled_as};
use writer::BatchLanes;

/// Values of any type, in lanes that are written in parallel and read back in order.
///
/// For results of varying number and type: each index of a parallel job writes a lane of its own
/// with any number of values, and the lanes are read by their index afterwards. Jobs access a
/// [`NativeStream`] as this type. If all values have one type and their index does not matter, a
/// [`List`] is simpler.
///
/// A lane is written once, from beginning to end, until the stream is [cleared](Self::clear).
///
/// Values are kept as their bytes, each after its size. Reading a value of another size is an
/// error, and reading another type of the same size is defined, by the type's [`FromBytes`].
///
/// # Determinism
///
/// A lane returns the values written to it, for any number of threads.
///
/// # Examples
///
/// ```
/// let mut stream = ancho_collections::Stream::new(2);
/// let mut lane = stream.lane(1);
/// lane.write(5_u32);
/// lane.write([1.5_f32, 2.5]);
/// assert_eq!(stream.count(), 2);
///
/// let mut reader = stream.reader(1)?;
/// assert_eq!(reader.read::<u32>()?, 5);
/// assert_eq!(reader.read::<[f32; 2]>()?, [1.5, 2.5]);
/// reader.finish()?;
/// # Ok::<(), ancho_collections::StreamError>(())
/// ```
pub struct Stream {
    /// Position of the values of each lane.
    spans: List<Span>,
    /// The values, each after its size, contiguous for each lane.
    bytes: List<u8>,
    /// Values written by the batches of a parallel job, until it is done.
    batches: Lanes<BatchLanes>,
}

/// A [`Stream`] that jobs share.
///
/// # Examples
///
/// Each index of a parallel job writes its own lane, without waiting:
///
/// ```
/// use ancho_collections::NativeStream;
/// use ancho_jobs::{JobPool, JobScheduler};
///
/// let jobs = JobScheduler::new(&JobPool::new());
/// let mut divisors = NativeStream::new(100);
/// let job = jobs.schedule_for_each(&[], divisors.writer(), 100, 16, |mut lane, i| {
///     (1..=i).filter(|divisor| i % divisor == 0).for_each(|divisor| lane.write(divisor as u32));
/// })?;
/// jobs.complete(job);
///
/// let mut reader = divisors.get()?.reader(9)?;
/// assert_eq!(reader.remaining(), 3);
/// assert_eq!([reader.read::<u32>()?, reader.read()?, reader.read()?], [1, 3, 9]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type NativeStream = Native<Stream>;

labelled_as!(Stream, NativeStream);

/// Position of the values of a lane.
#[derive(Clone, Copy, Default)]
struct Span {
    /// Position of the lane's first value, in bytes.
    start: usize,
    /// Length of the lane's values and their sizes, in bytes.
    length: usize,
    /// Number of values.
    count: usize,
    begun: bool,
}

impl Stream {
    /// Creates a stream with `lanes` lanes.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_collections::Stream::new(100).lanes(), 100);
    /// ```
    #[track_caller]
    pub fn new(lanes: usize) -> Self {
        Self::new_in(lanes, &Allocator::PERSISTENT)
    }

    /// Creates a stream with `lanes` lanes, in the allocator's memory.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{Allocator, Stream};
    /// assert_eq!(Stream::new_in(100, &Allocator::PERSISTENT).lanes(), 100);
    /// ```
    #[track_caller]
    pub fn new_in(lanes: usize, allocator: &Allocator) -> Self {
        let mut spans = List::with_capacity_in(lanes, allocator);
        spans.resize(lanes, Span::default());
        Self { spans, bytes: List::new_in(allocator), batches: Lanes::new() }
    }

    /// Returns the number of lanes (Unity's `ForEachCount`).
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_collections::Stream::new(100).lanes(), 100);
    /// ```
    pub fn lanes(&self) -> usize {
        self.spans.len()
    }

    /// Returns the number of values in all lanes.
    ///
    /// # Complexity
    ///
    /// Linear in the number of lanes.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut stream = ancho_collections::Stream::new(2);
    /// stream.lane(0).write(5_u32);
    /// stream.lane(1).write(6_u8);
    /// assert_eq!(stream.count(), 2);
    /// ```
    pub fn count(&self) -> usize {
        self.spans.iter().map(|span| span.count).sum()
    }

    /// Returns whether all lanes are empty.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(ancho_collections::Stream::new(100).is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// Returns the allocator that the memory is from.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_collections::Stream::new(1).allocator().name(), "Persistent");
    /// ```
    pub fn allocator(&self) -> &Allocator {
        self.bytes.allocator()
    }

    /// Returns the number of bytes that fit without reallocation, including the existing bytes. A value takes its own bytes, and
    /// four more for its size.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut stream = ancho_collections::Stream::new(1);
    /// stream.lane(0).write([0_u8; 100]);
    /// assert!(stream.capacity() >= 104);
    /// ```
    pub fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// Reserves room for `additional` more bytes. A value takes its own bytes, and four more for its size.
    ///
    /// # Errors
    ///
    /// Returns an error, and changes nothing, if there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut stream = ancho_collections::Stream::new(1);
    /// stream.try_reserve(1000).unwrap();
    /// assert!(stream.capacity() >= 1000);
    /// assert!(stream.try_reserve(usize::MAX).is_err());
    /// ```
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), AllocationError> {
        self.bytes.try_reserve(additional)
    }

    /// Reserves room for `additional` more bytes. A value takes its own bytes, and four more for its size.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut stream = ancho_collections::Stream::new(1);
    /// stream.reserve(1000);
    /// assert!(stream.capacity() >= 1000);
    /// ```
    #[track_caller]
    pub fn reserve(&mut self, additional: usize) {
        self.bytes.reserve(additional);
    }

    /// Frees the capacity that the lanes and values do not need (Unity's `TrimExcess`). The memory
    /// of parallel writers is freed too.
    ///
    /// The values are moved to smaller memory. If the allocator has no memory for that, nothing
    /// changes.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut stream = ancho_collections::Stream::new(1);
    /// stream.reserve(1000);
    /// stream.lane(0).write(5_u32);
    /// stream.shrink_to_fit();
    /// assert_eq!(stream.capacity(), 8);
    /// ```
    #[doc(alias = "TrimExcess")]
    #[doc(alias = "trim")]
    pub fn shrink_to_fit(&mut self) {
        self.spans.shrink_to_fit();
        self.bytes.shrink_to_fit();
        self.batches.shrink_to_fit();
    }

    /// Removes all values, and sets the number of lanes, which can be written again. Keeps the
    /// memory.
    ///
    /// Called in a job that computes the number, this is Unity's `ScheduleConstruct`.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if there is no memory for the lanes.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut stream = ancho_collections::Stream::new(1);
    /// stream.lane(0).write(5_u32);
    /// stream.clear(3);
    /// assert_eq!((stream.count(), stream.lanes()), (0, 3));
    /// stream.lane(0).write(6_u32);
    /// ```
    #[track_caller]
    pub fn clear(&mut self, lanes: usize) {
        self.batches.settle(BatchLanes::forget);
        self.bytes.clear();
        self.spans.clear();
        self.spans.resize(lanes, Span::default());
    }

    /// Begins a lane (Unity's `BeginForEachIndex`). Dropping its writer ends the lane
    /// (`EndForEachIndex`).
    ///
    /// For the lanes of a parallel job, see [`NativeStream`].
    ///
    /// # Panics
    ///
    /// Panics with code A0025 if the lane does not exist, or if it was begun before.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut stream = ancho_collections::Stream::new(1);
    /// stream.lane(0).write(5_u32);
    /// assert_eq!(stream.reader(0).unwrap().read(), Ok(5_u32));
    /// ```
    #[track_caller]
    pub fn lane(&mut self, index: usize) -> LaneWriter<'_> {
        let lanes = self.lanes();
        let Some(span) = self.spans.get_mut(index) else { writer::no_such_lane(index, lanes) };
        if span.begun {
            writer::begun_before(index);
        }
        LaneWriter::begin(&mut self.bytes, span)
    }

    /// Returns a reader of a lane.
    ///
    /// A lane can be read any number of times, and by any number of readers at once.
    ///
    /// # Errors
    ///
    /// Returns an error with code A0026 if the lane does not exist.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut stream = ancho_collections::Stream::new(1);
    /// stream.lane(0).write(5_u32);
    /// assert_eq!(stream.reader(0).unwrap().read(), Ok(5_u32));
    /// assert!(stream.reader(1).is_err());
    /// ```
    pub fn reader(&self, lane: usize) -> Result<LaneReader<'_>, StreamError> {
        match self.spans.get(lane) {
            Some(&span) => Ok(LaneReader::new(lane, self.bytes_of(span), span.count)),
            None => Err(StreamError::NoSuchLane { lane, lanes: self.lanes() }),
        }
    }

    /// Copies all values to a list, lane by lane, in memory of the same allocator (Unity's
    /// `ToNativeArray`).
    ///
    /// # Errors
    ///
    /// Returns an error with code A0026 if there is a value of another size.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut stream = ancho_collections::Stream::new(2);
    /// stream.lane(1).write(6_u32);
    /// stream.lane(0).write(5_u32);
    /// assert_eq!(stream.to_list::<u32>().unwrap()[..], [5, 6]);
    /// assert!(stream.to_list::<u64>().is_err());
    /// ```
    #[track_caller]
    pub fn to_list<T: FromBytes>(&self) -> Result<List<T>, StreamError> {
        let mut list = List::with_capacity_in(self.count(), self.allocator());
        for lane in 0..self.lanes() {
            let mut reader = self.reader(lane)?;
            while reader.remaining() > 0 {
                list.push(reader.read()?);
            }
        }
        Ok(list)
    }

    fn bytes_of(&self, span: Span) -> &[u8] {
        &self.bytes[span.start..][..span.length]
    }
}

impl Clone for Stream {
    /// Copies the values, into memory of the same allocator.
    fn clone(&self) -> Self {
        Self { spans: self.spans.clone(), bytes: self.bytes.clone(), batches: Lanes::new() }
    }
}

/// Two streams are equal if they have the same number of lanes, and the same bytes in each.
impl PartialEq for Stream {
    fn eq(&self, other: &Self) -> bool {
        let (ours, theirs) = (self.spans.iter(), other.spans.iter());
        self.lanes() == other.lanes()
            && ours.zip(theirs).all(|(&our, &their)| self.bytes_of(our) == other.bytes_of(their))
    }
}

impl Eq for Stream {}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.count();
        f.debug_struct("Stream").field("lanes", &self.lanes()).field("count", &count).finish()
    }
}

impl Native<Stream> {
    /// Creates a stream with `lanes` lanes. See [`Stream::new`].
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_collections::NativeStream::new(100).get().unwrap().lanes(), 100);
    /// ```
    #[track_caller]
    pub fn new(lanes: usize) -> Self {
        Self::of(Stream::new(lanes))
    }

    /// Creates a stream with `lanes` lanes, in the allocator's memory. See [`Stream::new_in`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{Allocator, NativeStream};
    /// let stream = NativeStream::new_in(100, &Allocator::PERSISTENT);
    /// assert_eq!(stream.get().unwrap().lanes(), 100);
    /// ```
    #[track_caller]
    pub fn new_in(lanes: usize, allocator: &Allocator) -> Self {
        Self::of_in(Stream::new_in(lanes, allocator), allocator)
    }
}

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
        /// The requested lane.
        lane: usize,
        /// Number of lanes.
        lanes: usize,
    },
    /// All values of the lane were read.
    NothingLeft {
        /// The index of the lane.
        lane: usize,
    },
    /// The next value has another size.
    OtherSize {
        /// The index of the lane.
        lane: usize,
        /// The size of the value that was written, in bytes.
        written: usize,
        /// The size of the requested type, in bytes.
        asked: usize,
    },
    /// Not all values of the lane were read.
    NotAllRead {
        /// The index of the lane.
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
