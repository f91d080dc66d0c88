//! Data of entities in any order, for jobs.

#![expect(
    unsafe_code,
    reason = "values of chunks of a world, which jobs use when the call that scheduled them is over"
)]

use std::any::type_name;
use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU64, Ordering};

use ancho_jobs::{Access, AccessList, BatchInfo, JobData, ParallelJobData, ScheduleError};

use super::super::data::{QueryData, ReadOnlyData};
use super::super::lookup::LookupView;
use super::super::matched::Match;
use super::super::parallel::ParallelData;
use super::super::piece::{PieceMarks, PieceView, SharedOf};
use super::super::pool::Pooled;
use super::super::uses::{Asked, add_uses};
use crate::entity::Entity;
use crate::manager::{Jobs, Resource, ResourceUse};
use crate::storage::{Chunk, Location, SeenPages};
use crate::version::Version;

/// What a job looks for entities in: where they are, and what was fetched from each chunk.
pub(crate) struct LookupMemory {
    pages: SeenPages<'static>,
    /// What was fetched from each chunk, by its number, as so many words.
    fetched: Vec<MaybeUninit<u64>>,
    /// Whether a chunk has what is looked for: a bit for each.
    has: Vec<u64>,
    /// What a chunk is a match of, if something is written.
    found: Vec<*const Match>,
    /// Which chunks were written: a bit for each, if several threads write.
    written: Vec<AtomicU64>,
    /// Where the chunks are.
    chunks: *mut Chunk,
    version: Version,
    uses: Vec<ResourceUse>,
    /// Whether a job that takes it along is done at once, since others would be in its way.
    at_once: bool,
}

// SAFETY: threads read what it points to, or change it as the job has declared. Nobody else does meanwhile.
unsafe impl Send for LookupMemory {}
// SAFETY: as above.
unsafe impl Sync for LookupMemory {}

impl Default for LookupMemory {
    fn default() -> Self {
        Self {
            pages: SeenPages::default(),
            fetched: Vec::new(),
            has: Vec::new(),
            found: Vec::new(),
            written: Vec::new(),
            chunks: std::ptr::null_mut(),
            version: Version::NEVER,
            uses: Vec::new(),
            at_once: false,
        }
    }
}

impl LookupMemory {
    /// How many words are needed for what is fetched from a chunk.
    const fn words<D: QueryData>() -> usize {
        assert!(align_of::<D::Fetch>() <= align_of::<u64>());
        size_of::<D::Fetch>().div_ceil(size_of::<u64>())
    }

    /// Where the data of an entity is: what was fetched from its chunk.
    ///
    /// # Safety
    ///
    /// - it was made for this data
    #[inline(always)]
    unsafe fn find<D: QueryData>(&self, entity: Entity) -> Option<(D::Fetch, Location)> {
        let at = self.pages.locate(entity)?;
        let chunk = at.chunk as usize;
        // SAFETY: the table names chunks that are there, and there is a bit for each.
        let has = unsafe { *self.has.get_unchecked(chunk / 64) };
        if has >> (chunk % 64) & 1 == 0 {
            return None;
        }
        // SAFETY: there is one for each chunk, which was written if it has what is looked for.
        let fetch = unsafe {
            let words = self.fetched.as_ptr().add(chunk * Self::words::<D>());
            words.cast::<D::Fetch>().read()
        };
        Some((fetch, at))
    }

    /// Notes that something of a chunk was given to be written, to be marked when all threads are done.
    #[inline(always)]
    fn note_written(&self, chunk: u32) {
        let (word, bit) = (&self.written[chunk as usize / 64], 1 << (chunk % 64));
        // Mostly the chunk was written before. Relaxed: it is read when all threads are done.
        if word.load(Ordering::Relaxed) & bit == 0 {
            word.fetch_or(bit, Ordering::Relaxed);
        }
    }

    /// Marks what is written of a chunk that has what is looked for.
    ///
    /// # Safety
    ///
    /// - it was made for this data, which can be changed, and nobody else uses it
    unsafe fn mark<D: QueryData>(&self, chunk: u32) {
        // SAFETY: the chunk is there, as the table says, and the match is that of its archetype. Its versions were written out.
        unsafe {
            let found = &*self.found[chunk as usize];
            let chunk = &*self.chunks.add(chunk as usize);
            D::mark(&mut PieceMarks { chunk, version: self.version }, &found.places);
        }
    }
}

