//! A plain model of a world: maps of maps, and lists of ids.

use std::collections::BTreeMap;

use ancho_entities::Entity;

use crate::storage_model::components::{CLEANUP, ITEMS, MARK, PER_CHUNK, REMAINS, SHARED, list_of};
use crate::storage_model::per_chunk::Seat;

/// A component: its number, its list for buffers, the version of its last write, and its enabled state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Value {
    pub(crate) number: u64,
    pub(crate) list: Vec<u64>,
    pub(crate) written: u32,
    pub(crate) enabled: bool,
}

/// The components of an entity, by kind.
pub(crate) type Row = BTreeMap<usize, Value>;

pub(crate) fn kinds_of_row(row: &Row) -> Vec<usize> {
    row.keys().copied().collect()
}

/// Returns the key of the chunks that an entity may be in: its kinds and shared values.
pub(crate) fn home_of(row: &Row) -> Vec<u64> {
    let shared = SHARED.iter().filter_map(|kind| row.get(kind)).map(|value| value.number);
    row.keys().map(|&kind| kind as u64).chain(shared).collect()
}

/// Returns whether an entity has cleanup components.
pub(crate) fn stays(row: &Row) -> bool {
    CLEANUP.iter().any(|kind| row.contains_key(kind))
}

#[derive(Clone)]
pub(crate) struct Plain {
    pub(crate) entities: BTreeMap<Entity, Row>,
    pub(crate) names: BTreeMap<Entity, String>,
    /// The last known chunks of entities with chunk components.
    pub(crate) seats: BTreeMap<Entity, Seat>,
    /// The current version.
    pub(crate) now: u32,
    /// The version of the entity with an index, or of the next one.
    versions: Vec<u32>,
    /// Free indices, the next one last.
    free: Vec<u32>,
    /// The first index that was not used since everything was despawned.
    fresh: u32,
}

impl Plain {
    pub(crate) fn new() -> Self {
        Self {
            entities: BTreeMap::new(),
            names: BTreeMap::new(),
            seats: BTreeMap::new(),
            now: 1,
            versions: Vec::new(),
            free: Vec::new(),
            fresh: 0,
        }
    }

    /// Returns the entity that is created next.
    pub(crate) fn next(&self) -> Entity {
        let index = self.free.last().copied().unwrap_or(self.fresh);
        let version = self.versions.get(index as usize).copied().unwrap_or(1);
        Entity::from_parts(index, version)
    }

    pub(crate) fn row(&self, kinds: &[usize], number: impl Fn(usize) -> u64) -> Row {
        let written = self.now;
        let value = |&kind: &usize| {
            let (number, list) = (number(kind), list_of(kind, number(kind)));
            let number = if matches!(kind, ITEMS | REMAINS) { 0 } else { number };
            (kind, Value { number, list, written, enabled: true })
        };
        kinds.iter().map(value).collect()
    }

    pub(crate) fn create(&mut self, row: Row) -> Entity {
        let entity = self.next();
        if self.free.pop().is_none() {
            self.fresh += 1;
        }
        if entity.index() as usize == self.versions.len() {
            self.versions.push(1);
        }
        self.entities.insert(entity, row);
        entity
    }

    /// Destroys an entity. Returns whether it existed.
    pub(crate) fn destroy(&mut self, entity: Entity) -> bool {
        let existed = self.entities.remove(&entity).is_some();
        if existed {
            self.versions[entity.index() as usize] += 1;
            self.free.push(entity.index());
        }
        existed
    }

    /// Destroys an entity, or leaves its cleanup components. Returns whether anything changed.
    pub(crate) fn despawn(&mut self, entity: Entity) -> bool {
        let mark = Value { number: 0, list: Vec::new(), written: self.now, enabled: true };
        match self.entities.get_mut(&entity) {
            Some(row) if stays(row) => {
                let is_rest = |kind: &usize| *kind == MARK || CLEANUP.contains(kind);
                if row.contains_key(&MARK) && row.keys().all(is_rest) {
                    return false;
                }
                row.retain(|kind, _| CLEANUP.contains(kind));
                row.insert(MARK, mark);
                true
            }
            _ => self.destroy(entity),
        }
    }

    /// Removes components. A cleanup-only entity is destroyed with its last one.
    pub(crate) fn remove(&mut self, entity: Entity, kinds: &[usize]) {
        if let Some(row) = self.entities.get_mut(&entity) {
            row.retain(|kind, _| !kinds.contains(kind));
            if row.keys().eq(&[MARK]) {
                self.destroy(entity);
            }
        }
    }

    pub(crate) fn destroy_all(&mut self) -> usize {
        for entity in self.entities.keys() {
            self.versions[entity.index() as usize] += 1;
        }
        self.free.clear();
        self.fresh = 0;
        self.names.clear();
        std::mem::take(&mut self.entities).len()
    }

    /// Writes components, and returns whether one was new. Disabled ones stay disabled. Equal shared values and chunk
    /// components are not written.
    pub(crate) fn write(&mut self, entity: Entity, values: Row) -> bool {
        let row = self.entities.get_mut(&entity).unwrap();
        let before = row.len();
        for (kind, mut value) in values {
            if let Some(old) = row.get(&kind) {
                let is_same = SHARED.contains(&kind) && old.number == value.number;
                if is_same || PER_CHUNK.contains(&kind) {
                    continue;
                }
                value.enabled = old.enabled;
            }
            row.insert(kind, value);
        }
        row.len() > before
    }
}
