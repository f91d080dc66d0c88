//! [`JobLookup`]: query data of entities by id, for jobs.

#![expect(
    unsafe_code,
    reason = "jobs use values of chunks after the call that scheduled them has returned"
)]

use std::any::type_name;
use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU64, Ordering};

use ancho_jobs::{
    Access, AccessList, BatchInfo, JobData, JobHandle, JobScheduler, ParallelJobData, ScheduleError,
};

use super::super::access::{Asked, Meets, add_uses, add_versions};
use super::super::batch::{ChunkMarks, ChunkView, Pooled, SharedSource};
use super::super::data::{QueryData, ReadOnlyData};
use super::super::filter::QueryFilter;
use super::super::lookup::Lookup;
use super::super::parallel::ParallelData;
use super::super::state::Match;
use super::super::walk::{ChunkTable, refuse};
use crate::entity::Entity;
use crate::manager::{Jobs, Resource, ResourceUse};
use crate::storage::{Chunk, Location, PageView, SlotView};
use crate::version::Version;

/// A [`Lookup`] that a job can capture, returned by [`Lookup::into_job`]. The job's function receives a [`JobLookupView`].
///
/// Any job can capture a read-only lookup. A job on one thread can capture a lookup that writes. A parallel job cannot, because two
/// threads could look up the same entity:
///
/// ```compile_fail,E0277
/// use ancho_entities::{Component, Entity, Lookup, Query, World};
///
/// #[derive(Component, Clone, Copy)]
/// struct Health(u32);
///
/// #[derive(Component, Clone, Copy)]
/// struct Healer(Entity);
///
/// let mut world = World::new("Simulation");
/// let (healers, health) = world.split::<(Query<&Healer>, Lookup<&mut Health>)>();
/// healers.job().with(health.into_job()).schedule_parallel(|healer, health| {
///     health.get_mut(healer.0).unwrap().0 += 1;
/// });
/// ```
///
/// [`unchecked`](Self::unchecked) lifts the restriction. The threads must then use different entities.
///
/// # Examples
///
/// See [`Lookup::into_job`].
#[must_use = "a job has to capture the lookup"]
pub struct JobLookup<'w, D, M = ()> {
    memory: Pooled<LookupMemory>,
    jobs: &'w Jobs,
    meets: Meets<'w>,
    /// Invariant in `D`: the columns of a subtype may be laid out differently.
    of: Invariant<(D, M)>,
}

/// Marks a type as invariant in `T`.
type Invariant<T> = PhantomData<fn(T) -> T>;

/// The mode of a [`JobLookup`] after [`JobLookup::unchecked`]. The threads of its job must use different entities.
#[derive(Clone, Copy, Debug)]
pub struct Unchecked;

/// The part of a [`JobLookup`] that its job owns.
#[doc(hidden)]
#[expect(missing_debug_implementations, reason = "owned by a job")]
pub struct LookupHeld<D> {
    memory: Pooled<LookupMemory>,
    /// Invariant in `D`: the columns of a subtype may be laid out differently.
    of: Invariant<D>,
}

/// Query data of entities by id, in a job that has captured a [`JobLookup`].
pub struct JobLookupView<'v, D, M = ()> {
    finder: Finder<'v>,
    /// Invariant in `D`: the columns of a subtype may be laid out differently.
    of: Invariant<(D, M)>,
}

