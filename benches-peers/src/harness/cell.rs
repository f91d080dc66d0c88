//! Inside the process of one cell: check the result, then take samples.

use std::fmt;
use std::hint::black_box;
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};

use super::Summary;

/// Operations run before timing; their results are compared across subjects.
pub(crate) const CHECKED_OPERATIONS: usize = 3;
/// Duration of a sample of [`Sampling::Repeat`], which repeats its operation.
const SAMPLE: Duration = Duration::from_millis(1);
/// Time during which the operation is repeated before the first sample, so that caches, pools and clocks settle.
const WARM_UP: Duration = Duration::from_millis(30);
/// Time for which a process takes samples.
const TOTAL: Duration = Duration::from_millis(300);
/// Minimum number of samples of a process.
const LEAST_SAMPLES: usize = 5;
/// Duration of a sample of [`Sampling::Burn`], of which a process takes one.
const BURN: Duration = Duration::from_secs(1);

/// The sampling of a case.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sampling {
    /// A sample repeats the operation for a millisecond. The figure is the time of one operation.
    Repeat,
    /// A sample is one operation on a state that was created for it. The figure is the time of the operation. Use it for
    /// operations that work only once per state, and take so long that reading the clock does not matter.
    Afresh,
    /// Like [Afresh](Sampling::Afresh), with large blocks of memory fresh from the kernel.
    AfreshCold,
    /// A sample is one operation after the process has slept this long. The figure is the time of the operation, including the
    /// cost of reading the clock (some 30 ns).
    AfterIdle(Duration),
    /// A sample is a second in which the operation runs once in every period. The figure is the CPU time, in nanoseconds, that
    /// all threads of the process used in that second.
    Burn { period: Duration },
    /// A sample is the growth of the process's memory when `count` things are created, in bytes per thing. A process takes one
    /// sample.
    Resident { count: usize },
}

impl Sampling {
    /// Returns the unit of the figures.
    pub(super) fn unit(self) -> Unit {
        match self {
            Sampling::Resident { .. } => Unit::Bytes,
            _ => Unit::Nanoseconds,
        }
    }
}

/// The unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Nanoseconds,
    Bytes,
}

/// The amount of work for a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    /// Only computes the result, to compare it across subjects.
    Check,
    /// Computes the result, then measures.
    Measure,
}

/// The task of this process, handed to a subject's function.
#[derive(Debug)]
pub(crate) struct Cell {
    sampling: Sampling,
    effort: Effort,
}

impl Cell {
    pub(super) fn new(sampling: Sampling, effort: Effort) -> Cell {
        Cell { sampling, effort }
    }

    /// Measures `operation` on `state`.
    ///
    /// `result` condenses the state after the operations so far. It is called once, after the same number of operations for every
    /// subject, and must return the same value for all of them. Neither creating nor dropping `state` is timed.
    ///
    /// # Panics
    ///
    /// Panics when the case is sampled [afresh](Sampling::Afresh), or measures memory.
    pub(crate) fn run<S>(
        self,
        mut state: S,
        mut operation: impl FnMut(&mut S),
        result: impl FnOnce(&mut S) -> u64,
    ) -> Reading {
        for _ in 0..CHECKED_OPERATIONS {
            perform(&mut operation, &mut state);
        }
        let result = result(&mut state);
        self.reading(result, |sampling| match sampling {
            Sampling::Repeat => repeat(|| operation(&mut state)),
            Sampling::Afresh | Sampling::AfreshCold => {
                panic!("a case that is sampled afresh is run with `run_afresh`")
            }
            Sampling::AfterIdle(idle) => after_idle(idle, || operation(&mut state)),
            Sampling::Burn { period } => vec![burn(period, || operation(&mut state))],
            Sampling::Resident { .. } => panic!("a case of memory is run with `run_resident`"),
        })
    }

