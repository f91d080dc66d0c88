//! Which jobs use what of a world, so that nobody gets in their way.
//!
//! A job over entities goes on when the call that scheduled it has returned. What it uses of the world it has declared, and each
//! of these is a fence:
//!
//! | what | who reads it | who writes it |
//! |---|---|---|
//! | the values of a component | jobs that read them, or ask whether they have changed | jobs that can change them |
//! | the masks of a component | jobs for which it matters whether it is switched on | jobs that switch it |
//! | the rows of an archetype | jobs that go through its chunks | nobody: changes of structure wait |
//! | the table of entities | jobs that look for entities | nobody: changes of structure wait |
//!
//! Jobs are ordered by that when they are scheduled. The thread of the world has those completed that are in its way before it
//! reads or changes anything: that is what `before_…` is for. It is asked first, before anything is changed, since completing a
//! job runs code of the user. If no job was scheduled, asking is one comparison.

use std::cell::{Cell, OnceCell, RefCell};

use ancho_collections::FixedState;
use ancho_jobs::{
    Access, AccessList, ContainerLabel, Fence, JobFailed, JobHandle, JobPool, JobScheduler,
    current_job,
};
use hashbrown::HashMap;

use super::EntityManager;
use crate::component::ComponentType;
use crate::query::{DeclaredJob, LookupMemory, Pool, Rows};
use crate::world::World;

/// Something of a world that jobs use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resource {
    /// The values of a component, and when they were changed.
    Values(ComponentType),
    /// Whether a component is switched on.
    Mask(ComponentType),
    /// The rows of an archetype, and the memory they are in.
    Rows(u32),
    /// Where each entity is.
    Table,
}

/// Something of a world, and what is done with it.
pub(crate) type ResourceUse = (Resource, Access);

/// The fences of a world.
#[derive(Default)]
pub(crate) struct JobFences {
    /// Whether a job may be uncompleted.
    is_live: Cell<bool>,
    known: RefCell<FenceMap>,
    /// What is about to be used, between two questions memory to keep.
    uses: Cell<Vec<ResourceUse>>,
    /// Jobs that were scheduled, if somebody wants to know.
    scheduled: RefCell<Vec<JobHandle>>,
    lists_scheduled: Cell<bool>,
    has_scheduled: Cell<bool>,
    /// What jobs have declared, if somebody watches.
    pub(super) writes: DeclaredWrites,
}

#[derive(Default)]
struct FenceMap {
    types: HashMap<ComponentType, TypeFences, FixedState>,
    /// By the number of the archetype. In boxes, like all of them: their addresses are given to who schedules.
    rows: Vec<Option<Box<Fence>>>,
    table: Option<Box<Fence>>,
    /// What is in the way, between two questions memory to keep.
    conflicting: Vec<JobHandle>,
    /// How many jobs were scheduled.
    scheduled: u32,
}

#[derive(Default)]
struct TypeFences {
    values: Option<Box<Fence>>,
    mask: Option<Box<Fence>>,
}

/// After so many jobs those that have finished are forgotten.
const FORGET_INTERVAL: u32 = 64;
/// If so many are uncompleted still, they are completed.
const MAX_UNCOMPLETED: usize = 1024;

impl FenceMap {
    /// The fence of something, made if there is none.
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
            Box::new(scheduler.fence(ContainerLabel::of::<World>().named(name)))
        })
    }

    /// The fence of something, if there is one.
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

impl JobFences {
    /// Whether a job may be uncompleted.
    #[inline(always)]
    pub(crate) fn is_live(&self) -> bool {
        self.is_live.get()
    }

    #[inline(always)]
    pub(super) fn has_scheduled(&self) -> bool {
        self.has_scheduled.get()
    }

    #[inline(always)]
    pub(super) fn list_scheduled(&self, listed: bool) -> bool {
        self.lists_scheduled.replace(listed)
    }

