//! What a job over entities takes along: the rows, and what else it was given.

#![expect(unsafe_code, reason = "data of jobs, which reaches into chunks of a world")]

use std::marker::PhantomData;
use std::ops::Range;

use ancho_burst::{CpuLevel, dispatch_as};
use ancho_jobs::{
    AccessList, BatchInfo, JobData, ParallelJobData, ScheduleError, note_panic, thread_index,
};

use super::super::data::QueryData;
use super::super::plan::Plan;
use super::super::pool::Pooled;
use super::super::rows::{Divide, Rows};
use crate::manager::Jobs;

/// The data of a job over entities, which marks this of the chunks when it is done: `()` if nothing, or if it marks before.
pub(super) struct QueryToken<'w, X, L> {
    pub(super) rows: Pooled<Rows>,
    /// What the query asks for.
    pub(super) plan: &'w Plan,
    /// Of the world, which is borrowed as the query needs it.
    pub(super) jobs: &'w Jobs,
    pub(super) extra: X,
    pub(super) marks: PhantomData<fn(L) -> L>,
}

/// What such a job keeps.
pub(super) struct QueryHeld<H> {
    rows: Pooled<Rows>,
    extra: H,
}

/// What such a job sees that one thread does.
pub(super) struct QueryWhole<'v, X: JobData> {
    pub(super) rows: &'v mut Rows,
    extra: &'v mut X::Held,
}

/// What a thread sees of such a job that several do.
pub(super) struct QueryBatch<'v, X: ParallelJobData> {
    pub(super) rows: &'v Rows,
    extra: &'v X::Held,
    open: X::Open<'v>,
    thread: usize,
}

// SAFETY:
// - what the rows are used for is declared, as uses of the world
// - it borrows the world for the lifetime: mutably, if something is written
// - what the views reach lives as long as the world, which has its jobs completed before it goes, and what is behind the fences
//   before it changes anything of it
// - the rest is the other data's
unsafe impl<X: JobData, L: MarksLate> JobData for QueryToken<'_, X, L> {
    type Held = QueryHeld<X::Held>;
    type Whole<'v> = QueryWhole<'v, X>;

    fn declare(&self, accesses: &mut AccessList) {
        self.rows.get().declare(self.jobs, accesses);
        if X::USES_CONTAINERS {
            self.jobs.declared().declare(self.plan, || self.extra.declare(accesses));
        }
    }

    fn hold(self) -> Self::Held {
        QueryHeld { rows: self.rows, extra: self.extra.hold() }
    }

    unsafe fn whole(held: &mut Self::Held) -> QueryWhole<'_, X> {
        QueryWhole { rows: held.rows.get_mut(), extra: &mut held.extra }
    }

    const SETTLES: bool = X::SETTLES || L::Data::MARKS;

    unsafe fn settle(held: &mut Self::Held) {
        if L::Data::MARKS {
            // SAFETY: the rows were collected, and prepared if the job has run, for this data. All threads are done.
            unsafe { held.rows.get().mark_given::<L::Data>(L::AS_SLICES) };
        }
        if X::SETTLES {
            // SAFETY: the caller's promises.
            unsafe { X::settle(&mut held.extra) };
        }
    }

    unsafe fn conclude(held: &mut Self::Held, failed: bool) {
        // SAFETY: the caller's promises.
        unsafe { X::conclude(&mut held.extra, failed) };
    }
}

// SAFETY: as above. Of what the rows lead to, each batch uses its own pieces.
unsafe impl<X: ParallelJobData, L: MarksLate> ParallelJobData for QueryToken<'_, X, L> {
    type Batch<'v> = QueryBatch<'v, X>;
    type Item<'b> = ();

    fn check_count(&self, _: &'static str, _: usize) -> Result<(), ScheduleError> {
        Ok(())
    }

    type Open<'v> = ();

    unsafe fn open(_: &Self::Held) {}

    #[inline(always)]
    unsafe fn batch<'v>(held: &'v Self::Held, (): &(), batch: &BatchInfo) -> QueryBatch<'v, X> {
        // SAFETY: the caller's promises.
        let open = unsafe { X::open(&held.extra) };
        QueryBatch { rows: held.rows.get(), extra: &held.extra, open, thread: batch.thread }
    }

    fn item(_: &mut QueryBatch<'_, X>, _: usize) {}
}

/// The data of chunks that is marked when a job is done, if values were given.
pub(super) trait MarksLate {
    type Data: QueryData;
    /// Whether the values are given as slices.
    const AS_SLICES: bool = false;
}

/// Nothing is marked then.
impl MarksLate for () {
    type Data = ();
}

/// The data of entities that are given one by one.
pub(super) struct GivenRows<D>(PhantomData<D>);

