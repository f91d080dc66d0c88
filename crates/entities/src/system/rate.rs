//! How often a group updates, and what time it is for it then.

#[cfg(test)]
mod tests;

use std::error::Error;
use std::fmt;
use std::time::{Duration, Instant};

use ancho_jobs::HAS_CLOCK;

use crate::time::Time;

/// Decides how often a group updates in one update of the world, and what time it is for its systems then.
///
/// A group without one updates once, in the time of the world. Unity's `IRateManager`.
///
/// # Examples
///
/// Every second update of the world:
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
pub trait RateManager: Send {
    /// The time of the group's next update, or `None` if it has updated often enough for now.
    ///
    /// Asked again after each update of the group, until it gives `None`.
    fn next_update(&mut self, turn: RateTurn) -> Option<Time>;

    /// Whether it is asked in each turn, also while the group has nothing to update: no systems, and points at which nothing is to
    /// be carried out. If not, the group is passed over then, as if it had no turn.
    fn counts_idle_turns(&self) -> bool {
        true
    }

    /// How many seconds lie between two updates, if they are evenly spaced.
    fn timestep(&self) -> Option<f64> {
        None
    }

    /// Changes how many seconds lie between two updates. Counts from the last update.
    ///
    /// # Errors
    ///
    /// If it cannot be this many, or the manager does not work with steps.
    fn set_timestep(&mut self, seconds: f64) -> Result<(), RateError> {
        Err(RateError::NoTimestep { seconds })
    }
}

/// What a [`RateManager`] decides by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateTurn {
    /// What time it is around the group.
    pub time: Time,
    /// How many seconds an update of the world stands for at most.
    pub maximum_delta: f64,
    /// How often the group has updated since its turn began.
    pub updates: u32,
}

/// Why a rate was refused.
///
/// # Examples
///
/// ```
/// use ancho_entities::FixedRateCatchUp;
///
/// assert_eq!(
///     FixedRateCatchUp::try_new(0.0).unwrap_err().to_string(),
///     "A0121: a group cannot update every 0 seconds; give a number of seconds that is above zero, and finite",
/// );
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum RateError {
    /// A0121: the steps would be zero, negative or infinite, or no number.
    Timestep {
        /// How long they would be.
        seconds: f64,
    },
    /// A0121: the manager has no steps that could be changed.
    NoTimestep {
        /// How long they would be.
        seconds: f64,
    },
}

impl fmt::Display for RateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Timestep { seconds } => write!(
                f,
                "A0121: a group cannot update every {seconds} seconds; give a number of seconds that is above zero, and \
                 finite"
            ),
            Self::NoTimestep { seconds } => write!(
                f,
                "A0121: a group cannot update every {seconds} seconds if its rate manager does not work with steps, or it has \
                 none; give it a `FixedRateCatchUp` or a `FixedRateSimple` first"
            ),
        }
    }
}

impl Error for RateError {}

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

/// One update of the group at most in each update of the world, and none before some time has passed on a clock on the wall.
///
/// The group's `delta` is the time since its last update, its `elapsed` that of the world. For what must not run too
/// often, as drawing a map does, and **not** for what has to be the same in each run: it depends on how fast the machine is.
/// While the group has nothing to update, the clock is not looked at. Unity's `VariableRateManager`.
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
pub struct VariableRate {
    interval: Duration,
    /// The world's time counts where there is none.
    clock: Option<Box<dyn FnMut() -> Duration + Send>>,
    last: Option<Duration>,
}

impl VariableRate {
    /// How long it is between two updates, unless it is said otherwise.
    const INTERVAL: Duration = Duration::from_millis(66);

    /// This long is between two updates, or longer. On `wasm32-unknown-unknown`, which has no clock, the world's time
    /// counts, unless there is [another clock](Self::with_clock).
    pub fn new(interval: Duration) -> Self {
        let clock = HAS_CLOCK.then(|| {
            let start = Instant::now();
            Box::new(move || start.elapsed()) as Box<dyn FnMut() -> Duration + Send>
        });
        Self { interval, clock, last: None }
    }

    /// The same with another clock: a function that says how long it is since a moment that stays the same.
    #[must_use = "the rate manager itself does not change"]
    pub fn with_clock(self, clock: impl FnMut() -> Duration + Send + 'static) -> Self {
        Self { clock: Some(Box::new(clock)), ..self }
    }
}

impl Default for VariableRate {
    /// 66 milliseconds between two updates.
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

    fn timestep(&self) -> Option<f64> {
        Some(self.interval.as_secs_f64())
    }

    fn set_timestep(&mut self, seconds: f64) -> Result<(), RateError> {
        if !(seconds.is_finite() && seconds > 0.0) {
            return Err(RateError::Timestep { seconds });
        }
        self.interval =
            Duration::try_from_secs_f64(seconds).map_err(|_| RateError::Timestep { seconds })?;
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
