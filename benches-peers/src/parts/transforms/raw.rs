//! The limit: arrays in which parents come before their children, on two threads, hand-written.

use glam::{Affine3A, Mat4, Quat, Vec3, Vec4};

use super::work::{self, CHAINS, Pose, Scene, Subject};

/// Minimum length of a level that two threads share, in a single tree.
const SHARED: usize = 1_024;

/// Nodes of trees.
pub(super) struct Nodes {
    /// The parent of each node, relative to the root of its tree; a root is its own parent.
    parents: Vec<u32>,
    poses: Vec<Pose>,
    worlds: Vec<Affine3A>,
    /// Set if a node or an ancestor was written.
    dirty: Vec<bool>,
    /// Set if a node of the tree was written.
    dirty_trees: Vec<bool>,
    /// Number of nodes in a tree.
    tree: usize,
    all_move: bool,
    /// The first node of each level, and the number of nodes, if there is one tree.
    levels: Vec<usize>,
}

/// A group of whole trees.
struct Part<'a> {
    parents: &'a [u32],
    poses: &'a [Pose],
    worlds: &'a mut [Affine3A],
    dirty: &'a mut [bool],
    dirty_trees: &'a mut [bool],
}

#[inline]
fn local(pose: &Pose) -> Affine3A {
    let scale = Vec3::splat(pose.scale);
    Affine3A::from_scale_rotation_translation(scale, pose.rotation, pose.position)
}

/// Computes all nodes.
fn tree_moves(parents: &[u32], poses: &[Pose], worlds: &mut [Affine3A]) {
    worlds[0] = local(&poses[0]);
    for node in 1..worlds.len() {
        worlds[node] = worlds[parents[node] as usize] * local(&poses[node]);
    }
}

/// Computes the written nodes and their descendants.
fn some_move(parents: &[u32], poses: &[Pose], worlds: &mut [Affine3A], dirty: &mut [bool]) {
    if dirty[0] {
        worlds[0] = local(&poses[0]);
    }
    for node in 1..worlds.len() {
        let parent = parents[node] as usize;
        if dirty[node] | dirty[parent] {
            dirty[node] = true;
            worlds[node] = worlds[parent] * local(&poses[node]);
        }
    }
    dirty.fill(false);
}

impl Part<'_> {
    fn propagate(&mut self, tree: usize, all_move: bool) {
        let trees = self.parents.chunks_exact(tree).zip(self.poses.chunks_exact(tree));
        let trees = trees.zip(self.worlds.chunks_exact_mut(tree));
        if all_move {
            trees.for_each(|((parents, poses), worlds)| tree_moves(parents, poses, worlds));
            return;
        }
        let dirty = self.dirty.chunks_exact_mut(tree).zip(&mut *self.dirty_trees);
        for (((parents, poses), worlds), (dirty, is_dirty)) in trees.zip(dirty) {
            if *is_dirty {
                some_move(parents, poses, worlds, dirty);
                *is_dirty = false;
            }
        }
    }
}

impl Nodes {
    /// Computes half of the trees on each thread.
    fn trees(&mut self) {
        let (tree, all_move) = (self.tree, self.all_move);
        let trees = self.dirty_trees.len() / 2;
        let nodes = trees * tree;
        let parents = self.parents.split_at(nodes);
        let poses = self.poses.split_at(nodes);
        let worlds = self.worlds.split_at_mut(nodes);
        let dirty = self.dirty.split_at_mut(nodes);
        let dirty_trees = self.dirty_trees.split_at_mut(trees);
        let mut first = Part {
            parents: parents.0,
            poses: poses.0,
            worlds: worlds.0,
            dirty: dirty.0,
            dirty_trees: dirty_trees.0,
        };
        let mut second = Part {
            parents: parents.1,
            poses: poses.1,
            worlds: worlds.1,
            dirty: dirty.1,
            dirty_trees: dirty_trees.1,
        };
        rayon::join(|| first.propagate(tree, all_move), || second.propagate(tree, all_move));
    }

    /// Computes a single tree that moves as a whole: level by level, half of each level on each
    /// thread.
    fn lone_tree(&mut self) {
        let Nodes { parents, poses, worlds, levels, .. } = self;
        worlds[0] = local(&poses[0]);
        for level in levels.windows(2).skip(1) {
            let nodes = level[0]..level[1];
            let (above, worlds) = worlds.split_at_mut(nodes.start);
            let (worlds, _) = worlds.split_at_mut(nodes.len());
            let (parents, poses) = (&parents[nodes.clone()], &poses[nodes.clone()]);
            let above = &*above;
            if nodes.len() < SHARED {
                part_of_level(above, parents, poses, worlds);
                continue;
            }
            let half = nodes.len() / 2;
            let (first, second) = worlds.split_at_mut(half);
            rayon::join(
                || part_of_level(above, &parents[..half], &poses[..half], first),
                || part_of_level(above, &parents[half..], &poses[half..], second),
            );
        }
    }
}

