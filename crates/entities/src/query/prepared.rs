//! Queries that are kept.

use std::any::type_name;
use std::fmt;
use std::marker::PhantomData;

use super::data::QueryData;
use super::filter::QueryFilter;
use super::plan::plan_of;
use super::read::QueryRef;
use super::settings::{Options, Settings, Since, settings_methods};
use super::write::QueryMut;
use crate::manager::EntityManager;
use crate::shared::SharedComponent;
use crate::version::Version;

/// A query that is kept, to be asked of worlds again and again.
///
/// It is only a description, and can be asked of any world, forks included. Each world keeps the archetypes that it has found
/// for the description; who writes the same query elsewhere shares them. [`EntityManager::query`](crate::EntityManager::query) and
/// [`EntityManager::query_mut`](crate::EntityManager::query_mut) ask at once, and what systems are given is a [`Query`](crate::Query). Unity's
/// `EntityQuery`.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, EntityQuery, Without, World};
///
/// #[derive(Component, Clone, Copy)]
/// struct Position(f32);
///
/// #[derive(Component, Clone, Copy)]
/// struct Velocity(f32);
///
/// #[derive(Component)]
/// struct Asleep;
///
/// struct Movement {
///     moving: EntityQuery<(&'static mut Position, &'static Velocity), Without<Asleep>>,
/// }
///
/// impl Movement {
///     fn update(&self, world: &mut World) {
///         self.moving.write(world).for_each(|(position, velocity)| position.0 += velocity.0);
///     }
/// }
///
/// let mut world = World::new("Simulation");
/// let stone = world.spawn((Position(0.0), Velocity(1.5)));
/// let movement = Movement { moving: EntityQuery::new() };
/// movement.update(&mut world);
/// movement.update(&mut world);
/// assert_eq!(world.get::<Position>(stone).unwrap().0, 3.0);
/// assert_eq!(movement.moving.read(&world).count(), 1);
/// ```
#[must_use = "a query does nothing until it is asked of a world"]
pub struct EntityQuery<D, F = ()> {
    pub(super) settings: Settings,
    pub(super) of: PhantomData<fn() -> (D, F)>,
}

impl<D: QueryData, F: QueryFilter> EntityQuery<D, F> {
    /// A query for this data, by these filters.
    ///
    /// # Panics
    ///
    /// With A0086 if a component is there twice and can be changed, with A0070 if a filter asks for a component to be off that
    /// cannot be switched.
    #[track_caller]
    pub fn new() -> Self {
        plan_of::<D, F>(Options::default());
        Self { settings: Settings::default(), of: PhantomData }
    }

    /// Asks a world, which is only read: for data that cannot be changed, and for how many there are.
    #[inline]
    pub fn read<'w>(&self, world: &'w EntityManager) -> QueryRef<'w, D, F> {
        QueryRef::new(world, self.settings.clone())
    }

    /// Asks a world for data that can be changed.
    #[inline]
    pub fn write<'w>(&self, world: &'w mut EntityManager) -> QueryMut<'w, D, F> {
        QueryMut::new(world, self.settings.clone())
    }

    fn refiltered<G>(self) -> EntityQuery<D, (F, G)> {
        EntityQuery { settings: self.settings, of: PhantomData }
    }
}

settings_methods!([] EntityQuery);

impl<D, F> Clone for EntityQuery<D, F> {
    fn clone(&self) -> Self {
        Self { settings: self.settings.clone(), of: PhantomData }
    }
}

impl<D: QueryData, F: QueryFilter> Default for EntityQuery<D, F> {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}

impl<D, F> fmt::Debug for EntityQuery<D, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EntityQuery<{}, {}>", type_name::<D>(), type_name::<F>())
    }
}
