//! Two views that change the same would lead to one value twice.

use ancho_entities::{Component, Query};

#[derive(Component)]
struct Health(u32);

fn heal(mut health: Query<&mut Health>) {
    let mut other: Query<'_, &mut Health> = health.clone();
    for (one, two) in health.iter_mut().zip(other.iter_mut()) {
        one.0 += two.0;
    }
}

fn main() {}
