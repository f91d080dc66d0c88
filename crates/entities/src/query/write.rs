//! A query of a world that is borrowed to be changed.

#![expect(unsafe_code, reason = "values of chunks of a world that is borrowed")]

use std::any::{TypeId, type_name};
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;

use super::cursor::{Cursor, Writes};
use super::data::{ChunkData, QueryData};
use super::filter::QueryFilter;
use super::iter::QueryIter;
use super::loops::{each_row, each_slices, get, refuse};
use super::matched::Matched;
use super::plan::plan_of;
use super::read::QueryRef;
use super::settings::{Options, Settings, Since, settings_methods};
use super::uses::{Asked, before_query};
use super::walk::Walk;
use crate::component::{Component, ComponentType};
use crate::entity::Entity;
use crate::error::EntityError;
use crate::manager::EntityManager;
use crate::shared::SharedComponent;
use crate::storage::OutOfMemory;
use crate::version::Version;

/// A query of a world that is borrowed to be changed.
///
/// What is given to be changed counts as changed, chunk by chunk, whether or not anything is written. If chunks share memory
/// with a fork, they are copied first.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, World};
///
/// #[derive(Component, Clone, Copy)]
/// struct Position([f32; 3]);
///
/// #[derive(Component, Clone, Copy)]
/// struct Velocity([f32; 3]);
///
/// let mut world = World::new("Simulation");
/// world.spawn_many((Position([0.0; 3]), Velocity([1.0, 2.0, 3.0])), 1000);
/// world.query_mut::<(&mut Position, &Velocity)>().for_each(|(position, velocity)| {
///     for axis in 0..3 {
///         position.0[axis] += velocity.0[axis];
///     }
/// });
/// assert!(world.query::<&Position>().iter().all(|position| position.0 == [1.0, 2.0, 3.0]));
/// ```
#[must_use = "a query does nothing until it is asked for something"]
pub struct QueryMut<'w, D, F = ()> {
    pub(super) entities: &'w mut EntityManager,
    settings: Settings,
    of: PhantomData<fn() -> (D, F)>,
}

