//! Writes the matrices of entities that have moved.
//!
//! First the matrices of nodes with children are computed, level by level. Then the rows of all chunks are written, in memory
//! order. Most nodes are leaves, which are visited only in the second step. Both steps run on all threads if there is enough work.
//! Entities without parent and children are written last.

use std::sync::Arc;

use ancho_entities::{
    Any, Buffer, Changed, Child, Entity, EntityError, FilterWriteGroups, OrderChanged, Parent,
    QueryFilter, Version, Without, World,
};
use glam::{Affine3A, Mat4};

use crate::components::{CustomLocalToWorld, Frozen, LocalToParent, LocalToWorld};
use crate::compose::{
    AllInputs, InputData, Inputs, LocalInputs, LocalVisitor, NonFiniteEntities, is_finite,
};
use crate::hierarchy::{ComputedData, ComputedNodes, Hierarchy, MatrixSource, NodeMatrices, Nodes};
use crate::parent_matrices::{self, NodeInputs};
use crate::update::NodeCache;

/// Memory that is reused by the next update.
#[derive(Default)]
pub(crate) struct PropagateScratch {
    chunks: Vec<NodeInputs<'static>>,
    found: Vec<&'static [Entity]>,
}

impl Clone for PropagateScratch {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl std::fmt::Debug for PropagateScratch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PropagateScratch").finish_non_exhaustive()
    }
}

/// Writes the matrices of nodes that have moved since a version, and of all nodes below.
pub(crate) fn update(
    world: &mut World,
    cache: &mut Arc<NodeCache>,
    scratch: &mut PropagateScratch,
    since: Version,
    non_finite: &NonFiniteEntities,
) -> Result<(), EntityError> {
    mark_changed(world, cache, scratch, since);
    let (marked, all) = cache.hierarchy.count_marked();
    if marked == 0 {
        return Ok(());
    }
    let NodeCache { hierarchy, matrices } = Arc::make_mut(cache);
    let are_few = marked * SPARSE_FRACTION < all;
    let are_few = parent_matrices::update(
        world,
        hierarchy,
        matrices,
        &mut scratch.chunks,
        are_few,
        non_finite,
    );
    let done = write_rows(world, hierarchy, matrices, are_few, non_finite);
    hierarchy.clear_marks();
    if are_few {
        matrices.rows.fill(0);
    }
    done
}

/// If at least one in this number of rows has changed, all threads visit all rows. Otherwise only rows below changed ones are
/// visited.
const SPARSE_FRACTION: usize = 32;

/// Marks rows with changed inputs.
fn mark_changed(
    world: &World,
    cache: &mut Arc<NodeCache>,
    scratch: &mut PropagateScratch,
    since: Version,
) {
    let has_external = cache.hierarchy.has_external;
    let mut mark = |found: &mut Vec<&[Entity]>, is_computed| {
        // If nothing has changed, a cache that is shared with a fork is not copied.
        if !found.is_empty() {
            let hierarchy = &mut Arc::make_mut(cache).hierarchy;
            found.drain(..).for_each(|entities| hierarchy.mark(entities, is_computed));
        }
    };
    // All chunks are listed first, so that the CPU can load several of them at the same time.
    let mut found: Vec<&[Entity]> = std::mem::take(&mut scratch.found);
    let moved = world.query_filtered::<Entity, (Nodes, Changed<AllInputs>)>();
    moved.since(since).for_each_chunk_inner(|entities| found.push(entities));
    mark(&mut found, true);
    if has_external {
        type External = Changed<(LocalToWorld, CustomLocalToWorld)>;
        let external = world.query_filtered::<Entity, (Nodes, External)>();
        external.since(since).for_each_chunk_inner(|entities| found.push(entities));
        mark(&mut found, false);
    }
    // Collects in place, so the vector keeps its memory, but none of its contents.
    scratch.found = found.into_iter().map(|_| [].as_slice()).collect();
}

/// Writes the matrices of all rows that have moved.
fn write_rows(
    world: &mut World,
    hierarchy: &Hierarchy,
    node_matrices: &NodeMatrices,
    are_few: bool,
    non_finite: &NonFiniteEntities,
) -> Result<(), EntityError> {
    let NodeMatrices { matrices, moved, rows, .. } = node_matrices;
    let mut nodes = world.query_filtered_mut::<ComputedData, (ComputedNodes, FilterWriteGroups)>();
    nodes.for_each_picked_chunk_parallel(
        |entities| hierarchy.is_touched(entities),
        #[inline(always)]
        |(entities, written, to_parent, inputs)| {
            let Some(first) = hierarchy.slot_of(entities[0]) else { return };
            let sources = &hierarchy.sources[first..][..entities.len()];
            let words = first / 64..(first + entities.len()).div_ceil(64);
            let dirty = &hierarchy.dirty[words.clone()];
            let few = are_few.then(|| &rows[words]);
            let rows = Rows {
                entities,
                written,
                to_parent,
                sources,
                dirty,
                few,
                matrices,
                moved,
                non_finite,
            };
            Inputs::from(inputs).visit(rows);
        },
    )
}

