use ancho_entities::{Component, World, WorldSettings};
use ancho_jobs::JobPool;

#[derive(Component, Clone, Copy, PartialEq, Debug)]
struct A(u32);
#[derive(Component, Clone, Copy, PartialEq, Debug)]
struct B(u32);

#[test]
fn first() {
    for workers in [0, 1, 2, 4] {
        let pool = JobPool::builder().workers(workers).build().unwrap();
        let mut world = World::with_settings("W", WorldSettings::new().job_pool(&pool));
        world.spawn_batch((0..10_000).map(|at| (A(at), B(1))));
        for _ in 0..100 {
            let _ =
                world.query_mut::<(&mut A, &B)>().schedule_parallel(|(a, b)| a.0 += b.0).unwrap();
            let _ = world.query_mut::<&mut A>().schedule(|a| a.0 *= 1).unwrap();
        }
        assert!(world.query::<&A>().iter().map(|a| a.0).eq(100..10_100));
    }
}
