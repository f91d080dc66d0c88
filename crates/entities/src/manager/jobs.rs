//! The threads that a world has its work done by.

use std::cell::{Cell, OnceCell};

use ancho_jobs::{JobPool, JobScheduler};

use super::EntityManager;
use super::fences::Fences;
use crate::query::Pieces;

/// The scheduler of a world, which is made when it is first asked for, and what parallel loops need memory for.
pub(crate) struct Jobs {
    /// `None` is the pool of the process.
    pool: Option<JobPool>,
    scheduler: OnceCell<JobScheduler>,
    /// Which jobs use what of the world.
    pub(super) fences: Fences,
    /// What the last parallel loop had, so that the next has its memory.
    pieces: Cell<Pieces>,
}

impl Jobs {
    pub(crate) fn new(pool: Option<JobPool>) -> Self {
        Self { pool, scheduler: OnceCell::new(), fences: Fences::default(), pieces: Cell::default() }
    }

    /// The jobs of a world that has its work done by the same threads.
    pub(super) fn of_same_pool(&self) -> Self {
        Self::new(self.pool.clone())
    }

    #[inline]
    pub(crate) fn scheduler(&self) -> &JobScheduler {
        self.scheduler.get_or_init(|| match &self.pool {
            Some(pool) => JobScheduler::new(pool),
            None => JobScheduler::new(&JobPool::shared()),
        })
    }

    /// Lends memory for pieces, and takes it back when the function is done.
    pub(crate) fn with_pieces<R>(&self, function: impl FnOnce(&mut Pieces) -> R) -> R {
        let mut pieces = self.pieces.take();
        let result = function(&mut pieces);
        self.pieces.set(pieces);
        result
    }
}

impl EntityManager {
    /// The scheduler of the world: its parallel loops run there, and other jobs can.
    ///
    /// It belongs to the pool of the [settings](crate::WorldSettings::job_pool).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::World;
    ///
    /// let world = World::new("Simulation");
    /// let jobs = world.entities().jobs();
    /// let sum = jobs.run((), |()| 1 + 1).unwrap();
    /// assert_eq!(sum, 2);
    /// ```
    pub fn jobs(&self) -> &JobScheduler {
        self.jobs.scheduler()
    }
}
