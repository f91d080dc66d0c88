//! The jobs of a world, and the data that each of them accesses.
//!
//! A job over entities runs after the call that scheduled it has returned. It has declared the data that it accesses. For each
//! kind of data there is a fence:
//!
//! | data | read by | written by |
//! |---|---|---|
//! | the values of a component | jobs that read them, or their versions | jobs that can change them |
//! | the enabled bits of a component | jobs whose queries depend on them | jobs that set them |
//! | the rows of an archetype | jobs over its chunks | none: structural changes wait |
//! | the entity table | jobs with lookups | none: structural changes wait |
//!
//! Fences order the jobs when they are scheduled. Before the world's thread reads or changes data, the `sync_…` methods complete
//! conflicting jobs. They are called before the first change, because completing a job runs user code. If there are no
//! uncompleted jobs, a call is one comparison.

use std::any::Any;
use std::cell::{Cell, OnceCell, RefCell};

use ancho_collections::FixedState;
use ancho_jobs::{
    Access, AccessList, ContainerLabel, Fence, JobFailed, JobHandle, JobPool, JobScheduler,
    current_job,
};
use hashbrown::HashMap;

use super::EntityManager;
use crate::component::ComponentType;

/// Data of a world that jobs access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resource {
    /// The values of a component, and their versions.
    Values(ComponentType),
    /// The enabled bits of a component.
    Mask(ComponentType),
    /// The rows of an archetype, and their memory.
    Rows(u32),
    /// The entity table.
    Table,
}

/// A resource, and the kind of access to it.
pub(crate) type ResourceUse = (Resource, Access);

/// The fences of a world, and lists of its jobs.
#[derive(Default)]
struct JobFences {
    /// True if a job may be uncompleted.
    is_live: Cell<bool>,
    known: RefCell<FenceMap>,
    /// A scratch list of accesses whose conflicting jobs are completed.
    uses: Cell<Vec<ResourceUse>>,
    /// The jobs that were scheduled, if `lists_scheduled` is set.
    scheduled: RefCell<Vec<JobHandle>>,
    lists_scheduled: Cell<bool>,
    has_scheduled: Cell<bool>,
}

#[derive(Default)]
struct FenceMap {
    types: HashMap<ComponentType, TypeFences, FixedState>,
    /// The fences of rows, by archetype. They are boxed, like all fences, because the scheduler keeps their addresses.
    rows: Vec<Option<Box<Fence>>>,
    table: Option<Box<Fence>>,
    /// A scratch list of conflicting jobs.
    conflicting: Vec<JobHandle>,
    /// The number of jobs that were scheduled.
    scheduled: u32,
}

#[derive(Default)]
struct TypeFences {
    values: Option<Box<Fence>>,
    mask: Option<Box<Fence>>,
}

/// The number of scheduled jobs after which the scheduler forgets finished jobs.
const FORGET_INTERVAL: u32 = 64;
/// The number of uncompleted jobs at which all jobs are completed.
const MAX_UNCOMPLETED: usize = 1024;

impl FenceMap {
    /// Finds or creates the fence of a resource.
    fn fence(&mut self, resource: Resource, scheduler: &JobScheduler) -> &Fence {
        let (place, name) = match resource {
            Resource::Values(ty) => (&mut self.types.entry(ty).or_default().values, ty.name()),
            Resource::Mask(ty) => (&mut self.types.entry(ty).or_default().mask, ty.name()),
            Resource::Table => (&mut self.table, "the table of entities"),
            Resource::Rows(archetype) => {
                let at = archetype as usize;
                if at >= self.rows.len() {
                    self.rows.resize_with(at + 1, || None);
                }
                (&mut self.rows[at], "the rows of an archetype")
            }
        };
        place.get_or_insert_with(|| {
            Box::new(scheduler.fence(ContainerLabel::of::<EntityManager>().named(name)))
        })
    }

    /// Finds the fence of a resource.
    fn find(&self, resource: Resource) -> Option<&Fence> {
        let place = match resource {
            Resource::Values(ty) => &self.types.get(&ty)?.values,
            Resource::Mask(ty) => &self.types.get(&ty)?.mask,
            Resource::Table => &self.table,
            Resource::Rows(archetype) => self.rows.get(archetype as usize)?,
        };
        place.as_deref()
    }

    fn all(&self) -> impl Iterator<Item = &Fence> {
        let of_types = self.types.values().flat_map(|of| [&of.values, &of.mask]);
        of_types.chain(&self.rows).chain([&self.table]).filter_map(Option::as_deref)
    }
}

/// Methods that the world's thread calls before it accesses data.
impl Jobs {
    /// Returns whether a job may be uncompleted.
    #[inline(always)]
    pub(crate) fn are_live(&self) -> bool {
        self.fences.is_live.get()
    }

    /// Completes the jobs that conflict with these accesses.
    #[cold]
    pub(crate) fn sync(&self, uses: impl IntoIterator<Item = ResourceUse>) {
        self.complete_listed(|known, conflicting| {
            for (resource, access) in uses {
                if let Some(fence) = known.find(resource) {
                    fence.uncompleted(access, conflicting);
                }
            }
        });
        if self.scheduler().uncompleted() == 0 {
            self.fences.is_live.set(false);
        }
    }

