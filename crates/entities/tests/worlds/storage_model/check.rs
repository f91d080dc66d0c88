//! Comparison of worlds with the plain ones.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering::Relaxed;

use ancho_entities::{ArchetypeChunk, Entity, EntityError, Version, World};

use crate::storage_model::buffers::compare_buffers;
use crate::storage_model::components::{
    ENABLEABLE, Kind, NAMED, PAGE, RUNTIME, SCRIPT, script_bytes, type_of,
};
use crate::storage_model::groups::compare_tags;
use crate::storage_model::managed::{PAGES, compare_managed, compare_managed_column};
use crate::storage_model::per_chunk::{compare_per_chunk, follow_chunks};
use crate::storage_model::plain::{Plain, Row};
use crate::storage_model::script::{Pair, Run};
use crate::storage_model::sets::any_kind;
use crate::storage_model::shared::{compare_shared, compare_shared_values};

impl Run {
    /// Checks the current world: quickly, or everything.
    pub(crate) fn check_current(&mut self, thoroughly: bool) {
        let pair = self.current();
        pair.world.check_invariants().unwrap();
        follow_chunks(&pair.world, &mut pair.plain);
        assert!(!pair.world.exists(pair.plain.next()));
        if thoroughly {
            compare(pair);
        }
        let order = compare_shared_values(&pair.world, &pair.plain, &mut pair.orders);
        pair.hash = pair.world.state_hash();
        let hash = pair.hash;
        self.hashes.extend([hash, order]);
        // Worlds never share pages, so their number is always that of the entities with one.
        let pages =
            |plain: &Plain| plain.entities.values().filter(|r| r.contains_key(&PAGE)).count();
        let left = self.left.as_ref().map_or(0, |(_, _, pages)| *pages);
        let expected = left + self.pairs.iter().map(|pair| pages(&pair.plain)).sum::<usize>();
        assert_eq!(PAGES.load(Relaxed), expected, "pages are kept too long, or not long enough");
        if let Some((world, hash, _)) = &self.left {
            assert_eq!(world.state_hash(), *hash, "the fork's calls reached this");
        }
    }

    /// Compares all worlds with their expected state.
    pub(crate) fn check_all(&self) {
        for pair in &self.pairs {
            assert_eq!(pair.world.state_hash(), pair.hash, "another world's calls reached this");
            pair.world.check_invariants().unwrap();
            compare(pair);
        }
    }
}

fn compare(Pair { world, plain, .. }: &Pair) {
    let entities = world;
    let mut seen = BTreeSet::<Entity>::new();
    for chunk in entities.chunks() {
        compare_chunk(&chunk, plain);
        seen.extend(chunk.entities());
    }
    assert!(seen.iter().eq(plain.entities.keys()));
    assert_eq!(entities.entity_count(), seen.len());
    assert!(entities.iter_entities().eq(entities.all_entities()));
    assert_eq!(entities.all_entities().len(), seen.len());
    for (&entity, row) in &plain.entities {
        compare_row(world, entity, row);
        compare_per_chunk(world, plain, entity);
        let name = plain.names.get(&entity).filter(|name| !name.is_empty());
        assert_eq!(entities.entity_name(entity), name.map(String::as_str));
    }
    for kind in 0..RUNTIME {
        any_kind!(kind, T => compare_lookup::<T>(world, plain));
    }
    for &gone in plain.names.keys().filter(|entity| !plain.entities.contains_key(entity)) {
        assert!(!world.exists(gone));
        assert_eq!(entities.entity_name(gone), None);
    }
}

fn compare_lookup<T: Kind>(world: &World, plain: &Plain) {
    let lookup = world.lookup::<&T>();
    for (&entity, row) in &plain.entities {
        let found = lookup.get(entity).map(Kind::number);
        assert_eq!(found, row.get(&T::KIND).map(|value| value.number));
    }
    assert!(!lookup.has(plain.next()));
}

fn compare_chunk(chunk: &ArchetypeChunk<'_>, plain: &Plain) {
    assert!(chunk.len() <= chunk.capacity());
    let rows: Vec<&Row> = chunk.entities().iter().map(|entity| &plain.entities[entity]).collect();
    assert!(rows.iter().all(|row| row.len() == chunk.component_types().len()));
    for kind in 0..RUNTIME {
        any_kind!(kind, T => compare_column::<T>(chunk, &rows, plain.now));
    }
    compare_managed_column(chunk, &rows);
    for kind in NAMED {
        let version = chunk.change_version_of(type_of(kind)).map(Version::number);
        for row in &rows {
            assert_eq!(version.is_some(), row.contains_key(&kind));
            assert!(row.get(&kind).is_none_or(|value| Some(value.written) <= version));
        }
        assert!(version.is_none_or(|version| version <= plain.now));
    }
    match chunk.bytes(*SCRIPT) {
        Some(bytes) => {
            for (bytes, row) in bytes.chunks_exact(24).zip(rows) {
                assert_eq!(bytes, script_bytes(row[&RUNTIME].number));
            }
        }
        None => assert!(rows.iter().all(|row| !row.contains_key(&RUNTIME))),
    }
}

fn compare_column<T: Kind>(chunk: &ArchetypeChunk<'_>, rows: &[&Row], now: u32) {
    let Some(values) = chunk.slice::<T>() else {
        assert!(rows.iter().all(|row| !row.contains_key(&T::KIND)));
        return;
    };
    let version = chunk.change_version::<T>().unwrap().number();
    assert!(version <= now);
    assert_eq!(values.len(), rows.len());
    let enabled = rows.iter().filter(|row| row[&T::KIND].enabled).count();
    assert_eq!(chunk.enabled_count::<T>(), enabled);
    compare_mask::<T>(chunk, rows);
    for (value, row) in values.iter().zip(rows) {
        assert_eq!(value.number(), row[&T::KIND].number);
        assert!(row[&T::KIND].written <= version, "a change was not noted");
    }
}

/// Checks that the mask has the bits of the rows, and none after the last.
fn compare_mask<T: Kind>(chunk: &ArchetypeChunk<'_>, rows: &[&Row]) {
    let Some(mask) = chunk.enabled_mask::<T>() else {
        return assert!(!ENABLEABLE.contains(&T::KIND));
    };
    let mut expected = vec![0; chunk.capacity().div_ceil(64)];
    for (at, row) in rows.iter().enumerate() {
        expected[at / 64] |= u64::from(row[&T::KIND].enabled) << (at % 64);
    }
    assert_eq!(mask, expected);
}

fn compare_row(world: &World, entity: Entity, row: &Row) {
    assert!(world.exists(entity));
    for kind in 0..RUNTIME {
        let found = any_kind!(kind, T => world.get::<T>(entity).map(Kind::number));
        match row.get(&kind) {
            Some(value) => assert_eq!(found, Ok(value.number)),
            None => assert!(matches!(found, Err(EntityError::MissingComponent { .. }))),
        }
    }
    for kind in NAMED {
        let ty = type_of(kind);
        assert_eq!(world.has_type(entity, ty), row.contains_key(&kind));
        let enabled = world.is_type_enabled(entity, ty).ok();
        assert_eq!(enabled, row.get(&kind).map(|value| value.enabled));
    }
    compare_buffers(world, entity, row);
    compare_tags(world, entity, row);
    compare_shared(world, entity, row);
    compare_managed(world, entity, row);
    let bytes = world.get_bytes(entity, *SCRIPT).ok();
    let expected = row.get(&RUNTIME).map(|value| script_bytes(value.number));
    assert_eq!(bytes, expected.as_ref().map(|bytes| &bytes[..]));
}
