//! Where the entities of a world are, and what is in a chunk: what is compared once two states are known to differ.

use super::divergence::Difference;
use crate::component::ComponentType;
use crate::entity::Entity;
use crate::field::{Shape, StateHasher};
use crate::storage::Storage;

/// Where the entities of a world are, and a hash of each chunk.
#[derive(Debug)]
pub(super) struct Layout {
    archetypes: Vec<ArchetypeLayout>,
    /// A hash of the ids that are free.
    free: u64,
}

#[derive(Debug)]
struct ArchetypeLayout {
    types: Vec<ComponentType>,
    chunks: Vec<ChunkLayout>,
}

#[derive(Debug)]
struct ChunkLayout {
    entities: Vec<Entity>,
    hash: u64,
}

/// What differs between two layouts.
#[derive(Debug)]
pub(super) enum LayoutDifference {
    /// Which entities there are, or where.
    Entities(Difference),
    /// What is in a chunk, the first of so many.
    Chunk(ChunkPlace),
    FreeIds,
    /// Nothing that was looked at.
    Nothing,
}

/// A chunk: among the archetypes with entities, and among the chunks of the archetype.
#[derive(Clone, Debug)]
pub(super) struct ChunkPlace {
    pub(super) archetype: usize,
    pub(super) types: Vec<ComponentType>,
    pub(super) chunk: usize,
    /// How many chunks differ, with this.
    pub(super) differing: usize,
}

fn hash(feed: impl FnOnce(&mut StateHasher)) -> u64 {
    let mut state = StateHasher::new();
    feed(&mut state);
    state.finish()
}

impl Layout {
    pub(super) fn of(storage: &Storage) -> Self {
        let archetypes = storage.archetypes.iter().map(|(_, archetype)| {
            let chunks = archetype.chunks.iter().map(|&number| {
                let chunk = &storage.chunks[number];
                ChunkLayout {
                    entities: chunk.entities().to_vec(),
                    hash: hash(|state| storage.hash_chunk(chunk, state)),
                }
            });
            ArchetypeLayout { types: archetype.shape.types.to_vec(), chunks: chunks.collect() }
        });
        let archetypes = archetypes.filter(|archetype| !archetype.chunks.is_empty()).collect();
        Self { archetypes, free: hash(|state| storage.hash_free(state)) }
    }

    /// All entities in the order of their ids, each with its archetype.
    fn by_id(&self) -> Vec<(Entity, usize)> {
        let mut all = Vec::new();
        for (index, archetype) in self.archetypes.iter().enumerate() {
            let entities = archetype.chunks.iter().flat_map(|chunk| &chunk.entities);
            all.extend(entities.map(|&entity| (entity, index)));
        }
        all.sort_unstable_by_key(|(entity, _)| (entity.index(), entity.version()));
        all
    }
}

/// Finds the first difference: of the entities that there are and their types, of where they are, of what is in chunks.
pub(super) fn compare(layouts: [&Layout; 2]) -> LayoutDifference {
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
        None if first.free != second.free => LayoutDifference::FreeIds,
        None => LayoutDifference::Nothing,
    }
}

/// The first place where another entity is, in the order of archetypes, chunks and rows.
fn first_place([first, second]: [&Layout; 2]) -> Option<Difference> {
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

/// The first entity that is in one alone, or has other types there.
fn first_entity(layouts: [&Layout; 2]) -> Option<Difference> {
    let lists = layouts.map(Layout::by_id);
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

/// Something in a chunk, and what it writes to a hasher.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) component: ComponentType,
    /// `None` if it is of the chunk.
    pub(super) entity: Option<Entity>,
    pub(super) kind: ItemKind,
    pub(super) stream: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum ItemKind {
    /// A value of this shape.
    Value(&'static Shape),
    /// Whether it is switched on.
    Enabled,
}

/// All that is in a chunk: what is shared, then row by row, then what the chunk has for itself.
pub(super) fn items(storage: &Storage, place: &ChunkPlace) -> Vec<Item> {
    let with_entities = |archetype: &&crate::storage::Archetype| !archetype.chunks.is_empty();
    let archetypes = storage.archetypes.iter().map(|(_, archetype)| archetype);
    let Some(archetype) = archetypes.filter(with_entities).nth(place.archetype) else {
        return Vec::new();
    };
    let Some(&number) = archetype.chunks.get(place.chunk) else { return Vec::new() };
    let chunk = &storage.chunks[number];
    let shape = &archetype.shape;
    let mut items = Vec::new();
    for (column, stream) in storage.streams_of_shared(chunk) {
        let component = shape.types[column as usize];
        let shared = component.0.shared.map_or(component.0.shape, |shared| shared.shape);
        let kind = ItemKind::Value(shared);
        items.push(Item { component, entity: None, kind, stream });
    }
    for (row, &entity) in chunk.entities().iter().enumerate() {
        for (column, &component) in shape.types.iter().enumerate() {
            let kind = ItemKind::Value(component.0.shape);
            let stream = Storage::stream_of_row(chunk, column, row);
            items.push(Item { component, entity: Some(entity), kind, stream });
        }
        for (mask, &column) in (0..).zip(&shape.enableable) {
            let component = shape.types[column as usize];
            let word = chunk.enabled.words(mask)[row / 64];
            let stream = vec![u8::from(word >> (row % 64) & 1 == 1)];
            items.push(Item { component, entity: Some(entity), kind: ItemKind::Enabled, stream });
        }
    }
    for (column, of, stream) in Storage::streams_of_chunk(chunk) {
        let component = shape.types[column as usize];
        items.push(Item { component, entity: None, kind: ItemKind::Value(of.0.shape), stream });
    }
    items
}