impl<'w, D: QueryData, F: QueryFilter> Lookup<'w, D, F>
where
    D::Static: ParallelData,
{
    /// Converts the lookup into one that a job can capture.
    ///
    /// The job waits for jobs that conflict with the lookup, and later jobs that conflict wait for this job. All structural changes
    /// on the world's thread wait for the job, whichever entities they change.
    ///
    /// If the job's query writes a component of the lookup, [splitting](crate::EntityManager::split) the world panics.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Entity, Lookup, Query, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Position(f32);
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Aim(f32);
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Target(Entity);
    ///
    /// let mut world = World::new("Simulation");
    /// let tower = world.spawn(Position(7.0));
    /// let archer = world.spawn((Aim(0.0), Target(tower)));
    /// let (archers, positions) = world.split::<(Query<(&mut Aim, &Target)>, Lookup<&Position>)>();
    /// archers.job().with(positions.into_job()).schedule_parallel(|(aim, target), positions| {
    ///     if let Some(position) = positions.get(target.0) {
    ///         aim.0 = position.0;
    ///     }
    /// });
    /// assert_eq!(world.get::<Aim>(archer)?.0, 7.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// A lookup that writes, in a job on one thread:
    ///
    /// ```
    /// use ancho_entities::{Component, Entity, Lookup, Query, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Healer(Entity);
    ///
    /// let mut world = World::new("Simulation");
    /// let knight = world.spawn(Health(3));
    /// world.spawn_batch([Healer(knight), Healer(knight)]);
    /// let (healers, health) = world.split::<(Query<&Healer>, Lookup<&mut Health>)>();
    /// healers.job().with(health.into_job()).schedule(|healer, health| {
    ///     health.get_mut(healer.0).unwrap().0 += 10;
    /// });
    /// assert_eq!(world.get::<Health>(knight)?.0, 23);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn into_job(self) -> JobLookup<'w, D::Static> {
        let (entities, matched, meets) = self.into_parts();
        // SAFETY: the manager is borrowed for the lifetime, and views have no mutable references to its jobs or to its storage.
        let (jobs, storage) =
            unsafe { (&(*entities.as_ptr()).jobs, &(*entities.as_ptr()).storage) };
        let mut pooled = jobs.lookups().take();
        let memory = pooled.get_mut();
        memory.uses.clear();
        add_uses(matched, &storage.archetypes, Asked::Data, &mut memory.uses);
        add_versions(&matched.plan, &mut memory.uses);
        memory.uses.push((Resource::Table, Access::Read));
        storage.chunks.stay();
        // SAFETY: the job declares that it reads the entity table, so that every change of the table waits for the job.
        unsafe { memory.pages.read_pages(&storage.table) };
        memory.version = storage.version;
        memory.begin::<D::Static>(storage.chunks.numbers());
        memory.chunks = ChunkTable::of(&storage.chunks);
        let shared =
            SharedSource::World { archetypes: &storage.archetypes, values: &storage.shared };
        for found in &*matched.matches {
            let chunks = &storage.archetypes[found.archetype].chunks;
            if !chunks.is_empty() {
                memory.uses.push((Resource::Rows(found.archetype), Access::Read));
            }
            // The job may mark or read versions while other jobs mark other columns of the same chunks.
            storage.chunks.write_out_versions(chunks);
            for &number in chunks {
                // SAFETY: archetypes list chunks that exist, and these are the places of the data in their archetype.
                let fetch = unsafe {
                    let chunk = &*memory.chunks.at(number);
                    D::Static::fetch(
                        ChunkView { chunk, shared, since: Version::NEVER },
                        &found.places,
                    )
                };
                memory.insert::<D::Static>(number, found, fetch);
            }
        }
        JobLookup { memory: pooled, jobs, meets, of: PhantomData }
    }
}

