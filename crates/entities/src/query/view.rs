//! A query of a world that is borrowed.

#![expect(unsafe_code, reason = "values of chunks of a world that is borrowed")]

use std::any::{TypeId, type_name};
use std::fmt;
use std::marker::PhantomData;

use ancho_burst::{CpuLevel, dispatch_as};

use super::cursor::{Cursor, Writes};
use super::data::{ChunkData, QueryData, ReadOnlyData};
use super::filter::QueryFilter;
use super::iter::QueryIter;
use super::matched::Matched;
use super::plan::Plan;
use super::settings::{Options, Settings, Since, settings_methods};
use crate::component::{Component, ComponentType};
use crate::entity::Entity;
use crate::error::EntityError;
use crate::manager::EntityManager;
use crate::shared::SharedComponent;
use crate::storage::{Location, OutOfMemory, Storage};
use crate::version::Version;

/// A query of a world that is borrowed to be read.
///
/// It can always say which entities it finds and how many. What it gives for them it gives if that cannot be changed:
/// [`ReadOnlyData`].
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
/// world.spawn_many(10, Health(20));
/// let query = world.query::<&Health>();
/// assert_eq!(query.count(), 10);
/// assert_eq!(query.iter().map(|health| health.0).sum::<u32>(), 200);
/// ```
#[must_use = "a query does nothing until it is asked for something"]
pub struct QueryRef<'w, D, F = ()> {
    entities: &'w EntityManager,
    settings: Settings,
    of: PhantomData<fn() -> (D, F)>,
}

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
/// world.spawn_many(1000, (Position([0.0; 3]), Velocity([1.0, 2.0, 3.0])));
/// world.query_mut::<(&mut Position, &Velocity)>().for_each(|(position, velocity)| {
///     for axis in 0..3 {
///         position.0[axis] += velocity.0[axis];
///     }
/// });
/// assert!(world.query::<&Position>().iter().all(|position| position.0 == [1.0, 2.0, 3.0]));
/// ```
#[must_use = "a query does nothing until it is asked for something"]
pub struct QueryMut<'w, D, F = ()> {
    entities: &'w mut EntityManager,
    settings: Settings,
    of: PhantomData<fn() -> (D, F)>,
}

