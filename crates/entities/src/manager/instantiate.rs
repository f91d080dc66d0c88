//! Entities that begin as copies of others.

#![expect(unsafe_code, reason = "duplicates rows of chunks")]

use std::sync::Arc;

use super::{EntityManager, NewEntities};
use crate::component::{ComponentType, Copying};
use crate::entity::Entity;
use crate::error::EntityError;
use crate::stock::{CleanupEntity, Disabled};
use crate::storage::{Change, Chunk, NewRows, Reserved, Run, duplicate_value};

impl EntityManager {
    /// Creates an entity with copies of another's components.
    ///
    /// It has all of them but [`Prefab`](crate::Prefab) and those that stay after despawning. Fields that refer to the
    /// other entity refer to the new one; fields that refer to others stay as they are. Components that are switched off
    /// stay so, and names are kept. If it is the root of a [group](crate::LinkedEntityGroup), all of that is instantiated.
    /// Unity's `Instantiate`.
    ///
    /// # Errors
    ///
    /// If there is no such entity, it was despawned and only has components that stay, one of its components can neither
    /// be copied nor cloned, or there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Entity, World};
    ///
    /// #[derive(Component, Clone, Copy, Debug, PartialEq)]
    /// struct Leader(Entity);
    ///
    /// let mut world = World::new("Simulation");
    /// let first = world.spawn(());
    /// world.add(first, Leader(first)).unwrap();
    /// let second = world.entities_mut().instantiate(first).unwrap();
    /// assert_eq!(world.get(second), Ok(&Leader(second)));
    /// ```
    pub fn instantiate(&mut self, source: Entity) -> Result<Entity, EntityError> {
        let mut created = self.instantiate_many(source, 1)?;
        Ok(created.next().expect("one was created"))
    }

