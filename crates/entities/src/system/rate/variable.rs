//! Groups that update as often as a clock allows.

use std::fmt;
use std::time::{Duration, Instant};

use ancho_jobs::HAS_CLOCK;

use super::{RateError, RateManager, RateTurn};
use crate::time::Time;

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