settings_methods!(['w] QueryMut);

impl<'w, D: QueryData, F: QueryFilter> QueryMut<'w, D, F> {
    pub(super) fn new(entities: &'w mut EntityManager, settings: Settings) -> Self {
        Self { entities, settings, of: PhantomData }
    }

    fn refiltered<G>(self) -> QueryMut<'w, D, (F, G)> {
        QueryMut { entities: self.entities, settings: self.settings, of: PhantomData }
    }

    /// The same query, of the world borrowed to be read: to count, and to look.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_many(Health(20), 10);
    /// let wounded = world.query_mut::<&mut Health>();
    /// if wounded.as_ref().count() > 5 {
    ///     wounded.for_each(|health| health.0 += 1);
    /// }
    /// ```
    pub fn as_ref(&self) -> QueryRef<'_, D, F> {
        QueryRef::new(self.entities, self.settings.clone())
    }

    /// Returns the same query, for as long as this one is borrowed.
    pub(super) fn reborrow(&mut self) -> QueryMut<'_, D, F> {
        QueryMut::new(self.entities, self.settings.clone())
    }

    /// The world, the state of the query, and what was said of it.
    #[track_caller]
    pub(super) fn into_parts(self) -> (NonNull<EntityManager>, &'w Matched, Settings) {
        let entities = NonNull::from(self.entities);
        let (id, options) = (TypeId::of::<(D::Static, F)>(), self.settings.options);
        // SAFETY: the world is borrowed mutably for the lifetime, by this alone, and neither the states nor the archetypes
        // change meanwhile.
        let matched = unsafe {
            let (queries, storage) = (&(*entities.as_ptr()).queries, &(*entities.as_ptr()).storage);
            queries.of_type(id, options, &storage.archetypes, || plan_of::<D, F>(options))
        };
        (entities, matched, self.settings)
    }

    /// A walk over what the query finds, for as long as the world is borrowed.
    ///
    /// # Safety
    ///
    /// - what was returned before, and everything from it, is not used any more
    #[inline]
    #[track_caller]
    pub(super) unsafe fn open(&mut self) -> Walk<'w> {
        let entities: *mut EntityManager = self.entities;
        // SAFETY: the world is borrowed mutably for the lifetime, by this alone, and neither the states nor the archetypes
        // change meanwhile.
        let (queries, archetypes) =
            unsafe { (&(*entities).queries, &(*entities).storage.archetypes) };
        let id = TypeId::of::<(D::Static, F)>();
        let options = self.settings.options;
        let matched = queries.of_type(id, options, archetypes, || plan_of::<D, F>(options));
        // SAFETY: the manager is borrowed, and nothing else of it is.
        before_query(unsafe { &*entities }, matched, Asked::Data);
        // SAFETY: the caller promises that nobody else uses the chunks. The state is the manager's.
        unsafe { Walk::writing(entities, matched, &self.settings) }
    }

    /// Calls a function with what is given for each entity.
    ///
    /// The loop is compiled for several CPUs, and the program picks the version for the one at hand, so that plain arithmetic
    /// becomes vector instructions. It is the fastest way to change many entities.
    ///
    /// If the function panics, what it has changed stays changed, and the world is as good as ever.
    ///
    /// # Panics
    ///
    /// As everything that asks a query for the first time: with A0086 if a component is there twice and can be changed, with
    /// A0070 if a filter asks for a component to be off that cannot be switched. Also if a chunk is shared with a fork, and
    /// there is no memory for a copy.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Poison(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn((Health(20), Poison(3)));
    /// world.query_mut::<(&mut Health, &Poison)>().for_each(|(health, poison)| health.0 -= poison.0);
    /// assert_eq!(world.get::<Health>(orc).unwrap().0, 17);
    /// ```
    #[inline]
    #[track_caller]
    pub fn for_each(mut self, function: impl FnMut(D::Item<'w>)) {
        // SAFETY: this is used once.
        let walk = unsafe { self.open() };
        // SAFETY: the walk is that of this query, and writes. It is used once.
        if let Err(error) = unsafe { each_row::<D, _>(&walk, function) } {
            refuse(error.into());
        }
    }

    /// Calls a function with what is given for each entity, unless there is no memory.
    ///
    /// # Errors
    ///
    /// If chunks are shared with a fork, and there is no memory for copies. Then the function was not called.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{ChunkArena, Component, World, WorldSettings};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// // Memory for one chunk, which the fork has too.
    /// let settings = WorldSettings::new().arena(ChunkArena::with_limit(16 * 1024));
    /// let mut world = World::with_settings("Simulation", settings);
    /// world.spawn(Health(20));
    /// let fork = world.fork().unwrap();
    /// assert!(world.query_mut::<&mut Health>().try_for_each(|health| health.0 = 0).is_err());
    /// assert!(world.query_mut::<&Health>().try_for_each(|health| assert_eq!(health.0, 20)).is_ok());
    /// ```
    #[inline]
    #[track_caller]
    pub fn try_for_each(mut self, function: impl FnMut(D::Item<'w>)) -> Result<(), EntityError> {
        self.make_unique(Writes::of::<D>())?;
        self.for_each(function);
        Ok(())
    }

    /// Sees to it that everything that is written is the world's alone.
    #[track_caller]
    fn make_unique(&mut self, writes: Writes) -> Result<(), OutOfMemory> {
        // SAFETY: it is not used afterwards.
        let walk = unsafe { self.open() };
        Cursor::new(walk, writes).make_unique()
    }

    /// Switches a component on or off, which all archetypes have that match. Returns for how many entities.
    #[track_caller]
    pub(super) fn switch(mut self, component: ComponentType, enabled: bool) -> usize {
        self.entities.sync_for_set_enabled(component);
        // SAFETY: this is used once.
        let walk = unsafe { self.open() };
        // SAFETY: the world is borrowed mutably, and nothing of it is given to anybody. Jobs that use the component, or ask whether
        // it is on, were waited for, and others see no versions, or had them written out.
        unsafe { walk.switch(component, enabled) }
    }

    /// Calls a function with slices, of entities that lie side by side.
    ///
    /// See [`QueryRef::for_each_chunk`].
    ///
    /// # Panics
    ///
    /// As [`for_each`](Self::for_each).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Heat(f32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_many(Heat(20.0), 10);
    /// world.query_mut::<&mut Heat>().for_each_chunk(|heat| {
    ///     let mean = heat.iter().map(|heat| heat.0).sum::<f32>() / heat.len() as f32;
    ///     heat.iter_mut().for_each(|heat| heat.0 += (mean - heat.0) * 0.1);
    /// });
    /// ```
    #[inline]
    #[track_caller]
    pub fn for_each_chunk(mut self, function: impl FnMut(D::Slices<'w>))
    where
        D: ChunkData,
    {
        // SAFETY: this is used once.
        let walk = unsafe { self.open() };
        // SAFETY: the walk is that of this query, and writes. It is used once.
        if let Err(error) = unsafe { each_slices::<D, _>(&walk, function) } {
            refuse(error.into());
        }
    }

    /// Calls a function with slices, of entities that lie side by side, unless there is no memory.
    ///
    /// # Errors
    ///
    /// If chunks are shared with a fork, and there is no memory for copies. Then the function was not called.
    #[inline]
    #[track_caller]
    pub fn try_for_each_chunk(
        mut self,
        function: impl FnMut(D::Slices<'w>),
    ) -> Result<(), EntityError>
    where
        D: ChunkData,
    {
        self.make_unique(Writes::of::<D>())?;
        self.for_each_chunk(function);
        Ok(())
    }

    /// What is given for each entity, one after the other, unless there is no memory.
    ///
    /// A `for` loop takes the query itself, and panics when it finds no memory.
    ///
    /// # Errors
    ///
    /// If chunks are shared with a fork, and there is no memory for copies.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_many(Health(20), 10);
    /// for health in world.query_mut::<&mut Health>().try_iter()?.take(3) {
    ///     health.0 = 0;
    /// }
    /// assert_eq!(world.query::<&Health>().iter().filter(|health| health.0 == 0).count(), 3);
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    #[track_caller]
    pub fn try_iter(mut self) -> Result<QueryIter<'w, D>, EntityError> {
        self.make_unique(Writes::of::<D>())?;
        Ok(self.into_iter())
    }

    /// What is given for the only entity.
    ///
    /// # Errors
    ///
    /// With A0088 if there is none, or more than one. If its chunk is shared with a fork, and there is no memory for a copy.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Score(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn(Score(0));
    /// world.query_mut::<&mut Score>().single()?.0 += 10;
    /// assert_eq!(world.query::<&Score>().single()?.0, 10);
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    #[track_caller]
    pub fn single(self) -> Result<D::Item<'w>, EntityError> {
        let found = self.as_ref().count();
        if found != 1 {
            return Err(EntityError::NotSingle { query: type_name::<D>(), found });
        }
        Ok(self.try_iter()?.next().expect("there is one"))
    }

    /// What is given for an entity, if it is one of those that are found.
    ///
    /// # Panics
    ///
    /// As [`for_each`](Self::for_each).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Without, World};
    ///
    /// #[derive(Component)]
    /// struct Health(u32);
    ///
    /// #[derive(Component)]
    /// struct Immortal;
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn(Health(20));
    /// let target = world.query_mut::<&mut Health>().filter::<Without<Immortal>>().get(orc);
    /// target.unwrap().0 -= 3;
    /// ```
    #[track_caller]
    pub fn get(mut self, entity: Entity) -> Option<D::Item<'w>> {
        let at = self.entities.storage.table.locate(entity)?;
        let archetype = self.entities.storage.archetype_at(at);
        // SAFETY: this is used once.
        let walk = unsafe { self.open() };
        // SAFETY: the walk is that of this query, and writes. It is used once. The row is there, as the table says.
        unsafe { get::<D>(walk, Writes::of::<D>(), archetype, at) }
    }

    /// Writes values of a component to the entities, in the order of [`to_entities`](QueryRef::to_entities). It counts as
    /// changed from now on.
    ///
    /// That is the order now, which a structural change since the values were listed may have changed. To add the component and its
    /// values at once, use [`add_each`](Self::add_each).
    ///
    /// # Errors
    ///
    /// With A0087 if the query does not ask for the component, with A0060 unless there are as many values as entities. If
    /// chunks are shared with a fork, and there is no memory for copies. Then nothing was written.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone, Copy, Debug, PartialEq)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_many(Health(20), 3);
    /// world.query_mut::<&mut Health>().copy_from(&[Health(1), Health(2), Health(3)])?;
    /// assert_eq!(world.query::<&Health>().to_components::<Health>()?, [Health(1), Health(2), Health(3)]);
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    #[track_caller]
    pub fn copy_from<T: Component + Copy>(mut self, values: &[T]) -> Result<(), EntityError> {
        let component = ComponentType::of::<T>();
        let query = self.as_ref();
        if !query.matched().plan.requires(component) {
            return Err(EntityError::NotInQuery { component });
        }
        let (expected, found) = (query.count(), values.len());
        if expected != found {
            return Err(EntityError::WrongCount { component, expected, found });
        }
        // The data of the query need not say that it is written, nor even name it.
        let archetypes = query.matched().matches.iter().map(|found| found.archetype);
        self.entities.sync_for_write_all(component, archetypes);
        self.make_unique(Writes::Only(component))?;
        // SAFETY: what was opened before is not used any more.
        let cursor = Cursor::new(unsafe { self.open() }, Writes::Only(component));
        // SAFETY: the world is borrowed mutably.
        Ok(unsafe { cursor.write_values(values) }?)
    }
}

impl<'w, D: QueryData, F: QueryFilter> IntoIterator for QueryMut<'w, D, F> {
    type Item = D::Item<'w>;
    type IntoIter = QueryIter<'w, D>;

    #[inline]
    #[track_caller]
    fn into_iter(mut self) -> QueryIter<'w, D> {
        // SAFETY: this is used once.
        let cursor = Cursor::new(unsafe { self.open() }, Writes::of::<D>());
        // SAFETY: the cursor is that of this query, and writes what is given.
        unsafe { QueryIter::new(cursor) }
    }
}

impl<D, F> fmt::Debug for QueryMut<'_, D, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "QueryMut<{}, {}>", type_name::<D>(), type_name::<F>())
    }
}

impl EntityManager {
    /// All entities with these components, to be changed.
    ///
    /// See [`query`](Self::query).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Without, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Immortal;
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn(Health(20));
    /// let god = world.spawn((Health(20), Immortal));
    /// for health in world.query_mut::<&mut Health>().filter::<Without<Immortal>>() {
    ///     health.0 = 0;
    /// }
    /// assert_eq!(world.get::<Health>(orc).unwrap().0, 0);
    /// assert_eq!(world.get::<Health>(god).unwrap().0, 20);
    /// ```
    #[inline]
    pub fn query_mut<D: QueryData>(&mut self) -> QueryMut<'_, D> {
        QueryMut::new(self, Settings::default())
    }
}
