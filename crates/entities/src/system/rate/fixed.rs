//! Groups that update in steps of the same length.

use super::{RateError, RateManager, RateTurn};
use crate::time::Time;

/// The steps that fixed rates can have, in seconds.
const TIMESTEPS: std::ops::RangeInclusive<f64> = 0.0001..=10.0;

fn clamp_timestep(seconds: f64) -> Result<f64, RateError> {
    if !(seconds.is_finite() && seconds > 0.0) {
        return Err(RateError::Timestep { seconds });
    }
    Ok(seconds.clamp(*TIMESTEPS.start(), *TIMESTEPS.end()))
}

/// One update of the group in each update of the world, all of them equally long, with a clock of its own.
///
/// The clock begins at zero and knows nothing of the world's: if the world updates faster than the step says, the group's
/// time runs faster too. Good for lockstep, where one update is one step whatever time it took.
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
pub struct FixedRateSimple {
    timestep: f64,
    next: f64,
}

impl FixedRateSimple {
    /// An update every this many seconds, of which there cannot be fewer than 0.0001 or more than 10: the nearest is taken.
    ///
    /// # Panics
    ///
    /// Unless the number is above zero and finite.
    #[track_caller]
    pub fn new(timestep: f64) -> Self {
        Self::try_new(timestep).unwrap_or_else(|refused| panic!("{refused}"))
    }

    /// [`new`](Self::new), for a number that may be a bad one.
    ///
    /// # Errors
    ///
    /// Unless the number is above zero and finite.
    pub fn try_new(timestep: f64) -> Result<Self, RateError> {
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

    fn timestep(&self) -> Option<f64> {
        Some(self.timestep)
    }

    fn set_timestep(&mut self, seconds: f64) -> Result<(), RateError> {
        let timestep = clamp_timestep(seconds)?;
        // The next update is one step after the last, so a step that was already added is taken back first.
        if self.next > 0.0 {
            self.next += timestep - self.timestep;
        }
        self.timestep = timestep;
        Ok(())
    }
}

/// As many updates of the group, all of them equally long, as the time of the world has room for.
///
/// The first is at zero. Each one after it is a step later, as soon as the world's time has come so far: none in a fast
/// update of the world, several in a slow one. After a long pause it catches up bit by bit: one update of the world never has
/// more of them than fit into the longest that the world can have.
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
pub struct FixedRateCatchUp {
    timestep: f64,
    /// The time of the last update, or of the first if there was none.
    last: f64,
    started: bool,
    /// How far it goes in this turn.
    limit: f64,
}

impl FixedRateCatchUp {
    /// An update every this many seconds, of which there cannot be fewer than 0.0001 or more than 10: the nearest is taken.
    ///
    /// # Panics
    ///
    /// Unless the number is above zero and finite.
    #[track_caller]
    pub fn new(timestep: f64) -> Self {
        Self::try_new(timestep).unwrap_or_else(|refused| panic!("{refused}"))
    }

    /// [`new`](Self::new), for a number that may be a bad one.
    ///
    /// # Errors
    ///
    /// Unless the number is above zero and finite.
    pub fn try_new(timestep: f64) -> Result<Self, RateError> {
        let timestep = clamp_timestep(timestep)?;
        Ok(Self { timestep, last: 0.0, started: false, limit: 0.0 })
    }

    /// The same with its first update at another time than zero, for a group that begins late and has nothing to catch up
    /// with.
    #[must_use = "the rate manager itself does not change"]
    pub fn starting_at(self, elapsed: f64) -> Self {
        Self { last: elapsed, started: false, ..self }
    }
}

impl RateManager for FixedRateCatchUp {
    fn next_update(&mut self, turn: RateTurn) -> Option<Time> {
        if turn.updates == 0 {
            self.limit = self.last + turn.maximum_delta.max(self.timestep);
        }
        if self.started {
            // The sum is compared, not the difference: a world that is updated by exactly one step adds up the same numbers
            // in the same order, and has exactly one update each time, for ever.
            let next = self.last + self.timestep;
            let reached = turn.time.elapsed().min(self.limit);
            // A step that is too small to be added to so late a time would never end.
            if next > reached || next <= self.last {
                return None;
            }
            self.last = next;
        }
        self.started = true;
        Some(Time::new(self.last, self.timestep).at_frame(turn.time.frame()))
    }

    fn timestep(&self) -> Option<f64> {
        Some(self.timestep)
    }

    fn set_timestep(&mut self, seconds: f64) -> Result<(), RateError> {
        self.timestep = clamp_timestep(seconds)?;
        Ok(())
    }
}
