//! Query results as arrays, indexed by ordinary jobs.

use std::sync::{Arc, Mutex};

use ancho_entities::{
    Buffer, Changed, EnabledMut, Entity, IgnoreEnabled, Lookup, Query, QueryArray, Shared, With,
};
use ancho_jobs::{ParallelFor, ParallelForBatch, ParallelJobStruct};

use crate::jobs::common::*;

/// Creates entities of several archetypes and many chunks.
fn crowd_of(workers: usize) -> Checked {
    let mut world = world_of(workers, 30);
    world.spawn_batch((0..100).map(|at| (A(at), B(u64::from(at)))));
    world.spawn_batch((100..250).map(|at| (A(at), B(u64::from(at)), Tag)));
    world.spawn_batch((250..300).map(|at| (A(at), B(u64::from(at)), Shared::new(Team(at % 2)))));
    world.spawn_many(A(9999), 40);
    world
}

#[derive(ParallelJobStruct)]
struct Step<'a> {
    all: QueryArray<'a, (&'static mut A, &'static B, Entity)>,
    indices: Arc<Mutex<Vec<(usize, Entity)>>>,
}

impl ParallelFor for Step<'_> {
    fn execute(job: StepItem<'_>, index: usize) {
        let (a, b, entity) = job.all;
        assert_eq!(u64::from(a.0), b.0);
        a.0 = index as u32;
        job.indices.lock().unwrap().push((index, entity));
    }
}

#[test]
fn arrays_are_in_step_and_in_the_order_of_the_query() {
    for workers in WORKERS {
        for batch in [1, 7, 64, 1000] {
            let mut world = crowd_of(workers);
            let expected = world.query::<(&A, &B)>().to_entities();
            let indices = Arc::new(Mutex::new(Vec::new()));
            let all = world.query_mut::<(&mut A, &B, Entity)>().job().into_array();
            assert_eq!((all.len(), all.is_empty()), (300, false));
            let (jobs, indices_of) = (all.jobs(), indices.clone());
            let step = Step { all, indices: indices_of };
            let _ = jobs.schedule_parallel_for(&[], step, 300, batch).unwrap();
            let values: Vec<_> = world.query::<(&A, &B)>().iter().map(|(a, _)| a.0).collect();
            assert!(values.into_iter().eq(0..300));
            let mut indices = indices.lock().unwrap().clone();
            indices.sort_unstable_by_key(|&(index, _)| index);
            assert!(indices.into_iter().eq(expected.into_iter().enumerate()));
            assert_eq!(world.query::<&A>().iter().filter(|a| a.0 == 9999).count(), 40);
        }
    }
}

#[derive(ParallelJobStruct)]
struct Neighbours<'a> {
    own: QueryArray<'a, &'static mut B>,
    all: QueryArray<'a, &'static A>,
}

impl ParallelForBatch for Neighbours<'_> {
    fn execute(mut job: NeighboursBatch<'_>, range: std::ops::Range<usize>) {
        assert_eq!(job.own.range(), range);
        assert_eq!((job.all.len(), job.own.len()), (340, 300));
        for index in range {
            // Items are read in any order, and two are kept at the same time.
            let (left, right) = (job.all.get(339 - index), job.all.get((index + 1) % 300));
            job.own.get_mut(index).0 = u64::from(left.0) * 10_000 + u64::from(right.0);
        }
    }
}

#[test]
fn arrays_that_only_read_are_read_anywhere() {
    for workers in WORKERS {
        let mut world = crowd_of(workers);
        let values: Vec<u64> = world.query::<&A>().iter().map(|a| a.0.into()).collect();
        let (own, all) = world.split::<(Query<&mut B>, Query<&A>)>();
        let (own, all) = (own.job().into_array(), all.job().into_array());
        let jobs = own.jobs();
        let job = jobs.schedule_parallel_for_batch(&[], Neighbours { own, all }, 300, 16).unwrap();
        world.jobs().complete(job);
        for (index, b) in world.query::<&B>().iter().enumerate() {
            assert_eq!(b.0, values[339 - index] * 10_000 + values[(index + 1) % 300]);
        }
    }
}

