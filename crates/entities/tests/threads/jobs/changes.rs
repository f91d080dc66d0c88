//! Enabled state and changes are evaluated when a job runs.

use std::sync::{Arc, Mutex};

use ancho_entities::{
    Changed, EnabledMut, Entity, IgnoreEnabled, Lookup, Or, OrderChanged, Query, QueryJob, With,
    Without, World,
};
use ancho_jobs::JobHandle;

use crate::jobs::common::*;

type Found = Arc<Mutex<Vec<Entity>>>;

/// Schedules a job that records the entities it finds.
fn note(job: QueryJob<'_, Entity>) -> (Found, JobHandle) {
    let found = Found::default();
    let kept = Arc::clone(&found);
    let job = job.schedule(move |entity| kept.lock().unwrap().push(entity));
    (found, job)
}

fn some(workers: usize) -> (Checked, Vec<Entity>) {
    let mut world = world_of(workers, 10);
    let all = world.spawn_batch((0..40).map(|at| (A(at), B(1), T(at), X(at)))).collect();
    world.advance_version();
    (world, all)
}

/// Without workers, no job runs before the second one is scheduled.
const WORKER_COUNTS: [usize; 2] = [0, 2];

#[test]
fn a_job_sees_the_changes_of_jobs_before_it() {
    for workers in WORKER_COUNTS {
        let (mut world, all) = some(workers);
        let since = world.version();
        world.advance_version();
        let early = note(world.query_filtered::<Entity, Changed<A>>().since(since).job());
        // Writes to the chunks of the first and the last entity.
        let ends = [all[0], all[39]];
        let (marks, lookup) = world.split::<(Query<(Entity, &B)>, Lookup<&mut A>)>();
        let write = marks.job().with(lookup.into_job()).schedule(move |(entity, _), a| {
            if ends.contains(&entity) {
                a.get_mut(entity).unwrap().0 += 1;
            }
        });
        let _ = write;
        let late = note(world.query_filtered::<Entity, Changed<A>>().since(since).job());
        let other = note(world.query_filtered::<Entity, Changed<B>>().since(since).job());
        for job in [&early, &late, &other] {
            world.jobs().complete(job.1);
        }
        let of_chunks: Vec<_> = all[..10].iter().chain(&all[30..]).copied().collect();
        assert!(early.0.lock().unwrap().is_empty(), "it was scheduled before");
        assert_eq!(*late.0.lock().unwrap(), of_chunks);
        assert!(other.0.lock().unwrap().is_empty());
    }
}

#[test]
fn a_writer_marks_the_chunks_in_which_something_is_found() {
    for workers in WORKER_COUNTS {
        for parallel in [false, true] {
            let (mut world, all) = some(workers);
            for &entity in &all[10..20] {
                world.set_component_enabled::<X>(entity, false).unwrap();
            }
            let since = world.version();
            world.advance_version();
            let mut query = world.query_filtered_mut::<&mut A, With<X>>();
            let _ = if parallel {
                query.schedule_parallel(|a| a.0 += 1)
            } else {
                query.schedule(|a| a.0 += 1)
            };
            let late = note(world.query_filtered::<Entity, Changed<A>>().since(since).job());
            world.jobs().complete(late.1);
            let expected: Vec<_> = all[..10].iter().chain(&all[20..]).copied().collect();
            assert_eq!(*late.0.lock().unwrap(), expected);
        }
    }
}

#[test]
fn a_change_filter_waits_for_writers() {
    type Either = Or<(Changed<A>, OrderChanged)>;
    let (mut world, all) = some(2);
    let since = world.version();
    world.advance_version();
    let gate = Gate::default();
    let _ = stand_at!(gate, world.query_mut::<&mut A>());
    gate.await_job(&world);
    let other = world.query_filtered::<Entity, Or<(Changed<B>, OrderChanged)>>().since(since);
    assert!(gate.beside("asking for another", || other.is_empty()));
    let query = world.query_filtered::<Entity, Either>().since(since);
    let (found, job) = note(query.clone().job());
    assert_eq!(gate.after("asking", || query.count()), all.len());
    world.jobs().complete(job);
    assert_eq!(*found.lock().unwrap(), all);
}

/// A chunk with new rows has one version for all columns. Concurrent jobs must not both split it.
#[test]
fn concurrent_jobs_mark_their_columns_after_rows_were_added() {
    for workers in WORKER_COUNTS {
        let mut world = world_of(workers, 10);
        for round in 1..6 {
            // Fills a chunk, arrives from another archetype, and swaps rows.
            let new = world.spawn((A(0), B(0), T(0)));
            let moved = world.spawn((A(0), B(0)));
            world.add(moved, T(0)).unwrap();
            world.spawn_many((A(0), B(0), T(0)), 5);
            world.swap_components(new, moved).unwrap();
            let since = world.version();
            world.advance_version();
            let _ = world.query_mut::<&mut A>().schedule(|a| a.0 += 1);
            let _ = world.query_mut::<&mut B>().job().schedule_chunks_parallel(|b| {
                b.iter_mut().for_each(|b| b.0 += 1);
            });
            assert_eq!(world.query_filtered::<(), Changed<T>>().since(since).count(), 0);
            assert_eq!(world.query_filtered::<(), Changed<A>>().since(since).count(), 7 * round);
            assert_eq!(world.query_filtered::<(), Changed<B>>().since(since).count(), 7 * round);
        }
    }
}

