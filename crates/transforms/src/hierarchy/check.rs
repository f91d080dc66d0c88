//! Whether what is known holds together, for tests.

use ancho_entities::{Entity, World};

use super::rebuild::{RowData, kind_of, written};
use super::{Hierarchy, Nodes, Places, Source};
use crate::order::NONE;

impl Hierarchy {
    /// Where it is in memory.
    pub(crate) fn address(&self) -> usize {
        self.entities.as_ptr() as usize
    }

    /// How often all was made again.
    pub(crate) fn rebuilds(&self) -> u32 {
        self.round
    }

    /// What is known is what is there.
    pub(crate) fn check_world(&self, world: &World) {
        let written = written(world);
        let mut count = 0;
        world.query_filtered::<RowData, Nodes>().for_each_chunk(|rows| {
            let (found, previous, kind) = kind_of(rows, &written);
            let first = self.slot_of(found[0]).expect("all nodes have slots");
            let chunk = self.chunk_at(first).1;
            assert_eq!((chunk.first as usize, chunk.len as usize), (first, found.len()));
            assert_eq!(chunk.kind, kind);
            for (row, &entity) in found.iter().enumerate() {
                let parent = previous.map_or(Entity::NULL, |previous| previous[row].0);
                assert_eq!(self.entities[first + row], entity);
                assert_eq!(self.parent_entities[first + row], parent, "the parent of {entity}");
            }
            count += found.len();
        });
        assert_eq!(count, self.count);
    }

    /// Everything that is known agrees with everything else.
    pub(crate) fn check(&self, places: &Places) {
        let mut awaited = vec![0; self.awaited.len()];
        for chunk in &self.chunks {
            for slot in chunk.first as usize..(chunk.first + chunk.capacity) as usize {
                if slot < (chunk.first + chunk.len) as usize {
                    check_slot(self, slot, &mut awaited);
                } else {
                    assert!(self.entities[slot].is_null());
                    assert_eq!(self.sources[slot], Source::REST);
                    assert_eq!(self.order.place[slot], NONE);
                }
            }
        }
        assert_eq!(awaited, self.awaited);
        let len: u32 = self.chunks.iter().map(|chunk| chunk.len).sum();
        assert_eq!(len as usize, self.count);
        let live = self.order.nodes.iter().filter(|node| **node != NONE).count();
        assert_eq!(live, self.order.live());
        assert_eq!(places.matrices.len(), self.order.nodes.len());
        assert!(places.due.iter().chain(&places.rows).chain(&self.dirty).all(|word| *word == 0));
    }
}

fn check_slot(hierarchy: &Hierarchy, slot: usize, awaited: &mut [u32]) {
    let order = &hierarchy.order;
    let (entity, parent) = (hierarchy.entities[slot], hierarchy.parent_entities[slot]);
    assert_eq!(hierarchy.slot_of(entity), Some(slot));
    let (number, chunk) = hierarchy.chunk_at(slot);
    let above = hierarchy.slot_of(parent).filter(|above| hierarchy.sources[*above] != Source::REST);
    let source = hierarchy.sources[slot];
    if source == Source::REST {
        assert!(above.is_none() && !chunk.kind.is_root, "{entity} could be placed");
        if !parent.is_null() {
            awaited[parent.index() as usize] += 1;
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
        assert!(chunk.kind.is_root);
    } else {
        let children = order.children(above as usize);
        assert_eq!(children[order.position(slot as u32) as usize], slot as u32);
        assert_eq!(children.iter().filter(|child| **child == slot as u32).count(), 1);
    }
}
