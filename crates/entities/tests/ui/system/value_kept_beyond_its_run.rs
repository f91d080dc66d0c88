//! Neither what a view gives nor a view can be put where it stays when the system has returned.

use std::sync::Mutex;

use ancho_entities::{Component, Query, Res, ResMut, Resource, Single};

#[derive(Component)]
struct Health(u32);

#[derive(Resource, Clone)]
struct Settings(u32);

#[derive(Resource)]
#[resource(local)]
struct Kept(Option<&'static u32>);

static KEPT: Mutex<Option<&'static Health>> = Mutex::new(None);

fn of_a_query(health: Query<&Health>) {
    *KEPT.lock().unwrap() = health.iter().next();
}

fn of_a_single(health: Single<&Health>) {
    *KEPT.lock().unwrap() = Some(health.into_inner());
}

fn of_a_resource(settings: Res<Settings>, mut kept: ResMut<Kept>) {
    kept.0 = Some(&settings.0);
}

fn main() {}
