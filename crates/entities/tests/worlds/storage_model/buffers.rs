//! Steps that grow, shrink, add and remove buffers.

use ancho_entities::{Buffer, ComponentType, Entity, LinkedEntityGroup, World};

use crate::storage_model::components::{GROUP, ITEMS, Item, REMAINS, Remain};
use crate::storage_model::plain::Row;
use crate::storage_model::script::{Run, Step};
use crate::storage_model::structure::error_of;

/// Checks that an entity has the buffers of a row.
pub(crate) fn compare_buffers(world: &World, entity: Entity, row: &Row) {
    let list = |kind: usize| row.get(&kind).map(|value| value.list.clone());
    let items = world.buffer::<Item>(entity).ok();
    let items = items.map(|items| items.iter().map(|item| item.0.to_bits()).collect());
    assert_eq!(items, list(ITEMS));
    assert_eq!(world.has::<Buffer<Item>>(entity), row.contains_key(&ITEMS));
    let group = world.buffer::<LinkedEntityGroup>(entity).ok();
    let group = group.map(|group| group.iter().map(|member| member.0.to_bits()).collect());
    assert_eq!(group, list(GROUP));
    let remains = world.buffer::<Remain>(entity).ok();
    let remains = remains.map(|remains| remains.iter().map(|remain| remain.0.into()).collect());
    assert_eq!(remains, list(REMAINS));
    let lookup = world.lookup::<&Buffer<Item>>();
    assert_eq!(
        lookup.get(entity).map(<[Item]>::len),
        row.get(&ITEMS).map(|value| value.list.len())
    );
}

impl Run {
    pub(crate) fn buffer(&mut self, step: &Step) {
        match step.set % 16 {
            0..3 => self.add_buffer(step),
            3 => self.replace_buffer(step, true),
            4 => self.replace_buffer(step, false),
            5 => self.take_buffer(step),
            6 => self.remove_buffer(step),
            7 => self.push_in_chunks(step),
            8 => self.change_remains(step),
            _ => self.change_buffer(step),
        }
    }

    /// Returns the numbers that a step puts into buffers: sometimes an entity.
    fn numbers(&self, step: &Step) -> Vec<u64> {
        let number = |at: usize| match at % 3 {
            0 => self.pick(step.other + 16 * at).to_bits(),
            _ => step.number + at as u64,
        };
        (0..step.count).map(number).collect()
    }

    /// Writes the list of an existing entity to the plain world.
    fn write_list(&mut self, entity: Entity, list: Vec<u64>) {
        let plain = &mut self.current().plain;
        let mut row = plain.row(&[ITEMS], |_| 0);
        row.get_mut(&ITEMS).unwrap().list = list;
        plain.write(entity, row);
    }

    fn list(&mut self, entity: Entity) -> Vec<u64> {
        let row = self.current().plain.entities.get(&entity);
        row.and_then(|row| row.get(&ITEMS)).map_or(Vec::new(), |value| value.list.clone())
    }

    /// Adds a buffer, which keeps its elements, and pushes one.
    fn add_buffer(&mut self, step: &Step) {
        let entity = self.pick(step.entity);
        let found = self.current().world.add_buffer::<Item>(entity).map(|mut items| {
            items.push(Item::new(step.number));
            items.len()
        });
        let mut list = self.list(entity);
        list.push(step.number);
        let expected = match self.presence(entity, &[ITEMS]) {
            Err("A0050") => Err("A0050"),
            Ok(()) if self.setup.strict => Err("A0052"),
            _ => Ok(list.len()),
        };
        if self.agrees(found, expected) {
            self.write_list(entity, list);
        }
    }

    fn replace_buffer(&mut self, step: &Step, adds: bool) {
        let (entity, list) = (self.pick(step.entity), self.numbers(step));
        let items: Buffer<Item> = list.iter().copied().map(Item::new).collect();
        let world = &mut self.current().world;
        let found = if adds {
            error_of(world.add(entity, items))
        } else {
            error_of(world.set(entity, items)).map(|()| false)
        };
        let expected = match adds {
            true => self.adding(entity, ITEMS),
            false => self.presence(entity, &[ITEMS]).map(|()| false),
        };
        if self.agrees(found, expected) {
            self.write_list(entity, list);
        }
    }

