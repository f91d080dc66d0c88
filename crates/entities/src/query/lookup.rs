//! Data of entities in any order, of a world that was split.

#![expect(unsafe_code, reason = "values of chunks of a world that several views borrow")]

use std::any::type_name;
use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;

use super::data::{QueryData, ReadOnlyData};
use super::filter::QueryFilter;
use super::matched::{Match, Matched};
use super::piece::{PieceMarks, PieceView, SharedOf};
use super::settings::Options;
use super::uses::{Asked, Meets, before_query};
use crate::entity::Entity;
use crate::manager::EntityManager;
use crate::storage::Location;

/// Data of entities in any order, of a world that is [split](EntityManager::split).
///
/// It is found for all entities that have it, switched on or off, disabled ones and prefabs too. Filters exclude entities, so
/// that another part can change them: whole archetypes, whatever is switched off in them or has changed. What is given to be
/// changed counts as changed, with its chunk. Unity's `ComponentLookup` and `BufferLookup`; if nothing is to be changed,
/// [`EntityManager::lookup`] is faster.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, Entity, Lookup, World};
///
/// #[derive(Component, Clone, Copy)]
/// struct Gold(u32);
///
/// fn pay(gold: &mut Lookup<&mut Gold>, from: Entity, to: Entity, amount: u32) {
///     gold.get_mut(from).unwrap().0 -= amount;
///     gold.get_mut(to).unwrap().0 += amount;
/// }
///
/// let mut world = World::new("Simulation");
/// let (rich, poor) = (world.spawn(Gold(100)), world.spawn(Gold(1)));
/// let (mut gold,) = world.split::<(Lookup<&mut Gold>,)>();
/// pay(&mut gold, rich, poor, 50);
/// assert!(gold.has(poor));
/// assert_eq!(world.get::<Gold>(poor).unwrap().0, 51);
/// ```
#[must_use = "a lookup does nothing until it is asked for something"]
pub struct Lookup<'w, D, F = ()> {
    /// Of a world that is borrowed mutably by the views of one split, each of which uses other parts of it.
    entities: NonNull<EntityManager>,
    matched: &'w Matched,
    /// Where the last entity was found: mostly the next one is there, too.
    recent: Cell<Option<&'w Match>>,
    /// Whether a job that takes it along gets in the way of other views.
    meets: Meets<'w>,
    /// Not of the manager: what keeps a view on its thread is said in one sentence then, and not in one for each part of a world.
    world: PhantomData<&'w mut ()>,
    /// Neither may become a subtype, whose values may lie otherwise.
    of: PhantomData<*mut (D, F)>,
}

impl<'w, D: QueryData, F: QueryFilter> Lookup<'w, D, F> {
    /// A view of what a lookup finds.
    ///
    /// # Safety
    ///
    /// - the manager is borrowed mutably for the lifetime, and used only by views
    /// - the state is the manager's, and that of a query of this data with these filters and the options of lookups
    /// - what this can change, no other view gives, and what it reads, no other can change
    /// - the chunks of all archetypes in which this can change something are the world's alone
    /// - it is said if a job that takes it along [meets](super::uses::meets) other views
    pub(super) unsafe fn new(
        entities: NonNull<EntityManager>,
        matched: &'w Matched,
        meets: Meets<'w>,
    ) -> Self {
        let recent = Cell::new(None);
        Self { entities, matched, recent, meets, world: PhantomData, of: PhantomData }
    }

    /// The world, the state of the query, and whether a job that takes it along gets in the way of other views.
    pub(super) fn into_parts(self) -> (NonNull<EntityManager>, &'w Matched, Meets<'w>) {
        (self.entities, self.matched, self.meets)
    }

    /// Where an entity is, if it has the data.
    #[inline]
    fn find(&self, entity: Entity) -> Option<(Location, &'w Match)> {
        // SAFETY: the manager is borrowed, and nobody changes it while this is.
        let storage = unsafe { &self.entities.as_ref().storage };
        let at = storage.table.locate(entity)?;
        let archetype = storage.archetype_at(at);
        match self.recent.get() {
            Some(recent) if recent.archetype == archetype => Some((at, recent)),
            _ => {
                let found = self.matched.find(archetype)?;
                self.recent.set(Some(found));
                Some((at, found))
            }
        }
    }

    /// Has the jobs completed that are in the way.
    #[inline(always)]
    fn wait(&self) {
        // SAFETY: the manager is borrowed, and nobody changes it while this is.
        before_query(unsafe { self.entities.as_ref() }, self.matched, Asked::Data);
    }

