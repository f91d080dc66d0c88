//! Creation of entities: single ones, many, from an iterator, from columns, and on several threads.

#![expect(unsafe_code, reason = "writes components to rows that were reserved for them")]

use std::fmt;
use std::iter::FusedIterator;

use ancho_burst::dispatch;
use ancho_collections::Rejected;

use super::shared_components::shared_values_of;
use super::{Archetype, EntityManager, SetLayout};
use crate::component::Beginning;
use crate::entity::Entity;
use crate::error::EntityError;
use crate::set::{CloneSet, ComponentColumns, ComponentSet, WrongLength};
use crate::storage::{Location, NOWHERE, ReservedRows, RowPlace, RowRange, Storage, repeat_row};

/// The maximum number of components for which the loop of a batch copies the offsets to the stack.
const OWN_OFFSETS: usize = 16;

impl EntityManager {
    /// Creates an entity with these components.
    ///
    /// # Panics
    ///
    /// Panics if a type occurs twice, the components are larger than a chunk, or there is no memory.
    /// [`try_spawn`](Self::try_spawn) returns these cases as errors. All methods that create entities panic if there would be
    /// more than 2³¹ entities.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Debug, PartialEq)]
    /// struct Health(u32);
    ///
    /// #[derive(Component, Debug, PartialEq)]
    /// struct Armour(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let knight = world.spawn((Health(50), Armour(7)));
    /// assert_eq!(world.get(knight), Ok(&Health(50)));
    /// assert_eq!(world.get(knight), Ok(&Armour(7)));
    /// ```
    #[inline]
    #[track_caller]
    #[doc(alias = "CreateEntity")]
    pub fn spawn<S: ComponentSet>(&mut self, set: S) -> Entity {
        match self.try_spawn(set) {
            Ok(entity) => entity,
            Err(rejected) => refuse(rejected.error),
        }
    }

    /// Creates an entity with these components. The error returns the components.
    ///
    /// # Errors
    ///
    /// Returns an error if a type occurs twice, the components are larger than a chunk, or there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Terrain([u8; 100_000]);
    ///
    /// let mut world = World::new("Simulation");
    /// let rejected = world.try_spawn(Terrain([7; 100_000])).unwrap_err();
    /// assert_eq!(rejected.value.0[0], 7, "the error returns the component");
    /// assert_eq!(world.entity_count(), 0);
    /// ```
    #[inline]
    pub fn try_spawn<S: ComponentSet>(
        &mut self,
        set: S,
    ) -> Result<Entity, Rejected<S, EntityError>> {
        self.spawn_noting(set).map(|(entity, _)| entity)
    }

    /// Creates an entity. Also returns whether that may have been logged.
    #[inline(always)]
    pub(crate) fn spawn_noting<S: ComponentSet>(
        &mut self,
        set: S,
    ) -> Result<(Entity, bool), Rejected<S, EntityError>> {
        if S::LINKS {
            return self.try_spawn_linked(set).map(|entity| (entity, true));
        }
        self.try_spawn_unlinked(set)
    }

    /// Creates an entity, and does not change links. Also returns whether that may have been logged.
    #[inline(always)]
    pub(super) fn try_spawn_unlinked<S: ComponentSet>(
        &mut self,
        set: S,
    ) -> Result<(Entity, bool), Rejected<S, EntityError>> {
        self.storage.table.require(1);
        if S::SHARED {
            return self.try_spawn_shared(set).map(|entity| (entity, true));
        }
        let room = self
            .prepare_spawn::<S>()
            .and_then(|(number, archetype)| Ok((number, self.storage.chunk_with_room(archetype)?)));
        let (number, chunk_number) = match room {
            Ok(room) => room,
            Err(error) => return Err(Rejected { value: set, error }),
        };
        Ok(self.spawn_in(number, chunk_number, set))
    }

    /// Returns the number of a set and its archetype. Completes the jobs that use the archetype.
    #[inline(always)]
    pub(super) fn prepare_spawn<S: ComponentSet>(&mut self) -> Result<(u32, u32), EntityError> {
        let number = self.set_number::<S>()?;
        let archetype = self.layout(number)?.archetype;
        self.sync_for_move([archetype]);
        Ok((number, archetype))
    }

