//! Steps that write the values of components.

use ancho_entities::{Entity, EntityError};

use crate::storage_model::components::{
    BANNER, ENABLEABLE, Kind, NAME, NAMED, PER_CHUNK, RUNTIME, SMALL, number_of, script_bytes,
    type_of,
};
use crate::storage_model::groups::refer_to;
use crate::storage_model::plain::home_of;
use crate::storage_model::script::{Pair, Run, Step, code};
use crate::storage_model::sets::{Set, kinds_of};

impl Run {
    pub(crate) fn presence(&self, entity: Entity, kinds: &[usize]) -> Result<(), &'static str> {
        match self.pairs.last().unwrap().plain.entities.get(&entity) {
            None => Err("A0050"),
            Some(row) if kinds.iter().all(|kind| row.contains_key(kind)) => Ok(()),
            Some(_) => Err("A0051"),
        }
    }

    /// Returns the expected result of adding one kind: whether it is new.
    pub(crate) fn adding(&self, entity: Entity, kind: usize) -> Result<bool, &'static str> {
        match self.presence(entity, &[kind]) {
            Err("A0051") => Ok(true),
            Ok(()) if self.setup.strict => Err("A0052"),
            presence => presence.map(|()| false),
        }
    }

    pub(crate) fn set<S: Set>(&mut self, step: &Step) {
        let (entity, kinds) = (self.pick(step.entity), kinds_of::<S>());
        let found = self.current().world.set(entity, S::make(step.number));
        let expected = match self.presence(entity, &kinds) {
            Err("A0050") => Err("A0050"),
            _ if self.refused(&kinds) == Err("A0053") => Err("A0053"),
            presence => presence,
        };
        if self.agrees(found.map_err(|rejected| rejected.error), expected) {
            let plain = &mut self.current().plain;
            let row = plain.row(&kinds, |kind| number_of(kind, step.number));
            assert!(!plain.write(entity, row));
        }
    }

    pub(crate) fn get_mut<T: Kind>(&mut self, step: &Step) {
        let entity = self.pick(step.entity);
        let number = number_of(T::KIND, step.number);
        let found = self.current().world.get_mut::<T>(entity).map(|value| *value = T::make(number));
        let expected = self.presence(entity, &[T::KIND]);
        if self.agrees(found, expected) {
            let plain = &mut self.current().plain;
            let row = plain.row(&[T::KIND], |_| number);
            plain.write(entity, row);
        }
    }

    pub(crate) fn set_bytes(&mut self, step: &Step) {
        let entity = self.pick(step.entity);
        let (kind, bytes) = match step.set % 8 {
            0 => (NAME, vec![0; 32]),
            1 => (RUNTIME, vec![0; 23]),
            2..5 => (SMALL, (number_of(SMALL, step.number) as u32).to_ne_bytes().to_vec()),
            _ => (RUNTIME, script_bytes(number_of(RUNTIME, step.number)).to_vec()),
        };
        let found = self.current().world.set_bytes(entity, type_of(kind), &bytes);
        let expected = match (self.presence(entity, &[kind]), step.set % 8) {
            (Ok(()), 0) => Err("A0059"),
            (Ok(()), 1) => Err("A0060"),
            (presence, _) => presence,
        };
        if self.agrees(found, expected) {
            let plain = &mut self.current().plain;
            let row = plain.row(&[kind], |kind| number_of(kind, step.number));
            plain.write(entity, row);
        }
    }

    pub(crate) fn swap(&mut self, step: &Step) {
        let left = match step.set % 4 {
            0 => self.pick(step.entity),
            _ => self.pick_having(ENABLEABLE[step.count % ENABLEABLE.len()], step.entity),
        };
        let right = match step.set % 8 {
            0 => self.pick(step.other),
            _ => self.pick_alike(left, step.other),
        };
        let found = self.current().world.swap_components(left, right);
        let plain = &self.current().plain;
        let rows = (plain.entities.get(&left), plain.entities.get(&right));
        let expected = match rows {
            (Some(one), Some(other)) if one.keys().eq(other.keys()) => Ok(()),
            (Some(_), Some(_)) => Err("A0061"),
            _ => Err("A0050"),
        };
        if self.agrees(found, expected) {
            let plain = &mut self.current().plain;
            let (now, one, other) =
                (plain.now, plain.entities[&left].clone(), plain.entities[&right].clone());
            plain.swap_seats(left, right);
            let change_places = home_of(&one) != home_of(&other);
            for (entity, mut row) in [(left, other), (right, one)] {
                row.values_mut().for_each(|value| value.written = now);
                for kind in PER_CHUNK {
                    if let Some(value) = plain.entities[&entity].get(&kind)
                        && !change_places
                    {
                        row.get_mut(&kind).unwrap().number = value.number;
                    }
                }
                plain.entities.insert(entity, row);
            }
        }
    }

    /// Toggles some components: every other one is disabled.
    pub(crate) fn toggle(&mut self, step: &Step) {
        // Mostly an enableable kind, of entities that have it.
        let kind = match step.other % 8 {
            0 => NAMED[step.set % NAMED.len()],
            _ => ENABLEABLE[step.set % ENABLEABLE.len()],
        };
        for at in 0..=step.count {
            let entity = match step.other % 8 {
                0 | 1 => self.pick(step.entity + 16 * at),
                _ => self.pick_having(kind, step.entity + at),
            };
            self.toggle_one(entity, kind, (step.number + at as u64).is_multiple_of(2));
        }
    }

    pub(crate) fn toggle_one(&mut self, entity: Entity, kind: usize, enabled: bool) {
        let entities = &mut self.current().world;
        let found = entities.set_type_enabled(entity, type_of(kind), enabled);
        let expected = match self.presence(entity, &[kind]) {
            Ok(()) if !ENABLEABLE.contains(&kind) => Err("A0070"),
            presence => presence,
        };
        if self.agrees(found, expected) {
            let plain = &mut self.current().plain;
            let value = plain.entities.get_mut(&entity).unwrap().get_mut(&kind).unwrap();
            (value.enabled, value.written) = (enabled, plain.now);
        }
    }

    pub(crate) fn set_name(&mut self, step: &Step) {
        let entity = self.pick(step.entity);
        let name =
            if step.set.is_multiple_of(4) { String::new() } else { format!("n{}", step.number) };
        let found = self.current().world.set_name(entity, &name);
        let expected = self.presence(entity, &[]);
        if self.agrees(found, expected) {
            self.current().plain.names.insert(entity, name);
        }
    }

    /// Writes a component of all entities that have it.
    pub(crate) fn write_chunks<T: Kind>(&mut self, step: &Step) {
        let limited = self.setup.chunks.is_some();
        let Pair { world, plain, .. } = self.current();
        let number = |entity: &Entity| {
            number_of(T::KIND, step.number + u64::from(entity.index() ^ entity.version()))
        };
        let mut written = Vec::new();
        world.for_each_chunk_mut(|mut chunk| {
            let entities = chunk.as_chunk().entities().to_vec();
            match chunk.slice_mut::<T>() {
                Ok(values) => {
                    for (value, entity) in values.iter_mut().zip(&entities) {
                        *value = T::make(number(entity));
                    }
                    written.extend(entities);
                }
                Err(EntityError::OutOfMemory(_)) if limited => {}
                Err(error) => {
                    assert_eq!(code(&error), "A0051");
                    assert!(!plain.entities[&entities[0]].contains_key(&T::KIND));
                }
            }
        });
        for entity in written {
            let row = plain.row(&[T::KIND], |_| number(&entity));
            assert!(!plain.write(entity, row));
        }
    }

    pub(crate) fn advance(&mut self) {
        let Pair { world, plain, .. } = self.current();
        plain.now += 1;
        assert_eq!(world.advance_version().number(), plain.now);
    }

    pub(crate) fn remap(&mut self) {
        let moved =
            |entity: Entity| Entity::from_parts(entity.index().wrapping_add(1), entity.version());
        let found = self.current().world.remap_references(moved);
        if self.agrees(found, Ok(())) {
            let plain = &mut self.current().plain;
            let moved = |entity: Entity| if entity.is_null() { entity } else { moved(entity) };
            plain.remap_seats(moved);
            for row in plain.entities.values_mut() {
                for kind in refer_to(row, moved) {
                    row.get_mut(&kind).unwrap().written = plain.now;
                }
                // A shared value becomes another one, unless it refers to the null entity. Instances keep the value.
                if let Some(banner) = row.get_mut(&BANNER).filter(|banner| banner.number != 0) {
                    banner.number = moved(Entity::from_bits(banner.number)).to_bits();
                    banner.written = plain.now;
                }
            }
        }
    }
}
