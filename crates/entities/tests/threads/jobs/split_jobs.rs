//! Jobs of one part of a split world, while values of other parts are in use.
//!
//! Values borrowed from one part may be in use when a job of another part is scheduled. The job must not run
//! concurrently if it changes what the other part filters by, or the reverse. This includes values, enabled state and
//! change versions. Such a job is completed before the call that schedules it returns.

use ancho_entities::{
    Changed, EnabledMut, IgnoreEnabled, JobLookupView, Lookup, Query, With, World,
};

use crate::jobs::common::*;

fn crowd() -> Checked {
    let mut world = world_of(2, 100);
    // Entities have other indices in a query of `A` than in one of `X`.
    world.spawn_many(A(1), 40);
    world.spawn_batch((0..1000).map(|at| (A(at), X(at), B(1))));
    world
}

/// Runs the action, which checks that a scheduled job is completed at once.
#[track_caller]
fn takes_its_turn(action: impl FnOnce(&mut World)) {
    action(&mut crowd());
}

#[test]
fn a_job_cannot_read_enabled_bits_that_another_part_writes() {
    takes_its_turn(|world| {
        let (mut switches, found, other) =
            world.split::<(Query<EnabledMut<X>>, Query<&A, With<X>>, Query<&B>)>();
        let jobs = other.job().into_array().jobs();
        let mut switches: Vec<_> = switches.iter_mut().collect();
        let _ = found.job().schedule_parallel(|_| {});
        assert_eq!(jobs.uncompleted(), 0, "it was done");
        switches.iter_mut().for_each(|on| on.set(false));
    });
}

#[test]
fn a_job_cannot_write_enabled_bits_that_another_part_reads() {
    takes_its_turn(|world| {
        let (switches, found, other) =
            world.split::<(Query<EnabledMut<X>>, Query<&A, With<X>>, Query<&B>)>();
        let jobs = other.job().into_array().jobs();
        let mut found = found.iter();
        found.next();
        let _ = switches.job().schedule_parallel(|mut on| on.set(false));
        assert_eq!(jobs.uncompleted(), 0, "it was done");
        // The count depends on the progress of the job.
        found.for_each(drop);
    });
}

#[test]
fn a_job_cannot_filter_changes_that_another_part_writes() {
    takes_its_turn(|world| {
        let (mut written, changed, other) =
            world.split::<(Query<&mut A>, Query<&B, Changed<A>>, Query<&B>)>();
        let jobs = other.job().into_array().jobs();
        let mut written = written.iter_mut();
        written.next();
        let _ = changed.job().schedule_parallel(|_| {});
        assert_eq!(jobs.uncompleted(), 0, "it was done");
        written.for_each(|a| a.0 += 1);
    });
}

#[test]
fn a_job_cannot_write_data_whose_changes_another_part_filters() {
    takes_its_turn(|world| {
        let (written, changed, other) =
            world.split::<(Query<&mut A>, Query<&B, Changed<A>>, Query<&B>)>();
        let jobs = other.job().into_array().jobs();
        let mut changed = changed.iter();
        changed.next();
        let _ = written.job().schedule_parallel(|a| a.0 += 1);
        assert_eq!(jobs.uncompleted(), 0, "it was done");
        changed.for_each(drop);
    });
}

#[test]
fn an_array_does_not_read_enabled_bits() {
    let mut world = crowd();
    let (switches, all) = world.split::<(Query<EnabledMut<X>>, Query<(&A, Option<&X>)>)>();
    // The index of an entity in the array differs from that in the query, so threads would share words of bits.
    assert!(panic_message(|| _ = all.job().into_array()).starts_with("A0076: "));
    drop(switches);
    type All<'w> = Query<'w, (&'static A, Option<&'static X>), IgnoreEnabled>;
    let (switches, all) = world.split::<(Query<EnabledMut<X>>, All)>();
    let job = switches.job().with(all.job().into_array());
    let job = job.schedule_parallel(|mut on, (a, x)| on.set(a.0 % 2 == 0 && x.is_some()));
    world.jobs().complete(job);
}

#[test]
fn a_job_cannot_filter_enabled_bits_that_another_part_writes() {
    takes_its_turn(|world| {
        let (mut switches, values, asking, other) =
            world.split::<(Query<EnabledMut<X>>, Lookup<&X>, Query<&A>, Query<&B>)>();
        let jobs = other.job().into_array().jobs();
        let mut switches = switches.iter_mut();
        switches.next();
        let _ = asking.job().with(values.into_job()).schedule(|_, _| {});
        assert_eq!(jobs.uncompleted(), 0, "it was done");
        // In other chunks it counts as changed from now on.
        switches.for_each(|mut on| on.set(false));
    });
}

#[test]
fn a_job_can_capture_a_lookup_of_the_enabled_bits_of_its_query() {
    for parallel in [true, false] {
        let mut world = crowd();
        let all = world.query::<&X>().to_entities();
        let seen = world.version();
        world.advance_version();
        let (switches, values, other) =
            world.split::<(Query<EnabledMut<X>>, Lookup<&X>, Query<&B>)>();
        let jobs = other.job().into_array().jobs();
        let job = switches.job().with(values.into_job());
        // All yielded entities count as changed before the first is yielded.
        let all_changed = move |values: JobLookupView<'_, &X>| {
            assert!(all.iter().step_by(50).all(|&entity| values.did_change(entity, seen)));
        };
        let job = if parallel {
            job.schedule_parallel(move |mut on, values| {
                on.set(false);
                all_changed(values);
            })
        } else {
            job.schedule(move |mut on, values| {
                on.set(false);
                all_changed(*values);
            })
        };
        assert_eq!(jobs.uncompleted(), 1, "the view whose place it has taken is not in its way");
        jobs.complete(job);
    }
}
