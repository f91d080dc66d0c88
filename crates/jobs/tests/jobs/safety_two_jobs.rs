//! Two jobs that share a container, one of them writing, must be ordered.

use crate::common;

use ancho_jobs::{Access, JobCell, JobHandle, JobScheduler, JobSlice, ScheduleError};
use common::{Flag, WORKERS, eventually, scheduler};

/// Returns the error for job `Second`, refused because of job `First`.
fn conflict(cell: &JobCell<i32>, access: Access, other_access: Access) -> ScheduleError {
    ScheduleError::Conflict {
        container: cell.label(),
        job: "Second",
        access,
        other: "First",
        other_access,
    }
}

fn write(
    jobs: &JobScheduler,
    name: &'static str,
    before: &[JobHandle],
    cell: &mut JobCell<i32>,
) -> Result<JobHandle, ScheduleError> {
    jobs.named(name).schedule(before, cell.write(), |value| *value += 1)
}

fn read(
    jobs: &JobScheduler,
    name: &'static str,
    before: &[JobHandle],
    cell: &JobCell<i32>,
) -> Result<JobHandle, ScheduleError> {
    jobs.named(name).schedule(before, cell.read(), |_| {})
}

#[test]
fn a_second_job_that_is_not_ordered_is_refused() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut cell = JobCell::new(0);
        let first = write(&jobs, "First", &[], &mut cell).unwrap();
        assert_eq!(
            write(&jobs, "Second", &[], &mut cell),
            Err(conflict(&cell, Access::Write, Access::Write))
        );
        assert_eq!(
            read(&jobs, "Second", &[], &cell),
            Err(conflict(&cell, Access::Read, Access::Write))
        );
        jobs.complete(first);
        assert_eq!(cell.get(), Ok(&1), "what was refused did not run");

        let first = read(&jobs, "First", &[], &cell).unwrap();
        assert_eq!(
            write(&jobs, "Second", &[], &mut cell),
            Err(conflict(&cell, Access::Write, Access::Read))
        );
        jobs.complete(first);
    }
}

#[test]
fn a_second_job_is_refused_also_if_the_first_happens_to_have_finished() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut cell = JobCell::new(0);
        let first = write(&jobs, "First", &[], &mut cell).unwrap();
        jobs.flush();
        eventually(|| jobs.is_completed(first));
        assert_eq!(
            write(&jobs, "Second", &[], &mut cell),
            Err(conflict(&cell, Access::Write, Access::Write))
        );
        jobs.complete(first);
        let second = write(&jobs, "Second", &[], &mut cell).unwrap();
        jobs.complete(second);
    }
}

#[test]
fn a_second_job_is_accepted_after_the_first_was_completed() {
    let jobs = scheduler(1);
    let mut cell = JobCell::new(0);
    let first = write(&jobs, "First", &[], &mut cell).unwrap();
    jobs.complete(first);
    let second = write(&jobs, "Second", &[], &mut cell).unwrap();
    jobs.complete(second);
    assert_eq!(cell.get(), Ok(&2));
}

#[test]
fn a_second_job_that_depends_on_the_first_is_accepted() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut cell = JobCell::new(1);
        let first = jobs.schedule(&[], cell.write(), |value| *value *= 10).unwrap();
        let second = jobs.schedule(&[first], cell.write(), |value| *value += 1).unwrap();
        jobs.complete(second);
        assert_eq!(cell.get(), Ok(&11));
    }
}

#[test]
fn jobs_that_only_read_need_no_order() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let cell = JobCell::new(1);
        let readers: Vec<_> = (0..10).map(|_| read(&jobs, "Reader", &[], &cell).unwrap()).collect();
        jobs.complete_all(&readers);
    }
}

#[test]
fn a_dependency_through_other_jobs_is_an_order() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut cell = JobCell::new(0);
        let first = write(&jobs, "First", &[], &mut cell).unwrap();
        // Neither of these uses the cell.
        let between = jobs.schedule(&[first], (), |()| {}).unwrap();
        let joined = jobs.combine(&[JobHandle::COMPLETED, between]).unwrap();
        let second = write(&jobs, "Second", &[joined], &mut cell).unwrap();
        jobs.complete(second);
        assert_eq!(cell.get(), Ok(&2));
    }
}

#[test]
fn a_dependency_on_a_sibling_is_no_order() {
    let jobs = scheduler(1);
    let mut cell = JobCell::new(0);
    let root = jobs.schedule(&[], (), |()| {}).unwrap();
    let first = write(&jobs, "First", &[root], &mut cell).unwrap();
    let sibling = jobs.schedule(&[root], (), |()| {}).unwrap();
    let child = jobs.schedule(&[first], (), |()| {}).unwrap();
    assert_eq!(
        write(&jobs, "Second", &[root, sibling], &mut cell),
        Err(conflict(&cell, Access::Write, Access::Write))
    );
    let second = write(&jobs, "Second", &[sibling, child], &mut cell).unwrap();
    jobs.complete(second);
}