    /// What is given for a row.
    ///
    /// # Safety
    ///
    /// - an entity was found there
    /// - nothing can be changed, or this is not used otherwise for the lifetime, and what is given was marked
    #[inline]
    unsafe fn give<'v>(&self, at: Location, found: &Match) -> D::Item<'v> {
        // SAFETY: as in `find`. The table names chunks that are there.
        let (chunk, archetypes, values) = unsafe {
            let storage = &(*self.entities.as_ptr()).storage;
            (storage.chunks.get_unchecked(at.chunk), &storage.archetypes, &storage.shared)
        };
        let places = &found.places;
        // SAFETY: these are the places of the data in the archetype of the chunk, which has such a row. What can be changed is
        // in memory that is the world's alone, and nobody else uses it, as the caller promises and the split has seen to.
        unsafe {
            let fetch = D::fetch(
                PieceView { chunk, shared: SharedOf::World { archetypes, values } },
                places,
            );
            if D::TRACKS {
                D::track(fetch, at.row as usize, 1, false);
            }
            D::get(fetch, at.row as usize)
        }
    }

    /// What is given for an entity, if it is there and has it.
    #[inline]
    pub fn get(&self, entity: Entity) -> Option<D::Item<'w>>
    where
        D: ReadOnlyData,
    {
        self.wait();
        let (at, found) = self.find(entity)?;
        // SAFETY: it was just found. Nothing can be changed.
        Some(unsafe { self.give(at, found) })
    }

    /// What is given for an entity, to be changed, if it is there and has it. It counts as changed from now on.
    #[inline]
    pub fn get_mut(&mut self, entity: Entity) -> Option<D::Item<'_>> {
        self.wait();
        let (at, found) = self.find(entity)?;
        if D::MARKS {
            // SAFETY: as in `find`. The table names chunks that are there.
            let (chunk, version) = unsafe {
                let storage = &(*self.entities.as_ptr()).storage;
                (storage.chunks.get_unchecked(at.chunk), storage.version)
            };
            debug_assert!(!(D::WRITES && chunk.may_be_shared()));
            // SAFETY: these are the places of the data in the archetype of the chunk, which has it. Whoever used what is noted of
            // it was waited for, and for jobs that use something else versions were written out.
            unsafe { D::mark(&mut PieceMarks { chunk, version }, &found.places) };
        }
        // SAFETY: it was just found and marked, and this is borrowed as long.
        Some(unsafe { self.give(at, found) })
    }

    /// Whether an entity is there and has the data.
    #[inline]
    pub fn has(&self, entity: Entity) -> bool {
        self.find(entity).is_some()
    }
}

impl<D, F> fmt::Debug for Lookup<'_, D, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lookup<{}, {}>", type_name::<D>(), type_name::<F>())
    }
}

/// A lookup that is given to [`split_with`](EntityManager::split_with), with queries of which more is said.
///
/// It is only a description. What there is of it is a [`Lookup`].
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, Disabled, Entity, EntityLookup, EntityQuery, World};
///
/// #[derive(Component, Clone, Copy)]
/// struct Health(u32);
///
/// #[derive(Component, Clone, Copy)]
/// struct Healer(Entity);
///
/// let mut world = World::new("Simulation");
/// let knight = world.spawn(Health(3));
/// world.spawn((Healer(knight), Disabled));
/// let healers = EntityQuery::<&Healer>::new().include_disabled();
/// let (healers, mut health) = world.split_with((healers, EntityLookup::<&mut Health>::new()));
/// for healer in &healers {
///     health.get_mut(healer.0).unwrap().0 += 10;
/// }
/// assert_eq!(world.get::<Health>(knight).unwrap().0, 13);
/// ```
#[must_use = "a lookup does nothing until a world is split into it"]
pub struct EntityLookup<D, F = ()> {
    of: PhantomData<fn() -> (D, F)>,
}

impl<D, F> EntityLookup<D, F> {
    /// Everything that has the data is found.
    pub(super) const OPTIONS: Options =
        Options::DISABLED.with(Options::PREFABS).with(Options::IGNORE_ENABLED);

    /// A lookup of this data, by these filters.
    pub fn new() -> Self {
        Self { of: PhantomData }
    }
}

impl<D, F> Clone for EntityLookup<D, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D, F> Copy for EntityLookup<D, F> {}

impl<D, F> Default for EntityLookup<D, F> {
    fn default() -> Self {
        Self::new()
    }
}

impl<D, F> fmt::Debug for EntityLookup<D, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EntityLookup<{}, {}>", type_name::<D>(), type_name::<F>())
    }
}
