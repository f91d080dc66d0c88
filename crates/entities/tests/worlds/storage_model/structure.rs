//! Steps that create and destroy entities, and add and remove components.

use std::panic::{AssertUnwindSafe, catch_unwind};

use ancho_collections::Rejected;
use ancho_entities::{ComponentType, Entity, EntityError, World};

use crate::storage_model::components::{
    BANNER, CLEANUP, ITEMS, LARGE, MARK, MEMO, MESH, NAME, NAMED, NO_DEFAULT, ONLY, PAGE,
    PER_CHUNK, PER_FOLLOW, PER_NAME, REGISTRY, REMAINS, RUNTIME, SMALL, STAYS, TEAM, number_of,
    script_bytes, type_of,
};
use crate::storage_model::plain::{Row, stays};
use crate::storage_model::script::{Pair, Run, Step};
use crate::storage_model::sets::{Cloned, Part, Set, kinds_of};

/// Returns the error code for a set of kinds, if it is refused.
fn refused(kinds: &[usize], chunk_size: usize) -> Result<(), &'static str> {
    let mut sorted = kinds.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    match () {
        () if sorted.len() < kinds.len() => Err("A0053"),
        () if kinds.contains(&LARGE) && chunk_size < 8 << 10 => Err("A0054"),
        () => Ok(()),
    }
}

/// Returns the code of a panic message.
pub(crate) fn panic_code(call: impl FnOnce()) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|panic| {
        panic.downcast::<String>().map_or_else(|_| "no text".into(), |text| text[..5].to_owned())
    })
}

/// Returns the error of a rejected set.
pub(crate) fn error_of<T, V>(
    result: Result<T, Rejected<V, EntityError>>,
) -> Result<T, EntityError> {
    result.map_err(|rejected| rejected.error)
}

/// Kinds that are added to the frequent ones.
const FURTHER: [&[usize]; 26] = [
    &[],
    &[LARGE],
    &[ONLY],
    &[STAYS],
    &[TEAM],
    &[MESH],
    &[REGISTRY],
    &[BANNER],
    &[PAGE],
    &[MEMO],
    &[REMAINS],
    &[ITEMS],
    &[PER_NAME],
    &[PER_FOLLOW],
    &[TEAM, PER_NAME],
    &[TEAM, PAGE],
    &[REGISTRY, STAYS],
    &[REMAINS, MEMO, REGISTRY],
    &[PER_NAME, PER_FOLLOW, TEAM],
    &[PAGE, ITEMS],
    &[TEAM, REGISTRY, PER_FOLLOW],
    &[TEAM, ITEMS, PAGE, PER_NAME],
    &[PAGE, PER_FOLLOW],
    &[ITEMS, TEAM],
    &[BANNER, TEAM, PER_NAME],
    &[STAYS, REMAINS, MEMO, REGISTRY],
];

fn types(kinds: &[usize]) -> Vec<ComponentType> {
    kinds.iter().map(|&kind| type_of(kind)).collect()
}

/// Returns whether an entity has the kinds of a row, or does not exist if there is no row.
fn looks_as(world: &World, entity: Entity, row: Option<&Row>) -> bool {
    let entities = world;
    let Some(row) = row else { return !entities.exists(entity) };
    let archetype = entities.entity_archetype(entity).unwrap();
    entities.component_types(archetype).unwrap().len() == row.len()
        && NAMED
            .into_iter()
            .all(|kind| entities.has_type(entity, type_of(kind)) == row.contains_key(&kind))
}

