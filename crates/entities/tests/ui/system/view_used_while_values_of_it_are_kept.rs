use ancho_entities::{Component, Query};

#[derive(Component, Clone, Copy)]
struct Health(u32);

fn heal(mut health: Query<&mut Health>) {
    let first = health.iter_mut().next().unwrap();
    health.for_each_parallel(|health| health.0 += 1);
    first.0 += 1;
    let first = health.iter_mut().next().unwrap();
    health.copy_from(&[Health(1)]).unwrap();
    first.0 += 1;
}

fn main() {}
