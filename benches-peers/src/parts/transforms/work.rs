//! The scenes, the measurement of a subject, and the expected results: the same for every subject.

use std::cell::RefCell;

use glam::{DAffine3, Mat4, Quat, Vec3};
use rayon::ThreadPoolBuilder;

use crate::harness::{Cell, Reading};
use crate::parts::storage::work::{mixed, shuffled};

/// Number of nodes of the cases of hierarchies.
const NODES: usize = 100_000;
/// Number of entities of the case without hierarchies.
const FLAT: usize = 50_000;
/// Number of chains below the root, in the case of chains.
pub(super) const CHAINS: usize = 256;
/// The tolerance of a matrix element, whose true value is at most about 30.
const TOLERANCE: f64 = 5e-5;

/// The pose of a node relative to its parent, or to the world.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pose {
    pub(super) position: Vec3,
    pub(super) rotation: Quat,
    pub(super) scale: f32,
}

impl Pose {
    /// Returns a pose that depends on the number, without zeros and ones.
    fn random(number: usize) -> Pose {
        let mut state = mixed(number as u64 + 1);
        let mut next = || {
            state = mixed(state.wrapping_add(0x9e37_79b9_7f4a_7c15));
            (state >> 40) as f32 / 8_388_608.0 - 1.0
        };
        Pose {
            position: Vec3::from_array(std::array::from_fn(|_| next())),
            rotation: Quat::from_array(std::array::from_fn(|_| next())).normalize(),
            scale: 1.0 + 0.1 * next(),
        }
    }

    fn exact(&self) -> DAffine3 {
        let Pose { position, rotation, scale } = self;
        let scale = Vec3::splat(*scale).as_dvec3();
        DAffine3::from_scale_rotation_translation(scale, rotation.as_dquat(), position.as_dvec3())
    }
}

/// Nodes, their trees, and the nodes that move in every frame.
#[derive(Debug)]
pub(super) struct Scene {
    /// The parent of each node. Trees come one after the other, each breadth first.
    pub(super) parents: Vec<Option<usize>>,
    /// Number of nodes in a tree.
    pub(super) tree: usize,
    /// The nodes that move, in the order of their updates.
    pub(super) moving: Vec<usize>,
    /// The pose of each node in even frames and in odd ones.
    poses: [Vec<Pose>; 2],
    moves: Vec<bool>,
    frame: usize,
}

impl Scene {
    /// Creates `trees` trees with `nodes` nodes in all. `children` returns the number of children of a node from its level below
    /// the root. The last nodes may have fewer.
    fn new(trees: usize, nodes: usize, children: fn(usize) -> usize) -> Scene {
        let tree = nodes / trees;
        let within = tree_of(tree, children);
        let parent =
            |root: usize| within.iter().map(move |parent| parent.map(|(parent, _)| root + parent));
        let poses = [0, nodes];
        Scene {
            parents: (0..trees).flat_map(|number| parent(number * tree)).collect(),
            tree,
            moving: Vec::new(),
            poses: poses.map(|first| (first..first + nodes).map(Pose::random).collect()),
            moves: vec![false; nodes],
            frame: 0,
        }
    }

    fn moving(mut self, nodes: impl IntoIterator<Item = usize>) -> Scene {
        self.moving = nodes.into_iter().collect();
        self.moving.iter().for_each(|node| self.moves[*node] = true);
        self
    }

    fn all_moving(self) -> Scene {
        let all = 0..self.parents.len();
        self.moving(all)
    }

    /// Returns `true` if all nodes move.
    pub(super) fn all_move(&self) -> bool {
        self.moving.len() == self.parents.len()
    }

    /// Returns the pose of a node in this frame.
    #[inline]
    pub(super) fn pose(&self, node: usize) -> Pose {
        self.poses[usize::from(self.moves[node]) * (self.frame % 2)][node]
    }

    /// Counts the matrix elements that are right, over all nodes.
    fn right(&self, found: impl IntoIterator<Item = (usize, Mat4)>) -> u64 {
        let mut wanted: Vec<DAffine3> = Vec::with_capacity(self.parents.len());
        for (node, parent) in self.parents.iter().enumerate() {
            let local = self.pose(node).exact();
            wanted.push(parent.map_or(local, |parent| wanted[parent] * local));
        }
        let mut right = 0;
        for (node, matrix) in found {
            let wanted = glam::DMat4::from(wanted[node]).to_cols_array();
            let pairs = wanted.iter().zip(matrix.to_cols_array());
            let is_right =
                |(wanted, found): &(&f64, f32)| (f64::from(*found) - **wanted).abs() <= TOLERANCE;
            right += pairs.filter(is_right).count() as u64;
        }
        right
    }
}

