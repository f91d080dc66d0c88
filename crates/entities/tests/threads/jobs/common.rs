//! Gates that block jobs, and worlds with threads.

#[path = "../../../../jobs/tests/jobs/common/mod.rs"]
mod flags;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ancho_entities::{World, WorldSettings};
use ancho_jobs::ExecutionMode;

pub(crate) use crate::common::*;
pub(crate) use flags::{WORKERS, a_while, eventually, must_end, pool};

/// Time limit for a job at a gate that stays closed. Only a failing test waits this long.
const PATIENCE: Duration = Duration::from_secs(20);

/// The modes in which results must be the same.
pub(crate) const MODES: [ExecutionMode; 4] = [
    ExecutionMode::Parallel,
    ExecutionMode::Serial,
    ExecutionMode::Shuffle { seed: 1 },
    ExecutionMode::Shuffle { seed: 7 },
];

/// Creates a world with this number of worker threads.
pub(crate) fn world_with(workers: usize) -> Checked {
    world_of(workers, 1 << 20)
}

/// Creates a world with this number of worker threads, and at most `rows` entities in a chunk.
pub(crate) fn world_of(workers: usize, rows: usize) -> Checked {
    let settings = WorldSettings::new().chunk_capacity_limit(rows).job_pool(&pool(workers));
    Checked(World::with_settings("Simulation", settings))
}

/// Returns the inner world, which is not checked when dropped.
pub(crate) fn into_world(mut world: Checked) -> World {
    std::mem::replace(&mut world.0, World::new("Nothing"))
}

/// A gate that blocks jobs until it is opened. Opens when dropped, so that a failing test does not hang.
#[derive(Default)]
pub(crate) struct Gate(Arc<State>);

#[derive(Default)]
struct State {
    arrived: AtomicUsize,
    left: AtomicUsize,
    is_open: AtomicBool,
}

impl State {
    fn stand(&self) {
        let start = Instant::now();
        self.arrived.fetch_add(1, Ordering::SeqCst);
        while !self.is_open.load(Ordering::SeqCst) && start.elapsed() < PATIENCE {
            thread::sleep(Duration::from_micros(100));
        }
        self.left.fetch_add(1, Ordering::SeqCst);
        assert!(self.is_open.load(Ordering::SeqCst), "the gate was never opened");
    }
}

impl Gate {
    /// Returns a function that blocks a job at the gate.
    pub(crate) fn stand(&self) -> impl Fn() + Clone + Send + Sync + 'static {
        let state = Arc::clone(&self.0);
        move || state.stand()
    }

    /// Returns a function that tells whether a job has passed the gate.
    pub(crate) fn was_left_asker(&self) -> impl Fn() -> bool + Clone + Send + Sync + 'static {
        let state = Arc::clone(&self.0);
        move || state.left.load(Ordering::SeqCst) > 0
    }

    /// Starts the scheduled jobs, and waits until one is blocked at the gate.
    #[track_caller]
    pub(crate) fn await_job(&self, world: &World) {
        world.jobs().flush();
        eventually(|| self.0.arrived.load(Ordering::SeqCst) > 0);
    }

    /// Returns whether a job is blocked now.
    pub(crate) fn is_occupied(&self) -> bool {
        // In this order: a job arrives before it leaves.
        let left = self.0.left.load(Ordering::SeqCst);
        self.0.arrived.load(Ordering::SeqCst) > left
    }

    pub(crate) fn has_arrived(&self) -> bool {
        self.0.arrived.load(Ordering::SeqCst) > 0
    }

    pub(crate) fn open(&self) {
        self.0.is_open.store(true, Ordering::SeqCst);
    }

    /// Runs an action that must not wait for the job at the gate.
    #[track_caller]
    pub(crate) fn beside<R>(&self, name: &str, action: impl FnOnce() -> R) -> R {
        assert!(self.is_occupied(), "{name}: no job is at the gate");
        let result = action();
        assert!(self.is_occupied(), "{name} has waited");
        result
    }

    /// Runs an action that must wait for the job at the gate, and opens the gate after a while.
    #[track_caller]
    pub(crate) fn after<R>(&self, name: &str, action: impl FnOnce() -> R) -> R {
        assert!(self.is_occupied(), "{name}: no job is at the gate");
        let state = Arc::clone(&self.0);
        let opener = thread::spawn(move || {
            a_while();
            state.is_open.store(true, Ordering::SeqCst);
        });
        let result = action();
        assert!(!self.is_occupied(), "{name} has not waited");
        opener.join().unwrap();
        result
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.open();
    }
}

/// Schedules jobs over one or several entities that block at a gate; the first argument selects the kind of access.
macro_rules! stand_at {
    ($gate:expr, $job:expr) => {{
        let stand = $gate.stand();
        $job.schedule(move |_| stand())
    }};
}

pub(crate) use stand_at;
