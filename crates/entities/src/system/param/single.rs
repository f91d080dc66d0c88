//! The only entity that a query finds, as a parameter.

#![expect(unsafe_code, reason = "one world that several parameters borrow")]

use std::fmt;
use std::ops::{Deref, DerefMut};

use super::query::QueryState;
use super::{ParamConflict, ParamSetup, SystemParam, SystemUses, WorldOfParams, short_name};
use crate::manager::EntityManager;
use crate::query::{Query, QueryData, QueryFilter, SystemQuery};
use crate::system::error::SystemFault;
use crate::version::Version;
use crate::world::World;

/// What is given for the only entity that a query finds: a singleton.
///
/// A system is not run if there is none, or more than one, which is an error (A0104). One that can do without takes an
/// `Option<Single<D, F>>`: it is `None` if there is none. One that is to wait says so with
/// [`require`](crate::IntoSystem::require). Unity's `SystemAPI.GetSingleton`.
///
/// In a [`ParamSet`](crate::ParamSet), the others may switch components off and on before it is asked for. If there is none then, or
/// more than one, that panics (A0136); an `Option<Single<D, F>>` is `None` if there is none.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, Query, Single, World};
///
/// #[derive(Component)]
/// struct Score(u32);
///
/// #[derive(Component)]
/// struct Coin(u32);
///
/// fn collect(coins: Query<&Coin>, mut score: Single<&mut Score>) {
///     score.0 += coins.iter().map(|coin| coin.0).sum::<u32>();
/// }
///
/// let mut world = World::new("Simulation");
/// world.spawn(Score(0));
/// world.spawn_batch([Coin(5), Coin(10)]);
/// world.add_system(collect);
/// world.update(0.1);
/// assert_eq!(world.singleton::<Score>().unwrap().0, 15);
/// ```
pub struct Single<'w, D: QueryData, F = ()> {
    item: D::Item<'w>,
    of: std::marker::PhantomData<fn() -> F>,
}

impl<'w, D: QueryData, F> Single<'w, D, F> {
    /// What is given for the entity.
    pub fn into_inner(self) -> D::Item<'w> {
        self.item
    }
}

impl<'w, D: QueryData, F> Deref for Single<'w, D, F> {
    type Target = D::Item<'w>;

    fn deref(&self) -> &D::Item<'w> {
        &self.item
    }
}

impl<D: QueryData, F> DerefMut for Single<'_, D, F> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.item
    }
}

impl<'w, D: QueryData<Item<'w>: fmt::Debug>, F> fmt::Debug for Single<'w, D, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Single").field(&self.item).finish()
    }
}

/// How many entities there are, and prepares to have one.
fn prepare<D: QueryData, F: QueryFilter>(
    state: &mut QueryState,
    world: &mut World,
    at_least: usize,
) -> Result<usize, SystemFault> {
    state.kept.prepare(&mut world.entities)?;
    let entities = std::ptr::NonNull::from(&mut world.entities);
    // Changes do not matter: what there is one of is the same in each run.
    // SAFETY: it was just prepared. The world is borrowed, and there are no other views.
    let found = unsafe { state.kept.query::<D, F>(entities, Version::NEVER) }.count();
    if found > 1 || found < at_least {
        let query = short_name::<Single<'_, D, F>>();
        return Err(SystemFault::NotSingle { query, found });
    }
    Ok(found)
}

/// What is given for the only entity, or how many there are.
///
/// # Safety
///
/// - as for `SystemParam::fetch`
unsafe fn fetch<'w, D: QueryData, F: QueryFilter>(
    state: &mut QueryState,
    world: WorldOfParams<'w>,
) -> Result<Single<'w, D, F>, usize> {
    // SAFETY: the caller promises it.
    let query = unsafe { state.kept.query::<D, F>(world.entities(), Version::NEVER) };
    let item = query.into_only()?;
    Ok(Single { item, of: std::marker::PhantomData })
}

/// Refuses a parameter of a set of which there was one when the system began.
#[cold]
fn refuse<D: QueryData, F: QueryFilter>(found: usize) -> ! {
    let (single, query) = (short_name::<Single<'_, D, F>>(), short_name::<Query<'_, D, F>>());
    panic!(
        "A0136: `{single}` finds {found} entities by now, and one was expected: another parameter of its set has switched \
         components; have the single before that, or ask for a `{query}` in its place"
    );
}

// SAFETY: what the query gives is declared, and it uses nothing else.
unsafe impl<D: QueryData, F: QueryFilter> SystemParam for Single<'_, D, F> {
    type State = QueryState;
    type Item<'w, 's> = Single<'w, D, F>;

    fn declare(setup: &mut ParamSetup<'_>) -> Result<QueryState, ParamConflict> {
        let kept = SystemQuery::of_query::<D, F>(&setup.world.entities);
        QueryState::declare::<Self>(setup, kept)
    }

    fn settle(state: &mut QueryState, uses: &SystemUses) {
        state.settle(uses);
    }

    fn prepare(state: &mut QueryState, world: &mut World) -> Result<(), SystemFault> {
        prepare::<D, F>(state, world, 1).map(|_| ())
    }

    unsafe fn fetch<'w>(state: &mut QueryState, world: WorldOfParams<'w>) -> Single<'w, D, F> {
        // SAFETY: the caller promises it.
        unsafe { fetch(state, world) }.unwrap_or_else(|found| refuse::<D, F>(found))
    }

    fn add_entities(state: &mut QueryState, entities: &EntityManager, count: &mut usize) {
        *count += state.kept.entity_count(entities);
    }

    fn has_entities(state: &mut QueryState, entities: &EntityManager) -> Option<bool> {
        Some(state.kept.has_chunks(entities))
    }
}

// SAFETY: as above.
unsafe impl<D: QueryData, F: QueryFilter> SystemParam for Option<Single<'_, D, F>> {
    type State = QueryState;
    type Item<'w, 's> = Option<Single<'w, D, F>>;

    fn declare(setup: &mut ParamSetup<'_>) -> Result<QueryState, ParamConflict> {
        Single::<D, F>::declare(setup)
    }

    fn settle(state: &mut QueryState, uses: &SystemUses) {
        state.settle(uses);
    }

    fn prepare(state: &mut QueryState, world: &mut World) -> Result<(), SystemFault> {
        prepare::<D, F>(state, world, 0).map(|_| ())
    }

    unsafe fn fetch<'w>(
        state: &mut QueryState,
        world: WorldOfParams<'w>,
    ) -> Option<Single<'w, D, F>> {
        // SAFETY: the caller promises it.
        match unsafe { fetch(state, world) } {
            Ok(single) => Some(single),
            Err(0) => None,
            Err(found) => refuse::<D, F>(found),
        }
    }
}