settings_methods!(['w] QueryRef);
settings_methods!(['w] QueryMut);

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
unsafe fn walk<'w, D: QueryData, C: FnMut(D::Item<'w>)>(
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
unsafe fn walk_slices<'w, D: ChunkData, C: FnMut(D::Slices<'w>)>(
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

impl<'w, D: QueryData, F: QueryFilter> QueryRef<'w, D, F> {
    pub(super) fn new(entities: &'w EntityManager, settings: Settings) -> Self {
        Self { entities, settings, of: PhantomData }
    }

    fn refiltered<G>(self) -> QueryRef<'w, D, (F, G)> {
        QueryRef { entities: self.entities, settings: self.settings, of: PhantomData }
    }

    #[inline]
    #[track_caller]
    fn matched(&self) -> &'w Matched {
        let id = TypeId::of::<(D::Static, F)>();
        let options = self.settings.options;
        let archetypes = &self.entities.storage.archetypes;
        self.entities.queries.of_type(id, options, archetypes, || plan_of::<D, F>(options))
    }

    #[inline]
    #[track_caller]
    fn cursor(&self) -> Cursor<'w> {
        Cursor::reading(self.entities, self.matched(), &self.settings)
    }

    /// How many entities there are.
    ///
    /// # Panics
    ///
    /// As everything that asks a query for the first time: with A0086 if a component is there twice and can be changed, with
    /// A0070 if a filter asks for a component to be off that cannot be switched.
    ///
    /// # Complexity
    ///
    /// Linear in the number of chunks.
    #[track_caller]
    pub fn count(&self) -> usize {
        let mut cursor = self.cursor();
        let mut count = 0;
        while cursor.next_chunk() {
            count += cursor.count();
        }
        count
    }

    /// Whether there is no such entity.
    #[track_caller]
    pub fn is_empty(&self) -> bool {
        !self.cursor().next_chunk()
    }

    /// How many entities have such components, whatever is switched off, has changed or is shared.
    ///
    /// Unity's `CalculateEntityCountWithoutFiltering`.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone)]
    /// #[component(enableable)]
    /// struct Engine;
    ///
    /// let mut world = World::new("Simulation");
    /// let car = world.spawn(Engine);
    /// world.spawn_many(4, Engine);
    /// world.entities_mut().set_component_enabled::<Engine>(car, false).unwrap();
    /// let query = world.query::<&Engine>();
    /// assert_eq!((query.count(), query.count_unfiltered()), (4, 5));
    /// ```
    #[track_caller]
    pub fn count_unfiltered(&self) -> usize {
        let storage = &self.entities.storage;
        let matches = self.matched().matches.iter();
        let chunks = matches.flat_map(|found| &storage.archetypes[found.archetype].chunks);
        chunks.map(|&chunk| storage.chunks[chunk].len as usize).sum()
    }

    /// Whether no entity has such components, whatever is switched off, has changed or is shared.
    ///
    /// Unity's `IsEmptyIgnoreFilter`.
    #[track_caller]
    pub fn is_empty_unfiltered(&self) -> bool {
        let archetypes = &self.entities.storage.archetypes;
        self.matched().matches.iter().all(|found| archetypes[found.archetype].chunks.is_empty())
    }

    /// The entities, in the order in which they are given.
    ///
    /// # Determinism
    ///
    /// Archetypes in the order in which they came to be, each with its chunks, each with its entities. It follows from the
    /// operations that were made, and from nothing else.
    #[track_caller]
    pub fn to_entities(&self) -> Vec<Entity> {
        let mut all = Vec::new();
        let mut cursor = self.cursor();
        while cursor.next_chunk() {
            while let Some((first, end)) = cursor.next_run() {
                let entities = cursor.view().chunk.entities();
                all.extend_from_slice(&entities[first as usize..end as usize]);
            }
        }
        all
    }

    /// The values of a component, in the order of [`to_entities`](Self::to_entities).
    ///
    /// # Errors
    ///
    /// With A0087 if the query does not ask for the component, so that entities without it may be found.
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
    /// world.spawn_batch([Health(1), Health(2)]);
    /// assert_eq!(world.query::<&Health>().to_components(), Ok(vec![Health(1), Health(2)]));
    /// assert!(world.query::<()>().to_components::<Health>().is_err());
    /// ```
    #[track_caller]
    pub fn to_components<T: Component + Clone>(&self) -> Result<Vec<T>, EntityError> {
        let component = ComponentType::of::<T>();
        let matched = self.matched();
        if !matched.plan.requires(component) {
            return Err(EntityError::NotInQuery { component });
        }
        let mut all = Vec::new();
        let mut cursor = Cursor::reading(self.entities, matched, &self.settings);
        while cursor.next_chunk() {
            let chunk = cursor.view().chunk;
            let found = chunk.find(component).expect("the query asks for it");
            let first = chunk.column(found.offset).cast_const().cast::<T>();
            // SAFETY: there is a value for each row. Who could write to them would have to borrow the world mutably.
            let values = unsafe { std::slice::from_raw_parts(first, chunk.len as usize) };
            while let Some((first, end)) = cursor.next_run() {
                all.extend_from_slice(&values[first as usize..end as usize]);
            }
        }
        Ok(all)
    }

    /// Whether an entity is one of those that are found.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Orc;
    ///
    /// let mut world = World::new("Simulation");
    /// let (orc, stone) = (world.spawn(Orc), world.spawn(()));
    /// let query = world.query::<&Orc>();
    /// assert!(query.matches(orc) && !query.matches(stone));
    /// ```
    #[track_caller]
    pub fn matches(&self, entity: Entity) -> bool {
        let matched = self.matched();
        let storage = &self.entities.storage;
        let Some(at) = storage.table.locate(entity) else { return false };
        let Some(found) = matched.find(storage.archetype_at(at)) else { return false };
        let cursor = Cursor::reading(self.entities, matched, &self.settings);
        cursor.has_row(found, at.chunk, at.row)
    }

    /// What tells of an entity whether it has such components, whatever is switched off, has changed or is shared: for many
    /// entities, a few instructions each.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Orc;
    ///
    /// let mut world = World::new("Simulation");
    /// let (orc, stone) = (world.spawn(Orc), world.spawn(()));
    /// let mask = world.query::<&Orc>().mask();
    /// assert!(mask.matches(orc) && !mask.matches(stone));
    /// ```
    #[track_caller]
    pub fn mask(&self) -> QueryMask<'w> {
        QueryMask { storage: &self.entities.storage, matched: self.matched() }
    }
}

