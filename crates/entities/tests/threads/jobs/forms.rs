//! Data of jobs: aspects, and all query options.

use std::sync::{Arc, Mutex};

use ancho_entities::{Aspect, Disabled, Entity, Prefab, QueryDescriptor, With};

use crate::jobs::common::*;

#[derive(Aspect)]
struct Pair<'w> {
    a: &'w mut A,
    x: Option<&'w X>,
}

#[test]
fn jobs_can_have_aspects() {
    for workers in WORKERS {
        let mut world = world_of(workers, 10);
        world.spawn_batch((0..25).map(A));
        world.spawn_batch((25..50).map(|at| (A(at), X(1))));
        fn add(pair: Pair<'_>) {
            pair.a.0 += 100 + pair.x.map_or(0, |x| x.0);
        }
        let _ = world.query_mut::<Pair>().schedule(add);
        let _ = world.query_mut::<Pair>().schedule_parallel(add);
        // Reading a component that the aspect writes waits for both jobs.
        let mut all: Vec<_> = world.query::<&A>().iter().map(|a| a.0).collect();
        all.sort_unstable();
        let expected = (0..50).map(|at| at + 200 + if at < 25 { 0 } else { 2 });
        assert!(all.iter().copied().eq(expected), "{all:?}");
    }
}

type Options = fn(QueryDescriptor) -> QueryDescriptor;

#[test]
fn jobs_respect_the_options_of_their_query() {
    let options: [(Options, usize); 6] = [
        (|query| query, 15),
        (|query| query.include_disabled(), 22),
        (|query| query.include_prefabs(), 23),
        (|query| query.include_disabled().include_prefabs(), 39),
        (|query| query.ignore_enabled(), 20),
        (|query| query.filter_write_groups(), 15),
    ];
    for workers in WORKERS {
        let mut world = world_of(workers, 10);
        let plain: Vec<_> = world.spawn_batch((0..20).map(|at| (A(at), X(at)))).collect();
        world.spawn_many((X(0), Disabled), 7);
        world.spawn_many((X(0), Prefab), 8);
        world.spawn_many((X(0), Disabled, Prefab), 9);
        for &entity in &plain[..5] {
            world.set_component_enabled::<X>(entity, false).unwrap();
        }
        for (told, count) in options {
            let told = told(QueryDescriptor::of::<Entity, With<X>>());
            let query = || told.query(&world);
            let found = Arc::new(Mutex::new(Vec::new()));
            let kept = Arc::clone(&found);
            let job = query().job().schedule(move |entity| kept.lock().unwrap().push(entity));
            world.jobs().complete(job);
            assert_eq!(*found.lock().unwrap(), query().to_entities());
            assert_eq!(found.lock().unwrap().len(), count);
        }
    }
}
