//! A query of a world that it shares with others: of one that was split, or that a system is given.

#![expect(unsafe_code, reason = "values of chunks of a world that several views borrow")]

use std::any::type_name;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;

use super::cursor::{Cursor, Writes};
use super::data::{ChunkData, QueryData, ReadOnlyData};
use super::filter::QueryFilter;
use super::iter::QueryIter;
use super::loops::{count, each_row, each_slices, entities, get, refuse};
use super::mask::QueryMask;
use super::matched::Matched;
use super::pairs::each_pair;
use super::settings::Settings;
use super::uses::{Asked, before_query};
use super::walk::Walk;
use crate::entity::Entity;
use crate::error::EntityError;
use crate::manager::{EntityManager, Jobs};
use crate::storage::Storage;

/// All entities with these components, in a world that is [split](EntityManager::split).
///
/// It can be asked again and again, and while others of the same split are being asked: loops nest. What can only be read
/// is had from a shared reference, what can be changed from one that is mutable. As in other queries, what is given to be
/// changed counts as changed, chunk by chunk.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, Query, World};
///
/// #[derive(Component, Clone, Copy)]
/// struct Position(f32);
///
/// #[derive(Component, Clone, Copy)]
/// struct Magnet(f32);
///
/// fn attract(iron: &mut Query<&mut Position>, magnets: &Query<(&Magnet, &Field)>) {
///     for (magnet, field) in magnets {
///         iron.for_each(|position| position.0 += (magnet.0 - position.0) * field.0);
///     }
/// }
///
/// #[derive(Component, Clone, Copy)]
/// struct Field(f32);
///
/// let mut world = World::new("Simulation");
/// let nail = world.spawn(Position(1.0));
/// world.spawn_batch([(Magnet(3.0), Field(0.5)), (Magnet(6.0), Field(0.5))]);
/// let (mut iron, magnets) = world.split::<(Query<&mut Position>, Query<(&Magnet, &Field)>)>();
/// attract(&mut iron, &magnets);
/// assert_eq!(world.get::<Position>(nail).unwrap().0, 4.0);
/// ```
///
/// It stays on the thread of its world:
///
/// ```compile_fail,E0277
/// use ancho_entities::{Entity, Query, World};
///
/// let mut world = World::new("Simulation");
/// let (all,) = world.split::<(Query<Entity>,)>();
/// std::thread::scope(|scope| {
///     scope.spawn(move || all.count());
/// });
/// ```
#[must_use = "a query does nothing until it is asked for something"]
pub struct Query<'w, D, F = ()> {
    /// Of a world that is borrowed mutably by the views of one split, each of which uses other parts of it.
    pub(super) entities: NonNull<EntityManager>,
    pub(super) matched: &'w Matched,
    pub(super) settings: Settings,
    /// Whether a job of it gets in the way of other views.
    pub(super) meets: bool,
    /// Not of the manager: what keeps a view on its thread is said in one sentence then, and not in one for each part of a world.
    world: PhantomData<&'w mut ()>,
    /// Neither may become a subtype, whose values may lie otherwise.
    of: PhantomData<*mut (D, F)>,
}

impl<'w, D: QueryData, F: QueryFilter> Query<'w, D, F> {
    /// A view of what a query finds.
    ///
    /// # Safety
    ///
    /// - the manager is borrowed mutably for the lifetime, and used only by views
    /// - the state is the manager's, and that of a query of this data with these filters and settings
    /// - what this can change, no other view gives, and what it reads, no other can change
    /// - the chunks of all archetypes in which this can change something are the world's alone
    /// - it is said if a job of it [meets](super::uses::meets) other views
    pub(super) unsafe fn new(
        entities: NonNull<EntityManager>,
        matched: &'w Matched,
        settings: Settings,
        meets: bool,
    ) -> Self {
        Self { entities, matched, settings, meets, world: PhantomData, of: PhantomData }
    }

