//! Gates for jobs to stand at, and worlds with threads.

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

/// How long a job stands at a gate that nobody opens. Only a test that fails waits for this.
const PATIENCE: Duration = Duration::from_secs(20);

/// The modes in which results must be the same.
pub(crate) const MODES: [ExecutionMode; 4] = [
    ExecutionMode::Parallel,
    ExecutionMode::Serial,
    ExecutionMode::Shuffle { seed: 1 },
    ExecutionMode::Shuffle { seed: 7 },
];

/// A world with so many worker threads.
pub(crate) fn world_with(workers: usize) -> Checked {
    world_of(workers, 1 << 20)
}

/// A world with so many worker threads, and so many entities in a chunk.
pub(crate) fn world_of(workers: usize, rows: usize) -> Checked {
    let settings = WorldSettings::new().chunk_capacity_limit(rows).job_pool(&pool(workers));
    Checked(World::with_settings("Simulation", settings))
}

/// The world alone, which is not checked when it goes.
pub(crate) fn into_world(mut world: Checked) -> World {
    std::mem::replace(&mut world.0, World::new("Nothing"))
}

/// A gate that jobs stand at until it is opened. Opens when dropped, so that a test that fails does not hang.
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
        assert!(self.is_open.load(Ordering::SeqCst), "nobody has opened the gate");
    }
}

impl Gate {
    /// What a job calls to stand at the gate.
    pub(crate) fn stand(&self) -> impl Fn() + Clone + Send + Sync + 'static {
        let state = Arc::clone(&self.0);
        move || state.stand()
    }

    /// What a job calls to learn whether somebody has stood at the gate, and is gone.
    pub(crate) fn was_left_asker(&self) -> impl Fn() -> bool + Clone + Send + Sync + 'static {
        let state = Arc::clone(&self.0);
        move || state.left.load(Ordering::SeqCst) > 0
    }

    /// Starts what is scheduled, and waits until somebody stands at the gate.
    #[track_caller]
    pub(crate) fn await_job(&self, world: &World) {
        world.jobs().flush();
        eventually(|| self.0.arrived.load(Ordering::SeqCst) > 0);
    }

    /// Whether somebody stands there now.
    pub(crate) fn is_occupied(&self) -> bool {
        // In this order: who has left has arrived before.
        let left = self.0.left.load(Ordering::SeqCst);
        self.0.arrived.load(Ordering::SeqCst) > left
    }

    pub(crate) fn has_arrived(&self) -> bool {
        self.0.arrived.load(Ordering::SeqCst) > 0
    }

    pub(crate) fn open(&self) {
        self.0.is_open.store(true, Ordering::SeqCst);
    }

    /// Does something that must not wait for the job at the gate.
    #[track_caller]
    pub(crate) fn beside<R>(&self, name: &str, action: impl FnOnce() -> R) -> R {
        assert!(self.is_occupied(), "{name}: nobody is at the gate");
        let result = action();
        assert!(self.is_occupied(), "{name} has waited");
        result
    }

    /// Does something that has to wait for the job at the gate, which is opened when there was time enough to do it.
    #[track_caller]
    pub(crate) fn after<R>(&self, name: &str, action: impl FnOnce() -> R) -> R {
        assert!(self.is_occupied(), "{name}: nobody is at the gate");
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

/// Schedules jobs over one entity or several, which stand at a gate: the first argument says how they use it.
macro_rules! stand_at {
    ($gate:expr, $job:expr) => {{
        let stand = $gate.stand();
        $job.schedule(move |_| stand())
    }};
}

pub(crate) use stand_at;
