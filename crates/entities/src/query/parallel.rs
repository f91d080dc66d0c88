//! Loops over what a query finds on all threads.

#![expect(unsafe_code, reason = "values of chunks of a world that is borrowed, on several threads")]

use std::any::type_name;
use std::ops::Range;

use ancho_burst::{CpuLevel, dispatch_as};

use super::batch::{Divide, Pick, Rows};
use super::data::{ChunkData, QueryData, ReadOnlyData};
use super::filter::QueryFilter;
use super::loops::refuse;
use super::read::QueryRef;
use super::view::Query;
use super::walk::Walk;
use super::write::QueryMut;
use crate::entity::Entity;
use crate::error::EntityError;
use crate::manager::Jobs;
use crate::storage::OutOfMemory;

/// What a query gives for each entity, and can be given on any thread.
///
/// That is everything but managed components, which stay on the thread of their world, and
/// [`TrackedMut`](crate::TrackedMut), which notes what other threads would note at the same place.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, ParallelData, QueryData, World};
///
/// #[derive(Component, Clone, Copy)]
/// struct Health(u32);
///
/// fn each<D: ParallelData>(world: &mut World, function: impl Fn(D::Item<'_>) + Sync) {
///     world.query_mut::<D>().for_each_parallel(function);
/// }
///
/// let mut world = World::new("Simulation");
/// let orc = world.spawn(Health(20));
/// each::<&mut Health>(&mut world, |health| health.0 -= 3);
/// assert_eq!(world.get::<Health>(orc).unwrap().0, 17);
/// ```
///
/// A managed component stays where it is:
///
/// ```compile_fail,E0277
/// use ancho_entities::{Managed, ManagedComponent, World};
///
/// #[derive(ManagedComponent)]
/// struct Script(#[field(opaque)] std::cell::Cell<u32>);
///
/// World::new("Simulation").query_mut::<&Managed<Script>>().for_each_parallel(|script| script.0.set(1));
/// ```
///
/// # Safety
///
/// Not to be implemented outside of this crate: what is given for rows of different words, of 64 rows each, can be used on
/// different threads at the same time.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be given on several threads",
    label = "stays on the thread of its world",
    note = "use `for_each`; managed components and `TrackedMut` are of one thread"
)]
pub unsafe trait ParallelData: QueryData {}

/// Calls a function for everything that a walk finds, on all threads, compiled for the CPU at hand.
///
/// # Safety
///
/// - the walk is that of a query of this data, of these entities, and writes, unless it cannot be changed
/// - it is used once
#[track_caller]
unsafe fn each_row_parallel<'w, D: ParallelData, C: Fn(D::Item<'w>) + Sync>(
    jobs: &Jobs,
    walk: &Walk<'w>,
    function: C,
) -> Result<(), OutOfMemory> {
    let scheduler = jobs.scheduler();
    let threads = scheduler.thread_count();
    let mut pooled = jobs.rows().take();
    let rows = pooled.get_mut();
    // SAFETY: the caller's promise. The world is borrowed for the lifetime.
    let count = unsafe {
        rows.collect::<D>(walk)?;
        rows.prepare::<D>(Divide::Rows)
    };
    let (rows, function) = (&*rows, &function);
    let done = (count > 1 && threads > 1).then(|| {
        scheduler.named(type_name::<C>()).run_parallel(
            (),
            count,
            1,
            #[inline(always)]
            // SAFETY: it is prepared, and each piece is taken once.
            |(), pieces| unsafe { rows.each_row::<D>(pieces, function) },
        )
    });
    // Where no job can be scheduled, as inside of one, this thread does it.
    if !matches!(done, Some(Ok(()))) {
        dispatch_as::<C, _, _>(
            CpuLevel::V4,
            #[inline(always)]
            // SAFETY: as above. No job has run.
            || unsafe { rows.each_row::<D>(0..count, function) },
        );
    }
    Ok(())
}