    /// Creates an entity with the components of a set, in an unshared chunk of the set's archetype with room. Also returns whether
    /// that may have been logged.
    #[inline(always)]
    pub(super) fn spawn_in<S: ComponentSet>(
        &mut self,
        number: u32,
        chunk_number: u32,
        set: S,
    ) -> (Entity, bool) {
        if S::REQUIRES {
            self.write_required::<S>(number, chunk_number);
        }
        let layout = self.sets.layout(number);
        let chunk = &mut self.storage.chunks[chunk_number];
        let row = chunk.len;
        let entity = self.storage.table.allocate(Location { chunk: chunk_number, row });
        // SAFETY:
        // - the offsets are those of the set in its archetype, and the chunk belongs to that archetype
        // - the row after the last row has room and no values
        unsafe {
            set.write(chunk.row(row, &layout.offsets));
            chunk.id(row).write(entity);
        }
        let is_uniform = chunk.note_new(row, 1, self.storage.version);
        let has_extras = chunk.has_extras();
        if has_extras && !chunk.enabled.is_empty() {
            chunk.enabled.set_all_rows(row, 1, true);
        }
        let is_full = chunk.add_rows(1, self.storage.version);
        if is_uniform {
            self.storage.chunks.note_uniform(chunk_number);
        }
        if is_full {
            self.storage.note_full(chunk_number);
        }
        if has_extras && self.storage.chunks[chunk_number].is_observed() {
            self.storage.log_created(RowRange { chunk: chunk_number, first: row, rows: 1 });
        }
        (entity, has_extras)
    }

