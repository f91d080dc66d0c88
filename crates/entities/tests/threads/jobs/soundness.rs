//! Data that jobs and the world's thread use at the same time: never the same, unless both read it.
#![forbid(unsafe_code)]

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use ancho_entities::{
    Buffer, Changed, ChunkInJob, ChunkJob, EnabledMut, EnabledRef, Entity, IgnoreEnabled, Lookup,
    PerChunk, Query, QueryArray, QueryDescriptor, Shared, TrackedMut, Version, With, World,
    WorldSettings,
};
use ancho_jobs::{JobPool, ParallelJobData, ParallelJobStruct};

use crate::common::*;

/// Creates a world with this number of worker threads. Without workers, jobs run only when they are completed.
fn world_with(workers: usize) -> Checked {
    let pool = JobPool::builder().workers(workers).build().unwrap();
    let settings = WorldSettings::new().chunk_capacity_limit(100).job_pool(&pool);
    Checked(World::with_settings("Simulation", settings))
}

/// A number that a job stores.
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

/// Chunk components are not in a column, but count as access.
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
            .schedule(move |(chunk, a)| left.add(chunk.0 as u32 + a.0));
        world.jobs().flush();
        world.set_chunk_component(entity, B(100)).unwrap();
        world.jobs().complete(job);
        assert_eq!(sum.get(), 2, "{workers} workers");
    }
}

/// The query may fetch only the component, or more.
#[test]
fn values_are_not_copied_from_a_slice_while_a_job_reads_them() {
    for (workers, forked) in [(0, false), (2, false), (0, true), (2, true)] {
        let mut world = world_with(workers);
        world.spawn_batch((0..1000).map(|_| (A(1), B(1))));
        let fork = forked.then(|| world.fork().unwrap());
        let (read, both) = (Left::default(), Left::default());
        for (sum, with_another) in [(&read, false), (&both, true)] {
            let left = sum.clone();
            let job = world.query::<&A>().schedule_parallel(move |a| left.add(a.0));
            world.jobs().flush();
            let values = [A(3); 1000];
            if with_another {
                world.query_mut::<(&B, &mut A)>().copy_from(&values).unwrap();
            } else {
                world.query_mut::<&mut A>().copy_from(&values).unwrap();
            }
            world.jobs().complete(job);
        }
        assert_eq!((read.get(), both.get()), (1000, 3000), "{workers} workers");
        drop(fork);
    }
}

