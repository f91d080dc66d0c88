//! The time of a world.

use std::error::Error;
use std::fmt;

use crate::debug_as_display::debug_as_display;

/// The time of a world, as its systems read it.
///
/// The program sets the time, and the world never measures it. A world that is updated with the same steps has the same times on
/// every machine. This is Unity's `TimeData`.
///
/// # Examples
///
/// ```
/// use ancho_entities::Time;
///
/// let time = Time::new(2.5, 0.125);
/// assert_eq!(time.elapsed(), 2.5);
/// assert_eq!(time.delta(), 0.125);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[doc(alias = "TimeData")]
#[doc(alias = "DeltaTime")]
pub struct Time {
    elapsed: f64,
    delta: f64,
    unscaled_delta: f64,
    frame: u64,
}

impl Time {
    /// Creates a time `elapsed` seconds after the start, in an update of `delta` seconds.
    pub const fn new(elapsed: f64, delta: f64) -> Self {
        Self { elapsed, delta, unscaled_delta: delta, frame: 0 }
    }

    /// Returns the same time with another frame number.
    #[must_use = "the time itself does not change"]
    pub const fn at_frame(self, frame: u64) -> Self {
        Self { frame, ..self }
    }

    /// Returns the duration of this update in seconds. Multiply speeds by it.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Query, Time, World};
    ///
    /// #[derive(Component)]
    /// struct Height(f32);
    ///
    /// fn fall(mut all: Query<&mut Height>, time: Time) {
    ///     all.for_each(|height| height.0 -= 2.0 * time.delta());
    /// }
    ///
    /// let mut world = World::new("Simulation");
    /// let stone = world.spawn(Height(10.0));
    /// world.add_system(fall);
    /// world.update(0.25);
    /// assert_eq!(world.get::<Height>(stone).unwrap().0, 9.5);
    /// ```
    #[inline]
    pub const fn delta(&self) -> f32 {
        self.delta as f32
    }

    /// Returns [`delta`](Self::delta) in full precision.
    #[inline]
    pub const fn delta_f64(&self) -> f64 {
        self.delta
    }

    /// Returns the seconds that were passed to [`update`](crate::World::update), regardless of the
    /// [time scale](crate::World::set_time_scale), of [pauses](crate::World::pause) and of the
    /// [maximum](crate::World::set_maximum_delta).
    ///
    /// In the steps of a group with a rate, it is the step. It is not part of the [state hash](crate::World::state_hash), so the
    /// simulation must not depend on it.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::World;
    ///
    /// let mut world = World::new("Simulation");
    /// world.set_time_scale(0.5)?;
    /// world.update(0.25);
    /// assert_eq!((world.time().delta(), world.time().unscaled_delta()), (0.125, 0.25));
    /// # Ok::<(), ancho_entities::TimeError>(())
    /// ```
    #[inline]
    pub const fn unscaled_delta(&self) -> f64 {
        self.unscaled_delta
    }

    /// Returns the seconds since the start, including this update.
    ///
    /// The precision is high: after a year, the value still resolves ten nanoseconds, whereas an `f32` does not resolve two
    /// seconds.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::World;
    ///
    /// let mut world = World::new("Simulation");
    /// for _ in 0..8 {
    ///     world.update(0.125);
    /// }
    /// assert_eq!(world.time().elapsed(), 1.0);
    /// ```
    #[inline]
    pub const fn elapsed(&self) -> f64 {
        self.elapsed
    }

    /// Returns [`elapsed`](Self::elapsed) as an `f32`, which is exact to a millisecond for about two hours.
    #[inline]
    pub const fn elapsed_f32(&self) -> f32 {
        self.elapsed as f32
    }

    /// Returns the number of the world's update. It is 1 in the first update and 0 before it, and wraps to 0 after `u64::MAX`.
    ///
    /// All updates of a group within one update of the world have the same number.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::World;
    ///
    /// let mut world = World::new("Simulation");
    /// assert_eq!(world.time().frame(), 0);
    /// world.update(0.1);
    /// world.update(0.1);
    /// assert_eq!(world.time().frame(), 2);
    /// ```
    #[inline]
    pub const fn frame(&self) -> u64 {
        self.frame
    }
}