impl<'w, D> JobLookup<'w, D> {
    /// Allows a parallel job to capture a lookup that writes. The threads must use different entities.
    ///
    /// This is Unity's `NativeDisableParallelForRestriction`. If data of a chunk was returned for writing, all rows of the chunk
    /// count as changed.
    ///
    /// This method is safe. [`JobLookupView::get_unchecked`] is unsafe and has the requirements.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Entity, Lookup, Query, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Shadow(Entity);
    ///
    /// let mut world = World::new("Simulation");
    /// let knights: Vec<_> = world.spawn_many(Health(3), 100).collect();
    /// world.spawn_batch(knights.iter().map(|&knight| Shadow(knight)));
    /// let (shadows, health) = world.split::<(Query<&Shadow>, Lookup<&mut Health>)>();
    /// shadows.job().with(health.into_job().unchecked()).schedule_parallel(|shadow, health| {
    ///     // SAFETY: each knight has one shadow.
    ///     unsafe { health.get_unchecked(shadow.0) }.unwrap().0 = 0;
    /// });
    /// assert!(world.query::<&Health>().iter().all(|health| health.0 == 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn unchecked(self) -> JobLookup<'w, D, Unchecked> {
        JobLookup { memory: self.memory, jobs: self.jobs, meets: self.meets, of: PhantomData }
    }
}

impl<'w, D: QueryData> JobLookup<'w, D> {
    /// Returns the jobs of the world.
    pub(super) fn jobs(&self) -> &'w Jobs {
        self.jobs
    }

    /// Schedules a job on one thread that captures only this lookup, and calls a function with its view. The handle may be ignored: the
    /// world orders the job and completes it.
    ///
    /// Outside of systems, [`EntityManager::split`](crate::EntityManager::split) returns a lookup for it. A job that captures other data
    /// too is scheduled on the world's [job scheduler](Self::scheduler).
    ///
    /// # Panics
    ///
    /// Panics with A0006 if called in a job, and with A0008 if too many jobs are uncompleted.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Lookup, World};
    ///
    /// #[derive(Component, Debug, PartialEq)]
    /// struct Score(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let player = world.spawn(Score(1));
    /// let (scores,) = world.split::<(Lookup<&mut Score>,)>();
    /// scores.into_job().schedule(move |mut scores| scores.get_mut(player).unwrap().0 += 10);
    /// // Reading the component waits for the job.
    /// assert_eq!(world.get(player), Ok(&Score(11)));
    /// ```
    #[track_caller]
    pub fn schedule<C>(self, function: C) -> JobHandle
    where
        D: ParallelData + 'static,
        C: for<'v> FnOnce(JobLookupView<'v, D>) + Send + 'static,
    {
        let (jobs, name) = (self.jobs, type_name::<C>());
        match jobs.scheduler().named(name).schedule(&[], self, function) {
            Ok(handle) => {
                jobs.after_scheduling(handle, name);
                handle
            }
            Err(error) => refuse(error),
        }
    }

    /// Returns the job scheduler of the world. A job with this lookup must be scheduled on it.
    pub fn scheduler(&self) -> &'w JobScheduler {
        self.jobs.scheduler()
    }

    /// Returns `true` if an entity exists and has the data.
    pub(super) fn has(&self, entity: Entity) -> bool {
        // SAFETY: the memory was filled for this data.
        unsafe { self.memory.get().finder().find::<D>(entity) }.is_some()
    }
}

impl<D: QueryData> LookupHeld<D> {
    /// Returns the fetch of an entity's chunk, and the row of the entity, without marking the data as changed.
    #[inline]
    pub(super) fn find(&self, entity: Entity) -> Option<(D::Fetch, usize)> {
        // SAFETY: the memory was filled for this data.
        let (fetch, at) = unsafe { self.memory.get().finder().find::<D>(entity) }?;
        Some((fetch, at.row as usize))
    }

    /// Marks the data of an entity as changed.
    ///
    /// # Safety
    ///
    /// - all threads of the job are done, and no other job uses the data
    pub(super) unsafe fn mark(&self, entity: Entity)
    where
        D: ParallelData + 'static,
    {
        // SAFETY: no other code uses the data, and the item is not used.
        unsafe { self.view::<()>().item(entity) };
    }
}

impl<D> LookupHeld<D> {
    #[inline(always)]
    fn view<M>(&self) -> JobLookupView<'_, D, M> {
        JobLookupView { finder: self.memory.get().finder(), of: PhantomData }
    }
}