/// Safe code can read any element index of a batch.
#[test]
fn a_batch_cannot_access_entities_of_another_batch() {
    type Array<'a> = QueryArray<'a, &'static mut A>;

    for workers in [0, 2] {
        let mut world = world_with(workers);
        world.spawn_batch((0..1000).map(A));
        let array = world.query_mut::<&mut A>().job().into_array();
        let given = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&given);
        let jobs = array.jobs();
        let job = jobs
            .schedule_parallel(&[], array, 1000, 10, move |mut batch, range| {
                // Debug builds panic, too. Other builds must not return an element.
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

/// Views are checked for disjoint values only. They may share enabled state and change versions in turns. A job cannot
/// take turns, so it runs immediately.
#[test]
fn a_job_of_a_view_takes_turns_with_views_that_meet_it() {
    for workers in [0, 2] {
        let mut world = world_with(workers);
        world.spawn_batch((0..1000).map(|at| (A(at), B(1), X(1), T(1))));
        // Rows match by the bits that the job writes.
        let (switches, found, flush) =
            world.split::<(Query<EnabledMut<X>>, Query<&A, With<X>>, Query<&B>)>();
        let mut first = found.iter();
        assert_eq!(first.next(), Some(&A(0)));
        let _job = switches.job().schedule_parallel(|mut x| x.set(false));
        flush.job().into_array().jobs().flush();
        // As in a loop on this thread: a chunk that was entered is finished.
        assert_eq!(first.count(), 99, "{workers} workers");
        // The world's thread writes the bits that a job filters by.
        let (mut switches, found, flush) =
            world.split::<(Query<EnabledMut<X>>, Query<&mut A, With<X>>, Query<&B>)>();
        let mut all: Vec<_> = switches.iter_mut().collect();
        all.iter_mut().for_each(|x| x.set(true));
        let _job = found.job().schedule_parallel(|a| a.0 = 7);
        flush.job().into_array().jobs().flush();
        all.iter_mut().for_each(|x| x.set(false));
        world.query_mut::<EnabledMut<X>>().for_each(|mut x| x.set(true));
        assert!(world.query::<&A>().iter().all(|a| a.0 == 7));
        // Chunks match by the versions that the job writes.
        let since = world.version();
        world.advance_version();
        type Parts<'w> =
            (Query<'w, &'static mut A>, Query<'w, &'static B, Changed<A>>, Query<'w, &'static B>);
        let (writes, found, flush) = world.split::<Parts>();
        let found = found.since(since);
        let mut first = found.iter();
        assert!(first.next().is_none());
        let mut first = found.iter();
        let _job = writes.job().schedule_parallel(|a| a.0 = 8);
        flush.job().into_array().jobs().flush();
        assert!(first.next().is_some());
        // The world's thread marks rows that a job filters by.
        let since = world.version();
        world.advance_version();
        type TrackedParts<'w> = (
            Query<'w, TrackedMut<'static, T>>,
            Query<'w, &'static mut A, Changed<T>>,
            Query<'w, &'static B>,
        );
        let (mut writes, found, flush) = world.split::<TrackedParts>();
        let found = found.since(since);
        let mut all: Vec<_> = writes.iter_mut().collect();
        all.iter_mut().for_each(|t| t.0 = 2);
        let _job = found.job().schedule_parallel(|a| a.0 = 9);
        flush.job().into_array().jobs().flush();
        all.iter_mut().for_each(|t| t.0 = 3);
        assert!(world.query::<&A>().iter().all(|a| a.0 == 9));
        // The same for lookups.
        let entities = world.query::<&A>().to_entities();
        let (mut switches, found, flush) =
            world.split::<(Lookup<EnabledMut<X>>, Query<&mut A, With<X>>, Query<&B>)>();
        let mut last = switches.get_mut(entities[999]).unwrap();
        let _job = found.job().schedule_parallel(|a| a.0 = 10);
        flush.job().into_array().jobs().flush();
        last.set(false);
        world.query_mut::<EnabledMut<X>>().for_each(|mut x| x.set(true));
        assert!(world.query::<&A>().iter().all(|a| a.0 == 10));
    }
}

/// Counts the chunks that have changed since a version.
#[derive(ParallelJobStruct)]
struct CountChanged {
    since: Version,
    count: Left,
}

impl ChunkJob for CountChanged {
    type Query = &'static X;

    fn execute(job: &mut CountChangedBatch<'_>, chunk: ChunkInJob<'_, &'static X>) {
        job.count.add(u32::from(chunk.did_change::<X>(*job.since)));
    }
}

/// A view that writes enabled bits marks the chunks that it enters, also if the job does not depend on the bits.
#[test]
fn a_chunk_job_reads_versions_before_a_view_marks_further_chunks() {
    for workers in [0, 2] {
        let mut world = world_with(workers);
        world.spawn_batch((0..300).map(X));
        let since = world.version();
        world.advance_version();
        let (mut switches, found) =
            world.split::<(Query<EnabledMut<X>>, Query<&X, IgnoreEnabled>)>();
        let mut all = switches.iter_mut();
        all.next().unwrap().set(false);
        let count = Left::default();
        let job = CountChanged { since, count: count.clone() };
        let job = found.job().schedule_chunk_job_parallel(job);
        all.for_each(|mut x| x.set(false));
        world.jobs().complete(job);
        assert_eq!(count.get(), 1, "{workers} workers");
    }
}

/// The items of a leaked world are `'static`. A function of the job that runs on the world's thread can use them through a
/// thread-local variable, so no other thread may run a part of the job meanwhile.
#[test]
fn a_job_uses_one_thread_if_it_meets_a_view_of_a_split() {
    let mut world = world_with(2);
    world.spawn_batch((0..1000).map(|at| (A(at), B(1), X(1))));
    let threads = Arc::new(Mutex::new(HashSet::new()));
    let seen = Arc::clone(&threads);
    let note = move || {
        seen.lock().unwrap().insert(thread::current().id());
        thread::sleep(Duration::from_micros(20));
    };
    let with_lookup = note.clone();
    let (mut switches, mut found) = world.split::<(Query<EnabledMut<X>>, Query<&mut A, With<X>>)>();
    let mut first = switches.iter_mut();
    first.next().unwrap().set(true);
    found.schedule_parallel(move |_| note());
    assert_eq!(threads.lock().unwrap().drain().count(), 1);
    first.for_each(|mut x| x.set(true));
    let (mut marks, found, versions) =
        world.split::<(Query<EnabledMut<X>>, Query<&mut A>, Lookup<&X>)>();
    let mut first = marks.iter_mut();
    first.next().unwrap().set(true);
    found.job().with(versions.into_job()).schedule_parallel(move |_, _| with_lookup());
    assert_eq!(threads.lock().unwrap().drain().count(), 1);
    first.for_each(|mut x| x.set(true));
}

/// Accessing an entity's slot for writing copies its page if a fork shares it, even if the entity is dead.
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
                world.jobs().flush();
            }
            act(&mut world, gone);
            drop(fork);
            // The fork's freed memory is reused.
            let mut other = World::new("Other");
            other.spawn_many(B(7), 5000);
            world.jobs().complete(job);
            assert_eq!(sum.get(), 1000, "{workers} workers");
        }
    }
}

