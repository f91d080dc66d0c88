//! Rate managers, which decide the number and the times of a group's updates.

#[cfg(test)]
mod tests;

use std::fmt;
use std::time::{Duration, Instant};

use ancho_jobs::HAS_CLOCK;

use crate::time::{Time, TimeError};

/// Decides how often a group updates in one update of the world, and the time of each of its updates.
///
/// A group without a rate manager updates once, with the time of the world. This is Unity's `IRateManager`.
///
/// # Examples
///
/// A group that updates in every second update of the world:
///
/// ```
/// use ancho_entities::{RateManager, RateTurn, Time};
///
/// struct EverySecond;
///
/// impl RateManager for EverySecond {
///     fn next_update(&mut self, turn: RateTurn) -> Option<Time> {
///         (turn.updates == 0 && turn.time.frame() % 2 == 0).then_some(turn.time)
///     }
/// }
///
/// let turn = RateTurn { time: Time::new(1.0, 0.5).at_frame(4), maximum_delta: 0.5, updates: 0 };
/// assert_eq!(EverySecond.next_update(turn), Some(turn.time));
/// // It was updated, and is asked again.
/// assert_eq!(EverySecond.next_update(RateTurn { updates: 1, ..turn }), None);
/// ```
#[doc(alias = "IRateManager")]
pub trait RateManager: Send {
    /// Returns the time of the group's next update, or `None` to end the group's turn.
    ///
    /// The method is called again after each update of the group, until it returns `None`.
    fn next_update(&mut self, turn: RateTurn) -> Option<Time>;

    /// Returns whether the manager counts idle turns. In an idle turn, the group has no systems other than points without waiting
    /// commands. If this method returns false, the group is skipped in idle turns.
    fn counts_idle_turns(&self) -> bool {
        true
    }

    /// Returns whether the group is updated while the world is [paused](crate::World::pause).
    fn runs_while_paused(&self) -> bool {
        false
    }

    /// Returns the part of the manager that decides its next updates. It is forked, hashed and rolled back with the world.
    ///
    /// Return `None` if there is no such part, or if it must not be rolled back, such as the reading of a clock. A manager that has
    /// not updated its group yet returns `None`, too.
    fn state(&self) -> Option<RateState> {
        None
    }

    /// Restores an earlier [state](Self::state). `None` is the state of a manager that has not updated its group yet.
    fn restore(&mut self, _state: Option<RateState>) {}

    /// Returns the seconds between two updates, if they are evenly spaced.
    fn timestep(&self) -> Option<f64> {
        None
    }

    /// Sets the seconds between two updates, counted from the last update.
    ///
    /// # Errors
    ///
    /// Returns an error if the number is invalid, or the manager does not work with steps.
    fn set_timestep(&mut self, seconds: f64) -> Result<(), TimeError> {
        Err(TimeError::NoTimestep { seconds })
    }
}

/// The input of [`RateManager::next_update`]. A *turn* of a group consists of its updates in one update of the enclosing group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateTurn {
    /// The time of the enclosing group.
    pub time: Time,
    /// The maximum delta time of an update of the world in seconds, or infinity.
    pub maximum_delta: f64,
    /// The number of updates of the group in this turn so far.
    pub updates: u32,
}

/// The state of a [`RateManager`], as up to three numbers.
///
/// # Examples
///
/// ```
/// use ancho_entities::{RateManager, RateState, RateTurn, Time};
///
/// /// Updates its group in every third turn.
/// struct EveryThird {
///     turns: u64,
/// }
///
/// impl RateManager for EveryThird {
///     fn next_update(&mut self, turn: RateTurn) -> Option<Time> {
///         self.turns += u64::from(turn.updates == 0);
///         (turn.updates == 0 && self.turns % 3 == 0).then_some(turn.time)
///     }
///
///     fn state(&self) -> Option<RateState> {
///         (self.turns > 0).then(|| RateState([self.turns as f64, 0.0, 0.0]))
///     }
///
///     fn restore(&mut self, state: Option<RateState>) {
///         self.turns = state.map_or(0, |state| state.0[0] as u64);
///     }
/// }
///
/// let (mut rate, mut copy) = (EveryThird { turns: 2 }, EveryThird { turns: 0 });
/// copy.restore(rate.state());
/// let turn = RateTurn { time: Time::default(), maximum_delta: 1.0, updates: 0 };
/// assert_eq!(copy.next_update(turn), rate.next_update(turn));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RateState(pub [f64; 3]);

