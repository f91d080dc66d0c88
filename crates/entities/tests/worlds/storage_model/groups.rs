//! Steps that instantiate entities, alone and in groups, and enable and disable groups.

use std::collections::BTreeSet;

use ancho_entities::{
    Buffer, Disabled, Entity, EntityError, LinkedEntityGroup, OmitLinkedEntityGroup, World,
};

use crate::storage_model::components::{
    CLEANUP, DISABLED, FOLLOW, Follow, GROUP, ITEMS, Kind, MARK, OMIT, ONLY, PAGE, PER_FOLLOW,
    RUNTIME,
};
use crate::storage_model::managed::Page;
use crate::storage_model::plain::{Plain, Row, home_of};
use crate::storage_model::script::{Run, Step};
use crate::storage_model::structure::error_of;

/// Replaces the entities that a row refers to. Returns the kinds that can refer to entities.
pub(crate) fn refer_to(row: &mut Row, map: impl Fn(Entity) -> Entity) -> Vec<usize> {
    let mut kinds = Vec::new();
    for (&kind, value) in row {
        match kind {
            FOLLOW | RUNTIME | PER_FOLLOW => {
                value.number = map(Entity::from_bits(value.number)).to_bits();
            }
            ITEMS | GROUP => value.list.iter_mut().for_each(|number| {
                *number = map(Entity::from_bits(*number)).to_bits();
            }),
            PAGE => value.list[0] = map(Entity::from_bits(value.list[0])).to_bits(),
            _ => continue,
        }
        kinds.push(kind);
    }
    kinds
}

/// Checks that an entity has the tags of a row.
pub(crate) fn compare_tags(world: &World, entity: Entity, row: &Row) {
    assert_eq!(world.has::<Disabled>(entity), row.contains_key(&DISABLED));
    assert_eq!(world.is_enabled(entity), !row.contains_key(&DISABLED));
    assert_eq!(world.has::<OmitLinkedEntityGroup>(entity), row.contains_key(&OMIT));
}

impl Plain {
    /// Returns the members of an entity's group, in their order.
    fn members(&self, entity: Entity) -> Vec<Entity> {
        let group = self.entities.get(&entity).and_then(|row| row.get(&GROUP));
        group
            .map_or(Vec::new(), |group| group.list.iter().copied().map(Entity::from_bits).collect())
    }

    /// Despawns an entity, its group, and the groups of that. Returns the number of changed entities.
    pub(crate) fn despawn_group(&mut self, root: Entity) -> usize {
        let mut all = Vec::new();
        self.reach(root, &mut all);
        all.into_iter().filter(|&entity| self.despawn(entity)).count()
    }

    fn reach(&self, entity: Entity, all: &mut Vec<Entity>) {
        if self.entities.contains_key(&entity) && !all.contains(&entity) {
            all.push(entity);
            self.members(entity).into_iter().for_each(|member| self.reach(member, all));
        }
    }

    /// Returns the components of an entity's instances.
    fn instance_of(&self, source: Entity) -> Row {
        let mut row = self.entities[&source].clone();
        row.retain(|kind, _| !CLEANUP.contains(kind));
        if row.contains_key(&OMIT) && row.contains_key(&GROUP) {
            row.remove(&OMIT);
            row.remove(&GROUP);
        }
        row.values_mut().for_each(|value| value.written = self.now);
        row
    }

    /// Returns the entities that are instantiated with one, itself first, or the error code.
    fn sources(&self, source: Entity) -> Result<Vec<Entity>, &'static str> {
        if !self.entities.contains_key(&source) {
            return Err("A0050");
        }
        let mut members = self.members(source);
        match members.first() {
            None => members.push(source),
            Some(&first) if first == source => {}
            Some(_) => return Err("A0073"),
        }
        let mut seen = BTreeSet::new();
        members.retain(|&member| seen.insert(member));
        for member in &members {
            match self.entities.get(member) {
                None => return Err("A0050"),
                Some(row) if row.contains_key(&MARK) => return Err("A0072"),
                Some(row) if row.contains_key(&ONLY) => return Err("A0058"),
                Some(_) => {}
            }
        }
        Ok(members)
    }

    /// Instantiates entities, and returns the instances of the first. Those with the same components and shared values
    /// are created one after another.
    fn instantiate(&mut self, mut sources: Vec<Entity>, count: usize) -> Vec<Entity> {
        let home = |entity: &Entity| home_of(&self.instance_of(*entity));
        let homes: Vec<Vec<u64>> = sources.iter().map(home).collect();
        sources.sort_by_key(|entity| homes.iter().position(|other| *other == home(entity)));
        let instances: Vec<Vec<Entity>> = sources
            .iter()
            .map(|&source| (0..count).map(|_| self.create(self.instance_of(source))).collect())
            .collect();
        for (source, created) in sources.iter().zip(&instances) {
            for (at, &instance) in created.iter().enumerate() {
                let place = |entity| sources.iter().position(|&source| source == entity);
                let map = |entity| place(entity).map_or(entity, |place| instances[place][at]);
                refer_to(self.entities.get_mut(&instance).unwrap(), map);
                if let Some(name) = self.names.get(source).cloned() {
                    self.names.insert(instance, name);
                }
            }
        }
        instances.into_iter().next().unwrap()
    }
}

