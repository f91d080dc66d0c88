//! Adding components to entities, and removing them.

#![expect(unsafe_code, reason = "writes components to rows that move")]

use std::any::TypeId;
use std::iter;

use ancho_collections::Rejected;

use super::give::Given;
use super::{Archetype, EntityManager, LinkedEntityGroup, QuickWay};
use crate::builtin::{CleanupEntity, OmitLinkedEntityGroup, Prefab};
use crate::component::ComponentType;
use crate::entity::Entity;
use crate::error::EntityError;
use crate::set::ComponentSet;
use crate::storage::{
    Change, Edge, Left, Location, OpenSlot, RowPlace, Storage, Transfer, sort_types,
};

/// Which of the ways that are remembered.
#[derive(Clone, Copy)]
enum Quick {
    Add = 0,
    Remove = 1,
}

impl EntityManager {
    /// Gives an entity components; those that it has already are replaced. Returns whether one was new.
    ///
    /// Reorders what queries give: see [`Query::to_entities`](crate::Query::to_entities).
    ///
    /// However many they are, the entity moves once.
    ///
    /// # Errors
    ///
    /// If there is no such entity, a type is there twice, the entity would be larger than a chunk, or there is no
    /// memory. In a strict world, if the entity has one of them. The components are given back.
    ///
    /// # Complexity
    ///
    /// A structural change: all components of the entity are copied to another chunk, unless none is new.
    #[inline]
    pub fn add<S: ComponentSet>(
        &mut self,
        entity: Entity,
        set: S,
    ) -> Result<bool, Rejected<S, EntityError>> {
        if S::COUNT == 0 {
            // Memory that is shared stays so: nothing is written.
            return match self.locate(entity) {
                Ok(_) => Ok(false),
                Err(error) => Err(Rejected { value: set, error }),
            };
        }
        if let Some((slot, transfer, to)) = self.quick_way::<S>(entity, Quick::Add) {
            // SAFETY: the transfer was found by this number before.
            let transfer = unsafe { self.transfers.at(transfer) };
            // SAFETY: archetypes list chunks that are there.
            let chunk = unsafe { self.storage.chunks.at(to) };
            // SAFETY: as below.
            unsafe { set.write(chunk.row(chunk.len, &transfer.offsets)) };
            // SAFETY: what the transfer does not move was just written; both chunks move rows simply.
            unsafe { self.storage.move_row_simply(entity, slot, transfer, to) };
            return Ok(true);
        }
        self.add_with_care(entity, set)
    }

    #[inline(never)]
    fn add_with_care<S: ComponentSet>(
        &mut self,
        entity: Entity,
        set: S,
    ) -> Result<bool, Rejected<S, EntityError>> {
        if S::SHARED {
            let given = self.give_shared(entity, set, Change::Add)?;
            return Ok(matches!(given, Given::New));
        }
        let (location, transfer, to) = match self.prepare_add::<S>(entity) {
            Ok(prepared) => prepared,
            Err(error) => return Err(Rejected { value: set, error }),
        };
        let Some(to) = to else {
            // SAFETY: the transfer is from the entity's archetype to itself, and the chunk the world's alone.
            unsafe { self.replace(location, transfer, set) };
            return Ok(false);
        };
        let transfer = &self.transfers[transfer];
        // SAFETY: it was just found, or made.
        let chunk = unsafe { self.storage.chunks.at(to) };
        // SAFETY:
        // - the offsets are those of the set in the transfer's archetype, which the chunk is of
        // - the row is behind the last, and there is room for it: it has no values
        unsafe { set.write(chunk.row(chunk.len, &transfer.offsets)) };
        // SAFETY: what the transfer does not move was just written.
        unsafe {
            self.storage.move_row(entity, location, transfer, to, &transfer.left);
        };
        Ok(true)
    }

