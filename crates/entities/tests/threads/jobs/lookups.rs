//! Lookups of many entities in any order, in jobs.

use ancho_entities::{
    ChunkInJob, ChunkJob, EnabledMut, EnabledRef, Entity, JobLookup, JobLookupView, Lookup,
    ParallelData, Query, ReadOnlyData, Version, World,
};
use ancho_jobs::{JobSlice, ParallelJobStruct, SliceRead};

use crate::jobs::common::*;

#[derive(ParallelJobStruct)]
struct Compare<'a> {
    all: JobLookup<'a, &'static B>,
    asked: SliceRead<'a, Entity>,
    /// The number of entities to look up.
    count: usize,
}

impl ChunkJob for Compare<'_> {
    type Query = &'static mut A;

    fn execute(job: &mut CompareBatch<'_>, mut chunk: ChunkInJob<'_, &'static mut A>) {
        let asked = &job.asked[..*job.count];
        let many: Vec<_> = job.all.get_many(asked.iter().copied()).collect();
        let each: Vec<_> = asked.iter().map(|&entity| job.all.get(entity)).collect();
        assert_eq!(many, each);
        let found = many.iter().flatten().count() as u32;
        chunk.for_each_run(|all| all.iter_mut().for_each(|a| a.0 = found));
    }
}

#[test]
fn bulk_lookups_equal_single_lookups_for_any_count() {
    for workers in WORKERS {
        let mut world = world_of(workers, 50);
        let with: Vec<_> = world.spawn_batch((0..200).map(B)).collect();
        let without = world.spawn(A(0));
        let gone = world.spawn(B(7));
        world.despawn(gone).unwrap();
        let mut asked: Vec<_> = with.iter().rev().copied().collect();
        asked.splice(20..20, [gone, without, Entity::NULL]);
        let asked = JobSlice::from(asked);
        // Fewer than are prefetched, exactly as many, and more.
        for count in [0, 1, 15, 16, 17, 31, 32, 33, 64, 203] {
            let (takers, all) = world.split::<(Query<&mut A>, Lookup<&B>)>();
            let job = Compare { all: all.into_job(), asked: asked.read(), count };
            let job = takers.job().schedule_chunk_job(job);
            world.jobs().complete(job);
            let missing = count.saturating_sub(20).min(3);
            assert_eq!(world.get::<A>(without).unwrap().0 as usize, count - missing);
        }
    }
}

#[test]
fn jobs_can_read_the_location_of_entities() {
    for workers in WORKERS {
        let mut world = world_of(workers, 10);
        let all: Vec<_> = world.spawn_batch((0..25).map(A)).collect();
        let gone = world.spawn(A(0));
        world.despawn(gone).unwrap();
        let other = world.spawn(B(1));
        let places: Vec<_> = {
            let info = world.storage_info();
            let place = |&entity: &Entity| info.get(entity).map(|at| (at.chunk_number(), at.row()));
            all.iter().chain([&gone, &other]).map(place).collect()
        };
        assert_eq!(places.iter().flatten().count(), 26);
        let asked: Vec<_> = all.iter().chain([&gone, &other]).copied().collect();
        let (first, everyone) = world.split::<(Query<&B>, Lookup<Entity>)>();
        let job = first.job().with(everyone.into_job()).schedule(move |_, everyone| {
            let place = |&entity: &Entity| everyone.place(entity);
            let found: Vec<_> = asked.iter().map(place).collect();
            assert_eq!(found, places);
        });
        world.jobs().complete(job);
        let (first, with) = world.split::<(Query<&B>, Lookup<&A>)>();
        let job = first.job().with(with.into_job()).schedule_parallel(move |_, with| {
            assert!(with.place(other).is_none() && with.place(gone).is_none(), "they lack it");
            assert!(all.iter().all(|&entity| with.place(entity).is_some()));
        });
        world.jobs().complete(job);
    }
}

#[test]
fn jobs_can_read_the_change_versions_of_chunks() {
    for workers in WORKERS {
        let mut world = world_of(workers, 10);
        let all: Vec<_> = world.spawn_batch((0..30).map(|at| (A(at), B(1)))).collect();
        let marker = world.spawn(T(0));
        let since = world.version();
        world.advance_version();
        world.get_mut::<A>(all[15]).unwrap().0 += 1;
        // Another job writes more, and is waited for; other components do not count.
        let _ = world.query_mut::<&mut B>().schedule_parallel(|b| b.0 += 1);
        let (write, values) = world.split::<(Query<&T>, Lookup<&mut A>)>();
        let last = all[29];
        let write = write.job().with(values.into_job());
        let _ = write.schedule(move |_, a| a.get_mut(last).unwrap().0 += 1);
        let (ask, values) = world.split::<(Query<&T>, Lookup<&A>)>();
        let asked = all.clone();
        let job = ask.job().with(values.into_job()).schedule(move |_, a| {
            let changed: Vec<_> = asked.iter().map(|&entity| a.did_change(entity, since)).collect();
            assert!(changed[..10].iter().all(|&changed| !changed), "the first chunk");
            assert!(changed[10..].iter().all(|&changed| changed), "the others");
            assert!(!a.did_change(marker, since) && !a.did_change(Entity::NULL, since));
        });
        world.jobs().complete(job);
        // The world's thread writes another component while the job runs.
        let (ask, values) = world.split::<(Query<&T>, Lookup<&A>)>();
        let asked = all.clone();
        let job = ask.job().with(values.into_job()).schedule(move |_, a| {
            let changed = asked.iter().filter(|&&entity| a.did_change(entity, since)).count();
            assert_eq!(changed, 20);
        });
        world.jobs().flush();
        for &entity in &all {
            world.get_mut::<B>(entity).unwrap().0 += 1;
        }
        world.jobs().complete(job);
    }
}