impl Run {
    pub(crate) fn instantiate(&mut self, step: &Step) {
        let source = if step.set % 4 < 2 {
            self.pick(step.entity)
        } else {
            self.pick_having(GROUP, step.entity)
        };
        if step.set.is_multiple_of(2) {
            // It refers to itself.
            self.follow(source, source);
        }
        let entities = &mut self.current().world;
        let created: Result<Vec<Entity>, EntityError> = match step.count {
            1 => entities.instantiate(source).map(|entity| vec![entity]),
            count => entities.instantiate_many(source, count).map(Vec::from_iter),
        };
        let sources = self.current().plain.sources(source);
        let result = created.as_ref().map(|_| ()).map_err(|&error| error);
        if self.agrees(result, sources.as_ref().map(|_| ()).map_err(|&code| code)) {
            let expected = self.current().plain.instantiate(sources.unwrap(), step.count);
            assert_eq!(created.unwrap(), expected);
        }
    }

    /// Makes an entity refer to another, if it has the component.
    fn follow(&mut self, entity: Entity, other: Entity) {
        let pair = self.current();
        if let Ok(follow) = pair.world.get_mut::<Follow>(entity) {
            *follow = Kind::make(other.to_bits());
            let row = pair.plain.row(&[FOLLOW], |_| other.to_bits());
            pair.plain.write(entity, row);
        }
        if self.has(entity, PAGE) {
            self.write_managed::<Page>(entity, 1, &[other.to_bits(), 0]);
        }
    }

    /// Gives an entity a group: mostly of itself and others that refer to it, sometimes an invalid one.
    pub(crate) fn group(&mut self, step: &Step) {
        let root = self.pick(step.entity);
        if step.set % 8 == 7 {
            return self.omit(root);
        }
        let mut members: Vec<Entity> =
            (0..step.count % 6).map(|at| self.pick(step.other + 16 * 7 * at)).collect();
        if step.set % 8 < 5 {
            let mut exist = members.clone();
            exist.retain(|&member| self.exists(member));
            members = exist;
        }
        if step.set % 8 != 6 {
            members.insert(0, root);
        }
        for &member in members.iter().skip(1) {
            self.follow(member, root);
        }
        let group: Buffer<_> = members.iter().copied().map(LinkedEntityGroup).collect();
        let found = error_of(self.current().world.add(root, group));
        let expected = self.adding(root, GROUP);
        if self.agrees(found, expected) {
            let plain = &mut self.current().plain;
            let mut row = plain.row(&[GROUP], |_| 0);
            row.get_mut(&GROUP).unwrap().list = members.iter().map(|m| m.to_bits()).collect();
            plain.write(root, row);
        }
    }

    fn omit(&mut self, root: Entity) {
        let found = error_of(self.current().world.add(root, OmitLinkedEntityGroup));
        let expected = self.adding(root, OMIT);
        if self.agrees(found, expected) {
            let plain = &mut self.current().plain;
            let row = plain.row(&[OMIT], |_| 0);
            plain.write(root, row);
        }
    }

    pub(crate) fn set_enabled(&mut self, step: &Step) {
        let entity = if step.set % 4 < 2 {
            self.pick(step.entity)
        } else {
            self.pick_having(GROUP, step.entity)
        };
        let enabled = step.number.is_multiple_of(2);
        let found = self.current().world.set_enabled(entity, enabled);
        let mut members = self.current().plain.members(entity);
        members.push(entity);
        let mut seen = BTreeSet::new();
        members.retain(|&member| {
            self.exists(member) && self.has(member, DISABLED) == enabled && seen.insert(member)
        });
        let expected = if self.exists(entity) { Ok(!members.is_empty()) } else { Err("A0050") };
        if self.agrees(found, expected) {
            let plain = &mut self.current().plain;
            for member in members {
                if enabled {
                    plain.remove(member, &[DISABLED]);
                } else {
                    let row = plain.row(&[DISABLED], |_| 0);
                    plain.write(member, row);
                }
            }
        }
    }
}
