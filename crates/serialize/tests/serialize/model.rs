//! Random changes of a world and of a loaded copy, which stay equal.

use ancho_entities::{Entity, Parent, Shared, World};
use ancho_serialize::{Delta, LoadOptions};

use crate::common::*;

/// A small generator of random numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

/// Makes random structural changes. The same state and seed make the same changes.
fn change(world: &mut World, seed: u64) {
    let mut random = Random(seed);
    for _ in 0..60 {
        let all: Vec<Entity> = world.iter_entities().collect();
        let some = (!all.is_empty()).then(|| all[random.below(all.len().max(1))]);
        match (random.below(9), some) {
            (0, _) | (_, None) => {
                let count = 1 + random.below(400);
                world.spawn_many(Position([count as f32; 3]), count);
            }
            (1, _) => {
                let team = Shared::new(Team(random.below(4).to_string()));
                world.spawn_many((team, Engine(7)), 1 + random.below(300));
            }
            (2, Some(entity)) => _ = world.despawn(entity),
            (3, Some(entity)) => _ = world.add(entity, Mood::Fleeing(true, 3)),
            (4, Some(entity)) => _ = world.remove::<Position>(entity),
            (5, Some(entity)) => {
                let team = Shared::new(Team(random.below(5).to_string()));
                _ = world.add(entity, team);
            }
            (6, Some(entity)) => {
                _ = world.set_component_enabled::<Engine>(entity, random.below(2) == 0);
            }
            (7, Some(entity)) => {
                let parent = all[random.below(all.len())];
                _ = world.add(entity, Parent(parent));
            }
            (_, Some(_)) => {
                for &entity in all.iter().skip(random.below(50)).step_by(2 + random.below(9)) {
                    _ = world.despawn(entity);
                }
            }
        }
    }
}

#[test]
fn a_loaded_world_goes_on_like_the_saved_one() {
    for seed in 0..12_u64 {
        let mut world = World::new("Model");
        for round in 0..6 {
            let mut again = loaded(&saved(&world));
            let before = world.fork().unwrap();
            let step = seed * 100 + round;
            change(&mut world, step);
            change(&mut again, step);
            assert_eq!(again.state_hash(), world.state_hash(), "seed {seed}, round {round}");
            let mut third = { before }.fork().unwrap();
            let before = third.fork().unwrap();
            let delta = Delta::between(&before, &world).unwrap();
            delta.apply(&mut third, LoadOptions::new()).unwrap();
            assert_eq!(third.state_hash(), world.state_hash(), "seed {seed}, round {round}");
        }
    }
}
