//! Each two entities that a query finds.

#![expect(unsafe_code, reason = "values of chunks of a world that is borrowed")]

use ancho_burst::{CpuLevel, dispatch_as};

use super::data::{QueryData, ReadOnlyData};
use super::filter::QueryFilter;
use super::loops::refuse;
use super::read::QueryRef;
use super::walk::Walk;
use super::write::QueryMut;
use crate::storage::OutOfMemory;

impl<D: QueryData, F: QueryFilter> QueryRef<'_, D, F> {
    /// Calls a function with what is given for each two entities.
    ///
    /// Each pair comes once: the first entity with all others, then the second with those after it, in the order of
    /// [`to_entities`](Self::to_entities). See [`QueryMut::for_each_pair`](crate::QueryMut::for_each_pair).
    ///
    /// # Complexity
    ///
    /// The square of the number of entities.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Position(f32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_batch([Position(1.0), Position(4.0), Position(9.0)]);
    /// let mut nearest = f32::MAX;
    /// world.query::<&Position>().for_each_pair(|a, b| nearest = nearest.min((a.0 - b.0).abs()));
    /// assert_eq!(nearest, 3.0);
    /// ```
    #[inline]
    #[track_caller]
    pub fn for_each_pair(&self, function: impl for<'p> FnMut(D::Item<'p>, D::Item<'p>))
    where
        D: ReadOnlyData,
    {
        // SAFETY: the walk is that of this query. Nothing can be changed.
        if let Err(error) = unsafe { each_pair::<D, _>(&self.walk(), function) } {
            refuse(error.into());
        }
    }
}

impl<D: QueryData, F: QueryFilter> QueryMut<'_, D, F> {
    /// Calls a function with what is given for each two entities.
    ///
    /// Each pair comes once: the first entity with all others, then the second with those after it, in the order of
    /// [`to_entities`](QueryRef::to_entities). Both can be changed. Which entities there are is settled before the first pair,
    /// whatever is switched off meanwhile. The loop is compiled for the CPU at hand.
    ///
    /// # Panics
    ///
    /// As [`for_each`](Self::for_each). If there is no memory for a copy of a chunk, the function was not called.
    ///
    /// # Complexity
    ///
    /// The square of the number of entities.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone, Copy, Debug, PartialEq)]
    /// struct Body {
    ///     at: f32,
    ///     force: f32,
    /// }
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_batch([0.0, 1.0, 3.0].map(|at| Body { at, force: 0.0 }));
    /// world.query_mut::<&mut Body>().for_each_pair(|a, b| {
    ///     let force = (b.at - a.at).signum();
    ///     a.force += force;
    ///     b.force -= force;
    /// });
    /// let forces: Vec<_> = world.query::<&Body>().iter().map(|body| body.force).collect();
    /// assert_eq!(forces, [2.0, 0.0, -2.0]);
    /// ```
    #[inline]
    #[track_caller]
    pub fn for_each_pair(mut self, function: impl for<'p> FnMut(D::Item<'p>, D::Item<'p>)) {
        // SAFETY: this is used once.
        let walk = unsafe { self.open() };
        // SAFETY: the walk is that of this query, and writes. It is used once.
        if let Err(error) = unsafe { each_pair::<D, _>(&walk, function) } {
            refuse(error.into());
        }
    }
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
