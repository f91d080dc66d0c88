//! Chunk components: the values of chunks, derived from invariants.
//!
//! The plain world has no chunks, so it does not know where an entity moves. But every value that is set is unique, and
//! identifies its chunk. The invariants are enough to derive the value that every entity may see.

use std::collections::{BTreeMap, BTreeSet};

use ancho_entities::{ArchetypeChunk, Component, Entity, EntityError, PerChunk, World};

use crate::storage_model::components::{
    Follow, Kind, Name, PER_CHUNK, PER_FOLLOW, PER_NAME, Small,
};
use crate::storage_model::plain::{Plain, home_of, kinds_of_row};
use crate::storage_model::script::{Pair, Run, Step};
use crate::storage_model::structure::error_of;

/// The number of a chunk's value of each kind, if its entities have it.
type Values = [Option<u64>; PER_CHUNK.len()];

/// The last known chunk of an entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seat {
    kinds: Vec<usize>,
    /// The kinds and the shared values: entities with equal ones may be in one chunk.
    home: Vec<u64>,
    pub(crate) values: Values,
}

/// A chunk component.
trait ChunkKind: Kind + Default {
    const CHUNK_KIND: usize;
}

impl ChunkKind for Name {
    const CHUNK_KIND: usize = PER_NAME;
}

impl ChunkKind for Follow {
    const CHUNK_KIND: usize = PER_FOLLOW;
}

fn values_of(chunk: &ArchetypeChunk<'_>) -> Values {
    let (name, follow) = (chunk.chunk_component::<Name>(), chunk.chunk_component::<Follow>());
    [name.map(Kind::number), follow.map(Kind::number)]
}

/// Checks the values of all chunks, and records them in the plain world.
///
/// - The entities of a chunk have the same kinds and shared values, and see one value.
/// - An entity with unchanged kinds and shared values stays in its chunk, and sees the same value.
/// - A chunk without any of its previous entities is new, and begins with the default.
/// - No two chunks have the same value.
pub(crate) fn follow_chunks(world: &World, plain: &mut Plain) {
    let mut seats = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for chunk in world.chunks() {
        let values = values_of(&chunk);
        let row = &plain.entities[&chunk.entities()[0]];
        for (kind, value) in PER_CHUNK.into_iter().zip(values) {
            assert_eq!(value.is_some(), row.contains_key(&kind));
            assert!(value.is_none_or(|value| value == 0 || seen.insert((kind, value))));
        }
        if values == [None, None] {
            continue;
        }
        let seat = Seat { kinds: kinds_of_row(row), home: home_of(row), values };
        let mut was_there = false;
        for &entity in chunk.entities() {
            assert_eq!(home_of(&plain.entities[&entity]), seat.home, "{entity}");
            if let Some(old) = plain.seats.get(&entity) {
                assert!(old.home != seat.home || old.values == values, "{entity} {old:?} {seat:?}");
                was_there |= old.kinds == seat.kinds && old.values == values;
            }
            seats.insert(entity, seat.clone());
        }
        let is_new = values.iter().flatten().all(|&value| value == 0);
        assert!(was_there || is_new, "a new chunk has {values:?}");
    }
    for (entity, seat) in &seats {
        let row = plain.entities.get_mut(entity).unwrap();
        for (kind, value) in PER_CHUNK.into_iter().zip(seat.values) {
            if let Some(value) = value {
                row.get_mut(&kind).unwrap().number = value;
            }
        }
    }
    plain.seats = seats;
}

/// Checks that an entity sees the value of its chunk.
pub(crate) fn compare_per_chunk(world: &World, plain: &Plain, entity: Entity) {
    let number = |kind| plain.entities[&entity].get(&kind).map(|value| value.number);
    assert_eq!(world.chunk_component(entity).ok().map(Name::number), number(PER_NAME));
    assert_eq!(world.chunk_component(entity).ok().map(Follow::number), number(PER_FOLLOW));
}

impl Plain {
    /// Records a new value of the chunk of these entities.
    fn set_chunk_value(&mut self, entities: &[Entity], kind: usize, number: u64) {
        let at = PER_CHUNK.iter().position(|&other| other == kind).unwrap();
        for entity in entities {
            let value = self.entities.get_mut(entity).unwrap().get_mut(&kind).unwrap();
            (value.number, value.written) = (number, self.now);
            self.seats.get_mut(entity).unwrap().values[at] = Some(number);
        }
    }

    /// Records that two entities swapped chunks, if they did.
    pub(crate) fn swap_seats(&mut self, left: Entity, right: Entity) {
        if let (Some(one), Some(other)) = (self.seats.get(&left), self.seats.get(&right))
            && one.home != other.home
        {
            let (one, other) = (one.clone(), other.clone());
            self.seats.insert(left, other);
            self.seats.insert(right, one);
        }
    }

    /// Replaces the entities that chunks refer to.
    pub(crate) fn remap_seats(&mut self, map: impl Fn(Entity) -> Entity) {
        let follow = PER_CHUNK.iter().position(|&kind| kind == PER_FOLLOW).unwrap();
        for number in self.seats.values_mut().filter_map(|seat| seat.values[follow].as_mut()) {
            *number = map(Entity::from_bits(*number)).to_bits();
        }
    }
}

impl Run {
    pub(crate) fn per_chunk(&mut self, step: &Step) {
        if self.lacks(PER_FOLLOW, step) {
            self.spawn_many::<(Small, PerChunk<Follow>, PerChunk<Name>)>(step);
            let Pair { world, plain, .. } = self.current();
            follow_chunks(world, plain);
        }
        match step.set % 8 {
            0..4 => self.set_chunk_component::<Name>(step),
            4..6 => self.set_chunk_component::<Follow>(step),
            6 => self.write_chunk_components::<Name>(),
            _ => self.write_chunk_components::<Follow>(),
        }
    }

    /// Returns a number that no chunk has, even after remapping.
    fn unheard_of(&mut self) -> u64 {
        self.last_number += 1 << 12;
        self.last_number
    }

    /// Sets the value of a chunk through one of its entities.
    fn set_chunk_component<T: ChunkKind + Component>(&mut self, step: &Step) {
        let entity = self.pick_having(T::CHUNK_KIND, step.entity);
        let number = self.unheard_of();
        let found = self.current().world.set_chunk_component(entity, <T as Kind>::make(number));
        if self.agrees(error_of(found), self.presence(entity, &[T::CHUNK_KIND])) {
            let Pair { world, plain, .. } = self.current();
            let mut chunks = world.chunks();
            let chunk = chunks.find(|chunk| chunk.entities().contains(&entity)).unwrap();
            plain.set_chunk_value(chunk.entities(), T::CHUNK_KIND, number);
        }
    }

    /// Changes the values of all chunks, each to a unique one.
    fn write_chunk_components<T: ChunkKind + Component>(&mut self) {
        let mut number = self.unheard_of();
        let mut written = Vec::new();
        self.current().world.for_each_chunk_mut(|mut chunk| {
            let entities = chunk.as_chunk().entities().to_vec();
            match chunk.chunk_component_mut::<T>() {
                Ok(value) => {
                    number += 1 << 12;
                    *value = <T as Kind>::make(number);
                    written.push((entities, number));
                }
                Err(error) => assert!(matches!(error, EntityError::MissingComponent { .. })),
            }
        });
        self.last_number = number;
        for (entities, number) in written {
            self.current().plain.set_chunk_value(&entities, T::CHUNK_KIND, number);
        }
    }
}