/// The range of time steps, in seconds. Other time steps are clamped.
const TIMESTEPS: std::ops::RangeInclusive<f64> = 0.0001..=10.0;

/// The seconds that a late group catches up in one turn, if the world has no maximum delta time.
const CATCH_UP_LIMIT: f64 = 1.0 / 3.0;

fn clamp_timestep(seconds: f64) -> Result<f64, TimeError> {
    if !(seconds.is_finite() && seconds > 0.0) {
        return Err(TimeError::Timestep { seconds });
    }
    Ok(seconds.clamp(*TIMESTEPS.start(), *TIMESTEPS.end()))
}

/// Rate manager with one update of the group per update of the world, with a fixed time step and its own clock.
///
/// The clock begins at zero and is independent of the world's time. If the world updates faster than the time step, the group's
/// time runs faster than the world's. Use it for lockstep, where one update is one step. This is Unity's
/// `FixedRateSimpleManager`.
///
/// # Examples
///
/// ```
/// use ancho_entities::{FixedRateSimple, RateManager, RateTurn, Time};
///
/// let mut rate = FixedRateSimple::new(0.5);
/// let turn = RateTurn { time: Time::new(100.0, 0.1), maximum_delta: 0.5, updates: 0 };
/// assert_eq!(rate.next_update(turn), Some(Time::new(0.0, 0.5)));
/// assert_eq!(rate.next_update(RateTurn { updates: 1, ..turn }), None);
/// // In the next update of the world:
/// assert_eq!(rate.next_update(turn), Some(Time::new(0.5, 0.5)));
/// ```
#[derive(Clone, Debug)]
#[doc(alias = "FixedRateSimpleManager")]
pub struct FixedRateSimple {
    timestep: f64,
    next: f64,
}

impl FixedRateSimple {
    /// Creates a manager with a time step in seconds, clamped to 0.0001 to 10.
    ///
    /// # Panics
    ///
    /// Panics if the number is not positive and finite.
    #[track_caller]
    pub fn new(timestep: f64) -> Self {
        match Self::try_new(timestep) {
            Ok(rate) => rate,
            Err(error) => panic!("{error}"),
        }
    }

    /// Creates a manager like [`new`](Self::new), or returns an error.
    ///
    /// # Errors
    ///
    /// Returns an error if the number is not positive and finite.
    pub fn try_new(timestep: f64) -> Result<Self, TimeError> {
        Ok(Self { timestep: clamp_timestep(timestep)?, next: 0.0 })
    }
}

impl RateManager for FixedRateSimple {
    fn next_update(&mut self, turn: RateTurn) -> Option<Time> {
        if turn.updates > 0 {
            return None;
        }
        let time = Time::new(self.next, self.timestep).at_frame(turn.time.frame());
        self.next += self.timestep;
        Some(time)
    }

    fn state(&self) -> Option<RateState> {
        (self.next > 0.0).then_some(RateState([self.next, self.timestep, 0.0]))
    }

    fn restore(&mut self, state: Option<RateState>) {
        match state {
            Some(RateState([next, timestep, _])) => (self.next, self.timestep) = (next, timestep),
            None => self.next = 0.0,
        }
    }

    fn timestep(&self) -> Option<f64> {
        Some(self.timestep)
    }

    fn set_timestep(&mut self, seconds: f64) -> Result<(), TimeError> {
        let timestep = clamp_timestep(seconds)?;
        // The next update is one new step after the last update, so the old step, which was already added, is replaced.
        if self.next > 0.0 {
            self.next += timestep - self.timestep;
        }
        self.timestep = timestep;
        Ok(())
    }
}

