//! Settling: the writes of a job's batches are put in order once, before anything that waits for the job continues.

use crate::common;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Mutex;
use std::thread;

use ancho_jobs::{
    BatchInfo, CellConcurrent, ConcurrentWrite, ContainerLabel, JobCell, JobHandle, JobScheduler,
    JobSlice, ScheduleError, thread_index,
};
use common::{Drops, Flag, Log, eventually, panic_message, scheduler, schedulers};

/// The writes of each batch, and the settled result in batch order.
#[derive(Default)]
struct Pages {
    written: Mutex<Vec<(usize, Vec<usize>)>>,
    settled: Vec<usize>,
    times: usize,
    /// The message with which settling panics, if it does.
    fails: Option<&'static str>,
}

/// The writes of one batch.
struct Page<'v> {
    pages: &'v Pages,
    batch: usize,
    values: Vec<usize>,
}

impl Drop for Page<'_> {
    fn drop(&mut self) {
        let values = std::mem::take(&mut self.values);
        self.pages.written.lock().unwrap().push((self.batch, values));
    }
}

impl ConcurrentWrite for Pages {
    type Writer<'v> = Page<'v>;
    type Item<'b> = &'b mut Vec<usize>;

    fn writer(&self, batch: &BatchInfo) -> Page<'_> {
        Page { pages: self, batch: batch.index, values: Vec::new() }
    }

    fn item<'b>(writer: &'b mut Page<'_>, _: usize) -> &'b mut Vec<usize> {
        &mut writer.values
    }

    fn settle(&mut self, _: ContainerLabel) {
        assert!(thread_index().is_some(), "settling is part of the job");
        self.times += 1;
        let written = self.written.get_mut().unwrap();
        written.sort_by_key(|(batch, _)| *batch);
        self.settled.extend(written.drain(..).flat_map(|(_, values)| values));
        if let Some(message) = self.fails {
            panic!("{message}");
        }
    }
}

fn failing(message: &'static str) -> JobCell<Pages> {
    JobCell::new(Pages { fails: Some(message), ..Pages::default() })
}

