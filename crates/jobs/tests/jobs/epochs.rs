//! A container whose memory was rewound is refused, while jobs that hold it continue.

use crate::common;

use std::sync::Arc;
use std::thread;

use ancho_jobs::{AccessError, ContainerLabel, Epoch, Guarded, JobCell, JobSlice, ScheduleError};
use common::{scheduler, schedulers};

fn label() -> ContainerLabel {
    ContainerLabel::of::<u32>().named("score")
}

#[test]
fn a_container_whose_epoch_is_past_is_refused_to_its_owner_and_to_jobs() {
    for jobs in schedulers() {
        let epoch = Epoch::new("the level's memory");
        let mut score = Guarded::new(5_u32, label()).stamped(epoch.stamp());
        let mut values = JobSlice::new(10, 1).stamped(epoch.stamp());
        assert_eq!(score.get(), Ok(&5));
        epoch.advance();
        let expired =
            AccessError::Expired { container: score.label(), memory: "the level's memory" };
        assert_eq!(score.get(), Err(expired.clone()));
        assert_eq!(score.get_mut(), Err(expired.clone()));
        assert!(expired.to_string().starts_with("A0013: `score` (u32 made at "));
        assert_eq!(format!("{score:?}"), "Guarded(expired with the level's memory)");
        assert!(values.as_slice().unwrap_err().to_string().starts_with("A0013: "));
        assert!(values.as_mut_slice().unwrap_err().to_string().starts_with("A0013: "));

        let refused = |done: Result<(), ScheduleError>| {
            let error = done.unwrap_err();
            assert!(matches!(error, ScheduleError::Expired { .. }), "{error}");
            assert!(error.to_string().starts_with("A0013: job `"));
        };
        refused(jobs.schedule(&[], score.read(), |_| {}).map(drop));
        refused(jobs.schedule(&[], score.write(), |_| {}).map(drop));
        refused(jobs.schedule(&[], values.write(), |_| {}).map(drop));
        refused(jobs.schedule_for_each(&[], values.write(), 10, 1, |_, _| {}).map(drop));
        refused(
            jobs.named("Deferred")
                .schedule_deferred(&[], values.read(), |_| 1, 1, |_, _| {})
                .map(drop),
        );
        refused(jobs.run(score.write(), |_| {}));
        refused(jobs.run_parallel(values.read(), 10, 1, |_, _| {}));
        refused(jobs.run((score.read(), values.read()), |_| {}));
        let kept = score.dispose_after(&jobs, &[]).unwrap_err();
        assert!(kept.to_string().starts_with("A0013: "));
        assert!(kept.container.into_inner().unwrap_err().to_string().starts_with("A0013: "));
        assert_eq!(values.len(), 10, "which is known all the same");
        assert!(values.into_vec().unwrap_err().to_string().starts_with("A0013: "));
    }
}

#[test]
fn a_container_is_refused_along_a_chain_as_well() {
    let jobs = scheduler(0);
    let epoch = Epoch::new("scratch");
    let mut score = Guarded::new(0, label()).stamped(epoch.stamp());
    let first = jobs.schedule(&[], score.write(), |score| *score += 1).unwrap();
    let second = jobs.schedule(&[first], score.write(), |score| *score += 1).unwrap();
    epoch.advance();
    let third = jobs.schedule(&[second], score.write(), |score| *score += 1);
    assert!(matches!(third, Err(ScheduleError::Expired { memory: "scratch", .. })));
    jobs.complete(second);
}

#[test]
fn jobs_that_hold_a_container_when_its_epoch_ends_continue() {
    for jobs in schedulers() {
        let epoch = Epoch::new("scratch");
        let mut seen = JobCell::new(0);
        let mut values = JobSlice::new(100, 0).stamped(epoch.stamp());
        let fill = jobs.schedule_for_each(&[], values.write(), 100, 3, |value, i| *value = i);
        let data = (values.read(), seen.write());
        let sum = jobs.schedule(&[fill.unwrap()], data, |(values, seen)| {
            *seen = values.iter().sum();
        });
        jobs.flush();
        epoch.advance();
        drop(values);
        jobs.complete(sum.unwrap());
        assert_eq!(seen.get(), Ok(&4950));
    }
}

#[test]
fn a_container_that_is_stamped_again_follows_the_later_stamp() {
    let (first, second) = (Epoch::new("first"), Epoch::new("second"));
    let value = Guarded::new(5, label()).stamped(first.stamp());
    first.advance();
    let value = value.stamped(second.stamp());
    assert_eq!(value.get(), Ok(&5));
    second.advance();
    assert!(matches!(value.get(), Err(AccessError::Expired { memory: "second", .. })));
}

#[test]
fn stamps_and_labels_stay_while_a_job_holds_the_container() {
    let jobs = scheduler(0);
    let epoch = Epoch::new("scratch");
    let stamp = epoch.stamp();
    epoch.advance();
    let mut value = Guarded::new(5, label());
    let job = jobs.schedule(&[], value.write(), |value| *value += 1).unwrap();
    let value = value.stamped(stamp.clone()).relabelled(label().named("other"));
    assert_eq!(value.label(), label());
    assert!(matches!(value.get(), Err(AccessError::InUse { .. })));
    jobs.complete(job);
    assert_eq!(value.get(), Ok(&6));
    let value = value.relabelled(label().named("other")).stamped(stamp);
    assert_eq!(value.label(), label().named("other"));
    value.get().unwrap_err();

    // A `Held` that was kept outside a job counts as a job.
    let value = Guarded::new(5, label());
    let held = value.hold();
    let value = value.relabelled(label().named("other"));
    assert_eq!((value.label(), held.label()), (label(), label()));
}

#[test]
fn an_epoch_may_advance_on_another_thread() {
    let epoch = Arc::new(Epoch::new("scratch"));
    let value = Guarded::new(5, label()).stamped(epoch.stamp());
    let elsewhere = Arc::clone(&epoch);
    thread::spawn(move || elsewhere.advance()).join().unwrap();
    value.get().unwrap_err();
    thread::spawn(move || value.get().unwrap_err()).join().unwrap();
}
