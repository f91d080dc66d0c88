//! Comparison of the layouts of two worlds: their entities, and the hashes of their chunks.

use ancho_entities::__inspect::StateLayout;
use ancho_entities::{ComponentType, Entity};

use crate::divergence::Difference;

/// Difference between two layouts.
#[derive(Debug)]
pub(crate) enum LayoutDifference {
    /// The entities, their types or their locations differ.
    Entities(Difference),
    /// The content of a chunk differs. The place is that of the first such chunk.
    Chunk(ChunkPlace),
    FreeIds,
    /// The layouts are equal.
    Nothing,
}

/// Location of a chunk: the index of its archetype among those that have entities, and the index of the chunk in the archetype.
#[derive(Clone, Debug)]
pub(crate) struct ChunkPlace {
    pub(crate) archetype: usize,
    pub(crate) types: Vec<ComponentType>,
    pub(crate) chunk: usize,
    /// Number of chunks that differ, including the chunk at this location.
    pub(crate) differing: usize,
}

/// Lists all entities by id, each with its archetype.
fn by_id(layout: &StateLayout) -> Vec<(Entity, usize)> {
    let mut all = Vec::new();
    for (index, archetype) in layout.archetypes.iter().enumerate() {
        let entities = archetype.chunks.iter().flat_map(|chunk| &chunk.entities);
        all.extend(entities.map(|&entity| (entity, index)));
    }
    all.sort_unstable_by_key(|(entity, _)| (entity.index(), entity.version()));
    all
}

/// Finds the first difference: in the set of entities and their types, in their locations, then in the content of chunks.
pub(crate) fn compare(layouts: [&StateLayout; 2]) -> LayoutDifference {
    if let Some(place) = first_place(layouts) {
        let difference = first_entity(layouts).unwrap_or(place);
        return LayoutDifference::Entities(difference);
    }
    let [first, second] = layouts;
    let mut found: Option<ChunkPlace> = None;
    for (index, (one, other)) in first.archetypes.iter().zip(&second.archetypes).enumerate() {
        let hashes = one.chunks.iter().zip(&other.chunks).map(|(a, b)| (a.hash, b.hash));
        for (chunk, _) in hashes.enumerate().filter(|(_, (a, b))| a != b) {
            let place = found.get_or_insert_with(|| ChunkPlace {
                archetype: index,
                types: one.types.clone(),
                chunk,
                differing: 0,
            });
            place.differing += 1;
        }
    }
    match found {
        Some(place) => LayoutDifference::Chunk(place),
        None if first.free_ids != second.free_ids => LayoutDifference::FreeIds,
        None => LayoutDifference::Nothing,
    }
}

/// Returns the first location that holds different entities, in the order of archetypes, chunks and rows.
fn first_place([first, second]: [&StateLayout; 2]) -> Option<Difference> {
    let most = first.archetypes.len().max(second.archetypes.len());
    for index in 0..most {
        let both = [first, second].map(|layout| layout.archetypes.get(index));
        let types = both.map(|archetype| archetype.map_or(&[][..], |archetype| &archetype.types));
        let [Some(one), Some(other)] = both else {
            return Some(Difference::Archetypes { index, types: types.map(<[_]>::to_vec) });
        };
        if one.types != other.types {
            return Some(Difference::Archetypes { index, types: types.map(<[_]>::to_vec) });
        }
        for chunk in 0..one.chunks.len().max(other.chunks.len()) {
            let entities = [one, other].map(|archetype| {
                archetype.chunks.get(chunk).map_or(&[][..], |chunk| chunk.entities.as_slice())
            });
            let rows = entities[0].len().max(entities[1].len());
            let at = |row: usize| entities.map(|entities| entities.get(row).copied());
            if let Some(row) = (0..rows).find(|&row| at(row)[0] != at(row)[1]) {
                let archetype = one.types.clone();
                return Some(Difference::Chunks { archetype, chunk, row, entities: at(row) });
            }
        }
    }
    None
}

/// Returns the first entity that exists in only one layout, or has different types.
fn first_entity(layouts: [&StateLayout; 2]) -> Option<Difference> {
    let lists = layouts.map(by_id);
    let counts = lists.each_ref().map(Vec::len);
    let types = |run: usize, archetype: usize| layouts[run].archetypes[archetype].types.clone();
    let only_in = |run: usize, (entity, archetype): (Entity, usize)| Difference::Exists {
        entity,
        name: None,
        only_in: run,
        archetype: types(run, archetype),
        counts,
    };
    let mut at = 0;
    loop {
        match lists.each_ref().map(|list| list.get(at).copied()) {
            [None, None] => return None,
            [Some(one), None] => return Some(only_in(0, one)),
            [None, Some(other)] => return Some(only_in(1, other)),
            [Some(one), Some(other)] if one.0 != other.0 => {
                let key = |(entity, _): (Entity, usize)| (entity.index(), entity.version());
                let is_first = key(one) < key(other);
                return Some(if is_first { only_in(0, one) } else { only_in(1, other) });
            }
            [Some(one), Some(other)] => {
                let types = [types(0, one.1), types(1, other.1)];
                if types[0] != types[1] {
                    return Some(Difference::Types { entity: one.0, name: None, types });
                }
                at += 1;
            }
        }
    }
}
