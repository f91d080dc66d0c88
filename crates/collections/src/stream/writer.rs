//! Writers of lanes, for one thread or for the batches of a parallel job.

use std::fmt;
use std::ops::Range;

use ancho_jobs::{BatchInfo, ConcurrentWrite, ContainerLabel};
use zerocopy::{Immutable, IntoBytes};

use super::{Span, Stream};
use crate::lanes::{Lane, ParallelWriter};
use crate::list::List;

/// Size in bytes of the length prefix of each value.
pub(super) const SIZE_BYTES: usize = size_of::<u32>();

/// Writer of the values of one lane. Dropping it ends the lane.
///
/// # Examples
///
/// ```
/// let mut stream = ancho_collections::Stream::new(1);
/// let mut lane = stream.lane(0);
/// lane.write(5_u32);
/// lane.write(2.5_f64);
/// assert_eq!(lane.count(), 2);
/// ```
pub struct LaneWriter<'a> {
    bytes: &'a mut List<u8>,
    span: &'a mut Span,
}

impl<'a> LaneWriter<'a> {
    /// Begins a lane, whose values are appended to the bytes.
    pub(super) fn begin(bytes: &'a mut List<u8>, span: &'a mut Span) -> Self {
        *span = Span { start: bytes.len(), length: 0, count: 0, begun: true };
        Self { bytes, span }
    }

    /// Writes a value, after the earlier values of the lane.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if there is no memory.
    ///
    /// # Examples
    ///
    /// A type of your own is written if it is declared as plain bytes:
    ///
    /// ```
    /// use zerocopy::{FromBytes, Immutable, IntoBytes};
    ///
    /// #[derive(IntoBytes, Immutable, FromBytes, PartialEq, Debug)]
    /// #[repr(C)]
    /// struct Hit { entity: u32, damage: f32 }
    ///
    /// let mut stream = ancho_collections::Stream::new(1);
    /// stream.lane(0).write(Hit { entity: 7, damage: 2.5 });
    /// assert_eq!(stream.reader(0).unwrap().read(), Ok(Hit { entity: 7, damage: 2.5 }));
    /// ```
    #[inline]
    #[track_caller]
    pub fn write<T: IntoBytes + Immutable>(&mut self, value: T) {
        const { assert!(size_of::<T>() <= u32::MAX as usize, "a value has less than 4 GiB") };
        let value = value.as_bytes();
        self.bytes.reserve(SIZE_BYTES + value.len());
        self.bytes.extend_from_slice(&(value.len() as u32).to_ne_bytes());
        self.bytes.extend_from_slice(value);
        self.span.length += SIZE_BYTES + value.len();
        self.span.count += 1;
    }

    /// Returns the number of values written to the lane.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_collections::Stream::new(1).lane(0).count(), 0);
    /// ```
    pub fn count(&self) -> usize {
        self.span.count
    }
}

impl fmt::Debug for LaneWriter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LaneWriter").field("count", &self.span.count).finish()
    }
}

/// Parallel writer of a stream: a batch writes the lanes of its own indices, each once.
///
/// A single job has one too, for all lanes.
///
/// # Examples
///
/// ```
/// use ancho_collections::NativeStream;
/// use ancho_jobs::{JobPool, JobScheduler};
///
/// let jobs = JobScheduler::new(&JobPool::new());
/// let mut stream = NativeStream::new(100);
/// let job = jobs.schedule_parallel(&[], stream.writer(), 100, 16, |mut stream, range| {
///     for i in range {
///         stream.lane(i).write(i * i);
///     }
/// })?;
/// jobs.complete(job);
/// assert_eq!(stream.get()?.reader(99)?.read::<usize>()?, 9801);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct StreamWriter<'v> {
    stream: &'v Stream,
    batch: ParallelWriter<'v, BatchLanes>,
}

/// Lanes written by one batch.
#[derive(Default)]
pub(super) struct BatchLanes {
    /// The lane of the first span.
    first: usize,
    /// Positions of the batch's lanes in its bytes.
    spans: Vec<Span>,
    bytes: List<u8>,
    begun: usize,
}

