//! Tests of the bisector: it finds the exact frame, system, job, chunk, entity and field.

mod entities;
mod nondeterminism;
mod systems;
mod unhashable;
mod values;

use ancho_bisect::{Bisection, Divergence};
use ancho_entities::{World, WorldSettings};
use ancho_jobs::JobPool;

/// Returns a world with a number of workers.
fn world(name: &str, workers: usize) -> World {
    let pool = JobPool::builder().workers(workers).build().unwrap();
    World::with_settings(name, WorldSettings::new().job_pool(&pool))
}

/// Returns the divergence between the worlds that a function makes of `false` and of `true`.
fn parted(make: impl Fn(bool) -> World + Send + Sync) -> Divergence {
    let found = Bisection::of(|| make(false)).against(|| make(true)).frames(8).run();
    found.unwrap().expect("they part")
}
