//! Jobs that use different components of the same chunks at the same time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ancho_entities::{
    Buffer, Changed, EnabledMut, Entity, Lookup, Query, Shared, With, Without, World,
};

use crate::jobs::common::*;

fn fill(world: &mut World, count: u32) -> Vec<Entity> {
    let buffer = Buffer::<Item>::new;
    let sets = (0..count).map(|at| {
        (
            A(at),
            B(0),
            X(at),
            Y,
            T(0),
            E(0),
            Text(String::new()),
            buffer(),
            Shared::new(Team(at % 2)),
        )
    });
    world.spawn_batch(sets).collect()
}

/// Returns a function that signals a job's arrival, and blocks until all have arrived.
fn meet(here: &Arc<AtomicUsize>, all: usize) -> impl FnMut() + Send + use<> {
    let here = Arc::clone(here);
    let mut is_first = true;
    move || {
        if std::mem::take(&mut is_first) {
            here.fetch_add(1, Ordering::SeqCst);
            eventually(|| here.load(Ordering::SeqCst) == all);
        }
    }
}

#[test]
fn writers_of_different_components_of_a_chunk_run_together() {
    let mut world = world_of(6, 100);
    fill(&mut world, 500);
    let here = Arc::new(AtomicUsize::new(0));
    let [mut a, mut b, mut x] = [meet(&here, 6), meet(&here, 6), meet(&here, 6)];
    let [mut t, mut e, mut text] = [meet(&here, 6), meet(&here, 6), meet(&here, 6)];
    let _ = world.query_mut::<&mut A>().schedule(move |value| {
        a();
        value.0 += 1;
    });
    let _ = world.query_mut::<&mut B>().schedule(move |value| {
        b();
        value.0 += 1;
    });
    let _ = world.query_mut::<EnabledMut<X>>().schedule(move |mut on| {
        x();
        on.set(false);
    });
    let _ = world.query_mut::<&mut T>().schedule(move |value| {
        t();
        value.0 += 1;
    });
    let _ = world.query_mut::<&mut E>().schedule(move |value| {
        e();
        value.0 += 1;
    });
    let _ = world.query_mut::<&mut Text>().schedule(move |value| {
        text();
        value.0.push('x');
    });
    world.jobs().flush();
    eventually(|| here.load(Ordering::SeqCst) == 6);
    assert!(
        world
            .query::<(&B, &T, &E, &Text)>()
            .iter()
            .all(|(b, t, e, text)| { (b.0, t.0, e.0, text.0.as_str()) == (1, 1, 1, "x") })
    );
    assert_eq!(world.query::<&X>().count(), 0);
}

#[test]
fn the_thread_of_the_world_is_in_the_same_chunks_as_jobs() {
    let mut world = world_of(3, 100);
    let all = fill(&mut world, 500);
    let (one, two) = (Gate::default(), Gate::default());
    let stand = one.stand();
    let _ = world.query_mut::<(&mut A, &mut T)>().schedule_parallel(move |(a, t)| {
        stand();
        a.0 += 1;
        t.0 += 1;
    });
    let (stand, goals) = (two.stand(), all.clone());
    let (query, lookup) = world.split::<(Query<Entity, With<Y>>, Lookup<&mut E>)>();
    let job = query.job().with(lookup.into_job()).schedule(move |entity, e| {
        stand();
        e.get_mut(entity).unwrap().0 += 1;
        assert!(e.has(goals[0]));
    });
    let _ = job;
    one.await_job(&world);
    two.await_job(&world);
    one.beside("main", || {
        two.beside("main", || {
            world.query_mut::<(&mut B, &mut X)>().for_each(|(b, x)| b.0 += u64::from(x.0));
            for &entity in all.iter().step_by(7) {
                world.get_mut::<Text>(entity).unwrap().0.push('x');
                world.buffer_mut::<Item>(entity).unwrap().push(Item(3));
                world.set_component_enabled::<X>(entity, false).unwrap();
            }
            assert_eq!(world.query::<&X>().count(), 428);
            assert_eq!(world.query_filtered::<&B, Without<X>>().count(), 72);
            let seen = world.version();
            world.advance_version();
            world.get_mut::<B>(all[0]).unwrap().0 = 0;
            assert_eq!(world.query_filtered::<(), Changed<B>>().since(seen).count(), 100);
            assert_eq!(
                world.query::<(&B, &Shared<Team>)>().with_shared(Team(1)).iter().count(),
                250
            );
        });
    });
    one.open();
    two.open();
    assert!(world.query::<(&T, &E)>().iter().all(|(t, e)| (t.0, e.0) == (1, 1)));
}

#[test]
fn jobs_of_all_kinds_pile_up() {
    for workers in [1, 4] {
        let mut world = world_of(workers, 64);
        let all = fill(&mut world, 1000);
        for round in 0..30 {
            let _ = world.query_mut::<(&mut A, &X)>().schedule_parallel(|(a, _)| a.0 += 1);
            let _ = world
                .query_mut::<(&A, EnabledMut<Y>)>()
                .schedule_parallel(move |(a, mut on)| on.set(a.0 % 3 == round % 3));
            let _ = world.query_filtered_mut::<&mut B, With<Y>>().schedule_parallel(|b| b.0 += 1);
            let _ = world.query_mut::<(&B, &mut T)>().schedule(|(b, t)| t.0 += b.0 as u32);
            let goal = all[round as usize];
            let (query, lookup) = world.split::<(Query<&mut Text>, Lookup<(&A, &B)>)>();
            let job = query.job().with(lookup.into_job());
            let _ = job.schedule_parallel(move |text, lookup| {
                let (a, b) = lookup.get(goal).unwrap();
                text.0 = format!("{} {}", a.0, b.0);
            });
            let mut query = world.query_filtered_mut::<&mut Buffer<Item>, Changed<T>>();
            let _ = query.schedule_parallel(|mut items| items.push(Item(1)));
            if round % 5 == 0 {
                world.spawn((A(round), Tag));
                world.get_mut::<B>(goal).unwrap().0 += 1;
            }
        }
        assert!(world.query::<(&A, &X)>().iter().all(|(a, x)| a.0 == x.0 + 30));
        assert!(world.query::<&Buffer<Item>>().iter().all(|items| items.len() == 30));
        assert!(world.jobs().take_failures().is_empty());
    }
}