    fn take_buffer(&mut self, step: &Step) {
        let entity = self.pick(step.entity);
        let found = self.current().world.take::<Buffer<Item>>(entity);
        let found =
            found.map(|items| items.iter().map(|item| item.0.to_bits()).collect::<Vec<_>>());
        let list = self.list(entity);
        let expected = self.presence(entity, &[ITEMS]).map(|()| list);
        if self.agrees(found, expected) {
            self.current().plain.remove(entity, &[ITEMS]);
        }
    }

    fn remove_buffer(&mut self, step: &Step) {
        let entity = self.pick(step.entity);
        let types = [ComponentType::of_buffer::<Item>()];
        let found = self.current().world.remove_types(entity, &types);
        let expected = match self.presence(entity, &[ITEMS]) {
            Ok(()) => Ok(true),
            Err(code) if self.setup.strict => Err(code),
            Err(_) => Ok(false),
        };
        if self.agrees(found, expected) {
            self.current().plain.remove(entity, &[ITEMS]);
        }
    }

    fn change_buffer(&mut self, step: &Step) {
        let entity = self.pick_having(ITEMS, step.entity);
        let (numbers, mut list) = (self.numbers(step), self.list(entity));
        let at = step.other % (list.len() + 1);
        let found = self.current().world.buffer_mut::<Item>(entity).map(|mut items| {
            match step.other / 64 % 10 {
                0..3 => items.extend(numbers.iter().copied().map(Item::new)),
                3 => items.insert(at, Item::new(step.number)),
                4 if at < items.len() => drop(items.remove(at)),
                5 if at < items.len() => drop(items.swap_remove(at)),
                6 => items.truncate(at),
                7 => items.remove_range(at..),
                8 => items.clear(),
                9 => items.shrink_to_fit(),
                _ => {}
            }
        });
        if self.agrees(found, self.presence(entity, &[ITEMS])) {
            match step.other / 64 % 10 {
                0..3 => list.extend(numbers),
                3 => list.insert(at, step.number),
                4 if at < list.len() => drop(list.remove(at)),
                5 if at < list.len() => drop(list.swap_remove(at)),
                6 | 7 => list.truncate(at),
                8 => list.clear(),
                _ => {}
            }
            self.write_list(entity, list);
        }
    }

    /// Grows and shrinks cleanup buffers.
    fn change_remains(&mut self, step: &Step) {
        let entity = self.pick_having(REMAINS, step.entity);
        let found = self.current().world.buffer_mut::<Remain>(entity).map(|mut remains| {
            remains.truncate(step.other % 8);
            remains.push(Remain::new(step.number));
        });
        if self.agrees(found, self.presence(entity, &[REMAINS])) {
            let plain = &mut self.current().plain;
            let value = plain.entities.get_mut(&entity).unwrap().get_mut(&REMAINS).unwrap();
            value.list.truncate(step.other % 8);
            value.list.push(step.number);
            value.written = plain.now;
        }
    }

    /// Pushes to all buffers, chunk by chunk.
    fn push_in_chunks(&mut self, step: &Step) {
        let limited = self.setup.chunks.is_some();
        let mut written = Vec::new();
        self.current().world.for_each_chunk_mut(|mut chunk| {
            let entities = chunk.as_chunk().entities().to_vec();
            let refused = match chunk.buffers_mut::<Item>() {
                Ok(mut buffers) => {
                    buffers.iter_mut().for_each(|mut items| items.push(Item::new(step.number)));
                    return written.extend(entities);
                }
                Err(error) => error.to_string(),
            };
            assert!(refused.starts_with("A0051") || limited && refused.starts_with("A0056"));
        });
        for &entity in &written {
            assert!(self.has(entity, ITEMS));
            let mut list = self.list(entity);
            list.push(step.number);
            self.write_list(entity, list);
        }
    }
}