/// What a job keeps of a lookup.
pub struct LookupHeld<D> {
    memory: Pooled<LookupMemory>,
    of: PhantomData<fn() -> D>,
}

/// What a job takes along to read data of entities in any order: from [`LookupView::into_job`].
///
/// # Examples
///
/// See [`LookupView::into_job`].
#[must_use = "it is for a job to take along"]
pub struct JobLookup<'w, D>(Token<'w, D>);

/// What a job that one thread does takes along to change data of entities in any order: from [`LookupView::into_job_mut`].
///
/// Several threads could be given the same entity, so that a parallel job does not take it:
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
/// healers.job().with(health.into_job_mut()).schedule_parallel(|healer, health| {
///     health.get_mut(healer.0).unwrap().0 += 1;
/// });
/// ```
///
/// # Examples
///
/// See [`LookupView::into_job_mut`].
#[must_use = "it is for a job to take along"]
pub struct JobLookupMut<'w, D>(Token<'w, D>);

/// What a parallel job takes along to change data of entities in any order, whose author has seen to it that no two threads
/// use the same: from [`LookupView::into_unchecked_job`].
///
/// # Examples
///
/// See [`LookupView::into_unchecked_job`].
#[must_use = "it is for a job to take along"]
pub struct UncheckedLookup<'w, D>(Token<'w, D>);

struct Token<'w, D> {
    memory: Pooled<LookupMemory>,
    jobs: &'w Jobs,
    of: PhantomData<fn() -> D>,
}

impl<D> Token<'_, D> {
    fn declare(&self, accesses: &mut AccessList) {
        let memory = self.memory.get();
        self.jobs.declare(&memory.uses, accesses);
        if memory.at_once {
            accesses.complete_at_once();
        }
    }

    fn hold(self) -> LookupHeld<D> {
        LookupHeld { memory: self.memory, of: PhantomData }
    }
}

/// Data of entities in any order, as a job reads it.
pub struct JobLookupView<'v, D> {
    memory: &'v LookupMemory,
    of: PhantomData<fn() -> D>,
}

/// Data of entities in any order, as a job changes it.
pub struct JobLookupViewMut<'v, D> {
    memory: &'v LookupMemory,
    of: PhantomData<fn() -> D>,
}

/// Data of entities in any order, as several threads change it, which use different entities.
pub struct UncheckedLookupView<'v, D> {
    memory: &'v LookupMemory,
    of: PhantomData<fn() -> D>,
}

impl<'v, D: ReadOnlyData> JobLookupView<'v, D> {
    /// What is given for an entity, if it is there and has it.
    #[inline]
    pub fn get(&self, entity: Entity) -> Option<D::Item<'v>> {
        // SAFETY: it was made for this data. The row is there, and nobody changes what is read.
        unsafe {
            let (fetch, at) = self.memory.find::<D>(entity)?;
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
        let mut entities = entities.into_iter();
        let mut ahead = Ahead::<D> { next: [Entity::NULL; AHEAD], found: [None; AHEAD], at: 0 };
        let mut left = 0;
        // The first are on their way before one is given.
        for at in 0..2 * AHEAD {
            let Some(entity) = entities.next() else { break };
            ahead.step(self.memory, at, entity);
            left += 1;
        }
        if left < 2 * AHEAD {
            for at in left..2 * AHEAD {
                ahead.step(self.memory, at, Entity::NULL);
            }
        }
        std::iter::from_fn(move || {
            if left == 0 {
                return None;
            }
            let at = ahead.at;
            ahead.at += 1;
            // SAFETY: it was made for this data. The row is there, and nobody changes what is read.
            let given = ahead.found[at % AHEAD].map(|(fetch, row)| unsafe { D::get(fetch, row) });
            match entities.next() {
                Some(entity) => ahead.step(self.memory, at + 2 * AHEAD, entity),
                None => {
                    left -= 1;
                    ahead.step(self.memory, at + 2 * AHEAD, Entity::NULL);
                }
            }
            Some(given)
        })
    }

