//! Random graphs of jobs over a few containers, compared with a model.
//!
//! A script of schedules, flushes and completes is run for several numbers of workers and in several modes. Each run
//! must refuse exactly the schedules that conflict in the model, report the same failures, and leave the same values
//! as running the jobs serially.

use crate::common;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

use ancho_jobs::{
    Access, BatchInfo, ConcurrentWrite, ExecutionMode, JobCell, JobFailed, JobHandle, JobPool,
    JobScheduler, JobSlice, ScheduleError,
};
use common::{WORKERS, pool};
use proptest::prelude::*;

/// The number of scripts; each runs a few times.
const CASES: u32 = 100;
const LENGTH: usize = 24;
const NAMES: [&str; 40] = [
    "j0", "j1", "j2", "j3", "j4", "j5", "j6", "j7", "j8", "j9", "j10", "j11", "j12", "j13", "j14",
    "j15", "j16", "j17", "j18", "j19", "j20", "j21", "j22", "j23", "j24", "j25", "j26", "j27",
    "j28", "j29", "j30", "j31", "j32", "j33", "j34", "j35", "j36", "j37", "j38", "j39",
];

/// The work of a job. The numbers select one of two containers of a kind, and are taken modulo two.
#[derive(Clone, Copy, Debug)]
enum Work {
    Nothing,
    Panic,
    /// Parallel: changes an array in place.
    Step {
        array: usize,
    },
    /// Parallel: changes an array by the elements of the other.
    Mix {
        array: usize,
    },
    /// Single: reads arrays into a cell.
    Sum {
        first: usize,
        second: usize,
        cell: usize,
    },
    /// Parallel, with a count from the cell: changes an array.
    Deferred {
        cell: usize,
        array: usize,
    },
    /// Parallel: adds the elements of an array to the counter.
    Count {
        array: usize,
    },
    /// Single: moves the counter into a cell.
    Take {
        cell: usize,
    },
}

#[derive(Clone, Debug)]
enum Step {
    Schedule {
        work: Work,
        /// Indices of earlier jobs, modulo their number.
        dependencies: Vec<usize>,
        after: Vec<usize>,
    },
    Combine(Vec<usize>),
    Flush,
    Complete(Vec<usize>),
    /// The owner reads everything that it may read.
    Look,
}

/// Containers in the model are numbers: two arrays, two cells, one counter.
const ARRAYS: [usize; 2] = [0, 1];
const CELLS: [usize; 2] = [2, 3];
const COUNTER: usize = 4;

impl Work {
    fn accesses(self) -> Vec<(usize, Access)> {
        use Access::{Concurrent, Read, Write};
        match self {
            Self::Nothing | Self::Panic => vec![],
            Self::Step { array } => vec![(ARRAYS[array % 2], Write)],
            Self::Mix { array } => {
                vec![(ARRAYS[array % 2], Write), (ARRAYS[(array + 1) % 2], Read)]
            }
            Self::Sum { first, second, cell } => vec![
                (ARRAYS[first % 2], Read),
                (ARRAYS[second % 2], Read),
                (CELLS[cell % 2], Write),
            ],
            Self::Deferred { cell, array } => {
                vec![(CELLS[cell % 2], Read), (ARRAYS[array % 2], Write)]
            }
            Self::Count { array } => vec![(ARRAYS[array % 2], Read), (COUNTER, Concurrent)],
            Self::Take { cell } => vec![(COUNTER, Write), (CELLS[cell % 2], Write)],
        }
    }

