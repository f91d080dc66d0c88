//! Whether a component is switched on, as data of queries.

#![expect(unsafe_code, reason = "bits of words that several have")]

use std::fmt;
use std::marker::PhantomData;

use super::batch::{ChunkMarks, ChunkView};
use super::data::{ColumnFetch, QueryData, ReadOnlyData, mask_words, one_part};
use super::matched::Place;
use super::parallel::ParallelData;
use super::plan::{Need, Part};
use crate::component::{Component, ComponentType};

/// Whether a component of an entity is switched on: data of queries.
///
/// It is given for all entities that have the component, on or off. Unity's `EnabledRefRO`, which finds only entities whose
/// component is on unless it is said otherwise; here [`With<T>`](crate::With) says so.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, EnabledRef, World};
///
/// #[derive(Component)]
/// #[component(enableable)]
/// struct Engine;
///
/// let mut world = World::new("Simulation");
/// let car = world.spawn(Engine);
/// world.spawn(Engine);
/// world.set_component_enabled::<Engine>(car, false).unwrap();
/// let on: Vec<bool> = world.query::<EnabledRef<Engine>>().iter().map(|engine| engine.get()).collect();
/// assert_eq!(on, [false, true]);
/// ```
///
/// Of a component that cannot be switched off it does not compile:
///
/// ```compile_fail,E0080
/// use ancho_entities::{Component, EnabledRef, World};
///
/// #[derive(Component)]
/// struct Health(u32);
///
/// World::new("Simulation").query::<EnabledRef<Health>>().count();
/// ```
pub struct EnabledRef<'w, T> {
    bit: Bit,
    world: PhantomData<&'w u64>,
    of: PhantomData<fn() -> T>,
}

/// Whether a component of an entity is switched on, to be changed: data of queries.
///
/// It is given for all entities that have the component, on or off. The component counts as changed, whether or not anything
/// is switched. What is switched does not change which entities the query finds: that is settled before an entity is given.
/// Unity's `EnabledRefRW`; see [`EnabledRef`] for how they differ.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, EnabledMut, World};
///
/// #[derive(Component, Clone, Copy)]
/// struct Fuel(u32);
///
/// #[derive(Component)]
/// #[component(enableable)]
/// struct Engine;
///
/// let mut world = World::new("Simulation");
/// world.spawn((Fuel(3), Engine));
/// world.spawn((Fuel(0), Engine));
/// for (fuel, mut engine) in world.query_mut::<(&Fuel, EnabledMut<Engine>)>() {
///     engine.set(fuel.0 > 0);
/// }
/// assert_eq!(world.query::<&Engine>().count(), 1);
/// ```
pub struct EnabledMut<'w, T> {
    bit: Bit,
    world: PhantomData<&'w mut u64>,
    of: PhantomData<fn() -> T>,
}

/// A bit of a word, whose other bits others may have. It stays on one thread, since it is a pointer.
#[derive(Clone, Copy)]
struct Bit {
    word: *mut u64,
    shift: u32,
}

impl Bit {
    /// The bit of a row.
    #[inline(always)]
    fn of(words: *mut u64, row: usize) -> Self {
        Self { word: words.wrapping_add(row / 64), shift: (row % 64) as u32 }
    }
}

impl<T> EnabledRef<'_, T> {
    /// Whether the component is switched on.
    #[inline]
    pub fn get(&self) -> bool {
        // SAFETY: the word is there as long as the world is borrowed, and nobody on another thread writes to it meanwhile: pieces of
        // loops and jobs have whole words.
        unsafe { *self.bit.word >> self.bit.shift & 1 != 0 }
    }
}

impl<T> EnabledMut<'_, T> {
    /// Whether the component is switched on.
    #[inline]
    pub fn get(&self) -> bool {
        // SAFETY: the word is there as long as the world is borrowed, and nobody on another thread uses it: pieces of loops
        // and jobs have whole words.
        unsafe { *self.bit.word >> self.bit.shift & 1 != 0 }
    }

    /// Switches the component on or off.
    #[inline]
    pub fn set(&mut self, enabled: bool) {
        let Bit { word, shift } = self.bit;
        // SAFETY: as above. Nobody has a reference to the word while code of the user runs.
        unsafe { *word = *word & !(1 << shift) | u64::from(enabled) << shift };
    }
}

impl<T> Clone for EnabledRef<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for EnabledRef<'_, T> {}

impl<T> fmt::Debug for EnabledRef<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EnabledRef").field(&self.get()).finish()
    }
}

impl<T> fmt::Debug for EnabledMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EnabledMut").field(&self.get()).finish()
    }
}

/// The type of a component that can be switched off.
fn enableable<T: Component>() -> ComponentType {
    const {
        assert!(
            T::ENABLEABLE,
            "the component cannot be switched off and on; write `#[component(enableable)]` on the type"
        );
    }
    ComponentType::of::<T>()
}

// SAFETY: one part, whose mask is read.
unsafe impl<T: Component> QueryData for EnabledRef<'_, T> {
    type Item<'w> = EnabledRef<'w, T>;
    type Static = EnabledRef<'static, T>;
    type Fetch = *mut u64;
    one_part!(enableable::<T>(), Need::Present, false, true);

    #[inline(always)]
    unsafe fn fetch(view: ChunkView<'_>, places: &[Place]) -> *mut u64 {
        mask_words(view, places[0])
    }

    #[inline(always)]
    unsafe fn is_on(_: *mut u64, _: usize) -> bool {
        true
    }

    #[inline(always)]
    unsafe fn get<'w>(fetch: *mut u64, row: usize) -> EnabledRef<'w, T> {
        EnabledRef { bit: Bit::of(fetch, row), world: PhantomData, of: PhantomData }
    }
}

// SAFETY: nothing can be changed.
unsafe impl<T: Component> ReadOnlyData for EnabledRef<'_, T> {}

// SAFETY: rows of different words have their bits in different words.
unsafe impl<T: Component> ParallelData for EnabledRef<'_, T> {}

// SAFETY: one part, whose mask is written, a bit for each row.
unsafe impl<T: Component> QueryData for EnabledMut<'_, T> {
    type Item<'w> = EnabledMut<'w, T>;
    type Static = EnabledMut<'static, T>;
    type Fetch = ColumnFetch<T>;
    one_part!(enableable::<T>(), Need::Present, true, true, T::TRACK_CHANGES);

    #[inline(always)]
    unsafe fn fetch(view: ChunkView<'_>, places: &[Place]) -> ColumnFetch<T> {
        ColumnFetch::new_mut(view, places[0], true, T::TRACK_CHANGES)
    }

    #[inline(always)]
    unsafe fn is_on(_: ColumnFetch<T>, _: usize) -> bool {
        true
    }

    #[inline(always)]
    unsafe fn get<'w>(fetch: ColumnFetch<T>, row: usize) -> EnabledMut<'w, T> {
        EnabledMut {
            bit: Bit::of(fetch.words.cast_mut(), row),
            world: PhantomData,
            of: PhantomData,
        }
    }
}

// SAFETY: rows of different words have their bits in different words.
unsafe impl<T: Component> ParallelData for EnabledMut<'_, T> {}