    /// Whether an entity is there and has the data.
    #[inline]
    pub fn has(&self, entity: Entity) -> bool {
        // SAFETY: it was made for this data.
        unsafe { self.memory.find::<D>(entity) }.is_some()
    }
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
    fn step(&mut self, memory: &LookupMemory, at: usize, entity: Entity) {
        memory.pages.fetch(entity);
        let before = std::mem::replace(&mut self.next[at % AHEAD], entity);
        if at >= AHEAD {
            // SAFETY: it was made for this data.
            let found = unsafe { memory.find::<D>(before) };
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
            let (fetch, at) = self.memory.find::<D>(entity)?;
            Some(D::get(fetch, at.row as usize))
        }
    }

    /// What is given for an entity, to be changed, if it is there and has it. It counts as changed from now on.
    #[inline]
    pub fn get_mut(&mut self, entity: Entity) -> Option<D::Item<'_>> {
        // SAFETY: it was made for this data. The row is there, and this is borrowed mutably, so that nobody else uses it.
        unsafe {
            let (fetch, at) = self.memory.find::<D>(entity)?;
            if D::MARKS {
                self.memory.mark::<D>(at.chunk);
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
        unsafe { self.memory.find::<D>(entity) }.is_some()
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
            let (fetch, at) = self.memory.find::<D>(entity)?;
            if D::MARKS {
                self.memory.note_written(at.chunk);
            }
            Some(D::get(fetch, at.row as usize))
        }
    }

    /// Whether an entity is there and has the data.
    #[inline]
    pub fn has(&self, entity: Entity) -> bool {
        // SAFETY: it was made for this data.
        unsafe { self.memory.find::<D>(entity) }.is_some()
    }
}

impl<'w, D: ParallelData> LookupView<'w, D> {
    /// Makes something of the lookup that a job takes along, to read data of entities in any order.
    ///
    /// The job waits for those that change it, as it does for what its query reads. Who adds or removes entities on the thread of
    /// the world, wherever they are, waits for the job.
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
    /// })?;
    /// assert_eq!(world.get::<Aim>(archer)?.0, 7.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// A lookup of what the query of the job changes, perhaps of the same entity, is refused when the world is
    /// [split](crate::EntityManager::split).
    pub fn into_job(self) -> JobLookup<'w, D>
    where
        D: ReadOnlyData,
    {
        JobLookup(self.token())
    }

