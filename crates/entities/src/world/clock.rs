//! What time it is in a world.

use super::World;
use crate::time::{Time, TimeError};

impl World {
    /// What time it is: in a system, what it would be given as a parameter.
    pub fn time(&self) -> Time {
        self.time.current()
    }

    /// Sets what time it is.
    ///
    /// # Errors
    ///
    /// With A0120 if it cannot be.
    pub fn set_time(&mut self, time: Time) -> Result<(), TimeError> {
        self.time.set(time)
    }

    /// Lets it be another time, until it is [popped](Self::pop_time). Times that a system pushes and does not pop, when it is updated
    /// or told something, are popped when it has returned.
    ///
    /// An [update](Self::update) while a time is pushed goes on from that time, and counts from its
    /// [frame](Time::frame). When it is popped, time and frame are what they were before it was pushed, whatever was updated meanwhile.
    ///
    /// # Errors
    ///
    /// With A0120 if it cannot be.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Time, World};
    ///
    /// let mut world = World::new("Simulation");
    /// world.update(0.25);
    /// world.push_time(Time::new(10.0, 0.5))?;
    /// assert_eq!(world.time().elapsed(), 10.0);
    /// world.pop_time()?;
    /// assert_eq!(world.time().elapsed(), 0.25);
    /// # Ok::<(), ancho_entities::TimeError>(())
    /// ```
    pub fn push_time(&mut self, time: Time) -> Result<(), TimeError> {
        self.time.push(time)
    }

    /// Goes back to the time before the last [push](Self::push_time). Returns what was pushed.
    ///
    /// # Errors
    ///
    /// With A0122 if nothing was pushed; in a system, if it has pushed nothing itself.
    pub fn pop_time(&mut self) -> Result<Time, TimeError> {
        self.reset_abandoned_update();
        self.time.pop()
    }

    /// How many seconds an update stands for at most, a third unless it is [set](Self::set_maximum_delta).
    pub fn maximum_delta(&self) -> f64 {
        self.time.maximum_delta()
    }

    /// Sets how many seconds an update stands for at most.
    ///
    /// # Errors
    ///
    /// With A0120 unless it is a number above zero.
    pub fn set_maximum_delta(&mut self, seconds: f64) -> Result<(), TimeError> {
        self.time.set_maximum_delta(seconds)
    }
}
