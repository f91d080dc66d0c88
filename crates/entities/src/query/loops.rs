//! Loops over what a query finds.

#![expect(unsafe_code, reason = "values of chunks of a world that is borrowed")]

use ancho_burst::{CpuLevel, dispatch_as};

use super::cursor::{Cursor, Writes};
use super::data::{ChunkData, QueryData};
use super::walk::Walk;
use crate::entity::Entity;
use crate::error::EntityError;
use crate::storage::{Location, OutOfMemory};

#[cold]
#[track_caller]
pub(super) fn refuse(error: EntityError) -> ! {
    panic!("{error}")
}

/// Calls a function for everything that a walk finds, compiled for the CPU at hand.
///
/// # Safety
///
/// - the walk is that of a query of this data, and writes, unless it cannot be changed
/// - it is used once
#[inline(always)]
pub(super) unsafe fn each_row<'w, D: QueryData, C: FnMut(D::Item<'w>)>(
    walk: &Walk<'w>,
    mut function: C,
) -> Result<(), OutOfMemory> {
    // The loop over chunks is inside, so that the level is chosen once.
    dispatch_as::<C, _, _>(
        CpuLevel::V4,
        #[inline(always)]
        move || {
            // SAFETY: the caller's promise.
            unsafe {
                walk.for_each_row::<D>(
                    #[inline(always)]
                    |fetch, row| {
                        // The row is there. None comes twice, so that nobody else uses what can be changed of it, and the walk
                        // has made it the world's alone.
                        function(D::get(fetch, row));
                    },
                )
            }
        },
    )
}

/// Calls a function for the slices of everything that a walk finds, compiled for the CPU at hand.
///
/// # Safety
///
/// - as for [`each_row`]
#[inline(always)]
pub(super) unsafe fn each_slices<'w, D: ChunkData, C: FnMut(D::Slices<'w>)>(
    walk: &Walk<'w>,
    mut function: C,
) -> Result<(), OutOfMemory> {
    dispatch_as::<C, _, _>(
        CpuLevel::V4,
        #[inline(always)]
        move || {
            // SAFETY: the caller's promise. As in `each_row`, for all rows of the run.
            unsafe {
                walk.for_each_run::<D, true>(
                    #[inline(always)]
                    |fetch, first, end| function(D::slices(fetch, first, end - first)),
                )
            }
        },
    )
}

/// What is given for a row of a chunk of an archetype, if it is one of those that a walk finds.
///
/// # Safety
///
/// - as for [`each_row`], and the chunk has such a row
#[track_caller]
pub(super) unsafe fn get<'w, D: QueryData>(
    walk: Walk<'w>,
    writes: Writes,
    archetype: u32,
    at: Location,
) -> Option<D::Item<'w>> {
    let found = walk.matched.find(archetype)?;
    if !walk.has_row(found, at.chunk, at.row) {
        return None;
    }
    let mut cursor = Cursor::new(walk, writes);
    cursor.enter(found, at.chunk);
    if let Err(error) = cursor.end() {
        refuse(error.into());
    }
    // SAFETY: the chunk is of the match, and the row is there. Nobody else uses it, and the cursor has made it the world's
    // alone.
    unsafe {
        let fetch = D::fetch(cursor.view(), cursor.places());
        if D::TRACKS {
            D::track(fetch, at.row as usize, 1, false);
        }
        Some(D::get(fetch, at.row as usize))
    }
}

/// How many entities a cursor finds.
pub(super) fn count(mut cursor: Cursor<'_>) -> usize {
    let mut count = 0;
    while cursor.next_chunk() {
        count += cursor.count();
    }
    count
}

/// The entities that a cursor finds.
pub(super) fn entities(mut cursor: Cursor<'_>) -> Vec<Entity> {
    let mut all = Vec::new();
    while cursor.next_chunk() {
        while let Some((first, end)) = cursor.next_run() {
            let entities = cursor.view().chunk.entities();
            all.extend_from_slice(&entities[first as usize..end as usize]);
        }
    }
    all
}

/// Calls a function with what is given for each two that a walk finds, compiled for the CPU at hand.
///
/// # Safety
///
/// - the walk is that of a query of this data, and writes, unless it cannot be changed
/// - it is used once
#[inline(always)]
pub(super) unsafe fn each_pair<D, C>(walk: &Walk<'_>, mut function: C) -> Result<(), OutOfMemory>
where
    D: QueryData,
    C: for<'p> FnMut(D::Item<'p>, D::Item<'p>),
{
    // Which rows there are is settled before the first is given.
    let mut runs = Vec::new();
    // SAFETY: the caller's promise.
    unsafe {
        walk.for_each_run::<D, false>(|fetch, first, end| runs.push((fetch, first, end)))?;
    }
    let runs = &*runs;
    dispatch_as::<C, _, _>(
        CpuLevel::V4,
        #[inline(always)]
        move || {
            for (at, &(fetch, first, end)) in runs.iter().enumerate() {
                for row in first..end {
                    let mut begin = row + 1;
                    for &(other_fetch, other_first, other_end) in &runs[at..] {
                        for other in begin.max(other_first)..other_end {
                            // SAFETY: both rows are there, of chunks that the walk has made the world's alone. They are
                            // two, since no row is in two runs, and in its own the other comes after the first. Nobody else
                            // uses what can be changed of them: what was given before is gone, since the function takes
                            // values of any lifetime, however short.
                            unsafe { function(D::get(fetch, row), D::get(other_fetch, other)) };
                        }
                        begin = 0;
                    }
                }
            }
        },
    );
    Ok(())
}
