//! Matrices that other code writes, by write groups.

use ancho_entities::Component;
use ancho_transforms::{LocalToWorld, Parent, Position};
use glam::{Mat4, Vec3};

use crate::common::{at, place, update, world};

/// Marks an entity whose matrix other code writes.
#[derive(Component, Clone, Copy)]
#[component(write_group(LocalToWorld))]
struct Wobble;

#[test]
fn matrices_of_write_group_members_are_not_written() {
    let mut world = world();
    let flat = world.spawn((at(1.0, 0.0, 0.0), Wobble));
    let root = world.spawn(at(1.0, 0.0, 0.0));
    let inner = world.spawn((at(0.0, 1.0, 0.0), Parent(root), Wobble));
    let leaf = world.spawn((at(0.0, 0.0, 1.0), Parent(inner)));
    update(&mut world);
    assert_eq!(place(&world, flat), Vec3::ZERO, "the matrix was never written");
    assert_eq!(place(&world, inner), Vec3::ZERO);
    assert_eq!(place(&world, leaf), Vec3::Z);

    world.get_mut::<LocalToWorld>(inner).unwrap().0 = Mat4::from_translation(Vec3::splat(3.0));
    world.get_mut::<Position>(root).unwrap().0 = Vec3::ZERO;
    update(&mut world);
    assert_eq!(place(&world, inner), Vec3::splat(3.0));
    assert_eq!(place(&world, leaf), Vec3::new(3.0, 3.0, 4.0), "the descent goes on below it");

    world.remove::<Wobble>(inner).unwrap();
    update(&mut world);
    assert_eq!(place(&world, leaf), Vec3::new(0.0, 1.0, 1.0));
}
