//! Parallel loops over queries.

#![expect(unsafe_code, reason = "values of chunks of a world that is borrowed, on several threads")]

use std::any::type_name;
use std::ops::Range;

use ancho_burst::{CpuLevel, dispatch_as};

use super::batch::{Divide, Pick, Rows};
use super::data::{ChunkData, QueryData};
use super::filter::QueryFilter;
use super::view::{Others, Query};
use super::walk::{Walk, succeed};
use crate::entity::Entity;
use crate::error::EntityError;
use crate::manager::Jobs;
use crate::storage::OutOfMemory;

/// Query data that can be used on any thread.
///
/// All query data is `ParallelData`, except for managed components, which stay on the world's thread, and
/// [`TrackedMut`](crate::TrackedMut), which marks changes without synchronisation.
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
/// A managed component stays on the world's thread:
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
/// Not to be implemented outside of this crate: several threads must be able to use the data at the same time, if no two of them
/// use rows of the same mask word (64 rows).
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be used on several threads",
    label = "stays on the thread of its world",
    note = "use `for_each`; managed components and `TrackedMut` are limited to one thread"
)]
pub unsafe trait ParallelData: QueryData {}

/// Collects the rows of a walk, divides them into batches, and calls `function` for ranges of batches, on all threads. This thread
/// makes all calls if there is one batch or one thread, if no job can be scheduled, or if another view conflicts with a job of the
/// query.
///
/// In the last case, code that `function` runs on this thread may use the other view or its items, while other threads would read or
/// write the same enabled bits and versions.
///
/// `function` is compiled for several CPU levels. It receives `user`, the function of the caller, whose type names the loop in
/// profiles.
///
/// # Safety
///
/// - the walk belongs to a query of this data, and is one that writes unless the data is read-only
/// - the walk is used once
#[track_caller]
unsafe fn each_range<D: ParallelData, C: Sync>(
    (jobs, walk, others): (&Jobs, &Walk<'_>, Others),
    pick: Option<Pick<'_>>,
    divide: Divide,
    user: C,
    function: impl Fn(&Rows, Range<usize>, &C) + Sync,
) -> Result<(), OutOfMemory> {
    let mut pooled = jobs.rows().take();
    let rows = pooled.get_mut();
    rows.reads_versions = false;
    // SAFETY: the walk belongs to a query of this data, and is one that writes unless the data is read-only. It is used once, so
    // that no fetched data is in use. The world is borrowed for the lifetime, so that no other code uses data that the query can
    // write.
    let count = unsafe {
        rows.collect::<D>(walk, pick)?;
        rows.prepare::<D>(divide)
    };
    let (rows, scheduler) = (&*rows, jobs.scheduler());
    let in_parallel = count > 1 && !others.conflict() && scheduler.thread_count() > 1;
    let done = in_parallel.then(|| {
        scheduler.named(type_name::<C>()).run_parallel(
            (),
            count,
            1,
            #[inline(always)]
            |(), batches| function(rows, batches, &user),
        )
    });
    // Scheduling fails inside of a job. This thread makes all calls then.
    if !matches!(done, Some(Ok(()))) {
        dispatch_as::<C, _, _>(
            CpuLevel::V4,
            #[inline(always)]
            || function(rows, 0..count, &user),
        );
    }
    Ok(())
}

impl<D: ParallelData, F: QueryFilter> Query<'_, D, F> {
    /// Calls a function with the item of each entity, on all threads of the world's [job scheduler](crate::EntityManager::jobs),
    /// and waits until all calls have returned.
    ///
    /// The function can borrow local variables, except for other views, which stay on their thread. The order of the calls is
    /// unspecified, so results must not depend on it. For example, a sum of floating-point numbers does. Inside of a job, this
    /// thread makes all calls. It also does if another view of the [split](crate::EntityManager::split) or the system writes enabled
    /// bits or change versions that this query reads, or reads those that it writes. For work that need not be done immediately, use
    /// [`schedule_parallel`](Self::schedule_parallel).
    ///
    /// # Panics
    ///
    /// Panics with A0011 if the function panics on one of several threads. It is unspecified for which other entities the
    /// function was called. Also panics if chunks are shared with a fork, and memory for copies runs out.
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
    /// A closure that writes a captured variable without synchronisation does not compile:
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
    #[doc(alias = "par_iter")]
    #[doc(alias = "par_iter_mut")]
    pub fn for_each_parallel<'v>(&'v mut self, function: impl Fn(D::Item<'v>) + Sync) {
        let walk: Walk<'v> = self.walk();
        // SAFETY: the walk belongs to this query, which is borrowed mutably as long as items live. The walk is used once. Other
        // views of the world are not `Sync`, so that only this thread uses them, and if one of them conflicts with a job of this
        // query, this thread makes all calls. The items of other views are other data, and if there are other views, the chunks that
        // this query can write are unshared. The rows are prepared for this data, each batch is opened once, and each row is visited
        // once.
        succeed(unsafe {
            each_range::<D, _>(
                (self.jobs(), &walk, self.others),
                None,
                Divide::ROWS,
                function,
                #[inline(always)]
                |rows, batches, function| {
                    for at in batches {
                        let batch = rows.open::<D>(at);
                        batch.each_row(
                            #[inline(always)]
                            |row| function(D::get(batch.fetch, row)),
                        );
                    }
                },
            )
        });
    }

    /// Calls `function` with slices of contiguous entities, on all threads, for the chunks that `pick` selects, and waits until all
    /// calls have returned. Both functions can borrow local variables.
    ///
    /// `pick` is called on this thread for each chunk of the query, with all entities of the chunk, ignoring enabled state and
    /// changes. Chunks for which it returns `false` do not count as changed, and stay shared with a fork.
    ///
    /// # Errors
    ///
    /// Returns an error if chunks are shared with a fork and there is no memory for copies. `function` is not called then.
    ///
    /// # Panics
    ///
    /// Panics with A0011 if a function panics on one of several threads.
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
    pub fn for_each_picked_chunk_parallel<'v>(
        &'v mut self,
        mut pick: impl FnMut(&[Entity]) -> bool,
        function: impl Fn(D::Slices<'v>) + Sync,
    ) -> Result<(), EntityError>
    where
        D: ChunkData,
    {
        let walk: Walk<'v> = self.walk();
        // SAFETY: the walk belongs to this query, which is borrowed mutably as long as slices live. The walk is used once. Other
        // views of the world are not `Sync`, so that only this thread uses them, and if one of them conflicts with a job of this
        // query, this thread makes all calls. The items of other views are other data, and if there are other views, the chunks that
        // this query can write are unshared. The rows are prepared for this data, in whole chunks, each batch is opened once, and
        // each row is visited once.
        let done = unsafe {
            each_range::<D, _>(
                (self.jobs(), &walk, self.others),
                Some(&mut pick),
                Divide::SLICES,
                function,
                #[inline(always)]
                |rows, batches, function| {
                    for at in batches {
                        let batch = rows.open::<D>(at);
                        batch.each_run(
                            #[inline(always)]
                            |run| function(D::slices(batch.fetch, run.start as usize, run.len())),
                        );
                    }
                },
            )
        };
        Ok(done?)
    }
}
