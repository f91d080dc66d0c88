//! Scheduling: a job is checked and stored in a node.
#![expect(
    unsafe_code,
    reason = "places jobs in nodes, and reads the slots that their data declares"
)]

use std::sync::Arc;

use super::{JobScheduler, State, notes_of};
use crate::context::current_job;
use crate::data::JobData;
use crate::error::ScheduleError;
use crate::handle::{JobHandle, JobId};
use crate::mode::ExecutionMode;
use crate::node::{Node, Parallel, TaskFunctions, TaskKind};
use crate::notes::{Dependency, Notes};
use crate::primitive::Ordering;
use crate::ranges::Ranges;
use crate::safety::{Access, AccessList, ContainerLabel, Declared, Slot, SlotConflict, Use};
use crate::table::BLOCK;

/// The description of a job, without its data.
pub(super) struct Request<'r> {
    pub(super) name: &'static str,
    pub(super) functions: &'static TaskFunctions,
    /// Jobs that must have finished without failure. `after` has jobs that must have finished, with or without failure.
    pub(super) dependencies: &'r [JobHandle],
    pub(super) after: &'r [JobHandle],
    /// Set if the job waits for the jobs that use its containers.
    pub(super) in_turn: bool,
    /// The number of indices of a parallel job. `batch` is the number of indices per batch.
    pub(super) count: usize,
    pub(super) batch: usize,
}

impl Request<'_> {
    const JOIN: Self = Self {
        name: "Combine",
        functions: &TaskFunctions::JOIN,
        dependencies: &[],
        after: &[],
        in_turn: false,
        count: 0,
        batch: 1,
    };

    /// Returns the number of batches.
    fn batches(&self) -> Result<u32, ScheduleError> {
        let &Self { name: job, count, batch, .. } = self;
        if batch == 0 {
            return Err(ScheduleError::ZeroBatch { job });
        }
        u32::try_from(count.div_ceil(batch)).map_err(|_| ScheduleError::TooManyBatches {
            job,
            count,
            batch,
        })
    }
}

impl JobScheduler {
    /// Schedules a job: declares its accesses, checks them, and stores its data in a node.
    ///
    /// # Safety
    ///
    /// - The payload has the type that the request's functions are for. Any thread may run and drop it: it is `Send`,
    ///   and `Sync` if the job is parallel.
    /// - The borrows of the payload outlive the job.
    #[inline]
    pub(super) unsafe fn submit<D: JobData, P>(
        &self,
        request: &Request<'_>,
        data: D,
        payload: impl FnOnce(D::Held) -> P,
    ) -> Result<JobHandle, ScheduleError> {
        if let Some(inside) = current_job() {
            return Err(ScheduleError::InsideJob { inside, job: request.name });
        }
        let (payload, placed, at_once) = if D::USES_CONTAINERS {
            let accesses = &mut *self.accesses.borrow_mut();
            accesses.clear();
            data.declare(accesses);
            (payload(data.hold()), self.place(request, accesses), accesses.at_once)
        } else {
            (payload(data.hold()), self.place(request, &AccessList::default()), false)
        };
        let (job, node) = match placed {
            Ok(placed) => placed,
            Err(error) => return Err(*error),
        };
        // SAFETY: the node was just filled in, so it is held. This thread is its owner, and no other reference to the payload
        // exists.
        unsafe { node.store_payload(payload) };
        let handle = JobHandle::new(job, self.id);
        if at_once {
            self.complete_quietly(&[handle]);
        }
        Ok(handle)
    }

    /// Schedules a job that only waits for others.
    pub(super) fn submit_join(
        &self,
        dependencies: &[JobHandle],
    ) -> Result<JobHandle, ScheduleError> {
        let request = Request { dependencies, ..Request::JOIN };
        // SAFETY: the functions of a job that only waits do not access their payload. The payload is `()`, which is `Send` and
        // `Sync`, and borrows nothing.
        unsafe { self.submit(&request, (), |()| ()) }
    }

    /// Checks that an immediate access of the owner to containers conflicts with no job. With `in_turn`, the
    /// conflicting jobs are completed first.
    #[track_caller]
    pub(super) fn check_now<D: JobData>(
        &self,
        name: &'static str,
        data: &D,
        in_turn: bool,
    ) -> Result<(), ScheduleError> {
        if let Some(inside) = current_job() {
            return Err(ScheduleError::InsideJob { inside, job: name });
        }
        let mut accesses = self.accesses.take();
        accesses.clear();
        data.declare(&mut accesses);
        if in_turn {
            self.complete_turns(&accesses);
        }
        let checked = self.check(&mut self.state.borrow_mut(), name, &accesses, None);
        if checked.is_ok() && accesses.uses_fences {
            self.complete_fences(&accesses);
        }
        *self.accesses.borrow_mut() = accesses;
        checked.map_err(|error| *error)
    }

