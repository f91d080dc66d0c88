//! Consistency checks of the cached hierarchy, for tests.

use ancho_entities::{Entity, World};

use super::order::NONE;
use super::rebuild::{RowData, chunk_traits, computed_nodes};
use super::{Hierarchy, MatrixSource, NodeMatrices, Nodes};

impl Hierarchy {
    /// Returns the address of the cache.
    pub(crate) fn address(&self) -> usize {
        self.entities.as_ptr() as usize
    }

    /// Returns the number of rebuilds.
    pub(crate) fn rebuilds(&self) -> u32 {
        self.rebuild_count
    }

    /// Asserts that the cache matches the components.
    pub(crate) fn check_world(&self, world: &World) {
        let computed = computed_nodes(world);
        let mut count = 0;
        world.query_filtered::<RowData, Nodes>().for_each_chunk(|rows| {
            let (found, parents, traits) = chunk_traits(rows, &computed);
            let first = self.slot_of(found[0]).expect("all nodes have slots");
            let chunk = self.chunk_at(first).1;
            assert_eq!((chunk.first as usize, chunk.len as usize), (first, found.len()));
            assert_eq!(chunk.traits, traits);
            for (row, &entity) in found.iter().enumerate() {
                let parent = parents.map_or(Entity::NULL, |parents| parents[row].0);
                assert_eq!(self.entities[first + row], entity);
                assert_eq!(self.parent_entities[first + row], parent, "the parent of {entity}");
            }
            count += found.len();
        });
        assert_eq!(count, self.count);
    }

    /// Asserts that the parts of the cache are consistent.
    pub(crate) fn check(&self, node_matrices: &NodeMatrices) {
        let mut inactive_children = vec![0; self.inactive_children.len()];
        for chunk in &self.chunks {
            for slot in chunk.first as usize..(chunk.first + chunk.capacity) as usize {
                if slot < (chunk.first + chunk.len) as usize {
                    check_slot(self, slot, &mut inactive_children);
                } else {
                    assert!(self.entities[slot].is_null());
                    assert_eq!(self.sources[slot], MatrixSource::INACTIVE);
                    assert_eq!(self.order.place[slot], NONE);
                }
            }
        }
        assert_eq!(inactive_children, self.inactive_children);
        let len: u32 = self.chunks.iter().map(|chunk| chunk.len).sum();
        assert_eq!(len as usize, self.count);
        let live = self.order.nodes.iter().filter(|node| **node != NONE).count();
        assert_eq!(live, self.order.live());
        assert_eq!(node_matrices.matrices.len(), self.order.nodes.len());
        assert!(
            node_matrices
                .due
                .iter()
                .chain(&node_matrices.rows)
                .chain(&self.dirty)
                .all(|word| *word == 0)
        );
    }
}

fn check_slot(hierarchy: &Hierarchy, slot: usize, inactive_children: &mut [u32]) {
    let order = &hierarchy.order;
    let (entity, parent) = (hierarchy.entities[slot], hierarchy.parent_entities[slot]);
    assert_eq!(hierarchy.slot_of(entity), Some(slot));
    let (number, chunk) = hierarchy.chunk_at(slot);
    let above = hierarchy
        .slot_of(parent)
        .filter(|above| hierarchy.sources[*above] != MatrixSource::INACTIVE);
    let source = hierarchy.sources[slot];
    if source == MatrixSource::INACTIVE {
        assert!(above.is_none() && !chunk.traits.is_root, "{entity} could be placed");
        if !parent.is_null() {
            inactive_children[parent.index() as usize] += 1;
        }
        return;
    }
    let (place, is_own) = source.place();
    let above = above.map_or(NONE, |above| order.place[above]);
    assert_eq!(order.place[slot], if is_own { place as u32 } else { NONE });
    if is_own {
        assert_eq!(order.nodes[place], slot as u32);
        assert_eq!(order.parent[place], above);
        assert!(chunk.has_places);
        assert_eq!(hierarchy.rows[place], (number as u32, slot as u32 - chunk.first));
        assert!(above == NONE || order.is_after(place as u32, above));
    } else {
        assert_eq!(place as u32, above);
    }
    if above == NONE {
        assert!(chunk.traits.is_root);
    } else {
        let children = order.children(above as usize);
        assert_eq!(children[order.position(slot as u32) as usize], slot as u32);
        assert_eq!(children.iter().filter(|child| **child == slot as u32).count(), 1);
    }
}
