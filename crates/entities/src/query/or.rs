//! Entities that pass one of several filters.

#![expect(unsafe_code, reason = "implements a trait that others must not")]

use std::marker::PhantomData;

use super::filter::QueryFilter;
use super::plan::Term;
use crate::all_tuples::all_tuples;

/// Entities that pass one of these filters at least: a filter of a tuple of filters. Unity's queries of several descriptions.
///
/// Each entity is found once, however many of them it passes. Each filter may be a tuple of filters, all of which must be
/// passed then. Entities that are [`Disabled`](crate::Disabled), and [prefabs](crate::Prefab), are found by those filters that
/// ask for the mark.
///
/// The filters are about what entities have, and what is switched on. With [`Changed`](crate::Changed) or
/// [`OrderChanged`](crate::OrderChanged) among them, it panics with A0095 where the query is first used.
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
/// assert_eq!(world.query::<()>().filter::<Flies>().to_entities(), [bird, rocket, bird_rocket]);
/// ```
#[derive(Debug)]
pub struct Or<F>(PhantomData<fn() -> F>);

/// Implements the filter for a tuple, of parts with their indices.
macro_rules! implement {
    ($($name:ident $index:tt,)+) => {
        // SAFETY: one condition, made of those of the parts.
        unsafe impl<$($name: QueryFilter),+> QueryFilter for Or<($($name,)+)> {
            fn terms(each: &mut dyn FnMut(Term)) {
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
