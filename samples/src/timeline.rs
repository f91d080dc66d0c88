//! Who ran what, when: a frame's jobs on a timeline.
//!
//! The frame is a diamond. `Animate` and `Simulate` need what `Input` makes, and nothing of each other,
//! so they may run at the same time; `Draw` needs both:
//!
//! ```text
//!            ┌── Animate ───┐
//! Input ─────┤              ├── Draw
//!            └── Simulate ──┘
//! ```
//!
//! With profiling on, the pool records an event for every job and thread. The events are values; this
//! sample draws a frame with them, and writes all of them to a file that Perfetto opens.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Duration;

use ancho::jobs::{
    JobCell, JobEvent, JobHandle, JobScheduler, JobSlice, ScheduleError, write_chrome_trace,
};

use crate::gallery::{Sample, SampleResult, Stage};
use crate::state_hash::StateHash;

pub(crate) const SAMPLE: Sample = Sample {
    name: "timeline",
    summary: "a frame as a diamond of jobs, recorded and written as a trace",
    show,
    state_hash: |jobs, frames| Game::new(SIZE).run(jobs, frames),
};

/// Where the trace goes if nothing is said.
pub(crate) const TRACE: &str = "timeline.perfetto-trace.json";

/// How many bones and bodies there are: enough for a job to be worth another thread.
const SIZE: usize = 100_000;
/// How many jobs a frame has.
const JOBS: usize = 4;
/// How many columns the drawn timeline has.
const COLUMNS: usize = 48;

struct Game {
    /// How far the player pushes, this frame.
    push: JobCell<f32>,
    bones: JobSlice<f32>,
    bodies: JobSlice<f32>,
    picture: JobCell<f32>,
}

impl Game {
    fn new(size: usize) -> Self {
        Self {
            push: JobCell::new(0.0).named("push"),
            bones: JobSlice::new(size, 1.0).named("bones"),
            bodies: JobSlice::new(size, 2.0).named("bodies"),
            picture: JobCell::new(0.0).named("picture"),
        }
    }

    fn schedule_frame(
        &mut self,
        jobs: &JobScheduler,
        frame: u32,
    ) -> Result<JobHandle, ScheduleError> {
        let Self { push, bones, bodies, picture } = self;
        let input = jobs.named("Input").schedule(&[], push.write(), move |push| {
            *push = (frame % 8) as f32;
        })?;
        let data = (push.read(), bones.write());
        let animate = jobs.named("Animate").schedule(&[input], data, |(push, bones)| {
            for bone in bones {
                *bone = (*bone * *bone + push).sqrt() * 0.99;
            }
        })?;
        let data = (push.read(), bodies.write());
        let simulate = jobs.named("Simulate").schedule(&[input], data, |(push, bodies)| {
            for body in bodies {
                *body = (*body + push).sqrt() + 0.5 / (*body + 1.0);
            }
        })?;
        let data = (bones.read(), bodies.read(), picture.write());
        jobs.named("Draw").schedule(&[animate, simulate], data, |(bones, bodies, picture)| {
            *picture = bones.iter().zip(bodies).map(|(bone, body)| bone * body).sum();
        })
    }

    /// Runs so many frames, and returns the hash of the pictures.
    fn run(&mut self, jobs: &JobScheduler, frames: u32) -> SampleResult<u32> {
        let mut hash = StateHash::new();
        for frame in 0..frames {
            let drawn = self.schedule_frame(jobs, frame)?;
            jobs.complete(drawn);
            hash.add_f32(&[*self.picture.get()?]);
        }
        Ok(hash.finish())
    }
}

/// Runs so many frames, writes the trace of them, and returns its events and the hash of the pictures.
pub(crate) fn record(
    jobs: &JobScheduler,
    frames: u32,
    trace: &Path,
) -> SampleResult<(Vec<JobEvent>, u32)> {
    let pool = jobs.pool();
    pool.set_profiling(true);
    let hash = Game::new(SIZE).run(jobs, frames)?;
    pool.set_profiling(false);
    let events = pool.take_events();

    let written = File::create(trace).and_then(|file| {
        let mut file = BufWriter::new(file);
        write_chrome_trace(&events, &mut file)?;
        file.flush()
    });
    written.map_err(|error| format!("cannot write the trace {}: {error}", trace.display()))?;
    Ok((events, hash))
}

fn show(stage: &Stage<'_>) -> SampleResult<()> {
    let (mut events, hash) = record(stage.jobs, stage.frames, stage.trace)?;
    // A single job runs on one thread, so it has one event; and jobs are numbered as they are scheduled.
    events.sort_by_key(|event| event.sequence);
    let frames = events.chunks_exact(JOBS);
    let Some(shortest) = frames.min_by_key(|frame| frame[JOBS - 1].end - frame[0].start) else {
        return Err("there are no events".into());
    };
    println!("The shortest of {} frames:", stage.frames);
    print!("{}", drawn(shortest));
    println!("state hash {hash:08x}");
    println!("\nAll {} events are in {}.", events.len(), stage.trace.display());
    println!("Open it at https://ui.perfetto.dev, or in chrome://tracing.");
    Ok(())
}

/// Draws a line for each job of a frame, with a bar from its start to its end.
fn drawn(frame: &[JobEvent]) -> String {
    let first = frame.iter().map(|event| event.start).min().unwrap_or_default();
    let last = frame.iter().map(|event| event.end).max().unwrap_or_default();
    let microseconds = |time: Duration| (time - first).as_secs_f64() * 1e6;
    let column = |time| (microseconds(time) / microseconds(last) * COLUMNS as f64) as usize;
    let mut text = String::new();
    for &JobEvent { job, thread, start, end, .. } in frame {
        let begin = column(start).min(COLUMNS - 1);
        let bar = "#".repeat(column(end).saturating_sub(begin).max(1));
        let bar = format!("{:begin$}{bar}", "");
        let thread = if thread == 0 { "owner".to_owned() } else { format!("worker {thread}") };
        let (start, end) = (microseconds(start), microseconds(end));
        text += &format!("  {job:<9}|{bar:<COLUMNS$}|{start:6.1} to {end:5.1} us, {thread}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use ancho::jobs::JobPool;

    use super::*;
    use crate::headless::hash_in_all_cases;

    #[test]
    fn the_state_is_the_same_in_all_cases() {
        hash_in_all_cases(|jobs| Game::new(100).run(jobs, 5)).unwrap();
    }

    #[test]
    fn the_hash_is_that_of_several_different_pictures() {
        let jobs = JobScheduler::new(&JobPool::new());
        let mut game = Game::new(100);
        let mut picture = |frame| {
            jobs.complete(game.schedule_frame(&jobs, frame).unwrap());
            *game.picture.get().unwrap()
        };
        assert!((0..10).map(&mut picture).all(f32::is_finite));
        assert_ne!(picture(10), picture(11));
    }
}