/// Schedules a job of each kind with the same data.
type Schedule =
    fn(&JobScheduler, &[JobHandle], CellConcurrent<'_, Pages>) -> Result<JobHandle, ScheduleError>;

const KINDS: [(&str, Schedule); 6] = [
    ("single", |jobs, after, pages| {
        jobs.schedule(after, pages, |mut page| page.values.extend(0..100))
    }),
    ("for each", |jobs, after, pages| {
        jobs.schedule_for_each(after, pages, 100, 3, |page, i| page.push(i))
    }),
    ("one batch", |jobs, after, pages| {
        jobs.schedule_for_each(after, pages, 100, 100, |page, i| page.push(i))
    }),
    ("parallel", |jobs, after, pages| {
        jobs.schedule_parallel(after, pages, 100, 7, |mut page, range| page.values.extend(range))
    }),
    ("deferred", |jobs, after, pages| {
        jobs.named("Deferred").schedule_deferred(
            after,
            pages,
            |_| 100,
            7,
            |mut page, range| page.values.extend(range),
        )
    }),
    ("work", |jobs, after, pages| {
        jobs.named("Work").schedule_work(after, pages, 100, 1, |work| {
            let mut kept = Vec::new();
            while let Some((mut page, range)) = work.next_batch() {
                page.values.extend(range);
                kept.push(page);
            }
        })
    }),
];

#[test]
fn the_writes_of_the_batches_are_settled_once_before_the_next_job() {
    let all = (0..100).collect::<Vec<_>>();
    for jobs in schedulers() {
        for (kind, schedule) in KINDS {
            let mut pages = JobCell::new(Pages::default());
            let mut seen = JobCell::new((0, Vec::new()));
            let write = schedule(&jobs, &[], pages.concurrent()).unwrap();
            let look = (pages.read(), seen.write());
            let look = jobs.schedule(&[write], look, |(pages, seen)| {
                *seen = (pages.times, pages.settled.clone());
            });
            jobs.complete(look.unwrap());
            assert_eq!(seen.get().unwrap(), &(1, all.clone()), "{kind}");
            assert_eq!(pages.get().unwrap().times, 1, "{kind}");
        }
    }
}

#[test]
fn a_job_that_workers_run_is_settled_when_it_looks_completed() {
    for workers in [1, 2, 4] {
        let jobs = scheduler(workers);
        for (kind, schedule) in KINDS {
            let mut pages = JobCell::new(Pages::default());
            let job = schedule(&jobs, &[], pages.concurrent()).unwrap();
            jobs.flush();
            eventually(|| jobs.is_completed(job));
            jobs.complete_finished().unwrap();
            assert_eq!((pages.get().unwrap().times, pages.get().unwrap().settled.len()), (1, 100));
            assert!(pages.get().unwrap().written.lock().unwrap().is_empty(), "{kind}");
        }
    }
}

#[test]
fn each_job_of_a_chain_is_settled_before_the_next_begins() {
    for jobs in schedulers() {
        let mut pages = JobCell::new(Pages::default());
        let mut last = JobHandle::COMPLETED;
        for (_, schedule) in KINDS {
            last = schedule(&jobs, &[last], pages.concurrent()).unwrap();
        }
        jobs.complete(last);
        let Pages { times, settled, .. } = pages.into_inner().unwrap();
        assert_eq!(times, KINDS.len());
        assert_eq!(settled, (0..KINDS.len()).flat_map(|_| 0..100).collect::<Vec<_>>());
    }
}

#[test]
fn a_job_that_runs_immediately_is_settled_when_the_call_returns() {
    for jobs in schedulers() {
        let mut pages = JobCell::new(Pages::default());
        let written = jobs.run(pages.concurrent(), |mut page| {
            page.values.push(5);
            "result"
        });
        assert_eq!(written.unwrap(), "result");
        assert_eq!((pages.get().unwrap().times, &pages.get().unwrap().settled[..]), (1, &[5][..]));
        let write = |mut page: Page<'_>, range| page.values.extend(range);
        jobs.run_parallel(pages.concurrent(), 10, 2, write).unwrap();
        assert_eq!((pages.get().unwrap().times, pages.get().unwrap().settled.len()), (2, 11));
    }
}

#[test]
fn a_job_that_is_too_large_for_its_place_is_settled_where_it_is() {
    #[repr(align(256))]
    struct Wide([u8; 1000]);

    for jobs in schedulers() {
        let mut pages = JobCell::new(Pages::default());
        let mut last = JobHandle::COMPLETED;
        for _ in 0..3 {
            let wide = Wide([1; 1000]);
            let write =
                jobs.schedule_for_each(&[last], pages.concurrent(), 1000, 64, move |p, i| {
                    assert!(std::ptr::from_ref(&wide).addr().is_multiple_of(256));
                    p.push(usize::from(wide.0[i]));
                });
            last = schedule_small(&jobs, write.unwrap(), pages.concurrent());
        }
        jobs.complete(last);
        let Pages { times, settled, .. } = pages.into_inner().unwrap();
        assert_eq!((times, settled), (6, vec![1; 3003]));
    }
}

fn schedule_small(
    jobs: &JobScheduler,
    after: JobHandle,
    pages: CellConcurrent<'_, Pages>,
) -> JobHandle {
    jobs.schedule(&[after], pages, |mut page| page.values.push(1)).unwrap()
}

#[test]
fn a_job_without_batches_is_settled_all_the_same() {
    for jobs in schedulers() {
        let mut pages = JobCell::new(Pages::default());
        let none = jobs.schedule_for_each(&[], pages.concurrent(), 0, 1, |_, _| {}).unwrap();
        let count = |_: Page<'_>| 0;
        let none = jobs.named("Deferred").schedule_deferred(
            &[none],
            pages.concurrent(),
            count,
            1,
            |_, _| {},
        );
        let gives_up =
            jobs.named("Work").schedule_work(&[none.unwrap()], pages.concurrent(), 9, 1, |_| {});
        jobs.complete(gives_up.unwrap());
        assert_eq!(pages.get().unwrap().times, 3);
    }
}

#[test]
fn the_writes_of_a_deferred_count_are_settled_with_the_batches() {
    for jobs in schedulers() {
        let mut pages = JobCell::new(Pages::default());
        let count = |mut page: Page<'_>| {
            page.values.push(1000);
            40
        };
        let write = |mut page: Page<'_>, range| page.values.extend(range);
        let job = jobs
            .named("Deferred")
            .schedule_deferred(&[], pages.concurrent(), count, 1, write)
            .unwrap();
        jobs.complete(job);
        let Pages { times, mut settled, .. } = pages.into_inner().unwrap();
        settled.sort_unstable();
        assert_eq!((times, settled), (1, (0..40).chain([1000]).collect()));
    }
}