    /// Completes the jobs that conflict with the accesses that a function lists.
    pub(crate) fn sync_for_uses(&self, list: impl FnOnce(&mut Vec<ResourceUse>)) {
        let mut uses = self.fences.uses.take();
        uses.clear();
        list(&mut uses);
        self.sync(uses.iter().copied());
        self.fences.uses.set(uses);
    }

    /// Completes the jobs that write the values of a component. The caller then reads the values.
    #[inline(always)]
    pub(crate) fn sync_for_read(&self, ty: ComponentType) {
        if self.are_live() {
            self.sync([(Resource::Values(ty), Access::Read)]);
        }
    }

    /// Completes the jobs that write the enabled bits of a component. The caller then reads the bits.
    #[inline(always)]
    pub(crate) fn sync_for_enabled_read(&self, ty: ComponentType) {
        if self.are_live() {
            self.sync([(Resource::Mask(ty), Access::Read)]);
        }
    }

    /// Completes all jobs over entities.
    #[inline(always)]
    pub(crate) fn sync_all(&self) {
        if self.are_live() {
            self.complete_all();
        }
    }

    #[cold]
    fn complete_all(&self) {
        self.complete_listed(|known, conflicting| {
            known.all().for_each(|fence| fence.uncompleted(Access::Write, conflicting));
        });
        self.fences.is_live.set(false);
    }

    /// Completes the jobs that a function lists.
    fn complete_listed(&self, list: impl FnOnce(&FenceMap, &mut Vec<JobHandle>)) {
        let known = &self.fences.known;
        let mut conflicting = std::mem::take(&mut known.borrow_mut().conflicting);
        conflicting.clear();
        list(&known.borrow(), &mut conflicting);
        // Often several fences have the same job. If only one job is left, no thread has to be woken.
        conflicting.dedup();
        // Jobs run here, which is user code. No cell is borrowed.
        self.scheduler().complete_quietly(&conflicting);
        known.borrow_mut().conflicting = conflicting;
    }

    /// Declares the accesses of a job that is about to be scheduled.
    pub(crate) fn declare(&self, uses: &[ResourceUse], accesses: &mut AccessList) {
        let known = &mut *self.fences.known.borrow_mut();
        for &(resource, access) in uses {
            accesses.order(known.fence(resource, self.scheduler()), access);
        }
        self.fences.is_live.set(true);
        if self.writes.is_watched.get() {
            self.writes.record(uses);
        }
    }

    /// Records that a job was scheduled.
    pub(crate) fn after_scheduling(&self, job: JobHandle, name: &'static str) {
        if self.writes.is_watched.get() {
            let writes = self.writes.declared.take();
            self.writes.jobs.borrow_mut().push(JobWrites { name, writes });
        }
        if self.fences.lists_scheduled.get() {
            self.fences.scheduled.borrow_mut().push(job);
            self.fences.has_scheduled.set(true);
        }
        let scheduled = {
            let known = &mut *self.fences.known.borrow_mut();
            known.scheduled = known.scheduled.wrapping_add(1);
            known.scheduled
        };
        if scheduled.is_multiple_of(FORGET_INTERVAL) {
            self.scheduler().flush();
            if self.scheduler().forget_finished() >= MAX_UNCOMPLETED {
                self.complete_all();
            }
        }
    }
}

/// A job that was scheduled, and the components whose values or masks it writes.
#[derive(Clone, Debug)]
pub struct JobWrites {
    /// The name of the job.
    pub name: &'static str,
    /// The component types whose values or masks the job writes.
    pub writes: Vec<ComponentType>,
}

/// The writes of the jobs that were scheduled since the last call of [`Jobs::take_writes`]. They are recorded only while
/// `is_watched` is set.
#[derive(Default)]
struct DeclaredWrites {
    is_watched: Cell<bool>,
    /// The declared writes of the job that is about to be scheduled.
    declared: RefCell<Vec<ComponentType>>,
    jobs: RefCell<Vec<JobWrites>>,
}

impl DeclaredWrites {
    #[cold]
    fn record(&self, uses: &[ResourceUse]) {
        let declared = &mut *self.declared.borrow_mut();
        for &(resource, access) in uses {
            if let (Resource::Values(ty) | Resource::Mask(ty), Access::Write) = (resource, access)
                && !declared.contains(&ty)
            {
                declared.push(ty);
            }
        }
    }
}

impl Jobs {
    /// Sets whether declared writes are recorded.
    pub(crate) fn watch_writes(&self, watched: bool) {
        self.writes.is_watched.set(watched);
    }

    /// Removes and returns the recorded jobs, in the order in which they were scheduled.
    pub(crate) fn take_writes(&self) -> Vec<JobWrites> {
        self.writes.jobs.take()
    }

    /// Begins the declaration of a job's accesses.
    #[inline(always)]
    pub(crate) fn begin_declaring(&self) {
        if self.writes.is_watched.get() {
            self.writes.declared.borrow_mut().clear();
        }
    }
}