    /// Where the entity is, what is to be done, and which chunk it goes to, if it has to.
    #[inline]
    fn prepare_add<S: ComponentSet>(
        &mut self,
        entity: Entity,
    ) -> Result<(Location, u32, Option<u32>), EntityError> {
        let location = self.locate(entity)?;
        let from = self.storage.archetype_at(location);
        let number = self.transfer_of::<S>(from, Change::Add)?;
        self.remember_way::<S>(from, number, Quick::Add);
        let transfer = &self.transfers[number];
        if self.strict
            && let Some(component) = transfer.present
        {
            return Err(EntityError::AlreadyPresent { entity, component });
        }
        self.before_transfer(location, number);
        // SAFETY: the table names chunks that are there.
        unsafe { self.storage.make_unique_at(location.chunk)? };
        let stays = transfer.to == from;
        let to = if stays { None } else { Some(self.storage.room_by(transfer, location.chunk)?) };
        Ok((location, number, to))
    }

    /// Gives an entity those of the components that it lacks, with their defaults. Returns whether there was one.
    ///
    /// Reorders what queries give: see [`Query::to_entities`](crate::Query::to_entities).
    ///
    /// The values of those that it has stay as they are.
    ///
    /// # Errors
    ///
    /// As [`add`](Self::add), and if one of the components has no default.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, ComponentType, World};
    ///
    /// #[derive(Component, Default, Debug, PartialEq)]
    /// struct Score(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let player = world.spawn(Score(7));
    /// let score = ComponentType::of::<Score>();
    /// assert_eq!(world.add_types(player, &[score]), Ok(false));
    /// assert_eq!(world.get(player), Ok(&Score(7)));
    /// ```
    pub fn add_types(
        &mut self,
        entity: Entity,
        types: &[ComponentType],
    ) -> Result<bool, EntityError> {
        let location = self.locate(entity)?;
        let set = self.set_number_of(types)?;
        let from = self.storage.chunks[location.chunk].archetype;
        let number = self.transfer(from, set, Change::AddMissing)?;
        if self.strict
            && let Some(component) = self.transfers[number].present
        {
            return Err(EntityError::AlreadyPresent { entity, component });
        }
        let transfer = &self.transfers[number];
        if transfer.to == from {
            return Ok(false);
        }
        self.before_transfer(location, number);
        self.storage.move_with_initial(&mut self.runs, entity, location, transfer)?;
        Ok(true)
    }

    /// Gives an entity a component whose value the function writes. Does nothing, and returns false, if it has one.
    pub(super) fn add_with(
        &mut self,
        entity: Entity,
        ty: ComponentType,
        write: impl FnOnce(*mut u8),
    ) -> Result<bool, EntityError> {
        let location = self.locate(entity)?;
        let set = self.set_number_of(&[ty])?;
        let from = self.storage.chunks[location.chunk].archetype;
        let number = self.transfer(from, set, Change::Add)?;
        let transfer = &self.transfers[number];
        if transfer.to == from {
            return if self.strict {
                Err(EntityError::AlreadyPresent { entity, component: ty })
            } else {
                Ok(false)
            };
        }
        self.before_transfer(location, number);
        self.storage.make_unique(location.chunk)?;
        let to = self.storage.room_by(transfer, location.chunk)?;
        let chunk = &self.storage.chunks[to];
        write(chunk.column(transfer.offsets[0]).wrapping_add(chunk.len as usize * ty.size()));
        // SAFETY: what the transfer does not move was just written.
        unsafe {
            self.storage.move_row(entity, location, transfer, to, &transfer.left);
        };
        Ok(true)
    }

    /// Removes components from an entity, as far as it has them. Returns whether it had one.
    ///
    /// Reorders what queries give: see [`Query::to_entities`](crate::Query::to_entities).
    ///
    /// However many they are, the entity moves once.
    ///
    /// # Errors
    ///
    /// If there is no memory. In a strict world, if there is no such entity, or it lacks one of them.
    ///
    /// # Complexity
    ///
    /// A structural change: all other components of the entity are copied to another chunk.
    #[inline]
    pub fn remove<S: ComponentSet>(&mut self, entity: Entity) -> Result<bool, EntityError> {
        if let Some((slot, transfer, to)) = self.quick_way::<S>(entity, Quick::Remove) {
            // SAFETY: the transfer was found by this number before.
            let transfer = unsafe { self.transfers.at(transfer) };
            // SAFETY: nothing is new in the archetype it goes to, and nothing is left to be dropped; both chunks move rows
            // simply.
            unsafe { self.storage.move_row_simply(entity, slot, transfer, to) };
            return Ok(true);
        }
        self.remove_with_care::<S>(entity)
    }