    /// Completes the jobs that conflict over a fence.
    fn complete_fences(&self, accesses: &AccessList) {
        let mut conflicting = Vec::new();
        for declared in accesses.declared().iter().filter(|declared| declared.orders) {
            let slot = slot_of(declared);
            let scheduler = slot.scheduler();
            slot.conflicts(declared.access, |user| {
                conflicting.push(JobHandle::new(user.job, scheduler));
            });
        }
        self.complete_quietly(&conflicting);
    }

    /// Completes the jobs that conflict over a container. Panics if a job that writes the container fails.
    #[track_caller]
    fn complete_turns(&self, accesses: &AccessList) {
        let (mut writers, mut readers) = (Vec::new(), Vec::new());
        for declared in accesses.declared().iter().filter(|declared| !declared.orders) {
            let slot = slot_of(declared);
            // Jobs of another scheduler are reported by the check.
            if slot.scheduler() == self.id {
                slot.conflicts(declared.access, |user| {
                    let list =
                        if user.access == Access::Read { &mut readers } else { &mut writers };
                    list.push(JobHandle::new(user.job, self.id));
                });
            }
        }
        let done = self.try_complete_all(&writers);
        self.complete_quietly(&readers);
        if let Err(failed) = done {
            panic!("{failed}");
        }
    }

    /// Checks the request, and assigns a node. The node is filled in, except for the payload.
    fn place(
        &self,
        request: &Request<'_>,
        accesses: &AccessList,
    ) -> Result<(JobId, &Node), Box<ScheduleError>> {
        let state = &mut *self.state.borrow_mut();
        let Some(index) = state.free.pop().or_else(|| self.more_nodes(state)) else {
            return Err(self.too_many_jobs(request.name));
        };
        let node = self.node(index);
        let job = JobId { sequence: state.next_sequence, node: index };
        if let Err(error) = self.fill(state, request, accesses, job, node) {
            state.free.push(index);
            return Err(error);
        }
        state.next_sequence += 1;
        state.hold(job, node, &self.nodes);
        node.dependents.reopen();
        node.sequence.set(job.sequence);
        Ok((job, node))
    }

    /// Fills in the task and the dependencies, checks them, and records the job in the slots of its containers. After an error, the
    /// slots are unchanged, and the node is still free.
    #[inline(always)]
    fn fill(
        &self,
        state: &mut State,
        request: &Request<'_>,
        accesses: &AccessList,
        job: JobId,
        node: &Node,
    ) -> Result<(), Box<ScheduleError>> {
        let &Request { name, functions, .. } = request;
        let notes = notes_of(node);
        // SAFETY: the node is free, this thread is its owner, and no other reference to the task is in use.
        let task = unsafe { node.task_mut() };
        task.functions = functions;
        task.name = name;
        notes.clear_dependencies();
        match (request.dependencies, request.after) {
            ([], []) => {}
            (&[only], []) => self.depend(state, name, only, true, notes)?,
            _ => self.depend_on_all(state, request, notes)?,
        }
        if let TaskKind::Parallel(_) | TaskKind::Deferred(..) = functions.kind {
            // SAFETY: the node is free, this thread is its owner, and no other reference to the parallel state is in
            // use.
            let parallel = unsafe { node.parallel_mut() };
            self.fill_parallel(state, request, accesses.on_one_thread, parallel)?;
        }
        if request.in_turn {
            self.wait_for_turn(state, accesses, notes);
        }
        if accesses.uses_fences {
            self.order_by_fences(state, name, accesses, notes)?;
        }
        notes.set_container_count(accesses.container_count());
        // This is the last step, because no step may fail after a slot was changed.
        match accesses.declared() {
            [] => Ok(()),
            [only] if !only.orders && self.pass_on(only, job, name, notes) => Ok(()),
            _ => self.claim_containers(state, job, name, accesses, notes),
        }
    }