impl<'w, D: ReadOnlyData, F: QueryFilter> QueryRef<'w, D, F> {
    /// What is given for each entity, one after the other.
    #[inline]
    #[track_caller]
    pub fn iter(&self) -> QueryIter<'w, D> {
        // SAFETY: the cursor is that of this query. Nothing can be changed.
        unsafe { QueryIter::new(self.cursor()) }
    }

    /// Calls a function with what is given for each entity.
    ///
    /// The loop is compiled for the CPU at hand: see [`QueryMut::for_each`].
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
    /// world.spawn_many(10, Health(20));
    /// let mut sum = 0;
    /// world.query::<&Health>().for_each(|health| sum += health.0);
    /// assert_eq!(sum, 200);
    /// ```
    #[inline]
    #[track_caller]
    pub fn for_each(&self, function: impl FnMut(D::Item<'w>)) {
        // SAFETY: the cursor is that of this query. Nothing can be changed.
        if let Err(error) = unsafe { walk::<D, _>(self.cursor(), function) } {
            refuse(error.into());
        }
    }

    /// Calls a function with slices, of entities that lie side by side.
    ///
    /// It is called once for each chunk, unless some of its entities are not found: then once for each run of those that are.
    /// Optional data is there if the entities have the component, on or off. The loop is compiled for the CPU at hand.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Entity, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_many(10, Health(20));
    /// let mut sum = 0;
    /// world.query::<(Entity, &Health)>().for_each_chunk(|(entities, health)| {
    ///     assert_eq!(entities.len(), health.len());
    ///     sum += health.iter().map(|health| health.0).sum::<u32>();
    /// });
    /// assert_eq!(sum, 200);
    /// ```
    #[inline]
    #[track_caller]
    pub fn for_each_chunk(&self, function: impl FnMut(D::Slices<'w>))
    where
        D: ChunkData,
    {
        // SAFETY: the cursor is that of this query. Nothing can be changed.
        if let Err(error) = unsafe { walk_slices::<D, _>(self.cursor(), function) } {
            refuse(error.into());
        }
    }

    /// What is given for the only entity.
    ///
    /// # Errors
    ///
    /// With A0088 if there is none, or more than one.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Debug, PartialEq)]
    /// struct Gravity(f32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn(Gravity(-9.8));
    /// assert_eq!(world.query::<&Gravity>().single(), Ok(&Gravity(-9.8)));
    /// ```
    #[track_caller]
    pub fn single(&self) -> Result<D::Item<'w>, EntityError> {
        match (self.count(), self.iter().next()) {
            (1, Some(item)) => Ok(item),
            (found, _) => Err(EntityError::NotSingle { found }),
        }
    }

    /// What is given for an entity, if it is one of those that are found.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Debug, PartialEq)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn(Health(20));
    /// assert_eq!(world.query::<&Health>().get(orc), Some(&Health(20)));
    /// ```
    #[track_caller]
    pub fn get(&self, entity: Entity) -> Option<D::Item<'w>> {
        let matched = self.matched();
        let storage = &self.entities.storage;
        let at = storage.table.locate(entity)?;
        let archetype = storage.archetype_at(at);
        let cursor = Cursor::reading(self.entities, matched, &self.settings);
        // SAFETY: the cursor is that of this query. Nothing can be changed.
        unsafe { get::<D>(cursor, matched, archetype, at) }
    }
}