/// Error when setting the time of a world, or the time step of a group. The time or time step has not changed.
///
/// # Examples
///
/// ```
/// use ancho_entities::{FixedRateCatchUp, TimeError};
///
/// assert_eq!(
///     TimeError::Delta { seconds: -1.0 }.to_string(),
///     "A0120: the delta time of an update cannot be -1 seconds; pass a finite number, zero or above",
/// );
/// assert_eq!(
///     FixedRateCatchUp::try_new(0.0).unwrap_err().to_string(),
///     "A0121: the time step of a group cannot be 0 seconds; pass a finite number above zero",
/// );
/// ```
#[derive(Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum TimeError {
    /// A0120: the duration of an update is negative, infinite or NaN.
    Delta {
        /// The rejected duration.
        seconds: f64,
    },
    /// A0120: the elapsed time is not finite.
    Elapsed {
        /// The rejected time.
        seconds: f64,
    },
    /// A0120: the maximum duration of an update is zero, negative or NaN.
    MaximumDelta {
        /// The rejected maximum.
        seconds: f64,
    },
    /// A0120: the time scale is negative, infinite or NaN.
    Scale {
        /// The rejected scale.
        scale: f64,
    },
    /// A0122: no earlier time was pushed.
    NothingPushed,
    /// A0121: the time step of a group is not positive and finite.
    Timestep {
        /// The rejected step.
        seconds: f64,
    },
    /// A0121: the group has no rate manager with a fixed step.
    NoTimestep {
        /// The rejected step.
        seconds: f64,
    },
}

impl fmt::Display for TimeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Delta { seconds } => write!(
                f,
                "A0120: the delta time of an update cannot be {seconds} seconds; pass a finite number, zero or above"
            ),
            Self::Elapsed { seconds } => write!(
                f,
                "A0120: the elapsed time cannot be {seconds} seconds; pass a finite number"
            ),
            Self::MaximumDelta { seconds } => write!(
                f,
                "A0120: the maximum delta time cannot be {seconds} seconds; pass a number above zero"
            ),
            Self::Scale { scale } => write!(
                f,
                "A0120: the time scale cannot be {scale}; pass a finite number, zero or above, or call `pause`"
            ),
            Self::Timestep { seconds } => write!(
                f,
                "A0121: the time step of a group cannot be {seconds} seconds; pass a finite number above zero"
            ),
            Self::NoTimestep { seconds } => write!(
                f,
                "A0121: the time step of a group cannot be {seconds} seconds: the group has no rate manager with a \
                 fixed step; set a `FixedRateCatchUp` or a `FixedRateSimple` first"
            ),
            Self::NothingPushed => f.write_str(
                "A0122: there is no earlier time to go back to; call `pop_time` once for each `push_time`",
            ),
        }
    }
}

impl Error for TimeError {}

debug_as_display!(TimeError);

/// Stack of a world's times. The last one is current, and popping returns to the one before.
#[derive(Clone, Debug)]
pub(crate) struct TimeStack {
    current: Time,
    pushed: Vec<Time>,
    /// The number of times that were pushed outside of the running system. The system cannot pop them.
    floor: usize,
    maximum_delta: f64,
    scale: f64,
    /// Set if the next update is paused.
    is_paused: bool,
    /// Set if the current update is paused.
    stands_still: bool,
}

/// The part of a world's time that is state.
pub(crate) struct TimeState {
    pub(crate) elapsed: f64,
    pub(crate) delta: f64,
    pub(crate) frame: u64,
    pub(crate) scale: f64,
    pub(crate) maximum_delta: f64,
    pub(crate) is_paused: bool,
}

/// The depth of the stack when a system started to run, and the previous floor.
///
/// Both are stored in this struct, because the system may have replaced the world.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Floors {
    own: usize,
    outer: usize,
}