/// Returns the parent and the depth of each node of a tree, breadth first.
fn tree_of(nodes: usize, children: fn(usize) -> usize) -> Vec<Option<(usize, usize)>> {
    let mut tree = vec![None];
    let mut parent = 0;
    while tree.len() < nodes {
        let level = tree[parent].map_or(0, |(_, level)| level);
        tree.extend((0..children(level)).map(|_| Some((parent, level + 1))));
        parent += 1;
    }
    tree.truncate(nodes);
    tree
}

/// Creates a hundred trees with 1,000 nodes each, in six levels. Each node has four children.
fn bushy() -> Scene {
    Scene::new(100, NODES, |_| 4)
}

/// Creates a hundred trees with 1,000 nodes each, in eight levels. Nodes have alternately three and two children.
fn deep() -> Scene {
    Scene::new(100, NODES, |level| 3 - level % 2)
}

/// Creates one tree of a hundred thousand nodes. Each node has four children.
fn lone() -> Scene {
    Scene::new(1, 1 + NODES, |_| 4)
}

/// A library, or the hand-written limit.
pub(super) trait Subject {
    /// Creates the nodes. Their matrices need not be computed yet.
    fn new(scene: &Scene) -> Self;
    /// Sets the pose of each moving node for this frame.
    fn write(&mut self, scene: &Scene);
    /// Computes the matrices of the written nodes and their descendants.
    fn propagate(&mut self);
    /// Returns the matrices with their nodes.
    fn matrices(&mut self) -> Vec<(usize, Mat4)>;
}

/// A subject with nodes that are added and removed.
pub(super) trait Churning: Subject {
    /// Adds a missing node, below its parent.
    fn come(&mut self, scene: &Scene, node: usize);
    /// Removes a leaf.
    fn go(&mut self, node: usize);
}

/// Measures frames with movement. The poses are written before each frame, which is not timed.
fn moving<S: Subject>(cell: Cell, scene: Scene) -> Reading {
    let mut subject = S::new(&scene);
    subject.propagate();
    let shared = RefCell::new((scene, subject));
    let make = || {
        let (scene, subject) = &mut *shared.borrow_mut();
        scene.frame += 1;
        subject.write(scene);
    };
    let operation = |(): &mut ()| shared.borrow_mut().1.propagate();
    cell.run_afresh(make, operation, |()| {
        let (scene, subject) = &mut *shared.borrow_mut();
        scene.right(subject.matrices())
    })
}

pub(super) fn all<S: Subject>(cell: Cell) -> Reading {
    moving::<S>(cell, bushy().all_moving())
}

/// Measures frames in which one node of a hundred moves, in no order. Five times as many matrices have to be computed.
pub(super) fn one_percent<S: Subject>(cell: Cell) -> Reading {
    moving::<S>(cell, bushy().moving(one_of_a_hundred()))
}

fn one_of_a_hundred() -> impl Iterator<Item = usize> {
    shuffled((0..NODES).collect()).into_iter().take(NODES / 100)
}

/// Measures frames in which the nodes of one tree of a hundred move.
pub(super) fn one_tree<S: Subject>(cell: Cell) -> Reading {
    let scene = bushy();
    let first = scene.tree * 50;
    let nodes = first..first + scene.tree;
    moving::<S>(cell, scene.moving(nodes))
}

pub(super) fn none<S: Subject>(cell: Cell) -> Reading {
    resting::<S>(cell, bushy())
}

/// Measures frames in which nothing moves, the leaf removed in the frame before is added again, and another is removed. Adding and
/// removing is timed too: some subjects do work there that others do in propagation.
pub(super) fn spawn_one<S: Churning>(cell: Cell) -> Reading {
    let scene = bushy();
    let mut has_child = vec![false; NODES];
    scene.parents.iter().flatten().for_each(|&parent| has_child[parent] = true);
    let leaves = shuffled((0..NODES).filter(|&node| !has_child[node]).collect());
    let mut subject = S::new(&scene);
    subject.propagate();
    let mut gone: Option<usize> = None;
    let mut next = leaves.iter().cycle().copied();
    let operation = |subject: &mut S| {
        if let Some(node) = gone {
            subject.come(&scene, node);
        }
        gone = next.next();
        gone.iter().for_each(|&node| subject.go(node));
        subject.propagate();
    };
    cell.run(subject, operation, |subject| scene.right(subject.matrices()))
}

