//! Jobs that panic.

use std::any::type_name;

use ancho_entities::{IndexInQuery, Lookup, Query};
use ancho_jobs::JobSlice;

use crate::jobs::common::*;

#[test]
fn a_panic_is_reported_with_the_job_the_query_and_the_entities() {
    let mut world = world_of(2, 10);
    let all: Vec<_> = world.spawn_batch((0..30).map(A)).collect();
    let bad = world.query_mut::<&mut A>().job().named("Divide").schedule_parallel(|a| {
        assert!(a.0 != 15, "by zero");
    });
    let failed = world.jobs().try_complete(bad).unwrap_err();
    let query = type_name::<&mut A>();
    assert_eq!(
        failed.to_string(),
        format!(
            "A0011: job `Divide` panicked: by zero (query `{query}`, entities {} to {})",
            all[10], all[19]
        )
    );
    assert_eq!(failed.job(), "Divide");
    // The default name of a job is the type of its function.
    let bad = world.query::<&A>().schedule(|_| panic!("no name"));
    let failed = world.jobs().try_complete(bad).unwrap_err();
    assert!(failed.job().contains("a_panic_is_reported"), "{failed}");
    assert!(failed.place().unwrap().contains(&format!("entities {} to ", all[0])), "{failed}");
}

#[test]
fn most_entities_are_done_all_the_same() {
    for workers in WORKERS {
        for mode in MODES {
            let mut world = world_of(workers, 4);
            world.jobs().set_mode(mode);
            let all: Vec<_> = world.spawn_batch((0..2000).map(A)).collect();
            let bad = world.query_mut::<&mut A>().schedule_parallel(|a| {
                assert!(a.0 != 1001, "this one");
                a.0 += 10_000;
            });
            // Reading a value waits for the job.
            assert_eq!(world.get::<A>(all[1001]), Ok(&A(1001)));
            let values: Vec<_> = world.query::<&A>().iter().map(|a| a.0).collect();
            assert!((0..).zip(&values).all(|(at, &value)| value == at || value == at + 10_000));
            let done = values.iter().filter(|&&value| value >= 10_000).count();
            assert!(done > 1000, "{done} with {workers} workers, {mode:?}");
            let failed = world.jobs().try_complete(bad).unwrap_err();
            assert_eq!(failed.message(), "this one");
        }
    }
}

#[test]
fn other_entities_are_done_all_the_same() {
    let mut hashes = Vec::new();
    for workers in WORKERS {
        for mode in MODES {
            let mut world = world_of(workers, 4);
            world.jobs().set_mode(mode);
            let all: Vec<_> = world.spawn_batch((0..2000).map(A)).collect();
            let bad = world.query_mut::<&mut A>().schedule_parallel(|a| {
                assert!(a.0 != 1001, "this one");
                a.0 += 10_000;
            });
            // Reading a value waits for the job.
            for (at, &entity) in (0..).zip(&all) {
                let is_done = world.get::<A>(entity).unwrap().0 == at + 10_000;
                let is_of_the_chunk = (1000..1004).contains(&at);
                assert!(is_done || is_of_the_chunk, "{at} with {workers} workers, {mode:?}");
                assert!(!is_done || at != 1001);
            }
            let failed = world.jobs().try_complete(bad).unwrap_err();
            assert_eq!(failed.message(), "this one");
            hashes.push(world.state_hash());
        }
    }
    assert!(hashes.iter().all(|&hash| hash == hashes[0]), "{hashes:?}");
}

#[test]
fn the_world_can_be_used_after_a_panic() {
    for workers in WORKERS {
        let mut world = world_of(workers, 10);
        let all: Vec<_> =
            world.spawn_batch((0..100).map(|at| (A(at), Text(at.to_string())))).collect();
        for round in 0..20 {
            let mut query = world.query_mut::<(&mut A, &mut Text)>();
            query.schedule_parallel(move |(_, text)| {
                text.0.push('x');
                assert!(text.0.len() != round, "too long");
            });
            let (texts, lookup) = world.split::<(Query<&Text>, Lookup<&mut A>)>();
            let goal = all[0];
            let _ = texts.job().with(lookup.into_job()).schedule(move |_, a| {
                a.get_mut(goal).unwrap().0 += 1;
                panic!("after the first");
            });
            world.spawn((A(0), Text(String::new())));
        }
        assert_eq!(world.get::<A>(all[0]), Ok(&A(20)));
        assert_eq!(world.query::<&A>().count(), 120);
        let failures = world.jobs().take_failures();
        assert!(failures.len() >= 20);
        assert!(failures.iter().any(|failed| failed.message() == "after the first"));
        assert_eq!(world.jobs().uncompleted(), 0);
    }
}