impl TimeStack {
    /// Creates the time of a world that was never updated.
    pub(crate) fn new() -> Self {
        Self {
            current: Time::default(),
            pushed: Vec::new(),
            floor: 0,
            maximum_delta: f64::INFINITY,
            scale: 1.0,
            is_paused: false,
            stands_still: false,
        }
    }

    /// Returns the time of a fork, or `None` while a time is pushed.
    pub(crate) fn fork(&self) -> Option<Self> {
        self.pushed.is_empty().then(|| Self { floor: 0, ..self.clone() })
    }

    /// Replaces the time of the world by that of another world. Pushed times stay until they are popped.
    pub(crate) fn replace(&mut self, source: &Self) {
        let theirs = *source.pushed.first().unwrap_or(&source.current);
        *self.pushed.first_mut().unwrap_or(&mut self.current) = theirs;
        self.maximum_delta = source.maximum_delta;
        self.scale = source.scale;
        self.is_paused = source.is_paused;
        self.stands_still = source.stands_still;
    }

    /// Returns the part that is hashed.
    pub(crate) fn state(&self) -> TimeState {
        let time = self.pushed.first().unwrap_or(&self.current);
        TimeState {
            elapsed: time.elapsed,
            delta: time.delta,
            frame: time.frame,
            scale: self.scale,
            maximum_delta: self.maximum_delta,
            is_paused: self.is_paused,
        }
    }
    /// Returns the state as numbers, for files: elapsed, delta, unscaled delta, scale and maximum delta, then the frame, then
    /// whether the time is paused and stands still.
    pub(crate) fn to_numbers(&self) -> ([f64; 5], u64, [bool; 2]) {
        let Time { elapsed, delta, unscaled_delta, frame } =
            *self.pushed.first().unwrap_or(&self.current);
        let numbers = [elapsed, delta, unscaled_delta, self.scale, self.maximum_delta];
        (numbers, frame, [self.is_paused, self.stands_still])
    }

    /// Creates a time from the result of [`to_numbers`](Self::to_numbers).
    pub(crate) fn from_numbers(
        numbers: [f64; 5],
        frame: u64,
        [is_paused, stands_still]: [bool; 2],
    ) -> Result<Self, TimeError> {
        let [elapsed, delta, unscaled_delta, scale, maximum_delta] = numbers;
        let mut time = Self::new();
        check_delta(unscaled_delta)?;
        time.set(Time { elapsed, delta, unscaled_delta, frame })?;
        time.set_scale(scale)?;
        time.set_maximum_delta(maximum_delta)?;
        (time.is_paused, time.stands_still) = (is_paused, stands_still);
        Ok(time)
    }

    pub(crate) fn scale(&self) -> f64 {
        self.scale
    }

    pub(crate) fn set_scale(&mut self, scale: f64) -> Result<(), TimeError> {
        if !(scale.is_finite() && scale >= 0.0) {
            return Err(TimeError::Scale { scale });
        }
        self.scale = scale;
        Ok(())
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.is_paused
    }

    pub(crate) fn set_paused(&mut self, is_paused: bool) {
        self.is_paused = is_paused;
    }

    /// Tests whether the current update is paused.
    #[inline]
    pub(crate) fn stands_still(&self) -> bool {
        self.stands_still
    }

    /// Returns the current time.
    #[inline]
    pub(crate) fn current(&self) -> Time {
        self.current
    }

    /// Returns the maximum duration of an update in seconds, or infinity.
    #[inline]
    pub(crate) fn maximum_delta(&self) -> f64 {
        self.maximum_delta
    }

    pub(crate) fn set_maximum_delta(&mut self, seconds: f64) -> Result<(), TimeError> {
        if seconds.is_nan() || seconds <= 0.0 {
            return Err(TimeError::MaximumDelta { seconds });
        }
        self.maximum_delta = seconds;
        Ok(())
    }

