//! One value that jobs share.

use std::sync::Arc;

use ancho_collections::{Allocator, NativeReference, Reference};
use ancho_jobs::{JobPool, JobScheduler};

#[test]
fn a_reference_is_used_as_its_value() {
    let mut name = Reference::new(String::from("Ada"));
    name.push_str(" Lovelace");
    assert_eq!(name.len(), 12);
    name.set("Grace".to_owned());
    assert_eq!(name, Reference::from("Grace".to_owned()));
    assert_eq!(name.into_inner(), "Grace");
    assert_eq!(Reference::new(5).get(), 5);
}

#[test]
fn a_job_writes_its_result_to_a_reference() {
    let jobs = JobScheduler::new(&JobPool::new());
    let mut sum = NativeReference::new_in(0_u64, &Allocator::PERSISTENT).named("sum");
    assert!(sum.label().to_string().starts_with("`sum` (NativeReference<u64> made at "));
    let first = jobs.schedule(&[], sum.write(), |sum| **sum += 5).unwrap();
    let second = jobs.schedule(&[first], sum.write(), |sum| sum.set(sum.get() * 2)).unwrap();
    assert!(sum.get().is_err(), "the job was not completed");
    jobs.complete(second);
    assert_eq!(**sum.get().unwrap(), 10);
    sum.get_mut().unwrap().set(3);
    assert_eq!(sum.into_inner().unwrap().get(), 3);
}

#[test]
fn the_value_is_dropped_with_the_last_job_that_uses_it() {
    let jobs = JobScheduler::new(&JobPool::new());
    let shared = Arc::new(());
    let reference = NativeReference::new(Arc::clone(&shared));
    let job = jobs.schedule(&[], reference.read(), |value| drop(Arc::clone(value))).unwrap();
    drop(reference);
    jobs.complete(job);
    drop(jobs);
    assert_eq!(Arc::strong_count(&shared), 1);
    assert_eq!(**NativeReference::<u32>::default().get().unwrap(), 0);
}
