//! Data of entities in any order, as something that jobs take along.

#![expect(
    unsafe_code,
    reason = "values of chunks of a world, which jobs use when the call that scheduled them is over"
)]

use std::any::type_name;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

use ancho_jobs::{Access, AccessList, BatchInfo, JobData, ParallelJobData, ScheduleError};

use super::super::data::{QueryData, ReadOnlyData};
use super::super::filter::QueryFilter;
use super::super::lookup::Lookup;
use super::super::matched::Matched;
use super::super::parallel::ParallelData;
use super::super::piece::{PieceView, SharedOf};
use super::super::pool::Pooled;
use super::super::uses::{Asked, Meets, add_uses, add_versions};
use super::lookup_memory::LookupMemory;
use super::lookup_view::{JobLookupView, JobLookupViewMut, UncheckedLookupView, debug};
use crate::manager::{EntityManager, Jobs, Resource};

/// What a job keeps of a lookup.
pub struct LookupHeld<D> {
    memory: Pooled<LookupMemory>,
    /// It may not become a subtype, whose values may lie otherwise.
    of: PhantomData<fn(D) -> D>,
}

/// What a job takes along to read data of entities in any order: from [`Lookup::into_job`].
///
/// # Examples
///
/// See [`Lookup::into_job`].
#[must_use = "it is for a job to take along"]
pub struct JobLookup<'w, D>(Token<'w, D>);

/// What a job that one thread does takes along to change data of entities in any order: from [`Lookup::into_job_mut`].
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
/// See [`Lookup::into_job_mut`].
#[must_use = "it is for a job to take along"]
pub struct JobLookupMut<'w, D>(Token<'w, D>);

/// What a parallel job takes along to change data of entities in any order, whose author has seen to it that no two threads
/// use the same: from [`Lookup::into_unchecked_job`].
///
/// # Examples
///
/// See [`Lookup::into_unchecked_job`].
#[must_use = "it is for a job to take along"]
pub struct UncheckedLookup<'w, D>(Token<'w, D>);

struct Token<'w, D> {
    memory: Pooled<LookupMemory>,
    jobs: &'w Jobs,
    meets: Meets<'w>,
    /// It may not become a subtype, whose values may lie otherwise.
    of: PhantomData<fn(D) -> D>,
}

impl<D> Token<'_, D> {
    fn declare(&self, accesses: &mut AccessList) {
        let memory = self.memory.get();
        self.jobs.declare(&memory.uses, accesses);
        // A job that others would be in the way of is done at once.
        let meets = match &self.meets {
            Meets::Nobody => false,
            Meets::Writer(plan) => !self.jobs.declared().is_over(plan),
            Meets::WriterOfSystem(plan) => !self.jobs.declared().is_over(plan),
            Meets::Others => true,
        };
        if meets {
            accesses.complete_at_once();
        }
    }

    fn hold(self) -> LookupHeld<D> {
        LookupHeld { memory: self.memory, of: PhantomData }
    }
}

impl<'w, D: QueryData, F: QueryFilter> Lookup<'w, D, F>
where
    D::Static: ParallelData,
{
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
    pub fn into_job(self) -> JobLookup<'w, D::Static>
    where
        D: ReadOnlyData,
    {
        JobLookup(token(self.into_parts()))
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
    pub fn into_job_mut(self) -> JobLookupMut<'w, D::Static> {
        JobLookupMut(token(self.into_parts()))
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
    /// let knights: Vec<_> = world.spawn_many(Health(3), 100).collect();
    /// world.spawn_batch(knights.iter().map(|&knight| Shadow(knight)));
    /// let (shadows, health) = world.split::<(Query<&Shadow>, Lookup<&mut Health>)>();
    /// shadows.job().with(health.into_unchecked_job()).schedule_parallel(|shadow, health| {
    ///     // SAFETY: each knight has one shadow.
    ///     unsafe { health.get_mut(shadow.0) }.unwrap().0 = 0;
    /// })?;
    /// assert!(world.query::<&Health>().iter().all(|health| health.0 == 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn into_unchecked_job(self) -> UncheckedLookup<'w, D::Static> {
        UncheckedLookup(token(self.into_parts()))
    }
}

/// Sees where all entities are, and fetches from all chunks that have the data.
fn token<'w, D: QueryData>(
    (entities, matched, meets): (NonNull<EntityManager>, &'w Matched, Meets<'w>),
) -> Token<'w, D> {
    // SAFETY: the manager is borrowed for the lifetime, and nobody has a mutable reference to its jobs meanwhile.
    let jobs = unsafe { &(*entities.as_ptr()).jobs };
    let mut pooled = jobs.lookups().take();
    let memory = pooled.get_mut();
    // SAFETY: the manager is borrowed for the lifetime. Other views have no mutable references to it.
    let storage = unsafe { &(*entities.as_ptr()).storage };
    memory.uses.clear();
    add_uses(matched, &storage.archetypes, Asked::Data, &mut memory.uses);
    add_versions(&matched.plan, &mut memory.uses);
    memory.uses.push((Resource::Table, Access::Read));
    storage.chunks.stay();
    // SAFETY: the job declares that it reads the table: who changes it waits for the job.
    unsafe { memory.pages.read_pages(&storage.table) };
    memory.version = storage.version;
    let numbers = storage.chunks.numbers();
    memory.begin::<D>(numbers);
    memory.found.clear();
    memory.found.resize(numbers, std::ptr::null());
    memory.written.clear();
    if D::MARKS {
        memory.written.resize_with(numbers.div_ceil(64), AtomicU64::default);
    }
    memory.chunks = storage.chunks.as_ptr();
    let shared = SharedOf::World { archetypes: &storage.archetypes, values: &storage.shared };
    for found in &*matched.matches {
        let chunks = &storage.archetypes[found.archetype].chunks;
        if !chunks.is_empty() {
            memory.uses.push((Resource::Rows(found.archetype), Access::Read));
        }
        // The job may note that others are written, or ask when they were.
        storage.chunks.write_out_versions(chunks);
        for &number in chunks {
            let at = number as usize;
            // SAFETY: archetypes list chunks that are there.
            let chunk = unsafe { &*memory.chunks.add(at) };
            memory.found[at] = found;
            // SAFETY: these are the places of the data in the archetype of the chunk.
            let fetch = unsafe { D::fetch(PieceView { chunk, shared }, &found.places) };
            memory.note::<D>(at, fetch);
        }
    }
    Token { memory: pooled, jobs, meets, of: PhantomData }
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
        JobLookupView { finder: held.memory.get().finder(), of: PhantomData }
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
        JobLookupView { finder: held.memory.get().finder(), of: PhantomData }
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
        JobLookupViewMut { finder: held.memory.get().finder(), of: PhantomData }
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
        UncheckedLookupView { finder: held.memory.get().finder(), of: PhantomData }
    }

    const SETTLES: bool = D::MARKS;

    unsafe fn settle(held: &mut LookupHeld<D>) {
        // SAFETY: it was made for this data, and all threads are done.
        unsafe { held.memory.get().mark_written::<D>() };
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
        UncheckedLookupView { finder: held.memory.get().finder(), of: PhantomData }
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

debug!(JobLookup JobLookupMut UncheckedLookup);

impl<D> fmt::Debug for LookupHeld<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LookupHeld<{}>", type_name::<D>())
    }
}