#[test]
fn a_job_marks_with_the_version_of_its_scheduling() {
    for workers in WORKER_COUNTS {
        let (mut world, _) = some(workers);
        let first = world.advance_version();
        let _ = world.query_mut::<&mut A>().schedule_parallel(|a| a.0 += 1);
        // The version advances before the job runs.
        let second = world.advance_version();
        assert_eq!(world.query_filtered::<(), Changed<A>>().since(first).count(), 0);
        let before = world.query_filtered::<(), Changed<A>>();
        assert_eq!(before.count(), 40);
        assert!(world.chunks().all(|chunk| chunk.change_version::<A>() == Some(first)));
        assert_ne!(first, second);
    }
}

#[test]
fn only_yielded_rows_are_marked_by_tracking() {
    for workers in WORKER_COUNTS {
        let (mut world, all) = some(workers);
        for &entity in all.iter().step_by(3) {
            world.set_component_enabled::<X>(entity, false).unwrap();
        }
        let since = world.version();
        world.advance_version();
        let early = note(world.query_filtered::<Entity, Changed<T>>().since(since).job());
        let mut query = world.query_filtered_mut::<&mut T, Without<X>>();
        let _ = query.schedule_parallel(|t| t.0 += 100);
        let late = note(world.query_filtered::<Entity, Changed<T>>().since(since).job());
        // A job that writes changed entities marks only its own chunks.
        let mut query = world.query_filtered_mut::<(&mut A, &T), Changed<T>>().since(since);
        let _ = query.schedule_parallel(|(a, t)| a.0 = t.0);
        for job in [&early, &late] {
            world.jobs().complete(job.1);
        }
        let expected: Vec<_> = all.iter().step_by(3).copied().collect();
        assert!(early.0.lock().unwrap().is_empty());
        assert_eq!(*late.0.lock().unwrap(), expected);
        assert_eq!(world.query::<&A>().iter().filter(|a| a.0 >= 100).count(), expected.len());
        let changed = world.query_filtered::<Entity, Changed<T>>().since(since);
        assert_eq!(changed.to_entities(), expected);
    }
}

#[test]
fn a_job_does_not_see_its_own_marks() {
    for workers in WORKER_COUNTS {
        let (mut world, all) = some(workers);
        let since = world.version();
        world.advance_version();
        world.get_mut::<A>(all[15]).unwrap().0 = 1000;
        world.get_mut::<T>(all[15]).unwrap().0 = 1000;
        let mut query = world.query_filtered_mut::<&mut A, Changed<A>>().since(since);
        let _ = query.schedule_parallel(|a| a.0 = 7);
        let mut query = world.query_filtered_mut::<&mut T, Changed<T>>().since(since);
        let _ = query.schedule_parallel(|t| t.0 = 7777);
        assert!(all[10..20].iter().all(|&entity| world.get::<A>(entity).unwrap().0 == 7));
        assert_eq!(world.query::<&A>().iter().filter(|a| a.0 == 7).count(), 11, "one was 7 before");
        let written: Vec<_> = world.query::<&T>().iter().filter(|t| t.0 == 7777).collect();
        assert_eq!(written.len(), 1);
    }
}

#[test]
fn a_job_sees_the_enabled_bits_of_jobs_before_it() {
    for workers in WORKER_COUNTS {
        let (mut world, all) = some(workers);
        let early = note(world.query_filtered::<Entity, With<X>>().job());
        let _ = world
            .query_mut::<(&A, EnabledMut<X>)>()
            .schedule_parallel(|(a, mut on)| on.set(a.0 % 2 == 0));
        let late = note(world.query_filtered::<Entity, With<X>>().job());
        let _ = world.query_mut::<EnabledMut<X>>().schedule(|mut on| on.set(false));
        let last = note(world.query_filtered::<Entity, With<X>>().job());
        for job in [&early, &late, &last] {
            world.jobs().complete(job.1);
        }
        let even: Vec<_> = all.iter().step_by(2).copied().collect();
        assert_eq!(*early.0.lock().unwrap(), all);
        assert_eq!(*late.0.lock().unwrap(), even);
        assert!(last.0.lock().unwrap().is_empty());
    }
}

#[test]
fn enabling_counts_as_a_change() {
    let (mut world, all) = some(2);
    let since = world.version();
    world.advance_version();
    let of = |world: &World| {
        world.query_filtered::<Entity, (Changed<X>, IgnoreEnabled)>().since(since).to_entities()
    };
    assert!(of(&world).is_empty());
    let _ = world.query_mut::<EnabledMut<X>>().schedule_parallel(|mut on| on.set(false));
    assert_eq!(of(&world), all);
}

#[test]
fn arrays_and_lookups_mark_their_writes() {
    let (mut world, all) = some(2);
    let since = world.version();
    world.advance_version();
    let array = world.query_mut::<&mut B>().job().into_array();
    let _ = array.jobs().schedule_for_each(&[], array, 40, 8, |b, _| b.0 = 3).unwrap();
    assert_eq!(world.query_filtered::<(), Changed<B>>().since(since).count(), 40);
    assert_eq!(world.query_filtered::<(), Changed<A>>().since(since).count(), 0);
    // A lookup of tracked values marks the row.
    let (target, goal) = (all[17], world.spawn(Tag));
    let (tags, lookup) = world.split::<(Query<&Tag>, Lookup<&mut T>)>();
    let job = tags.job().with(lookup.into_job()).schedule(move |_, t| {
        assert!(t.get_mut(goal).is_none());
        t.get_mut(target).unwrap().0 = 0;
    });
    world.jobs().complete(job);
    let changed = world.query_filtered::<Entity, Changed<T>>().since(since);
    assert_eq!(changed.to_entities(), [target]);
}