/// Calls a function for the slices of what is found in some pieces.
///
/// # Safety
///
/// - the rows are prepared for this data, in whole chunks, and used by nobody else for the lifetime
/// - it is called once for each piece
#[inline(always)]
unsafe fn slices_of_pieces<'w, D, C>(rows: &Rows, pieces: Range<usize>, function: &C)
where
    D: ParallelData + ChunkData,
    C: Fn(D::Slices<'w>) + Sync,
{
    for at in pieces {
        // SAFETY: the caller's promises.
        let piece = unsafe { rows.open::<D>(at) };
        piece.each_run(
            #[inline(always)]
            |run| {
                // SAFETY: these are rows of the chunk. None comes twice, so that nobody else uses what can be changed of them, and it
                // was made the world's alone.
                function(unsafe { D::slices(piece.fetch, run.start as usize, run.len()) });
            },
        );
    }
}

/// Calls a function for the slices of what a walk finds in the chunks that are picked, on all threads, compiled for the CPU at hand.
///
/// # Safety
///
/// - as for [`each_row_parallel`]
#[track_caller]
unsafe fn each_slices_parallel<'w, D, C>(
    jobs: &Jobs,
    walk: &Walk<'w>,
    pick: Pick<'_>,
    function: C,
) -> Result<(), OutOfMemory>
where
    D: ParallelData + ChunkData,
    C: Fn(D::Slices<'w>) + Sync,
{
    let scheduler = jobs.scheduler();
    let mut pooled = jobs.rows().take();
    let rows = pooled.get_mut();
    // SAFETY: the caller's promise. The world is borrowed for the lifetime.
    let count = unsafe {
        rows.collect_picked::<D>(walk, Some(pick))?;
        rows.prepare::<D>(Divide::Slices)
    };
    let (rows, function) = (&*rows, &function);
    let done = (count > 1 && scheduler.thread_count() > 1).then(|| {
        scheduler.named(type_name::<C>()).run_parallel(
            (),
            count,
            1,
            #[inline(always)]
            // SAFETY: it is prepared, and each piece is taken once.
            |(), pieces| unsafe { slices_of_pieces::<D, C>(rows, pieces, function) },
        )
    });
    // Where no job can be scheduled, as inside of one, this thread does it.
    if !matches!(done, Some(Ok(()))) {
        dispatch_as::<C, _, _>(
            CpuLevel::V4,
            #[inline(always)]
            // SAFETY: as above. No job has run.
            || unsafe { slices_of_pieces::<D, C>(rows, 0..count, function) },
        );
    }
    Ok(())
}

impl<'w, D: ParallelData, F: QueryFilter> QueryMut<'w, D, F> {
    /// Calls a function with what is given for each entity, on all threads of the world's [jobs](crate::EntityManager::jobs), and
    /// waits until all is done. The function may borrow what it likes.
    ///
    /// It does the same to each entity as [`for_each`](Self::for_each), in no order that can be relied on. Which thread does
    /// what must not matter: what the function changes beside the entity is shared, and a sum of floating-point numbers, for
    /// one, would depend on the order.
    ///
    /// From inside a job, where nothing can be waited for, this thread does everything.
    ///
    /// # Panics
    ///
    /// As [`for_each`](Self::for_each). With A0011 if the function panics on one of several threads: other entities may have been
    /// given or not.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering};
    ///
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_batch((0..10_000).map(Health));
    /// let (damage, dead) = (100, AtomicU32::new(0));
    /// world.query_mut::<&mut Health>().for_each_parallel(|health| {
    ///     health.0 = health.0.saturating_sub(damage);
    ///     if health.0 == 0 {
    ///         dead.fetch_add(1, Ordering::Relaxed);
    ///     }
    /// });
    /// assert_eq!(dead.into_inner(), 101);
    /// ```
    ///
    /// What several threads would share without a lock does not compile:
    ///
    /// ```compile_fail,E0594
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// let mut sum = 0;
    /// World::new("Simulation").query_mut::<&Health>().for_each_parallel(|health| sum += health.0);
    /// ```
    #[track_caller]
    pub fn for_each_parallel(mut self, function: impl Fn(D::Item<'w>) + Sync) {
        if let Err(error) = self.give_parallel(function) {
            refuse(error.into());
        }
    }

    /// Calls a function with what is given for each entity, on all threads, unless there is no memory.
    ///
    /// # Errors
    ///
    /// If chunks are shared with a fork, and there is no memory for copies. Then the function was not called.
    #[track_caller]
    pub fn try_for_each_parallel(
        mut self,
        function: impl Fn(D::Item<'w>) + Sync,
    ) -> Result<(), EntityError> {
        Ok(self.give_parallel(function)?)
    }

    /// Calls a function with slices, of entities that lie side by side, on all threads, for those chunks that another function picks;
    /// and waits until all is done. Both may borrow what they like.
    ///
    /// The chunks of the query are shown to the first function one after the other, by all their entities, whether or not
    /// something of them has changed or is switched on. What is not picked does not count as changed, and what of it is shared with
    /// a fork stays so.
    ///
    /// # Errors
    ///
    /// If chunks are shared with a fork, and there is no memory for copies. Then the second function was not called.
    ///
    /// # Panics
    ///
    /// As [`for_each_parallel`](Self::for_each_parallel).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Heat(f32);
    ///
    /// let mut world = World::new("Simulation");
    /// let all: Vec<_> = world.spawn_many(Heat(20.0), 10_000).collect();
    /// let fire = all[0];
    /// world.query_mut::<&mut Heat>().for_each_picked_chunk_parallel(
    ///     |entities| entities.contains(&fire),
    ///     |heat| heat.iter_mut().for_each(|heat| heat.0 += 1.0),
    /// )?;
    /// assert_eq!(world.get::<Heat>(all[1])?.0, 21.0);
    /// assert_eq!(world.get::<Heat>(all[9_999])?.0, 20.0);
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    #[track_caller]
    pub fn for_each_picked_chunk_parallel(
        mut self,
        mut pick: impl FnMut(&[Entity]) -> bool,
        function: impl Fn(D::Slices<'w>) + Sync,
    ) -> Result<(), EntityError>
    where
        D: ChunkData,
    {
        // SAFETY: this is used once.
        let walk = unsafe { self.open() };
        // SAFETY: the walk is that of this query, and writes. It is used once.
        unsafe {
            each_slices_parallel::<D, _>(&self.entities.jobs, &walk, &mut pick, function)?;
        }
        Ok(())
    }

    #[track_caller]
    fn give_parallel(&mut self, function: impl Fn(D::Item<'w>) + Sync) -> Result<(), OutOfMemory> {
        // SAFETY: this is used once.
        let walk = unsafe { self.open() };
        // SAFETY: the walk is that of this query, and writes. It is used once.
        unsafe { each_row_parallel::<D, _>(&self.entities.jobs, &walk, function) }
    }
}

impl<'w, D: ReadOnlyData + ParallelData, F: QueryFilter> QueryRef<'w, D, F> {
    /// Calls a function with what is given for each entity, on all threads. See [`QueryMut::for_each_parallel`].
    ///
    /// # Panics
    ///
    /// With A0011 if the function panics on one of several threads.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU64, Ordering};
    ///
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_batch((0..10_000).map(Health));
    /// let sum = AtomicU64::new(0);
    /// world.query::<&Health>().for_each_parallel(|health| {
    ///     sum.fetch_add(health.0.into(), Ordering::Relaxed);
    /// });
    /// assert_eq!(sum.into_inner(), 49_995_000);
    /// ```
    #[track_caller]
    pub fn for_each_parallel(&self, function: impl Fn(D::Item<'w>) + Sync) {
        let walk = self.walk();
        // SAFETY: the walk is that of this query. Nothing can be changed.
        let done = unsafe { each_row_parallel::<D, _>(&self.entities.jobs, &walk, function) };
        done.expect("nothing is copied to be read");
    }
}

impl<D: ParallelData, F: QueryFilter> Query<'_, D, F> {
    /// Calls a function with what is given for each entity, on all threads, and waits until all is done. The function may borrow
    /// what it likes, but for other views, which stay on their thread. See [`QueryMut::for_each_parallel`].
    ///
    /// What need not be done at once is better scheduled: [`schedule_parallel`](Self::schedule_parallel).
    ///
    /// # Panics
    ///
    /// With A0011 if the function panics on one of several threads: other entities may have been given or not.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering};
    ///
    /// use ancho_entities::{Component, Query, ResMut, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// struct Dead(u32);
    ///
    /// fn hurt(mut all: Query<&mut Health>, mut dead: ResMut<Dead>) {
    ///     let count = AtomicU32::new(0);
    ///     all.for_each_parallel(|health| {
    ///         health.0 = health.0.saturating_sub(100);
    ///         if health.0 == 0 {
    ///             count.fetch_add(1, Ordering::Relaxed);
    ///         }
    ///     });
    ///     dead.0 = count.into_inner();
    /// }
    ///
    /// let mut world = World::new("Simulation");
    /// world.insert_resource(Dead(0));
    /// world.spawn_batch((0..10_000).map(Health));
    /// world.add_system(hurt);
    /// world.update(0.1);
    /// assert_eq!(world.resource::<Dead>().0, 101);
    /// ```
    #[track_caller]
    pub fn for_each_parallel<'v>(&'v mut self, function: impl Fn(D::Item<'v>) + Sync) {
        let walk: Walk<'v> = self.walk();
        // SAFETY: the walk is that of this query, and writes. It is used once. This is borrowed as long. Those who have other views
        // of the world wait on this thread meanwhile, since views are not `Sync`: what they have fetched is of other parts of
        // the world, and what is written was made the world's alone before there were views.
        if let Err(error) = unsafe { each_row_parallel::<D, _>(self.jobs(), &walk, function) } {
            refuse(error.into());
        }
    }
}
