//! ancho: the systems that `add_transforms` adds to a world.

use ancho_entities::{Component, Entity, World};
use ancho_transforms::{AddTransforms, LocalToWorld, LocalTransform, Parent, Position, Rotation};
use glam::Mat4;

use super::work::{Churning, Pose, Scene, Subject};

/// The length of a frame.
const FRAME: f64 = 1.0 / 60.0;

/// The number of a node.
#[derive(Component, Clone, Copy)]
struct Node(u32);

fn world() -> World {
    let mut world = World::new("peers");
    assert_eq!(world.jobs().thread_count(), 2, "the peers have two threads");
    world.add_transforms();
    world
}

/// Runs a frame, until its last job is done.
fn update(world: &mut World) {
    world.update(FRAME);
    world.complete_jobs();
}

fn matrices(world: &mut World) -> Vec<(usize, Mat4)> {
    let query = world.query::<(&Node, &LocalToWorld)>();
    query.iter().map(|(node, matrix)| (node.0 as usize, matrix.0)).collect()
}

/// Nodes of trees.
pub(super) struct Nodes {
    world: World,
    entities: Vec<Entity>,
}

#[inline]
fn transform(pose: Pose) -> LocalTransform {
    let Pose { position, rotation, scale } = pose;
    LocalTransform { position, rotation, scale }
}

impl Subject for Nodes {
    fn new(scene: &Scene) -> Nodes {
        let mut world = world();
        let mut entities: Vec<Entity> = Vec::with_capacity(scene.parents.len());
        for (number, parent) in scene.parents.iter().enumerate() {
            let node = (Node(number as u32), transform(scene.pose(number)));
            let entity = match parent {
                Some(parent) => world.spawn((node.0, node.1, Parent(entities[*parent]))),
                None => world.spawn(node),
            };
            entities.push(entity);
        }
        Nodes { world, entities }
    }

    fn write(&mut self, scene: &Scene) {
        let Nodes { world, entities } = self;
        if scene.all_move() {
            let mut query = world.query_mut::<(&Node, &mut LocalTransform)>();
            query.for_each(|(node, place)| *place = transform(scene.pose(node.0 as usize)));
            return;
        }
        for &node in &scene.moving {
            let place = world.get_mut::<LocalTransform>(entities[node]).expect("all have it");
            *place = transform(scene.pose(node));
        }
    }

    fn propagate(&mut self) {
        update(&mut self.world);
    }

    fn matrices(&mut self) -> Vec<(usize, Mat4)> {
        matrices(&mut self.world)
    }
}

impl Churning for Nodes {
    fn come(&mut self, scene: &Scene, node: usize) {
        let parent = Parent(self.entities[scene.parents[node].expect("it is no root")]);
        let spawned = (Node(node as u32), transform(scene.pose(node)), parent);
        self.entities[node] = self.world.spawn(spawned);
    }

    fn go(&mut self, node: usize) {
        self.world.despawn(self.entities[node]).expect("it is there");
    }
}

/// Positions and rotations without a hierarchy.
pub(super) struct Flat(World);

impl Subject for Flat {
    fn new(scene: &Scene) -> Flat {
        let mut world = world();
        world.spawn_batch((0..scene.parents.len()).map(|number| {
            let pose = scene.pose(number);
            (Node(number as u32), Position(pose.position), Rotation(pose.rotation))
        }));
        Flat(world)
    }

    fn write(&mut self, scene: &Scene) {
        let mut query = self.0.query_mut::<(&Node, &mut Position, &mut Rotation)>();
        query.for_each(|(node, position, rotation)| {
            let pose = scene.pose(node.0 as usize);
            (position.0, rotation.0) = (pose.position, pose.rotation);
        });
    }

    fn propagate(&mut self) {
        update(&mut self.0);
    }

    fn matrices(&mut self) -> Vec<(usize, Mat4)> {
        matrices(&mut self.0)
    }
}