/// The mode of a [`JobLookup`]: `()` or [`Unchecked`].
#[expect(unnameable_types, reason = "there are two modes")]
pub trait Mode {
    /// True if chunks are marked as changed when the job is done, and not when data is returned.
    const MARKS_LATE: bool;
}

/// A [`Mode`] in which several threads can have views of a [`JobLookup`] of `D`.
#[diagnostic::on_unimplemented(
    message = "a parallel job cannot capture a lookup of `{D}`, which writes",
    label = "two threads could look up the same entity",
    note = "use `schedule`, a job of one thread; or `lookup.into_job().unchecked()`, if the threads use different entities"
)]
#[expect(unnameable_types, reason = "there are two modes")]
pub trait ParallelMode<D>: Mode {}

#[diagnostic::do_not_recommend]
impl<D: ReadOnlyData> ParallelMode<D> for () {}

impl<D> ParallelMode<D> for Unchecked {}

impl Mode for () {
    const MARKS_LATE: bool = false;
}

impl Mode for Unchecked {
    const MARKS_LATE: bool = true;
}

// SAFETY:
// - `declare` declares all resources of the world that the view reads and writes, including the entity table
// - the world is borrowed for the lifetime: mutably if the lookup writes
// - all memory that the view accesses lives as long as the world; the world completes its jobs before it is dropped, and completes
//   the jobs that conflict before it changes anything
// - a view that writes is the job's only view, and `get_mut` borrows it mutably; the unchecked view has no safe method that returns
//   data that can be written
unsafe impl<D: ParallelData + 'static, M: Mode> JobData for JobLookup<'_, D, M> {
    type Held = LookupHeld<D>;
    type Whole<'v> = JobLookupView<'v, D, M>;

    fn declare(&self, accesses: &mut AccessList) {
        self.jobs.declare(&self.memory.get().uses, accesses);
        // A job that conflicts with a view runs immediately. Unless it is in a system, functions of the job that run on the world's
        // thread may use views and items that are `'static`.
        let (meets, in_system) = match &self.meets {
            Meets::Nobody => (false, true),
            Meets::Writer(plan) => (!self.jobs.declared().is_over(plan), false),
            Meets::WriterOfSystem(plan) => (!self.jobs.declared().is_over(plan), true),
            Meets::Others => (true, false),
            Meets::OthersOfSystem => (true, true),
        };
        if meets {
            accesses.complete_at_once();
            if !in_system {
                accesses.use_one_thread();
            }
        }
    }

    fn hold(self) -> LookupHeld<D> {
        LookupHeld { memory: self.memory, of: PhantomData }
    }

    unsafe fn whole(held: &mut LookupHeld<D>) -> JobLookupView<'_, D, M> {
        held.view()
    }

    const SETTLES: bool = M::MARKS_LATE && D::MARKS;

    unsafe fn settle(held: &mut LookupHeld<D>) {
        // SAFETY: the memory was filled for this data, and all threads are done.
        unsafe { held.memory.get().mark_written::<D>() };
    }
}

// SAFETY: the implementation of `JobData` fulfils its contract. Threads only read through their views, or call `get_unchecked`,
// which requires that they use different entities.
unsafe impl<D: ParallelData + 'static, M: ParallelMode<D>> ParallelJobData for JobLookup<'_, D, M> {
    type Batch<'v> = JobLookupView<'v, D, M>;
    type Item<'b> = JobLookupView<'b, D, M>;

    fn check_count(&self, _: &'static str, _: usize) -> Result<(), ScheduleError> {
        Ok(())
    }

    type Open<'v> = JobLookupView<'v, D, M>;

    #[inline(always)]
    unsafe fn open(held: &LookupHeld<D>) -> JobLookupView<'_, D, M> {
        held.view()
    }

    #[inline(always)]
    unsafe fn batch<'v>(
        _: &'v LookupHeld<D>,
        open: &JobLookupView<'v, D, M>,
        _: &BatchInfo,
    ) -> JobLookupView<'v, D, M> {
        *open
    }

    #[inline(always)]
    fn item<'b>(batch: &'b mut JobLookupView<'_, D, M>, _: usize) -> JobLookupView<'b, D, M> {
        *batch
    }
}

