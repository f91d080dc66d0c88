//! How a job is checked and placed in a node.
#![expect(
    unsafe_code,
    reason = "keeps the owner's notes in nodes, and places jobs in them"
)]

use std::sync::Arc;

use super::{JobScheduler, State};
use crate::context::current_job;
use crate::data::JobData;
use crate::error::ScheduleError;
use crate::handle::{JobHandle, JobId};
use crate::mode::ExecutionMode;
use crate::node::{Dependency, Node, TaskFunctions, TaskKind};
use crate::primitive::Ordering;
use crate::ranges::Ranges;
use crate::safety::{AccessList, Use};

/// A job, but for its data.
pub(super) struct Request<'r> {
    pub(super) name: &'static str,
    pub(super) functions: &'static TaskFunctions,
    /// Jobs that must have finished without failure, and jobs that must have finished.
    pub(super) dependencies: &'r [JobHandle],
    pub(super) after: &'r [JobHandle],
    pub(super) count: usize,
    pub(super) batch: usize,
}

impl Request<'_> {
    const JOIN: Self = Self {
        name: "Combine",
        functions: &TaskFunctions::JOIN,
        dependencies: &[],
        after: &[],
        count: 0,
        batch: 1,
    };
}

impl JobScheduler {
    /// Schedules a job: declares what it uses, checks, and places its data in a node.
    ///
    /// # Safety
    ///
    /// - The payload is what the request's functions are for, and it may be run and dropped by any
    ///   thread: it is `Send`, and `Sync` if the job is parallel.
    /// - What it borrows outlives the job.
    pub(super) unsafe fn submit<D: JobData, P>(
        &self,
        request: &Request<'_>,
        data: D,
        payload: impl FnOnce(D::Held) -> P,
    ) -> Result<JobHandle, ScheduleError> {
        let mut accesses = self.begin(request)?;
        data.declare(&mut accesses);
        let payload = payload(data.hold());
        let state = &mut *self.state.borrow_mut();
        let placed = self.place(state, request, &accesses);
        accesses.clear();
        state.accesses = accesses;
        let job = placed?;
        // SAFETY: the node was just placed, so it is held, and this is the owner.
        unsafe { self.node(job.node).task_mut() }
            .payload
            .store(payload);
        Ok(JobHandle {
            job,
            scheduler: self.id,
        })
    }

    /// Schedules a job that does nothing but wait for others.
    pub(super) fn submit_join(
        &self,
        dependencies: &[JobHandle],
    ) -> Result<JobHandle, ScheduleError> {
        let request = Request {
            dependencies,
            ..Request::JOIN
        };
        // SAFETY: a job that only waits has no payload, and its functions touch none.
        unsafe { self.submit(&request, (), |()| ()) }
    }

    /// Checks that the use of containers by the owner, right now, conflicts with no job.
    pub(super) fn check_now<D: JobData>(
        &self,
        name: &'static str,
        data: &D,
    ) -> Result<(), ScheduleError> {
        let request = Request {
            name,
            ..Request::JOIN
        };
        let mut accesses = self.begin(&request)?;
        data.declare(&mut accesses);
        let state = &mut *self.state.borrow_mut();
        let checked = self.check(state, &request, &accesses);
        accesses.clear();
        state.accesses = accesses;
        checked
    }

    /// Makes the checks that need no data, and lends the list for declaring it.
    fn begin(&self, request: &Request<'_>) -> Result<AccessList, ScheduleError> {
        let job = request.name;
        if let Some(inside) = current_job() {
            return Err(ScheduleError::InsideJob { inside, job });
        }
        if request.batch == 0 {
            return Err(ScheduleError::ZeroBatch { job });
        }
        Ok(std::mem::take(&mut self.state.borrow_mut().accesses))
    }