/// After a fork, memory may be shared. Mostly it is not.
#[test]
fn writing_to_unshared_memory_does_not_wait_for_readers_of_other_data() {
    let mut world = world_with(0);
    world.spawn_many((A(1), B(1)), 1000);
    let fork = world.fork().unwrap();
    world.query_mut::<&mut A>().for_each(|a| a.0 += 1);
    drop(fork);
    let job = world.query::<&B>().schedule_parallel(|_| {});
    world.query_mut::<&mut A>().for_each(|a| a.0 += 1);
    world.query_mut::<&mut A>().copy_from(&[A(7); 1000]).unwrap();
    let (mut writes,) = world.split::<(Query<&mut A>,)>();
    writes.for_each(|a| a.0 += 1);
    let other = world.query_mut::<&mut A>().schedule_parallel(|a| a.0 += 1);
    assert_eq!(world.jobs().uncompleted(), 2);
    let _ = (job, other);
}

/// The job cannot wait for itself, so the data of other jobs has to stay.
#[test]
fn jobs_go_on_when_one_of_them_drops_their_world() {
    let pool = JobPool::builder().workers(2).build().unwrap();
    let mut world = World::with_settings("Simulation", WorldSettings::new().job_pool(&pool));
    world.spawn_batch((0..1000).map(|at| (A(at), B(1), Text("some".to_owned()))));
    world.spawn(Tag);
    let slot = Arc::new(Mutex::new(None));
    let (is_dropped, sum) = (Arc::new(AtomicBool::new(false)), Left::default());
    let (seen, left) = (Arc::clone(&is_dropped), sum.clone());
    let _writes = world.query_mut::<(&mut A, &Text)>().schedule(move |(a, text)| {
        while !seen.load(Ordering::Acquire) {
            thread::yield_now();
        }
        a.0 = text.0.len() as u32;
        left.add(1);
    });
    let (theirs, dropped) = (Arc::clone(&slot), Arc::clone(&is_dropped));
    let job = world.query_filtered::<Entity, With<Tag>>().schedule(move |_| {
        loop {
            if let Some(world) = theirs.lock().unwrap().take() {
                return drop::<World>(world);
            }
            thread::yield_now();
        }
    });
    let _job = job;
    world.jobs().flush();
    *slot.lock().unwrap() = Some(world);
    while Arc::strong_count(&slot) > 1 {
        thread::yield_now();
    }
    dropped.store(true, Ordering::Release);
    while sum.get() < 1000 {
        thread::yield_now();
    }
}

/// Unordered numbers, the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        ((self.0 >> 33) % u64::from(end)) as u32
    }
}

