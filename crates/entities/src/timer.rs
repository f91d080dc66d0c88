//! Timers and stopwatches: plain values that count seconds.

use std::error::Error;
use std::fmt;

use crate::debug_as_display::debug_as_display;

/// A timer, which finishes after a number of seconds, once or repeatedly.
///
/// A timer is a plain value for fields of components and resources. It counts only when a system calls [`tick`](Self::tick), so it is
/// forked, hashed and rolled back with its owner. Seconds are `f64`, and yield the same bits on every machine. Loops over timers
/// vectorise.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, Query, Time, Timer, World};
///
/// #[derive(Component)]
/// struct Gun { reload: Timer, shots: u32 }
///
/// fn fire(mut guns: Query<&mut Gun>, time: Time) {
///     guns.for_each(|gun| gun.shots += gun.reload.tick(time.delta_f64()).times_finished());
/// }
///
/// let mut world = World::new("Simulation");
/// let gun = world.spawn(Gun { reload: Timer::repeating(0.25), shots: 0 });
/// world.add_system(fire);
/// world.update(0.625);
/// assert_eq!(world.get::<Gun>(gun).unwrap().shots, 2);
/// ```
#[derive(Clone, Copy, PartialEq)]
pub struct Timer {
    pub(crate) duration: f64,
    pub(crate) elapsed: f64,
    /// Bits 0 to 31 are the number of times that the timer has finished in the last tick. The others are the flags below.
    ///
    /// One number of 64 bits, as wide as the others: loops over timers vectorise only if all fields have the same width.
    pub(crate) state: u64,
}

const REPEATING: u64 = 1 << 32;
const PAUSED: u64 = 1 << 33;
/// Set when a timer that does not repeat has finished.
const DONE: u64 = 1 << 34;

/// Adding 2^52 to an integer below it puts its bits at the end of the sum.
const INTEGERS: f64 = 4_503_599_627_370_496.0;

/// The most times that a timer finishes in one tick, less one.
const MOST: f64 = 4_294_967_294.0;

impl Timer {
    /// Creates a timer that finishes once, after `seconds`.
    ///
    /// # Panics
    ///
    /// Panics with code A0251 if the number is negative, infinite or NaN.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::Timer;
    ///
    /// let mut fuse = Timer::once(1.0);
    /// assert!(!fuse.tick(0.75).is_finished());
    /// assert!(fuse.tick(0.75).just_finished());
    /// assert!(fuse.tick(0.75).is_finished() && !fuse.just_finished());
    /// ```
    #[must_use]
    #[track_caller]
    pub fn once(seconds: f64) -> Self {
        expect(Self::try_once(seconds))
    }

    /// Creates a timer that finishes once, after `seconds`.
    ///
    /// # Errors
    ///
    /// Returns an error if the number is negative, infinite or NaN.
    pub fn try_once(seconds: f64) -> Result<Self, TimerError> {
        Self::with(seconds, 0)
    }

