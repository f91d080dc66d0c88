//! What jobs over entities and the thread of the world use at the same time: never the same thing, unless both read it.
#![cfg(feature = "derive")]
#![forbid(unsafe_code)]

#[expect(dead_code, unused_imports, reason = "other tests need more of it")]
#[path = "queries/common.rs"]
mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use ancho_entities::{
    Changed, EnabledMut, Entity, Lookup, PerChunk, Query, QueryArray, TrackedMut, With, World,
    WorldSettings,
};
use ancho_jobs::{JobPool, ParallelJobData};

use common::*;

/// A world whose jobs so many threads do, beside the one that has it. Without any, they run when they are completed, and not
/// before.
fn world_with(workers: usize) -> Checked {
    let pool = JobPool::builder().workers(workers).build().unwrap();
    let settings = WorldSettings::new().chunk_capacity_limit(100).job_pool(&pool);
    Checked(World::with_settings("Simulation", settings))
}

/// A number that a job leaves.
#[derive(Clone, Default)]
struct Left(Arc<AtomicU32>);

impl Left {
    fn add(&self, number: u32) {
        self.0.fetch_add(number, Ordering::Relaxed);
    }

    fn get(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Values of chunks have no bytes in a column, and are used all the same.
#[test]
fn the_value_of_a_chunk_is_not_set_while_a_job_reads_it() {
    for workers in [0, 2] {
        let mut world = world_with(workers);
        let entity = world.spawn((A(1), PerChunk::<B>::new()));
        world.set_chunk_component(entity, B(1)).unwrap();
        let sum = Left::default();
        let left = sum.clone();
        let job = world
            .query::<(&PerChunk<B>, &A)>()
            .schedule(move |(chunk, a)| left.add(chunk.0 as u32 + a.0))
            .unwrap();
        world.entities().jobs().flush();
        world.set_chunk_component(entity, B(100)).unwrap();
        world.entities().jobs().complete(job);
        assert_eq!(sum.get(), 2, "{workers} workers");
    }
}

/// The query has only to ask for the component: it need not give it to be changed.
#[test]
fn values_are_not_copied_from_a_slice_while_a_job_reads_them() {
    for (workers, forked) in [(0, false), (2, false), (0, true), (2, true)] {
        let mut world = world_with(workers);
        world.spawn_batch((0..1000).map(|_| (A(1), B(1))));
        let fork = forked.then(|| world.fork().unwrap());
        let (read, filtered) = (Left::default(), Left::default());
        for (sum, by_filter) in [(&read, false), (&filtered, true)] {
            let left = sum.clone();
            let job = world.query::<&A>().schedule_parallel(move |a| left.add(a.0)).unwrap();
            world.entities().jobs().flush();
            let values = [A(3); 1000];
            if by_filter {
                world.query_mut::<&B>().filter::<With<A>>().copy_from(&values).unwrap();
            } else {
                world.query_mut::<&A>().copy_from(&values).unwrap();
            }
            world.entities().jobs().complete(job);
        }
        assert_eq!((read.get(), filtered.get()), (1000, 3000), "{workers} workers");
        drop(fork);
    }
}

/// Anybody can ask a batch for an element, with any number.
#[test]
fn a_batch_gives_no_entity_of_another_batch() {
    type Array<'a> = QueryArray<'a, &'static mut A>;

    for workers in [0, 2] {
        let mut world = world_with(workers);
        world.spawn_batch((0..1000).map(A));
        let array = world.query_mut::<&mut A>().into_array().unwrap();
        let given = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&given);
        let jobs = array.jobs();
        let job = jobs
            .schedule_parallel(&[], array, 1000, 10, move |mut batch, range| {
                // In debug builds this is refused, too. Elsewhere it must not be given.
                for offset in 0..range.len() + 1 {
                    Array::item(&mut batch, offset).0 += 1;
                    counted.fetch_add(1, Ordering::Relaxed);
                }
            })
            .unwrap();
        let failed = jobs.try_complete(job).unwrap_err();
        assert!(failed.message().starts_with("A0077"), "{failed}");
        assert_eq!(given.load(Ordering::Relaxed), 1000);
        let is_once = |(a, expected): (&A, u32)| a.0 == expected;
        assert!(world.query::<&A>().iter().zip(1..).all(is_once));
    }
}

/// Views tell entities apart by what they give. They may ask whether the same component is on, or has changed, in turns: a job of
/// one of them does not take turns, unless it is done at once.
#[test]
fn a_job_of_a_view_takes_turns_with_views_that_meet_it() {
    for workers in [0, 2] {
        let mut world = world_with(workers);
        world.spawn_batch((0..1000).map(|at| (A(at), B(1), X(1), T(1))));
        // Rows are found by what the job switches.
        let (switches, found, flush) =
            world.split::<(Query<EnabledMut<X>>, Query<&A, With<X>>, Query<&B>)>();
        let mut first = found.iter();
        assert_eq!(first.next(), Some(&A(0)));
        let _job = switches.job().schedule_parallel(|mut x| x.set(false)).unwrap();
        flush.into_array().unwrap().jobs().flush();
        // As in a loop on this thread: what was entered is gone on with.
        assert_eq!(first.count(), 99, "{workers} workers");
        // Rows are switched that a job finds.
        let (mut switches, found, flush) =
            world.split::<(Query<EnabledMut<X>>, Query<&mut A, With<X>>, Query<&B>)>();
        let mut all: Vec<_> = switches.iter_mut().collect();
        all.iter_mut().for_each(|x| x.set(true));
        let _job = found.job().schedule_parallel(|a| a.0 = 7).unwrap();
        flush.into_array().unwrap().jobs().flush();
        all.iter_mut().for_each(|x| x.set(false));
        world.query_mut::<EnabledMut<X>>().for_each(|mut x| x.set(true));
        assert!(world.query::<&A>().iter().all(|a| a.0 == 7));
        // Chunks are found by what the job changes.
        let since = world.entities().version();
        world.entities_mut().advance_version();
        let changed = Query::<&B, Changed<A>>::new().since(since);
        let parts = (Query::<&mut A>::new(), changed, Query::<&B>::new());
        let (writes, found, flush) = world.split_with(parts);
        let mut first = found.iter();
        assert!(first.next().is_none());
        let mut first = found.iter();
        let _job = writes.job().schedule_parallel(|a| a.0 = 8).unwrap();
        flush.into_array().unwrap().jobs().flush();
        assert!(first.next().is_some());
        // Rows are noted as changed that a job finds.
        let since = world.entities().version();
        world.entities_mut().advance_version();
        let changed = Query::<&mut A, Changed<T>>::new().since(since);
        let parts = (Query::<TrackedMut<T>>::new(), changed, Query::<&B>::new());
        let (mut writes, found, flush) = world.split_with(parts);
        let mut all: Vec<_> = writes.iter_mut().collect();
        all.iter_mut().for_each(|t| t.0 = 2);
        let _job = found.job().schedule_parallel(|a| a.0 = 9).unwrap();
        flush.into_array().unwrap().jobs().flush();
        all.iter_mut().for_each(|t| t.0 = 3);
        assert!(world.query::<&A>().iter().all(|a| a.0 == 9));
        // The same, of lookups.
        let entities = world.query::<&A>().to_entities();
        let (mut switches, found, flush) =
            world.split::<(Lookup<EnabledMut<X>>, Query<&mut A, With<X>>, Query<&B>)>();
        let mut last = switches.get_mut(entities[999]).unwrap();
        let _job = found.job().schedule_parallel(|a| a.0 = 10).unwrap();
        flush.into_array().unwrap().jobs().flush();
        last.set(false);
        world.query_mut::<EnabledMut<X>>().for_each(|mut x| x.set(true));
        assert!(world.query::<&A>().iter().all(|a| a.0 == 10));
    }
}

/// To open the slot of an entity copies its page, if a fork has it too, also if the entity turns out to be gone.
#[test]
fn a_lookup_of_a_job_sees_pages_that_stay() {
    type Act = fn(&mut World, Entity);
    let despawn: Act = |world, gone| assert!(!world.despawn(gone).unwrap());
    let add: Act = |world, gone| assert!(world.add(gone, B(1)).is_err());
    let remove: Act = |world, gone| assert!(!world.remove::<B>(gone).unwrap());
    for workers in [0, 2] {
        for act in [despawn, add, remove] {
            let mut world = world_with(workers);
            world.spawn(T(1));
            let gone = world.spawn(A(1));
            world.despawn(gone).unwrap();
            let all: Vec<_> = world.spawn_batch((0..1000).map(|_| A(1))).collect();
            assert_eq!(all[0].index(), gone.index());
            let fork = world.fork().unwrap();
            let sum = Left::default();
            let left = sum.clone();
            let (once, values) = world.split::<(Query<&T>, Lookup<&A>)>();
            let job = once.job().with(values.into_job()).schedule(move |_, values| {
                for &entity in &all {
                    left.add(values.get(entity).map_or(0, |a| a.0));
                }
            });
            if workers > 0 {
                world.entities().jobs().flush();
            }
            act(&mut world, gone);
            drop(fork);
            // What the fork has left is used again.
            let mut other = World::new("Other");
            other.spawn_many(5000, B(7));
            world.entities().jobs().complete(job.unwrap());
            assert_eq!(sum.get(), 1000, "{workers} workers");
        }
    }
}
