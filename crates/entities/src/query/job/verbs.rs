//! How queries become jobs.

#![expect(unsafe_code, reason = "promises which query a job is of")]

use std::ptr::NonNull;

use ancho_jobs::JobHandle;

use super::QueryJob;
use super::error::JobError;
use crate::query::data::{QueryData, ReadOnlyData};
use crate::query::filter::QueryFilter;
use crate::query::parallel::ParallelData;
use crate::query::read::QueryRef;
use crate::query::view::Query;
use crate::query::write::QueryMut;

impl<'w, D: QueryData, F: QueryFilter> QueryMut<'w, D, F> {
    /// Makes a job of the query. See [`QueryJob`].
    #[track_caller]
    pub fn job(self) -> QueryJob<'w, D> {
        let (entities, matched, settings) = self.into_parts();
        // SAFETY: the world is borrowed mutably for the lifetime, and the state is that of this query.
        unsafe { QueryJob::new(entities, matched, settings, false) }
    }

    /// Schedules a job that one thread does. See [`QueryJob::schedule`].
    ///
    /// # Errors
    ///
    /// As [`QueryJob::schedule`].
    #[track_caller]
    pub fn schedule<C>(self, function: C) -> Result<JobHandle, JobError>
    where
        D: ParallelData + 'static,
        C: FnMut(D::Item<'_>) + Send + 'static,
    {
        self.job().schedule(function)
    }

    /// Schedules a job that all threads do. See [`QueryJob::schedule_parallel`].
    ///
    /// # Errors
    ///
    /// As [`QueryJob::schedule`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn(Health(20));
    /// let harm = world.query_mut::<&mut Health>().schedule_parallel(|health| health.0 -= 1)?;
    /// let heal = world.query_mut::<&mut Health>().schedule_parallel(|health| health.0 *= 2)?;
    /// assert_eq!(world.get::<Health>(orc)?.0, 38, "the second has waited for the first");
    /// # let _ = (harm, heal);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn schedule_parallel<C>(self, function: C) -> Result<JobHandle, JobError>
    where
        D: ParallelData + 'static,
        C: Fn(D::Item<'_>) + Send + Sync + 'static,
    {
        self.job().schedule_parallel(function)
    }
}

impl<'w, D: ReadOnlyData, F: QueryFilter> QueryRef<'w, D, F> {
    /// Makes a job of the query. See [`QueryJob`].
    #[track_caller]
    pub fn job(&self) -> QueryJob<'w, D> {
        let (entities, matched) = (NonNull::from(self.entities), self.matched());
        // SAFETY: the world is borrowed for the lifetime, nothing can be changed, and the state is that of this query.
        unsafe { QueryJob::new(entities, matched, self.settings().clone(), false) }
    }

    /// Schedules a job that one thread does. See [`QueryJob::schedule`].
    ///
    /// # Errors
    ///
    /// As [`QueryJob::schedule`].
    #[track_caller]
    pub fn schedule<C>(&self, function: C) -> Result<JobHandle, JobError>
    where
        D: ParallelData + 'static,
        C: FnMut(D::Item<'_>) + Send + 'static,
    {
        self.job().schedule(function)
    }

    /// Schedules a job that all threads do. See [`QueryJob::schedule_parallel`].
    ///
    /// # Errors
    ///
    /// As [`QueryJob::schedule`].
    #[track_caller]
    pub fn schedule_parallel<C>(&self, function: C) -> Result<JobHandle, JobError>
    where
        D: ParallelData + 'static,
        C: Fn(D::Item<'_>) + Send + Sync + 'static,
    {
        self.job().schedule_parallel(function)
    }
}

impl<'w, D: QueryData, F: QueryFilter> Query<'w, D, F> {
    /// Makes a job of the query, which takes the place of the view. See [`QueryJob`], and
    /// [`Lookup::into_job`](crate::Lookup::into_job) for an example.
    ///
    /// To have the view afterwards, [`reborrow`](Self::reborrow) it first.
    pub fn job(self) -> QueryJob<'w, D::Static> {
        let (entities, matched, settings, meets) = self.into_parts();
        // SAFETY: the world is borrowed mutably for the lifetime, and other views have what this does not change, or it is
        // done at once. The state is that of this query. All chunks that it can write are the world's alone.
        unsafe { QueryJob::new(entities, matched, settings, meets) }
    }

    /// Schedules a job that one thread does, in the background. Who has to know of it later makes a [`job`](Self::job), which
    /// gives a handle.
    ///
    /// # Panics
    ///
    /// With what [`QueryJob::schedule`] returns as an error.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Query, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn(Health(20));
    /// let (mut health,) = world.split::<(Query<&mut Health>,)>();
    /// health.schedule(|health| health.0 -= 1);
    /// // Who asks the view again waits for the job.
    /// assert_eq!(health.get_mut(orc).unwrap().0, 19);
    /// ```
    #[track_caller]
    pub fn schedule<C>(&mut self, function: C)
    where
        D::Static: ParallelData,
        C: FnMut(<D::Static as QueryData>::Item<'_>) + Send + 'static,
    {
        scheduled(self.reborrow().job().schedule(function));
    }

    /// Schedules a job that all threads do, in the background. Who has to know of it later makes a [`job`](Self::job), which
    /// gives a handle.
    ///
    /// # Panics
    ///
    /// With what [`QueryJob::schedule_parallel`] returns as an error.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Query, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Position(f32);
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Velocity(f32);
    ///
    /// fn drift(dt: f32, mut movers: Query<(&mut Position, &Velocity)>) {
    ///     movers.schedule_parallel(move |(position, velocity)| position.0 += velocity.0 * dt);
    /// }
    ///
    /// let mut world = World::new("Simulation");
    /// let stone = world.spawn((Position(0.0), Velocity(1.5)));
    /// drift(2.0, world.split::<Query<(&mut Position, &Velocity)>>());
    /// assert_eq!(world.get::<Position>(stone).unwrap().0, 3.0);
    /// ```
    #[track_caller]
    pub fn schedule_parallel<C>(&mut self, function: C)
    where
        D::Static: ParallelData,
        C: Fn(<D::Static as QueryData>::Item<'_>) + Send + Sync + 'static,
    {
        scheduled(self.reborrow().job().schedule_parallel(function));
    }
}

/// Refuses in the words of the error. The world knows of the job, so that nobody has to keep the handle.
#[track_caller]
fn scheduled(job: Result<JobHandle, JobError>) {
    if let Err(error) = job {
        panic!("{error}");
    }
}