impl<'v, D: QueryData> JobLookupView<'v, D> {
    /// Returns the data of an entity, or `None` if the entity does not exist or does not have the data.
    #[inline]
    pub fn get(&self, entity: Entity) -> Option<D::Item<'v>>
    where
        D: ReadOnlyData,
    {
        // SAFETY: the data is read-only.
        unsafe { self.item(entity) }
    }

    /// Returns the data of an entity for writing, or `None` if the entity does not exist or does not have the data.
    ///
    /// The data counts as changed, whether or not it is written.
    #[inline]
    pub fn get_mut(&mut self, entity: Entity) -> Option<D::Item<'_>> {
        // SAFETY: if the data can be written, this is the job's only view, which is not `Copy`, and it is borrowed mutably as long
        // as the item lives.
        unsafe { self.item(entity) }
    }

    /// Returns the data of an entity. Marks it as changed first if it can be written.
    ///
    /// # Safety
    ///
    /// - the data is read-only, or no other code uses it for the lifetime
    #[inline(always)]
    unsafe fn item<'i>(&self, entity: Entity) -> Option<D::Item<'i>> {
        // SAFETY: the memory was filled for this data, and the row exists. No job writes data that is declared as read, and no
        // other code uses data that can be written.
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

    /// Returns an iterator over the data of entities, in their order. Yields `None` for an entity that does not exist or does not
    /// have the data.
    ///
    /// For entities in random order, this takes a fraction of the time of a [`get`](Self::get) for each entity, because the next
    /// entities are prefetched.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Entity, JobLookupView};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Weight(f32);
    ///
    /// /// Called by a job that captures a lookup of weights.
    /// fn weigh(all: &[Entity], weights: JobLookupView<'_, &'static Weight>) -> f32 {
    ///     weights.get_many(all.iter().copied()).flatten().map(|weight| weight.0).sum()
    /// }
    /// # let _ = weigh;
    /// ```
    #[inline]
    pub fn get_many<I: IntoIterator<Item = Entity>>(
        self,
        entities: I,
    ) -> impl Iterator<Item = Option<D::Item<'v>>>
    where
        D: ReadOnlyData,
    {
        let mut entities = entities.into_iter().fuse();
        let mut ahead = Ahead::<D> { next: [Entity::NULL; AHEAD], found: [None; AHEAD], at: 0 };
        // The first entities are prefetched before the first item is returned. After the last entity, null entities take the place
        // of further entities.
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
            // SAFETY: the memory was filled for this data. The row exists, and no job writes the data, which is declared as read.
            let item = ahead.found[at % AHEAD].map(|(fetch, row)| unsafe { D::get(fetch, row) });
            let entity = entities.next();
            left -= usize::from(entity.is_none());
            ahead.step(self.finder, at + 2 * AHEAD, entity.unwrap_or(Entity::NULL));
            Some(item)
        })
    }

    /// Returns the chunk number and the row of an entity, or `None` if the entity does not exist or does not have the data.
    ///
    /// The chunk number is that of [`StorageInfo::chunk_number`](crate::StorageInfo::chunk_number). A lookup of [`Entity`] finds
    /// every entity. This is Unity's `EntityStorageInfoLookup` in a job.
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
    ///     assert_eq!(all.place(prey.0).map(|(_, row)| row), (prey.0 == sheep).then_some(0));
    /// });
    /// world.jobs().complete(job);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn place(&self, entity: Entity) -> Option<(u32, usize)> {
        // SAFETY: the memory was filled for this data.
        let (_, at) = unsafe { self.finder.find::<D>(entity) }?;
        Some((at.chunk, at.row as usize))
    }

    /// Returns `true` if the data was written in the entity's chunk since a version, and `false` if the entity does not exist or
    /// does not have the data.
    ///
    /// A write to another entity of the chunk counts too, unless the component [tracks changes](crate::Component::TRACK_CHANGES) by
    /// entity. Writes of the job's own query count from the start of the job, or from its end if the job is a struct.
    pub fn did_change(&self, entity: Entity, since: Version) -> bool
    where
        D: ReadOnlyData,
    {
        // SAFETY: the memory was filled for this data.
        let Some((_, at)) = (unsafe { self.finder.find::<D>(entity) }) else { return false };
        // SAFETY: the entity was found, so that a fetch was inserted for its chunk.
        let (found, chunk) = unsafe { self.finder.memory.chunk(at.chunk) };
        let mut places = found.places.iter().filter(|place| place.is_there());
        // SAFETY: the columns are those of the chunk's archetype, and the row exists. The job declares that it reads the versions,
        // so that no other job marks them. The job's own query has marked its chunks before the first item, or marks them when all
        // threads are done.
        places.any(|place| unsafe { chunk.row_version(place.column, at.row) }.is_newer_than(since))
    }
}