    /// Does the work, one index after the other.
    fn run(self, values: &mut Values) {
        match self {
            Self::Nothing | Self::Panic => {}
            Self::Step { array } => {
                let array = &mut values.arrays[array % 2];
                array.iter_mut().enumerate().for_each(|(i, value)| *value = stepped(*value, i));
            }
            Self::Mix { array } => {
                let other = values.arrays[(array + 1) % 2];
                let array = &mut values.arrays[array % 2];
                array
                    .iter_mut()
                    .zip(other)
                    .for_each(|(value, other)| *value = mixed(*value, other));
            }
            Self::Sum { first, second, cell } => {
                let (first, second) = (&values.arrays[first % 2], &values.arrays[second % 2]);
                let cell = &mut values.cells[cell % 2];
                *cell = summed(*cell, first, second);
            }
            Self::Deferred { cell, array } => {
                let count = count(values.cells[cell % 2]);
                for value in &mut values.arrays[array % 2][..count] {
                    *value = stepped(*value, count);
                }
            }
            Self::Count { array } => {
                for &value in &values.arrays[array % 2] {
                    values.counter = values.counter.wrapping_add(value);
                }
            }
            Self::Take { cell } => {
                let cell = &mut values.cells[cell % 2];
                *cell = mixed(*cell, std::mem::take(&mut values.counter));
            }
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Values {
    arrays: [[u64; LENGTH]; 2],
    cells: [u64; 2],
    counter: u64,
}

fn stepped(value: u64, index: usize) -> u64 {
    value.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(index as u64 + 1)
}

fn mixed(value: u64, other: u64) -> u64 {
    value.rotate_left(7) ^ other.wrapping_mul(31).wrapping_add(5)
}

fn summed(value: u64, first: &[u64], second: &[u64]) -> u64 {
    first.iter().chain(second).fold(value.wrapping_mul(3), |sum, &value| mixed(sum, value))
}

fn count(value: u64) -> usize {
    value as usize % (LENGTH + 1)
}

/// A job of the model.
struct Job {
    name: &'static str,
    accesses: Vec<(usize, Access)>,
    /// The jobs that this one was scheduled after, depending on them or not, and that were uncompleted then.
    before: Vec<usize>,
    /// The job whose panic kept this one from running, or this job if the panic was its own.
    failure: Option<usize>,
    completed: bool,
}

#[derive(Default)]
struct Model {
    jobs: Vec<Job>,
    values: Values,
}

impl Model {
    fn uncompleted(&self, handles: &[usize]) -> Vec<usize> {
        handles.iter().copied().filter(|&job| !self.jobs[job].completed).collect()
    }

    /// Returns the jobs and all uncompleted jobs before them.
    fn closure(&self, jobs: &[usize]) -> BTreeSet<usize> {
        let mut closure = BTreeSet::new();
        let mut todo = self.uncompleted(jobs);
        while let Some(job) = todo.pop() {
            if closure.insert(job) {
                todo.extend(self.uncompleted(&self.jobs[job].before));
            }
        }
        closure
    }

    /// Returns the jobs that a new one would conflict with, and the containers.
    fn conflicts(&self, before: &[usize], accesses: &[(usize, Access)]) -> Vec<(usize, usize)> {
        let ordered = self.closure(before);
        let mut conflicts = vec![];
        for (other, job) in self.jobs.iter().enumerate() {
            if job.completed || ordered.contains(&other) {
                continue;
            }
            for &(container, access) in accesses {
                let conflicts_with = |&(used, how): &(usize, Access)| {
                    used == container && (how != Access::Read || access != Access::Read)
                };
                if job.accesses.iter().any(conflicts_with) {
                    conflicts.push((container, other));
                }
            }
        }
        conflicts
    }

    fn schedule(&mut self, work: Option<Work>, dependencies: &[usize], after: &[usize]) {
        let index = self.jobs.len();
        let failure = self
            .uncompleted(dependencies)
            .into_iter()
            .filter_map(|job| self.jobs[job].failure)
            .min();
        let failure = failure.or(matches!(work, Some(Work::Panic)).then_some(index));
        if let (Some(work), None) = (work, failure) {
            work.run(&mut self.values);
        }
        let before = self.uncompleted(&[dependencies, after].concat());
        self.jobs.push(Job {
            name: if work.is_some() { NAMES[index] } else { "" },
            accesses: work.map_or(vec![], Work::accesses),
            before,
            failure,
            completed: false,
        });
    }

    /// Completes jobs. Returns the job whose panic is reported, if any, and the target that failed because of it.
    fn complete(&mut self, targets: &[usize]) -> Option<(usize, Option<usize>)> {
        let completed = self.closure(targets);
        let failure = |job: usize| self.jobs[job].failure;
        let target = self.uncompleted(targets).into_iter().find(|&job| failure(job).is_some());
        let panicked = match target {
            Some(job) => failure(job),
            None => completed.iter().copied().filter_map(failure).min(),
        };
        for job in completed {
            self.jobs[job].completed = true;
        }
        Some((panicked?, target))
    }
}

#[derive(Debug, Default)]
struct Counter(AtomicU64);

impl ConcurrentWrite for Counter {
    type Writer<'v> = &'v AtomicU64;
    type Item<'b> = &'b AtomicU64;

    fn writer(&self, _: &BatchInfo) -> &AtomicU64 {
        &self.0
    }

    fn item<'b>(writer: &'b mut &AtomicU64, _: usize) -> &'b AtomicU64 {
        writer
    }
}

/// The real scheduler and containers.
struct Real {
    jobs: JobScheduler,
    handles: Vec<JobHandle>,
    arrays: [JobSlice<u64>; 2],
    cells: [JobCell<u64>; 2],
    counter: JobCell<Counter>,
}

impl Real {
    fn new(pool: &JobPool, mode: ExecutionMode) -> Self {
        let jobs = JobScheduler::new(pool);
        jobs.set_mode(mode);
        Self {
            jobs,
            handles: vec![],
            arrays: ["array 0", "array 1"].map(|name| JobSlice::new(LENGTH, 0).named(name)),
            cells: ["cell 0", "cell 1"].map(|name| JobCell::new(0).named(name)),
            counter: JobCell::new(Counter::default()).named("counter"),
        }
    }

