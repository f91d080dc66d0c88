//! Data of entities in any order, as jobs see it.

#![expect(
    unsafe_code,
    reason = "values of chunks of a world, which jobs use when the call that scheduled them is over"
)]

use std::any::type_name;
use std::fmt;
use std::marker::PhantomData;

use super::super::data::{QueryData, ReadOnlyData};
use super::lookup_memory::Finder;
use crate::entity::Entity;
use crate::version::Version;

/// Data of entities in any order, as a job reads it.
pub struct JobLookupView<'v, D> {
    pub(super) finder: Finder<'v>,
    /// It may not become a subtype, whose values may lie otherwise.
    pub(super) of: PhantomData<fn(D) -> D>,
}

/// Data of entities in any order, as a job changes it.
pub struct JobLookupViewMut<'v, D> {
    pub(super) finder: Finder<'v>,
    /// It may not become a subtype, whose values may lie otherwise.
    pub(super) of: PhantomData<fn(D) -> D>,
}

/// Data of entities in any order, as several threads change it, which use different entities.
pub struct UncheckedLookupView<'v, D> {
    pub(super) finder: Finder<'v>,
    /// It may not become a subtype, whose values may lie otherwise.
    pub(super) of: PhantomData<fn(D) -> D>,
}

impl<'v, D: ReadOnlyData> JobLookupView<'v, D> {
    /// What is given for an entity, if it is there and has it.
    #[inline]
    pub fn get(&self, entity: Entity) -> Option<D::Item<'v>> {
        // SAFETY: it was made for this data. The row is there, and nobody changes what is read.
        unsafe {
            let (fetch, at) = self.finder.find::<D>(entity)?;
            Some(D::get(fetch, at.row as usize))
        }
    }

    /// What is given for entities, one after the other, each if it is there and has it.
    ///
    /// Where the entities are in no order, this takes a fraction of the time of [`get`](Self::get) for each: while one is
    /// worked with, the memory of the next ones is on its way.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Entity, JobLookupView};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Weight(f32);
    ///
    /// /// To be called by a job that takes a lookup of weights along.
    /// fn weigh(all: &[Entity], weights: JobLookupView<'_, &'static Weight>) -> f32 {
    ///     weights.get_many(all.iter().copied()).flatten().map(|weight| weight.0).sum()
    /// }
    /// # let _ = weigh;
    /// ```
    #[inline]
    pub fn get_many<I: IntoIterator<Item = Entity>>(
        self,
        entities: I,
    ) -> impl Iterator<Item = Option<D::Item<'v>>> {
        let mut entities = entities.into_iter().fuse();
        let mut ahead = Ahead::<D> { next: [Entity::NULL; AHEAD], found: [None; AHEAD], at: 0 };
        // The first are on their way before one is given. When they are over, nobody is looked for in their place.
        let mut left = 0;
        for at in 0..2 * AHEAD {
            let entity = entities.next();
            left += usize::from(entity.is_some());
            ahead.step(self.finder, at, entity.unwrap_or(Entity::NULL));
        }
        std::iter::from_fn(move || {
            if left == 0 {
                return None;
            }
            let at = ahead.at;
            ahead.at += 1;
            // SAFETY: it was made for this data. The row is there, and nobody changes what is read.
            let given = ahead.found[at % AHEAD].map(|(fetch, row)| unsafe { D::get(fetch, row) });
            let entity = entities.next();
            left -= usize::from(entity.is_none());
            ahead.step(self.finder, at + 2 * AHEAD, entity.unwrap_or(Entity::NULL));
            Some(given)
        })
    }

    /// Whether an entity is there and has the data.
    #[inline]
    pub fn has(&self, entity: Entity) -> bool {
        // SAFETY: it was made for this data.
        unsafe { self.finder.find::<D>(entity) }.is_some()
    }

    /// Where an entity is, if it is there and has the data. A lookup of [`Entity`] knows all that are there. Unity's
    /// `EntityStorageInfoLookup` in a job.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Entity, Lookup, Query, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Prey(Entity);
    ///
    /// let mut world = World::new("Simulation");
    /// let (sheep, dead) = (world.spawn(()), world.spawn(()));
    /// world.spawn_batch([Prey(sheep), Prey(dead)]);
    /// world.despawn(dead)?;
    /// let (hunters, all) = world.split::<(Query<&Prey>, Lookup<Entity>)>();
    /// let job = hunters.job().with(all.into_job()).schedule_parallel(move |prey, all| {
    ///     assert_eq!(all.place(prey.0).map(|place| place.row), (prey.0 == sheep).then_some(0));
    /// })?;
    /// world.jobs().complete(job);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn place(&self, entity: Entity) -> Option<EntityPlace> {
        // SAFETY: it was made for this data.
        let (_, at) = unsafe { self.finder.find::<D>(entity) }?;
        Some(EntityPlace { chunk_number: at.chunk, row: at.row as usize })
    }

    /// Whether something of the data was written in the entity's chunk since; not if the entity is gone or does not have it.
    ///
    /// Neighbours of what was written count as written, too, unless the component
    /// [tracks changes](crate::Component::TRACK_CHANGES): then it is known of the entity itself. What the job's own query writes
    /// counts as written from the beginning, and in a job struct when the job is done.
    pub fn did_change(&self, entity: Entity, since: Version) -> bool {
        // SAFETY: it was made for this data. The job has declared that it asks when that was written, and its own query has noted
        // what it writes before anything was given, or does so when all threads are done.
        unsafe {
            let found = self.finder.find::<D>(entity);
            found.is_some_and(|(_, at)| self.finder.memory.did_change(at, since))
        }
    }
}