impl<'v, D: QueryData> JobLookupView<'v, D, Unchecked> {
    /// Returns the data of an entity for writing, or `None` if the entity does not exist or does not have the data.
    ///
    /// # Examples
    ///
    /// An unchecked lookup of read-only data:
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
    /// shadows.job().with(health.into_job().unchecked()).schedule_parallel(|shadow, health| {
    ///     // SAFETY: nothing writes it.
    ///     shadow.1 = unsafe { health.get_unchecked(shadow.0) }.unwrap().0;
    /// });
    /// assert_eq!(world.get::<Shadow>(shadow)?.1, 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Safety
    ///
    /// - as long as the item is in use, neither another thread nor an item of another call uses the data of the entity, unless the
    ///   data is read-only
    /// - if the data can enable or disable components, no other thread enables, disables or reads the enabled state of these
    ///   components meanwhile, for any entity, because enabled bits of many entities share a word
    /// - if the data can enable or disable components, the job's query does not filter by these components
    #[inline]
    pub unsafe fn get_unchecked(&self, entity: Entity) -> Option<D::Item<'v>> {
        // SAFETY: the memory was filled for this data. The row exists, and neither another thread nor an item of another call uses
        // its data.
        unsafe {
            let (fetch, at) = self.finder.find::<D>(entity)?;
            if D::MARKS {
                self.finder.memory.note_written(at.chunk);
            }
            Some(D::get(fetch, at.row as usize))
        }
    }
}

impl<D: QueryData, M> JobLookupView<'_, D, M> {
    /// Returns `true` if an entity exists and has the data.
    #[inline]
    pub fn has(&self, entity: Entity) -> bool {
        // SAFETY: the memory was filled for this data.
        unsafe { self.finder.find::<D>(entity) }.is_some()
    }
}

impl<D, M: ParallelMode<D>> Clone for JobLookupView<'_, D, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D, M: ParallelMode<D>> Copy for JobLookupView<'_, D, M> {}

impl<D, M> fmt::Debug for JobLookup<'_, D, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JobLookup<{}>", type_name::<D>())
    }
}

impl<D, M> fmt::Debug for JobLookupView<'_, D, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JobLookupView<{}>", type_name::<D>())
    }
}

/// Number of entities whose values are prefetched ahead of the returned item. Slots are prefetched for twice this number of
/// entities.
const AHEAD: usize = 16;

/// Ring buffers of [`get_many`](JobLookupView::get_many).
struct Ahead<D: QueryData> {
    next: [Entity; AHEAD],
    found: [Option<(D::Fetch, usize)>; AHEAD],
    /// Index of the entity whose item is returned next.
    at: usize,
}

