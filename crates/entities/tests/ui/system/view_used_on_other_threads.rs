//! Inside a parallel loop there are no other views: their thread would be unknown.

use ancho_entities::{Component, Query};

#[derive(Component)]
struct Health(u32);

#[derive(Component)]
struct Armour(u32);

fn hurt(mut health: Query<&mut Health>, armour: Query<&Armour>) {
    health.for_each_parallel(|health| health.0 += armour.count() as u32);
}

fn main() {}