/// The scheduler of a world, which is created when it is first used, and memory for jobs.
pub(crate) struct Jobs {
    /// The pool of the scheduler. `None` means the pool of the process.
    pool: Option<JobPool>,
    scheduler: OnceCell<JobScheduler>,
    fences: JobFences,
    /// The declared writes of jobs, if they are watched.
    writes: DeclaredWrites,
    /// Memory that queries keep between jobs, which is created when it is first used. The manager does not use it.
    memory: OnceCell<Box<dyn Any + Send>>,
}

impl Jobs {
    pub(crate) fn new(pool: Option<JobPool>) -> Self {
        Self {
            pool,
            scheduler: OnceCell::new(),
            fences: JobFences::default(),
            writes: DeclaredWrites::default(),
            memory: OnceCell::new(),
        }
    }

    /// Creates the jobs of another world, with the same pool.
    pub(super) fn of_same_pool(&self) -> Self {
        Self::new(self.pool.clone())
    }

    #[inline]
    #[track_caller]
    pub(crate) fn scheduler(&self) -> &JobScheduler {
        match self.scheduler.get() {
            Some(scheduler) => scheduler,
            None => self.create_scheduler(),
        }
    }

    /// Creates the scheduler. Panics if the pool of the process has to be created, and the system refuses a thread.
    #[cold]
    #[track_caller]
    fn create_scheduler(&self) -> &JobScheduler {
        let scheduler = match &self.pool {
            Some(pool) => JobScheduler::new(pool),
            None => JobScheduler::new(&JobPool::shared()),
        };
        self.scheduler.get_or_init(|| scheduler)
    }

    /// Completes all jobs before their data is dropped. Returns `false` if that is impossible. The data must then not be dropped.
    pub(super) fn end(&mut self) -> bool {
        let Some(scheduler) = self.scheduler.take() else { return true };
        // A job that drops its own world can wait neither for itself nor for jobs that depend on it.
        let can_wait = scheduler.begin_drop();
        let is_unused = can_wait || !self.are_live();
        // Dropping the scheduler waits for all jobs, even inside a job of another world.
        drop(scheduler);
        is_unused
    }

    /// Begins to drop the scheduler. Returns whether its jobs can be completed, even inside a job of another scheduler.
    pub(crate) fn begin_drop(&self) -> bool {
        self.scheduler.get().is_none_or(JobScheduler::begin_drop)
    }

    /// Returns whether jobs were added to the list of scheduled jobs since it was last taken.
    #[inline(always)]
    pub(crate) fn has_scheduled(&self) -> bool {
        self.fences.has_scheduled.get()
    }

    /// Removes and returns the list of scheduled jobs over entities, in the order in which they were scheduled.
    pub(crate) fn scheduled(&self) -> Vec<JobHandle> {
        self.fences.has_scheduled.set(false);
        self.fences.scheduled.take()
    }

    /// Returns a list of scheduled jobs, so that its memory is reused.
    pub(crate) fn give_back_scheduled(&self, mut list: Vec<JobHandle>) {
        list.clear();
        self.fences.scheduled.replace(list);
    }

    /// Sets whether scheduled jobs are listed. Returns the previous setting.
    #[inline(always)]
    pub(crate) fn list_scheduled(&self, listed: bool) -> bool {
        self.fences.lists_scheduled.replace(listed)
    }

    /// Adds a job that a system returned to the list of scheduled jobs, unless it contains the job.
    pub(crate) fn record_returned(&self, job: JobHandle) {
        let scheduled = &mut *self.fences.scheduled.borrow_mut();
        if self.fences.lists_scheduled.get() && !scheduled.contains(&job) {
            scheduled.push(job);
            self.fences.has_scheduled.set(true);
        }
    }

    /// Starts all scheduled jobs. Does nothing inside a job of another scheduler.
    #[inline]
    pub(crate) fn start(&self) {
        if let Some(scheduler) = self.scheduler.get()
            && scheduler.uncompleted() > 0
            && current_job().is_none()
        {
            scheduler.flush();
        }
    }

    /// Removes and returns the failures that were not reported yet.
    pub(crate) fn take_failures(&self) -> Vec<JobFailed> {
        self.scheduler.get().map_or_else(Vec::new, JobScheduler::take_failures)
    }

    /// Returns the memory that queries keep between jobs. All callers use the same type.
    pub(crate) fn memory<M: Default + Send + 'static>(&self) -> &M {
        let memory = self.memory.get_or_init(|| Box::<M>::default());
        memory.downcast_ref().expect("queries have one type of memory")
    }
}

impl EntityManager {
    /// Returns the scheduler of the world, which runs its parallel loops and other jobs.
    ///
    /// The scheduler belongs to the pool of the [settings](crate::WorldSettings::job_pool).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::World;
    ///
    /// let world = World::new("Simulation");
    /// let jobs = world.jobs();
    /// let sum = jobs.run((), |()| 1 + 1).unwrap();
    /// assert_eq!(sum, 2);
    /// ```
    #[track_caller]
    pub fn jobs(&self) -> &JobScheduler {
        self.jobs.scheduler()
    }
}