#[test]
fn an_index_beyond_the_end_is_refused() {
    let world = crowd_of(2);
    let all = world.query::<&A>().job().into_array();
    let jobs = all.jobs();
    let job = jobs.named("Beyond").schedule(&[], all, |mut all| _ = all.get(340)).unwrap();
    let failed = world.jobs().try_complete(job).unwrap_err().to_string();
    assert_eq!(
        failed,
        format!(
            "A0011: job `Beyond` panicked: A0077: index 340 is out of bounds for an array of 340 entities of `&{}`; \
             use a smaller index",
            std::any::type_name::<A>()
        )
    );
}

#[derive(ParallelJobStruct)]
struct Stray<'a> {
    all: QueryArray<'a, &'static mut A>,
    to: usize,
}

impl ParallelForBatch for Stray<'_> {
    fn execute(mut job: StrayBatch<'_>, range: std::ops::Range<usize>) {
        if range.start == 32 {
            job.all.get_mut(*job.to).0 = 0;
        }
    }
}

#[test]
fn an_index_of_another_batch_is_refused() {
    for to in [0, 31, 48, 339] {
        let mut world = crowd_of(2);
        let before = world.state_hash();
        let all = world.query_mut::<&mut A>().job().into_array();
        let jobs = all.jobs().named("Stray");
        let job = jobs.schedule_parallel_for_batch(&[], Stray { all, to }, 340, 16).unwrap();
        let failed = world.jobs().try_complete(job).unwrap_err().to_string();
        assert_eq!(
            failed,
            format!(
                "A0011: job `Stray` panicked: A0077: index {to} is outside the range 32 to 47 of this batch of a \
                 parallel job, in an array of `&mut {}`; write only elements in the range, or use a read-only array",
                std::any::type_name::<A>()
            )
        );
        assert_eq!(world.state_hash(), before);
    }
}

#[test]
fn an_array_of_nothing_has_no_index() {
    let mut world = world_with(1);
    let all = world.query_mut::<&mut A>().job().into_array();
    assert!(all.is_empty());
    let jobs = all.jobs();
    let job = jobs.named("Nothing").schedule(&[], all, |mut all| all.get_mut(0).0 = 1).unwrap();
    let failed = world.jobs().try_complete(job).unwrap_err();
    let expected = "A0077: index 0 is out of bounds for an array of 0 entities of `&mut ";
    assert!(failed.message().starts_with(expected), "{failed}");
    let all = world.query::<&A>().job().into_array();
    let jobs = all.jobs();
    let job = jobs.schedule_for_each(&[], all, 0, 8, |_, _| panic!("there is none")).unwrap();
    world.jobs().complete(job);
}

#[test]
fn queries_without_a_known_count_are_refused() {
    let mut world = crowd_of(1);
    world.spawn((A(1), X(1)));
    let refused = [
        panic_message(|| _ = world.query::<&X>().job().into_array()),
        panic_message(|| _ = world.query_filtered::<&A, With<X>>().job().into_array()),
        panic_message(|| _ = world.query_filtered::<&A, Changed<B>>().job().into_array()),
        panic_message(|| _ = world.query_mut::<EnabledMut<X>>().job().into_array()),
    ];
    for message in refused {
        let start = "A0076: the entities of the query `";
        assert!(message.starts_with(start) && message.contains("`IgnoreEnabled`"), "{message}");
    }
    assert_eq!(world.query_filtered::<&X, IgnoreEnabled>().job().into_array().len(), 1);
}