    pub(super) fn take_scheduled(&self) -> Vec<JobHandle> {
        self.has_scheduled.set(false);
        self.scheduled.take()
    }

    pub(super) fn give_back_scheduled(&self, mut list: Vec<JobHandle>) {
        list.clear();
        self.scheduled.replace(list);
    }

    pub(super) fn record_returned(&self, job: JobHandle) {
        let scheduled = &mut *self.scheduled.borrow_mut();
        if self.lists_scheduled.get() && !scheduled.contains(&job) {
            scheduled.push(job);
            self.has_scheduled.set(true);
        }
    }

    /// Declares what a job uses.
    fn declare(&self, scheduler: &JobScheduler, uses: &[ResourceUse], accesses: &mut AccessList) {
        let known = &mut *self.known.borrow_mut();
        for &(resource, access) in uses {
            accesses.order(known.fence(resource, scheduler), access);
        }
        self.is_live.set(true);
        self.writes.declare(uses);
    }

    /// Completes the jobs that are in the way of uses.
    #[cold]
    fn complete(&self, scheduler: &JobScheduler, uses: impl Iterator<Item = ResourceUse>) {
        self.complete_listed(scheduler, |known, conflicting| {
            for (resource, access) in uses {
                if let Some(fence) = known.find(resource) {
                    fence.uncompleted(access, conflicting);
                }
            }
        });
        if scheduler.uncompleted() == 0 {
            self.is_live.set(false);
        }
    }

    /// Completes all jobs that use the world.
    #[cold]
    fn complete_all(&self, scheduler: &JobScheduler) {
        self.complete_listed(scheduler, |known, conflicting| {
            known.all().for_each(|fence| fence.uncompleted(Access::Write, conflicting));
        });
        self.is_live.set(false);
    }

    /// Completes the jobs that a function lists.
    fn complete_listed(
        &self,
        scheduler: &JobScheduler,
        list: impl FnOnce(&FenceMap, &mut Vec<JobHandle>),
    ) {
        let mut conflicting = std::mem::take(&mut self.known.borrow_mut().conflicting);
        conflicting.clear();
        list(&self.known.borrow(), &mut conflicting);
        // Mostly one job is behind several fences. If it is the only one, nobody has to be woken for it.
        conflicting.dedup();
        // Jobs run now, which are code of the user. Nothing is borrowed.
        scheduler.complete_quietly(&conflicting);
        self.known.borrow_mut().conflicting = conflicting;
    }

    /// Sees to it that who schedules again and again, and never waits, does not fill all memory.
    fn record_scheduled(&self, scheduler: &JobScheduler, job: JobHandle, name: &'static str) {
        self.writes.scheduled(name);
        if self.lists_scheduled.get() {
            self.scheduled.borrow_mut().push(job);
            self.has_scheduled.set(true);
        }
        let scheduled = {
            let known = &mut *self.known.borrow_mut();
            known.scheduled = known.scheduled.wrapping_add(1);
            known.scheduled
        };
        if scheduled.is_multiple_of(FORGET_INTERVAL) {
            scheduler.flush();
            if scheduler.forget_finished() >= MAX_UNCOMPLETED {
                self.complete_all(scheduler);
            }
        }
    }
}

/// What the thread of the world says before it does something.
impl Jobs {
    /// Whether a job that uses the world may be uncompleted.
    #[inline(always)]
    pub(crate) fn are_live(&self) -> bool {
        self.fences.is_live()
    }

    /// Before something of the world is used. If jobs are not [live](Self::are_live), there is no need to ask.
    #[cold]
    pub(crate) fn sync(&self, uses: impl IntoIterator<Item = ResourceUse>) {
        self.fences.complete(self.scheduler(), uses.into_iter());
    }

    /// Before something of the world is used, which a function lists.
    pub(crate) fn sync_for_uses(&self, list: impl FnOnce(&mut Vec<ResourceUse>)) {
        let mut uses = self.fences.uses.take();
        uses.clear();
        list(&mut uses);
        self.sync(uses.iter().copied());
        self.fences.uses.set(uses);
    }