#[test]
fn an_order_without_dependency_is_an_order() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut cell = JobCell::new(1);
        let first = jobs.schedule(&[], cell.write(), |value| *value *= 10).unwrap();
        let second = jobs
            .named("Second")
            .after(&[first])
            .schedule(&[], cell.write(), |value| *value += 1)
            .unwrap();
        // Also as part of a longer path.
        let third = jobs.schedule(&[second], cell.write(), |value| *value *= 2).unwrap();
        jobs.complete(third);
        assert_eq!(cell.get(), Ok(&22));
    }
}

#[test]
fn a_writer_must_come_after_all_readers() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut cell = JobCell::new(0);
        let names = ["Reader 0", "Reader 1", "Reader 2", "Reader 3", "Reader 4"];
        let readers = names.map(|name| read(&jobs, name, &[], &cell).unwrap());
        for (missing, name) in names.into_iter().enumerate() {
            let mut some = readers.to_vec();
            let _ = some.remove(missing);
            let refused = write(&jobs, "Writer", &some, &mut cell).unwrap_err();
            let ScheduleError::Conflict { other, other_access, .. } = refused else {
                panic!("{refused}");
            };
            assert_eq!((other, other_access), (name, Access::Read));
        }
        let writer = write(&jobs, "Writer", &readers, &mut cell).unwrap();
        jobs.complete(writer);
        assert_eq!(cell.get(), Ok(&1));
    }
}

#[test]
fn a_completed_reader_need_not_be_waited_for() {
    let jobs = scheduler(1);
    let mut cell = JobCell::new(0);
    let readers = ["A", "B", "C"].map(|name| read(&jobs, name, &[], &cell).unwrap());
    jobs.complete(readers[1]);
    let writer = write(&jobs, "Writer", &[readers[2], readers[0]], &mut cell).unwrap();
    jobs.complete(writer);
}

#[test]
fn readers_after_a_writer_must_each_be_ordered() {
    let jobs = scheduler(1);
    let mut cell = JobCell::new(0);
    let writer = write(&jobs, "First", &[], &mut cell).unwrap();
    let reader = read(&jobs, "Reader", &[writer], &cell).unwrap();
    // The first reader is ordered after the writer; the second is not.
    assert_eq!(
        read(&jobs, "Second", &[], &cell),
        Err(conflict(&cell, Access::Read, Access::Write))
    );
    let second = read(&jobs, "Second", &[reader], &cell).unwrap();
    // A writer ordered after only one reader is unordered with the other.
    let third = read(&jobs, "Third", &[writer], &cell).unwrap();
    write(&jobs, "Writer", &[second], &mut cell).unwrap_err();
    write(&jobs, "Writer", &[third], &mut cell).unwrap_err();
    let last = write(&jobs, "Writer", &[second, third], &mut cell).unwrap();
    // A job after the last writer is ordered after all jobs before it.
    let after = read(&jobs, "After", &[last], &cell).unwrap();
    jobs.complete(after);
    assert_eq!(cell.get(), Ok(&2));
}

#[test]
fn a_reader_between_writers_is_not_forgotten() {
    let jobs = scheduler(1);
    let mut cell = JobCell::new(0);
    let first = write(&jobs, "Writer", &[], &mut cell).unwrap();
    let reader = read(&jobs, "First", &[first], &cell).unwrap();
    // Ordered after the writer that the reader waited for, but not after the reader.
    assert_eq!(
        write(&jobs, "Second", &[first], &mut cell),
        Err(conflict(&cell, Access::Write, Access::Read))
    );
    jobs.complete(first);
    assert_eq!(
        write(&jobs, "Second", &[], &mut cell),
        Err(conflict(&cell, Access::Write, Access::Read))
    );
    jobs.complete(reader);
    let second = write(&jobs, "Second", &[], &mut cell).unwrap();
    jobs.complete(second);
}

#[test]
fn a_refused_job_leaves_no_trace() {
    let jobs = scheduler(1);
    let mut conflicting = JobCell::new(0);
    let mut free = JobCell::new(0);
    let first = write(&jobs, "First", &[], &mut conflicting).unwrap();
    let ran = Flag::default();
    let raises = ran.clone();
    // The free container comes first: a job that is refused because of the other must not keep it.
    jobs.schedule(&[], (free.write(), conflicting.write()), move |_| raises.raise()).unwrap_err();
    *free.get_mut().unwrap() += 1;
    let other = write(&jobs, "Other", &[], &mut free).unwrap();
    jobs.complete_all(&[first, other]);
    jobs.complete_everything();
    assert!(!ran.is_up());
    assert_eq!((free.get(), conflicting.get()), (Ok(&2), Ok(&1)));
}