impl StreamWriter<'_> {
    /// Returns the number of lanes of the stream: the count of a deferred job.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::NativeStream;
    /// use ancho_jobs::{JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let mut stream = NativeStream::new(0);
    /// let size = jobs.schedule(&[], stream.write(), |stream| stream.clear(50))?;
    /// let count = |stream: ancho_collections::StreamWriter<'_>| stream.lanes();
    /// let fill = jobs.named("Deferred").schedule_deferred(&[size], stream.writer(), count, 16, |mut stream, range| {
    ///     range.for_each(|i| stream.lane(i).write(i));
    /// })?;
    /// jobs.complete(fill);
    /// assert_eq!(stream.get()?.count(), 50);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn lanes(&self) -> usize {
        self.stream.lanes()
    }

    /// Begins the lane of one of the batch's indices (Unity's `BeginForEachIndex`). Dropping the
    /// writer ends the lane.
    ///
    /// # Panics
    ///
    /// Panics with code A0025 if it is the lane of another batch, or if it was begun before.
    ///
    /// # Examples
    ///
    /// See [`StreamWriter`].
    #[inline]
    #[track_caller]
    pub fn lane(&mut self, index: usize) -> LaneWriter<'_> {
        let BatchLanes { first, spans, bytes, begun } = &mut *self.batch;
        let own = *first..*first + spans.len();
        let Some(span) = index.checked_sub(*first).and_then(|offset| spans.get_mut(offset)) else {
            lane_of_another(index, own);
        };
        if span.begun || self.stream.spans[index].begun {
            begun_before(index);
        }
        *begun += 1;
        LaneWriter::begin(bytes, span)
    }
}

impl fmt::Debug for StreamWriter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamWriter").field("lanes", &self.lanes()).finish_non_exhaustive()
    }
}

impl BatchLanes {
    /// Discards the written lanes.
    pub(super) fn forget(&mut self) {
        self.bytes.clear();
        self.begun = 0;
    }
}

impl Lane for BatchLanes {
    fn is_empty(&self) -> bool {
        self.begun == 0
    }
}

impl ConcurrentWrite for Stream {
    type Writer<'v> = StreamWriter<'v>;
    type Item<'b> = LaneWriter<'b>;

    #[inline]
    fn writer(&self, batch: &BatchInfo) -> StreamWriter<'_> {
        // A single job has an empty range.
        let single = batch.range.is_empty();
        let range = if single { 0..self.lanes() } else { batch.range.clone() };
        if range.end > self.lanes() {
            beyond_lanes(range.end, self.lanes());
        }
        let mut batch = self.batches.open(batch.index);
        batch.first = range.start;
        batch.spans.clear();
        batch.spans.resize(range.len(), Span::default());
        StreamWriter { stream: self, batch }
    }

    #[inline]
    fn item<'b>(writer: &'b mut StreamWriter<'_>, offset: usize) -> LaneWriter<'b> {
        writer.lane(writer.batch.first + offset)
    }

    fn settle(&mut self, container: ContainerLabel) {
        let Self { spans, bytes, batches } = self;
        let (mut twice, mut refused) = (None, None);
        batches.settle(|batch| {
            let moved = bytes.len();
            if let Err(error) = bytes.try_reserve(batch.bytes.len()) {
                // Its lanes stay unwritten; those of other batches may fit.
                refused = Some(error);
                batch.forget();
                return;
            }
            bytes.extend_from_slice(&batch.bytes);
            for (lane, span) in (batch.first..).zip(&batch.spans).filter(|(_, span)| span.begun) {
                if spans[lane].begun {
                    // Possible only if writers with overlapping ranges were made by hand.
                    twice = Some(lane);
                } else {
                    spans[lane] = Span { start: span.start + moved, ..*span };
                }
            }
            batch.forget();
        });
        if let Some(error) = refused {
            panic!(
                "{error}; the lanes of {container} that did not fit are empty, and can be begun again"
            );
        }
        if let Some(lane) = twice {
            panic!(
                "A0025: two writers began lane {lane} of {container}, which keeps the first; begin each \
                 lane once until the stream is cleared"
            );
        }
    }
}

#[cold]
#[inline(never)]
#[track_caller]
pub(super) fn no_such_lane(lane: usize, lanes: usize) -> ! {
    panic!(
        "A0025: lane {lane} cannot be begun, since the stream has {lanes} lanes; clear it with more of \
         them first"
    );
}

#[cold]
#[inline(never)]
#[track_caller]
pub(super) fn begun_before(lane: usize) -> ! {
    panic!(
        "A0025: lane {lane} was begun before; begin each lane once until the stream is cleared, and \
         write all of its values then"
    );
}

#[cold]
#[inline(never)]
#[track_caller]
fn lane_of_another(lane: usize, own: Range<usize>) -> ! {
    let Range { start, end } = own;
    panic!(
        "A0025: lane {lane} is not among the lanes {start}..{end} that this batch may write; begin the \
         lanes of its own indices"
    );
}

#[cold]
#[inline(never)]
#[track_caller]
fn beyond_lanes(indices: usize, lanes: usize) -> ! {
    panic!(
        "A0025: the job has at least {indices} indices, and the stream it writes has {lanes} lanes; \
         clear the stream with as many lanes as there are indices first"
    );
}
