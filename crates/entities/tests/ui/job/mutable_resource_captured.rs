use ancho_entities::{Component, Query, ResMut, Resource};

#[derive(Component)]
struct Health(u32);

#[derive(Clone, Resource)]
struct Damage(u32);

fn sum_up(mut all: Query<&Health>, mut damage: ResMut<Damage>) {
    all.schedule(move |health| damage.0 += health.0);
}

fn main() {}
