//! A sample that runs, frame by frame.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use ancho::jobs::JobEvent;
use ancho::prelude::*;

use super::{Canvas, Key, Options, SampleResult, Summary, WorldSample};

/// How much time passes in a world with each frame, however long it takes: what happens is the same on every machine.
pub(crate) const STEP: f64 = 1.0 / 60.0;

/// A world, and what is known of its frames.
#[derive(Debug)]
pub(crate) struct Run<'s> {
    sample: &'s WorldSample,
    world: World,
    pool: JobPool,
    /// How long each frame took.
    frames: Vec<Duration>,
    /// How often an entity, or a batch of them, entered or left a chunk.
    moves: u64,
    /// How long each thread worked on jobs. The first is the one that has the world.
    busy: Vec<Duration>,
    /// How long all threads worked on the jobs of each name.
    jobs: BTreeMap<&'static str, Duration>,
    /// What the threads did, if it is wanted.
    trace: Option<Vec<JobEvent>>,
}

impl<'s> Run<'s> {
    /// Makes the world of a sample. If so much is wanted, it keeps what the threads do for a trace.
    pub(crate) fn new(
        sample: &'s WorldSample,
        options: &Options,
        trace: bool,
    ) -> SampleResult<Self> {
        let mut world = sample.world(options)?;
        world.profile_systems(true);
        let pool = options.pool.clone();
        pool.set_profiling(true);
        Ok(Self {
            sample,
            world,
            frames: Vec::new(),
            moves: 0,
            busy: vec![Duration::ZERO; pool.workers() + 1],
            jobs: BTreeMap::new(),
            trace: trace.then(Vec::new),
            pool,
        })
    }

    /// Runs one frame: updates the world, and waits for all that it has started.
    pub(crate) fn step(&mut self) -> SampleResult<()> {
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
        if let Some(steering) = &self.sample.steering {
            (steering.press)(&mut self.world, key);
        }
    }

    /// Which keys it takes, if it does.
    pub(crate) fn steering_help(&self) -> Option<&'static str> {
        Some(self.sample.steering.as_ref()?.help)
    }

    pub(crate) fn paint(&self, canvas: &mut Canvas) {
        (self.sample.paint)(&self.world, canvas);
    }

    /// How many frames it ran for.
    pub(crate) fn frame_count(&self) -> usize {
        self.frames.len()
    }

    /// How long the last frames took, the middle one of them.
    pub(crate) fn recent_frame(&self) -> Duration {
        let recent = self.frames.len().saturating_sub(60);
        let mut frames = self.frames[recent..].to_vec();
        frames.sort_unstable();
        frames.get(frames.len() / 2).copied().unwrap_or_default()
    }

    pub(crate) fn entity_count(&self) -> usize {
        self.world.entity_count()
    }

    /// What the threads did, if it was wanted.
    pub(crate) fn trace(&self) -> Option<&[JobEvent]> {
        self.trace.as_deref()
    }

    /// What there is to say at the end.
    pub(crate) fn summary(&mut self) -> Summary {
        Summary::new(&mut self.world, &self.frames, self.moves, &self.busy, &self.jobs)
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        self.pool.set_profiling(false);
    }
}