/// Where an entity is: what [`JobLookupView::place`] returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntityPlace {
    /// The number of its chunk, as [`StorageInfo::chunk_number`](crate::StorageInfo::chunk_number) says it.
    pub chunk_number: u32,
    /// Where it is in its chunk.
    pub row: usize,
}

/// How many values are looked for before the first is given, and for how many more the slots are.
const AHEAD: usize = 16;

/// Entities that come soon: those whose slots are on their way, and those whose values are.
struct Ahead<D: QueryData> {
    next: [Entity; AHEAD],
    found: [Option<(D::Fetch, usize)>; AHEAD],
    /// The number of the one that is given next.
    at: usize,
}

impl<D: QueryData> Ahead<D> {
    /// Has the slot of an entity on its way, and the value of the one that came so many before it.
    #[inline(always)]
    fn step(&mut self, finder: Finder<'_>, at: usize, entity: Entity) {
        finder.expect(entity);
        let before = std::mem::replace(&mut self.next[at % AHEAD], entity);
        if at >= AHEAD {
            // SAFETY: it was made for this data.
            let found = unsafe { finder.find::<D>(before) };
            let found = found.map(|(fetch, at)| (fetch, at.row as usize));
            if let Some((fetch, row)) = found {
                D::expect_row(fetch, row);
            }
            self.found[at % AHEAD] = found;
        }
    }
}

impl<D: QueryData> JobLookupViewMut<'_, D> {
    /// What is given for an entity, to be read, if it is there and has it.
    #[inline]
    pub fn get(&self, entity: Entity) -> Option<D::Item<'_>>
    where
        D: ReadOnlyData,
    {
        // SAFETY: as for who reads.
        unsafe {
            let (fetch, at) = self.finder.find::<D>(entity)?;
            Some(D::get(fetch, at.row as usize))
        }
    }

    /// What is given for an entity, to be changed, if it is there and has it. It counts as changed from now on.
    #[inline]
    pub fn get_mut(&mut self, entity: Entity) -> Option<D::Item<'_>> {
        // SAFETY: it was made for this data. The row is there, and this is borrowed mutably, so that nobody else uses it.
        unsafe {
            let (fetch, at) = self.finder.find::<D>(entity)?;
            if D::MARKS {
                self.finder.memory.mark::<D>(at.chunk);
            }
            if D::TRACKS {
                D::track(fetch, at.row as usize, 1, false);
            }
            Some(D::get(fetch, at.row as usize))
        }
    }

    /// Whether an entity is there and has the data.
    #[inline]
    pub fn has(&self, entity: Entity) -> bool {
        // SAFETY: it was made for this data.
        unsafe { self.finder.find::<D>(entity) }.is_some()
    }
}

impl<'v, D: QueryData> UncheckedLookupView<'v, D> {
    /// What is given for an entity, to be changed, if it is there and has it.
    ///
    /// # Examples
    ///
    /// What is only read can be asked for, too:
    ///
    /// ```
    /// use ancho_entities::{Component, Entity, Lookup, Query, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Shadow(Entity, u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let knight = world.spawn(Health(3));
    /// let shadow = world.spawn(Shadow(knight, 0));
    /// let (shadows, health) = world.split::<(Query<&mut Shadow>, Lookup<&Health>)>();
    /// shadows.job().with(health.into_unchecked_job()).schedule_parallel(|shadow, health| {
    ///     // SAFETY: nobody changes it.
    ///     shadow.1 = unsafe { health.get_mut(shadow.0) }.unwrap().0;
    /// })?;
    /// assert_eq!(world.get::<Shadow>(shadow)?.1, 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Safety
    ///
    /// - nobody else uses what is given for the entity as long as it is in use: no other thread, and no other call on this one
    /// - if components are switched by it, nobody else switches them meanwhile, of whatever entity, or asks whether they are on:
    ///   bits of many entities are in one word. The query of the job must not find entities by them, either
    #[inline]
    pub unsafe fn get_mut(&self, entity: Entity) -> Option<D::Item<'v>> {
        // SAFETY: it was made for this data. The row is there, and nobody else uses it, as the caller promises.
        unsafe {
            let (fetch, at) = self.finder.find::<D>(entity)?;
            if D::MARKS {
                self.finder.memory.note_written(at.chunk);
            }
            Some(D::get(fetch, at.row as usize))
        }
    }

    /// Whether an entity is there and has the data.
    #[inline]
    pub fn has(&self, entity: Entity) -> bool {
        // SAFETY: it was made for this data.
        unsafe { self.finder.find::<D>(entity) }.is_some()
    }
}

impl<D> Clone for JobLookupView<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D> Copy for JobLookupView<'_, D> {}

impl<D> Clone for UncheckedLookupView<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D> Copy for UncheckedLookupView<'_, D> {}

/// Writes how tokens and views of lookups are shown: as their types.
macro_rules! debug {
    ($($name:ident)+) => {$(
        impl<D> fmt::Debug for $name<'_, D> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "<{}>"), type_name::<D>())
            }
        }
    )+};
}

pub(super) use debug;

debug!(JobLookupView JobLookupViewMut UncheckedLookupView);