    /// Creates a timer that finishes repeatedly, each time after `seconds`.
    ///
    /// Seconds beyond the moment at which it finishes count for the next one, so that it does not drift.
    ///
    /// # Panics
    ///
    /// Panics with code A0251 if the number is zero, negative, infinite or NaN.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::Timer;
    ///
    /// let mut beat = Timer::repeating(0.5);
    /// assert_eq!(beat.tick(1.75).times_finished(), 3);
    /// assert_eq!(beat.elapsed(), 0.25);
    /// assert_eq!(beat.tick(0.125).times_finished(), 0);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn repeating(seconds: f64) -> Self {
        expect(Self::try_repeating(seconds))
    }

    /// Creates a timer that finishes repeatedly, each time after `seconds`.
    ///
    /// # Errors
    ///
    /// Returns an error if the number is zero, negative, infinite or NaN.
    pub fn try_repeating(seconds: f64) -> Result<Self, TimerError> {
        Self::with(seconds, REPEATING)
    }

    fn with(duration: f64, state: u64) -> Result<Self, TimerError> {
        let mut timer = Self { duration: 0.0, elapsed: 0.0, state };
        timer.try_set_duration(duration)?;
        Ok(timer)
    }

    /// Counts `seconds`, and returns the timer for tests such as [`just_finished`](Self::just_finished).
    ///
    /// A paused timer does not count. A tick of 0 seconds never finishes a timer. A timer finishes at most 4,294,967,295 times in
    /// one tick; the seconds beyond are dropped.
    ///
    /// # Panics
    ///
    /// Panics with code A0251 if the number is negative, infinite or NaN.
    #[inline(always)]
    #[track_caller]
    pub fn tick(&mut self, seconds: f64) -> &Self {
        // First, so that a loop tests it once.
        check_step(seconds);
        let Self { duration, state, .. } = *self;
        let (repeats, done) = (state & REPEATING != 0, state & DONE != 0);
        let step = if state & PAUSED != 0 { 0.0 } else { seconds };
        let elapsed = self.elapsed + step;
        let (moves, reaches) = (step > 0.0, elapsed >= duration);

        let (times, rest) = divide(elapsed, duration);
        let times_once = if reaches & !done { 1.0 } else { 0.0 };
        let times = if repeats { times } else { times_once };
        let times = if moves { times } else { 0.0 };
        let rest = if moves { rest } else { elapsed };
        let held = if reaches { duration } else { elapsed };

        self.elapsed = if repeats { rest } else { held };
        let newly_done = if (times > 0.0) & !repeats { DONE } else { 0 };
        let count = (times + INTEGERS).to_bits() & u64::from(u32::MAX);
        self.state = (state & (REPEATING | PAUSED | DONE)) | newly_done | count;
        self
    }

    /// Returns whether the timer has finished. A repeating timer has finished if it did so in the last tick; any other timer until it
    /// is [reset](Self::reset).
    #[inline]
    #[must_use]
    #[doc(alias = "finished")]
    pub const fn is_finished(&self) -> bool {
        self.just_finished() || self.state & DONE != 0
    }

    /// Returns whether the timer has finished in the last tick.
    #[inline]
    #[must_use]
    pub const fn just_finished(&self) -> bool {
        self.times_finished() > 0
    }

    /// Returns the number of times that the timer has finished in the last tick.
    #[inline]
    #[must_use]
    #[doc(alias = "times_finished_this_tick")]
    pub const fn times_finished(&self) -> u32 {
        self.state as u32
    }

    /// Returns the seconds counted since the start, or since a repeating timer last finished. At most the duration.
    #[inline]
    #[must_use]
    #[doc(alias = "elapsed_secs")]
    pub const fn elapsed(&self) -> f64 {
        self.elapsed
    }

    /// Returns the seconds until the timer finishes.
    #[inline]
    #[must_use]
    pub fn remaining(&self) -> f64 {
        (self.duration - self.elapsed).max(0.0)
    }

    /// Returns the elapsed part of the duration, from 0 to 1. It is 1 for a duration of 0.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::Timer;
    ///
    /// let mut timer = Timer::once(4.0);
    /// assert_eq!(timer.tick(1.0).fraction(), 0.25);
    /// ```
    #[inline]
    #[must_use]
    pub fn fraction(&self) -> f64 {
        if self.elapsed < self.duration { self.elapsed / self.duration } else { 1.0 }
    }

    /// Returns the duration in seconds.
    #[inline]
    #[must_use]
    pub const fn duration(&self) -> f64 {
        self.duration
    }

    /// Sets the duration. The elapsed seconds stay: a timer that is beyond its new duration finishes in the next tick.
    ///
    /// # Panics
    ///
    /// Panics with code A0251 if the number is negative, infinite or NaN, or zero for a repeating timer.
    #[track_caller]
    pub fn set_duration(&mut self, seconds: f64) {
        expect(self.try_set_duration(seconds));
    }

    /// Sets the duration. The elapsed seconds stay: a timer that is beyond its new duration finishes in the next tick.
    ///
    /// # Errors
    ///
    /// Returns an error, and changes nothing, if the number is negative, infinite or NaN, or zero for a repeating timer.
    pub fn try_set_duration(&mut self, seconds: f64) -> Result<(), TimerError> {
        let valid = seconds.is_finite() && seconds >= 0.0;
        if self.is_repeating() && !(valid && seconds > 0.0) {
            return Err(TimerError::Period { seconds });
        }
        if !valid {
            return Err(TimerError::Duration { seconds });
        }
        self.duration = seconds;
        Ok(())
    }

    /// Sets the elapsed seconds, without finishing the timer. At most the duration.
    ///
    /// # Panics
    ///
    /// Panics with code A0251 if the number is negative, infinite or NaN.
    #[track_caller]
    pub fn set_elapsed(&mut self, seconds: f64) {
        check_step(seconds);
        self.elapsed = seconds.min(self.duration);
    }

    /// Returns whether the timer finishes repeatedly.
    #[inline]
    #[must_use]
    pub const fn is_repeating(&self) -> bool {
        self.state & REPEATING != 0
    }

    /// Starts the timer again, at 0 seconds. A paused timer stays paused.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::Timer;
    ///
    /// let mut timer = Timer::once(1.0);
    /// timer.tick(2.0);
    /// timer.reset();
    /// assert!(!timer.is_finished() && timer.remaining() == 1.0);
    /// ```
    pub const fn reset(&mut self) {
        self.elapsed = 0.0;
        self.state &= REPEATING | PAUSED;
    }

    /// Stops counting until [`resume`](Self::resume). Ticks then have no effect, except that [`just_finished`](Self::just_finished) returns false.
    pub const fn pause(&mut self) {
        self.state |= PAUSED;
    }

    /// Counts again after [`pause`](Self::pause).
    #[doc(alias = "unpause")]
    pub const fn resume(&mut self) {
        self.state &= !PAUSED;
    }

    /// Returns whether the timer is paused.
    #[inline]
    #[must_use]
    pub const fn is_paused(&self) -> bool {
        self.state & PAUSED != 0
    }
}