    /// Measures `operation` on states that `make` returns, one for each operation.
    ///
    /// Neither creating nor dropping them is timed, and each is dropped before the next is created. `result` is called once, on a
    /// state after its operation.
    ///
    /// # Panics
    ///
    /// Panics when the case is sampled otherwise than [afresh](Sampling::Afresh).
    pub(crate) fn run_afresh<S>(
        self,
        mut make: impl FnMut() -> S,
        mut operation: impl FnMut(&mut S),
        result: impl FnOnce(&mut S) -> u64,
    ) -> Reading {
        for _ in 1..CHECKED_OPERATIONS {
            perform(&mut operation, &mut make());
        }
        let mut state = make();
        perform(&mut operation, &mut state);
        let result = result(&mut state);
        drop(state);
        self.reading(result, |sampling| match sampling {
            Sampling::Afresh | Sampling::AfreshCold => afresh(make, operation),
            other => panic!("a case that is sampled {other:?} is run with `run`"),
        })
    }

    /// Measures the growth of the process's memory when `make` creates a state.
    ///
    /// `result` is called once, on that state.
    ///
    /// # Panics
    ///
    /// Panics when the case does not measure [memory](Sampling::Resident).
    pub(crate) fn run_resident<S>(
        self,
        make: impl FnOnce() -> S,
        result: impl FnOnce(&mut S) -> u64,
    ) -> Reading {
        let before = resident();
        let mut state = make();
        let more = resident().saturating_sub(before);
        let result = result(&mut state);
        self.reading(result, |sampling| match sampling {
            Sampling::Resident { count } => vec![more as f64 / count as f64],
            other => panic!("a case that is sampled {other:?} is not run with `run_resident`"),
        })
    }

    /// Takes the samples, if requested.
    fn reading(self, result: u64, samples: impl FnOnce(Sampling) -> Vec<f64>) -> Reading {
        let figures = match self.effort {
            Effort::Check => None,
            Effort::Measure => Some(Summary::of(&samples(self.sampling))),
        };
        Reading { result, figures }
    }
}

/// The result of a process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Reading {
    pub(super) result: u64,
    /// The figures, or `None` if only the result was requested.
    pub(super) figures: Option<Summary>,
}

/// The line that a process prints for its parent.
impl fmt::Display for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.result)?;
        if let Some(Summary { min, median }) = self.figures {
            write!(f, " {min} {median}")?;
        }
        Ok(())
    }
}

impl Reading {
    /// Parses the line that a process printed.
    pub(super) fn parse(line: &str) -> Option<Reading> {
        let mut words = line.split_whitespace();
        let result = words.next()?.parse().ok()?;
        let figures = match (words.next(), words.next()) {
            (None, _) => None,
            (Some(min), Some(median)) => {
                Some(Summary { min: min.parse().ok()?, median: median.parse().ok()? })
            }
            (Some(_), None) => return None,
        };
        Some(Reading { result, figures })
    }
}

fn repeat(mut operation: impl FnMut()) -> Vec<f64> {
    let mut time = |repetitions: u64| {
        let start = Instant::now();
        for _ in 0..repetitions {
            operation();
        }
        start.elapsed()
    };

    // The fastest trial sets the number, so an interrupted trial has no effect.
    let mut repetitions = 1;
    let warm = Instant::now();
    while warm.elapsed() < WARM_UP {
        let trial = time(repetitions).max(Duration::from_nanos(1));
        let wanted = SAMPLE.as_secs_f64() / trial.as_secs_f64() * repetitions as f64;
        repetitions = repetitions.max((wanted.ceil() as u64).min(repetitions * 2));
    }

    let mut samples = Vec::new();
    let start = Instant::now();
    while samples.len() < LEAST_SAMPLES || start.elapsed() < TOTAL {
        samples.push(nanoseconds(time(repetitions)) / repetitions as f64);
    }
    samples
}