    /// Takes over a container from the only dependency. This is the usual case: a container is passed along a chain of jobs.
    #[inline(always)]
    fn pass_on(
        &self,
        declared: &Declared,
        job: JobId,
        name: &'static str,
        notes: Notes<'_>,
    ) -> bool {
        let (slot, next) = (slot_of(declared), Use { job, name, access: declared.access });
        let Some(previous) = notes.dependency(0).map(|previous| previous.job()) else {
            return false;
        };
        let passes = slot.pass_on(previous, next, self.id);
        if passes {
            // The dependency is uncompleted, so this is its node.
            notes_of(self.node(previous.node)).leave_slot();
        }
        passes
    }

    /// Orders a job after the jobs that conflict over a fence.
    #[inline(never)]
    fn order_by_fences(
        &self,
        state: &mut State,
        name: &'static str,
        accesses: &AccessList,
        notes: Notes<'_>,
    ) -> Result<(), Box<ScheduleError>> {
        self.mark_dependencies(state, notes);
        for declared in accesses.declared().iter().filter(|declared| declared.orders) {
            let slot = slot_of(declared);
            if slot.scheduler() != self.id {
                let what = slot.label;
                return Err(Box::new(ScheduleError::ForeignFence { job: name, what }));
            }
            slot.conflicts(declared.access, |user| {
                self.add_unmarked(state, notes, user.job, false);
            });
        }
        Ok(())
    }

    /// Adds dependencies on the conflicting jobs that write the job's containers, and orders the job after those that
    /// read them.
    #[inline(never)]
    fn wait_for_turn(&self, state: &mut State, accesses: &AccessList, notes: Notes<'_>) {
        self.mark_dependencies(state, notes);
        // A job that reads one container may write another, so writers come first.
        for writes in [true, false] {
            for declared in accesses.declared().iter().filter(|declared| !declared.orders) {
                let slot = slot_of(declared);
                // Jobs of another scheduler are reported by the check.
                if slot.scheduler() == self.id {
                    slot.conflicts(declared.access, |user| {
                        if writes == (user.access != Access::Read) {
                            self.add_unmarked(state, notes, user.job, writes);
                        }
                    });
                }
            }
        }
    }

    /// Marks the dependencies of a job, so that each is [added](Self::add_unmarked) only once, although several slots may contain
    /// the same job.
    fn mark_dependencies(&self, state: &mut State, notes: Notes<'_>) {
        state.mark += 1;
        for dependency in notes.dependencies() {
            notes_of(self.node(dependency.job().node)).set_mark(state.mark);
        }
    }

    /// Adds a dependency that is not marked, and marks it.
    fn add_unmarked(&self, state: &State, notes: Notes<'_>, job: JobId, passes_failure: bool) {
        let other = notes_of(self.node(job.node));
        if other.mark() != state.mark {
            other.set_mark(state.mark);
            notes.add_dependency(Dependency::new(job, passes_failure));
        }
    }

    /// Checks all containers, and then records the job in their slots.
    #[inline(never)]
    fn claim_containers(
        &self,
        state: &mut State,
        job: JobId,
        name: &'static str,
        accesses: &AccessList,
        notes: Notes<'_>,
    ) -> Result<(), Box<ScheduleError>> {
        self.check(state, name, accesses, Some(notes))?;
        for declared in accesses.declared() {
            let user = Use { job, name, access: declared.access };
            let (slot, is_container) = (slot_of(declared), !declared.orders);
            slot.add(user, self.id, &self.nodes, |replaced| {
                if is_container && let Some(node) = self.find(replaced) {
                    notes_of(node).leave_slot();
                }
            });
        }
        Ok(())
    }

    /// Adds the dependencies of a job with several dependencies.
    #[inline(never)]
    fn depend_on_all(
        &self,
        state: &State,
        request: &Request<'_>,
        notes: Notes<'_>,
    ) -> Result<(), Box<ScheduleError>> {
        for &handle in request.dependencies {
            self.depend(state, request.name, handle, true, notes)?;
        }
        for &handle in request.after {
            self.depend(state, request.name, handle, false, notes)?;
        }
        Ok(())
    }

    /// Adds a dependency, unless its job is completed.
    #[inline(always)]
    fn depend(
        &self,
        state: &State,
        job: &'static str,
        handle: JobHandle,
        passes_failure: bool,
        notes: Notes<'_>,
    ) -> Result<(), Box<ScheduleError>> {
        if handle.scheduler != self.id && handle.scheduler != 0 {
            return Err(foreign_handle(job));
        }
        if state.is_latest(handle.job()) || self.find(handle.job()).is_some() {
            notes.add_dependency(Dependency::new(handle.job(), passes_failure));
        }
        Ok(())
    }