impl Default for Timer {
    /// Returns a timer that finishes in its first tick.
    fn default() -> Self {
        Self { duration: 0.0, elapsed: 0.0, state: 0 }
    }
}

impl fmt::Debug for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timer")
            .field("duration", &self.duration)
            .field("elapsed", &self.elapsed)
            .field("repeating", &self.is_repeating())
            .field("paused", &self.is_paused())
            .field("finished", &self.is_finished())
            .field("times_finished", &self.times_finished())
            .finish()
    }
}

/// Divides `elapsed` by `duration`. Returns how often the duration has passed, as an integer, and the rest.
///
/// `floor` would be a call at the lowest CPU level.
#[inline(always)]
fn divide(elapsed: f64, duration: f64) -> (f64, f64) {
    let ratio = elapsed / duration;
    let ratio = if ratio < MOST { ratio } else { MOST };
    let rounded = (ratio + INTEGERS) - INTEGERS;
    let whole = rounded - if rounded > ratio { 1.0 } else { 0.0 };
    let rest = elapsed - whole * duration;
    // The quotient may be rounded to an integer that it does not reach, or across one that it does not exceed.
    let (short, long) = (rest < 0.0, rest >= duration);
    let whole = whole + if long { 1.0 } else { 0.0 } - if short { 1.0 } else { 0.0 };
    let rest = rest - if long { duration } else { 0.0 } + if short { duration } else { 0.0 };
    (whole, if (rest >= 0.0) & (rest < duration) { rest } else { 0.0 })
}

/// A stopwatch, which counts the seconds since it was started.
///
/// A stopwatch is a plain value, as a [`Timer`] is, and counts when [`tick`](Self::tick) is called.
///
/// # Examples
///
/// ```
/// use ancho_entities::Stopwatch;
///
/// let mut lap = Stopwatch::new();
/// lap.tick(1.5);
/// lap.pause();
/// lap.tick(10.0);
/// assert_eq!(lap.elapsed(), 1.5);
/// ```
#[derive(Clone, Copy, Default, PartialEq)]
pub struct Stopwatch {
    pub(crate) elapsed: f64,
    /// Zero or [`PAUSED`].
    pub(crate) state: u64,
}