#[test]
fn each_container_is_checked_on_its_own() {
    let jobs = scheduler(1);
    let (mut left, mut right) = (JobCell::new(0), JobCell::new(0));
    let a = write(&jobs, "A", &[], &mut left).unwrap();
    let b = write(&jobs, "B", &[], &mut right).unwrap();
    let swap = |before: &[JobHandle], left: &mut JobCell<i32>, right: &mut JobCell<i32>| {
        jobs.schedule(before, (left.write(), right.write()), |(left, right)| {
            std::mem::swap(left, right);
        })
    };
    swap(&[a], &mut left, &mut right).unwrap_err();
    swap(&[b], &mut left, &mut right).unwrap_err();
    let both = swap(&[a, b], &mut left, &mut right).unwrap();
    jobs.complete(both);
}

#[test]
fn parallel_jobs_and_combinations_are_held_to_the_same() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut values = JobSlice::new(100, 1);
        let add = |before: &[JobHandle], values: &mut JobSlice<i32>| {
            jobs.schedule_for_each(before, values.write(), 100, 8, |value, _| *value += 1)
        };
        let a = add(&[], &mut values).unwrap();
        assert!(matches!(add(&[], &mut values), Err(ScheduleError::Conflict { .. })));
        // Also if the jobs have no index in common.
        let none = jobs.schedule_for_each(&[], values.write(), 0, 8, |_, _| {});
        assert!(matches!(none, Err(ScheduleError::Conflict { .. })));
        let b = add(&[a], &mut values).unwrap();
        let all = jobs.combine(&[a, b]).unwrap();
        let c = add(&[all], &mut values).unwrap();
        jobs.complete(c);
        assert_eq!(values.as_slice().unwrap(), [4; 100]);
    }
}

#[test]
fn a_conflict_is_found_through_a_long_chain() {
    let jobs = scheduler(1);
    let mut cell = JobCell::new(0);
    let first = write(&jobs, "First", &[], &mut cell).unwrap();
    let chain = |mut last| {
        for _ in 0..1000 {
            last = jobs.schedule(&[last], (), |()| {}).unwrap();
        }
        last
    };
    let unrelated = chain(JobHandle::COMPLETED);
    let related = chain(first);
    write(&jobs, "Second", &[unrelated], &mut cell).unwrap_err();
    let second = write(&jobs, "Second", &[unrelated, related], &mut cell).unwrap();
    jobs.complete(second);
    assert_eq!(cell.get(), Ok(&2));
}

#[test]
fn the_message_names_the_container_the_jobs_and_the_remedy() {
    let jobs = scheduler(1);
    let line = line!() + 1;
    let mut score = JobCell::new(0).named("score");
    let place = format!("{}:{line}:21", file!());
    assert_eq!(score.label().made().to_string(), place);
    let first = write(&jobs, "First", &[], &mut score).unwrap();
    let refused = |error: Result<JobHandle, ScheduleError>| error.unwrap_err().to_string();
    assert_eq!(
        refused(read(&jobs, "Second", &[], &score)),
        format!(
            "A0001: job `Second` reads `score` (JobCell<i32> made at {place}), which job `First` writes and which was \
             not completed; pass the handle of `First` as a dependency, complete it first, \
             for example with `wait`, or use `in_turn`, which \
             waits for earlier users"
        )
    );
    jobs.complete(first);

    let values = JobSlice::from(vec![Some(1_u8)]);
    let place = values.label().made().to_string();
    let mut values = values;
    let first = jobs.named("First").schedule(&[], values.read(), |_| {}).unwrap();
    let second = jobs.named("Second").schedule(&[], values.write(), |_| {});
    assert_eq!(
        refused(second),
        format!(
            "A0001: job `Second` writes the JobSlice<Option<u8>> made at {place}, which job `First` reads and which \
             was not completed; pass the handle of `First` as a dependency, complete it first, \
             for example with `wait`, or use `in_turn`, which \
             waits for earlier users"
        )
    );
    jobs.complete(first);
}

#[test]
fn a_job_without_a_name_is_called_by_its_type() {
    let jobs = scheduler(1);
    let mut cell = JobCell::new(0);
    let first = jobs.schedule(&[], cell.write(), |_| {}).unwrap();
    let refused = jobs.schedule(&[], cell.write(), |_| {}).unwrap_err();
    let ScheduleError::Conflict { job, other, .. } = refused else {
        panic!("{refused}");
    };
    for name in [job, other] {
        assert!(name.contains("a_job_without_a_name_is_called_by_its_type"), "{name}");
    }
    jobs.complete(first);
}