/// Schedules one of many jobs, which store a number if they only read.
fn schedule_some(world: &mut World, numbers: &mut Numbers, left: &Left) {
    let left = left.clone();
    let since = world.version();
    let since = Version::from_number(since.number().saturating_sub(numbers.below(3)).max(1));
    let scheduled = match numbers.below(18) {
        0 => world.query_mut::<&mut A>().schedule_parallel(|a| a.0 = a.0.wrapping_mul(3) + 1),
        1 => world.query_mut::<(&mut B, &A)>().schedule_parallel(|(b, a)| b.0 += u64::from(a.0)),
        2 => world.query::<&A>().schedule_parallel(move |a| left.add(a.0 % 5)),
        3 => world.query_mut::<(EnabledMut<X>, &A)>().schedule_parallel(|(mut x, a)| {
            x.set(a.0 % 3 > 0);
        }),
        4 => world.query_mut::<(&mut X, Option<&Tag>)>().schedule_parallel(|(x, tag)| {
            x.0 += 1 + u32::from(tag.is_some());
        }),
        5 => world.query_mut::<(&mut T, Entity)>().schedule(|(t, entity)| t.0 += entity.index()),
        6 => {
            let mut query = world.query_filtered_mut::<&mut B, Changed<(T, A)>>().since(since);
            query.schedule_parallel(|b| b.0 += 1)
        }
        7 => {
            let mut query = world.query_filtered_mut::<&mut T, Changed<E>>().since(since);
            query.schedule_parallel(|t| t.0 += 1)
        }
        8 => world.query_mut::<(EnabledMut<E>, &T)>().schedule_parallel(|(mut e, t)| {
            e.set(t.0 % 2 > 0);
        }),
        9 => world.query_mut::<(&mut E, Option<&X>)>().schedule_parallel(|(e, x)| {
            e.0 += x.map_or(1, |x| u64::from(x.0));
        }),
        10 => world
            .query::<(&PerChunk<B>, &Shared<Team>)>()
            .schedule_parallel(move |(chunk, team)| left.add(chunk.0 as u32 + team.0)),
        11 => world.query_mut::<(&mut Buffer<Item>, &A)>().schedule_parallel(|(mut items, a)| {
            if items.len() < 9 {
                items.push(Item(a.0));
            } else {
                items.clear();
            }
        }),
        12 => world.query_mut::<&mut Text>().schedule_parallel(|text| match text.0.len() {
            0..40 => text.0.push_str("more "),
            _ => text.0.clear(),
        }),
        13 => {
            let (all, values) = world.split::<(Query<(Entity, &mut B)>, Lookup<&A>)>();
            all.job().with(values.into_job()).schedule_parallel(|(entity, b), values| {
                b.0 += values.get(entity).map_or(0, |a| u64::from(a.0));
            })
        }
        14 => {
            let (all, values) = world.split::<(Query<(Entity, &A)>, Lookup<&mut T>)>();
            all.job().with(values.into_job()).schedule(|(entity, a), values| {
                if let Some(t) = values.get_mut(entity) {
                    t.0 += a.0 % 4;
                }
            })
        }
        15 => {
            let (all, values) = world.split::<(Query<(Entity, &mut X)>, Lookup<EnabledMut<X>>)>();
            all.job().with(values.into_job()).schedule(|(entity, x), values| {
                x.0 += 1;
                values.get_mut(entity).unwrap().set(x.0 % 4 > 0);
            })
        }
        16 => {
            let array = world.query_mut::<(&mut B, &T)>().job().into_array();
            let (jobs, count) = (array.jobs(), array.len());
            let job = jobs.schedule_for_each(&[], array, count, 16, |(b, t), index| {
                b.0 += u64::from(t.0) + index as u64;
            });
            job.unwrap()
        }
        _ => world.query::<(&A, EnabledRef<X>)>().schedule_parallel(move |(a, x)| {
            left.add(a.0 % 3 + u32::from(x.get()));
        }),
    };
    let _job = scheduled;
}

