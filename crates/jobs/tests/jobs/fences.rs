//! Jobs that are ordered by fences.
#![expect(unsafe_code, reason = "data of jobs that is ordered by a fence")]

use crate::common;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use ancho_jobs::{
    Access, AccessList, ContainerLabel, Fence, JobCell, JobData, JobHandle, JobPool, JobScheduler,
    ScheduleError,
};
use common::{Flag, WORKERS, a_while, eventually, panic_message, scheduler, schedulers};

/// The data of a job that uses the data behind fences.
struct Uses<'a>(&'a [(&'a Fence, Access)]);

// SAFETY: it reaches nothing.
unsafe impl JobData for Uses<'_> {
    type Held = ();
    type Whole<'v> = ();

    fn declare(&self, accesses: &mut AccessList) {
        self.0.iter().for_each(|&(fence, access)| accesses.order(fence, access));
    }

    fn hold(self) {}

    unsafe fn whole(_: &mut ()) {}
}

fn fence(jobs: &JobScheduler, name: &'static str) -> Fence {
    jobs.fence(ContainerLabel::of::<()>().named(name))
}

fn uncompleted(fence: &Fence, access: Access) -> usize {
    let mut list = Vec::new();
    fence.uncompleted(access, &mut list);
    list.len()
}

use Access::{Read, Write};

#[test]
fn readers_run_side_by_side_and_writers_wait() {
    for workers in [2, 4] {
        let jobs = scheduler(workers);
        let ground = fence(&jobs, "ground");
        let (first, second, written) = (Flag::default(), Flag::default(), Flag::default());
        let met = |own: &Flag, other: &Flag| {
            let (own, other) = (own.clone(), other.clone());
            move |()| {
                own.raise();
                eventually(|| other.is_up());
            }
        };
        let a = jobs.schedule(&[], Uses(&[(&ground, Read)]), met(&first, &second)).unwrap();
        let b = jobs.schedule(&[], Uses(&[(&ground, Read)]), met(&second, &first)).unwrap();
        let done = written.clone();
        let (a_done, b_done) = (first.clone(), second.clone());
        let writer = jobs.schedule(&[], Uses(&[(&ground, Write)]), move |()| {
            assert!(a_done.is_up() && b_done.is_up());
            done.raise();
        });
        assert_eq!((uncompleted(&ground, Read), uncompleted(&ground, Write)), (1, 1));
        jobs.flush();
        eventually(|| written.is_up());
        jobs.complete_all(&[a, b, writer.unwrap()]);
        assert_eq!(uncompleted(&ground, Write), 0);
    }
}

#[test]
fn unrelated_jobs_do_not_wait() {
    let jobs = scheduler(2);
    let (water, fire) = (fence(&jobs, "water"), fence(&jobs, "fire"));
    let (gate, went) = (Flag::default(), Flag::default());
    let (waits, sets) = (gate.clone(), went.clone());
    let slow = jobs
        .schedule(&[], Uses(&[(&water, Write)]), move |()| eventually(|| waits.is_up()))
        .unwrap();
    let quick = jobs.schedule(&[], Uses(&[(&fire, Write)]), move |()| sets.raise()).unwrap();
    jobs.flush();
    eventually(|| went.is_up());
    jobs.complete(quick);
    assert!(!jobs.is_completed(slow), "the other is at its gate");
    gate.raise();
    jobs.complete(slow);
}

#[test]
fn every_mode_keeps_the_order_of_scheduling() {
    for jobs in schedulers() {
        let (a, b) = (fence(&jobs, "a"), fence(&jobs, "b"));
        let log = Arc::new(Mutex::new(Vec::new()));
        for step in 0..20 {
            let log = Arc::clone(&log);
            let uses = [(&a, Write), (&b, if step % 3 == 0 { Write } else { Read })];
            let uses = Uses(if step % 2 == 0 { &uses } else { &uses[..1] });
            let _ = jobs.schedule(&[], uses, move |()| log.lock().unwrap().push(step)).unwrap();
        }
        jobs.complete_everything();
        assert_eq!(*log.lock().unwrap(), (0..20).collect::<Vec<_>>());
    }
}

#[test]
fn a_fence_orders_containers() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let ground = fence(&jobs, "ground");
        let mut sum = JobCell::new(1);
        let uses = [(&ground, Write)];
        let first = jobs.schedule(&[], (Uses(&uses), sum.write()), |((), sum)| *sum += 1).unwrap();
        // It does not depend on the first job, and is ordered after it by the fence.
        let second =
            jobs.schedule(&[], (Uses(&uses), sum.write()), |((), sum)| *sum *= 10).unwrap();
        assert!(matches!(
            jobs.schedule(&[], sum.read(), |_| {}),
            Err(ScheduleError::Conflict { .. })
        ));
        jobs.complete(second);
        assert!(jobs.is_completed(first));
        assert_eq!(*sum.get().unwrap(), 20);
    }
}