/// What is given for a row of a chunk of an archetype, if it is one of those that a cursor finds.
///
/// # Safety
///
/// - as for [`walk`], and the chunk has such a row
#[track_caller]
unsafe fn get<'w, D: QueryData>(
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
    /// world.spawn_many(10, Health(20));
    /// let wounded = world.query_mut::<&mut Health>();
    /// if wounded.as_ref().count() > 5 {
    ///     wounded.for_each(|health| health.0 += 1);
    /// }
    /// ```
    #[expect(clippy::should_implement_trait, reason = "what is returned is no reference")]
    pub fn as_ref(&self) -> QueryRef<'_, D, F> {
        QueryRef::new(self.entities, self.settings.clone())
    }

    /// The state of the query, and a walk over what it finds, for as long as the world is borrowed.
    ///
    /// # Safety
    ///
    /// - what was returned before, and everything from it, is not used any more
    #[inline]
    #[track_caller]
    unsafe fn open(&mut self, writes: Writes) -> (Cursor<'w>, &'w Matched) {
        let entities: *mut EntityManager = self.entities;
        // SAFETY: the world is borrowed mutably for the lifetime, by this alone, and neither the states nor the archetypes
        // change meanwhile.
        let (queries, archetypes) =
            unsafe { (&(*entities).queries, &(*entities).storage.archetypes) };
        let id = TypeId::of::<(D::Static, F)>();
        let options = self.settings.options;
        let matched = queries.of_type(id, options, archetypes, || plan_of::<D, F>(options));
        // SAFETY: the caller promises that nobody else uses the chunks. The state is the manager's.
        (unsafe { Cursor::writing(entities, matched, &self.settings, writes) }, matched)
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
        let (cursor, _) = unsafe { self.open(Writes::Data) };
        // SAFETY: the cursor is that of this query, and writes what is given.
        if let Err(error) = unsafe { walk::<D, _>(cursor, function) } {
            refuse(error.into());
        }
    }

    /// Calls a function with what is given for each entity, unless there is no memory.
    ///
    /// # Errors
    ///
    /// If chunks are shared with a fork, and there is no memory for copies. Then the function was not called.
    #[inline]
    #[track_caller]
    pub fn try_for_each(mut self, function: impl FnMut(D::Item<'w>)) -> Result<(), EntityError> {
        self.make_unique(Writes::Data)?;
        self.for_each(function);
        Ok(())
    }

    /// Sees to it that everything that is written is the world's alone.
    #[track_caller]
    fn make_unique(&mut self, writes: Writes) -> Result<(), OutOfMemory> {
        // SAFETY: it is not used afterwards.
        let (cursor, _) = unsafe { self.open(writes) };
        cursor.make_unique()
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
    /// world.spawn_many(10, Heat(20.0));
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
        let (cursor, _) = unsafe { self.open(Writes::Data) };
        // SAFETY: the cursor is that of this query, and writes what is given.
        if let Err(error) = unsafe { walk_slices::<D, _>(cursor, function) } {
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
        self.make_unique(Writes::Data)?;
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
    #[track_caller]
    pub fn try_iter(mut self) -> Result<QueryIter<'w, D>, EntityError> {
        self.make_unique(Writes::Data)?;
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
            return Err(EntityError::NotSingle { found });
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
        let (cursor, matched) = unsafe { self.open(Writes::Data) };
        // SAFETY: the cursor is that of this query, and writes what is given. The row is there, as the table says.
        unsafe { get::<D>(cursor, matched, archetype, at) }
    }

    /// Writes values of a component to the entities, in the order of [`to_entities`](QueryRef::to_entities). It counts as
    /// changed from now on.
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
    /// world.spawn_many(3, Health(20));
    /// world.query_mut::<&mut Health>().copy_from(&[Health(1), Health(2), Health(3)])?;
    /// assert_eq!(world.query::<&Health>().to_components()?, [Health(1), Health(2), Health(3)]);
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
            return Err(EntityError::WrongLength { component, expected, found });
        }
        self.make_unique(Writes::Only(component))?;
        // SAFETY: what was opened before is not used any more.
        let (mut cursor, _) = unsafe { self.open(Writes::Only(component)) };
        let mut rest = values;
        while cursor.next_chunk() {
            let chunk = cursor.view().chunk;
            let place = chunk.find(component).expect("the query asks for it");
            let column = chunk.column(place.offset).cast::<T>();
            while let Some((first, end)) = cursor.next_run() {
                let (now, later) = rest.split_at((end - first) as usize);
                // SAFETY: the rows are there, in memory that is the world's alone, which is borrowed mutably. Nothing has to be
                // dropped of what can be copied.
                unsafe {
                    column.add(first as usize).copy_from_nonoverlapping(now.as_ptr(), now.len());
                }
                rest = later;
            }
        }
        Ok(cursor.end()?)
    }
}