    /// Before values of a component are read.
    #[inline(always)]
    pub(crate) fn sync_for_read(&self, ty: ComponentType) {
        if self.are_live() {
            self.sync([(Resource::Values(ty), Access::Read)]);
        }
    }

    /// Before it is asked whether a component is switched on.
    #[inline(always)]
    pub(crate) fn sync_for_enabled_read(&self, ty: ComponentType) {
        if self.are_live() {
            self.sync([(Resource::Mask(ty), Access::Read)]);
        }
    }

    /// Before anything is done that nobody has thought of further.
    #[inline(always)]
    pub(crate) fn sync_all(&self) {
        if self.are_live() {
            self.fences.complete_all(self.scheduler());
        }
    }

    /// Declares what a job uses of the world.
    pub(crate) fn declare(&self, uses: &[ResourceUse], accesses: &mut AccessList) {
        self.fences.declare(self.scheduler(), uses, accesses);
    }

    /// After a job was scheduled.
    pub(crate) fn after_scheduling(&self, job: JobHandle, name: &'static str) {
        self.fences.record_scheduled(self.scheduler(), job, name);
    }
}

/// A job that was scheduled, and the components whose values or masks it writes.
#[derive(Clone, Debug)]
pub(crate) struct JobWrites {
    pub(crate) name: &'static str,
    pub(crate) writes: Vec<ComponentType>,
}

/// The jobs that were scheduled since somebody asked. If nobody watches, none are noted.
#[derive(Default)]
pub(super) struct DeclaredWrites {
    is_watched: Cell<bool>,
    /// What the job declares that is about to be scheduled.
    declared: RefCell<Vec<ComponentType>>,
    jobs: RefCell<Vec<JobWrites>>,
}

impl DeclaredWrites {
    /// Begins with another job. What was declared for the last may have been no job in the end.
    #[inline(always)]
    pub(super) fn begin(&self) {
        if self.is_watched.get() {
            self.declared.borrow_mut().clear();
        }
    }

    #[inline(always)]
    pub(super) fn declare(&self, uses: &[ResourceUse]) {
        if self.is_watched.get() {
            self.record_uses(uses);
        }
    }

    #[cold]
    fn record_uses(&self, uses: &[ResourceUse]) {
        let declared = &mut *self.declared.borrow_mut();
        for &(resource, access) in uses {
            if let (Resource::Values(ty) | Resource::Mask(ty), Access::Write) = (resource, access)
                && !declared.contains(&ty)
            {
                declared.push(ty);
            }
        }
    }

    #[inline(always)]
    pub(super) fn scheduled(&self, name: &'static str) {
        if self.is_watched.get() {
            let writes = self.declared.take();
            self.jobs.borrow_mut().push(JobWrites { name, writes });
        }
    }
}

impl Jobs {
    /// Says whether it is noted what jobs declare.
    pub(crate) fn watch_writes(&self, watched: bool) {
        self.fences.writes.is_watched.set(watched);
    }

    /// Takes the jobs that were scheduled since, in their order.
    pub(crate) fn take_writes(&self) -> Vec<JobWrites> {
        self.fences.writes.jobs.take()
    }

    /// Before it is declared what a job uses.
    #[inline(always)]
    pub(crate) fn begin_declaring(&self) {
        self.fences.writes.begin();
    }
}

/// The scheduler of a world, which is made when it is first asked for, and what parallel loops need memory for.
pub(crate) struct Jobs {
    /// `None` is the pool of the process.
    pool: Option<JobPool>,
    scheduler: OnceCell<JobScheduler>,
    /// Which jobs use what of the world.
    pub(super) fences: JobFences,
    /// What jobs that are done had, so that the next have its memory.
    rows: Pool<Rows>,
    lookups: Pool<LookupMemory>,
    declared: DeclaredJob,
}

