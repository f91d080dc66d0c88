//! bevy_transform: a `Transform` with a position, a rotation and a scale along each axis, and the systems of its plugin.

use std::marker::PhantomData;

use bevy_ecs::prelude::*;
use bevy_ecs::schedule::SingleThreadedExecutor;
use bevy_tasks::{ComputeTaskPool, TaskPoolBuilder};
use bevy_transform::prelude::{GlobalTransform, Transform};
use bevy_transform::systems::{
    StaticTransformOptimizations, mark_dirty_trees, propagate_parent_transforms,
    sync_simple_transforms,
};
use glam::Mat4;

use super::work::{Churning, Pose, Scene, Subject};

/// The number of a node.
#[derive(Component)]
struct Node(u32);

/// The settings: the way in which the systems detect changes, and the number of task threads. The main thread helps while it
/// waits.
pub(super) trait Settings {
    const OPTIMIZATIONS: StaticTransformOptimizations;
    const THREADS: usize = 2;
}

/// The default of the plugin: moved nodes are marked, with all their ancestors, and the rest is skipped.
pub(super) struct Default;

impl Settings for Default {
    const OPTIMIZATIONS: StaticTransformOptimizations = StaticTransformOptimizations::Enabled;
}

/// The default of the plugin with one more thread, which is faster where little moves.
pub(super) struct ThreeThreads;

impl Settings for ThreeThreads {
    const OPTIMIZATIONS: StaticTransformOptimizations = StaticTransformOptimizations::Enabled;
    const THREADS: usize = 3;
}

/// The setting without marks, which is documented for scenes with much movement: all trees are computed in each frame.
pub(super) struct Dynamic;

impl Settings for Dynamic {
    const OPTIMIZATIONS: StaticTransformOptimizations = StaticTransformOptimizations::Disabled;
}

pub(super) struct Nodes<S = Default> {
    world: World,
    schedule: Schedule,
    entities: Vec<Entity>,
    all: QueryState<(&'static Node, &'static mut Transform)>,
    settings: PhantomData<S>,
}

/// Converts a pose to a `Transform`. bevy uses another version of glam.
#[inline]
fn transform(pose: Pose) -> Transform {
    Transform {
        translation: pose.position.to_array().into(),
        rotation: bevy_math::Quat::from_array(pose.rotation.to_array()),
        scale: [pose.scale; 3].into(),
    }
}

impl<S: Settings> Subject for Nodes<S> {
    fn new(scene: &Scene) -> Nodes<S> {
        ComputeTaskPool::get_or_init(|| TaskPoolBuilder::new().num_threads(S::THREADS).build());
        let mut world = World::new();
        world.insert_resource(S::OPTIMIZATIONS);
        let mut entities: Vec<Entity> = Vec::with_capacity(scene.parents.len());
        for (number, parent) in scene.parents.iter().enumerate() {
            let node = (Node(number as u32), transform(scene.pose(number)));
            let entity = match parent {
                Some(parent) => world.spawn((node, ChildOf(entities[*parent]))).id(),
                None => world.spawn(node).id(),
            };
            entities.push(entity);
        }
        let mut schedule = Schedule::default();
        // The systems run one after the other, and each uses all threads.
        schedule.set_executor(SingleThreadedExecutor::new()).add_systems(
            (mark_dirty_trees, propagate_parent_transforms, sync_simple_transforms).chain(),
        );
        let all = world.query();
        Nodes { world, schedule, entities, all, settings: PhantomData }
    }

    fn write(&mut self, scene: &Scene) {
        let Nodes { world, entities, all, .. } = self;
        // As `App::update` ends.
        world.clear_trackers();
        if scene.all_move() {
            for (node, mut place) in all.iter_mut(world) {
                *place = transform(scene.pose(node.0 as usize));
            }
            return;
        }
        for &node in &scene.moving {
            let mut place = world.get_mut::<Transform>(entities[node]).expect("all have it");
            *place = transform(scene.pose(node));
        }
    }

    fn propagate(&mut self) {
        self.schedule.run(&mut self.world);
    }

    fn matrices(&mut self) -> Vec<(usize, Mat4)> {
        let mut query = self.world.query::<(&Node, &GlobalTransform)>();
        let matrix =
            |global: &GlobalTransform| Mat4::from_cols_array(&global.to_matrix().to_cols_array());
        query.iter(&self.world).map(|(node, global)| (node.0 as usize, matrix(global))).collect()
    }
}

impl<S: Settings> Churning for Nodes<S> {
    fn come(&mut self, scene: &Scene, node: usize) {
        // As `App::update` ends.
        self.world.clear_trackers();
        let parent = ChildOf(self.entities[scene.parents[node].expect("it is no root")]);
        let spawned = (Node(node as u32), transform(scene.pose(node)), parent);
        self.entities[node] = self.world.spawn(spawned).id();
    }

    fn go(&mut self, node: usize) {
        assert!(self.world.despawn(self.entities[node]), "it is there");
    }
}