    /// Returns a free node when none is left: of a finished job that no code can tell from a completed one, or of a new block.
    #[cold]
    fn more_nodes(&self, state: &mut State) -> Option<u32> {
        if state.blocks.len() >= state.blocks_to_recycle {
            self.recycle_finished(state);
            // A search that finds little is repeated when there are twice as many jobs.
            let found_many = state.free.len() * 2 >= state.blocks.len() * BLOCK;
            state.blocks_to_recycle = state.blocks.len() * if found_many { 1 } else { 2 };
        }
        if let Some(index) = state.free.pop() {
            return Some(index);
        }
        state.lease(&self.nodes, self.place, self.id).or_else(|| {
            // The pool is full.
            self.recycle_finished(state);
            state.free.pop()
        })
    }

    #[cold]
    fn too_many_jobs(&self, job: &'static str) -> Box<ScheduleError> {
        Box::new(ScheduleError::TooManyJobs { job, limit: self.nodes.capacity() })
    }

    #[inline(never)]
    fn fill_parallel(
        &self,
        state: &mut State,
        request: &Request<'_>,
        on_one_thread: bool,
        parallel: &mut Parallel,
    ) -> Result<(), Box<ScheduleError>> {
        // A job that was refused may have left lanes in the node.
        state.ranges.extend(parallel.ranges.take());
        let batches = request.batches()?;
        parallel.count.store(request.count as u64, Ordering::Relaxed);
        parallel.batch = request.batch;
        parallel.batches.store(batches, Ordering::Relaxed);
        parallel.shuffle = match state.mode {
            ExecutionMode::Shuffle { .. } => Some(state.random.next()),
            _ => None,
        };
        let workers = self.shared.workers.len();
        let shares = batches > 1 || matches!(request.functions.kind, TaskKind::Deferred(..));
        let may_share = !on_one_thread && workers > 0 && state.mode != ExecutionMode::Serial;
        if shares && may_share {
            let ranges = state.ranges.pop();
            parallel.ranges = Some(ranges.unwrap_or_else(|| Arc::new(Ranges::new(workers + 1))));
        }
        Ok(())
    }

    /// Checks the containers that a job declares against the dependencies in its notes.
    fn check(
        &self,
        state: &mut State,
        job: &'static str,
        accesses: &AccessList,
        notes: Option<Notes<'_>>,
    ) -> Result<(), Box<ScheduleError>> {
        for (place, declared) in accesses.declared().iter().enumerate() {
            if declared.orders {
                continue;
            }
            let slot = slot_of(declared);
            let access = declared.access;
            let aliased = accesses.declared()[..place]
                .iter()
                .any(|other| other.slot == declared.slot && other.access.conflicts_with(access));
            if aliased {
                return Err(Box::new(ScheduleError::Aliased { container: slot.label, job }));
            }
            let ordered = |other| notes.is_some_and(|notes| self.orders(state, notes, other));
            if let Err(conflict) = slot.check_job(access, self.id, ordered) {
                return Err(refusal(slot.label, job, access, &conflict));
            }
        }
        Ok(())
    }
}

/// Returns the slot that the data of the current call has declared.
#[inline(always)]
fn slot_of(declared: &Declared) -> &Slot {
    // SAFETY: the slot is valid until the call ends. The contract of `JobData` says that the data that declared it borrows its
    // container or fence for longer than the call, even after `hold`. The list is cleared before the next call.
    unsafe { declared.slot.as_ref() }
}

#[cold]
fn foreign_handle(job: &'static str) -> Box<ScheduleError> {
    Box::new(ScheduleError::ForeignHandle { job })
}

#[cold]
fn refusal(
    container: ContainerLabel,
    job: &'static str,
    access: Access,
    conflict: &SlotConflict,
) -> Box<ScheduleError> {
    Box::new(match *conflict {
        SlotConflict::Expired(memory) => ScheduleError::Expired { container, job, memory },
        SlotConflict::Foreign(Use { name: other, .. }) => {
            ScheduleError::ForeignContainer { container, job, other }
        }
        SlotConflict::Unordered(Use { name: other, access: other_access, .. }) => {
            ScheduleError::Conflict { container, job, access, other, other_access }
        }
    })
}