impl<'w, D: QueryData, F: QueryFilter> IntoIterator for QueryMut<'w, D, F> {
    type Item = D::Item<'w>;
    type IntoIter = QueryIter<'w, D>;

    #[inline]
    #[track_caller]
    fn into_iter(mut self) -> QueryIter<'w, D> {
        // SAFETY: this is used once.
        let (cursor, _) = unsafe { self.open(Writes::Data) };
        // SAFETY: the cursor is that of this query, and writes what is given.
        unsafe { QueryIter::new(cursor) }
    }
}

impl<'w, D: ReadOnlyData, F: QueryFilter> IntoIterator for QueryRef<'w, D, F> {
    type Item = D::Item<'w>;
    type IntoIter = QueryIter<'w, D>;

    #[inline]
    #[track_caller]
    fn into_iter(self) -> QueryIter<'w, D> {
        self.iter()
    }
}

impl<'w, D: ReadOnlyData, F: QueryFilter> IntoIterator for &QueryRef<'w, D, F> {
    type Item = D::Item<'w>;
    type IntoIter = QueryIter<'w, D>;

    #[inline]
    #[track_caller]
    fn into_iter(self) -> QueryIter<'w, D> {
        self.iter()
    }
}

impl<D, F> Clone for QueryRef<'_, D, F> {
    fn clone(&self) -> Self {
        Self { entities: self.entities, settings: self.settings.clone(), of: PhantomData }
    }
}

impl<D, F> fmt::Debug for QueryRef<'_, D, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "QueryRef<{}, {}>", type_name::<D>(), type_name::<F>())
    }
}

impl<D, F> fmt::Debug for QueryMut<'_, D, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "QueryMut<{}, {}>", type_name::<D>(), type_name::<F>())
    }
}

/// Tells of an entity whether it has the components that a query asks for: what [`QueryRef::mask`] returns.
///
/// It asks for the archetype alone, and not for what is switched off, has changed or is shared. Unity's `EntityQueryMask`.
#[derive(Clone, Copy)]
pub struct QueryMask<'w> {
    storage: &'w Storage,
    matched: &'w Matched,
}

impl QueryMask<'_> {
    /// Whether an entity is there and has such components.
    #[inline]
    pub fn matches(&self, entity: Entity) -> bool {
        let at = self.storage.table.locate(entity);
        at.is_some_and(|at| self.matched.has(self.storage.archetype_at(at)))
    }
}

impl fmt::Debug for QueryMask<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueryMask")
            .field("archetypes", &self.matched.matches.len())
            .finish_non_exhaustive()
    }
}

impl EntityManager {
    /// All entities with these components, to be read.
    ///
    /// Which entities are found is said in more detail with [`filter`](QueryRef::filter). A query that is kept is a
    /// [`Query`](crate::Query).
    ///
    /// # Determinism
    ///
    /// Archetypes in the order in which they came to be, each with its chunks, each with its entities.
    ///
    /// # Complexity
    ///
    /// Each archetype is looked at once, when the first such query is made or the archetype is new.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Entity, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn(Health(0));
    /// world.spawn(Health(20));
    /// let dead: Vec<Entity> = world
    ///     .query::<(Entity, &Health)>()
    ///     .iter()
    ///     .filter(|(_, health)| health.0 == 0)
    ///     .map(|(entity, _)| entity)
    ///     .collect();
    /// assert_eq!(dead, [orc]);
    /// ```
    #[inline]
    pub fn query<D: QueryData>(&self) -> QueryRef<'_, D> {
        QueryRef::new(self, Settings::default())
    }

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

impl AsRef<EntityManager> for EntityManager {
    fn as_ref(&self) -> &EntityManager {
        self
    }
}

impl AsMut<EntityManager> for EntityManager {
    fn as_mut(&mut self) -> &mut EntityManager {
        self
    }
}
