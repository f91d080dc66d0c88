//! Values that count as changed only if they are written, as data of queries.

#![expect(unsafe_code, reason = "bits of words that several have")]

use std::fmt;
use std::ops::{Deref, DerefMut};

use super::batch::{ChunkMarks, ChunkView};
use super::data::{ColumnFetch, QueryData, track_rows};
use super::matched::Place;
use super::plan::{Need, Part};
use crate::component::{Component, ComponentType};
use crate::storage::TrackedColumn;

/// The value of a component, which counts as changed only if it is written: data of queries.
///
/// It is for loops that write few of many: `&mut T` counts as changed for each entity that it is given for. The component
/// [tracks changes](Component::TRACK_CHANGES). Whole chunks count as before: the
/// [change version](crate::ArchetypeChunk::change_version) of each that was looked at is now. Who borrows the value mutably
/// has written it.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Changed, Component, TrackedMut, World};
///
/// #[derive(Component, Clone, Copy)]
/// #[component(track_changes)]
/// struct Health(u32);
///
/// let mut world = World::new("Simulation");
/// world.spawn_batch((0..100).map(Health));
/// let seen = world.version();
/// world.advance_version();
/// for mut health in world.query_mut::<TrackedMut<Health>>() {
///     if health.0 < 10 {
///         health.0 += 1;
///     }
/// }
/// assert_eq!(world.query_filtered::<&Health, Changed<Health>>().since(seen).count(), 10);
/// ```
///
/// Of a component that does not track changes it does not compile:
///
/// ```compile_fail,E0080
/// use ancho_entities::{Component, TrackedMut, World};
///
/// #[derive(Component)]
/// struct Health(u32);
///
/// World::new("Simulation").query::<TrackedMut<Health>>().count();
/// ```
///
/// It stays on the thread of its world:
///
/// ```compile_fail,E0277
/// use ancho_entities::{Component, TrackedMut};
///
/// fn is_send<T: Send>() {}
///
/// #[derive(Component)]
/// #[component(track_changes)]
/// struct Health(u32);
///
/// is_send::<TrackedMut<'_, Health>>();
/// ```
pub struct TrackedMut<'w, T> {
    value: &'w mut T,
    /// Where it is noted that the row was written. A pointer, which keeps it on one thread: other rows are noted there too.
    written: *mut TrackedColumn,
    row: usize,
}

impl<T> Deref for TrackedMut<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        self.value
    }
}

impl<T> DerefMut for TrackedMut<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the column is there as long as the world is borrowed, and others use it only on this thread.
        unsafe { track_rows(self.written, self.row, 1) };
        self.value
    }
}

impl<T: fmt::Debug> fmt::Debug for TrackedMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TrackedMut").field(&self.value).finish()
    }
}

/// The type of a component that tracks changes.
fn tracked<T: Component>() -> ComponentType {
    const {
        assert!(
            T::TRACK_CHANGES,
            "the component does not track changes; write `#[component(track_changes)]` on the type"
        );
    }
    ComponentType::of::<T>()
}

// SAFETY: one part, at one place, which is written.
unsafe impl<T: Component> QueryData for TrackedMut<'_, T> {
    type Item<'w> = TrackedMut<'w, T>;
    type Static = TrackedMut<'static, T>;
    type Fetch = ColumnFetch<T>;
    const PARTS: usize = 1;
    const WRITES: bool = true;
    const MARKS: bool = true;
    // It does so itself, when it is written.
    const TRACKS: bool = false;

    fn parts(each: &mut dyn FnMut(Part)) {
        each(Part { ty: tracked::<T>(), need: Need::On, write: true, bits: false });
    }

    unsafe fn mark(marks: &mut ChunkMarks<'_>, places: &[Place]) {
        // SAFETY: the caller's promises.
        unsafe { marks.begin(places[0].column) };
    }

    fn is_there(places: &[Place]) -> bool {
        places[0].is_there()
    }

    #[inline(always)]
    unsafe fn fetch(view: ChunkView<'_>, places: &[Place]) -> ColumnFetch<T> {
        ColumnFetch::new_mut(view, places[0], T::ENABLEABLE, true)
    }

    #[inline(always)]
    unsafe fn is_on(fetch: ColumnFetch<T>, row: usize) -> bool {
        // SAFETY: there is such a row.
        unsafe { fetch.is_on(row) }
    }

    #[inline(always)]
    unsafe fn get<'w>(fetch: ColumnFetch<T>, row: usize) -> TrackedMut<'w, T> {
        // SAFETY: there is a value in each row, which nobody else uses.
        let value = unsafe { &mut *fetch.first.as_ptr().add(row) };
        TrackedMut { value, written: fetch.written, row }
    }

    #[inline(always)]
    unsafe fn track(_: ColumnFetch<T>, _: usize, _: usize, _: bool) {}
}
