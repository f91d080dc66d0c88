//! Profiling: the thread and the times of each job.

use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crossbeam_utils::CachePadded;

use crate::primitive::{AtomicU32, Ordering};

/// True if the platform has a clock. Without one, [`Instant::now`] panics, and no event is recorded.
pub const HAS_CLOCK: bool = !cfg!(all(target_family = "wasm", target_os = "unknown"));

/// The number of events in the ring of a thread. The oldest events are overwritten.
const RING: usize = 16 * 1024;

/// One thread's work on one job, from start to end.
///
/// A parallel job has one event for each thread that took part.
///
/// # Examples
///
/// ```
/// use ancho_jobs::{JobPool, JobScheduler};
///
/// let pool = JobPool::new();
/// let jobs = JobScheduler::new(&pool);
/// pool.set_profiling(true);
/// jobs.complete(jobs.named("Steer").schedule(&[], (), |()| {}).unwrap());
/// let event = pool.take_events()[0];
/// assert_eq!(event.job, "Steer");
/// assert!(event.start <= event.end && event.thread < jobs.thread_count());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct JobEvent {
    /// The job's name.
    pub job: &'static str,
    /// The sequence number of the job, which increases with every job of a scheduler. Zero for a job that was run immediately.
    pub sequence: u64,
    /// The index of the thread: zero for an owner of a scheduler, one and up for the workers of the pool.
    pub thread: usize,
    /// The time at which the thread began to work on the job, relative to the creation of the pool.
    pub start: Duration,
    /// The time at which the thread stopped working on the job, relative to the creation of the pool.
    pub end: Duration,
}

/// The rings of all threads, and the flag that enables recording.
pub(crate) struct Profiler {
    enabled: AtomicU32,
    /// The time at which the pool was created.
    epoch: Option<Instant>,
    rings: Box<[CachePadded<Mutex<Ring>>]>,
}

#[derive(Default)]
struct Ring {
    events: Vec<JobEvent>,
    /// The index of the next event to overwrite, once the ring is full.
    next: usize,
}

impl Profiler {
    pub(crate) fn new(threads: usize) -> Self {
        Self {
            enabled: AtomicU32::new(0),
            epoch: HAS_CLOCK.then(Instant::now),
            rings: (0..threads).map(|_| CachePadded::default()).collect(),
        }
    }

    pub(crate) fn enable(&self, enabled: bool) {
        // `Relaxed` is enough: whether a job that is already running is recorded depends on timing anyway.
        self.enabled.store((enabled && HAS_CLOCK).into(), Ordering::Relaxed);
    }

    /// Returns the current time if profiling is enabled.
    #[inline]
    pub(crate) fn start(&self) -> Option<Instant> {
        (self.enabled.load(Ordering::Relaxed) != 0).then(Instant::now)
    }

    /// Records an event that began at `start`.
    #[cold]
    pub(crate) fn record(&self, thread: usize, job: &'static str, sequence: u64, start: Instant) {
        let epoch = self.epoch.unwrap_or(start);
        let event = JobEvent {
            job,
            sequence,
            thread,
            start: start.saturating_duration_since(epoch),
            end: epoch.elapsed(),
        };
        let mut ring = self.rings[thread].lock().unwrap_or_else(PoisonError::into_inner);
        let next = ring.next;
        if ring.events.len() < RING {
            ring.events.push(event);
        } else {
            ring.events[next] = event;
            ring.next = (next + 1) % RING;
        }
    }

    /// Takes all events, ordered by start time.
    pub(crate) fn take(&self) -> Vec<JobEvent> {
        let mut events = Vec::new();
        for ring in &self.rings {
            let mut ring = ring.lock().unwrap_or_else(PoisonError::into_inner);
            events.append(&mut ring.events);
            ring.next = 0;
        }
        events.sort_by_key(|event| (event.start, event.thread, event.sequence));
        events
    }
}

/// Writes events as a trace for `chrome://tracing` and Perfetto.
///
/// # Errors
///
/// Returns the writer's error.
///
/// # Examples
///
/// ```
/// use ancho_jobs::{JobPool, JobScheduler, write_chrome_trace};
///
/// let pool = JobPool::new();
/// pool.set_profiling(true);
/// let jobs = JobScheduler::new(&pool);
/// jobs.complete(jobs.named("Steer").schedule(&[], (), |()| {}).unwrap());
///
/// let mut trace = Vec::new();
/// write_chrome_trace(&pool.take_events(), &mut trace).unwrap();
/// assert!(String::from_utf8(trace).unwrap().contains("\"name\":\"Steer\""));
/// ```
pub fn write_chrome_trace(events: &[JobEvent], mut writer: impl Write) -> io::Result<()> {
    let threads = events.iter().map(|event| event.thread + 1).max().unwrap_or(0);
    write!(writer, "{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
    let mut separator = "\n";
    for thread in 0..threads {
        let name = if thread == 0 { "owner".to_owned() } else { format!("worker {thread}") };
        write!(
            writer,
            "{separator}{{\"ph\":\"M\",\"pid\":1,\"tid\":{thread},\"name\":\"thread_name\",\
             \"args\":{{\"name\":\"{name}\"}}}}"
        )?;
        separator = ",\n";
    }
    for event in events {
        write!(
            writer,
            "{separator}{{\"ph\":\"X\",\"pid\":1,\"tid\":{},\"name\":\"{}\",\"ts\":{},\"dur\":{},\
             \"args\":{{\"sequence\":{}}}}}",
            event.thread,
            escaped(event.job),
            microseconds(event.start),
            microseconds(event.end.saturating_sub(event.start)),
            event.sequence,
        )?;
        separator = ",\n";
    }
    writer.write_all(b"\n]}\n")
}

fn microseconds(time: Duration) -> String {
    let nanoseconds = time.as_nanos();
    format!("{}.{:03}", nanoseconds / 1000, nanoseconds % 1000)
}

/// Escapes the text for use inside a JSON string.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            control if control < ' ' => out.push_str(&format!("\\u{:04x}", u32::from(control))),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_ring_keeps_the_newest_events() {
        let profiler = Profiler::new(1);
        for sequence in 0..RING as u64 + 10 {
            profiler.record(0, "job", sequence, Instant::now());
        }
        let mut kept: Vec<u64> = profiler.take().iter().map(|event| event.sequence).collect();
        kept.sort_unstable();
        assert!(kept.into_iter().eq(10..RING as u64 + 10));
        assert!(profiler.take().is_empty());
    }

    #[test]
    fn names_are_escaped() {
        assert_eq!(escaped("a\"b\\c\n"), "a\\\"b\\\\c\\u000a");
    }
}
