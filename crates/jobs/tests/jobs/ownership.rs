//! One owner at a time: types that may move between threads, and their owners.

use crate::common;

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::thread;

use ancho_jobs::{
    AccessList, CellConcurrent, CellRead, CellWrite, Guarded, Held, JobBuilder, JobCell, JobFailed,
    JobHandle, JobPool, JobScheduler, JobSlice, Kept, ScheduleError, SliceRead, SliceWrite,
    UnrestrictedSlice,
};
use common::{Door, Flag, eventually, must_end, occupy_workers, panic_message, pool, scheduler};

/// Asserts that types implement a trait.
macro_rules! assert_impl {
    ($trait:path: $($type:ty),+ $(,)?) => {
        const _: fn() = || {
            fn check<T: ?Sized + $trait>() {}
            $(check::<$type>();)+
        };
    };
}

/// Asserts that types do not implement a trait: if one did, the call below would be ambiguous.
macro_rules! assert_not_impl {
    ($trait:path: $($type:ty),+ $(,)?) => {
        $(const _: fn() = || {
            trait AmbiguousIfImplemented<A> {
                fn check() {}
            }
            struct Implemented;
            impl<T: ?Sized> AmbiguousIfImplemented<()> for T {}
            impl<T: ?Sized + $trait> AmbiguousIfImplemented<Implemented> for T {}
            let _ = <$type as AmbiguousIfImplemented<_>>::check;
        };)+
    };
}

/// `Send` and not `Sync`.
type Cell = std::cell::Cell<u8>;
/// Neither `Send` nor `Sync`.
type Rc = std::rc::Rc<u8>;