    /// Creates so many entities with copies of another's components, as [`instantiate`](Self::instantiate) does one.
    ///
    /// # Errors
    ///
    /// As there. Then none is created.
    pub fn instantiate_many(
        &mut self,
        source: Entity,
        count: usize,
    ) -> Result<NewEntities<'_>, EntityError> {
        self.locate(source)?;
        let members = self.group_of(source);
        match members.first() {
            None => self.instantiate_alone(source, count),
            Some(&first) if first == source => self.instantiate_group(&members, count),
            Some(&first) => Err(EntityError::GroupWithoutRoot { root: source, first }),
        }
    }

    /// Instantiates an entity, and not its group.
    pub(super) fn instantiate_alone(
        &mut self,
        source: Entity,
        count: usize,
    ) -> Result<NewEntities<'_>, EntityError> {
        let from = self.locate(source)?;
        let shape = Arc::clone(&self.storage.archetypes[self.storage.archetype_at(from)].shape);
        if shape.has(ComponentType::of::<CleanupEntity>()) {
            return Err(EntityError::OnlyResidue { entity: source });
        }
        let number =
            self.transfer_of::<()>(self.storage.archetype_at(from), Change::Instantiate)?;
        let transfer = &self.transfers[number];
        let copied = transfer.kept.iter().map(|&(theirs, _)| shape.types[theirs as usize]);
        if let Some(component) = copied.clone().find(|ty| matches!(ty.0.copying, Copying::NotAtAll))
        {
            return Err(EntityError::NotDuplicable { component });
        }
        self.storage.table.require(count);
        let group = self.storage.group_by(transfer, from.chunk);
        let (storage, runs) = (&mut self.storage, &mut self.runs);
        let mut reserved = Reserved::in_group(storage, runs, transfer.to, group, count)?;
        // Now that no chunk is copied any more, the source stays where it is.
        let data = reserved.storage.chunks[from.chunk].data();
        // Writes one column of a run, and returns its number there.
        let write = |chunk: &Chunk, run: Run, (theirs, ours): (u32, u32)| {
            let ty = shape.types[theirs as usize];
            let (old, new) = (shape.columns[theirs as usize], chunk.shape().columns[ours as usize]);
            // SAFETY:
            // - the source has a value of the type there, in a row that is not among the new ones
            // - the new rows are reserved, and have none
            // - it was checked that the type can be duplicated
            unsafe {
                duplicate_value(
                    ty,
                    data.add(old.offset as usize + from.row as usize * ty.size()),
                    chunk.column(new.offset).add(run.first as usize * ty.size()),
                    run.rows as usize,
                );
            }
            ty.0.drop.is_some().then_some(ours)
        };
        if copied.clone().all(|ty| matches!(ty.0.copying, Copying::Bytes)) {
            // No code of the user's runs, so that nothing can go wrong half way.
            reserved.fill(|chunk, run| {
                for &columns in &transfer.kept {
                    write(chunk, run, columns);
                }
            });
            reserved.commit();
            self.finish_instances(source, number);
            return Ok(NewEntities::new(&self.storage, &self.runs));
        }
        let mut filled = Vec::new();
        for &run in reserved.runs.iter() {
            let chunk = &reserved.storage.chunks[run.chunk];
            // SAFETY: archetypes live as long as the world.
            let new_shape = unsafe { chunk.unbound_shape() };
            // SAFETY: columns are added when they are written, and the rows are nobody's yet.
            let mut new = unsafe { NewRows::new(new_shape, chunk.data(), run.first, run.rows) };
            for &columns in &transfer.kept {
                new.columns.extend(write(chunk, run, columns));
            }
            filled.push(new);
        }
        filled.into_iter().for_each(NewRows::keep);
        reserved.commit();
        self.finish_instances(source, number);
        Ok(NewEntities::new(&self.storage, &self.runs))
    }

    /// Lets what was just created refer to itself where the source did, be switched off where it was, and have its name.
    fn finish_instances(&mut self, source: Entity, transfer: u32) {
        let name = self.entity_name(source).map(Box::<str>::from);
        let from = self.storage.table.locate(source).expect("the source is still there");
        for at in 0..self.runs.len() {
            let Run { chunk: number, first, rows } = self.runs[at];
            for &(theirs, ours) in &self.transfers[transfer].masks_kept {
                if !self.storage.chunks[from.chunk].enabled.get(theirs, from.row) {
                    let chunk = &mut self.storage.chunks[number];
                    (first..first + rows).for_each(|row| chunk.enabled.set(ours, row, false));
                }
            }
            let refers =
                self.storage.chunks[number].shape().types.iter().any(|ty| ty.0.remap.is_some());
            if !refers && name.is_none() {
                continue;
            }
            for row in first..first + rows {
                let instance = self.storage.chunks[number].entities()[row as usize];
                if refers {
                    let itself = |entity| if entity == source { instance } else { entity };
                    self.remap_row(instance, &mut { itself });
                }
                if let Some(name) = &name {
                    self.names_mut().set(instance, name);
                }
            }
        }
    }

    /// Whether an entity takes part: switches [`Disabled`] on or off, for its [group](crate::LinkedEntityGroup) too. Returns
    /// whether that was a change.
    ///
    /// # Errors
    ///
    /// If there is no such entity, or there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::World;
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn(());
    /// world.entities_mut().set_enabled(orc, false).unwrap();
    /// assert!(!world.entities().is_enabled(orc));
    /// ```
    pub fn set_enabled(&mut self, entity: Entity, enabled: bool) -> Result<bool, EntityError> {
        self.locate(entity)?;
        let mut members = self.group_of(entity);
        if !members.contains(&entity) {
            members.push(entity);
        }
        members.retain(|&member| self.exists(member));
        let mut changed = false;
        for member in members {
            if enabled != self.has::<Disabled>(member) {
                continue;
            }
            changed |= if enabled {
                self.remove::<Disabled>(member)?
            } else {
                self.add(member, Disabled).map_err(|rejected| rejected.error)?
            };
        }
        Ok(changed)
    }

    /// Whether an entity is there and takes part.
    pub fn is_enabled(&self, entity: Entity) -> bool {
        self.exists(entity) && !self.has::<Disabled>(entity)
    }
}