    #[inline(never)]
    fn remove_with_care<S: ComponentSet>(&mut self, entity: Entity) -> Result<bool, EntityError> {
        let Some(location) = self.storage.table.locate(entity) else {
            // A set that cannot be is an error also where there is nothing to be removed.
            self.set_number::<S>()?;
            return if self.strict { Err(self.no_such(entity)) } else { Ok(false) };
        };
        let from = self.storage.archetype_at(location);
        let number = self.transfer_of::<S>(from, Change::Remove)?;
        self.remember_way::<S>(from, number, Quick::Remove);
        self.remove_by(entity, location, number)
    }

    /// Removes components from an entity, as far as it has them. Returns whether it had one.
    ///
    /// Reorders what queries give: see [`Query::to_entities`](crate::Query::to_entities).
    ///
    /// # Errors
    ///
    /// As [`remove`](Self::remove), and if a type is there twice.
    pub fn remove_types(
        &mut self,
        entity: Entity,
        types: &[ComponentType],
    ) -> Result<bool, EntityError> {
        let set = self.set_number_of(types)?;
        let Some(location) = self.storage.table.locate(entity) else {
            return if self.strict { Err(self.no_such(entity)) } else { Ok(false) };
        };
        let from = self.storage.archetype_at(location);
        let number = self.transfer(from, set, Change::Remove)?;
        self.remove_by(entity, location, number)
    }

    /// Removes the components that a transfer takes away.
    #[inline]
    fn remove_by(
        &mut self,
        entity: Entity,
        location: Location,
        number: u32,
    ) -> Result<bool, EntityError> {
        let transfer = &self.transfers[number];
        if self.strict
            && let Some(component) = transfer.missing
        {
            return Err(EntityError::MissingComponent { entity, component });
        }
        if transfer.present.is_none() {
            return Ok(false);
        }
        self.before_transfer(location, number);
        // SAFETY: the table names chunks that are there.
        unsafe { self.storage.make_unique_at(location.chunk)? };
        if transfer.ends {
            // SAFETY: the entity is there, its chunk the world's alone, and no value was moved or dropped.
            unsafe { self.storage.destroy_row(entity, location, Left::All) };
            return Ok(true);
        }
        let to = self.storage.room_by(transfer, location.chunk)?;
        // SAFETY: nothing is new in the archetype it goes to, so the transfer moves everything.
        unsafe {
            self.storage.move_row(entity, location, transfer, to, &transfer.left);
        };
        Ok(true)
    }

