//! The times of frames: pure functions of the time that has passed.

use std::time::Duration;

/// Measures frames, and computes how long to wait between them. Times are those since the start of the app.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FrameClock {
    /// The begin of the last frame.
    last: Option<Duration>,
    /// The earliest begin of the next frame.
    due: Duration,
}

impl FrameClock {
    /// Begins a frame at `now`. Returns the time since the last frame began, which is zero for the first frame.
    pub(crate) fn begin(&mut self, now: Duration) -> Duration {
        let last = self.last.replace(now).unwrap_or(now);
        now.saturating_sub(last)
    }

    /// Returns how long to wait at `now` for the next frame.
    ///
    /// Frames are due at a fixed distance, so that a frame that is a little late does not delay all others. If a frame is late by more
    /// than a whole frame, the others do not hurry to catch up.
    pub(crate) fn wait(&mut self, now: Duration, frame_time: Duration) -> Duration {
        let begun = self.last.unwrap_or(now);
        let due = self.due.saturating_add(frame_time).max(begun);
        self.due = if due.saturating_add(frame_time) < now { now } else { due };
        self.due.saturating_sub(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    /// Runs frames that take the given times. Returns when each begins, and the time that it passes to the worlds.
    fn frames(frame_time: u64, work: &[u64]) -> Vec<(u64, u64)> {
        let (mut clock, mut now, mut all) = (FrameClock::default(), ms(0), Vec::new());
        for work in work {
            let delta = clock.begin(now);
            all.push((now.as_millis() as u64, delta.as_millis() as u64));
            now += ms(*work);
            now += clock.wait(now, ms(frame_time));
        }
        all
    }

    #[test]
    fn short_frames_wait_until_the_next_one_is_due() {
        assert_eq!(frames(10, &[3, 9, 0, 10, 1]), [(0, 0), (10, 10), (20, 10), (30, 10), (40, 10)]);
    }

    #[test]
    fn a_late_frame_does_not_delay_the_ones_after_it() {
        assert_eq!(frames(10, &[3, 14, 2, 1]), [(0, 0), (10, 10), (24, 14), (30, 6)]);
    }

    #[test]
    fn frames_do_not_hurry_after_a_long_one() {
        assert_eq!(frames(10, &[95, 2, 2, 2]), [(0, 0), (95, 95), (105, 10), (115, 10)]);
    }

    #[test]
    fn frames_without_a_limit_do_not_wait() {
        assert_eq!(frames(0, &[3, 0, 7, 1]), [(0, 0), (3, 3), (3, 0), (10, 7)]);
    }
}