    fn schedule(
        &mut self,
        work: Work,
        dependencies: &[JobHandle],
        after: &[JobHandle],
    ) -> Result<JobHandle, ScheduleError> {
        let jobs = self.jobs.named(NAMES[self.handles.len()]).after(after);
        let [left, right] = &mut self.arrays;
        match work {
            Work::Nothing => jobs.schedule(dependencies, (), |()| {}),
            Work::Panic => jobs.schedule(dependencies, (), |()| panic!("on purpose")),
            Work::Step { array } => {
                let data = self.arrays[array % 2].write();
                jobs.schedule_for_each(dependencies, data, LENGTH, 5, |value, i| {
                    *value = stepped(*value, i);
                })
            }
            Work::Mix { array } => {
                let data = match array % 2 {
                    0 => (left.write(), right.read()),
                    _ => (right.write(), left.read()),
                };
                jobs.schedule_parallel(dependencies, data, LENGTH, 3, |(own, other), range| {
                    for (value, &other) in own.iter_mut().zip(&other[range]) {
                        *value = mixed(*value, other);
                    }
                })
            }
            Work::Sum { first, second, cell } => {
                let (first, second) = (&self.arrays[first % 2], &self.arrays[second % 2]);
                let data = (first.read(), second.read(), self.cells[cell % 2].write());
                jobs.schedule(dependencies, data, |(first, second, cell)| {
                    *cell = summed(*cell, first, second);
                })
            }
            Work::Deferred { cell, array } => {
                let data = (self.cells[cell % 2].read(), self.arrays[array % 2].write());
                jobs.schedule_deferred(
                    dependencies,
                    data,
                    |(cell, _)| count(*cell),
                    4,
                    |(cell, array), _| {
                        for value in array {
                            *value = stepped(*value, count(*cell));
                        }
                    },
                )
            }
            Work::Count { array } => {
                let data = (self.arrays[array % 2].read(), self.counter.concurrent());
                jobs.schedule_for_each(dependencies, data, LENGTH, 1, |(array, counter), i| {
                    counter.fetch_add(array[i], Ordering::Relaxed);
                })
            }
            Work::Take { cell } => {
                let data = (self.counter.write(), self.cells[cell % 2].write());
                jobs.schedule(dependencies, data, |(counter, cell)| {
                    *cell = mixed(*cell, std::mem::take(counter.0.get_mut()));
                })
            }
        }
    }