    /// Removes components from an entity and returns them.
    ///
    /// Reorders what queries give: see [`Query::to_entities`](crate::Query::to_entities).
    ///
    /// # Errors
    ///
    /// If there is no such entity, it lacks one of them, a type is there twice, or there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Debug, PartialEq)]
    /// struct Cargo(String);
    ///
    /// let mut world = World::new("Simulation");
    /// let ship = world.spawn(Cargo("tea".into()));
    /// assert_eq!(world.take::<Cargo>(ship), Ok(Cargo("tea".into())));
    /// assert!(!world.has::<Cargo>(ship));
    /// ```
    pub fn take<S: ComponentSet>(&mut self, entity: Entity) -> Result<S, EntityError> {
        // What is read where is known to the transfer that would replace them.
        let (location, read) = self.find_set::<S>(entity)?;
        if S::COUNT == 0 {
            let nowhere = RowPlace::new(std::ptr::null_mut(), &[], 0);
            // SAFETY: there is nothing to be read.
            return Ok(unsafe { S::read(nowhere, &mut iter::empty()) });
        }
        let from = self.storage.chunks[location.chunk].archetype;
        let set = self.set_number::<S>()?;
        let number = self.transfer(from, set, Change::Remove)?;
        self.before_transfer(location, number);
        self.storage.make_unique(location.chunk)?;
        let transfer = &self.transfers[number];
        let to = if transfer.ends {
            None
        } else {
            Some(self.storage.room_by(transfer, location.chunk)?)
        };
        let shared = if S::SHARED { self.shared_of_set(location.chunk, set) } else { Vec::new() };
        let place =
            self.storage.chunks[location.chunk].row(location.row, &self.transfers[read].offsets);
        // SAFETY: there are values of these types; nothing is left of the row, so they are not dropped there.
        let values = unsafe { S::read(place, &mut shared.into_iter()) };
        let Some(to) = to else {
            // SAFETY: the entity is there, its chunk the world's alone, and all its values were read.
            unsafe { self.storage.destroy_row(entity, location, Left::Columns(&[])) };
            return Ok(values);
        };
        // SAFETY: nothing is new in the archetype it goes to; the components that do not move were read.
        unsafe { self.storage.move_row(entity, location, transfer, to, &[]) };
        Ok(values)
    }

    /// Moves an entity to an archetype: what both have is kept, the rest is dropped, or created with its default.
    ///
    /// Reorders what queries give: see [`Query::to_entities`](crate::Query::to_entities).
    ///
    /// # Errors
    ///
    /// If there is no such entity, or it was despawned and only what stays of it is there, the archetype is another
    /// world's, a component that would be new has no default, one that stays after despawning would be dropped, or there is
    /// no memory.
    pub fn set_archetype(
        &mut self,
        entity: Entity,
        archetype: Archetype,
    ) -> Result<(), EntityError> {
        let mut to = self.check_archetype(archetype)?;
        let location = self.locate(entity)?;
        let from = self.storage.chunks[location.chunk].archetype;
        if !self.storage.archetypes[from].shape.is_cleanup_only() {
            to = self.archetype_of_living(to)?;
        }
        if from == to {
            return Ok(());
        }
        let (shape, new) =
            (&self.storage.archetypes[from].shape, &self.storage.archetypes[to].shape);
        if let Some(&component) = shape.types.iter().find(|&&ty| ty.is_cleanup() && !new.has(ty)) {
            return Err(EntityError::WouldLoseCleanup { entity, component });
        }
        if shape.is_cleanup_only() && !new.is_cleanup_only() {
            // Without the mark it would be alive again, and never go.
            return Err(EntityError::CleanupOnly { entity });
        }
        self.before_moving([from, to]);
        let shapes = (&self.storage.archetypes[from].shape, &self.storage.archetypes[to].shape);
        let transfer = Transfer::new(shapes.0, shapes.1, to, &[], Change::AddMissing);
        self.storage.move_with_initial(&mut self.runs, entity, location, &transfer)
    }

    /// The number of a set that is given as a list of types. The mark of what was despawned is not for users to give or
    /// take, and passed over.
    pub(crate) fn set_number_of(&mut self, types: &[ComponentType]) -> Result<u32, EntityError> {
        let mark = ComponentType::of::<CleanupEntity>();
        let number = if types.contains(&mark) {
            let others: Vec<_> = types.iter().copied().filter(|&ty| ty != mark).collect();
            self.sets.number_of_types(&others)
        } else {
            self.sets.number_of_types(types)
        };
        number.map_err(|component| EntityError::DuplicateComponent { component })
    }