impl<D: QueryData> MarksLate for GivenRows<D> {
    type Data = D;
}

/// The data of entities that are given as slices.
pub(super) struct GivenSlices<D>(PhantomData<D>);

impl<D: QueryData> MarksLate for GivenSlices<D> {
    type Data = D;
    const AS_SLICES: bool = true;
}

impl<'v, X: ParallelJobData> QueryBatch<'v, X> {
    /// What else there is for a piece: for the entities that are found in it, by their numbers, or for its chunk, by its number.
    ///
    /// # Safety
    ///
    /// - it is asked for once, by who has opened the piece
    /// - no other piece has one of these numbers
    #[inline(always)]
    pub(super) unsafe fn extra(&self, at: usize, numbers: Range<usize>) -> X::Batch<'v> {
        let batch = BatchInfo { index: at, range: numbers, thread: self.thread };
        // SAFETY: nobody conflicts, since the job runs. The rest is the caller's promise.
        unsafe { X::batch(self.extra, &self.open, &batch) }
    }
}

impl<'v, X: JobData> QueryWhole<'v, X> {
    /// The chunks in which something is found, as pieces, how many there are, and what else the job was given. Nothing is marked.
    ///
    /// # Safety
    ///
    /// - the job runs, and this is its only view
    pub(super) unsafe fn found(self) -> (&'v Rows, usize, X::Whole<'v>) {
        // SAFETY: every query is one of no data, too. The rest is the caller's promise.
        let count = unsafe { self.rows.prepare::<()>(Divide::Chunks) };
        // SAFETY: the caller's promise.
        (self.rows, count, unsafe { X::whole(self.extra) })
    }
}

impl<X: JobData> QueryWhole<'_, X> {
    /// Calls a function for everything that is found, compiled for the CPU at hand.
    ///
    /// # Safety
    ///
    /// - the rows were collected for a query of this data
    /// - the job runs, and this is its only view
    #[inline(always)]
    pub(super) unsafe fn each<D: QueryData, C>(self, mut function: C)
    where
        C: FnMut(D::Item<'_>, &mut X::Whole<'_>),
    {
        // SAFETY: the caller's promise.
        let count = unsafe { self.rows.prepare::<D>(Divide::Chunks) };
        let rows = &*self.rows;
        // SAFETY: the caller's promise.
        let mut extra = unsafe { X::whole(self.extra) };
        dispatch_as::<C, _, _>(
            CpuLevel::V4,
            #[inline(always)]
            move || {
                work_on::<D>(
                    rows,
                    0..count,
                    #[inline(always)]
                    // SAFETY: it is prepared for this data, and each piece is opened once.
                    |at| unsafe {
                        rows.each_row::<D>(
                            at..at + 1,
                            #[inline(always)]
                            |item| function(item, &mut extra),
                        );
                    },
                );
            },
        );
    }

    /// Calls a function for each chunk in which something is found, compiled for the CPU at hand.
    ///
    /// # Safety
    ///
    /// - as for [`each`](Self::each), and the rows are divided into whole chunks
    #[inline(always)]
    pub(super) unsafe fn each_piece<D: QueryData, C>(self, divide: Divide, piece: C)
    where
        X: ParallelJobData,
        C: Fn(&QueryBatch<'_, X>, usize),
    {
        // SAFETY: the caller's promise.
        let count = unsafe { self.rows.prepare::<D>(divide) };
        let (rows, extra) = (&*self.rows, &*self.extra);
        // SAFETY: the caller's promise.
        let open = unsafe { X::open(extra) };
        let batch = QueryBatch { rows, extra, open, thread: thread_index().unwrap_or(0) };
        dispatch_as::<C, _, _>(
            CpuLevel::V4,
            #[inline(always)]
            move || {
                work_on::<D>(
                    rows,
                    0..count,
                    #[inline(always)]
                    |at| piece(&batch, at),
                );
            },
        );
    }
}

/// Calls a function for each of some pieces of a query of this data. If it panics, it is noted for which.
#[inline(always)]
pub(super) fn work_on<D: QueryData>(
    rows: &Rows,
    pieces: Range<usize>,
    mut piece: impl FnMut(usize),
) {
    for at in pieces {
        let working = Working { rows, at, query: std::any::type_name::<D> };
        piece(at);
        std::mem::forget(working);
    }
}

/// A piece that is being worked on. It is dropped only if that panics.
struct Working<'r> {
    rows: &'r Rows,
    at: usize,
    query: fn() -> &'static str,
}

impl Drop for Working<'_> {
    #[cold]
    fn drop(&mut self) {
        let (first, last) = self.rows.ends_of(self.at);
        note_panic(format!("query `{}`, entities {first} to {last}", (self.query)()));
    }
}