impl<D: QueryData> Ahead<D> {
    /// Prefetches the slot of the entity with index `at`, and the value of the entity with index `at - AHEAD`.
    #[inline(always)]
    fn step(&mut self, finder: Finder<'_>, at: usize, entity: Entity) {
        finder.slots.prefetch(entity);
        let before = std::mem::replace(&mut self.next[at % AHEAD], entity);
        if at >= AHEAD {
            // SAFETY: the memory was filled for this data.
            let found = unsafe { finder.find::<D>(before) };
            let found = found.map(|(fetch, at)| (fetch, at.row as usize));
            if let Some((fetch, row)) = found {
                D::expect_row(fetch, row);
            }
            self.found[at % AHEAD] = found;
        }
    }
}

/// Tables of a lookup in a job: the slots of all entities, and the fetch of each chunk.
#[derive(Default)]
pub(crate) struct LookupMemory {
    pages: PageView<'static>,
    /// An `Option<D::Fetch>` for each chunk, stored as words and indexed by chunk number.
    fetched: Vec<MaybeUninit<u64>>,
    /// The match of each chunk, indexed by chunk number. Null if the chunk does not match.
    found: Vec<*const Match>,
    /// One bit per chunk, set if data of the chunk was returned for writing. Used only if several threads may write.
    written: Vec<AtomicU64>,
    chunks: ChunkTable,
    version: Version,
    uses: Vec<ResourceUse>,
}

// SAFETY: threads access the memory behind the pointers only as the job has declared. No other code writes it meanwhile.
unsafe impl Send for LookupMemory {}
// SAFETY: threads access the memory behind the pointers only as the job has declared. No other code writes it meanwhile.
unsafe impl Sync for LookupMemory {}

impl LookupMemory {
    /// Returns the number of words of an `Option<D::Fetch>`.
    const fn words<D: QueryData>() -> usize {
        assert!(align_of::<Option<D::Fetch>>() <= align_of::<u64>());
        size_of::<Option<D::Fetch>>().div_ceil(size_of::<u64>())
    }

    /// Clears the tables, and makes room for `chunks` chunks.
    fn begin<D: QueryData>(&mut self, chunks: usize) {
        let words = Self::words::<D>();
        self.fetched.clear();
        self.fetched.resize(chunks * words, MaybeUninit::uninit());
        for place in self.fetched.chunks_exact_mut(words) {
            // SAFETY: the words have the size of an `Option<D::Fetch>`, and at least its alignment.
            unsafe { place.as_mut_ptr().cast::<Option<D::Fetch>>().write(None) };
        }
        self.found.clear();
        self.found.resize(chunks, std::ptr::null());
        self.written.clear();
        if D::MARKS {
            self.written.resize_with(chunks.div_ceil(64), AtomicU64::default);
        }
    }

    /// Stores the match and the fetch of a chunk.
    fn insert<D: QueryData>(&mut self, chunk: u32, found: &Match, fetch: D::Fetch) {
        let words = Self::words::<D>();
        self.found[chunk as usize] = found;
        let place = &mut self.fetched[chunk as usize * words..][..words];
        // SAFETY: the words have the size of an `Option<D::Fetch>`, and at least its alignment.
        unsafe { place.as_mut_ptr().cast::<Option<D::Fetch>>().write(Some(fetch)) };
    }