    /// The slot of an entity, by which transfer it goes, and to which chunk, if it takes the way that the last one took.
    #[inline(always)]
    fn quick_way<S: ComponentSet>(
        &mut self,
        entity: Entity,
        change: Quick,
    ) -> Option<(OpenSlot, u32, u32)> {
        if self.jobs.are_live() {
            // Some may have to be waited for, which is seen to where the way is found. To open the slot may copy the page it is
            // on, which they may be reading.
            return None;
        }
        let slot = self.storage.table.open(entity)?;
        // SAFETY: it was just opened.
        let location = unsafe { slot.location() };
        // SAFETY: the table names chunks that are there.
        let source = unsafe { self.storage.chunks.at(location.chunk) };
        let QuickWay { set, from, transfer, mut to, room_changes } =
            self.quick_ways[change as usize];
        if from != source.archetype || set != TypeId::of::<S>() || !source.moves_simply() {
            return None;
        }
        if room_changes != self.storage.room_changes {
            to = self.renew_way(change)?;
        }
        // SAFETY: archetypes list chunks that are there, and it is listed.
        let target = unsafe { self.storage.chunks.at(to) };
        target.moves_simply().then_some((slot, transfer, to))
    }

    /// Finds the chunk again that entities go to by a way that was taken before, if there is one.
    #[inline(never)]
    fn renew_way(&mut self, change: Quick) -> Option<u32> {
        let Storage { archetypes, room_changes, .. } = &self.storage;
        let way = &mut self.quick_ways[change as usize];
        way.to = *archetypes[self.transfers[way.transfer].to].with_room.last()?;
        way.room_changes = *room_changes;
        Some(way.to)
    }

    /// Remembers a way, if it is a simple one.
    fn remember_way<S: ComponentSet>(&mut self, from: u32, number: u32, change: Quick) {
        let transfer = &self.transfers[number];
        if !self.strict && transfer.to != from && transfer.left.is_empty() && !transfer.ends {
            let set = TypeId::of::<S>();
            // Where to is found by the next one.
            let way = QuickWay { set, from, transfer: number, to: 0, room_changes: u64::MAX };
            self.quick_ways[change as usize] = way;
        }
    }

    /// The number of the transfer for a set, which is remembered.
    pub(super) fn transfer_of<S: ComponentSet>(
        &mut self,
        from: u32,
        change: Change,
    ) -> Result<u32, EntityError> {
        let set = self.set_number::<S>()?;
        self.transfer(from, set, change)
    }

    /// The number of a transfer, which is remembered.
    pub(super) fn transfer(
        &mut self,
        from: u32,
        set: u32,
        change: Change,
    ) -> Result<u32, EntityError> {
        let edge = Edge { from, set, change };
        match self.transfers.get(edge) {
            Some(number) => Ok(number),
            None => self.find_transfer(edge),
        }
    }

    #[cold]
    fn find_transfer(&mut self, edge: Edge) -> Result<u32, EntityError> {
        let shape = &self.storage.archetypes[edge.from].shape;
        let mut types = shape.types.to_vec();
        let set = &self.sets.get(edge.set).types;
        match edge.change {
            Change::Add | Change::AddMissing => {
                types.extend(set.iter().filter(|&&ty| !shape.has(ty)));
            }
            Change::Remove => types.retain(|ty| !set.contains(ty)),
            Change::Set => {}
            Change::Despawn => {
                let residue = ComponentType::of::<CleanupEntity>();
                types.retain(|ty| ty.is_cleanup());
                types.push(residue);
            }
            Change::Copy => types.retain(|ty| !ty.is_cleanup()),
            Change::Instantiate => {
                let group = ComponentType::of_buffer::<LinkedEntityGroup>();
                let omit = ComponentType::of::<OmitLinkedEntityGroup>();
                let omits = types.contains(&omit) && types.contains(&group);
                types.retain(|&ty| {
                    let omitted = omits && (ty == omit || ty == group);
                    !ty.is_cleanup() && ty != ComponentType::of::<Prefab>() && !omitted
                });
            }
        }
        sort_types(&mut types)
            .map_err(|component| EntityError::DuplicateComponent { component })?;
        let to = self.find_archetype(&types)?;
        let shapes =
            (&self.storage.archetypes[edge.from].shape, &self.storage.archetypes[to].shape);
        let set = &self.sets.get(edge.set).types;
        let transfer = Transfer::new(shapes.0, shapes.1, to, set, edge.change);
        Ok(self.transfers.insert(edge, transfer))
    }
}