    /// Starts the next update, with a duration of `unscaled_delta` seconds, multiplied by the scale and limited to the maximum.
    ///
    /// If a time was pushed, the pushed time advances.
    pub(crate) fn advance(&mut self, unscaled_delta: f64) -> Result<Time, TimeError> {
        check_delta(unscaled_delta)?;
        let scale = if self.is_paused { 0.0 } else { self.scale };
        let delta = (unscaled_delta * scale).min(self.maximum_delta);
        let elapsed = self.current.elapsed + delta;
        let frame = self.current.frame.wrapping_add(1);
        self.set(Time { elapsed, delta, unscaled_delta, frame })?;
        self.stands_still = self.is_paused;
        Ok(self.current)
    }

    /// Replaces the current time, regardless of the maximum.
    pub(crate) fn set(&mut self, time: Time) -> Result<(), TimeError> {
        check(time)?;
        self.current = time;
        Ok(())
    }

    /// Pushes a time, which is current until [`pop`](Self::pop).
    pub(crate) fn push(&mut self, time: Time) -> Result<(), TimeError> {
        check(time)?;
        self.pushed.push(self.current);
        self.current = time;
        Ok(())
    }

    /// Restores the time before the last [`push`](Self::push), and returns the popped one.
    pub(crate) fn pop(&mut self) -> Result<Time, TimeError> {
        if self.pushed.len() <= self.floor {
            return Err(TimeError::NothingPushed);
        }
        let earlier = self.pushed.pop().ok_or(TimeError::NothingPushed)?;
        Ok(std::mem::replace(&mut self.current, earlier))
    }

    /// Returns the number of pushed times.
    pub(crate) fn depth(&self) -> usize {
        self.pushed.len()
    }

    /// Prevents the system that starts now from popping times that were pushed before.
    #[inline]
    pub(crate) fn raise_floor(&mut self) -> Floors {
        let own = self.pushed.len();
        Floors { own, outer: std::mem::replace(&mut self.floor, own) }
    }

    /// Ends a [`raise_floor`](Self::raise_floor), and restores the time that was current then.
    #[inline]
    pub(crate) fn unwind_to_floor(&mut self, floors: Floors) {
        self.floor = floors.outer;
        if self.pushed.len() > floors.own {
            self.unwind_to(floors.own);
        }
    }

    /// Pops times down to a depth, and removes all floors.
    pub(crate) fn forget_floors(&mut self, depth: usize) {
        self.unwind_to(depth);
        self.floor = 0;
    }

    /// Pops times down to a depth, for callers that did not call `pop`.
    pub(crate) fn unwind_to(&mut self, depth: usize) {
        if let Some(&earlier) = self.pushed.get(depth) {
            self.pushed.truncate(depth);
            self.current = earlier;
        }
    }
}

fn check(time: Time) -> Result<(), TimeError> {
    check_delta(time.delta)?;
    if !time.elapsed.is_finite() {
        return Err(TimeError::Elapsed { seconds: time.elapsed });
    }
    Ok(())
}

