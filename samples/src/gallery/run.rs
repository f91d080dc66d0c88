//! A running sample.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use ancho::jobs::JobEvent;
use ancho::prelude::*;

use super::world_file::{self, Recording};
use super::{Canvas, Key, SampleResult, Summary, WorldSample};

/// Time step of a frame. It is constant, so that results are the same on every machine.
pub(crate) const STEP: f64 = 1.0 / 60.0;

/// A world, and measurements of its frames.
#[derive(Debug)]
pub(crate) struct Run<'s> {
    sample: &'s WorldSample,
    world: World,
    pool: JobPool,
    /// Duration of each frame.
    frames: Vec<Duration>,
    /// Number of times that an entity, or a batch of entities, entered or left a chunk.
    moves: u64,
    /// Time that each thread spent on jobs. The first is the main thread.
    busy: Vec<Duration>,
    /// Time that all threads spent on the jobs of each name.
    jobs: BTreeMap<&'static str, Duration>,
    /// Events of the threads, if a trace is recorded.
    trace: Option<Vec<JobEvent>>,
    keys: Keys,
}

/// Handling of the keys of a run.
#[derive(Debug)]
enum Keys {
    Press,
    /// Keys are pressed and recorded, with the number of frames before each. `first` is the state before the first frame.
    Record {
        first: Box<World>,
        pressed: Vec<(usize, Key)>,
    },
    /// Recorded keys are pressed. Other keys have no effect.
    Replay(Vec<(usize, Key)>),
}

impl<'s> Run<'s> {
    /// Prepares to run a world that has the systems of the sample. Records the events of the threads if a trace is requested.
    pub(crate) fn new(
        sample: &'s WorldSample,
        mut world: World,
        pool: &JobPool,
        trace: bool,
    ) -> Self {
        world.profile_systems(true);
        pool.set_profiling(true);
        Self {
            sample,
            world,
            frames: Vec::new(),
            moves: 0,
            busy: vec![Duration::ZERO; pool.workers() + 1],
            jobs: BTreeMap::new(),
            trace: trace.then(Vec::new),
            pool: pool.clone(),
            keys: Keys::Press,
        }
    }

    /// Begins to record keys. Call it before the first frame.
    pub(crate) fn record(&mut self) -> SampleResult<()> {
        self.keys = Keys::Record { first: Box::new(self.world.fork()?), pressed: Vec::new() };
        Ok(())
    }

    /// Presses recorded keys from now on, each before the frame in which it was recorded.
    pub(crate) fn replay(&mut self, keys: Vec<(usize, Key)>) {
        self.keys = Keys::Replay(keys);
    }

    /// Runs one frame: updates the world, and completes all of its jobs.
    pub(crate) fn step(&mut self) -> SampleResult<()> {
        if let (Keys::Replay(keys), Some(steering)) = (&self.keys, &self.sample.steering) {
            let due = keys.iter().filter(|(frame, _)| *frame == self.frames.len());
            due.for_each(|&(_, key)| (steering.press)(&mut self.world, key));
        }
        let before = self.world.order_version();
        let start = Instant::now();
        let updated = self.world.try_update(STEP);
        self.world.complete_jobs();
        self.frames.push(start.elapsed());
        let after = self.world.order_version();
        self.moves += u64::from(after.wrapping_sub(before));
        let events = self.pool.take_events();
        for event in &events {
            let time = event.end.saturating_sub(event.start);
            self.busy[event.thread] += time;
            *self.jobs.entry(event.job).or_default() += time;
        }
        if let Some(trace) = &mut self.trace {
            trace.extend(events);
        }
        Ok(updated?)
    }

    pub(crate) fn press(&mut self, key: Key) {
        let Some(steering) = &self.sample.steering else { return };
        match &mut self.keys {
            Keys::Press => {}
            Keys::Record { pressed, .. } => pressed.push((self.frames.len(), key)),
            Keys::Replay(_) => return,
        }
        (steering.press)(&mut self.world, key);
    }

    /// Returns the description of the sample's keys, if it has any.
    pub(crate) fn steering_help(&self) -> Option<&'static str> {
        Some(self.sample.steering.as_ref()?.help)
    }

    pub(crate) fn paint(&self, canvas: &mut Canvas) {
        (self.sample.paint)(&self.world, canvas);
    }

    /// Returns the number of frames run.
    pub(crate) fn frame_count(&self) -> usize {
        self.frames.len()
    }

    /// Returns the median duration of the last frames.
    pub(crate) fn recent_frame(&self) -> Duration {
        let recent = self.frames.len().saturating_sub(60);
        let mut frames = self.frames[recent..].to_vec();
        frames.sort_unstable();
        frames.get(frames.len() / 2).copied().unwrap_or_default()
    }

    pub(crate) fn entity_count(&self) -> usize {
        self.world.entity_count()
    }

    /// Returns the events of the threads, if a trace was recorded.
    pub(crate) fn trace(&self) -> Option<&[JobEvent]> {
        self.trace.as_deref()
    }

    pub(crate) fn state_hash(&self) -> u64 {
        self.world.state_hash()
    }

    /// Saves the current state.
    pub(crate) fn save(&self, name: &str, path: &Path) -> SampleResult<()> {
        world_file::save(name, &self.world, path)
    }

    /// Saves and returns the recording of the run, which must have begun with `record`.
    pub(crate) fn save_recording(&self, name: &str, path: &Path) -> SampleResult<Recording> {
        let Keys::Record { first, pressed } = &self.keys else {
            return Err("The run was not recorded.".into());
        };
        let recording = Recording {
            keys: pressed.clone(),
            frames: self.frames.len().try_into()?,
            state_hash: self.state_hash(),
        };
        world_file::save_recording(name, first, &recording, path)?;
        Ok(recording)
    }

    /// Returns the measurements of the run.
    pub(crate) fn summary(&mut self) -> Summary {
        Summary::new(&mut self.world, &self.frames, self.moves, &self.busy, &self.jobs)
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        self.pool.set_profiling(false);
    }
}