/// Rate manager with a fixed time step, and as many updates of the group as fit into the world's time.
///
/// The first update is at time zero, and each later update is one step after the one before. An update runs as soon as the world's
/// time reaches it: none in a fast update of the world, several in a slow one. This is
/// Unity's `FixedRateCatchUpManager`.
///
/// If the group is late, because it was disabled or the time was [set](crate::World::set_time), it catches up gradually. An update of
/// the world has at most as many group updates as fit into the world's [maximum delta
/// time](crate::World::set_maximum_delta). If there is no maximum, the limit is the delta time of the update or a third of a second,
/// whichever is longer.
///
/// # Examples
///
/// ```
/// use ancho_entities::{FixedRateCatchUp, RateManager, RateTurn, Time};
///
/// let mut rate = FixedRateCatchUp::new(0.25);
/// let mut turn = RateTurn { time: Time::new(0.6, 0.6), maximum_delta: 1.0, updates: 0 };
/// let mut ticks = Vec::new();
/// while let Some(time) = rate.next_update(turn) {
///     ticks.push(time.elapsed());
///     turn.updates += 1;
/// }
/// assert_eq!(ticks, [0.0, 0.25, 0.5]);
/// ```
#[derive(Clone, Debug)]
#[doc(alias = "FixedRateCatchUpManager")]
pub struct FixedRateCatchUp {
    timestep: f64,
    /// The time of the last update, or of the first update if there was none yet.
    last: f64,
    /// The time of the first update.
    start: f64,
    started: bool,
    /// The latest time that an update of this turn can have.
    limit: f64,
}

impl FixedRateCatchUp {
    /// Creates a manager with a time step in seconds, clamped to 0.0001 to 10.
    ///
    /// # Panics
    ///
    /// Panics if the number is not positive and finite.
    #[track_caller]
    pub fn new(timestep: f64) -> Self {
        match Self::try_new(timestep) {
            Ok(rate) => rate,
            Err(error) => panic!("{error}"),
        }
    }

    /// Creates a manager like [`new`](Self::new), or returns an error.
    ///
    /// # Errors
    ///
    /// Returns an error if the number is not positive and finite.
    pub fn try_new(timestep: f64) -> Result<Self, TimeError> {
        let timestep = clamp_timestep(timestep)?;
        Ok(Self { timestep, last: 0.0, start: 0.0, started: false, limit: 0.0 })
    }

    /// Sets the time of the first update. Use it for a group that starts late and must not catch up.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{FixedRateCatchUp, RateManager, RateTurn, Time};
    ///
    /// let mut rate = FixedRateCatchUp::new(0.25).starting_at(60.0);
    /// let turn = RateTurn { time: Time::new(60.1, 0.1), maximum_delta: 1.0, updates: 0 };
    /// assert_eq!(rate.next_update(turn).map(|time| time.elapsed()), Some(60.0));
    /// assert!(rate.next_update(RateTurn { updates: 1, ..turn }).is_none());
    /// ```
    #[must_use = "the rate manager itself does not change"]
    pub fn starting_at(self, elapsed: f64) -> Self {
        Self { last: elapsed, start: elapsed, started: false, ..self }
    }
}

impl FixedRateCatchUp {
    /// Returns the seconds by which the group can advance in one turn.
    fn catch_up_limit(&self, turn: RateTurn) -> f64 {
        if turn.maximum_delta.is_finite() {
            return turn.maximum_delta.max(self.timestep);
        }
        // The last update of the group may have been up to one step before the last update of the world. A second step makes
        // rounding irrelevant.
        CATCH_UP_LIMIT.max(turn.time.delta_f64() + 2.0 * self.timestep)
    }
}

impl RateManager for FixedRateCatchUp {
    fn next_update(&mut self, turn: RateTurn) -> Option<Time> {
        if turn.updates == 0 {
            self.limit = self.last + self.catch_up_limit(turn);
        }
        if self.started {
            // Compares the sum, not the difference: a world that is updated by exactly one step adds the same numbers in the same
            // order, and so has exactly one update of the group each time.
            let next = self.last + self.timestep;
            let reached = turn.time.elapsed().min(self.limit);
            // If the step is too small to change the sum, the loop would not end.
            if next > reached || next <= self.last {
                return None;
            }
            self.last = next;
        }
        self.started = true;
        Some(Time::new(self.last, self.timestep).at_frame(turn.time.frame()))
    }

    fn state(&self) -> Option<RateState> {
        self.started.then_some(RateState([self.last, self.timestep, 0.0]))
    }