#[test]
fn more_indices_than_entities_are_refused() {
    let mut world = crowd_of(1);
    let all = world.query_mut::<&mut A>().job().into_array();
    let jobs = all.jobs().named("Many");
    let refused = jobs.schedule_parallel_for_batch(&[], Stray { all, to: 0 }, 341, 16).unwrap_err();
    let message = refused.to_string();
    assert!(
        message.starts_with("A0010: job `Many` has 341 indices, but the QueryArray<"),
        "{message}"
    );
    assert!(message.ends_with(" has 340 elements; pass a smaller count"), "{message}");
    assert_eq!(world.jobs().uncompleted(), 0);
    // Fewer elements are allowed.
    let all = world.query_mut::<&mut A>().job().into_array();
    let job = all.jobs().schedule_for_each(&[], all, 40, 16, |a, _| a.0 = 1).unwrap();
    world.jobs().complete(job);
    assert_eq!(world.query::<&A>().iter().take(40).filter(|a| a.0 == 1).count(), 40);
    assert_eq!(world.query::<&A>().iter().filter(|a| a.0 == 1).count(), 40);
}

#[test]
fn jobs_of_arrays_are_ordered_by_their_data() {
    let mut world = crowd_of(3);
    let gate = Gate::default();
    let stand = gate.stand();
    let all = world.query_mut::<&mut A>().job().into_array();
    let jobs = all.jobs();
    let job = jobs.schedule(&[], all, move |mut all| {
        stand();
        (0..all.len()).for_each(|index| all.get_mut(index).0 = 5);
    });
    let _ = job.unwrap();
    gate.await_job(&world);
    gate.beside("B", || assert_eq!(world.query::<&B>().iter().count(), 300));
    gate.beside("spawn", || _ = world.spawn(T(1)));
    let sum = Arc::new(Mutex::new(0));
    let all = world.query::<&A>().job().into_array();
    let (count, kept) = (all.len(), Arc::clone(&sum));
    let read =
        all.jobs().schedule_for_each(&[], all, count, 50, move |a, _| *kept.lock().unwrap() += a.0);
    gate.after("A", || assert!(world.query::<&A>().iter().all(|a| a.0 == 5)));
    world.jobs().complete(read.unwrap());
    assert_eq!(*sum.lock().unwrap(), 340 * 5);
    // Structural changes of the array's archetypes wait for the job.
    let gate = Gate::default();
    let stand = gate.stand();
    let all = world.query::<&A>().job().into_array();
    let _ = all.jobs().schedule(&[], all, move |_| stand()).unwrap();
    gate.await_job(&world);
    gate.after("spawn", || _ = world.spawn(A(1)));
}

#[test]
fn arrays_of_buffers_and_shared_values() {
    let mut world = world_of(2, 10);
    world.spawn_batch((0..50).map(|at| (Buffer::<Item>::new(), Shared::new(Team(at % 3)))));
    let all = world.query_mut::<(&mut Buffer<Item>, &Shared<Team>)>().job().into_array();
    let job = all.jobs().schedule_for_each(&[], all, 50, 4, |(mut items, team), index| {
        (0..=team.0).for_each(|_| items.push(Item(index as u32)));
    });
    world.jobs().complete(job.unwrap());
    for (index, (items, team)) in world.query::<(&Buffer<Item>, &Shared<Team>)>().iter().enumerate()
    {
        assert_eq!(items.len() as u32, team.0 + 1);
        assert!(items.iter().all(|item| item.0 == index as u32));
    }
}

#[test]
fn arrays_and_lookups_go_together() {
    let mut world = crowd_of(2);
    let goals = world.query::<&B>().to_entities();
    let (all, lookup) = world.split::<(Query<&mut A>, Lookup<&B>)>();
    let all = all.job().into_array();
    let (jobs, count) = (all.jobs(), all.len());
    let job =
        jobs.schedule_for_each(&[], (all, lookup.into_job()), count, 9, move |(a, b), index| {
            a.0 = goals.get(index).map_or(7, |&goal| b.get(goal).unwrap().0 as u32 + 1);
        });
    world.jobs().complete(job.unwrap());
    assert!(world.query::<(&A, &B)>().iter().all(|(a, b)| u64::from(a.0) == b.0 + 1));
    assert_eq!(world.query::<&A>().iter().filter(|a| a.0 == 7).count(), 41);
}