impl Run {
    pub(crate) fn refused(&self, kinds: &[usize]) -> Result<(), &'static str> {
        refused(kinds, self.setup.chunk_size)
    }

    /// Returns kinds by the bits of a number, some more often than others; sometimes one of them twice.
    fn kinds_of_bits(&self, set: usize, twice: bool) -> Vec<usize> {
        let (often, set) = ([0, 1, 2, 3, 4, 5, RUNTIME], set & self.setup.focus.bits);
        let often = often.into_iter().enumerate().filter(|(at, _)| set >> at & 1 == 1);
        let mut kinds: Vec<usize> = often.map(|(_, kind)| kind).collect();
        kinds.extend(FURTHER[(set >> 7) % FURTHER.len()]);
        if twice && let Some(&kind) = kinds.last() {
            kinds.push(kind);
        }
        kinds
    }

    /// Returns whether an entity with these additional kinds would be too large.
    fn too_large(&self, entity: Entity, kinds: &[usize]) -> bool {
        let row = &self.pairs.last().unwrap().plain.entities[&entity];
        (kinds.contains(&LARGE) || row.contains_key(&LARGE)) && self.setup.chunk_size < 8 << 10
    }

    pub(crate) fn has(&mut self, entity: Entity, kind: usize) -> bool {
        self.current().plain.entities.get(&entity).is_some_and(|row| row.contains_key(&kind))
    }

    pub(crate) fn exists(&mut self, entity: Entity) -> bool {
        self.current().plain.entities.contains_key(&entity)
    }

    fn row_of<S: Set>(&mut self, number: u64) -> Row {
        self.current().plain.row(&kinds_of::<S>(), |kind| number_of(kind, number))
    }

    pub(crate) fn spawn<S: Set>(&mut self, step: &Step) {
        let row = self.row_of::<S>(step.number);
        let expected = self.refused(&kinds_of::<S>());
        let next = self.current().plain.next();
        let found = error_of(self.current().world.try_spawn(S::make(step.number)));
        if self.agrees(found, expected.map(|()| next)) {
            self.current().plain.create(row);
        }
    }

    pub(crate) fn spawn_many<S: Cloned>(&mut self, step: &Step) {
        let expected = self.refused(&kinds_of::<S>());
        let mut created = Vec::new();
        let world = &mut self.current().world;
        let found = panic_code(|| {
            let new = world.spawn_many(S::make(step.number), step.count);
            assert_eq!(new.len(), step.count);
            created.extend(new);
        });
        if self.agrees_with_panic(found, expected) {
            let row = self.row_of::<S>(step.number);
            for entity in created {
                assert_eq!(self.current().plain.create(row.clone()), entity);
            }
        }
    }

    pub(crate) fn agrees_with_panic(
        &self,
        found: Result<(), String>,
        expected: Result<(), &str>,
    ) -> bool {
        if found == Err("A0056".to_owned()) && self.setup.chunks.is_some() {
            return false;
        }
        assert_eq!(found, expected.map_err(str::to_owned));
        expected.is_ok()
    }

    pub(crate) fn spawn_batch<S: Set>(&mut self, step: &Step) {
        let expected = if step.count == 0 { Ok(()) } else { self.refused(&kinds_of::<S>()) };
        let mut created = None;
        let world = &mut self.current().world;
        let numbers = (0..step.count as u64).map(|at| step.number + at);
        let found = panic_code(|| {
            created = Some(world.spawn_batch(numbers.clone().map(S::make)).collect::<Vec<_>>());
        });
        self.agrees_with_panic(found, expected);
        // Without memory for all of them, some were created.
        for (at, number) in numbers.enumerate() {
            let row = self.row_of::<S>(number);
            let pair = self.current();
            if !pair.world.exists(pair.plain.next()) {
                assert_eq!(created, None);
                break;
            }
            let entity = pair.plain.create(row);
            assert!(created.as_ref().is_none_or(|created| created[at] == entity));
        }
    }

    pub(crate) fn create(&mut self, step: &Step) {
        let kinds = self.kinds_of_bits(step.set, step.other.is_multiple_of(16));
        let refused = self.refused(&kinds);
        let entities = &mut self.current().world;
        let archetype = entities.archetype_of(&types(&kinds));
        let result = archetype.as_ref().map(|_| ()).map_err(|&error| error);
        if !self.agrees(result, refused) {
            return;
        }
        let entities = &mut self.current().world;
        let created: Result<Vec<Entity>, EntityError> = match step.count {
            1 => entities.create(archetype.unwrap()).map(|entity| vec![entity]),
            count => entities.create_many(archetype.unwrap(), count).map(Vec::from_iter),
        };
        let result = created.as_ref().map(|_| ()).map_err(|&error| error);
        let lacks_default = NO_DEFAULT.iter().any(|kind| kinds.contains(kind));
        if self.agrees(result, if lacks_default { Err("A0057") } else { Ok(()) }) {
            let created = created.unwrap();
            assert_eq!(created.len(), step.count);
            for entity in created {
                let plain = &mut self.current().plain;
                let row = plain.row(&kinds, |_| 0);
                assert_eq!(plain.create(row), entity);
            }
        }
    }

    pub(crate) fn despawn(&mut self, step: &Step) {
        let entity = self.pick(step.entity);
        let found = self.current().world.despawn(entity);
        let missing = !self.exists(entity) && self.setup.strict;
        let mut after = self.current().plain.clone();
        let changed = after.despawn_group(entity) > 0;
        if self.agrees(found, if missing { Err("A0050") } else { Ok(changed) }) {
            self.current().plain = after;
        }
    }

    pub(crate) fn despawn_slice(&mut self, step: &Step) {
        // Neighbours, one of them twice, and others.
        let mut slice: Vec<Entity> = if step.set.is_multiple_of(2) {
            self.current().world.iter_entities().skip(step.other % 16).collect()
        } else {
            (0..step.count).map(|at| self.pick(step.entity + 16 * at * (step.other | 1))).collect()
        };
        slice.truncate(step.count);
        if step.set.is_multiple_of(8) {
            slice.extend(slice.first().copied());
            slice.push(self.pick(step.entity));
        }
        let all_exist = slice.iter().all(|&entity| self.exists(entity));
        let found = self.current().world.batch(&slice).despawn();
        if self.setup.strict && !all_exist {
            self.agrees(found, Err("A0050"));
        } else {
            self.despawned(&slice, found);
        }
    }

    fn despawned(&mut self, slice: &[Entity], found: Result<usize, EntityError>) {
        let mut after = self.current().plain.clone();
        let changed = slice.iter().map(|&entity| after.despawn_group(entity)).sum();
        if self.agrees(found, Ok(changed)) {
            self.current().plain = after;
            return;
        }
        // Without memory, the entities before the failure are destroyed.
        let Pair { world, plain, .. } = self.current();
        for &entity in slice {
            let mut after = plain.clone();
            after.despawn_group(entity);
            if !looks_as(world, entity, after.entities.get(&entity)) {
                break;
            }
            *plain = after;
        }
    }

    pub(crate) fn despawn_all(&mut self) {
        let Pair { world, plain, .. } = self.current();
        if plain.entities.values().any(stays) {
            let all = world.all_entities();
            let found = world.despawn_all();
            return self.despawned(&all, found);
        }
        assert_eq!(world.despawn_all(), Ok(plain.destroy_all()));
    }

    pub(crate) fn add<S: Set>(&mut self, step: &Step) {
        let (entity, kinds) = (self.pick(step.entity), kinds_of::<S>());
        let found = error_of(self.current().world.add(entity, S::make(step.number)));
        let present = kinds.iter().any(|&kind| self.has(entity, kind));
        let new = kinds.iter().any(|&kind| !self.has(entity, kind));
        let expected = match self.refused(&kinds) {
            _ if !self.exists(entity) => Err("A0050"),
            Err("A0053") => Err("A0053"),
            _ if self.too_large(entity, &kinds) => Err("A0054"),
            _ if self.setup.strict && present => Err("A0052"),
            _ => Ok(new),
        };
        if self.agrees(found, expected) {
            let row = self.row_of::<S>(step.number);
            self.current().plain.write(entity, row);
        }
    }

    pub(crate) fn add_types(&mut self, step: &Step) {
        let entity = self.pick(step.entity);
        let kinds = self.kinds_of_bits(step.set, step.other.is_multiple_of(16));
        let found = self.current().world.add_types(entity, &types(&kinds));
        let is_new = |run: &mut Self, kind: usize| !run.has(entity, kind);
        let new: Vec<usize> = kinds.iter().copied().filter(|&kind| is_new(self, kind)).collect();
        let expected = match self.refused(&kinds) {
            _ if !self.exists(entity) => Err("A0050"),
            Err("A0053") => Err("A0053"),
            _ if self.too_large(entity, &kinds) => Err("A0054"),
            _ if self.setup.strict && new.len() < kinds.len() => Err("A0052"),
            _ if NO_DEFAULT.iter().any(|kind| new.contains(kind)) => Err("A0057"),
            _ => Ok(!new.is_empty()),
        };
        if self.agrees(found, expected) {
            let plain = &mut self.current().plain;
            let row = plain.row(&new, |_| 0);
            plain.write(entity, row);
        }
    }

    pub(crate) fn add_bytes(&mut self, step: &Step) {
        let entity = self.pick(step.entity);
        let (kind, bytes) = match step.set % 8 {
            0 => (NAME, vec![0; 32]),
            1 => (SMALL, vec![0; 5]),
            2..5 => (SMALL, (number_of(SMALL, step.number) as u32).to_ne_bytes().to_vec()),
            _ => (RUNTIME, script_bytes(number_of(RUNTIME, step.number)).to_vec()),
        };
        let found = self.current().world.add_bytes(entity, type_of(kind), &bytes);
        let present = self.has(entity, kind);
        let expected = match step.set % 8 {
            0 => Err("A0059"),
            1 => Err("A0060"),
            _ if !self.exists(entity) => Err("A0050"),
            _ if self.setup.strict && present => Err("A0052"),
            _ => Ok(!present),
        };
        if self.agrees(found, expected) {
            let plain = &mut self.current().plain;
            let row = plain.row(&[kind], |kind| number_of(kind, step.number));
            plain.write(entity, row);
        }
    }

    pub(crate) fn remove<S: Set>(&mut self, step: &Step) {
        let entity = self.pick(step.entity);
        let found = self.current().world.remove::<S>(entity);
        self.removed(entity, &kinds_of::<S>(), found);
    }

    pub(crate) fn remove_types(&mut self, step: &Step) {
        let entity = self.pick(step.entity);
        let kinds = self.kinds_of_bits(step.set, step.other.is_multiple_of(16));
        let found = self.current().world.remove_types(entity, &types(&kinds));
        self.removed(entity, &kinds, found);
    }

    pub(crate) fn removed(
        &mut self,
        entity: Entity,
        kinds: &[usize],
        found: Result<bool, EntityError>,
    ) {
        let present = kinds.iter().any(|&kind| self.has(entity, kind));
        let missing = kinds.iter().any(|&kind| !self.has(entity, kind));
        let expected = match self.refused(kinds) {
            Err("A0053") => Err("A0053"),
            _ if !self.exists(entity) && self.setup.strict => Err("A0050"),
            _ if missing && self.setup.strict => Err("A0051"),
            _ => Ok(present),
        };
        if self.agrees(found, expected) {
            self.current().plain.remove(entity, kinds);
        }
    }

    pub(crate) fn take<S: Set>(&mut self, step: &Step) {
        let (entity, kinds) = (self.pick(step.entity), kinds_of::<S>());
        let found = self.current().world.take::<S>(entity).map(|set| {
            let mut parts = Vec::new();
            set.read(&mut parts);
            parts
        });
        let part = |kind: usize| -> Part {
            let value = &self.pairs.last().unwrap().plain.entities[&entity][&kind];
            (kind, value.number, value.list.clone())
        };
        let expected = match self.presence(entity, &kinds) {
            Err("A0050") => Err("A0050"),
            _ if self.refused(&kinds) == Err("A0053") => Err("A0053"),
            Err(code) => Err(code),
            Ok(()) => Ok(kinds
                .iter()
                .copied()
                .filter(|kind| !PER_CHUNK.contains(kind))
                .map(part)
                .collect()),
        };
        if self.agrees(found, expected) {
            self.current().plain.remove(entity, &kinds);
        }
    }

    pub(crate) fn set_archetype(&mut self, step: &Step) {
        let entity = self.pick(step.entity);
        let kinds = self.kinds_of_bits(step.set, false);
        let refused = self.refused(&kinds);
        let entities = &mut self.current().world;
        let archetype = entities.archetype_of(&types(&kinds));
        let result = archetype.as_ref().map(|_| ()).map_err(|&error| error);
        if !self.agrees(result, refused) {
            return;
        }
        let found = self.current().world.set_archetype(entity, archetype.unwrap());
        let is_new = |run: &mut Self, kind: usize| !run.has(entity, kind);
        let new: Vec<usize> = kinds.iter().copied().filter(|&kind| is_new(self, kind)).collect();
        let loses_cleanup =
            CLEANUP.iter().any(|kind| self.has(entity, *kind) && !kinds.contains(kind));
        let expected = match () {
            () if !self.exists(entity) => Err("A0050"),
            () if loses_cleanup => Err("A0071"),
            () if self.has(entity, MARK) => Err("A0072"),
            () if NO_DEFAULT.iter().any(|kind| new.contains(kind)) => Err("A0057"),
            () => Ok(()),
        };
        if self.agrees(found, expected) {
            let plain = &mut self.current().plain;
            let added = plain.row(&new, |_| 0);
            plain.entities.get_mut(&entity).unwrap().retain(|kind, _| kinds.contains(kind));
            plain.write(entity, added);
        }
    }
}
