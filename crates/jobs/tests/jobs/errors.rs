//! `Debug` of errors is their message, so that `unwrap` shows it. Panics have the place of the caller.

use std::fmt::{Debug, Display};

use ancho_jobs::{
    Access, AccessError, ContainerLabel, JobCell, JobPool, JobScheduler, ScheduleError,
};

use crate::panic_place::panics_of;

fn check(error: impl Debug + Display) {
    let message = error.to_string();
    assert!(message.starts_with("A0"), "{message}");
    assert_eq!(format!("{error:?}"), message);
    assert_eq!(format!("{error:#?}"), message);
}

#[test]
fn unwrap_shows_the_message_of_each_error() {
    let (container, job, other) = (ContainerLabel::of::<JobCell<u32>>(), "Show", "Add");
    let (access, other_access) = (Access::Read, Access::Write);
    for error in [
        ScheduleError::Conflict { container, job, access, other, other_access },
        ScheduleError::Aliased { container, job },
        ScheduleError::ForeignHandle { job },
        ScheduleError::ForeignContainer { container, job, other },
        ScheduleError::InsideJob { inside: other, job },
        ScheduleError::ZeroBatch { job },
        ScheduleError::TooManyJobs { job, limit: 64 },
        ScheduleError::TooManyBatches { job, count: 10, batch: 1 },
        ScheduleError::TooShort { container, job, length: 1, count: 2 },
        ScheduleError::Expired { container, job, memory: "scratch" },
        ScheduleError::ForeignFence { job, what: container },
    ] {
        check(error);
    }
    check(AccessError::InUse { container, access, job, job_access: other_access });
    check(AccessError::Expired { container, memory: "scratch" });
    check(JobPool::builder().workers(5_000).build().unwrap_err());
    let jobs = JobScheduler::new(&JobPool::builder().workers(0).build().unwrap());
    let fails = jobs.schedule(&[], (), |()| panic!("in the job")).unwrap();
    check(jobs.try_complete(fails).unwrap_err());
}

#[test]
fn panics_have_the_place_of_the_caller() {
    let pool = JobPool::builder().workers(0).build().unwrap();
    let (jobs, others) = (JobScheduler::new(&pool), JobScheduler::new(&pool));
    let fails = || jobs.schedule(&[], (), |()| panic!("in the job")).unwrap();
    let foreign = others.schedule(&[], (), |()| ()).unwrap();
    let calls: [(&str, &dyn Fn()); 7] = [
        ("A0011", &|| jobs.complete(fails())),
        ("A0011", &|| jobs.complete_all(&[fails()])),
        ("A0011", &|| {
            fails();
            jobs.complete_everything();
        }),
        ("A0011", &|| jobs.run_parallel((), 10, 1, |(), _| panic!("in the job")).unwrap()),
        ("A0004", &|| jobs.complete(foreign)),
        ("A0004", &|| _ = jobs.try_complete(foreign)),
        ("A0004", &|| _ = jobs.is_completed(foreign)),
    ];
    for (code, call) in calls {
        let panics = panics_of(call);
        let last = panics.last().unwrap();
        assert!(last.message.starts_with(code), "{code}: {panics:?}");
        assert_eq!(last.file, file!(), "{panics:?}");
    }
    others.complete_everything();
}