impl Nodes {
    /// Computes a single root with chains that all move: half of the chains on each thread.
    fn chains(&mut self) {
        let Nodes { parents, poses, worlds, .. } = self;
        worlds[0] = local(&poses[0]);
        let (root, below) = worlds.split_at_mut(1);
        let levels = below.chunks_mut(CHAINS).map(|level| level.split_at_mut(CHAINS / 2));
        let (mut first, mut second): (Vec<_>, Vec<_>) = levels.unzip();
        let part = |levels: &mut [&mut [Affine3A]], chain: usize| {
            for number in 0..levels.len() {
                let (above, level) = levels.split_at_mut(number);
                let above = above.last().map_or(&*root, |above| &**above);
                let first = 1 + number * CHAINS + chain;
                for (at, world) in level[0].iter_mut().enumerate() {
                    let node = first + at;
                    let parent = if parents[node] == 0 { 0 } else { at };
                    *world = above[parent] * local(&poses[node]);
                }
            }
        };
        rayon::join(|| part(&mut first, 0), || part(&mut second, CHAINS / 2));
    }
}

fn part_of_level(above: &[Affine3A], parents: &[u32], poses: &[Pose], worlds: &mut [Affine3A]) {
    for ((world, pose), parent) in worlds.iter_mut().zip(poses).zip(parents) {
        *world = above[*parent as usize] * local(pose);
    }
}

impl Subject for Nodes {
    fn new(scene: &Scene) -> Nodes {
        work::two_threads();
        let nodes = scene.parents.len();
        let mut levels = vec![0, 1];
        if scene.tree == nodes {
            while let Some(&first) = levels.last().filter(|first| **first < nodes) {
                let above = levels[levels.len() - 2]..first;
                let below = |node: &usize| scene.parents[*node].is_some_and(|p| above.contains(&p));
                levels.push((first..nodes).find(|node| !below(node)).unwrap_or(nodes));
            }
        }
        let parent =
            |(node, parent): (usize, &Option<usize>)| (parent.unwrap_or(node) % scene.tree) as u32;
        Nodes {
            parents: scene.parents.iter().enumerate().map(parent).collect(),
            poses: (0..nodes).map(|node| scene.pose(node)).collect(),
            worlds: vec![Affine3A::IDENTITY; nodes],
            dirty: vec![true; nodes],
            dirty_trees: vec![true; nodes / scene.tree],
            tree: scene.tree,
            all_move: scene.all_move(),
            levels,
        }
    }

    fn write(&mut self, scene: &Scene) {
        for &node in &scene.moving {
            self.poses[node] = scene.pose(node);
            self.dirty[node] = true;
            self.dirty_trees[node / self.tree] = true;
        }
    }

    fn propagate(&mut self) {
        match self.dirty_trees.len() {
            1 if self.levels.len() > CHAINS => self.chains(),
            1 => self.lone_tree(),
            _ => self.trees(),
        }
    }

    fn matrices(&mut self) -> Vec<(usize, Mat4)> {
        self.worlds.iter().map(|world| Mat4::from(*world)).enumerate().collect()
    }
}

/// Positions and rotations without a hierarchy.
pub(super) struct Flat {
    positions: Vec<Vec3>,
    rotations: Vec<Quat>,
    worlds: Vec<Mat4>,
}

/// Computes the matrices of nodes without a hierarchy. The formula is written out, which is a tenth
/// faster than `Mat4::from_rotation_translation`.
fn flat(positions: &[Vec3], rotations: &[Quat], worlds: &mut [Mat4]) {
    for ((world, position), rotation) in worlds.iter_mut().zip(positions).zip(rotations) {
        let [x, y, z, w] = rotation.to_array();
        let (x2, y2, z2) = (x + x, y + y, z + z);
        let (xx, xy, xz) = (x * x2, x * y2, x * z2);
        let (yy, yz, zz) = (y * y2, y * z2, z * z2);
        let (wx, wy, wz) = (w * x2, w * y2, w * z2);
        *world = Mat4::from_cols(
            Vec4::new(1.0 - (yy + zz), xy + wz, xz - wy, 0.0),
            Vec4::new(xy - wz, 1.0 - (xx + zz), yz + wx, 0.0),
            Vec4::new(xz + wy, yz - wx, 1.0 - (xx + yy), 0.0),
            position.extend(1.0),
        );
    }
}

impl Subject for Flat {
    fn new(scene: &Scene) -> Flat {
        work::two_threads();
        let poses = || (0..scene.parents.len()).map(|node| scene.pose(node));
        Flat {
            positions: poses().map(|pose| pose.position).collect(),
            rotations: poses().map(|pose| pose.rotation).collect(),
            worlds: vec![Mat4::IDENTITY; scene.parents.len()],
        }
    }

    fn write(&mut self, scene: &Scene) {
        let places = self.positions.iter_mut().zip(&mut self.rotations);
        for (node, (position, rotation)) in places.enumerate() {
            let pose = scene.pose(node);
            (*position, *rotation) = (pose.position, pose.rotation);
        }
    }

    fn propagate(&mut self) {
        let Flat { positions, rotations, worlds } = self;
        let half = worlds.len() / 2;
        let (first, second) = worlds.split_at_mut(half);
        rayon::join(
            || flat(&positions[..half], &rotations[..half], first),
            || flat(&positions[half..], &rotations[half..], second),
        );
    }

    fn matrices(&mut self) -> Vec<(usize, Mat4)> {
        self.worlds.iter().copied().enumerate().collect()
    }
}