    /// Makes something of the lookup that a job takes along which one thread does, to change data of entities in any order.
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
    /// struct Healer(Entity);
    ///
    /// let mut world = World::new("Simulation");
    /// let knight = world.spawn(Health(3));
    /// world.spawn_batch([Healer(knight), Healer(knight)]);
    /// let (healers, health) = world.split::<(Query<&Healer>, Lookup<&mut Health>)>();
    /// healers.job().with(health.into_job_mut()).schedule(|healer, health| {
    ///     health.get_mut(healer.0).unwrap().0 += 10;
    /// })?;
    /// assert_eq!(world.get::<Health>(knight)?.0, 23);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn into_job_mut(self) -> JobLookupMut<'w, D> {
        JobLookupMut(self.token())
    }

    /// Makes something of the lookup that a parallel job takes along, to change data of entities of which no two threads use the
    /// same.
    ///
    /// Unity's `NativeDisableParallelForRestriction`. Chunks of which something was given count as changed, and all rows
    /// of them, if the component tracks changes.
    ///
    /// # Safety
    ///
    /// None to make it: what is asked of who uses it is said at [`UncheckedLookupView::get_mut`].
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
    /// let knights: Vec<_> = world.spawn_many(100, Health(3)).collect();
    /// world.spawn_batch(knights.iter().map(|&knight| Shadow(knight)));
    /// let (shadows, health) = world.split::<(Query<&Shadow>, Lookup<&mut Health>)>();
    /// shadows.job().with(health.into_unchecked_job()).schedule_parallel(|shadow, health| {
    ///     // SAFETY: each knight has one shadow.
    ///     unsafe { health.get_mut(shadow.0) }.unwrap().0 = 0;
    /// })?;
    /// assert!(world.query::<&Health>().iter().all(|health| health.0 == 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn into_unchecked_job(self) -> UncheckedLookup<'w, D> {
        UncheckedLookup(self.token())
    }

    /// Sees where all entities are, and fetches from all chunks that have the data.
    fn token(self) -> Token<'w, D> {
        let (entities, matched, meets) = self.into_parts();
        // SAFETY: the manager is borrowed for the lifetime, and nobody has a mutable reference to its jobs meanwhile.
        let jobs = unsafe { &(*entities.as_ptr()).jobs };
        let mut pooled = jobs.lookups().take();
        let memory = pooled.get_mut();
        // SAFETY: the manager is borrowed for the lifetime. Other views have no references to it but while they are asked.
        let storage = unsafe { &(*entities.as_ptr()).storage };
        memory.at_once = meets;
        memory.uses.clear();
        add_uses(matched, &storage.archetypes, Asked::Data, &mut memory.uses);
        memory.uses.push((Resource::Table, Access::Read));
        storage.chunks.stay();
        // SAFETY: the job declares that it reads the table: who changes it waits for the job.
        unsafe { memory.pages.see(&storage.table) };
        memory.version = storage.version;
        let numbers = storage.chunks.numbers();
        let words = LookupMemory::words::<D>();
        memory.has.clear();
        memory.has.resize(numbers.div_ceil(64), 0);
        memory.fetched.clear();
        memory.fetched.resize(numbers * words, MaybeUninit::uninit());
        memory.found.clear();
        memory.written.clear();
        if D::MARKS {
            memory.found.resize(numbers, std::ptr::null());
            memory.written.resize_with(numbers.div_ceil(64), AtomicU64::default);
        }
        // SAFETY: what the world knows of chunks is changed through this only if the world is borrowed mutably, as it is by views.
        memory.chunks = unsafe { (*entities.as_ptr()).storage.chunks.as_mut_ptr() };
        let shared = SharedOf::World { archetypes: &storage.archetypes, values: &storage.shared };
        for found in &*matched.matches {
            let chunks = &storage.archetypes[found.archetype].chunks;
            if !chunks.is_empty() {
                memory.uses.push((Resource::Rows(found.archetype), Access::Read));
            }
            for &number in chunks {
                let at = number as usize;
                // SAFETY: archetypes list chunks that are there.
                let chunk = unsafe { &*memory.chunks.add(at) };
                if D::MARKS {
                    chunk.state.write_out();
                    memory.found[at] = found;
                }
                // SAFETY: these are the places of the data in the archetype of the chunk.
                let fetch = unsafe { D::fetch(PieceView { chunk, shared }, &found.places) };
                memory.has[at / 64] |= 1 << (at % 64);
                let place = memory.fetched[at * words..].as_mut_ptr().cast::<D::Fetch>();
                // SAFETY: there is room for it, of the right alignment.
                unsafe { place.write(fetch) };
            }
        }
        Token { memory: pooled, jobs, of: PhantomData }
    }
}

// SAFETY:
// - what is read is declared, as uses of the world, the table of entities included
// - the world is borrowed for the lifetime
// - what the view reaches lives as long as the world, which has its jobs completed before it goes, and what is behind the fences
//   before it changes anything of it
unsafe impl<D: ReadOnlyData + ParallelData + 'static> JobData for JobLookup<'_, D> {
    type Held = LookupHeld<D>;
    type Whole<'v> = JobLookupView<'v, D>;

    fn declare(&self, accesses: &mut AccessList) {
        self.0.declare(accesses);
    }

    fn hold(self) -> LookupHeld<D> {
        self.0.hold()
    }

    unsafe fn whole(held: &mut LookupHeld<D>) -> JobLookupView<'_, D> {
        JobLookupView { memory: held.memory.get(), of: PhantomData }
    }
}

// SAFETY: as above. Nothing is changed.
unsafe impl<D: ReadOnlyData + ParallelData + 'static> ParallelJobData for JobLookup<'_, D> {
    type Batch<'v> = JobLookupView<'v, D>;
    type Item<'b> = JobLookupView<'b, D>;

    fn check_count(&self, _: &'static str, _: usize) -> Result<(), ScheduleError> {
        Ok(())
    }

    type Open<'v> = JobLookupView<'v, D>;