    fn restore(&mut self, state: Option<RateState>) {
        match state {
            Some(RateState([last, timestep, _])) => {
                (self.last, self.timestep, self.started) = (last, timestep, true);
            }
            None => (self.last, self.started) = (self.start, false),
        }
    }

    fn timestep(&self) -> Option<f64> {
        Some(self.timestep)
    }

    fn set_timestep(&mut self, seconds: f64) -> Result<(), TimeError> {
        self.timestep = clamp_timestep(seconds)?;
        Ok(())
    }
}

/// Rate manager with at most one update of the group per update of the world, after a minimum interval of real time.
///
/// The group's `delta` is the time since its last update, and its `elapsed` is that of the world. Use it for work that must not
/// run too often, such as drawing a map. Do **not** use it for results that must be the same in each run, because it depends on
/// the speed of the machine. While the group is idle, the clock is not read. This is Unity's `VariableRateManager`.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use ancho_entities::{RateManager, RateTurn, Time, VariableRate};
///
/// let mut readings = [0, 50, 80].into_iter().map(Duration::from_millis);
/// let mut rate = VariableRate::default().with_clock(move || readings.next().unwrap());
///
/// let turn = RateTurn { time: Time::new(1.0, 0.05), maximum_delta: 0.5, updates: 0 };
/// assert_eq!(rate.next_update(turn), Some(Time::new(1.0, 0.0)));
/// assert_eq!(rate.next_update(turn), None);
/// assert_eq!(rate.next_update(turn), Some(Time::new(1.0, 0.08)));
/// ```
#[doc(alias = "VariableRateManager")]
pub struct VariableRate {
    interval: Duration,
    /// The clock. `None` means the world's time.
    clock: Option<Box<dyn FnMut() -> Duration + Send>>,
    last: Option<Duration>,
}

impl VariableRate {
    /// The default time between two updates.
    const INTERVAL: Duration = Duration::from_millis(66);

    /// Creates a manager with a minimum time between two updates. On `wasm32-unknown-unknown`, which has no clock, it uses
    /// the world's time, unless [another clock](Self::with_clock) is set.
    pub fn new(interval: Duration) -> Self {
        let clock = HAS_CLOCK.then(|| {
            let start = Instant::now();
            Box::new(move || start.elapsed()) as Box<dyn FnMut() -> Duration + Send>
        });
        Self { interval, clock, last: None }
    }

    /// Sets the clock, a function that returns the time since a fixed moment.
    #[must_use = "the rate manager itself does not change"]
    pub fn with_clock(self, clock: impl FnMut() -> Duration + Send + 'static) -> Self {
        Self { clock: Some(Box::new(clock)), ..self }
    }
}

impl Default for VariableRate {
    /// Creates a manager with 66 milliseconds between two updates.
    fn default() -> Self {
        Self::new(Self::INTERVAL)
    }
}

impl RateManager for VariableRate {
    fn next_update(&mut self, turn: RateTurn) -> Option<Time> {
        if turn.updates > 0 {
            return None;
        }
        let now = match &mut self.clock {
            Some(clock) => clock(),
            None => Duration::try_from_secs_f64(turn.time.elapsed()).unwrap_or_default(),
        };
        let since = now.saturating_sub(self.last.unwrap_or(now));
        if self.last.is_some() && since < self.interval {
            return None;
        }
        self.last = Some(now);
        let time = Time::new(turn.time.elapsed(), since.as_secs_f64());
        Some(time.at_frame(turn.time.frame()))
    }

    fn counts_idle_turns(&self) -> bool {
        false
    }

    fn runs_while_paused(&self) -> bool {
        true
    }

    fn timestep(&self) -> Option<f64> {
        Some(self.interval.as_secs_f64())
    }

    fn set_timestep(&mut self, seconds: f64) -> Result<(), TimeError> {
        if !(seconds.is_finite() && seconds > 0.0) {
            return Err(TimeError::Timestep { seconds });
        }
        self.interval =
            Duration::try_from_secs_f64(seconds).map_err(|_| TimeError::Timestep { seconds })?;
        Ok(())
    }
}

impl fmt::Debug for VariableRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VariableRate")
            .field("interval", &self.interval)
            .field("last", &self.last)
            .finish_non_exhaustive()
    }
}
