//! Load balancing of uneven work.
//!
//! A row of the Mandelbrot set costs from a few steps per pixel up to the limit, which is unknown in advance. Split
//! into two halves, the picture below would keep one thread busy and leave the other idle for most of the time. Split
//! into rows, one per batch, it keeps both busy: a thread that has finished its own rows steals some of another's.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use ancho::jobs::{ExecutionMode, JobPool, JobScheduler, JobSlice};

use crate::gallery::{JobSample, Kind, Sample, SampleResult, Stage};
use crate::state_hash::StateHash;

pub(crate) const SAMPLE: Sample = Sample {
    name: "mandelbrot",
    summary: "rows of very different cost, distributed evenly among threads",
    kind: Kind::Jobs(JobSample {
        frames: 60,
        show,
        state_hash: |jobs, frames| Picture::new(WIDTH, HEIGHT).run(jobs, frames),
    }),
};

const WIDTH: usize = 160;
const HEIGHT: usize = 100;
/// Number of steps after which a point counts as a member of the set.
const LIMIT: u8 = 200;

/// Point of the plane that the camera approaches.
const TARGET: (f64, f64) = (-0.7453, 0.1127);
const ZOOM_PER_FRAME: f64 = 0.99;

/// The visible part of the plane.
#[derive(Clone, Copy)]
struct View {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl View {
    /// The first view: the set from its top to just below its middle. The lower rows cost much more than the upper ones.
    const FIRST: Self = Self { left: -2.1, right: 0.7, top: 1.3, bottom: -0.1 };

    fn closer(self) -> Self {
        let closer = |edge: f64, target: f64| target + (edge - target) * ZOOM_PER_FRAME;
        Self {
            left: closer(self.left, TARGET.0),
            right: closer(self.right, TARGET.0),
            top: closer(self.top, TARGET.1),
            bottom: closer(self.bottom, TARGET.1),
        }
    }
}

struct Picture {
    width: usize,
    height: usize,
    /// Number of steps before each point escaped, row by row.
    steps: JobSlice<u8>,
}

impl Picture {
    fn new(width: usize, height: usize) -> Self {
        Self { width, height, steps: JobSlice::new(width * height, 0).named("steps") }
    }

    fn draw(&mut self, jobs: &JobScheduler, view: View) -> SampleResult<()> {
        let (width, height) = (self.width, self.height);
        let across = (view.right - view.left) / width as f64;
        let down = (view.bottom - view.top) / height as f64;
        // Runs now, and waits: the closure may borrow, and there is no handle to keep.
        jobs.named("Rows").run_parallel(
            self.steps.write(),
            width * height,
            width,
            |row, range| {
                let y = view.top + down * (range.start / width) as f64;
                for (column, steps) in row.iter_mut().enumerate() {
                    *steps = steps_to_leave(view.left + across * column as f64, y);
                }
            },
        )?;
        Ok(())
    }

    /// Draws a number of frames, each closer to the target, and returns the hash of all.
    fn run(&mut self, jobs: &JobScheduler, frames: u32) -> SampleResult<u64> {
        let mut hash = StateHash::new();
        let mut view = View::FIRST;
        for _ in 0..frames {
            self.draw(jobs, view)?;
            hash.add_bytes(self.steps.as_slice()?);
            view = view.closer();
        }
        Ok(hash.finish())
    }

    fn as_text(&self, columns: usize, lines: usize) -> SampleResult<String> {
        const SHADES: &[u8] = b" .:-=+*%#@";
        let most = usize::from(LIMIT).isqrt();
        let steps = self.steps.as_slice()?;
        let mut text = String::new();
        for line in 0..lines {
            let row = &steps[line * self.height / lines * self.width..][..self.width];
            text.extend((0..columns).map(|column| {
                let steps = usize::from(row[column * self.width / columns]);
                // More shades for low counts, which have more detail.
                char::from(SHADES[steps.isqrt() * (SHADES.len() - 1) / most])
            }));
            text.push('\n');
        }
        Ok(text)
    }
}

/// Iterates until the point leaves the circle of radius two, or the limit is reached.
fn steps_to_leave(x: f64, y: f64) -> u8 {
    let (mut a, mut b) = (0.0, 0.0);
    for step in 0..LIMIT {
        let (a_squared, b_squared) = (a * a, b * b);
        if a_squared + b_squared > 4.0 {
            return step;
        }
        (a, b) = (a_squared - b_squared + x, 2.0 * a * b + y);
    }
    LIMIT
}

/// Returns the time that each thread worked, as recorded by the pool.
fn work_by_thread(pool: &JobPool) -> BTreeMap<usize, Duration> {
    let mut work = BTreeMap::new();
    for event in pool.take_events() {
        *work.entry(event.thread).or_default() += event.end - event.start;
    }
    work
}

fn show(stage: &Stage<'_>) -> SampleResult<()> {
    let Stage { jobs, frames, .. } = *stage;
    let mut picture = Picture::new(WIDTH, HEIGHT);
    picture.draw(jobs, View::FIRST)?;
    say!("{}", picture.as_text(80, 25)?.trim_end_matches('\n'));
    let steps = picture.steps.as_slice()?;
    let sum = |steps: &[u8]| steps.iter().map(|&steps| u64::from(steps)).sum::<u64>();
    let (all, upper) = (sum(steps), sum(&steps[..steps.len() / 2]));
    say!("The upper half is {} % of the work.\n", upper * 100 / all);

    jobs.pool().set_profiling(true);
    let start = Instant::now();
    let together_hash = picture.run(jobs, frames)?;
    let together = start.elapsed();
    jobs.pool().set_profiling(false);
    say!("{frames} frames on {} threads: {:.2} s", jobs.thread_count(), together.as_secs_f64());
    for (thread, work) in work_by_thread(jobs.pool()) {
        let name = if thread == 0 { "the owner".to_owned() } else { format!("worker {thread}") };
        say!("  {name} worked {:.2} s", work.as_secs_f64());
    }

    let mode = jobs.mode();
    jobs.set_mode(ExecutionMode::Serial);
    let start = Instant::now();
    let alone_hash = picture.run(jobs, frames)?;
    let alone = start.elapsed();
    jobs.set_mode(mode);
    say!("{frames} frames on one thread: {:.2} s", alone.as_secs_f64());
    say!("speed-up: {:.2}", alone.as_secs_f64() / together.as_secs_f64());
    if together_hash != alone_hash {
        return Err("the pictures are not the same".into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gallery::hash_in_all_cases;

    #[test]
    fn known_points_stay_or_leave() {
        assert_eq!(steps_to_leave(0.0, 0.0), LIMIT);
        assert_eq!(steps_to_leave(-1.0, 0.0), LIMIT);
        assert_eq!(steps_to_leave(3.0, 0.0), 1);
        assert_eq!(steps_to_leave(1.0, 0.0), 3);
    }

    #[test]
    fn the_state_is_the_same_in_all_cases() {
        hash_in_all_cases(|jobs| Picture::new(24, 15).run(jobs, 5)).unwrap();
    }
}