impl Jobs {
    pub(crate) fn new(pool: Option<JobPool>) -> Self {
        Self {
            pool,
            scheduler: OnceCell::new(),
            fences: JobFences::default(),
            rows: Pool::default(),
            lookups: Pool::default(),
            declared: DeclaredJob::default(),
        }
    }

    /// The jobs of a world that has its work done by the same threads.
    pub(super) fn of_same_pool(&self) -> Self {
        Self::new(self.pool.clone())
    }

    #[inline]
    pub(crate) fn scheduler(&self) -> &JobScheduler {
        self.scheduler.get_or_init(|| match &self.pool {
            Some(pool) => JobScheduler::new(pool),
            None => JobScheduler::new(&JobPool::shared()),
        })
    }

    /// Ends all jobs, since what they use is about to go. Returns whether that was possible: if not, it has to stay.
    pub(super) fn end(&mut self) -> bool {
        let Some(scheduler) = self.scheduler.take() else { return true };
        // If one of the jobs has got hold of the world, it cannot wait for itself, nor for others that wait for it.
        let can_wait = scheduler.begin_drop();
        let is_unused = can_wait || !self.fences.is_live();
        // Whoever drops it waits for all jobs, also inside of a job of another world.
        drop(scheduler);
        is_unused
    }

    /// Begins to end the scheduler. Returns whether its jobs can be completed, also if this is inside of a job of another.
    pub(crate) fn begin_drop(&self) -> bool {
        self.scheduler.get().is_none_or(JobScheduler::begin_drop)
    }

    /// Whether jobs over entities were scheduled of which it was not asked yet.
    #[inline(always)]
    pub(crate) fn has_scheduled(&self) -> bool {
        self.fences.has_scheduled()
    }

    /// Takes the list of jobs over entities that were scheduled since, in their order.
    pub(crate) fn scheduled(&self) -> Vec<JobHandle> {
        self.fences.take_scheduled()
    }

    /// Gives back the list, so that the next has its memory.
    pub(crate) fn give_back_scheduled(&self, list: Vec<JobHandle>) {
        self.fences.give_back_scheduled(list);
    }

    /// Says whether jobs are listed that are scheduled. Returns whether they were.
    #[inline(always)]
    pub(crate) fn list_scheduled(&self, listed: bool) -> bool {
        self.fences.list_scheduled(listed)
    }

    /// Lists a job that a system has returned, unless it is listed already.
    pub(crate) fn record_returned(&self, job: JobHandle) {
        self.fences.record_returned(job);
    }

    /// Starts all jobs that wait for it. Inside a job of another scheduler, the next start outside does.
    #[inline]
    pub(crate) fn start(&self) {
        if let Some(scheduler) = self.scheduler.get()
            && scheduler.uncompleted() > 0
            && current_job().is_none()
        {
            scheduler.flush();
        }
    }

    /// Takes what is known of jobs that failed, and that nobody was told of.
    pub(crate) fn take_failures(&self) -> Vec<JobFailed> {
        self.scheduler.get().map_or_else(Vec::new, JobScheduler::take_failures)
    }

    /// Memory for the rows that jobs go through.
    pub(crate) fn rows(&self) -> &Pool<Rows> {
        &self.rows
    }

    /// Which query the job is over that is just being declared.
    pub(crate) fn declared(&self) -> &DeclaredJob {
        &self.declared
    }

    /// Memory for what jobs look for entities in.
    pub(crate) fn lookups(&self) -> &Pool<LookupMemory> {
        &self.lookups
    }
}

impl EntityManager {
    /// The scheduler of the world: its parallel loops run there, and other jobs can.
    ///
    /// It belongs to the pool of the [settings](crate::WorldSettings::job_pool).
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
    pub fn jobs(&self) -> &JobScheduler {
        self.jobs.scheduler()
    }
}
