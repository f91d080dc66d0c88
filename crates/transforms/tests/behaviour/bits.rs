//! The same bits on every platform.
//!
//! Each method is applied to the same inputs, and the bits of the results are hashed. The hashes are constants, so that a
//! machine that runs this compares itself with all others.

use ancho_entities::{Entity, World};
use ancho_transforms::{
    CustomLocalToWorld, LocalToParent, LocalToWorld, LocalTransform, Parent, Position,
    PostTransformMatrix, Rotation, Scale, TransformAspect, look_rotation, relative_to,
    update_transforms, world_transform,
};
use glam::{Mat4, Quat, Vec3};

/// The number of inputs of a method. Methods that need a world have fewer.
const MANY: usize = 1000;
const FEW: usize = 30;

/// The operands, made without operations of glam.
struct Input {
    transforms: [LocalTransform; 2],
    points: [Vec3; 2],
    /// Not uniform.
    scale: Vec3,
    angle: f32,
    matrix: Mat4,
}

fn inputs(count: usize) -> Vec<Input> {
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((state >> 8) as f32 / 8_388_608.0 - 1.0) * 5.0
    };
    let mut input = || {
        let mut vector = || Vec3::new(next(), next(), next());
        let (points, scale) = ([vector(), vector()], vector());
        let mut transform = || {
            let [x, y, z, w, px, py, pz, scale]: [f32; 8] = std::array::from_fn(|_| next());
            let length = (x * x + y * y + z * z + w * w).sqrt();
            let rotation = Quat::from_xyzw(x / length, y / length, z / length, w / length);
            LocalTransform::new(Vec3::new(px, py, pz), rotation, scale)
        };
        let transforms = [transform(), transform()];
        let mut matrix: [f32; 16] = std::array::from_fn(|_| next());
        for (column, last) in [0.0, 0.0, 0.0, 1.0].into_iter().enumerate() {
            matrix[column * 4 + 3] = last;
        }
        let matrix = Mat4::from_cols_array(&matrix);
        Input { transforms, points, scale, angle: next(), matrix }
    };
    (0..count).map(|_| input()).collect()
}

/// Bits of results, hashed with FNV-1a.
struct Hash(u64);

