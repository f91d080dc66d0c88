//! Loops over what a query finds.

#![expect(unsafe_code, reason = "values of chunks of a world that is borrowed")]

use std::any::type_name;

use ancho_burst::{CpuLevel, dispatch_as};

use super::cursor::Cursor;
use super::data::{ChunkData, QueryData};
use super::filter::QueryFilter;
use super::matched::Matched;
use super::plan::Plan;
use super::settings::Options;
use crate::error::EntityError;
use crate::storage::{Location, OutOfMemory};

/// What a query asks for, checked.
#[track_caller]
pub(super) fn plan_of<D: QueryData, F: QueryFilter>(options: Options) -> Plan {
    let (mut parts, mut terms) = (Vec::new(), Vec::new());
    D::parts(&mut |part| parts.push(part));
    F::terms(&mut |term| terms.push(term));
    Plan::new(type_name::<D>(), parts, terms, options)
}

#[cold]
#[track_caller]
pub(super) fn refuse(error: EntityError) -> ! {
    panic!("{error}")
}

/// Calls a function for everything that a cursor finds, compiled for the CPU at hand.
///
/// # Safety
///
/// - the cursor is that of a query of this data, and writes it, unless it cannot be changed
#[inline(always)]
pub(super) unsafe fn walk<'w, D: QueryData, C: FnMut(D::Item<'w>)>(
    mut cursor: Cursor<'w>,
    mut function: C,
) -> Result<(), OutOfMemory> {
    let walk = &mut cursor;
    // The loop over chunks is inside, so that the level is chosen once. There is one call of the function, so that it is
    // inlined however large it is.
    dispatch_as::<C, _, _>(
        CpuLevel::V4,
        #[inline(always)]
        move || {
            while walk.next_chunk() {
                // SAFETY: these are the places of the data in the archetype of the chunk, which matches.
                let fetch = unsafe { D::fetch(walk.view(), walk.places()) };
                while let Some((first, end)) = walk.next_run() {
                    for row in first as usize..end as usize {
                        // SAFETY: the row is there. None comes twice, so that nobody else uses what can be changed of it,
                        // and the cursor has made it the world's alone.
                        function(unsafe { D::get(fetch, row) });
                    }
                }
            }
        },
    );
    cursor.end()
}

/// Calls a function for the slices of everything that a cursor finds, compiled for the CPU at hand.
///
/// # Safety
///
/// - as for [`walk`]
#[inline(always)]
pub(super) unsafe fn walk_slices<'w, D: ChunkData, C: FnMut(D::Slices<'w>)>(
    mut cursor: Cursor<'w>,
    mut function: C,
) -> Result<(), OutOfMemory> {
    let walk = &mut cursor;
    dispatch_as::<C, _, _>(
        CpuLevel::V4,
        #[inline(always)]
        move || {
            while walk.next_chunk() {
                // SAFETY: as in `walk`.
                let fetch = unsafe { D::fetch(walk.view(), walk.places()) };
                while let Some((first, end)) = walk.next_run() {
                    let (first, count) = (first as usize, (end - first) as usize);
                    // SAFETY: as in `walk`, for all rows of the run.
                    function(unsafe { D::slices(fetch, first, count) });
                }
            }
        },
    );
    cursor.end()
}

/// What is given for a row of a chunk of an archetype, if it is one of those that a cursor finds.
///
/// # Safety
///
/// - as for [`walk`], and the chunk has such a row
#[track_caller]
pub(super) unsafe fn get<'w, D: QueryData>(
    mut cursor: Cursor<'w>,
    matched: &'w Matched,
    archetype: u32,
    at: Location,
) -> Option<D::Item<'w>> {
    let found = matched.find(archetype)?;
    if !cursor.has_row(found, at.chunk, at.row) {
        return None;
    }
    cursor.enter(found, at.chunk);
    if let Err(error) = cursor.end() {
        refuse(error.into());
    }
    // SAFETY: the chunk is of the match, and the row is there. Nobody else uses it, and the cursor has made it the world's
    // alone.
    Some(unsafe { D::get(D::fetch(cursor.view(), cursor.places()), at.row as usize) })
}