#[test]
fn a_failure_is_not_passed_on_and_is_reported_to_the_owner_of_the_handle() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let ground = fence(&jobs, "ground");
        let ran = Flag::default();
        let uses = [(&ground, Write)];
        let bad = jobs.named("Bad").schedule(&[], Uses(&uses), |()| panic!("oh")).unwrap();
        let sets = ran.clone();
        let good = jobs.schedule(&[], Uses(&uses), move |()| sets.raise()).unwrap();
        jobs.complete_quietly(&[good]);
        assert!(ran.is_up());
        assert_eq!(uncompleted(&ground, Write), 0);
        assert!(jobs.try_complete(good).is_ok());
        assert_eq!(jobs.try_complete(bad).unwrap_err().message(), "oh");
        assert!(jobs.try_complete(bad).is_ok() && jobs.take_failures().is_empty());

        let bad = jobs.schedule(&[], Uses(&uses), |()| panic!("again")).unwrap();
        jobs.complete_quietly(&[bad, JobHandle::COMPLETED]);
        assert_eq!(jobs.try_complete_all(&[good, bad]).unwrap_err().message(), "again");
    }
}

#[test]
fn only_the_last_failures_are_kept() {
    let jobs = scheduler(0);
    let all: Vec<_> = (0..300)
        .map(|at| jobs.schedule(&[], (), move |()| panic!("number {at}")).unwrap())
        .collect();
    jobs.complete_quietly(&all);
    assert!(jobs.try_complete(all[0]).is_ok(), "it was forgotten");
    let failures = jobs.take_failures();
    assert_eq!(failures.len(), 256);
    assert_eq!(failures[0].message(), "number 44");
    assert!(jobs.take_failures().is_empty());
}

#[test]
fn memory_for_jobs_that_are_never_completed_stays_bounded() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let ground = fence(&jobs, "ground");
        let count = Arc::new(AtomicUsize::new(0));
        let mut most = 0;
        for _ in 0..100 {
            for _ in 0..10 {
                let count = Arc::clone(&count);
                let uses = [(&ground, if most % 2 == 0 { Write } else { Read })];
                let job = move |()| _ = count.fetch_add(1, Ordering::Relaxed);
                let _ = jobs.schedule(&[], Uses(&uses), job).unwrap();
            }
            jobs.flush();
            let last = count.load(Ordering::Relaxed);
            eventually(|| jobs.forget_finished() == 0);
            most = most.max(last);
        }
        assert_eq!(count.load(Ordering::Relaxed), 1000);
    }
}

#[test]
fn jobs_with_containers_are_not_forgotten() {
    let jobs = scheduler(0);
    let mut cell = JobCell::new(0);
    let job = jobs.schedule(&[], cell.write(), |cell| *cell += 1).unwrap();
    jobs.flush();
    assert_eq!(jobs.forget_finished(), 1);
    assert!(cell.get().is_err(), "the earlier call has no effect");
    jobs.complete(job);
    assert_eq!(cell.get(), Ok(&1));
}

