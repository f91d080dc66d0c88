//! Matrices have the same bits on any number of threads.

use ancho_entities::{World, WorldSettings};
use ancho_jobs::JobPool;
use ancho_transforms::update_transforms;

use crate::script::Forest;

/// Returns the state hash after each update.
fn hashes(workers: usize, seed: u64, nodes: usize, updates: usize) -> Vec<u64> {
    let pool = JobPool::builder().workers(workers).build().unwrap();
    let settings = WorldSettings::new().job_pool(&pool);
    let mut forest = Forest::new(World::with_settings("reference", settings), seed, nodes);
    let mut hashes = Vec::new();
    for _ in 0..updates {
        update_transforms(&mut forest.world).unwrap();
        hashes.push(forest.world.state_hash());
        forest.change(50);
    }
    hashes
}

#[test]
fn a_forest_is_the_same_for_any_number_of_workers() {
    for (seed, nodes, updates) in [(1, 200, 30), (2, 6_000, 8)] {
        let alone = hashes(0, seed, nodes, updates);
        for workers in [1, 2, 4] {
            assert_eq!(hashes(workers, seed, nodes, updates), alone, "{workers} workers");
        }
    }
}