impl Hash {
    fn add(&mut self, numbers: impl AsRef<[f32]>) {
        for number in numbers.as_ref() {
            self.0 = (self.0 ^ u64::from(number.to_bits())).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    fn add_transform(&mut self, LocalTransform { rotation, position, scale }: LocalTransform) {
        self.add(rotation.to_array());
        self.add(position.to_array());
        self.add([scale]);
    }

    fn add_matrix(&mut self, matrix: Mat4) {
        self.add(matrix.to_cols_array());
    }
}

/// A method, and the hash of its results.
type Method = (&'static str, fn(&Input, &mut Hash), u64);

#[track_caller]
fn assert_hashes(count: usize, methods: &[Method]) {
    let inputs = inputs(count);
    let mut wrong = String::new();
    for &(name, method, expected) in methods {
        let mut hash = Hash(0xcbf2_9ce4_8422_2325);
        inputs.iter().for_each(|input| method(input, &mut hash));
        if hash.0 != expected {
            wrong += &format!("{name}: {:#018x}\n", hash.0);
        }
    }
    assert!(wrong.is_empty(), "other hashes:\n{wrong}");
}

#[test]
fn bits_of_local_transforms() {
    assert_hashes(
        MANY,
        &[
            ("to_matrix", |i, h| h.add_matrix(i.transforms[0].to_matrix()), 0xeabb_f7a6_1551_af6e),
            (
                "affine",
                |i, h| h.add(i.transforms[0].affine().to_cols_array()),
                0x0afb_fe58_bf68_3a38,
            ),
            (
                "from_matrix",
                |i, h| h.add_transform(LocalTransform::from_matrix(i.matrix)),
                0xebf6_103a_f109_e913,
            ),
            (
                "try_from_matrix",
                |i, h| {
                    let matrix = i.transforms[0].scaled(i.transforms[0].scale).to_matrix();
                    h.add_transform(LocalTransform::try_from_matrix(matrix).unwrap_or_default());
                },
                0x3011_2a23_e98e_c978,
            ),
            ("forward", |i, h| h.add(i.transforms[0].forward().to_array()), 0xb69f_bfb3_ef70_aa70),
            ("up", |i, h| h.add(i.transforms[0].up().to_array()), 0x6ad7_06b2_48cb_54f4),
            ("right", |i, h| h.add(i.transforms[0].right().to_array()), 0xc200_5449_49c6_6419),
            (
                "translated",
                |i, h| h.add_transform(i.transforms[0].translated(i.points[0])),
                0xf320_5453_78f1_f183,
            ),
            (
                "rotated",
                |i, h| h.add_transform(i.transforms[0].rotated(i.transforms[1].rotation)),
                0xd54c_e2f2_2afc_0831,
            ),
            (
                "rotated_x",
                |i, h| h.add_transform(i.transforms[0].rotated_x(i.angle)),
                0x2707_60c7_7481_96b6,
            ),
            (
                "rotated_y",
                |i, h| h.add_transform(i.transforms[0].rotated_y(i.angle)),
                0x4d0f_8a40_fa44_3957,
            ),
            (
                "rotated_z",
                |i, h| h.add_transform(i.transforms[0].rotated_z(i.angle)),
                0x2a06_73c9_a65b_c5cc,
            ),
            (
                "scaled",
                |i, h| h.add_transform(i.transforms[0].scaled(i.angle)),
                0x0707_daa6_b4ba_8024,
            ),
            (
                "looking_at",
                |i, h| {
                    h.add_transform(i.transforms[0].looking_at(i.points[0], i.points[1]));
                },
                0x71fe_f3e6_8013_627a,
            ),
            (
                "transform_point",
                |i, h| {
                    h.add(i.transforms[0].transform_point(i.points[0]).to_array());
                },
                0x357a_900b_5e83_1b0c,
            ),
            (
                "transform_direction",
                |i, h| {
                    h.add(i.transforms[0].transform_direction(i.points[0]).to_array());
                },
                0x5064_7445_d9e9_2695,
            ),
            (
                "transform",
                |i, h| h.add_transform(i.transforms[0].transform(i.transforms[1])),
                0xaca6_c56d_6a5a_3ec5,
            ),
            (
                "inverse",
                |i, h| h.add_transform(i.transforms[0].inverse().unwrap_or_default()),
                0xd2a8_8efb_d39b_68a5,
            ),
        ],
    );
}

#[test]
fn bits_of_rotations_and_matrices() {
    assert_hashes(
        MANY,
        &[
            (
                "Rotation::turned",
                |i, h| {
                    h.add(
                        Rotation(i.transforms[0].rotation)
                            .turned(i.transforms[1].rotation)
                            .0
                            .to_array(),
                    );
                },
                0x1420_1cdb_a6f0_bd57,
            ),
            (
                "look_rotation",
                |i, h| h.add(look_rotation(i.points[0], i.points[1]).to_array()),
                0x8a3c_c3d7_d70a_d50a,
            ),
            (
                "LocalToWorld::rotation",
                |i, h| h.add(LocalToWorld(i.matrix).rotation().to_array()),
                0xb3cc_9da1_8973_e802,
            ),
            (
                "LocalToWorld::position and axes",
                |i, h| {
                    let matrix = LocalToWorld(i.matrix);
                    h.add(matrix.position().to_array());
                    h.add(matrix.forward().to_array());
                    h.add(matrix.up().to_array());
                    h.add(matrix.right().to_array());
                    h.add(matrix.affine().to_cols_array());
                },
                0xf991_fdd1_6bf8_fec9,
            ),
            (
                "LocalToWorld::to_world",
                |i, h| {
                    h.add(LocalToWorld(i.matrix).to_world(i.points[0]).to_array());
                },
                0x88d0_0b49_0275_3bdc,
            ),
            (
                "LocalToWorld::to_local",
                |i, h| {
                    h.add(
                        LocalToWorld(i.matrix).to_local(i.points[0]).unwrap_or_default().to_array(),
                    );
                },
                0xec43_35db_fe4f_0242,
            ),
            (
                "relative_to",
                |i, h| {
                    let local = relative_to(&LocalToWorld(i.matrix), i.transforms[0].to_matrix());
                    h.add_matrix(local.unwrap_or_default());
                },
                0x90b1_dfc6_d1d3_fd26,
            ),
        ],
    );
}

/// Spawns a tree with all input components.
fn tree(input: &Input) -> (World, Vec<Entity>) {
    let Input { transforms: [one, other], points, scale, matrix, .. } = *input;
    let mut world = World::new("Bits");
    let mut all = vec![world.spawn(one)];
    let to_parent = LocalToParent::default();
    all.push(world.spawn((other, Parent(all[0]), to_parent)));
    all.push(world.spawn((one, PostTransformMatrix(matrix), Parent(all[1]))));
    all.push(world.spawn((Position(points[0]), Rotation(one.rotation), Parent(all[2]))));
    let placed = (Position(points[1]), Rotation(other.rotation), Scale(scale));
    all.push(world.spawn((placed, Parent(all[3]))));
    all.push(world.spawn((Scale(scale), Parent(all[4]))));
    let custom = world.spawn(CustomLocalToWorld(matrix));
    all.push(world.spawn((other, Parent(custom))));
    update_transforms(&mut world).unwrap();
    (world, all)
}

#[test]
fn bits_of_worlds() {
    assert_hashes(
        FEW,
        &[
            (
                "update_transforms",
                |i, h| {
                    let (world, all) = tree(i);
                    all.iter()
                        .for_each(|&it| h.add_matrix(world.get::<LocalToWorld>(it).unwrap().0));
                    h.add_matrix(world.get::<LocalToParent>(all[1]).unwrap().0);
                },
                0x7e4a_8f33_5d83_473f,
            ),
            (
                "world_transform",
                |i, h| {
                    let (world, all) = tree(i);
                    all.iter().for_each(|&it| h.add_matrix(world_transform(&world, it).unwrap().0));
                },
                0xcd0d_2f57_c736_2899,
            ),
        ],
    );
}

/// Applies a method to an entity with a parent.
fn with_aspect(
    input: &Input,
    hash: &mut Hash,
    method: fn(&Input, &mut Hash, &mut TransformAspect),
) {
    let (mut world, all) = tree(input);
    let mut query = world.query_mut::<TransformAspect>();
    let mut aspect = query.get_mut(all[1]).unwrap();
    method(input, hash, &mut aspect);
    hash.add_transform(*aspect.local);
}

#[test]
fn bits_of_aspects() {
    assert_hashes(
        FEW,
        &[
            (
                "reads",
                |i, h| {
                    with_aspect(i, h, |i, h, aspect| {
                        h.add(aspect.world_position().to_array());
                        h.add(aspect.to_world(i.points[0]).to_array());
                        h.add(aspect.to_local(i.points[0]).unwrap_or_default().to_array());
                    });
                },
                0xa8f8_412d_b7f9_aef5,
            ),
            (
                "translate",
                |i, h| with_aspect(i, h, |i, _, aspect| aspect.translate(i.points[0])),
                0x76e2_756c_17d1_8ce1,
            ),
            (
                "translate_local",
                |i, h| {
                    with_aspect(i, h, |i, _, aspect| aspect.translate_local(i.points[0]));
                },
                0xf2f0_30cf_0159_0fed,
            ),
            (
                "rotate",
                |i, h| {
                    with_aspect(i, h, |i, _, aspect| aspect.rotate(i.transforms[0].rotation));
                },
                0xff25_94c6_97ce_dedb,
            ),
            (
                "look_at",
                |i, h| {
                    with_aspect(i, h, |i, _, aspect| aspect.look_at(i.points[0], i.points[1]));
                },
                0xa54e_e3e6_6a01_7c3b,
            ),
            (
                "place_in_world",
                |i, h| {
                    with_aspect(i, h, |i, _, aspect| {
                        aspect.place_in_world(Some(&LocalToWorld(i.matrix)), i.transforms[0]);
                    });
                },
                0xd086_aecc_0ad3_cc7d,
            ),
        ],
    );
}