/// Writes the matrices of a chunk.
struct Rows<'a> {
    entities: &'a [Entity],
    written: &'a mut [LocalToWorld],
    to_parent: Option<&'a mut [LocalToParent]>,
    sources: &'a [MatrixSource],
    dirty: &'a [u64],
    /// The rows to write, in addition to dirty rows. Set if few rows have moved.
    few: Option<&'a [u64]>,
    matrices: &'a [Affine3A],
    moved: &'a [bool],
    non_finite: &'a NonFiniteEntities,
}

impl LocalVisitor for Rows<'_> {
    type Output = ();

    #[inline(always)]
    fn run(mut self, local: impl Fn(usize) -> Affine3A) {
        if let Some(few) = self.few {
            for (word, (few, dirty)) in few.iter().zip(self.dirty).enumerate() {
                let mut rows = few | dirty;
                while rows != 0 {
                    self.write_few(word * 64 + rows.trailing_zeros() as usize, &local);
                    rows &= rows - 1;
                }
            }
        } else {
            // A closure of an iterator might not be inlined, and then would not be compiled for the selected CPU level.
            for row in 0..self.written.len() {
                self.write(row, &local);
            }
        }
    }
}

impl Rows<'_> {
    /// Writes the matrix of a row, if it has moved. Not inlined, to keep the other loop short.
    #[inline(never)]
    fn write_few(&mut self, row: usize, local: &impl Fn(usize) -> Affine3A) {
        self.write(row, local);
    }

    /// Writes the matrix of a row, if it has moved.
    #[inline(always)]
    fn write(&mut self, row: usize, local: &impl Fn(usize) -> Affine3A) {
        let (place, is_own) = self.sources[row].place();
        // Inactive rows have no place.
        let Some(&moved) = self.moved.get(place) else { return };
        let is_dirty = !is_own && self.dirty[row / 64] >> (row % 64) & 1 != 0;
        if !(moved | is_dirty) {
            return;
        }
        let mut matrix = self.matrices[place];
        if !is_own {
            matrix *= local(row);
            if !is_finite(&matrix) {
                return self.non_finite.report(self.entities[row]);
            }
        }
        self.written[row] = matrix.into();
        if let Some(to_parent) = &mut self.to_parent {
            to_parent[row] = LocalToParent(Mat4::from(local(row)));
        }
    }
}

/// Entities without parent and children whose matrices are composed from their own inputs.
type Flat = (Any<LocalInputs>, Without<(Parent, Buffer<Child>, Frozen, CustomLocalToWorld)>);

/// Writes the matrices of entities without parent and children that have changed since a version.
pub(crate) fn update_flat(
    world: &mut World,
    since: Version,
    non_finite: &NonFiniteEntities,
) -> Result<(), EntityError> {
    update_flat_changed::<Changed<AllInputs>>(world, since, non_finite)?;
    // Components with change tracking do not count as changed when a row arrives from another chunk. But the matrix of the entity
    // may not have been computed there.
    update_flat_changed::<OrderChanged>(world, since, non_finite)
}

fn update_flat_changed<F: QueryFilter>(
    world: &mut World,
    since: Version,
    non_finite: &NonFiniteEntities,
) -> Result<(), EntityError> {
    let found = world
        .query_filtered_mut::<(Entity, &mut LocalToWorld, InputData), (Flat, F, FilterWriteGroups)>(
        );
    found.since(since).for_each_picked_chunk_parallel(
        |_| true,
        #[inline(always)]
        |(entities, matrices, inputs)| {
            Inputs::from(inputs).visit(FlatRows { entities, matrices, non_finite });
        },
    )
}

/// Writes local matrices as world matrices.
struct FlatRows<'a> {
    entities: &'a [Entity],
    matrices: &'a mut [LocalToWorld],
    non_finite: &'a NonFiniteEntities,
}

impl LocalVisitor for FlatRows<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, local: impl Fn(usize) -> Affine3A) {
        for (row, matrix) in self.matrices.iter_mut().enumerate() {
            let local = local(row);
            if is_finite(&local) {
                *matrix = local.into();
            } else {
                self.non_finite.report(self.entities[row]);
            }
        }
    }
}