    fn label(&self, container: usize) -> ancho_jobs::ContainerLabel {
        match container {
            0 | 1 => self.arrays[container].label(),
            2 | 3 => self.cells[container - 2].label(),
            _ => self.counter.label(),
        }
    }

    /// Returns whether the owner may read and write each container.
    fn lent(&mut self) -> Vec<(bool, bool)> {
        let mut lent = vec![];
        for array in &mut self.arrays {
            lent.push((array.as_slice().is_ok(), array.as_mut_slice().is_ok()));
        }
        for cell in &mut self.cells {
            lent.push((cell.get().is_ok(), cell.get_mut().is_ok()));
        }
        lent.push((self.counter.get().is_ok(), self.counter.get_mut().is_ok()));
        lent
    }

    fn values(self) -> Values {
        drop(self.jobs);
        Values {
            arrays: self.arrays.map(|array| array.into_vec().unwrap().try_into().unwrap()),
            cells: self.cells.map(|cell| cell.into_inner().unwrap()),
            counter: self.counter.into_inner().unwrap().0.into_inner(),
        }
    }
}

/// Runs the script for real and in the model, and compares at every step.
fn compare(script: &[Step], pool: &JobPool, mode: ExecutionMode) {
    let mut real = Real::new(pool, mode);
    let mut model = Model::default();
    for step in script {
        let known = model.jobs.len();
        let pick = |picks: &[usize]| -> Vec<usize> {
            picks.iter().filter(|_| known > 0).map(|pick| pick % known).collect()
        };
        let handles = |real: &Real, jobs: &[usize]| -> Vec<_> {
            jobs.iter().map(|&job| real.handles[job]).collect()
        };
        match step {
            Step::Schedule { work, dependencies, after } => {
                let (dependencies, after) = (pick(dependencies), pick(after));
                let before = [&dependencies[..], &after].concat();
                let conflicts = model.conflicts(&before, &work.accesses());
                let (depends_on, ordered_after) =
                    (handles(&real, &dependencies), handles(&real, &after));
                match real.schedule(*work, &depends_on, &ordered_after) {
                    Ok(handle) => {
                        assert_eq!(conflicts, [], "{work:?} was taken");
                        real.handles.push(handle);
                        model.schedule(Some(*work), &dependencies, &after);
                    }
                    Err(ScheduleError::Conflict { container, other, .. }) => {
                        let named = |&(on, job): &(usize, usize)| {
                            real.label(on) == container && model.jobs[job].name == other
                        };
                        assert!(
                            conflicts.iter().any(named),
                            "{other} on {container}: {conflicts:?}"
                        );
                    }
                    Err(error) => panic!("{error}"),
                }
            }
            Step::Combine(jobs) => {
                let jobs = pick(jobs);
                let handle = real.jobs.combine(&handles(&real, &jobs)).unwrap();
                real.handles.push(handle);
                model.schedule(None, &jobs, &[]);
            }
            Step::Flush => real.jobs.flush(),
            Step::Complete(jobs) => {
                let jobs = pick(jobs);
                let told = real.jobs.try_complete_all(&handles(&real, &jobs));
                let expected = model.complete(&jobs);
                let name = |job: usize| model.jobs[job].name;
                let panicked = told.as_ref().err().map(JobFailed::panicked_job);
                assert_eq!(panicked, expected.map(|(panicked, _)| name(panicked)));
                // The name of a combination is unspecified.
                if let (Err(told), Some((_, Some(target)))) = (told, expected)
                    && !name(target).is_empty()
                {
                    assert_eq!(told.job(), name(target));
                }
                assert!(jobs.iter().all(|&job| real.jobs.is_completed(real.handles[job])));
            }
            Step::Look => {
                let lent: Vec<_> = (0..5)
                    .map(|container| {
                        let may = |access| model.conflicts(&[], &[(container, access)]).is_empty();
                        (may(Access::Read), may(Access::Write))
                    })
                    .collect();
                assert_eq!(real.lent(), lent);
            }
        }
    }
    assert_eq!(real.values(), model.values);
}

fn work() -> impl Strategy<Value = Work> {
    let two = 0..2_usize;
    prop_oneof![
        1 => Just(Work::Nothing),
        1 => Just(Work::Panic),
        3 => two.clone().prop_map(|array| Work::Step { array }),
        3 => two.clone().prop_map(|array| Work::Mix { array }),
        3 => (two.clone(), two.clone(), two.clone())
            .prop_map(|(first, second, cell)| Work::Sum { first, second, cell }),
        2 => (two.clone(), two.clone()).prop_map(|(cell, array)| Work::Deferred { cell, array }),
        2 => two.clone().prop_map(|array| Work::Count { array }),
        1 => two.prop_map(|cell| Work::Take { cell }),
    ]
}

fn script() -> impl Strategy<Value = Vec<Step>> {
    let jobs = |most: usize| prop::collection::vec(any::<usize>(), 0..=most);
    let step = prop_oneof![
        12 => (work(), jobs(4), jobs(2))
            .prop_map(|(work, dependencies, after)| Step::Schedule { work, dependencies, after }),
        2 => jobs(4).prop_map(Step::Combine),
        2 => Just(Step::Flush),
        2 => jobs(2).prop_map(Step::Complete),
        1 => Just(Step::Look),
    ];
    prop::collection::vec(step, 1..=NAMES.len())
}

#[test]
fn random_graphs_equal_the_model() {
    let pools = WORKERS.map(pool);
    let config =
        ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(script in script(), seed in any::<u64>())| {
        for pool in &pools {
            compare(&script, pool, ExecutionMode::Parallel);
            compare(&script, pool, ExecutionMode::Shuffle { seed });
        }
        compare(&script, &pools[2], ExecutionMode::Serial);
    });
}