#[test]
fn jobs_can_read_the_change_versions_of_tracked_entities() {
    for workers in WORKERS {
        let mut world = world_of(workers, 10);
        let all: Vec<_> = world.spawn_batch((0..30).map(|at| (T(at), E(1), A(at)))).collect();
        world.spawn(Tag);
        let since = world.version();
        world.advance_version();
        world.get_mut::<T>(all[15]).unwrap().0 += 1;
        world.set_component_enabled::<E>(all[7], false).unwrap();
        let (write, values) = world.split::<(Query<&Tag>, Lookup<&mut T>)>();
        let last = all[29];
        let write = write.job().with(values.into_job());
        let _ = write.schedule(move |_, t| t.get_mut(last).unwrap().0 += 1);
        let (ask, values) = world.split::<(Query<&Tag>, Lookup<(&T, EnabledRef<E>)>)>();
        let asked = all.clone();
        let job = ask.job().with(values.into_job()).schedule_parallel(move |_, values| {
            let changed = |at: &usize| values.did_change(asked[*at], since);
            assert_eq!((0..30).filter(changed).collect::<Vec<_>>(), [7, 15, 29]);
        });
        world.jobs().complete(job);
    }
}

/// An operation on an entity.
type Write = fn(&mut World, Entity);

/// Checks that writers wait for a job that reads change versions of its lookup's data.
fn writers_wait_for<D>(spawn: fn(&mut World) -> Entity, writes: &[(&str, Write)])
where
    D: ReadOnlyData<Static = D> + ParallelData + 'static,
{
    for (name, write) in writes {
        let mut world = world_of(1, 10);
        let entity = spawn(&mut world);
        world.spawn(Tag);
        let gate = Gate::default();
        let stand = gate.stand();
        let (once, values) = world.split::<(Query<&Tag>, Lookup<D>)>();
        let once = once.job().with(values.into_job());
        let job = once.schedule(move |_, values: &mut JobLookupView<'_, D>| {
            assert!(values.did_change(entity, Version::NEVER));
            stand();
            assert!(values.did_change(entity, Version::NEVER));
        });
        let _ = job;
        gate.await_job(&world);
        gate.after(name, || write(&mut world, entity));
    }
}

/// Runs a job over the data, and waits for it.
fn go_through<D: ParallelData<Static: ParallelData> + 'static>(world: &mut World) {
    let job = world.query_mut::<D>().job().schedule(|_| ());
    world.jobs().complete(job);
}

#[test]
fn writing_waits_for_jobs_that_read_change_versions() {
    // The lookup uses enabled bits, and not values.
    writers_wait_for::<EnabledRef<'static, X>>(
        |world| world.spawn(X(1)),
        &[
            ("get_mut", |world, entity| world.get_mut::<X>(entity).unwrap().0 += 1),
            ("query_mut", |world, _| world.query_mut::<&mut X>().for_each(|x| x.0 += 1)),
            ("a job that writes", |world, _| go_through::<&'static mut X>(world)),
        ],
    );
    // A tag has no values.
    writers_wait_for::<&'static Y>(
        |world| world.spawn(Y),
        &[
            ("switching", |world, entity| {
                world.set_component_enabled::<Y>(entity, false).unwrap();
            }),
            ("query_mut", |world, _| world.query_mut::<&mut Y>().for_each(|_| {})),
            ("a job that switches", |world, _| go_through::<EnabledMut<'static, Y>>(world)),
        ],
    );
}

#[test]
fn a_job_with_only_a_lookup_is_scheduled_outside_of_systems() {
    for workers in WORKERS {
        let mut world = world_of(workers, 50);
        let all: Vec<_> = world.spawn_batch((0..200).map(B)).collect();
        let wanted = all.clone();
        let (lookup,) = world.split::<(Lookup<&mut B>,)>();
        lookup.into_job().schedule(move |mut lookup| {
            for &entity in wanted.iter().step_by(2) {
                lookup.get_mut(entity).unwrap().0 += 1000;
            }
        });
        // Another job waits for the first one.
        let mut sum = JobSlice::from(vec![0_u64]);
        let wanted = all.clone();
        let (lookup,) = world.split::<(Lookup<&B>,)>();
        let lookup = lookup.into_job();
        let scheduler = lookup.scheduler();
        let job = scheduler.schedule(&[], (lookup, sum.write()), move |(lookup, sum)| {
            sum[0] = wanted.iter().map(|&entity| lookup.get(entity).unwrap().0).sum();
        });
        scheduler.complete(job.unwrap());
        assert_eq!(sum.as_slice().unwrap()[0], (0..200).sum::<u64>() + 100 * 1000);
        // A structural change waits for a job too.
        let (first, last) = (all[0], all[199]);
        let (lookup,) = world.split::<(Lookup<&mut B>,)>();
        lookup.into_job().schedule(move |mut lookup| lookup.get_mut(last).unwrap().0 = 7);
        world.despawn(first).unwrap();
        assert_eq!(world.get(last), Ok(&B(7)));
    }
}
