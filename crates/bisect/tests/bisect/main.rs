//! Where two runs of a program part: the bisector finds exactly the frame, system, job, chunk, entity and field.

mod entities;
mod nondeterminism;
mod systems;
mod unhashable;
mod values;

use ancho_bisect::{Bisection, Divergence};
use ancho_entities::{World, WorldSettings};
use ancho_jobs::JobPool;

/// A world that so many workers work for.
fn world(name: &str, workers: usize) -> World {
    let pool = JobPool::builder().workers(workers).build().unwrap();
    World::with_settings(name, WorldSettings::new().job_pool(&pool))
}

/// Where two worlds part that a function makes of `false` and of `true`.
fn parted(make: impl Fn(bool) -> World + Send + Sync) -> Divergence {
    let found = Bisection::of(|| make(false)).against(|| make(true)).frames(8).run();
    found.unwrap().expect("they part")
}