#[test]
fn a_container_is_free_the_moment_its_job_is_completed() {
    // Taking the value out requires that every thread has released it.
    for workers in WORKERS {
        let jobs = JobScheduler::new(&pool(workers));
        for round in 0..500 {
            let mut values = JobSlice::new(64, 0);
            let mut cell = JobCell::new(0);
            let job =
                jobs.schedule_for_each(&[], values.write(), 64, 1, |value, i| *value = i).unwrap();
            let sum = jobs
                .schedule(&[job], (values.read(), cell.write()), |(values, cell)| {
                    *cell = values.iter().sum();
                })
                .unwrap();
            if round % 2 == 0 {
                jobs.flush();
            }
            jobs.complete(sum);
            assert_eq!(cell.into_inner().unwrap(), 2016);
            assert!(values.into_vec().unwrap().into_iter().eq(0..64));
        }
    }
}

#[test]
fn frames_of_several_owners_on_a_crowded_pool_stay_apart() {
    let pool = pool(4);
    std::thread::scope(|scope| {
        for owner in 0..3 {
            let pool = &pool;
            scope.spawn(move || {
                let jobs = JobScheduler::new(pool);
                if owner == 1 {
                    jobs.set_mode(ExecutionMode::Shuffle { seed: 1 });
                }
                let mut values = JobSlice::new(300, 0_u64);
                let mut last = JobHandle::COMPLETED;
                for frame in 0..200 {
                    last = jobs
                        .schedule_for_each(&[last], values.write(), 300, 11, |value, i| {
                            *value = stepped(*value, i);
                        })
                        .unwrap();
                    match frame % 5 {
                        0 => jobs.flush(),
                        3 => jobs.complete(last),
                        _ => {}
                    }
                }
                jobs.complete(last);
                let expected = |i| (0..200).fold(0, |value, _| stepped(value, i));
                let values = values.into_vec().unwrap();
                assert!(values.into_iter().eq((0..300).map(expected)));
            });
        }
    });
}
