//! Worlds are what the plain ones are.

use std::collections::BTreeSet;

use ancho_entities::{ArchetypeChunk, Entity, Version, World};

use crate::buffers::compare_buffers;
use crate::components::{
    Follow, Ghost, KINDS, Kind, Large, Name, OTHERS, Only, RUNTIME, SCRIPT, Small, Stays, Tag,
    Wide, any_kind, script_bytes, type_of,
};
use crate::groups::compare_tags;
use crate::plain::{Plain, Row};
use crate::script::{Pair, Run, code};

impl Run {
    /// Checks the world that was worked on: what is quick, or all that must be true of it too.
    pub(crate) fn check_current(&mut self, thoroughly: bool) {
        let Pair { world, plain, .. } = self.current();
        if thoroughly {
            world.check_invariants().unwrap();
        }
        assert_eq!(world.entity_count(), plain.entities.len());
        assert!(!world.exists(plain.next()));
    }

    /// Compares all worlds with what they should be.
    pub(crate) fn check_all(&mut self) {
        let current = self.current();
        current.hash = current.world.state_hash();
        for pair in &self.pairs {
            assert_eq!(pair.world.state_hash(), pair.hash, "another world's calls reached this");
            pair.world.check_invariants().unwrap();
            compare(pair);
            self.hashes.push(pair.hash);
        }
    }
}

fn compare(Pair { world, plain, .. }: &Pair) {
    let entities = world.entities();
    let mut seen = BTreeSet::<Entity>::new();
    for chunk in entities.chunks() {
        compare_chunk(&chunk, plain);
        seen.extend(chunk.entities());
    }
    assert!(seen.iter().eq(plain.entities.keys()));
    assert_eq!(entities.all_entities().len(), seen.len());
    for (&entity, row) in &plain.entities {
        compare_row(world, entity, row);
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
    let lookup = world.entities().lookup::<T>();
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
    for kind in OTHERS {
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
    for (value, row) in values.iter().zip(rows) {
        assert_eq!(value.number(), row[&T::KIND].number);
        assert!(row[&T::KIND].written <= version, "a change was not noted");
    }
}

fn compare_row(world: &World, entity: Entity, row: &Row) {
    assert!(world.exists(entity));
    for kind in 0..RUNTIME {
        let found = any_kind!(kind, T => world.get::<T>(entity).map(Kind::number));
        let expected = row.get(&kind).map(|value| value.number).ok_or("A0051".to_owned());
        assert_eq!(found.map_err(|error| code(&error)), expected);
    }
    for kind in 0..KINDS {
        let ty = type_of(kind);
        assert_eq!(world.entities().has_type(entity, ty), row.contains_key(&kind));
        let enabled = world.entities().is_type_enabled(entity, ty).ok();
        assert_eq!(enabled, row.get(&kind).map(|value| value.enabled));
    }
    compare_buffers(world, entity, row);
    compare_tags(world, entity, row);
    let bytes = world.entities().get_bytes(entity, *SCRIPT).ok();
    let expected = row.get(&RUNTIME).map(|value| script_bytes(value.number));
    assert_eq!(bytes, expected.as_ref().map(|bytes| &bytes[..]));
}
