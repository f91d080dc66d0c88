//! Hierarchies against a naive computation.

use ancho_entities::{Entity, World};
use ancho_transforms::{LocalTransform, Parent, Position, PostTransformMatrix, Rotation, Scale};
use glam::{Mat4, Quat, Vec3};

use crate::common::{chain, matrix, place, update, world};

/// Pseudorandom numbers, the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }

    fn number(&mut self) -> f32 {
        self.below(2000) as f32 / 1000.0 - 1.0
    }

    fn vector(&mut self) -> Vec3 {
        Vec3::new(self.number(), self.number(), self.number())
    }

    fn rotation(&mut self) -> Quat {
        let axis = self.vector().normalize_or(Vec3::X);
        Quat::from_axis_angle(axis, 3.0 * self.number())
    }
}

/// Composes the local matrix of an entity.
fn local(world: &World, entity: Entity) -> Mat4 {
    let own = if let Ok(local) = world.get::<LocalTransform>(entity) {
        Mat4::from_scale_rotation_translation(
            Vec3::splat(local.scale),
            local.rotation,
            local.position,
        )
    } else {
        let position = world.get::<Position>(entity).map_or(Vec3::ZERO, |position| position.0);
        let rotation = world.get::<Rotation>(entity).map_or(Quat::IDENTITY, |rotation| rotation.0);
        let scale = world.get::<Scale>(entity).map_or(Vec3::ONE, |scale| scale.0);
        Mat4::from_scale_rotation_translation(scale, rotation, position)
    };
    own * world.get::<PostTransformMatrix>(entity).map_or(Mat4::IDENTITY, |post| post.0)
}

/// Multiplies the local matrices of an entity and its ancestors.
fn naive(world: &World, entity: Entity) -> Mat4 {
    let mut matrix = local(world, entity);
    let mut at = entity;
    while let Ok(parent) = world.get::<Parent>(at) {
        matrix = local(world, parent.0) * matrix;
        at = parent.0;
    }
    matrix
}

#[track_caller]
fn check(world: &World, all: &[Entity]) {
    for &entity in all.iter().filter(|&&entity| world.exists(entity)) {
        let (is, should) = (matrix(world, entity), naive(world, entity));
        assert!(
            is.abs_diff_eq(should, 1e-3 * (1.0 + should.w_axis.abs().max_element())),
            "{entity}: {is} is not {should}"
        );
    }
}

fn spawn(world: &mut World, random: &mut Random) -> Entity {
    let position = Position(random.vector());
    let rotation = Rotation(random.rotation());
    let scale = Scale(Vec3::splat(1.0) + random.vector() * 0.2);
    match random.below(10) {
        0 => world.spawn(position),
        1 => world.spawn(rotation),
        2 => world.spawn(scale),
        3 => world.spawn((position, scale)),
        4 => world.spawn((rotation, scale)),
        5 | 6 => world.spawn((position, rotation)),
        7 => world.spawn((position, rotation, scale)),
        8 => world.spawn(LocalTransform::new(position.0, rotation.0, scale.0.x)),
        _ => world.spawn((
            LocalTransform::new(position.0, rotation.0, scale.0.x),
            PostTransformMatrix(Mat4::from_scale(scale.0)),
        )),
    }
}

#[test]
fn a_changing_forest_equals_the_naive_computation() {
    for seed in 0..6 {
        let mut random = Random(seed);
        let mut world = world();
        let mut all: Vec<_> = (0..400).map(|_| spawn(&mut world, &mut random)).collect();
        for _ in 0..40 {
            for _ in 0..random.below(60) {
                let at = random.below(all.len());
                let entity = all[at];
                match random.below(12) {
                    // Those before it in the list: there are no cycles.
                    0..=4 if at > 0 => {
                        let parent = Parent(all[random.below(at)]);
                        _ = world.add(entity, parent);
                    }
                    5 => _ = world.remove::<Parent>(entity),
                    6 => {
                        // Its descendants are despawned with it, or stay.
                        if random.below(2) == 0 {
                            world.detach_children(entity).unwrap();
                        }
                        world.despawn(entity).unwrap();
                        all.retain(|&entity| world.exists(entity));
                    }
                    7 => all.push(spawn(&mut world, &mut random)),
                    8 => _ = world.add(entity, Scale(Vec3::splat(1.1))),
                    // One that has nothing left would stay where it is.
                    9 if world.has::<(Position, Rotation)>(entity) => {
                        world.remove::<Rotation>(entity).unwrap();
                    }
                    _ => {
                        if let Ok(position) = world.get_mut::<Position>(entity) {
                            position.0 = random.vector();
                        } else if let Ok(local) = world.get_mut::<LocalTransform>(entity) {
                            local.rotation = random.rotation();
                        }
                    }
                }
            }
            update(&mut world);
            check(&world, &all);
        }
    }
}

#[test]
fn a_tree_of_sixteen_nodes() {
    let mut world = world();
    let turns =
        [Quat::from_rotation_y(0.7), Quat::from_rotation_x(-0.4), Quat::from_rotation_z(1.2)];
    let mut all: Vec<Entity> = Vec::new();
    for node in 0..16_usize {
        let place = Vec3::new(0.0, 1.0 + node as f32 * 0.1, 0.5);
        let own = (Position(place), Rotation(turns[node % 3]));
        let parent = node.checked_sub(1).map(|before| all[before / 2]);
        let entity = world.spawn(own);
        if let Some(parent) = parent {
            world.spawn(ancho_transforms::Attach { parent, child: entity });
        }
        all.push(entity);
    }
    update(&mut world);
    check(&world, &all);
    for &entity in &all[1..] {
        let to_parent = world.get::<ancho_transforms::LocalToParent>(entity).unwrap().0;
        assert!(to_parent.abs_diff_eq(local(&world, entity), 1e-5));
    }
}

#[test]
fn children_inherit_non_uniform_scale() {
    let mut world = world();
    let squash = PostTransformMatrix(Mat4::from_scale(Vec3::new(1.0, 2.0, 3.0)));
    let mut all =
        vec![world.spawn((LocalTransform::from_rotation(Quat::from_rotation_x(1.0)), squash))];
    for node in 1..8_usize {
        let own = LocalTransform::new(Vec3::X, Quat::from_rotation_y(node as f32), 0.9);
        let parent = Parent(all[(node - 1) / 2]);
        all.push(if node % 3 == 0 {
            world.spawn((own, parent, squash))
        } else {
            world.spawn((own, parent))
        });
    }
    update(&mut world);
    check(&world, &all);
}

#[test]
fn a_chain_of_ten_thousand() {
    let mut world = world();
    let chain = chain(&mut world, 10_000);
    update(&mut world);
    assert_eq!(place(&world, chain[9_999]), Vec3::new(10_000.0, 0.0, 0.0));
    world.get_mut::<LocalTransform>(chain[0]).unwrap().position = Vec3::ZERO;
    update(&mut world);
    assert_eq!(place(&world, chain[9_999]), Vec3::new(9_999.0, 0.0, 0.0));
    world.detach_children(chain[5_000]).unwrap();
    world.despawn(chain[5_000]).unwrap();
    update(&mut world);
    assert_eq!(place(&world, chain[9_999]), Vec3::new(4_999.0, 0.0, 0.0));
    assert_eq!(place(&world, chain[4_999]), Vec3::new(4_999.0, 0.0, 0.0));
}