    #[inline(always)]
    unsafe fn open(held: &LookupHeld<D>) -> JobLookupView<'_, D> {
        JobLookupView { memory: held.memory.get(), of: PhantomData }
    }

    #[inline(always)]
    unsafe fn batch<'v>(
        _: &'v LookupHeld<D>,
        open: &JobLookupView<'v, D>,
        _: &BatchInfo,
    ) -> JobLookupView<'v, D> {
        *open
    }

    #[inline(always)]
    fn item<'b>(batch: &'b mut JobLookupView<'_, D>, _: usize) -> JobLookupView<'b, D> {
        *batch
    }
}

// SAFETY: as for those that read. The world is borrowed mutably.
unsafe impl<D: ParallelData + 'static> JobData for JobLookupMut<'_, D> {
    type Held = LookupHeld<D>;
    type Whole<'v> = JobLookupViewMut<'v, D>;

    fn declare(&self, accesses: &mut AccessList) {
        self.0.declare(accesses);
    }

    fn hold(self) -> LookupHeld<D> {
        self.0.hold()
    }

    unsafe fn whole(held: &mut LookupHeld<D>) -> JobLookupViewMut<'_, D> {
        JobLookupViewMut { memory: held.memory.get(), of: PhantomData }
    }
}

// SAFETY: as above.
unsafe impl<D: ParallelData + 'static> JobData for UncheckedLookup<'_, D> {
    type Held = LookupHeld<D>;
    type Whole<'v> = UncheckedLookupView<'v, D>;

    fn declare(&self, accesses: &mut AccessList) {
        self.0.declare(accesses);
    }

    fn hold(self) -> LookupHeld<D> {
        self.0.hold()
    }

    unsafe fn whole(held: &mut LookupHeld<D>) -> UncheckedLookupView<'_, D> {
        UncheckedLookupView { memory: held.memory.get(), of: PhantomData }
    }

    const SETTLES: bool = D::MARKS;

    unsafe fn settle(held: &mut LookupHeld<D>) {
        let memory = held.memory.get();
        for (at, word) in (0..).zip(&memory.written) {
            let mut word = word.load(Ordering::Relaxed);
            while word != 0 {
                let chunk = at * 64 + word.trailing_zeros();
                word &= word - 1;
                // SAFETY: it was made for this data, and all threads are done. Of the chunk something was given.
                unsafe {
                    memory.mark::<D>(chunk);
                    if D::TRACKS {
                        let rows = (*memory.chunks.add(chunk as usize)).len as usize;
                        let words = LookupMemory::words::<D>();
                        let fetch = memory.fetched.as_ptr().add(chunk as usize * words);
                        D::track(fetch.cast::<D::Fetch>().read(), 0, rows, false);
                    }
                }
            }
        }
    }
}

// SAFETY: as above. That no two threads use the same is promised by who asks for it.
unsafe impl<D: ParallelData + 'static> ParallelJobData for UncheckedLookup<'_, D> {
    type Batch<'v> = UncheckedLookupView<'v, D>;
    type Item<'b> = UncheckedLookupView<'b, D>;

    fn check_count(&self, _: &'static str, _: usize) -> Result<(), ScheduleError> {
        Ok(())
    }

    type Open<'v> = UncheckedLookupView<'v, D>;

    #[inline(always)]
    unsafe fn open(held: &LookupHeld<D>) -> UncheckedLookupView<'_, D> {
        UncheckedLookupView { memory: held.memory.get(), of: PhantomData }
    }

    #[inline(always)]
    unsafe fn batch<'v>(
        _: &'v LookupHeld<D>,
        open: &UncheckedLookupView<'v, D>,
        _: &BatchInfo,
    ) -> UncheckedLookupView<'v, D> {
        *open
    }

    #[inline(always)]
    fn item<'b>(batch: &'b mut UncheckedLookupView<'_, D>, _: usize) -> UncheckedLookupView<'b, D> {
        *batch
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

macro_rules! debug {
    ($($name:ident)+) => {$(
        impl<D> fmt::Debug for $name<'_, D> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "<{}>"), type_name::<D>())
            }
        }
    )+};
}

debug!(JobLookup JobLookupMut UncheckedLookup JobLookupView JobLookupViewMut UncheckedLookupView);

impl<D> fmt::Debug for LookupHeld<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LookupHeld<{}>", type_name::<D>())
    }
}