    /// The same view, for as long as this one is borrowed: to give away what takes a view, and keep this one.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Query, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn(Health(20));
    /// let (mut health,) = world.split::<(Query<&mut Health>,)>();
    /// health.reborrow().job().named("Heal").schedule_parallel(|health| health.0 += 1);
    /// assert_eq!(health.single_mut()?.0, 21);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reborrow(&mut self) -> Query<'_, D, F> {
        let Self { entities, matched, ref settings, meets, .. } = *self;
        // SAFETY: as for this one, which is not used meanwhile.
        unsafe { Query::new(entities, matched, settings.clone(), meets) }
    }

    /// What is given for the only entity, for as long as the world is borrowed; or how many there are.
    pub(crate) fn into_only(self) -> Result<D::Item<'w>, usize> {
        let mut cursor = self.finding();
        if !cursor.next_chunk() {
            return Err(0);
        }
        let Some((row, end)) = cursor.next_run() else { return Err(0) };
        let entity = cursor.view().chunk.entities()[row as usize];
        if end - row > 1 || cursor.next_run().is_some() || cursor.next_chunk() {
            return Err(self.count());
        }
        drop(cursor);
        // SAFETY: this is not used any more, and what is given is written.
        unsafe { self.get_with(entity, Writes::of::<D>()) }.ok_or(0)
    }

    /// The world, the state of the query, what was said of it, and whether a job of it gets in the way of other views.
    pub(super) fn into_parts(self) -> (NonNull<EntityManager>, &'w Matched, Settings, bool) {
        (self.entities, self.matched, self.settings, self.meets)
    }

    #[inline]
    pub(super) fn walk(&self) -> Walk<'w> {
        self.walk_for(Asked::Data)
    }

    #[inline]
    fn walk_for(&self, asked: Asked) -> Walk<'w> {
        // SAFETY: the manager is borrowed, and views have no mutable references to it.
        before_query(unsafe { self.entities.as_ref() }, self.matched, asked);
        // SAFETY:
        // - the manager is borrowed mutably for the lifetime
        // - only views use it, on this thread, since they do not leave it; each reads and writes its own, and no memory that one
        //   of them may write is shared
        // - the state is the manager's
        unsafe { Walk::writing(self.entities.as_ptr(), self.matched, &self.settings) }
    }

    /// A cursor that only says what is found.
    pub(super) fn finding(&self) -> Cursor<'w> {
        Cursor::new(self.walk_for(Asked::Found), Writes::Nothing)
    }

    #[inline]
    pub(super) fn cursor(&self, writes: Writes) -> Cursor<'w> {
        Cursor::new(self.walk(), writes)
    }

    /// What the world stores, for as long as nothing else is done with it.
    pub(super) fn storage(&self) -> &Storage {
        // SAFETY: the manager is borrowed, and views have no mutable references to it: what they change lies in chunks, which they
        // were made the only owners of before, or in cells. So it may be kept, as a mask does, while others are asked.
        unsafe { &(*self.entities.as_ptr()).storage }
    }

    /// The jobs of the world.
    pub(super) fn jobs(&self) -> &Jobs {
        // SAFETY: the manager is borrowed, and views have no mutable references to its jobs.
        unsafe { &(*self.entities.as_ptr()).jobs }
    }

    /// How many entities there are.
    ///
    /// # Complexity
    ///
    /// Linear in the number of chunks.
    pub fn count(&self) -> usize {
        count(self.finding())
    }

    /// Whether there is no such entity.
    pub fn is_empty(&self) -> bool {
        !self.finding().next_chunk()
    }

    /// The entities, in the order of [`QueryRef::to_entities`](crate::QueryRef::to_entities).
    pub fn to_entities(&self) -> Vec<Entity> {
        entities(self.finding())
    }

    /// Whether an entity is one of those that are found.
    pub fn matches(&self, entity: Entity) -> bool {
        let storage = self.storage();
        let Some(at) = storage.table.locate(entity) else { return false };
        let Some(found) = self.matched.find(storage.archetype_at(at)) else { return false };
        self.walk_for(Asked::Found).has_row(found, at.chunk, at.row)
    }

    /// What tells of an entity whether it has such components, whatever is switched off, has changed or is shared. See
    /// [`QueryRef::mask`](crate::QueryRef::mask). It waits for no job.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Entity, Query, World};
    ///
    /// #[derive(Component)]
    /// struct Orc;
    ///
    /// #[derive(Component)]
    /// struct Target(Entity);
    ///
    /// let mut world = World::new("Simulation");
    /// let (orc, stone) = (world.spawn(Orc), world.spawn(()));
    /// world.spawn_batch([Target(orc), Target(stone)]);
    /// let (orcs, targets) = world.split::<(Query<&Orc>, Query<&Target>)>();
    /// let mask = orcs.mask();
    /// assert_eq!(targets.iter().filter(|target| mask.matches(target.0)).count(), 1);
    /// ```
    pub fn mask(&self) -> QueryMask<'_> {
        QueryMask::new(self.storage(), self.matched)
    }

    /// What is given for each entity, one after the other.
    ///
    /// Of a query that can change something, [`as_read_only`](Self::as_read_only) has it.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Query, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Weight(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_batch([Weight(1), Weight(2), Weight(3)]);
    /// let (weights,) = world.split::<(Query<&Weight>,)>();
    /// let mut sums = Vec::new();
    /// for one in weights.iter() {
    ///     sums.push(weights.iter().map(|other| one.0 * other.0).sum::<u32>());
    /// }
    /// assert_eq!(sums, [6, 12, 18]);
    /// ```
    #[inline]
    pub fn iter(&self) -> QueryIter<'w, D>
    where
        D: ReadOnlyData,
    {
        // SAFETY: the cursor is that of this query. Nothing can be changed.
        unsafe { QueryIter::new(self.cursor(Writes::Nothing)) }
    }

    /// What is given for each entity, one after the other, to be changed.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Query, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Plague(usize);
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_many(Health(20), 5);
    /// world.spawn_batch([Plague(2), Plague(1)]);
    /// let (plagues, mut health) = world.split::<(Query<&Plague>, Query<&mut Health>)>();
    /// for plague in &plagues {
    ///     health.iter_mut().take(plague.0).for_each(|health| health.0 = 0);
    /// }
    /// assert_eq!(health.iter_mut().filter(|health| health.0 == 0).count(), 2);
    /// ```
    #[inline]
    pub fn iter_mut(&mut self) -> QueryIter<'_, D> {
        // SAFETY: the cursor is that of this query, and writes what is given. This is borrowed as long.
        unsafe { QueryIter::new(self.cursor(Writes::of::<D>())) }
    }

    /// Calls a function with what is given for each entity.
    ///
    /// The loop is compiled for the CPU at hand: see [`QueryMut::for_each`](crate::QueryMut::for_each). A query that only reads can
    /// be cloned, which costs little: so `all.clone().for_each(…)` nests, also where there is only a shared reference.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Query, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Heat(f32);
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Fire(f32);
    ///
    /// let mut world = World::new("Simulation");
    /// let stone = world.spawn(Heat(20.0));
    /// world.spawn_many(Fire(100.0), 3);
    /// let (fires, mut heat) = world.split::<(Query<&Fire>, Query<&mut Heat>)>();
    /// for fire in &fires {
    ///     heat.for_each(|heat| heat.0 += fire.0);
    /// }
    /// assert_eq!(world.get::<Heat>(stone).unwrap().0, 320.0);
    /// ```
    #[inline]
    pub fn for_each<'v>(&'v mut self, function: impl FnMut(D::Item<'v>)) {
        let walk: Walk<'v> = self.walk();
        // SAFETY: the walk is that of this query, and writes. It is used once. This is borrowed as long.
        if let Err(error) = unsafe { each_row::<D, _>(&walk, function) } {
            refuse(error.into());
        }
    }

    /// Calls a function with slices, of entities that lie side by side.
    ///
    /// See [`QueryRef::for_each_chunk`](crate::QueryRef::for_each_chunk).
    #[inline]
    pub fn for_each_chunk<'v>(&'v mut self, function: impl FnMut(D::Slices<'v>))
    where
        D: ChunkData,
    {
        let walk: Walk<'v> = self.walk();
        // SAFETY: the walk is that of this query, and writes. It is used once. This is borrowed as long.
        if let Err(error) = unsafe { each_slices::<D, _>(&walk, function) } {
            refuse(error.into());
        }
    }

    /// Calls a function with what is given for each two entities.
    ///
    /// See [`QueryMut::for_each_pair`](crate::QueryMut::for_each_pair).
    #[inline]
    pub fn for_each_pair(&mut self, function: impl for<'p> FnMut(D::Item<'p>, D::Item<'p>)) {
        // SAFETY: the walk is that of this query, and writes. It is used once. This is borrowed as long.
        if let Err(error) = unsafe { each_pair::<D, _>(&self.walk(), function) } {
            refuse(error.into());
        }
    }

    /// What is given for the only entity.
    ///
    /// # Errors
    ///
    /// With A0088 if there is none, or more than one.
    pub fn single(&self) -> Result<D::Item<'w>, EntityError>
    where
        D: ReadOnlyData,
    {
        match (self.count(), self.iter().next()) {
            (1, Some(item)) => Ok(item),
            (found, _) => Err(EntityError::NotSingle { query: type_name::<D>(), found }),
        }
    }

    /// What is given for the only entity, to be changed.
    ///
    /// # Errors
    ///
    /// With A0088 if there is none, or more than one.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Query, World};
    ///
    /// #[derive(Component)]
    /// struct Score(u32);
    ///
    /// #[derive(Component)]
    /// struct Coin(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn(Score(0));
    /// world.spawn_batch([Coin(5), Coin(10)]);
    /// let (coins, mut score) = world.split::<(Query<&Coin>, Query<&mut Score>)>();
    /// for coin in &coins {
    ///     score.single_mut().unwrap().0 += coin.0;
    /// }
    /// assert_eq!(score.single_mut().unwrap().0, 15);
    /// ```
    pub fn single_mut(&mut self) -> Result<D::Item<'_>, EntityError> {
        match self.count() {
            1 => Ok(self.iter_mut().next().expect("there is one")),
            found => Err(EntityError::NotSingle { query: type_name::<D>(), found }),
        }
    }

    /// What is given for an entity, if it is one of those that are found.
    pub fn get(&self, entity: Entity) -> Option<D::Item<'w>>
    where
        D: ReadOnlyData,
    {
        // SAFETY: nothing can be changed.
        unsafe { self.get_with(entity, Writes::Nothing) }
    }

    /// What is given for an entity, to be changed, if it is one of those that are found.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Entity, Query, Without, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Hunts(Entity);
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Immortal;
    ///
    /// let mut world = World::new("Simulation");
    /// let (deer, god) = (world.spawn(Health(3)), world.spawn((Health(3), Immortal)));
    /// world.spawn_batch([Hunts(deer), Hunts(god)]);
    /// let (hunters, mut prey) = world.split::<(Query<&Hunts>, Query<&mut Health, Without<Immortal>>)>();
    /// for hunter in &hunters {
    ///     if let Some(health) = prey.get_mut(hunter.0) {
    ///         health.0 -= 1;
    ///     }
    /// }
    /// assert_eq!(world.get::<Health>(deer).unwrap().0, 2);
    /// assert_eq!(world.get::<Health>(god).unwrap().0, 3);
    /// ```
    pub fn get_mut(&mut self, entity: Entity) -> Option<D::Item<'_>> {
        // SAFETY: it is borrowed as long as this is.
        unsafe { self.get_with(entity, Writes::of::<D>()) }
    }

    /// What is given for an entity.
    ///
    /// # Safety
    ///
    /// - nothing can be changed, or this is not used otherwise for the lifetime, and what is given is written
    unsafe fn get_with<'v>(&self, entity: Entity, writes: Writes) -> Option<D::Item<'v>>
    where
        'w: 'v,
    {
        let storage = self.storage();
        let at = storage.table.locate(entity)?;
        let archetype = storage.archetype_at(at);
        let walk: Walk<'v> = self.walk();
        // SAFETY: the walk is that of this query, and is used once. The row is there, as the table says.
        unsafe { get::<D>(walk, writes, archetype, at) }
    }
}

/// What only reads can be asked by several at once: a clone has what takes a view, or borrows it mutably.
impl<D: ReadOnlyData, F: QueryFilter> Clone for Query<'_, D, F> {
    fn clone(&self) -> Self {
        let Self { entities, matched, ref settings, meets, .. } = *self;
        // SAFETY: as for this one. Neither changes anything, so that each may read what the other does.
        unsafe { Query::new(entities, matched, settings.clone(), meets) }
    }
}

impl<'w, D: ReadOnlyData, F: QueryFilter> IntoIterator for &Query<'w, D, F> {
    type Item = D::Item<'w>;
    type IntoIter = QueryIter<'w, D>;

    #[inline]
    fn into_iter(self) -> QueryIter<'w, D> {
        self.iter()
    }
}

impl<'v, D: QueryData, F: QueryFilter> IntoIterator for &'v mut Query<'_, D, F> {
    type Item = D::Item<'v>;
    type IntoIter = QueryIter<'v, D>;

    #[inline]
    fn into_iter(self) -> QueryIter<'v, D> {
        self.iter_mut()
    }
}

impl<D, F> fmt::Debug for Query<'_, D, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Query<{}, {}>", type_name::<D>(), type_name::<F>())
    }
}