#[test]
fn a_panic_in_the_count_leaves_a_job_that_is_settled() {
    for jobs in schedulers() {
        let mut pages = JobCell::new(Pages::default());
        let count = |mut page: Page<'_>| -> usize {
            page.values.push(5);
            panic!("no count")
        };
        let job = jobs
            .named("Deferred")
            .schedule_deferred(&[], pages.concurrent(), count, 1, |_, _| {})
            .unwrap();
        assert_eq!(jobs.try_complete(job).unwrap_err().message(), "no count");
        let Pages { times, settled, .. } = pages.into_inner().unwrap();
        assert_eq!((times, settled), (1, vec![5]));
    }
}

#[test]
fn writes_before_a_panic_are_settled() {
    for jobs in schedulers() {
        let mut pages = JobCell::new(Pages::default());
        let job = jobs.schedule_for_each(&[], pages.concurrent(), 10, 2, |page, i| {
            assert_ne!(i, 5, "not five");
            page.push(i);
        });
        assert!(jobs.try_complete(job.unwrap()).unwrap_err().message().contains("not five"));
        let job = jobs.schedule(&[], pages.concurrent(), |mut page| {
            page.values.push(100);
            panic!("no more");
        });
        assert_eq!(jobs.try_complete(job.unwrap()).unwrap_err().message(), "no more");
        let Pages { times, settled, .. } = pages.into_inner().unwrap();
        assert_eq!((times, settled), (2, vec![0, 1, 2, 3, 4, 6, 7, 8, 9, 100]));
    }
}

#[test]
fn a_panic_while_settling_fails_the_job_and_its_dependents() {
    for jobs in schedulers() {
        for (kind, schedule) in KINDS {
            for flushed in [false, true] {
                let mut pages = failing("cannot settle");
                let (ran, ordered) = (Flag::default(), Flag::default());
                let job = schedule(&jobs, &[], pages.concurrent()).unwrap();
                let next = jobs.named("Next").schedule(&[job], (), ran.raises()).unwrap();
                let after = jobs.named("After").after(&[job]).schedule(&[], (), ordered.raises());
                if flushed {
                    jobs.flush();
                }
                let failed = jobs.try_complete_all(&[next, after.unwrap()]).unwrap_err();
                assert_eq!((failed.job(), failed.message()), ("Next", "cannot settle"), "{kind}");
                assert!(!ran.is_up() && ordered.is_up());
                assert_eq!(pages.get().unwrap().times, 1);
                assert_eq!(pages.get().unwrap().settled.len(), 100);
            }
        }
    }
}

#[test]
fn a_chain_stops_at_a_job_that_cannot_be_settled() {
    for jobs in schedulers() {
        for (_, schedule) in KINDS {
            let mut pages = failing("cannot settle");
            let ran = Flag::default();
            let first = jobs.schedule(&[], (), |()| {}).unwrap();
            let job = schedule(&jobs, &[first], pages.concurrent()).unwrap();
            let last = jobs.schedule(&[job], (), ran.raises()).unwrap();
            let failed = jobs.try_complete(last).unwrap_err();
            assert!(failed.to_string().ends_with("panicked: cannot settle"), "{failed}");
            assert!(!ran.is_up());
            assert_eq!(pages.get().unwrap().times, 1);
        }
    }
}