    /// Creates `count` entities, each with clones of these components.
    ///
    /// # Panics
    ///
    /// Panics in the cases of [`spawn`](Self::spawn).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone, Debug, PartialEq)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let orcs: Vec<_> = world.spawn_many(Health(20), 500).collect();
    /// assert_eq!(orcs.len(), 500);
    /// assert_eq!(world.get(orcs[499]), Ok(&Health(20)));
    /// ```
    #[track_caller]
    pub fn spawn_many<S: CloneSet>(&mut self, mut set: S, count: usize) -> NewEntities<'_> {
        match self.try_spawn_many(count, &mut set) {
            Ok(()) => NewEntities::new(&self.storage, &self.runs),
            Err(error) => refuse(error),
        }
    }

    pub(crate) fn try_spawn_many<S: CloneSet>(
        &mut self,
        count: usize,
        set: &mut S,
    ) -> Result<(), EntityError> {
        if S::LINKS {
            return self.try_spawn_many_linked(count, set);
        }
        self.try_spawn_many_unlinked(count, set)
    }

    /// Creates entities with clones of a set, and does not change links.
    pub(super) fn try_spawn_many_unlinked<S: CloneSet>(
        &mut self,
        count: usize,
        set: &mut S,
    ) -> Result<(), EntityError> {
        let (number, archetype) = self.prepare_spawn::<S>()?;
        self.storage.table.require(count);
        // The constructors of required components run for each entity.
        let is_bytes = self.storage.archetypes[archetype].shape.is_bytes && !S::REQUIRES;
        let group = if S::SHARED {
            let wanted = self.wanted_by_set(number, &shared_values_of(set));
            self.storage.group_of(archetype, wanted)
        } else {
            NOWHERE
        };
        let layout = self.sets.layout(number);
        let (storage, runs) = (&mut self.storage, &mut self.runs);
        let mut reserved = ReservedRows::new(storage, runs, archetype, group, count)?;
        if is_bytes && let Some(&RowRange { chunk, first: row, .. }) = reserved.runs.first() {
            let source = &reserved.storage.chunks[chunk];
            // SAFETY: the offsets are those of the set in the chunk's archetype. The row is reserved. The set is borrowed
            // mutably, so nothing else uses it.
            unsafe { set.fill(source.row(row, &layout.offsets), 1, &mut 0) };
            let source = source.data().cast_const();
            // The other rows are copies of that row, so that no more user code runs.
            reserved.fill(true, |rows, _| {
                let is_source = u32::from(rows.run.chunk == chunk);
                let (first, count) = (rows.run.first + is_source, rows.run.rows - is_source);
                // SAFETY: the source row was written. The other rows are reserved, and do not include it. All types are copied as
                // bytes.
                unsafe {
                    repeat_row(rows.shape(), source, row, rows.data(), first, count);
                    rows.assume_complete();
                }
            });
            reserved.commit();
            return Ok(());
        }
        reserved.fill(false, |rows, _| {
            let (place, count) = (rows.place(&layout.offsets), rows.len());
            // SAFETY:
            // - the offsets and columns are those of the set in its archetype, and the chunk belongs to that archetype
            // - the rows are reserved, and follow the last row of the chunk
            // - the set is borrowed mutably, so nothing else uses it
            unsafe {
                rows.write_columns(&layout.columns, |done| set.fill(place, count, done));
                rows.write_required(&layout.required);
                rows.assume_complete();
            }
        });
        reserved.commit();
        Ok(())
    }

    /// Creates an entity from each set of components that an iterator yields.
    ///
    /// If the iterator panics, the entities of all sets before the panic exist.
    ///
    /// # Panics
    ///
    /// Panics in the cases of [`spawn`](Self::spawn).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Number(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let all: Vec<_> = world.spawn_batch((0..100).map(Number)).collect();
    /// assert_eq!(world.get::<Number>(all[42]).unwrap().0, 42);
    /// ```
    #[track_caller]
    pub fn spawn_batch<I>(&mut self, sets: I) -> NewEntities<'_>
    where
        I: IntoIterator,
        I::Item: ComponentSet,
    {
        match self.spawn_each(sets.into_iter()) {
            Ok(()) => NewEntities::new(&self.storage, &self.runs),
            Err(error) => refuse(error),
        }
    }

    /// Creates an entity from each set of components that an iterator yields, and returns errors.
    #[inline]
    pub(crate) fn spawn_each<S: ComponentSet>(
        &mut self,
        sets: impl Iterator<Item = S>,
    ) -> Result<(), EntityError> {
        if S::LINKS { self.spawn_each_linked(sets) } else { self.spawn_each_unlinked(sets) }
    }

    /// Creates an entity for each set, and does not change links.
    #[inline]
    pub(super) fn spawn_each_unlinked<S: ComponentSet>(
        &mut self,
        mut sets: impl Iterator<Item = S>,
    ) -> Result<(), EntityError> {
        self.runs.clear();
        if S::SHARED || S::REQUIRES {
            return self.spawn_one_by_one(sets);
        }
        let mut next = sets.next();
        while let Some(first) = next {
            let is_full = self.fill_chunk(first, &mut sets)?;
            // An iterator that has ended is not advanced again, because it may restart.
            next = if is_full { sets.next() } else { None };
        }
        Ok(())
    }

    /// Fills one chunk with sets, until it is full or there are no more sets. Returns whether the chunk is full.
    fn fill_chunk<S: ComponentSet>(
        &mut self,
        first: S,
        rest: &mut impl Iterator<Item = S>,
    ) -> Result<bool, EntityError> {
        /// Rows with values. On drop they become entities, even if the iterator panics.
        struct Filled<'a> {
            storage: &'a mut Storage,
            runs: &'a mut Vec<RowRange>,
            run: RowRange,
        }

        impl Drop for Filled<'_> {
            fn drop(&mut self) {
                self.storage.create_entities(self.run);
                self.runs.push(self.run);
            }
        }

        self.storage.table.require(1);
        let (number, archetype) = self.prepare_spawn::<S>()?;
        let chunk = self.storage.chunk_with_room(archetype)?;
        let layout = self.sets.layout(number);
        let (offsets, data) = (&*layout.offsets, self.storage.chunks[chunk].data());
        let first_row = self.storage.chunks[chunk].len;
        let room = self.storage.chunks[chunk].capacity() - first_row;
        let room = self.storage.table.room().min(room as usize) as u32;
        let run = RowRange { chunk, first: first_row, rows: 0 };
        let mut filled = Filled { storage: &mut self.storage, runs: &mut self.runs, run };
        let written = &mut filled.run.rows;
        dispatch(
            #[inline(always)]
            || {
                // The loop reads only local variables. Writes to chunks cannot change them, so they stay in registers.
                let mut own = [0; OWN_OFFSETS];
                let offsets = match own.get_mut(..offsets.len()) {
                    Some(own) => {
                        own.copy_from_slice(offsets);
                        &*own
                    }
                    None => offsets,
                };
                let (data, mut row) = (data, first_row as usize);
                // SAFETY:
                // - the offsets are those of the set in its archetype, and the chunk belongs to that archetype
                // - the row after the last row has room and no values
                unsafe { first.write(RowPlace::new(data, offsets, row)) };
                *written = 1;
                // Internal iteration is often faster than repeated calls of `next`.
                rest.take(room as usize - 1).for_each(
                    #[inline(always)]
                    |set| {
                        row += 1;
                        // SAFETY: the offsets are those of the set in the chunk's archetype. `room` limits the rows to the free
                        // rows of the chunk, which have no values.
                        unsafe { set.write(RowPlace::new(data, offsets, row)) };
                        *written += 1;
                    },
                );
            },
        );
        Ok(filled.run.rows == room)
    }

    /// Creates entities from columns of components. This is the fastest way to create entities if the values are in columns, or
    /// if columns can be [created](crate::Columns).
    ///
    /// # Errors
    ///
    /// Returns an error if the columns differ in length, and in the cases of [`try_spawn`](Self::try_spawn). The error returns
    /// the columns.
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
    /// struct Armour(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let health = vec![Health(20), Health(30)];
    /// world.spawn_columns((health, [Armour(1), Armour(2)])).unwrap();
    /// assert_eq!(world.entity_count(), 2);
    /// ```
    pub fn spawn_columns<C: ComponentColumns>(
        &mut self,
        mut columns: C,
    ) -> Result<NewEntities<'_>, Rejected<C, EntityError>> {
        match self.write_columns(&mut columns) {
            Ok(()) => {
                columns.forget();
                Ok(NewEntities::new(&self.storage, &self.runs))
            }
            Err(error) => Err(Rejected { value: columns, error }),
        }
    }

    fn write_columns<C: ComponentColumns>(&mut self, columns: &mut C) -> Result<(), EntityError> {
        let number = self.set_number::<C::Set>()?;
        if links_of::<C::Set>() {
            // The targets are not known before the columns are written.
            let mut types = self.sets.get(number).types.iter();
            if let Some(&component) = types.find(|ty| ty.is_in_relationship()) {
                return Err(EntityError::InRelationship { component });
            }
        }
        let count = columns.length().map_err(|WrongLength { column, expected, found }| {
            let component = self.sets.get(number).types[column];
            EntityError::WrongLength { component, expected, found }
        })?;
        let archetype = self.layout(number)?.archetype;
        self.sync_for_move([archetype]);
        let layout = self.sets.layout(number);
        self.storage.table.require(count);
        let mut reserved =
            ReservedRows::new(&mut self.storage, &mut self.runs, archetype, NOWHERE, count)?;
        // Columns are written in memory order, which fills chunks fastest.
        let mut order: Vec<_> = layout.columns.iter().copied().zip(0..).collect();
        order.sort_unstable_by_key(|&(column, _)| column);
        let mut from = 0;
        // A constructor of a required component that panics uses no ids.
        reserved.fill(layout.required.is_empty(), |rows, _| {
            let count = rows.len();
            for &(column, which) in &order {
                // SAFETY:
                // - each column has `count` values for the rows, beginning at `from`
                // - the column has the same type in the set's archetype, and the rows are reserved
                // - the caller forgets the columns, so that no value is dropped twice
                unsafe { columns.write(which, from, rows.column(column), count) };
                // Values that were not created here belong to the columns until these are forgotten.
                if C::is_made(which) {
                    // SAFETY: the values were just created, and nothing else owns them.
                    unsafe { rows.own(column) };
                }
            }
            rows.write_required(&layout.required);
            from += count;
            // SAFETY: the archetype has exactly the types of the set and the required ones, and a column of each type was written.
            unsafe { rows.assume_complete() };
        });
        reserved.commit();
        Ok(())
    }

    /// Creates an entity of an archetype, with default values.
    ///
    /// # Errors
    ///
    /// Returns an error if the archetype belongs to another world, a component has no default value, or there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Default, Debug, PartialEq)]
    /// struct Score(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let players = world.archetype::<Score>();
    /// let player = world.create(players).unwrap();
    /// assert_eq!(world.get(player), Ok(&Score(0)));
    /// ```
    pub fn create(&mut self, archetype: Archetype) -> Result<Entity, EntityError> {
        let mut created = self.create_many(archetype, 1)?;
        Ok(created.next().expect("one was created"))
    }

    /// Creates `count` entities of an archetype, with default values.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`create`](Self::create).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Default, Debug, PartialEq)]
    /// struct Score(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let players = world.archetype::<Score>();
    /// let team: Vec<_> = world.create_many(players, 4)?.collect();
    /// assert_eq!(world.query::<&Score>().to_entities(), team);
    /// assert_eq!(world.get(team[3]), Ok(&Score(0)));
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    pub fn create_many(
        &mut self,
        archetype: Archetype,
        count: usize,
    ) -> Result<NewEntities<'_>, EntityError> {
        let number = self.check_archetype(archetype)?;
        let number = self.archetype_of_living(number)?;
        let types = &self.storage.archetypes[number].shape.types;
        if let Some(&component) = types.iter().find(|ty| matches!(ty.0.beginning, Beginning::None))
        {
            return Err(EntityError::NoInitialValue { component });
        }
        let (number, required) = self.with_required(number)?;
        self.sync_for_move([number]);
        self.storage.table.require(count);
        let group = self.storage.group_of_defaults(number);
        let (storage, runs) = (&mut self.storage, &mut self.runs);
        let mut reserved = ReservedRows::new(storage, runs, number, group, count)?;
        reserved.fill(false, |rows, _| {
            let is_required = |column| required.iter().any(|found| found.column == column);
            let all = 0..rows.shape().columns.len() as u32;
            rows.write_initial(all.filter(|&column| !is_required(column)));
            rows.write_required(&required);
            // SAFETY: each column is required or not, and was written in either case.
            unsafe { rows.assume_complete() };
        });
        reserved.commit();
        Ok(NewEntities::new(&self.storage, &self.runs))
    }
}