#[test]
fn jobs_whose_containers_were_passed_on_are_forgotten() {
    let jobs = scheduler(0);
    let mut cell = JobCell::new(0);
    let first = jobs.schedule(&[], cell.write(), |cell| *cell += 1).unwrap();
    let _ = jobs.schedule(&[first], cell.read(), |cell| assert_eq!(*cell, 1)).unwrap();
    let _ = jobs.schedule(&[first], cell.read(), |cell| assert_eq!(*cell, 1)).unwrap();
    jobs.flush();
    assert_eq!(jobs.forget_finished(), 3, "a later job could conflict with each of them");
    let next = jobs.named("Next").in_turn().schedule(&[], cell.write(), |cell| *cell += 1).unwrap();
    let last = jobs.schedule(&[next], cell.write(), |cell| *cell += 1).unwrap();
    jobs.flush();
    assert_eq!(jobs.forget_finished(), 1, "a later job could conflict with the last");
    assert!(jobs.is_completed(first) && jobs.is_completed(next));
    assert!(cell.get().is_err());
    jobs.complete(last);
    assert_eq!(cell.get(), Ok(&3));
}

#[test]
fn a_job_is_not_forgotten_before_the_jobs_on_which_it_depends() {
    let jobs = scheduler(0);
    let mut cell = JobCell::new(0);
    let writes = jobs.schedule(&[], cell.write(), |cell| *cell += 1).unwrap();
    let between = jobs.schedule(&[writes], (), |()| {}).unwrap();
    jobs.flush();
    assert_eq!(jobs.forget_finished(), 2);
    // The order of both writers is known through the job between them.
    let last = jobs.schedule(&[between], cell.write(), |cell| *cell += 1).unwrap();
    jobs.complete(last);
    assert_eq!(cell.get(), Ok(&2));
}

#[test]
fn jobs_that_are_never_completed_do_not_fill_the_pool() {
    let pool = JobPool::builder().workers(0).max_jobs(256).build().unwrap();
    let jobs = JobScheduler::new(&pool);
    let mut cell = JobCell::new(0_usize);
    for frame in 1..=1000 {
        let _ = jobs.named("Write").in_turn().schedule(&[], cell.write(), |cell| *cell += 1);
        for _ in 0..3 {
            let read = jobs.named("Read").in_turn();
            let _ = read.schedule(&[], cell.read(), move |cell| assert_eq!(*cell, frame)).unwrap();
        }
        let _ = jobs.schedule(&[], (), |()| {}).unwrap();
        jobs.flush();
        assert!(jobs.uncompleted() <= 256);
    }
    jobs.complete_everything();
    assert_eq!(cell.get(), Ok(&1000));
}

#[test]
fn running_now_completes_conflicting_jobs() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let ground = fence(&jobs, "ground");
        let ran = Flag::default();
        let sets = ran.clone();
        let uses = [(&ground, Write)];
        let _ = jobs.schedule(&[], Uses(&uses), move |()| sets.raise()).unwrap();
        let seen = jobs.run(Uses(&[(&ground, Read)]), |()| ran.is_up()).unwrap();
        assert!(seen);
    }
}

#[test]
fn a_fence_belongs_to_one_scheduler() {
    let (jobs, other) = (scheduler(0), scheduler(0));
    let ground = fence(&jobs, "ground");
    let refused = other.named("Move").schedule(&[], Uses(&[(&ground, Read)]), |()| {});
    let said = refused.unwrap_err().to_string();
    assert!(said.starts_with("A0074: job `Move` uses `ground` "), "{said}");
    assert_eq!(uncompleted(&ground, Write), 0);
}

#[test]
fn nothing_is_completed_from_inside_a_job() {
    let jobs = scheduler(0);
    let job = jobs.schedule(&[], (), |()| {}).unwrap();
    let said = jobs.run((), |()| panic_message(|| jobs.complete_quietly(&[job]))).unwrap();
    assert!(said.starts_with("A0006: "), "{said}");
    let said = jobs.run((), |()| panic_message(|| jobs.forget_finished())).unwrap();
    assert!(said.starts_with("A0006: "), "{said}");
    jobs.complete(job);
    // Without jobs to complete, the call is allowed.
    jobs.run((), |()| jobs.complete_quietly(&[job])).unwrap();
    a_while();
}