#[test]
fn a_panic_of_the_job_is_reported_before_one_while_settling() {
    for jobs in schedulers() {
        let mut pages = failing("cannot settle");
        let last = |page: &mut Vec<usize>, i| {
            page.push(i);
            assert_ne!(i, 19, "the last batch");
        };
        let job = jobs.schedule_for_each(&[], pages.concurrent(), 20, 1, last).unwrap();
        assert!(jobs.try_complete(job).unwrap_err().message().contains("the last batch"));
        let job = jobs.schedule(&[], pages.concurrent(), |_| panic!("the job")).unwrap();
        assert_eq!(jobs.try_complete(job).unwrap_err().message(), "the job");
        let message = panic_message(|| jobs.run(pages.concurrent(), |_| panic!("at once")));
        assert_eq!(message, "at once");
        assert_eq!(pages.get().unwrap().times, 3);
    }
}

#[test]
fn a_panic_that_is_not_reported_is_dropped() {
    /// Panics with a counted value, and panics again when it is dropped.
    struct Failing(Drops);

    struct Bomb(Drops);

    impl Drop for Bomb {
        fn drop(&mut self) {
            drop(self.0.value());
            panic!("once more");
        }
    }

    impl ConcurrentWrite for Failing {
        type Writer<'v> = ();
        type Item<'b> = ();

        fn writer(&self, _: &BatchInfo) {}

        fn item((): &mut (), _: usize) {}

        fn settle(&mut self, _: ContainerLabel) {
            std::panic::panic_any(Bomb(self.0.clone()));
        }
    }

    for jobs in schedulers() {
        let drops = Drops::default();
        let (mut one, mut two) =
            (JobCell::new(Failing(drops.clone())), JobCell::new(Failing(drops.clone())));
        let data = (one.concurrent(), two.concurrent());
        let job = jobs.schedule(&[], data, |_| panic!("first")).unwrap();
        assert_eq!(jobs.try_complete(job).unwrap_err().message(), "first");
        assert_eq!(drops.count(), 2);
        let data = (one.concurrent(), two.concurrent());
        let job = jobs.schedule_for_each(&[], data, 4, 1, |_, _| panic!("first")).unwrap();
        assert_eq!(jobs.try_complete(job).unwrap_err().message(), "first");
        assert_eq!(drops.count(), 4);
    }
}

#[test]
fn a_panic_while_settling_reaches_the_caller_of_an_immediate_job() {
    for jobs in schedulers() {
        let mut pages = failing("cannot settle");
        let drops = Drops::default();
        let result = drops.value();
        assert_eq!(
            panic_message(|| jobs.run(pages.concurrent(), move |_| result)),
            "cannot settle"
        );
        assert_eq!(drops.count(), 1, "the result of the job that failed");
        let message = panic_message(|| jobs.run_parallel(pages.concurrent(), 4, 1, |_, _| {}));
        assert!(message.starts_with("A0011: ") && message.ends_with("panicked: cannot settle"));
        assert_eq!(thread_index(), None, "the thread is not inside of a job any more");
        assert_eq!(pages.get().unwrap().times, 2);
    }
}