/// Returns whether a set contains types of relationships.
const fn links_of<S: ComponentSet>() -> bool {
    S::LINKS
}

#[cold]
#[track_caller]
fn refuse(error: EntityError) -> ! {
    panic!("{error}")
}

/// An iterator over the entities that a call has created, in the order of their sources.
///
/// The entities already exist, even if the iterator is not advanced.
///
/// # Examples
///
/// ```
/// use ancho_entities::World;
///
/// let mut world = World::new("Simulation");
/// let all: Vec<_> = world.spawn_many((), 3).collect();
/// assert_eq!(all.len(), 3);
/// world.spawn_many((), 1000);
/// assert_eq!(world.entity_count(), 1003);
/// ```
#[derive(Clone)]
pub struct NewEntities<'w> {
    storage: &'w Storage,
    runs: &'w [RowRange],
    current: &'w [Entity],
    left: usize,
}

impl EntityManager {
    /// Returns the entities that the last call of a method with this result has created.
    pub(crate) fn last_created(&self) -> NewEntities<'_> {
        NewEntities::new(&self.storage, &self.runs)
    }

    /// Appends the entities that the last call of a method with this result has created to a list.
    pub(crate) fn list_created(&self, list: &mut Vec<Entity>) {
        for &run in &self.runs {
            list.extend_from_slice(self.storage.chunks.entities_in(run));
        }
    }
}