/// Measures frames in which nothing moves.
fn resting<S: Subject>(cell: Cell, scene: Scene) -> Reading {
    let subject = S::new(&scene);
    cell.run(subject, S::propagate, |subject| scene.right(subject.matrices()))
}

pub(super) fn depth_8<S: Subject>(cell: Cell) -> Reading {
    moving::<S>(cell, deep().all_moving())
}

pub(super) fn depth_8_one_percent<S: Subject>(cell: Cell) -> Reading {
    moving::<S>(cell, deep().moving(one_of_a_hundred()))
}

pub(super) fn depth_8_none<S: Subject>(cell: Cell) -> Reading {
    resting::<S>(cell, deep())
}

/// Measures a thousand trees with a hundred nodes each. Each node has four children.
pub(super) fn roots_1000<S: Subject>(cell: Cell) -> Reading {
    moving::<S>(cell, Scene::new(1_000, NODES, |_| 4).all_moving())
}

/// Measures a single tree that moves as a whole.
pub(super) fn one_root<S: Subject>(cell: Cell) -> Reading {
    moving::<S>(cell, lone().all_moving())
}

/// Measures a single tree in which only the root moves.
pub(super) fn root_alone<S: Subject>(cell: Cell) -> Reading {
    moving::<S>(cell, lone().moving([0]))
}

/// Measures a root with [`CHAINS`] children, each with a chain below it. All nodes move.
pub(super) fn chains<S: Subject>(cell: Cell) -> Reading {
    let links = NODES / CHAINS;
    let scene = Scene::new(1, 1 + CHAINS * links, |level| if level == 0 { CHAINS } else { 1 });
    let mut scene = scene.all_moving();
    // Small, so that the ends of chains are not far away, where numbers are less exact.
    for pose in scene.poses.iter_mut().flatten() {
        (pose.position, pose.scale) = (pose.position / links as f32, 1.0);
    }
    moving::<S>(cell, scene)
}

/// Measures roots without children, of scale one.
pub(super) fn flat<S: Subject>(cell: Cell) -> Reading {
    let mut scene = Scene::new(FLAT, FLAT, |_| 0).all_moving();
    scene.poses.iter_mut().flatten().for_each(|pose| pose.scale = 1.0);
    moving::<S>(cell, scene)
}

/// Sets rayon up with two threads, one of which is this one.
pub(super) fn two_threads() {
    let pool = ThreadPoolBuilder::new().num_threads(2).use_current_thread();
    pool.build_global().expect("it is the only pool of the process");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of nodes in each level of the first tree.
    fn levels(children: fn(usize) -> usize) -> Vec<usize> {
        let mut levels = Vec::new();
        for node in tree_of(1_000, children) {
            let level = node.map_or(0, |(_, level)| level);
            levels.resize(levels.len().max(level + 1), 0);
            levels[level] += 1;
        }
        levels
    }

    #[test]
    fn trees_have_the_levels_they_are_said_to_have() {
        assert_eq!(levels(|_| 4), [1, 4, 16, 64, 256, 659]);
        assert_eq!(levels(|level| 3 - level % 2), [1, 3, 6, 18, 36, 108, 216, 612]);
    }

    #[test]
    fn every_tree_has_a_root_and_parents_come_first() {
        let scene = bushy();
        let roots: Vec<usize> = (0..NODES).filter(|node| scene.parents[*node].is_none()).collect();
        assert_eq!(roots, (0..100).map(|tree| tree * 1_000).collect::<Vec<_>>());
        for (node, parent) in scene.parents.iter().enumerate() {
            assert!(parent.is_none_or(|parent| parent < node && parent / 1_000 == node / 1_000));
        }
    }

    #[test]
    fn what_stays_is_where_it_was_and_what_moves_is_not() {
        let mut scene = bushy().moving([7]);
        let before = [scene.pose(7).position, scene.pose(8).position];
        scene.frame += 1;
        assert_ne!(scene.pose(7).position, before[0]);
        assert_eq!(scene.pose(8).position, before[1]);
    }

    #[test]
    fn a_matrix_that_is_wrong_does_not_count() {
        let scene = Scene::new(1, 2, |_| 1);
        let worlds = |node: usize| {
            let exact = [0, node].map(|node| scene.pose(node).exact());
            Mat4::from(glam::Affine3A::from_mat4(
                glam::DMat4::from(if node == 0 { exact[0] } else { exact[0] * exact[1] }).as_mat4(),
            ))
        };
        assert_eq!(scene.right([(0, worlds(0)), (1, worlds(1))]), 32);
        assert!(scene.right([(0, worlds(0)), (1, worlds(0))]) < 32);
    }
}