fn afresh<S>(mut make: impl FnMut() -> S, mut operation: impl FnMut(&mut S)) -> Vec<f64> {
    let mut time = || {
        let mut state = make();
        let start = Instant::now();
        perform(&mut operation, &mut state);
        nanoseconds(start.elapsed())
    };

    let warm = Instant::now();
    while warm.elapsed() < WARM_UP {
        time();
    }

    let mut samples = Vec::new();
    let start = Instant::now();
    while samples.len() < LEAST_SAMPLES || start.elapsed() < TOTAL {
        samples.push(time());
    }
    samples
}

/// Keeps one copy of the operation in the program, so that the timed code is the checked code, and is inlined alike.
#[inline(never)]
fn perform<S>(operation: &mut impl FnMut(&mut S), state: &mut S) {
    operation(state);
    // A state that is only dropped must still be made.
    black_box(state);
}

fn after_idle(idle: Duration, mut operation: impl FnMut()) -> Vec<f64> {
    let mut samples = Vec::new();
    let start = Instant::now();
    while samples.len() < LEAST_SAMPLES || start.elapsed() < TOTAL {
        std::thread::sleep(idle);
        let start = Instant::now();
        operation();
        samples.push(nanoseconds(start.elapsed()));
    }
    samples
}

/// Returns the CPU nanoseconds per second of wall time.
fn burn(period: Duration, mut operation: impl FnMut()) -> f64 {
    let used = cpu_time();
    let start = Instant::now();
    let mut next = start;
    while start.elapsed() < BURN {
        operation();
        next += period;
        // A missed period is not made up for.
        next = next.max(Instant::now());
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    nanoseconds(cpu_time() - used) / start.elapsed().as_secs_f64()
}

/// Returns the CPU time that all threads of this process have used so far.
fn cpu_time() -> Duration {
    clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).expect("a process has a CPU clock").into()
}

/// Returns the bytes of private memory of this process: heap, stacks and anonymous maps, without its code.
///
/// The kernel adds them up page by page on request. The counts of `/proc/self/statm` are faster to read, but lag behind.
fn resident() -> u64 {
    let rollup = std::fs::read_to_string("/proc/self/smaps_rollup").expect("Linux tells it");
    let kibibytes = rollup.lines().find_map(|line| {
        line.strip_prefix("Anonymous:")?.strip_suffix("kB")?.trim().parse::<u64>().ok()
    });
    kibibytes.expect("Linux tells it in kB") * 1024
}

fn nanoseconds(duration: Duration) -> f64 {
    duration.as_nanos() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn making_is_not_timed() {
        let nap = Duration::from_millis(2);
        let make = || {
            std::thread::sleep(nap);
            0
        };
        let cell = Cell::new(Sampling::Afresh, Effort::Measure);
        let reading = cell.run_afresh(make, |done| *done += 1, |done| *done);
        assert_eq!(reading.result, 1, "each operation has a state of its own");
        assert!(reading.figures.expect("it was measured").min < nanoseconds(nap));
    }

    #[test]
    fn memory_is_counted_when_it_is_touched() {
        const BYTES: usize = 1 << 26;
        let cell = Cell::new(Sampling::Resident { count: BYTES }, Effort::Measure);
        let reading = cell.run_resident(|| vec![7_u8; BYTES], |bytes| bytes[BYTES / 2].into());
        assert_eq!(reading.result, 7);
        let each = reading.figures.expect("it was measured").min;
        // Other tests allocate and free memory too.
        assert!((0.5..2.0).contains(&each), "{each} bytes for each byte");
    }

    #[test]
    fn readings_survive_the_pipe() {
        let checked = Reading { result: u64::MAX, figures: None };
        let timed = Reading { result: 7, figures: Some(Summary { min: 0.125, median: 1e9 / 3.0 }) };
        for reading in [checked, timed] {
            assert_eq!(Reading::parse(&reading.to_string()), Some(reading));
        }
        assert_eq!(Reading::parse(""), None);
        assert_eq!(Reading::parse("1 2"), None);
    }
}
