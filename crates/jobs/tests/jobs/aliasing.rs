//! A job that uses one container twice.
//!
//! With the containers of this crate it does not compile, since a token to write borrows its container mutably (see
//! `ui/container_written_and_read_by_one_job.rs`). A user-defined container may still declare itself twice, and is
//! refused.
#![expect(unsafe_code, reason = "defines a token for a container of its own")]

use crate::common;

use ancho_jobs::{
    Access, AccessList, ContainerLabel, Guarded, Held, JobCell, JobData, JobSlice, ScheduleError,
};
use common::{WORKERS, scheduler};

/// A token that declares one container with each of the given accesses.
struct Declares<'a> {
    container: &'a mut Guarded<i32>,
    accesses: &'a [Access],
}

// SAFETY: the container is borrowed mutably and held, and there is no view.
unsafe impl JobData for Declares<'_> {
    type Held = Held<i32>;
    type Whole<'v> = ();

    fn declare(&self, accesses: &mut AccessList) {
        for &access in self.accesses {
            accesses.add(self.container, access);
        }
    }

    fn hold(self) -> Held<i32> {
        self.container.hold()
    }

    unsafe fn whole(_: &mut Held<i32>) {}
}

#[test]
fn a_job_that_takes_a_container_twice_and_writes_it_is_refused() {
    use Access::{Concurrent, Read, Write};
    let jobs = scheduler(1);
    let mut container = Guarded::new(5, ContainerLabel::of::<Guarded<i32>>().named("numbers"));
    let label = container.label();
    let accesses: [&[Access]; 6] = [
        &[Read, Write],
        &[Write, Read],
        &[Write, Write],
        &[Read, Read, Concurrent],
        &[Concurrent, Write],
        &[Concurrent, Read],
    ];
    for accesses in accesses {
        let data = Declares { container: &mut container, accesses };
        let refused = jobs.named("Twice").schedule(&[], data, |()| panic!("ran"));
        let expected = ScheduleError::Aliased { container: label, job: "Twice" };
        assert_eq!(refused, Err(expected), "{accesses:?}");
        container.get_mut().unwrap();
    }
    let data = Declares { container: &mut container, accesses: &[Read, Read] };
    let taken = jobs.schedule(&[], data, |()| {}).unwrap();
    container.get_mut().unwrap_err();
    jobs.complete(taken);
}

#[test]
fn the_message_names_job_container_and_remedy() {
    let jobs = scheduler(1);
    let mut container = Guarded::new(5, ContainerLabel::of::<Guarded<i32>>().named("numbers"));
    let place = container.label().made();
    let accesses = &[Access::Read, Access::Write];
    let data = Declares { container: &mut container, accesses };
    let refused = jobs.named("Twice").schedule(&[], data, |()| {}).unwrap_err();
    assert_eq!(
        refused.to_string(),
        format!(
            "A0002: job `Twice` takes `numbers` (Guarded<i32> made at {place}) twice, and writes it; take \
             it once, or only to read"
        )
    );
}

#[test]
fn a_job_may_read_one_container_through_several_tokens() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let values = JobSlice::from(vec![1, 2, 3]);
        let cell = JobCell::new(10);
        let mut sum = JobCell::new(0);
        let data = (values.read(), cell.read(), values.read(), cell.read(), sum.write());
        let job = jobs.named("Sum").schedule(&[], data, |(a, b, c, d, sum)| {
            assert_eq!(a.as_ptr(), c.as_ptr());
            *sum = a.iter().chain(c).sum::<i32>() + b + d;
        });
        jobs.complete(job.unwrap());
        assert_eq!(sum.get(), Ok(&32));
    }
}

#[test]
fn a_parallel_job_may_read_one_container_through_several_tokens() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let values = JobSlice::from((0..100).collect::<Vec<_>>());
        let mut sums = JobSlice::new(100, 0);
        let data = (sums.write(), values.read(), values.read());
        let job =
            jobs.schedule_for_each(&[], data, 100, 7, |(sum, a, b), i| *sum = a[i] + b[99 - i]);
        jobs.complete(job.unwrap());
        assert_eq!(sums.as_slice().unwrap(), [99; 100]);
    }
}

#[test]
fn a_container_read_twice_is_released_when_the_job_is_completed() {
    let jobs = scheduler(1);
    let mut values = JobSlice::from(vec![1]);
    let job = jobs.schedule(&[], (values.read(), values.read()), |_| {}).unwrap();
    values.as_mut_slice().unwrap_err();
    let next = jobs.schedule(&[job], values.write(), |values| values[0] = 2).unwrap();
    jobs.complete(next);
    assert_eq!(values.as_mut_slice().unwrap(), [2]);
}