fn check_delta(seconds: f64) -> Result<(), TimeError> {
    if !(seconds.is_finite() && seconds >= 0.0) {
        return Err(TimeError::Delta { seconds });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn updates_add_up() {
        let mut times = TimeStack::new();
        assert_eq!(times.current().frame(), 0);
        times.advance(0.25).unwrap();
        let second = times.advance(0.125).unwrap();
        assert_eq!((second.elapsed(), second.delta(), second.frame()), (0.375, 0.125, 2));
        assert_eq!(second, times.current());
    }

    #[test]
    fn w2_an_update_is_limited_by_the_maximum_if_there_is_one() {
        let mut times = TimeStack::new();
        let long = times.advance(100.0).unwrap();
        assert_eq!((long.delta_f64(), long.elapsed()), (100.0, 100.0));
        times.set_maximum_delta(2.0).unwrap();
        assert_eq!(times.advance(100.0).unwrap().delta(), 2.0);
        times.set_maximum_delta(f64::INFINITY).unwrap();
        assert_eq!(times.advance(100.0).unwrap().delta(), 100.0);
    }

    #[test]
    fn w2_times_are_pushed_and_popped_nested() {
        let mut times = TimeStack::new();
        times.advance(0.25).unwrap();
        times.push(Time::new(10.0, 1.0)).unwrap();
        times.push(Time::new(20.0, 2.0)).unwrap();
        assert_eq!(times.current().elapsed(), 20.0);
        assert_eq!(times.pop().unwrap().elapsed(), 20.0);
        assert_eq!(times.current().elapsed(), 10.0);
        times.pop().unwrap();
        assert_eq!(times.current().elapsed(), 0.25);
        assert_eq!(times.pop(), Err(TimeError::NothingPushed));
        assert_eq!(times.current().elapsed(), 0.25);
    }

    #[test]
    fn who_did_not_come_to_popping_is_helped() {
        let mut times = TimeStack::new();
        times.push(Time::new(1.0, 0.0)).unwrap();
        let depth = times.depth();
        times.push(Time::new(2.0, 0.0)).unwrap();
        times.push(Time::new(3.0, 0.0)).unwrap();
        times.unwind_to(depth);
        assert_eq!((times.current().elapsed(), times.depth()), (1.0, 1));
        times.unwind_to(depth);
        assert_eq!((times.current().elapsed(), times.depth()), (1.0, 1));
    }

    #[test]
    fn nobody_pops_what_others_have_pushed() {
        let mut times = TimeStack::new();
        times.push(Time::new(1.0, 0.0)).unwrap();
        let outside = times.raise_floor();
        assert_eq!(times.pop(), Err(TimeError::NothingPushed));
        times.push(Time::new(2.0, 0.0)).unwrap();
        let outer = times.raise_floor();
        assert_eq!(times.pop(), Err(TimeError::NothingPushed));
        times.push(Time::new(3.0, 0.0)).unwrap();
        times.unwind_to_floor(outer);
        assert_eq!(times.pop().unwrap().elapsed(), 2.0);
        assert_eq!(times.pop(), Err(TimeError::NothingPushed));
        times.unwind_to_floor(outside);
        assert_eq!(times.pop().unwrap().elapsed(), 1.0);
    }

    #[test]
    fn frames_begin_anew_after_the_last_one() {
        let mut times = TimeStack::new();
        times.set(Time::default().at_frame(u64::MAX)).unwrap();
        assert_eq!(times.advance(0.25).unwrap().frame(), 0);
    }

    #[test]
    fn bad_times_are_refused_and_change_nothing() {
        let mut times = TimeStack::new();
        times.advance(0.25).unwrap();
        let before = times.current();
        for bad in [-0.5, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(times.advance(bad).is_err(), "{bad}");
            assert!(times.set(Time::new(1.0, bad)).is_err(), "{bad}");
            assert!(times.push(Time::new(1.0, bad)).is_err(), "{bad}");
        }
        for bad in [0.0, -0.5, f64::NAN, f64::NEG_INFINITY] {
            assert!(times.set_maximum_delta(bad).is_err(), "{bad}");
        }
        assert!(times.push(Time::new(f64::NAN, 1.0)).is_err());
        assert_eq!((times.current(), times.depth()), (before, 0));
        assert_eq!(times.maximum_delta(), f64::INFINITY);
        assert_eq!(
            times.advance(f64::NAN).unwrap_err().to_string(),
            "A0120: the delta time of an update cannot be NaN seconds; pass a finite number, zero or above"
        );
    }

    #[test]
    fn a_time_that_cannot_grow_is_refused() {
        let mut times = TimeStack::new();
        times.set(Time::new(f64::MAX, 0.0)).unwrap();
        times.set_maximum_delta(f64::MAX).unwrap();
        assert_eq!(
            times.advance(f64::MAX).unwrap_err().to_string(),
            "A0120: the elapsed time cannot be inf seconds; pass a finite number"
        );
        assert_eq!(times.current().frame(), 0);
    }
}
