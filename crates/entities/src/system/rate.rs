//! How often a group updates, and what time it is for it then.

mod fixed;
#[cfg(test)]
mod tests;
mod variable;

use std::error::Error;
use std::fmt;

pub use self::fixed::{FixedRateCatchUp, FixedRateSimple};
pub use self::variable::VariableRate;
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
