//! Jobs scheduled by systems.

use std::sync::{Arc, Barrier};

use ancho_entities::{Query, World, WorldSettings};
use ancho_jobs::JobPool;

use crate::jobs::common::*;

#[test]
fn jobs_of_a_frame_are_worked_on_in_any_order_when_all_are_awaited() {
    let pool = JobPool::builder().workers(1).build().unwrap();
    let mut world = World::with_settings("test", WorldSettings::new().job_pool(&pool));
    let entity = world.spawn((A(1), B(2)));
    // Each job waits for the other, so that two threads have to run them.
    let met = Arc::new(Barrier::new(2));
    let also_met = Arc::clone(&met);
    world.add_system(move |mut all: Query<&mut A>| {
        let met = Arc::clone(&met);
        all.schedule(move |a| {
            met.wait();
            a.0 += 10;
        });
    });
    world.add_system(move |mut all: Query<&mut B>| {
        let met = Arc::clone(&also_met);
        all.schedule(move |b| {
            met.wait();
            b.0 += 10;
        });
    });
    for _ in 0..100 {
        world.update(0.1);
        world.complete_jobs();
    }
    assert_eq!((world.get(entity), world.get(entity)), (Ok(&A(1001)), Ok(&B(1002))));
}
