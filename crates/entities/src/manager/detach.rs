//! All entities leave their world for a while.

use std::mem;

use ancho_jobs::JobFailed;

use super::EntityManager;
use crate::storage::Storage;

impl EntityManager {
    /// Takes all entities out, with all that is known of them, for a thread to work on. What stays has none, and the scheduler of
    /// the world.
    pub(crate) fn lend(&mut self) -> Self {
        self.jobs.before_everything();
        let empty = Storage::new(self.storage.settings.clone());
        let stays = Self::with_storage(empty, self.jobs.of_same_pool(), self.strict);
        let mut lent = mem::replace(self, stays);
        mem::swap(&mut lent.jobs, &mut self.jobs);
        lent
    }

    /// Completes all jobs over entities that were [lent](Self::lend). Their failures are kept.
    pub(crate) fn complete_jobs_over_lent(&mut self) {
        self.jobs.before_everything();
    }

    /// Completes all jobs over entities that were [lent](Self::lend). Returns the first failure that nobody was told of.
    ///
    /// # Panics
    ///
    /// With A0006 from inside of a job over these entities.
    #[track_caller]
    pub(crate) fn complete_lent(&mut self) -> Option<JobFailed> {
        self.complete_jobs_over_lent();
        self.jobs.scheduler().take_failures().into_iter().next()
    }

    /// Takes entities back in that were [lent](Self::lend). Returns the first failure of a job over them that nobody was told of.
    ///
    /// # Panics
    ///
    /// With A0006 from inside of a job over these entities.
    #[track_caller]
    pub(crate) fn take_in(&mut self, mut lent: Self) -> Option<JobFailed> {
        // The scheduler of the world knows nothing of jobs that were scheduled meanwhile, and would let others get in their way.
        let failed = lent.complete_lent();
        mem::swap(&mut lent.jobs, &mut self.jobs);
        *self = lent;
        failed
    }
}