#[test]
fn completing_a_job_implicitly_does_not_take_its_failure() {
    let mut world = world_with(1);
    let entity = world.spawn(A(1));
    let bad = world.query_mut::<&mut A>().job().named("Bad").schedule(|_| panic!("so bad"));
    // Each of these calls completes it.
    assert_eq!(world.get::<A>(entity), Ok(&A(1)));
    world.spawn(A(2));
    assert!(world.jobs().is_completed(bad));
    let failed = world.jobs().try_complete(bad).unwrap_err();
    assert_eq!((failed.job(), failed.message()), ("Bad", "so bad"));
    assert!(world.jobs().try_complete(bad).is_ok(), "the failure was reported");
    assert!(world.jobs().take_failures().is_empty());

    let bad = world.query_mut::<&mut A>().job().named("Bad").schedule(|_| panic!("so bad"));
    world.despawn(entity).unwrap();
    let message = panic_message(|| world.jobs().complete(bad));
    assert!(message.contains("A0011: job `Bad` panicked: so bad"), "{message}");

    let _ = world.query_mut::<&mut A>().job().named("Bad").schedule(|_| panic!("one"));
    let _ = world.query_mut::<&mut A>().job().named("Worse").schedule(|_| panic!("two"));
    world.query_mut::<&mut A>().for_each(|a| a.0 += 1);
    let failures = world.jobs().take_failures();
    assert!(failures.iter().map(ancho_jobs::JobFailed::job).eq(["Bad", "Worse"]));
}

#[test]
fn after_a_panic_jobs_ordered_by_data_run_and_dependents_do_not() {
    for workers in [0, 2] {
        let mut world = world_with(workers);
        let entity = world.spawn((A(1), B(1), T(1)));
        let bad = world.query_mut::<&mut A>().job().named("Bad").schedule(|a| {
            a.0 = 2;
            panic!("no");
        });
        let bad = [bad];
        let _ = world.query_mut::<&mut A>().schedule(|a| a.0 *= 10);
        let _ = world.query_mut::<&mut B>().job().after(&bad).schedule(|b| b.0 = 5);
        let job = world.query_mut::<(&A, &mut T)>().job().named("Next").depends_on(&bad);
        let next = job.schedule_parallel(|(_, t)| t.0 = 5);
        let failed = world.jobs().try_complete(next).unwrap_err();
        let told = "A0011: job `Next` did not run, because job `Bad` panicked: no (query ";
        assert!(failed.to_string().starts_with(told), "{failed}");
        assert_eq!(world.get::<A>(entity), Ok(&A(20)));
        assert_eq!(world.get::<B>(entity), Ok(&B(5)));
        assert_eq!(world.get::<T>(entity), Ok(&T(1)));
    }
}

#[test]
fn a_job_that_did_not_run_marks_nothing() {
    let mut world = world_with(2);
    world.spawn((A(1), T(1)));
    let since = world.version();
    world.advance_version();
    let bad = [world.jobs().schedule(&[], (), |()| panic!("no")).unwrap()];
    let _ = world.query_mut::<&mut A>().job().depends_on(&bad).schedule(|a| a.0 = 2);
    let array = world.query_mut::<&mut T>().job().into_array();
    let _ = array.jobs().schedule_for_each(&bad, array, 1, 1, |t, _| t.0 = 2).unwrap();
    let of_a = world.query_filtered::<(), ancho_entities::Changed<A>>().since(since);
    assert!(of_a.is_empty());
    assert_eq!(world.query::<(&A, &T)>().single(), Ok((&A(1), &T(1))));
}

#[test]
fn a_single_threaded_job_that_panics_has_marked_the_yielded_rows() {
    for workers in [0, 2] {
        let mut world = world_of(workers, 10);
        world.spawn_batch((0..40).map(A));
        let since = world.version();
        world.advance_version();
        let mut query = world.query_mut::<&mut A>();
        let job = query.schedule(|a| assert_ne!(std::mem::replace(&mut a.0, 100), 15));
        assert!(world.jobs().try_complete(job).is_err());
        let changed = world.query_filtered::<&A, ancho_entities::Changed<A>>().since(since);
        let expected = [[100; 10], [100, 100, 100, 100, 100, 100, 16, 17, 18, 19]].concat();
        assert!(changed.iter().map(|a| a.0).eq(expected));
    }
}

#[test]
fn a_container_that_turns_out_too_short_is_a_failure() {
    let mut world = world_of(2, 10);
    world.spawn_batch((0..30).map(|at| (A(at), X(at))));
    let mut elements = JobSlice::new(29, 0);
    // The number of matches is not known in advance.
    let job = world.query::<&X>().job().named("Long").with(elements.write());
    let job = job.schedule_parallel(|x, element| *element = x.0);
    let failed = world.jobs().try_complete(job).unwrap_err();
    assert_eq!(failed.job(), "Long");
    assert_eq!(elements.as_slice().unwrap().len(), 29);
    // With one component disabled, the slice is long enough.
    let first = world.query::<&X>().to_entities()[0];
    world.set_component_enabled::<X>(first, false).unwrap();
    let job = world.query::<&X>().job().with((elements.write(), IndexInQuery));
    let job = job.schedule_parallel(|x, (element, index)| {
        assert_eq!(index as u32 + 1, x.0);
        *element = x.0;
    });
    world.jobs().complete(job);
    assert!(elements.as_slice().unwrap().iter().copied().eq(1..30));
}
