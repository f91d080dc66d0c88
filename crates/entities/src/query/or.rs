//! Entities that pass one of several filters.

#![expect(unsafe_code, reason = "implements a trait that others must not")]

use std::marker::PhantomData;

use super::filter::QueryFilter;
use super::plan::Term;
use super::settings::Options;
use crate::all_tuples::all_tuples;

/// Entities that pass one of these filters at least: a filter of a tuple of filters. Unity's queries of several descriptions.
///
/// Each entity is found once, however many of them it passes. Each filter may be a tuple of filters, all of which must be
/// passed then. Entities that are [`Disabled`](crate::Disabled), and [prefabs](crate::Prefab), are found by those filters that
/// ask for the mark.
///
/// Where a world is [split](crate::EntityManager::split), and among the parameters of a system, queries are told apart by each
/// of these filters, as long as there are no more than 64 ways to pass those of a query. Beyond that, what tells them apart stands
/// beside the `Or`.
///
/// [`Changed`](crate::Changed) and [`OrderChanged`](crate::OrderChanged) may be among them. They let whole chunks pass, as they do
/// alone: also entities that pass none of the others, if something changed in their chunk. Of components that
/// [track changes](crate::Component::TRACK_CHANGES) they let the entities pass that were written. Where no filter can be passed, by
/// what has changed, whole chunks are passed over.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, Or, With, Without, World};
///
/// #[derive(Component, Clone, Copy)]
/// struct Bird;
///
/// #[derive(Component, Clone, Copy)]
/// struct Wounded;
///
/// #[derive(Component, Clone, Copy)]
/// struct Rocket;
///
/// let mut world = World::new("Simulation");
/// let bird = world.spawn(Bird);
/// let rocket = world.spawn(Rocket);
/// world.spawn((Bird, Wounded));
/// let bird_rocket = world.spawn((Bird, Rocket));
/// type Flies = Or<((With<Bird>, Without<Wounded>), With<Rocket>)>;
/// assert_eq!(world.query_filtered::<(), Flies>().to_entities(), [bird, rocket, bird_rocket]);
/// ```
///
/// What was written, or has new neighbours:
///
/// ```
/// use ancho_entities::{Changed, Component, Or, OrderChanged, World};
///
/// #[derive(Component, Clone, Copy)]
/// struct Position(f32);
///
/// let mut world = World::new("Simulation");
/// let stone = world.spawn(Position(0.0));
/// let mut seen = world.version();
/// let mut is_new = |world: &mut World| {
///     let query = world.query_filtered::<&Position, Or<(Changed<Position>, OrderChanged)>>();
///     let is_new = !query.since(seen).is_empty();
///     seen = world.version();
///     world.advance_version();
///     is_new
/// };
/// assert!(!is_new(&mut world));
/// world.get_mut::<Position>(stone).unwrap().0 = 1.0;
/// assert!(is_new(&mut world));
/// let other = world.spawn(Position(2.0));
/// assert!(is_new(&mut world));
/// world.despawn(other).unwrap();
/// assert!(is_new(&mut world) && !is_new(&mut world));
/// ```
#[derive(Debug)]
pub struct Or<F>(PhantomData<fn() -> F>);

/// Implements the filter for a tuple, of parts with their indices.
macro_rules! implement {
    ($($name:ident $index:tt,)+) => {
        // SAFETY: one condition, made of those of the parts.
        unsafe impl<$($name: QueryFilter),+> QueryFilter for Or<($($name,)+)> {
            fn terms(each: &mut dyn FnMut(Term)) {
                const {
                    assert!(
                        Options::NONE$(.with($name::OPTIONS))+.is_none(),
                        "what is said of a whole query cannot be one of several filters; write it beside the `Or`"
                    );
                }
                each(Term::Or(Box::new([$(terms::<$name>()),+])));
            }
        }
    };
}

all_tuples!(implement);

/// The conditions of a filter.
fn terms<F: QueryFilter>() -> Box<[Term]> {
    let mut terms = Vec::new();
    F::terms(&mut |term| terms.push(term));
    terms.into()
}