#[test]
fn every_part_of_a_tuple_is_settled_and_the_first_panic_is_reported() {
    for jobs in schedulers() {
        let mut good = [(); 3].map(|()| JobCell::new(Pages::default()));
        let (mut bad, mut worse) = (failing("bad"), failing("worse"));
        let mut values = JobSlice::new(10, 0);
        let [first, second, third] = &mut good;
        let data = (
            first.concurrent(),
            (bad.concurrent(), second.concurrent()),
            values.write(),
            worse.concurrent(),
            third.concurrent(),
        );
        let job = jobs.schedule_for_each(&[], data, 10, 3, |(a, (b, c), value, d, e), i| {
            [a, b, c, d, e].into_iter().for_each(|page| page.push(i));
            *value = i;
        });
        assert_eq!(jobs.try_complete(job.unwrap()).unwrap_err().message(), "bad");
        for pages in good.iter().chain([&bad, &worse]) {
            let pages = pages.get().unwrap();
            assert_eq!((pages.times, &pages.settled[..]), (1, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9][..]));
        }
        let data = (good[0].concurrent(), bad.concurrent(), worse.concurrent());
        let job = jobs.schedule(&[], data, |_| {}).unwrap();
        assert_eq!(jobs.try_complete(job).unwrap_err().message(), "bad");
        assert_eq!([&good[0], &bad, &worse].map(|pages| pages.get().unwrap().times), [2, 2, 2]);
    }
}

#[test]
fn a_job_that_never_ran_is_not_settled() {
    for jobs in schedulers() {
        for (_, schedule) in KINDS {
            let mut pages = JobCell::new(Pages::default());
            let bad = jobs.named("Bad").schedule(&[], (), |()| panic!("bad")).unwrap();
            let job = schedule(&jobs, &[bad], pages.concurrent()).unwrap();
            assert_eq!(jobs.try_complete(job).unwrap_err().panicked_job(), "Bad");
            assert_eq!(pages.get().unwrap().times, 0);
        }
    }
}

#[test]
fn a_container_that_was_dropped_meanwhile_is_settled_and_then_freed() {
    struct Watched(Drops, Log);

    impl ConcurrentWrite for Watched {
        type Writer<'v> = ();
        type Item<'b> = ();

        fn writer(&self, _: &BatchInfo) {
            assert_eq!(self.0.count(), 0);
        }

        fn item((): &mut (), _: usize) {}

        fn settle(&mut self, _: ContainerLabel) {
            self.1.add("settled");
        }
    }

    impl Drop for Watched {
        fn drop(&mut self) {
            self.1.add("dropped");
            drop(self.0.value());
        }
    }

    for jobs in schedulers() {
        let (drops, log) = (Drops::default(), Log::default());
        let mut watched = JobCell::new(Watched(drops.clone(), log.clone()));
        let _ = jobs.schedule_for_each(&[], watched.concurrent(), 20, 1, |(), _| {}).unwrap();
        thread::spawn(move || drop(watched)).join().unwrap();
        assert_eq!(drops.count(), 0);
        drop(jobs);
        assert_eq!(log.entries(), ["settled", "dropped"]);
        assert_eq!(drops.count(), 1);
    }
}

#[test]
fn a_job_cannot_be_scheduled_while_another_is_settled() {
    thread_local! {
        static JOBS: RefCell<Option<Rc<JobScheduler>>> = const { RefCell::new(None) };
    }

    #[derive(Default)]
    struct Greedy(Vec<ScheduleError>);

    impl ConcurrentWrite for Greedy {
        type Writer<'v> = ();
        type Item<'b> = ();

        fn writer(&self, _: &BatchInfo) {}

        fn item((): &mut (), _: usize) {}

        fn settle(&mut self, _: ContainerLabel) {
            let jobs = JOBS.with_borrow(Option::clone).expect("the owner settles");
            self.0.extend(jobs.schedule(&[], (), |()| {}).err());
            self.0.extend(jobs.run((), |()| {}).err());
        }
    }

    // On a pool without workers, so that the owner settles.
    let jobs = Rc::new(scheduler(0));
    JOBS.set(Some(Rc::clone(&jobs)));
    let mut greedy = JobCell::new(Greedy::default());
    jobs.complete(jobs.schedule(&[], greedy.concurrent(), |()| {}).unwrap());
    jobs.complete(jobs.schedule_for_each(&[], greedy.concurrent(), 4, 1, |(), _| {}).unwrap());
    jobs.run(greedy.concurrent(), |()| {}).unwrap();
    let refused = &greedy.get().unwrap().0;
    assert_eq!(refused.len(), 6);
    assert!(refused.iter().all(|error| matches!(error, ScheduleError::InsideJob { .. })));
}