impl<'w> NewEntities<'w> {
    /// Creates an iterator over a list.
    pub(crate) fn of_list(storage: &'w Storage, list: &'w [Entity]) -> Self {
        Self { storage, runs: &[], current: list, left: list.len() }
    }

    pub(super) fn new(storage: &'w Storage, runs: &'w [RowRange]) -> Self {
        let left = runs.iter().map(|run| run.rows as usize).sum();
        Self { storage, runs, current: &[], left }
    }
}

impl Iterator for NewEntities<'_> {
    type Item = Entity;

    #[inline]
    fn next(&mut self) -> Option<Entity> {
        while self.current.is_empty() {
            let (run, rest) = self.runs.split_first()?;
            self.runs = rest;
            self.current = self.storage.chunks.entities_in(*run);
        }
        let (&entity, rest) = self.current.split_first()?;
        self.current = rest;
        self.left -= 1;
        Some(entity)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for NewEntities<'_> {}

impl FusedIterator for NewEntities<'_> {}

impl fmt::Debug for NewEntities<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

/// The number of bytes at which several threads move the values. On two cores, 24 MB take three quarters of the time of one
/// thread. 2 MB take the same time, because one thread allocates the ids and has to wake the other.
pub(crate) const MANY_BYTES: usize = 8 << 20;

/// The number of chunks that a thread fills at a time.
const CHUNKS_AT_A_TIME: usize = 4;

/// Sets of components at equal distances in memory. A function that receives the sets may move all of them, and returns whether
/// it has.
pub(crate) struct Spaced<S> {
    first: *mut S,
    step: usize,
    count: usize,
}

impl<S> Spaced<S> {
    /// # Safety
    ///
    /// - there are `count` sets at these distances; no other code uses them, and they are not used after they were moved
    pub(crate) unsafe fn new(first: *mut S, step: usize, count: usize) -> Self {
        Self { first, step, count }
    }

    /// Returns the number of sets.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Returns the address of the set with an index.
    #[inline(always)]
    fn at(&self, index: usize) -> *mut S {
        self.first.wrapping_byte_add(index * self.step)
    }
}

/// A run of reserved rows that a thread fills.
pub(crate) struct Fill {
    run: RowRange,
    data: *mut u8,
    /// The number of rows in the previous runs.
    before: usize,
}

// SAFETY: the address is used only while the world that it belongs to is borrowed.
unsafe impl Send for Fill {}

/// The shared state of the threads: reserved rows of a borrowed world, and the sets that are moved there.
struct Filling<'f, S> {
    sets: Spaced<S>,
    offsets: &'f [u32],
    fills: &'f [Fill],
}

