//! Jobs over what queries find that take containers and lookups along.

#![expect(
    unsafe_code,
    reason = "values of chunks that jobs use when the call that scheduled them is over"
)]

use std::any::type_name;
use std::fmt;

use ancho_jobs::{JobData, JobHandle, ParallelJobData};

use super::QueryJob;
use super::error::JobError;
use super::token::{QueryBatch, QueryWhole};
use crate::query::data::QueryData;
use crate::query::parallel::ParallelData;
use crate::query::rows::Divide;

/// A job over what a query finds that takes something along, and is about to be scheduled: from [`QueryJob::with`].
#[must_use = "nothing is scheduled until one of the `schedule` calls"]
pub struct QueryJobWith<'w, D, X> {
    pub(super) job: QueryJob<'w, D>,
    pub(super) extra: X,
}

impl<'w, D: QueryData, X: JobData> QueryJobWith<'w, D, X> {
    /// Gives the job a name. See [`QueryJob::named`].
    pub fn named(self, name: &'static str) -> Self {
        Self { job: self.job.named(name), ..self }
    }

    /// Lets the job depend on others. See [`QueryJob::depends_on`].
    pub fn depends_on(self, jobs: &'w [JobHandle]) -> Self {
        Self { job: self.job.depends_on(jobs), ..self }
    }

    /// Orders the job after others. See [`QueryJob::after`].
    pub fn after(self, jobs: &'w [JobHandle]) -> Self {
        Self { job: self.job.after(jobs), ..self }
    }

    /// Lets the job wait for those that use its containers. See [`QueryJob::in_turn`].
    pub fn in_turn(self) -> Self {
        Self { job: self.job.in_turn(), ..self }
    }

    /// Schedules a job that one thread does, entity by entity, in the order of the chunks. See [`QueryJob::schedule`].
    ///
    /// The function is given what the job takes along as a single job has it: what is written, as a whole.
    ///
    /// # Errors
    ///
    /// As [`QueryJob::schedule`]; also with A0001 if a container is in use by a job that this one is not ordered after, and
    /// with A0002 if one is taken along twice.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    /// use ancho_jobs::JobCell;
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_batch((0..1000).map(Health));
    /// let mut sum = JobCell::new(0);
    /// let job = world.query::<&Health>().job().with(sum.write()).schedule(|health, sum| **sum += health.0)?;
    /// world.jobs().complete(job);
    /// assert_eq!(*sum.get().unwrap(), 499_500);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn schedule<C>(self, mut function: C) -> Result<JobHandle, JobError>
    where
        D: ParallelData + 'static,
        C: FnMut(D::Item<'_>, &mut X::Whole<'_>) + Send + 'static,
    {
        let name = self.job.name_or::<C>();
        self.schedule_whole(name, move |item, extra| function(item, extra))
    }

    /// Does it now, on this thread. See [`QueryJob::run`].
    ///
    /// # Errors
    ///
    /// As [`schedule`](Self::schedule).
    ///
    /// # Panics
    ///
    /// If the function panics, or a job fails that has its [turn](Self::in_turn) before this, and writes one of its containers.
    #[track_caller]
    pub fn run<C>(self, mut function: C) -> Result<(), JobError>
    where
        D: ParallelData,
        C: FnMut(D::Item<'_>, &mut X::Whole<'_>),
    {
        let name = self.job.name_or::<C>();
        self.run_whole(name, move |item, extra| function(item, extra))
    }

    #[track_caller]
    pub(super) fn run_whole<C>(self, name: &'static str, function: C) -> Result<(), JobError>
    where
        D: ParallelData,
        C: for<'i, 'x> FnMut(D::Item<'i>, &mut X::Whole<'x>),
    {
        let token = self.job.token::<_, ()>(self.extra)?;
        let ran = self.job.builder(name).run(
            token,
            // SAFETY: the rows were collected for this data, and nobody else uses what the query does.
            |whole: QueryWhole<'_, X>| unsafe { whole.each::<D, C>(function) },
        );
        Ok(ran?)
    }

    #[track_caller]
    pub(super) fn schedule_whole<C>(
        self,
        name: &'static str,
        function: C,
    ) -> Result<JobHandle, JobError>
    where
        D: ParallelData + 'static,
        C: for<'i, 'x> FnMut(D::Item<'i>, &mut X::Whole<'x>) + Send + 'static,
    {
        let token = self.job.token::<_, ()>(self.extra)?;
        let scheduled = self.job.builder(name).schedule(
            self.job.dependencies,
            token,
            // SAFETY: the rows were collected for this data. All that was in the way is done, and nobody else begins.
            move |whole: QueryWhole<'_, X>| unsafe { whole.each::<D, C>(function) },
        );
        self.job.noted(name, scheduled)
    }

    /// Schedules a job that all threads do. See [`QueryJob::schedule_parallel`] and [`QueryJob::with`].
    ///
    /// # Errors
    ///
    /// As [`schedule`](Self::schedule); also with A0010 if a container is too short for all entities. If only the job can tell how
    /// many it finds, it panics instead.
    ///
    /// # Examples
    ///
    /// See [`QueryJob::with`].
    #[track_caller]
    pub fn schedule_parallel<C>(self, function: C) -> Result<JobHandle, JobError>
    where
        D: ParallelData + 'static,
        X: ParallelJobData,
        C: Fn(D::Item<'_>, X::Item<'_>) + Send + Sync + 'static,
    {
        let name = self.job.name_or::<C>();
        let token = self.job.counted_token::<_, ()>(self.extra, name)?;
        self.job.submit(
            token,
            Divide::Numbered,
            name,
            #[inline(always)]
            move |batch: &QueryBatch<'_, X>, at| {
                // SAFETY: it is prepared for this data, and each piece is opened once. The row is there. None comes twice, so that
                // nobody else uses what can be changed of it, and it was made the world's alone. Entities have numbers of their own.
                unsafe {
                    let piece = batch.rows.open::<D>(at);
                    let mut extra = batch.extra(at, piece.found_numbers.clone());
                    let mut number = 0;
                    piece.each_row(
                        #[inline(always)]
                        |row| {
                            function(D::get(piece.fetch, row), X::item(&mut extra, number));
                            number += 1;
                        },
                    );
                }
            },
        )
    }
}

impl<D, X> fmt::Debug for QueryJobWith<'_, D, X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "QueryJobWith<{}, {}>", type_name::<D>(), type_name::<X>())
    }
}