impl Stopwatch {
    /// Creates a stopwatch at 0 seconds.
    #[must_use]
    pub const fn new() -> Self {
        Self { elapsed: 0.0, state: 0 }
    }

    /// Counts `seconds`, unless it is paused.
    ///
    /// # Panics
    ///
    /// Panics with code A0251 if the number is negative, infinite or NaN.
    #[inline(always)]
    #[track_caller]
    pub fn tick(&mut self, seconds: f64) -> &Self {
        check_step(seconds);
        self.elapsed += if self.is_paused() { 0.0 } else { seconds };
        self
    }

    /// Returns the seconds counted since the start.
    #[inline]
    #[must_use]
    #[doc(alias = "elapsed_secs")]
    pub const fn elapsed(&self) -> f64 {
        self.elapsed
    }

    /// Sets the seconds.
    ///
    /// # Panics
    ///
    /// Panics with code A0251 if the number is negative, infinite or NaN.
    #[track_caller]
    pub fn set_elapsed(&mut self, seconds: f64) {
        check_step(seconds);
        self.elapsed = seconds;
    }

    /// Starts again, at 0 seconds. A paused stopwatch stays paused.
    pub const fn reset(&mut self) {
        self.elapsed = 0.0;
    }

    /// Stops counting until [`resume`](Self::resume).
    pub const fn pause(&mut self) {
        self.state = PAUSED;
    }

    /// Counts again after [`pause`](Self::pause).
    #[doc(alias = "unpause")]
    pub const fn resume(&mut self) {
        self.state = 0;
    }

    /// Returns whether the stopwatch is paused.
    #[inline]
    #[must_use]
    pub const fn is_paused(&self) -> bool {
        self.state & PAUSED != 0
    }
}

impl fmt::Debug for Stopwatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stopwatch")
            .field("elapsed", &self.elapsed)
            .field("paused", &self.is_paused())
            .finish()
    }
}

/// Error when setting the seconds of a [`Timer`] or a [`Stopwatch`]. Nothing has changed.
///
/// # Examples
///
/// ```
/// use ancho_entities::Timer;
///
/// assert_eq!(
///     Timer::try_repeating(0.0).unwrap_err().to_string(),
///     "A0251: a repeating timer cannot have a duration of 0 seconds; pass a finite number above zero",
/// );
/// ```
#[derive(Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum TimerError {
    /// A0251: the duration is negative, infinite or NaN.
    Duration {
        /// The rejected duration.
        seconds: f64,
    },
    /// A0251: the duration of a repeating timer is zero, negative, infinite or NaN.
    Period {
        /// The rejected duration.
        seconds: f64,
    },
    /// A0251: the seconds to count are negative, infinite or NaN.
    Step {
        /// The rejected number.
        seconds: f64,
    },
}

impl fmt::Display for TimerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Duration { seconds } => write!(
                f,
                "A0251: a timer cannot have a duration of {seconds} seconds; pass a finite number, zero or above"
            ),
            Self::Period { seconds } => write!(
                f,
                "A0251: a repeating timer cannot have a duration of {seconds} seconds; pass a finite number above zero"
            ),
            Self::Step { seconds } => write!(
                f,
                "A0251: a timer cannot count {seconds} seconds; pass a finite number, zero or above"
            ),
        }
    }
}

impl Error for TimerError {}

debug_as_display!(TimerError);

#[track_caller]
fn expect<T>(result: Result<T, TimerError>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("{error}"),
    }
}

/// Panics unless the seconds are finite, and zero or above.
#[inline(always)]
#[track_caller]
fn check_step(seconds: f64) {
    if !(0.0..f64::INFINITY).contains(&seconds) {
        refuse_step(seconds);
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn refuse_step(seconds: f64) -> ! {
    panic!("{}", TimerError::Step { seconds });
}