    /// Checks the request and gives it a node, with everything in it but the payload.
    fn place(
        &self,
        state: &mut State,
        request: &Request<'_>,
        accesses: &AccessList,
    ) -> Result<JobId, ScheduleError> {
        let &Request {
            name,
            functions,
            count,
            batch,
            ..
        } = request;
        let Ok(batches) = u32::try_from(count.div_ceil(batch)) else {
            return Err(ScheduleError::TooManyBatches {
                job: name,
                count,
                batch,
            });
        };
        self.check(state, request, accesses)?;
        let shared = self.shared();
        let Some(index) = state.allocate(shared, self.place) else {
            let limit = shared.nodes.capacity();
            return Err(ScheduleError::TooManyJobs { job: name, limit });
        };

        // Nothing can fail from here on.
        let sequence = state.next_sequence;
        state.next_sequence += 1;
        let job = JobId {
            sequence,
            node: index,
        };
        let node = shared.nodes.node(index);
        let shuffle = match state.mode {
            ExecutionMode::Shuffle { .. } => Some(state.random.next()),
            _ => None,
        };
        // SAFETY: the node is free, and this is the owner.
        let task = unsafe { node.task_mut() };
        task.functions = functions;
        task.name = name;
        if !matches!(functions.kind, TaskKind::Single | TaskKind::Join) {
            task.count.store(count as u64, Ordering::Relaxed);
            task.batch = batch;
            task.batches.store(batches, Ordering::Relaxed);
            task.shuffle = shuffle;
            let shares = batches > 1 || matches!(functions.kind, TaskKind::Deferred(_));
            let workers = shared.workers.len();
            if shares && workers > 0 && state.mode != ExecutionMode::Serial {
                let ranges = state.ranges.pop();
                task.ranges = Some(ranges.unwrap_or_else(|| Arc::new(Ranges::new(workers + 1))));
            }
        }
        // SAFETY: as above.
        let notes = unsafe { node.notes_mut() };
        notes.is_held = true;
        notes.dependencies.clear();
        for (handles, passes_failure) in [(request.dependencies, true), (request.after, false)] {
            for handle in handles {
                if self.is_uncompleted(handle.job) {
                    notes.dependencies.push(Dependency {
                        job: handle.job,
                        passes_failure,
                    });
                }
            }
        }
        // SAFETY: the reference to the notes above is not used any more.
        unsafe {
            state.live.push(index, shared, Node::live_links);
            state.held.push(index, shared, Node::held_links);
        }
        node.dependents.reopen();
        node.pending.store(0, Ordering::Relaxed);
        // Relaxed: a container that is used on another thread learns of the job from its own slot,
        // which moved there with it.
        node.sequence.store(sequence, Ordering::Relaxed);

        for declared in accesses.declared() {
            // SAFETY: the payload holds the container's block, by the contract of `JobData`.
            let slot = unsafe { declared.slot.as_ref() };
            slot.add(
                Use {
                    job,
                    name,
                    access: declared.access,
                },
                self.id,
                shared,
            );
        }
        Ok(job)
    }

    /// Checks handles and containers.
    fn check(
        &self,
        state: &mut State,
        request: &Request<'_>,
        accesses: &AccessList,
    ) -> Result<(), ScheduleError> {
        let job = request.name;
        let handles = || request.dependencies.iter().chain(request.after);
        if handles().any(|handle| handle.scheduler != self.id && handle.scheduler != 0) {
            return Err(ScheduleError::ForeignHandle { job });
        }
        for (place, declared) in accesses.declared().iter().enumerate() {
            // SAFETY: the payload holds the container's block, by the contract of `JobData`; or the
            // token that declared it is still at hand.
            let slot = unsafe { declared.slot.as_ref() };
            let access = declared.access;
            let aliased = accesses.declared()[..place]
                .iter()
                .any(|other| other.slot == declared.slot && other.access.conflicts_with(access));
            if aliased {
                return Err(ScheduleError::Aliased {
                    container: slot.label,
                    job,
                });
            }
            if let Some(user) = slot.foreign_use(self.id) {
                let other = user.name;
                return Err(ScheduleError::ForeignContainer {
                    container: slot.label,
                    job,
                    other,
                });
            }
            if let Some(user) = slot.conflict(access, |other| self.orders(state, handles(), other))
            {
                return Err(ScheduleError::Conflict {
                    container: slot.label,
                    job,
                    access,
                    other: user.name,
                    other_access: user.access,
                });
            }
        }
        Ok(())
    }
}