    #[inline(always)]
    fn finder(&self) -> Finder<'_> {
        Finder { slots: self.pages.slots(), fetched: self.fetched.as_ptr(), memory: self }
    }

    /// Returns the chunk with a number, and its match.
    ///
    /// # Safety
    ///
    /// - a fetch was [inserted](Self::insert) for the chunk
    unsafe fn chunk(&self, number: u32) -> (&Match, &Chunk) {
        // SAFETY: a fetch was inserted, so that the match is not null. The job has declared that it reads the rows of the chunk's
        // archetype, so that the chunk and the match stay in place.
        unsafe { (&*self.found[number as usize], &*self.chunks.at(number)) }
    }

    /// Records that data of a chunk was returned for writing. [`mark_written`](Self::mark_written) marks the chunk later.
    #[inline(always)]
    fn note_written(&self, chunk: u32) {
        let (word, bit) = (&self.written[chunk as usize / 64], 1 << (chunk % 64));
        // The load avoids a write, because the bit is usually set already. Relaxed: it is read when all threads are done.
        if word.load(Ordering::Relaxed) & bit == 0 {
            word.fetch_or(bit, Ordering::Relaxed);
        }
    }

    /// Marks the data as changed in a chunk.
    ///
    /// # Safety
    ///
    /// - the memory was filled for this data, and a fetch was [inserted](Self::insert) for the chunk
    /// - the data can be written, and no other thread uses it
    unsafe fn mark<D: QueryData>(&self, chunk: u32) {
        // SAFETY:
        // - a fetch was inserted for the chunk, and these are the places of the data in its archetype
        // - no other thread uses the data, and the versions of the chunk's other columns were written out
        unsafe {
            let (found, chunk) = self.chunk(chunk);
            D::mark(&mut ChunkMarks { chunk, version: self.version }, &found.places);
        }
    }

    /// Marks all rows of the [recorded](Self::note_written) chunks as changed.
    ///
    /// # Safety
    ///
    /// - the memory was filled for this data, which can be written
    /// - all threads of the job are done, and no other job uses the data
    unsafe fn mark_written<D: QueryData>(&self) {
        for (at, word) in (0..).zip(&self.written) {
            let mut word = word.load(Ordering::Relaxed);
            while word != 0 {
                let chunk = at * 64 + word.trailing_zeros();
                word &= word - 1;
                // SAFETY: the memory was filled for this data, which can be written. Data of the chunk was returned, so a fetch
                // was inserted for the chunk, which exists. All threads of the job are done, and no other job uses the data.
                unsafe {
                    self.mark::<D>(chunk);
                    if D::TRACKS
                        && let Some(fetch) = self.finder().fetched_from::<D>(chunk)
                    {
                        D::track(fetch, 0, self.chunk(chunk).1.len as usize, false);
                    }
                }
            }
        }
    }
}

/// Addresses of the tables of a lookup.
///
/// The copies stay in registers: a job that writes to other memory does not have to reload them.
#[derive(Clone, Copy)]
struct Finder<'v> {
    slots: SlotView<'v>,
    fetched: *const MaybeUninit<u64>,
    memory: &'v LookupMemory,
}

// SAFETY: the pointer points into `memory`, which is `Sync` and does not change as long as it is borrowed.
unsafe impl Send for Finder<'_> {}
// SAFETY: the pointer points into `memory`, which is `Sync` and does not change as long as it is borrowed.
unsafe impl Sync for Finder<'_> {}

impl Finder<'_> {
    /// Finds the fetch of an entity's chunk, and the location of the entity.
    ///
    /// # Safety
    ///
    /// - the memory was filled for this data
    #[inline(always)]
    unsafe fn find<D: QueryData>(self, entity: Entity) -> Option<(D::Fetch, Location)> {
        let at = self.slots.locate(entity)?;
        // SAFETY: the memory was filled for this data. The entity table names chunks that exist.
        let fetch = unsafe { self.fetched_from::<D>(at.chunk) }?;
        Some((fetch, at))
    }

    /// Returns the fetch of a chunk, if the chunk has the data.
    ///
    /// # Safety
    ///
    /// - the memory was filled for this data
    /// - the world has a chunk with this number
    #[inline(always)]
    unsafe fn fetched_from<D: QueryData>(self, chunk: u32) -> Option<D::Fetch> {
        let words = LookupMemory::words::<D>();
        // SAFETY: the table has words for each chunk of the world, and they were written for this data.
        unsafe { self.fetched.add(chunk as usize * words).cast::<Option<D::Fetch>>().read() }
    }
}
