//! The same matrices, to the last bit, whatever the number of threads.

use ancho_entities::{Entity, World, WorldSettings};
use ancho_jobs::JobPool;
use ancho_transforms::{
    LocalToWorld, LocalTransform, Parent, Position, Rotation, update_transforms,
};
use glam::{Quat, Vec3};

/// A forest of several levels, and some that stand alone, which move, come and go.
fn run(workers: usize) -> (u64, Vec<LocalToWorld>) {
    let pool = JobPool::builder().workers(workers).build().unwrap();
    let mut world = World::with_settings("Simulation", WorldSettings::new().job_pool(&pool));
    let mut all: Vec<Entity> = Vec::new();
    for number in 0..6_000_usize {
        let turn = Quat::from_rotation_y(number as f32 * 0.1);
        let place = Vec3::new(number as f32 * 0.01, 1.0, 0.0);
        all.push(match number {
            0..20 => world.spawn(LocalTransform::from_position_rotation(place, turn)),
            20..5_000 => {
                let parent = Parent(all[number / 4]);
                world.spawn((LocalTransform::from_position_rotation(place, turn), parent))
            }
            _ => world.spawn((Position(place), Rotation(turn))),
        });
    }
    let mut hash = 0_u64;
    for frame in 0..6_usize {
        // All of them, then few.
        let step = if frame < 3 { 1 } else { 400 };
        for (number, &entity) in all.iter().enumerate().filter(|(number, _)| number % step == 0) {
            if let Ok(local) = world.get_mut::<LocalTransform>(entity) {
                local.rotation = Quat::from_rotation_x((frame + number) as f32 * 0.2);
            }
        }
        world.despawn(all[4_900 + frame]).unwrap();
        world.add(all[30 + frame], Parent(all[frame])).unwrap();
        update_transforms(&mut world).unwrap();
        hash = hash.rotate_left(7) ^ world.state_hash();
    }
    let matrices = all.iter().filter_map(|&entity| world.get::<LocalToWorld>(entity).ok().copied());
    (hash, matrices.collect())
}

#[test]
fn matrices_are_the_same_whatever_the_number_of_workers() {
    let alone = run(0);
    assert!(alone.1.len() > 5_900);
    for workers in [1, 2, 4] {
        assert_eq!(run(workers), alone, "{workers} workers");
    }
}