assert_impl!(Send: JobScheduler, JobPool, JobHandle, JobFailed, ScheduleError);
assert_impl!(Sync: JobPool, JobHandle, JobFailed, ScheduleError);
assert_not_impl!(Sync: JobScheduler);
assert_impl!(Send: JobSlice<u8>, JobCell<u8>, Guarded<u8>, Held<u8>);
assert_impl!(Send: JobSlice<Cell>, JobCell<Cell>, Guarded<Cell>);
assert_not_impl!(Send: JobSlice<Rc>, JobCell<Rc>, Guarded<Rc>, Held<Rc>);
assert_not_impl!(Sync: JobSlice<u8>, JobCell<u8>, Guarded<u8>);
// A token that could be sent would let two threads reach a container's safety slot.
assert_not_impl!(Send: SliceRead<'static, u8>, CellRead<'static, u8>);
assert_not_impl!(Sync: SliceRead<'static, u8>, CellRead<'static, u8>);
assert_not_impl!(Sync: SliceWrite<'static, u8>, CellWrite<'static, u8>, CellConcurrent<'static, u8>);
assert_not_impl!(Send: JobBuilder<'static>, UnrestrictedSlice<'static, u8>);
assert_not_impl!(Sync: UnrestrictedSlice<'static, u8>);
assert_impl!(Copy: JobHandle, ScheduleError);
assert_impl!(Send: AccessList);
assert_impl!(std::error::Error: ScheduleError, JobFailed, ancho_jobs::PoolError, ancho_jobs::AccessError);

#[test]
fn a_scheduler_moves_to_another_thread_with_jobs_pending() {
    for workers in [0, 2] {
        let jobs = scheduler(workers);
        let mut cell = JobCell::new(0);
        let flushed = jobs.schedule(&[], cell.write(), |value| *value += 1).unwrap();
        jobs.flush();
        let held = jobs.schedule(&[flushed], cell.write(), |value| *value += 10).unwrap();
        let (jobs, mut cell) = thread::spawn(move || {
            let last = jobs.schedule(&[held], cell.write(), |value| *value *= 2).unwrap();
            jobs.complete(last);
            assert_eq!(cell.get(), Ok(&22));
            (jobs, cell)
        })
        .join()
        .unwrap();
        assert!(jobs.is_completed(held));
        let last = jobs.schedule(&[], cell.write(), |value| *value += 1).unwrap();
        jobs.complete(last);
        assert_eq!(cell.get(), Ok(&23));
    }
}

#[test]
fn a_scheduler_waits_on_the_thread_that_it_moved_to() {
    let jobs = scheduler(1);
    let door = Door::default();
    let busy = occupy_workers(&jobs, &door);
    must_end(move || {
        thread::scope(|scope| {
            let waits = scope.spawn(move || jobs.complete_all(&busy));
            common::a_while();
            door.open();
            waits.join().unwrap();
        });
    });
}

#[test]
fn a_container_moves_to_another_thread_while_a_job_uses_it() {
    let jobs = scheduler(1);
    let door = Door::default();
    let wait = door.waits();
    let mut cell = JobCell::new(String::new());
    let job = jobs
        .schedule(&[], cell.write(), move |text| {
            wait();
            text.push_str("done");
        })
        .unwrap();
    jobs.flush();
    eventually(|| door.arrived() == 1);
    let cell = thread::spawn(move || {
        cell.get().unwrap_err();
        cell
    })
    .join()
    .unwrap();
    door.open();
    jobs.complete(job);
    thread::spawn(move || assert_eq!(cell.into_inner().unwrap(), "done")).join().unwrap();
}

#[test]
fn a_scheduler_is_dropped_while_its_containers_are_on_another_thread() {
    let jobs = scheduler(1);
    let mut cell = JobCell::new(0);
    let _ = jobs.schedule(&[], cell.write(), |value| *value = 5).unwrap();
    let gone = Flag::default();
    let other = gone.clone();
    let looks = thread::spawn(move || {
        eventually(|| other.is_up());
        assert_eq!(cell.get(), Ok(&5));
        assert_eq!(cell.into_inner().unwrap(), 5);
    });
    drop(jobs);
    gone.raise();
    looks.join().unwrap();
}

#[test]
fn a_handle_of_another_scheduler_is_refused() {
    let pool = pool(1);
    let (here, there) = (JobScheduler::new(&pool), JobScheduler::new(&pool));
    let elsewhere = scheduler(1);
    for other in [&there, &elsewhere] {
        let foreign = other.schedule(&[], (), |()| {}).unwrap();
        let refused = ScheduleError::ForeignHandle { job: "Here" };
        assert_eq!(here.named("Here").schedule(&[foreign], (), |()| {}), Err(refused));
        let mine = here.schedule(&[], (), |()| {}).unwrap();
        let after = [mine, foreign];
        let ordered = here.named("Here").after(&after).schedule(&[mine], (), |()| {});
        assert_eq!(ordered, Err(refused));
        let combined = here.combine(&[mine, foreign]);
        assert!(matches!(combined, Err(ScheduleError::ForeignHandle { .. })));
        let message = panic_message(|| here.complete(foreign));
        assert!(message.starts_with("A0004: "), "{message}");
        let message = panic_message(|| here.complete_all(&[mine, foreign]));
        assert!(message.starts_with("A0004: "), "{message}");
        other.complete(foreign);
        here.complete(mine);
    }
}

#[test]
fn the_message_about_a_foreign_handle_names_the_remedy() {
    assert_eq!(
        ScheduleError::ForeignHandle { job: "Here" }.to_string(),
        "A0004: job `Here` depends on a job of another scheduler; complete that job there, or schedule \
         both on one scheduler"
    );
}

#[test]
fn a_container_in_use_by_another_scheduler_is_refused() {
    let pool = pool(1);
    let (here, there) = (JobScheduler::new(&pool), JobScheduler::new(&pool));
    let elsewhere = scheduler(1);
    for other in [&there, &elsewhere] {
        let mut cell = JobCell::new(0).named("cell");
        let label = cell.label();
        let used = other.named("There").schedule(&[], cell.write(), |value| *value += 1).unwrap();
        let refused =
            ScheduleError::ForeignContainer { container: label, job: "Here", other: "There" };
        assert_eq!(here.named("Here").schedule(&[], cell.write(), |_| {}), Err(refused));
        assert_eq!(here.named("Here").schedule(&[], cell.read(), |_| {}), Err(refused));
        assert_eq!(here.named("Here").run(cell.read(), |_| {}), Err(refused));
        assert_eq!(
            refused.to_string(),
            format!(
                "A0005: job `Here` takes `cell` (JobCell<i32> made at {}), which job `There` of another \
                 scheduler uses; complete `There` there first",
                label.made()
            )
        );
        let Kept { container: mut cell, error } = cell.dispose_after(&here, &[]).unwrap_err();
        assert!(matches!(error, ScheduleError::ForeignContainer { .. }));
        cell.get().unwrap_err();
        other.complete(used);
        let mine = here.schedule(&[], cell.write(), |value| *value += 1).unwrap();
        here.complete(mine);
        assert_eq!(cell.get(), Ok(&2));
    }
}

#[test]
fn a_container_that_two_schedulers_only_read_stays_safe() {
    // Accepting the second reader is unspecified; but nothing may write meanwhile.
    let pool = pool(1);
    let (here, there) = (JobScheduler::new(&pool), JobScheduler::new(&pool));
    let mut cell = JobCell::new(1);
    let first = there.schedule(&[], cell.read(), |_| {}).unwrap();
    let second = here.schedule(&[], cell.read(), |_| {});
    here.schedule(&[], cell.write(), |_| {}).unwrap_err();
    there.complete(first);
    if let Ok(second) = second {
        cell.get_mut().unwrap_err();
        there.schedule(&[], cell.write(), |_| {}).unwrap_err();
        here.complete(second);
    }
    *cell.get_mut().unwrap() = 2;
}

#[test]
fn several_schedulers_on_one_pool_work_side_by_side() {
    let pool = pool(2);
    thread::scope(|scope| {
        for owner in 0..4_u64 {
            let pool = &pool;
            scope.spawn(move || {
                let jobs = JobScheduler::new(pool);
                let mut values = JobSlice::new(200, owner);
                let mut sum = JobCell::new(0);
                for _ in 0..50 {
                    let add = jobs
                        .schedule_for_each(&[], values.write(), 200, 7, |value, _| *value += 1)
                        .unwrap();
                    let sums = jobs
                        .schedule(&[add], (values.read(), sum.write()), |(values, sum)| {
                            *sum = values.iter().sum::<u64>();
                        })
                        .unwrap();
                    jobs.flush();
                    jobs.complete(sums);
                }
                assert_eq!(sum.get(), Ok(&(200 * (owner + 50))));
            });
        }
    });
}

#[test]
fn completing_one_scheduler_runs_no_job_of_another() {
    let pool = pool(0);
    let (here, there) = (JobScheduler::new(&pool), JobScheduler::new(&pool));
    let started = Flag::default();
    let other = there.schedule(&[], (), started.raises()).unwrap();
    let mine = here.schedule(&[], (), |()| {}).unwrap();
    here.complete(mine);
    here.flush();
    here.complete_everything();
    assert!(!started.is_up());
    there.complete(other);
}

#[test]
fn schedulers_are_created_and_dropped_on_one_pool() {
    let pool = pool(1);
    let mut stale = JobHandle::COMPLETED;
    let mut cell = JobCell::new(0);
    for round in 0..300 {
        let jobs = JobScheduler::new(&pool);
        assert!(jobs.schedule(&[stale], (), |()| {}).is_err() || round == 0);
        let first = jobs.schedule(&[], cell.write(), |value| *value += 1).unwrap();
        stale = jobs.schedule(&[first], cell.write(), |value| *value += 1).unwrap();
        if round % 2 == 0 {
            jobs.flush();
        }
    }
    assert_eq!(cell.get(), Ok(&600));
}

#[test]
fn a_scheduler_dropped_inside_a_job_completes_its_jobs() {
    for workers in [0, 1, 2] {
        must_end(move || {
            let jobs = scheduler(workers);
            let inner = JobScheduler::new(jobs.pool());
            let ran = Flag::default();
            let first = inner.schedule_for_each(&[], (), 100, 1, |(), _| {}).unwrap();
            let _ = inner.schedule(&[first], (), ran.raises()).unwrap();
            let after = ran.clone();
            let job = jobs
                .schedule(&[], (), move |()| {
                    drop(inner);
                    assert!(after.is_up());
                })
                .unwrap();
            jobs.flush();
            jobs.complete(job);
        });
    }
}

#[test]
fn a_scheduler_dropped_by_a_job_of_its_own_does_not_wait_for_itself() {
    must_end(|| {
        let pool = pool(1);
        let jobs = JobScheduler::new(&pool);
        let place: Arc<Mutex<Option<JobScheduler>>> = Arc::default();
        let done = Flag::default();
        let (found, raises) = (Arc::clone(&place), done.clone());
        let _ = jobs
            .schedule(&[], (), move |()| {
                eventually(|| found.lock().unwrap().is_some());
                let own = found.lock().unwrap().take();
                drop(own);
                raises.raise();
            })
            .unwrap();
        jobs.flush();
        *place.lock().unwrap() = Some(jobs);
        // The job ends, by a panic or not.
        eventually(|| done.is_up() || Arc::strong_count(&place) == 1);
    });
}

/// Sends a scheduler to one of its own jobs, and returns when the job has used it.
fn give_to_own_job(
    jobs: JobScheduler,
    before: impl FnOnce(JobScheduler) -> JobScheduler,
    inside: impl FnOnce(JobScheduler) + Send + 'static,
) {
    let (give, given) = mpsc::channel::<JobScheduler>();
    let (done, is_done) = mpsc::channel();
    let job = jobs.schedule(&[], (), move |()| {
        inside(given.recv().unwrap());
        done.send(()).unwrap();
    });
    let _ = job.unwrap();
    jobs.flush();
    give.send(before(jobs)).unwrap();
    is_done.recv().unwrap();
}

#[test]
fn a_scheduler_whose_drop_began_elsewhere_does_not_wait_inside_its_own_job() {
    fn outside(jobs: JobScheduler) -> JobScheduler {
        assert!(jobs.begin_drop());
        jobs
    }

    /// Begins the drop inside a job of another scheduler, which sends it out again.
    fn inside_other(jobs: JobScheduler) -> JobScheduler {
        let other = scheduler(1);
        let (send, sent) = mpsc::channel();
        let job = other.schedule(&[], (), move |()| {
            assert!(jobs.begin_drop());
            send.send(jobs).unwrap();
        });
        other.complete(job.unwrap());
        sent.recv().unwrap()
    }

    for before in [outside, inside_other] {
        must_end(move || {
            give_to_own_job(scheduler(1), before, |own| {
                assert!(!own.begin_drop());
                drop(own);
            });
        });
        must_end(move || {
            give_to_own_job(scheduler(1), before, |own| {
                let message = panic_message(|| own.complete_everything());
                assert!(message.starts_with("A0006: "), "{message}");
                let message = panic_message(|| own.flush());
                assert!(message.starts_with("A0006: "), "{message}");
            });
        });
    }
}

#[test]
fn schedulers_whose_drops_began_outside_and_that_are_dropped_by_jobs_of_each_other_end() {
    must_end(|| {
        let pool = pool(2);
        let all_run = Arc::new(Barrier::new(2));
        let (done, all_done) = mpsc::channel();
        let made = [(); 2].map(|()| {
            let (give, given) = mpsc::channel::<JobScheduler>();
            let (all_run, done) = (Arc::clone(&all_run), done.clone());
            let jobs = JobScheduler::new(&pool);
            let completes = jobs.schedule(&[], (), move |()| {
                let other = given.recv().unwrap();
                all_run.wait();
                let completes = AssertUnwindSafe(|| other.complete_everything());
                let refused = catch_unwind(completes).is_err();
                drop(other);
                done.send(refused).unwrap();
            });
            let _ = completes.unwrap();
            jobs.flush();
            assert!(jobs.begin_drop());
            (jobs, give)
        });
        drop(done);
        let [(one, to_one), (two, to_two)] = made;
        to_one.send(two).unwrap();
        to_two.send(one).unwrap();
        let refused: Vec<bool> = all_done.iter().collect();
        assert_eq!(refused.len(), 2);
        assert!(refused.contains(&true), "one of them cannot wait for the other");
    });
}

#[test]
fn the_waits_of_a_scheduler_that_was_sent_out_of_the_job_end_with_it() {
    must_end(|| {
        let (one, two) = (scheduler(1), scheduler(1));
        let (send, sent) = mpsc::channel();
        let job = one.schedule(&[], (), move |()| {
            assert!(two.begin_drop());
            send.send(two).unwrap();
        });
        one.complete(job.unwrap());
        // A job of the other scheduler can wait for the first, now that no job of the first waits for the other.
        let two: JobScheduler = sent.recv().unwrap();
        assert!(two.begin_drop());
        let job = two.schedule(&[], (), move |()| assert!(one.begin_drop()));
        two.complete(job.unwrap());
    });
}

#[test]
fn schedulers_that_are_dropped_by_jobs_of_each_other_end() {
    // In a ring: a job of each drops the next.
    for count in [2, 3, 5] {
        must_end(move || {
            let pool = pool(count);
            let all_run = Arc::new(Barrier::new(count));
            let (done, all_done) = mpsc::channel();
            let made = (0..count).map(|_| {
                let (give, given) = mpsc::channel::<JobScheduler>();
                let (all_run, done) = (Arc::clone(&all_run), done.clone());
                let jobs = JobScheduler::new(&pool);
                let drops = jobs.schedule(&[], (), move |()| {
                    let next = given.recv().unwrap();
                    all_run.wait();
                    drop(next);
                    done.send(()).unwrap();
                });
                let _ = drops.unwrap();
                jobs.flush();
                (jobs, give)
            });
            let (mut schedulers, places): (Vec<_>, Vec<_>) = made.unzip();
            drop(done);
            schedulers.rotate_left(1);
            for (scheduler, place) in schedulers.into_iter().zip(places) {
                place.send(scheduler).unwrap();
            }
            assert_eq!(all_done.iter().count(), count);
        });
    }
}

#[test]
fn a_job_may_own_the_last_handle_on_its_pool() {
    must_end(|| {
        for workers in [0, 1, 3] {
            let outer = scheduler(1);
            // The inner scheduler has the last handle on its pool, and is dropped inside a job of the outer.
            let inner = scheduler(workers);
            let ran = Arc::new(AtomicUsize::new(0));
            for _ in 0..10 {
                let ran = Arc::clone(&ran);
                let job = move |()| {
                    ran.fetch_add(1, Ordering::SeqCst);
                };
                let _ = inner.schedule(&[], (), job).unwrap();
            }
            inner.flush();
            let job = outer.schedule(&[], (), move |()| drop(inner)).unwrap();
            outer.complete(job);
            assert_eq!(ran.load(Ordering::SeqCst), 10);
        }
    });
}

#[test]
fn a_worker_may_let_go_of_the_last_handle_on_its_own_pool() {
    must_end(|| {
        let pool = pool(2);
        let jobs = JobScheduler::new(&pool);
        let (gone, done) = (Flag::default(), Flag::default());
        let (wait, raises) = (gone.clone(), done.clone());
        let captured = pool.clone();
        let job = jobs
            .schedule(&[], (), move |()| {
                // On a worker, since the job is not completed before.
                eventually(|| wait.is_up());
                drop(captured);
                raises.raise();
            })
            .unwrap();
        jobs.flush();
        drop(pool);
        // Not the last handle yet: the scheduler has one, and releases it after its jobs.
        gone.raise();
        eventually(|| done.is_up());
        jobs.complete(job);
        drop(jobs);
    });
}

#[test]
fn a_scheduler_in_a_thread_local_completes_its_jobs_when_the_thread_ends() {
    thread_local! {
        static JOBS: RefCell<Option<JobScheduler>> = const { RefCell::new(None) };
    }
    // Thread-local values are dropped in any order, so those of the scheduler may be gone by then. Their presence
    // depends on the earlier actions of the thread, and on their order.
    let orders = [(false, false), (true, false), (false, true), (true, true)];
    for (workers, (local_first, work_first)) in
        [0, 1].into_iter().flat_map(|w| orders.map(|o| (w, o)))
    {
        must_end(move || {
            let ran = Arc::new(AtomicUsize::new(0));
            let count = Arc::clone(&ran);
            let thread = thread::spawn(move || {
                if local_first {
                    JOBS.set(None);
                }
                let jobs = scheduler(workers);
                if work_first {
                    let job = jobs.schedule_for_each(&[], (), 10, 1, |(), _| {}).unwrap();
                    let job = jobs.schedule(&[job], (), |()| {}).unwrap();
                    jobs.complete(job);
                }
                let mut last = JobHandle::COMPLETED;
                for _ in 0..10 {
                    let count = Arc::clone(&count);
                    let job = move |()| {
                        count.fetch_add(1, Ordering::SeqCst);
                    };
                    last = jobs.schedule(&[last], (), job).unwrap();
                }
                JOBS.set(Some(jobs));
            });
            thread.join().unwrap();
            assert_eq!(ran.load(Ordering::SeqCst), 10);
        });
    }
}