// SAFETY: each run is taken by one thread, with its own rows and sets. The sets are `Send`.
unsafe impl<S: Send> Sync for Filling<'_, S> {}

impl<S: ComponentSet> Filling<'_, S> {
    /// Moves the sets of some runs to the rows of these runs.
    ///
    /// # Safety
    ///
    /// - each run is taken once
    unsafe fn fill(&self, runs: std::ops::Range<usize>) {
        for &Fill { run, data, before } in &self.fills[runs] {
            for row in 0..run.rows as usize {
                let place = RowPlace::new(data, self.offsets, run.first as usize + row);
                // SAFETY: the set exists, and is moved once, because each run is taken once. The offsets are those of the set in
                // the archetype of the chunk, and the row is reserved.
                unsafe { self.sets.at(before + row).read().write(place) };
            }
        }
    }
}

impl EntityManager {
    /// Creates an entity from each of the sets on all threads, with these reserved ids. Returns whether the entities were created
    /// and the sets were moved. Returns `false`, and creates nothing, if there is no memory, there is only one thread, a
    /// component must not leave this thread, or an id occurs twice.
    pub(crate) fn spawn_spaced<S: ComponentSet>(
        &mut self,
        sets: Spaced<S>,
        ids: &[Entity],
    ) -> bool {
        assert_eq!(sets.count(), ids.len());
        // The constructors of required components run in order, on this thread.
        if S::SHARED || S::LINKS || S::REQUIRES || self.jobs.scheduler().thread_count() < 2 {
            return false;
        }
        let Ok(number) = self.set_number::<S>() else { return false };
        let Ok(&SetLayout { archetype, .. }) = self.layout(number) else { return false };
        // Managed components must not leave their thread.
        if !self.storage.archetypes[archetype].shape.is_shared {
            return false;
        }
        self.sync_for_move([archetype]);
        let layout = self.sets.layout(number);
        let reserved =
            ReservedRows::new(&mut self.storage, &mut self.runs, archetype, NOWHERE, ids.len());
        let Ok(mut reserved) = reserved else { return false };
        // `release_reserved` fails if an id occurs twice.
        if reserved.storage.table.release_reserved(ids).is_err() {
            return false;
        }
        self.fills.clear();
        let mut before = 0;
        reserved.fill(true, |rows, _| {
            // SAFETY: the sets are moved to all rows before the reservation is committed, and no entities are replaced.
            unsafe { rows.assume_complete() };
            self.fills.push(Fill { run: rows.run, data: rows.data(), before });
            before += rows.len();
        });
        let filling = Filling { sets, offsets: &layout.offsets, fills: &self.fills };
        let done = self.jobs.scheduler().named("fill chunks").run_parallel(
            (),
            filling.fills.len(),
            CHUNKS_AT_A_TIME,
            // SAFETY: `run_parallel` passes each run to one call.
            |(), range| unsafe { filling.fill(range) },
        );
        if done.is_err() {
            // A job cannot be scheduled inside a job, so this thread fills the rows.
            // SAFETY: no job has run, so no run was filled, and the sets were not moved.
            unsafe { filling.fill(0..filling.fills.len()) };
        }
        reserved.commit();
        true
    }
}
