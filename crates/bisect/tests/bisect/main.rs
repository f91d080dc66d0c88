//! Tests of the bisector: it finds the exact frame, system, job, chunk, entity and field.

mod entities;
mod nondeterminism;
mod state;
mod systems;
mod unhashable;
mod values;

use ancho_bisect::{Bisection, BisectionError, Divergence};
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

#[test]
fn unwrap_shows_the_message_of_each_error() {
    let messages = ["no input".to_owned(), "no sound".to_owned()];
    for error in [
        BisectionError::Panicked { frame: 3, messages },
        BisectionError::Lost { run: 1, message: "no hash".to_owned() },
    ] {
        let message = error.to_string();
        assert!(message.starts_with("A0"), "{message}");
        assert_eq!(format!("{error:?}"), message);
    }
    let found = parted(|is_second| {
        let mut world = world("test", 0);
        world.spawn_many((), usize::from(is_second));
        world
    });
    assert!(found.to_string().starts_with("A0075: "), "{found}");
    assert_eq!(format!("{found:?}"), found.to_string());
}