/// Runs one of many operations on the world's thread.
fn do_some(world: &mut World, numbers: &mut Numbers, left: &Left, forks: &mut Vec<World>) {
    let all = world.all_entities();
    let entity = match all.len() as u32 {
        0 => Entity::NULL,
        count => all[numbers.below(count) as usize],
    };
    let number = numbers.below(1000);
    let manager = &mut *world;
    match numbers.below(34) {
        0 => _ = manager.spawn((A(number), B(1), X(number))),
        1 => _ = manager.spawn_many((A(number), T(1), E(1)), 70).len(),
        2 => _ = manager.spawn((A(number), PerChunk::<B>::new(), Shared::new(Team(number % 3)))),
        3 => _ = manager.spawn((B(1), T(1), Text::default(), Buffer::<Item>::default())),
        4 => _ = manager.despawn(entity),
        5 => _ = manager.add(entity, A(number)),
        6 => _ = manager.add(entity, (X(number), T(number))),
        7 => _ = manager.remove::<X>(entity),
        8 => _ = manager.remove::<T>(entity),
        9 => _ = manager.add(entity, Tag),
        10 => _ = manager.remove::<Tag>(entity),
        11 => _ = manager.set(entity, (A(number), B(3))),
        12 => _ = manager.get_mut::<B>(entity).map(|b| b.0 += 1),
        13 => _ = manager.get_mut::<T>(entity).map(|t| t.0 += 1),
        14 => left.add(manager.get::<A>(entity).map_or(0, |a| a.0 % 7)),
        15 => _ = manager.set_component_enabled::<X>(entity, number > 500),
        16 => _ = manager.set_component_enabled::<E>(entity, number > 500),
        17 => left.add(u32::from(manager.is_component_enabled::<X>(entity) == Ok(true))),
        18 => _ = manager.set_chunk_component(entity, B(number.into())),
        19 => _ = manager.set_shared(entity, Team(number % 4)),
        20 => _ = manager.instantiate(entity),
        21 => left.add(manager.query::<&X>().iter().map(|x| x.0 % 3).sum()),
        22 => manager.query_mut::<(&mut B, &X)>().for_each(|(b, x)| b.0 += u64::from(x.0)),
        23 => manager.query_mut::<&mut T>().for_each_parallel(|t| t.0 += 1),
        24 => _ = manager.batch(QueryDescriptor::of::<&T, ()>()).set_component_enabled::<E>(true),
        25 => _ = manager.batch(QueryDescriptor::of::<&A, With<Tag>>()).add(B(1)),
        26 => left.add(manager.query_filtered::<&B, Changed<T>>().count() as u32),
        27 => left.add(manager.lookup::<&A>().get(entity).map_or(0, |a| a.0 % 7)),
        28 => _ = manager.swap_components(entity, all[number as usize % all.len()]),
        29 => _ = manager.buffer_mut::<Item>(entity).map(|mut items| items.push(Item(1))),
        30 => _ = manager.take::<X>(entity),
        31 => forks.push(world.fork().unwrap()),
        32 => drop(forks.pop()),
        _ => _ = manager.advance_version(),
    }
}

/// The result is the same as if each job ran when it is scheduled.
#[test]
fn jobs_and_the_thread_of_the_world_do_the_same_on_every_number_of_threads() {
    for seed in 0..12 {
        let script = |workers| {
            let mut world = world_with(workers);
            let (mut numbers, left, mut forks) = (Numbers(seed), Left::default(), Vec::new());
            world.spawn_many((A(1), B(1), X(1), T(1), E(1)), 150);
            world.spawn_many((A(1), X(1), Tag), 80);
            world.spawn_many((A(1), PerChunk::<B>::new(), Shared::new(Team(1)), E(2)), 80);
            world.spawn_many((A(1), Text::default(), Buffer::<Item>::default()), 80);
            for _ in 0..150 {
                if numbers.below(2) == 0 {
                    schedule_some(&mut world, &mut numbers, &left);
                } else {
                    do_some(&mut world, &mut numbers, &left, &mut forks);
                }
                if numbers.below(3) == 0 {
                    world.jobs().flush();
                }
            }
            let hash = world.state_hash();
            assert!(world.jobs().take_failures().is_empty());
            (hash, left.get())
        };
        assert_eq!(script(0), script(2), "seed {seed}");
    }
}
