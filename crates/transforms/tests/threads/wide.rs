//! Hierarchies with wide levels, in which few nodes move at a time, some with many nodes below.

use ancho_entities::{Entity, World, WorldSettings};
use ancho_jobs::JobPool;
use ancho_transforms::{
    CustomLocalToWorld, LocalToWorld, LocalTransform, Parent, update_transforms,
};
use glam::{Affine3A, Mat4, Quat, Vec3};

struct Random(u64);
impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
    fn number(&mut self) -> f32 {
        (self.next() >> 40) as f32 / 8_388_608.0 - 1.0
    }
    fn local(&mut self) -> LocalTransform {
        let (x, y, z, w) = (self.number(), self.number(), self.number(), self.number());
        LocalTransform {
            position: Vec3::new(x, y, z),
            rotation: Quat::from_xyzw(y, z, x, w + 1.5).normalize(),
            scale: 1.0,
        }
    }
}

fn affine(local: &LocalTransform) -> Affine3A {
    Affine3A::from_scale_rotation_translation(
        Vec3::splat(local.scale),
        local.rotation,
        local.position,
    )
}

/// Returns the hash of the world after each update. Compares every node with its parent's matrix.
fn run(workers: usize, seed: u64, wide: usize) -> Vec<u64> {
    let pool = JobPool::builder().workers(workers).build().unwrap();
    let mut world = World::with_settings("Simulation", WorldSettings::new().job_pool(&pool));
    let mut random = Random(seed);
    let roots = 1 + random.below(3);
    let total = 6000 + random.below(6000);
    let mut all: Vec<Entity> = Vec::new();
    let mut custom: Vec<usize> = Vec::new();
    for number in 0..total {
        let local = random.local();
        let entity = if number < roots {
            world.spawn(local)
        } else {
            world.spawn((local, Parent(all[(number - roots) / wide])))
        };
        if random.below(150) == 0 && number > 20 {
            world.add(entity, CustomLocalToWorld(Mat4::from(affine(&random.local())))).unwrap();
            custom.push(number);
        }
        all.push(entity);
    }
    update_transforms(&mut world).unwrap();
    let mut hashes = Vec::new();
    let mut bad: Vec<usize> = Vec::new();
    // A debug build takes ten times as long.
    for step in 0..if cfg!(debug_assertions) { 8 } else { 25 } {
        let mut touched: Vec<usize> = Vec::new();
        for _ in 0..random.below(12) {
            let level = random.below(5);
            let end = [roots, roots + 10, 80, 700, total][level];
            touched.push(random.below(end));
        }
        for &number in &touched {
            *world.get_mut::<LocalTransform>(all[number]).unwrap() = random.local();
        }
        bad.retain(|number| !touched.contains(number));
        if random.below(4) == 0 {
            let number = roots + random.below(2000);
            world.get_mut::<LocalTransform>(all[number]).unwrap().position.x = f32::NAN;
            if !bad.contains(&number) {
                bad.push(number);
            }
        }
        if random.below(3) == 0 && !custom.is_empty() {
            let number = custom[random.below(custom.len())];
            let matrix = Mat4::from(affine(&random.local()));
            world.get_mut::<CustomLocalToWorld>(all[number]).unwrap().0 = matrix;
        }
        if random.below(5) == 0 {
            // Another parent, for a leaf.
            let number = total - 1 - random.below(500);
            let parent = random.below(600);
            world.add(all[number], Parent(all[parent])).unwrap();
        }
        let _ = update_transforms(&mut world);
        for (number, &entity) in all.iter().enumerate() {
            if bad.contains(&number) || custom.contains(&number) {
                continue;
            }
            let local = affine(world.get::<LocalTransform>(entity).unwrap());
            let wanted = match world.get::<Parent>(entity) {
                Ok(&Parent(parent)) => {
                    let above = match world.get::<CustomLocalToWorld>(parent) {
                        Ok(custom) => Affine3A::from_mat4(custom.0),
                        Err(_) => Affine3A::from_mat4(world.get::<LocalToWorld>(parent).unwrap().0),
                    };
                    above * local
                }
                Err(_) => local,
            };
            let found = Affine3A::from_mat4(world.get::<LocalToWorld>(entity).unwrap().0);
            assert!(
                found.abs_diff_eq(wanted, 1e-4),
                "seed {seed} step {step} node {number} of {total}: {found:?} {wanted:?} touched {touched:?} bad {bad:?}"
            );
        }
        hashes.push(world.state_hash());
    }
    hashes
}

#[test]
fn few_moving_nodes_above_many_are_correct_on_any_number_of_threads() {
    for (seed, wide) in [(0, 2), (1, 5), (2, 8)] {
        assert_eq!(run(2, seed, wide), run(0, seed, wide));
    }
}
