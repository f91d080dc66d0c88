//! Jobs of one part of a split world, while values of other parts are in use.
//!
//! What a part has borrowed is in use when a job of another part runs. So the job must not change what the other part asks
//! for, nor ask for what it changes: not only values, but what is switched off and what has changed, too.

use std::panic::{AssertUnwindSafe, catch_unwind};

use ancho_entities::{Changed, EnabledMut, JobError, Query, With, World};

use crate::common::*;

/// Sees to it that something is refused: the split itself, or the job.
#[track_caller]
fn is_refused(action: impl FnOnce(&mut World) -> Result<(), JobError>) {
    let mut world = world_of(2, 100);
    // So that entities have other numbers in a query of `A` than in one of `X`.
    world.spawn_many(40, A(1));
    world.spawn_batch((0..1000).map(|at| (A(at), X(at), B(1))));
    let result = catch_unwind(AssertUnwindSafe(|| action(&mut world)));
    assert!(!matches!(result, Ok(Ok(()))), "it was scheduled");
}

#[test]
fn en7_a_job_does_not_ask_for_what_another_part_switches() {
    is_refused(|world| {
        let (mut switches, found, other) =
            world.split::<(Query<EnabledMut<X>>, Query<&A, With<X>>, Query<&B>)>();
        let jobs = other.into_array()?.jobs();
        let mut switches: Vec<_> = switches.iter_mut().collect();
        let _ = found.job().schedule_parallel(|_| {})?;
        // It runs now, on another thread.
        jobs.flush();
        switches.iter_mut().for_each(|on| on.set(false));
        Ok(())
    });
}

#[test]
fn en7_a_job_does_not_switch_what_another_part_asks_for() {
    is_refused(|world| {
        let (switches, found, other) =
            world.split::<(Query<EnabledMut<X>>, Query<&A, With<X>>, Query<&B>)>();
        let jobs = other.into_array()?.jobs();
        let mut found = found.iter();
        found.next();
        let _ = switches.job().schedule_parallel(|mut on| on.set(false))?;
        jobs.flush();
        // How many there are depends on how far the job is.
        found.for_each(drop);
        Ok(())
    });
}

#[test]
fn q9_a_job_does_not_ask_whether_what_another_part_writes_has_changed() {
    is_refused(|world| {
        let (mut written, changed, other) =
            world.split::<(Query<&mut A>, Query<&B, Changed<A>>, Query<&B>)>();
        let jobs = other.into_array()?.jobs();
        let mut written = written.iter_mut();
        written.next();
        let _ = changed.job().schedule_parallel(|_| {})?;
        jobs.flush();
        written.for_each(|a| a.0 += 1);
        Ok(())
    });
}

#[test]
fn q9_a_job_does_not_write_what_another_part_asks_for_changes_of() {
    is_refused(|world| {
        let (written, changed, other) =
            world.split::<(Query<&mut A>, Query<&B, Changed<A>>, Query<&B>)>();
        let jobs = other.into_array()?.jobs();
        let mut changed = changed.iter();
        changed.next();
        let _ = written.job().schedule_parallel(|a| a.0 += 1)?;
        jobs.flush();
        changed.for_each(drop);
        Ok(())
    });
}

#[test]
fn en7_a_job_does_not_read_what_may_be_off_and_switch_it() {
    is_refused(|world| {
        let (switches, all) = world.split::<(Query<EnabledMut<X>>, Query<(&A, Option<&X>)>)>();
        let job = switches.job().with(all.into_array()?);
        // The number of an entity in the array is not that in the query: they share words of bits with others.
        let job = job.schedule_parallel(|mut on, (a, x)| on.set(a.0 % 2 == 0 && x.is_some()))?;
        world.entities().jobs().complete(job);
        Ok(())
    });
}
