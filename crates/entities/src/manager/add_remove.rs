//! Adding components to entities and removing them, which moves the entity to another archetype.

#![expect(unsafe_code, reason = "writes components to rows that move")]

use std::any::TypeId;
use std::iter;

use ancho_collections::Rejected;

use super::shared_components::shared_values_of;
use super::{Archetype, EntityManager, RecentTransfer};
use crate::component::{ComponentType, Requirement, SharedValue, required_by};
use crate::entity::Entity;
use crate::error::EntityError;
use crate::set::ComponentSet;
use crate::shared::{Shared, SharedComponent};
use crate::storage::{
    INLINE_SHARED, InlineVec, Location, RowPlace, RowRange, SetOperation, SlotMut, Storage,
    Transfer,
};

/// An operation whose last transfer is cached.
#[derive(Clone, Copy)]
enum Recent {
    Add = 0,
    Remove = 1,
}

/// Values that were read from a row. They are written back to it, unless they are [kept](Self::keep).
///
/// They cannot simply be forgotten instead: values of shared components are references that are counted.
struct ReadValues<S: ComponentSet> {
    values: Option<S>,
    place: RowPlace,
}

impl<S: ComponentSet> ReadValues<S> {
    fn keep(mut self) -> S {
        self.values.take().expect("they are taken once")
    }
}

impl<S: ComponentSet> Drop for ReadValues<S> {
    fn drop(&mut self) {
        if let Some(values) = self.values.take() {
            // SAFETY: the values were read from this place, which has the offsets of the set, and the row was not used since. So it
            // has no values that need to be dropped.
            unsafe { values.write(self.place) };
        }
    }
}

impl EntityManager {
    /// Adds components to an entity, and replaces those that it already has. Returns whether a component was added.
    ///
    /// Reorders query results: see [`Query::to_entities`](crate::Query::to_entities).
    ///
    /// The entity is moved once for all components.
    ///
    /// # Errors
    ///
    /// Returns an error if the entity does not exist, a type occurs twice, the entity would be larger than a chunk, or there is
    /// no memory. In a strict world, also returns an error if the entity already has one of the components. The error returns the
    /// components.
    ///
    /// # Complexity
    ///
    /// A structural change: all components of the entity are copied to another chunk, unless it already has all components of the
    /// set.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Debug, PartialEq)]
    /// struct Poisoned {
    ///     seconds: f32,
    /// }
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn(());
    /// assert!(world.add(orc, Poisoned { seconds: 3.0 }).unwrap());
    /// // The orc is already poisoned: the value is replaced.
    /// assert!(!world.add(orc, Poisoned { seconds: 5.0 }).unwrap());
    /// assert_eq!(world.get(orc), Ok(&Poisoned { seconds: 5.0 }));
    /// ```
    #[inline]
    #[doc(alias = "insert")]
    #[doc(alias = "AddComponent")]
    pub fn add<S: ComponentSet>(
        &mut self,
        entity: Entity,
        set: S,
    ) -> Result<bool, Rejected<S, EntityError>> {
        self.add_noting(entity, set).0
    }

    /// Adds components to an entity. Also returns whether that may have been logged.
    #[inline(always)]
    pub(crate) fn add_noting<S: ComponentSet>(
        &mut self,
        entity: Entity,
        set: S,
    ) -> (Result<bool, Rejected<S, EntityError>>, bool) {
        if S::LINKS {
            let outcome = self.insert_linked(entity, set, SetOperation::Add);
            return (outcome.map(|outcome| matches!(outcome, InsertOutcome::New)), true);
        }
        self.add_unlinked(entity, set)
    }

    /// Adds components to an entity, and does not change links. Also returns whether that may have been logged.
    #[inline(always)]
    pub(super) fn add_unlinked<S: ComponentSet>(
        &mut self,
        entity: Entity,
        set: S,
    ) -> (Result<bool, Rejected<S, EntityError>>, bool) {
        if S::COUNT == 0 {
            // Nothing is written, so memory that is shared with forks is not copied.
            let added = match self.locate(entity) {
                Ok(_) => Ok(false),
                Err(error) => Err(Rejected { value: set, error }),
            };
            return (added, false);
        }
        if let Some((slot, transfer, to)) = self.recent_transfer::<S>(entity, Recent::Add) {
            // SAFETY:
            // - `recent_transfer` returns a chunk that its archetype lists
            // - the offsets are those of the set in the archetype of that chunk
            // - both chunks pass `moves_simply`, so they are unshared; the row after the last row of `to` has room and no values,
            //   because the archetype lists `to` as a chunk with room
            // - the set writes all columns that the transfer does not move
            unsafe {
                let transfer = &self.transfers[transfer];
                let chunk = self.storage.chunks.get_unchecked(to);
                set.write(chunk.row(chunk.len, &transfer.offsets));
                self.storage.move_row_simply(entity, slot, transfer, to);
            }
            return (Ok(true), false);
        }
        (self.add_with_care(entity, set), true)
    }

    #[inline(never)]
    fn add_with_care<S: ComponentSet>(
        &mut self,
        entity: Entity,
        set: S,
    ) -> Result<bool, Rejected<S, EntityError>> {
        let outcome = self.insert(entity, set, SetOperation::Add)?;
        Ok(matches!(outcome, InsertOutcome::New))
    }

    /// Adds or replaces the components of a set, which is not empty.
    #[inline]
    pub(super) fn insert<S: ComponentSet>(
        &mut self,
        entity: Entity,
        set: S,
        change: SetOperation,
    ) -> Result<InsertOutcome, Rejected<S, EntityError>> {
        match self.set_number::<S>() {
            Ok(number) => self.insert_numbered(entity, set, number, change),
            // A missing entity is reported first.
            Err(error) => {
                Err(Rejected { value: set, error: self.locate(entity).err().unwrap_or(error) })
            }
        }
    }

    /// Adds or replaces the components of a set, which is not empty and has this number. The number may be that of an exchange that
    /// adds the set.
    #[inline]
    pub(super) fn insert_numbered<S: ComponentSet>(
        &mut self,
        entity: Entity,
        set: S,
        number: u32,
        change: SetOperation,
    ) -> Result<InsertOutcome, Rejected<S, EntityError>> {
        // The shared values are dropped at the end, because writing the set drops the set's own handles during the change.
        let given = shared_values_of(&set);
        let prepared = if S::SHARED {
            self.prepare_shared_insert(entity, number, &given, S::COUNT, change)
        } else {
            self.prepare_insert::<S>(entity, number, change)
        };
        let (location, transfer, to) = match prepared {
            Ok(prepared) => prepared,
            Err(error) => return Err(Rejected { value: set, error }),
        };
        let Some(to) = to else {
            if given.len() < S::COUNT {
                // SAFETY: the transfer leads from the entity's archetype to itself. Jobs that use the components were completed,
                // and the chunk was made unshared.
                unsafe { self.replace(location, transfer, set) };
            }
            return Ok(InsertOutcome::Same);
        };
        if !self.transfers[transfer].required.is_empty() {
            self.write_required_by(transfer, to);
        }
        let is_new = self.transfers[transfer].to != self.storage.archetype_at(location);
        // SAFETY: the transfer is one of this set and begins at the entity's archetype. The entity's chunk was made unshared.
        // `to` is a chunk with room, of the new archetype or of another group.
        unsafe { self.write_and_move(entity, location, transfer, to, set) };
        Ok(if is_new { InsertOutcome::New } else { InsertOutcome::Moved })
    }

    /// Writes a set to the first free row of a chunk, and moves the entity there.
    ///
    /// # Safety
    ///
    /// - the transfer is one of this set, and begins at the archetype at the location
    /// - the chunk at the location is unshared
    /// - chunk `to` belongs to the archetype that the transfer leads to, has room, and is in another group if the archetypes are
    ///   the same
    #[inline(always)]
    unsafe fn write_and_move<S: ComponentSet>(
        &mut self,
        entity: Entity,
        location: Location,
        transfer: u32,
        to: u32,
        set: S,
    ) {
        let transfer = &self.transfers[transfer];
        // SAFETY:
        // - chunk `to` exists, belongs to the archetype whose offsets these are, and has room after its last row
        // - the set writes all columns that the transfer does not move
        // - the chunk at the location is unshared, and is not chunk `to`
        unsafe {
            let chunk = self.storage.chunks.get_unchecked(to);
            set.write(chunk.row(chunk.len, &transfer.offsets));
            self.storage.move_row(entity, location, transfer, to, &transfer.left);
        }
    }

    /// Returns the location of an entity, the number of the transfer, and the chunk to move to, or `None` if the entity is not
    /// moved. The chunk of the entity is unshared afterwards.
    #[inline]
    fn prepare_insert<S: ComponentSet>(
        &mut self,
        entity: Entity,
        set: u32,
        change: SetOperation,
    ) -> Result<(Location, u32, Option<u32>), EntityError> {
        let location = self.locate(entity)?;
        let from = self.storage.archetype_at(location);
        let number = self.transfer(from, set, change)?;
        if change == SetOperation::Add {
            self.remember_transfer(TypeId::of::<S>(), from, number, Recent::Add);
        }
        self.check_transfer(entity, number, change)?;
        let transfer = &self.transfers[number];
        self.sync_for_transfer(location, number);
        // SAFETY: the table refers only to existing chunks.
        unsafe { self.storage.make_unique_unchecked(location.chunk)? };
        let stays = transfer.to == from;
        let to = if stays { None } else { Some(self.storage.room_by(transfer, location.chunk)?) };
        Ok((location, number, to))
    }

    /// Adds the components that an entity lacks, with their default values. Returns whether a component was added.
    ///
    /// Reorders query results: see [`Query::to_entities`](crate::Query::to_entities).
    ///
    /// Components that the entity already has do not change.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`add`](Self::add). Returns an error if one of the components has no default value.
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
        let from = self.storage.archetype_at(location);
        let number = self.transfer(from, set, SetOperation::AddMissing)?;
        self.check_transfer(entity, number, SetOperation::AddMissing)?;
        let transfer = &self.transfers[number];
        if transfer.to == from {
            return Ok(false);
        }
        self.sync_for_transfer(location, number);
        self.storage.move_with_initial(&mut self.runs, entity, location, transfer)?;
        Ok(true)
    }

    /// Adds a component whose value a function writes. Returns `false`, and changes nothing, if the entity already has the
    /// component.
    pub(super) fn add_with(
        &mut self,
        entity: Entity,
        ty: ComponentType,
        write: impl FnOnce(*mut u8),
    ) -> Result<bool, EntityError> {
        let location = self.locate(entity)?;
        let set = self.set_number_of(&[ty])?;
        let from = self.storage.archetype_at(location);
        let number = self.transfer(from, set, SetOperation::Add)?;
        self.check_transfer(entity, number, SetOperation::Add)?;
        let transfer = &self.transfers[number];
        if transfer.to == from {
            return Ok(false);
        }
        self.sync_for_transfer(location, number);
        self.storage.make_unique(location.chunk)?;
        let to = self.storage.room_by(transfer, location.chunk)?;
        if !transfer.required.is_empty() {
            self.write_required_by(number, to);
        }
        let transfer = &self.transfers[number];
        let chunk = &self.storage.chunks[to];
        write(chunk.column(transfer.offsets[0]).wrapping_add(chunk.len as usize * ty.size()));
        // SAFETY: the entity exists at the location, in a chunk that was made unshared. Chunk `to` has room, and the column that
        // the transfer does not move was just written.
        unsafe {
            self.storage.move_row(entity, location, transfer, to, &transfer.left);
        };
        Ok(true)
    }

    /// Removes components from an entity, which need not have all of them. Returns whether a component was removed.
    ///
    /// Reorders query results: see [`Query::to_entities`](crate::Query::to_entities).
    ///
    /// The entity is moved once for all components.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no memory. In a strict world, also returns an error if the entity does not exist, or lacks
    /// one of the components.
    ///
    /// # Complexity
    ///
    /// A structural change: all other components of the entity are copied to another chunk.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Health(u32);
    ///
    /// #[derive(Component)]
    /// struct Poisoned;
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn((Health(20), Poisoned));
    /// assert!(world.remove::<Poisoned>(orc)?);
    /// assert!(!world.remove::<Poisoned>(orc)?, "it was removed already");
    /// assert_eq!(world.get::<Health>(orc)?.0, 20);
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    #[inline]
    #[doc(alias = "RemoveComponent")]
    pub fn remove<S: ComponentSet>(&mut self, entity: Entity) -> Result<bool, EntityError> {
        self.remove_noting::<S>(entity).0
    }

    /// Removes components from an entity. Also returns whether that may have been logged.
    #[inline(always)]
    pub(crate) fn remove_noting<S: ComponentSet>(
        &mut self,
        entity: Entity,
    ) -> (Result<bool, EntityError>, bool) {
        if S::LINKS {
            let set = self.set_number::<S>();
            let removed = set.and_then(|set| self.remove_linked(&[entity], set));
            return (removed.map(|removed| removed > 0), true);
        }
        if let Some((slot, transfer, to)) = self.recent_transfer::<S>(entity, Recent::Remove) {
            // SAFETY:
            // - `recent_transfer` returns a chunk that its archetype lists
            // - a removal writes no new column, and cached transfers leave no value to be dropped
            // - both chunks pass `moves_simply`, and the archetype lists `to` as a chunk with room
            unsafe {
                let transfer = &self.transfers[transfer];
                self.storage.move_row_simply(entity, slot, transfer, to);
            }
            return (Ok(true), false);
        }
        (self.remove_with_care::<S>(entity), true)
    }

    #[inline(never)]
    fn remove_with_care<S: ComponentSet>(&mut self, entity: Entity) -> Result<bool, EntityError> {
        let set = self.set_number::<S>()?;
        self.remove_set(entity, set, Some(TypeId::of::<S>()))
    }

    /// Removes components from an entity, given their types at run time. The entity need not have all of them. Returns whether a
    /// component was removed.
    ///
    /// Reorders query results: see [`Query::to_entities`](crate::Query::to_entities).
    ///
    /// # Errors
    ///
    /// Returns the errors of [`remove`](Self::remove). Returns an error if a type occurs twice.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, ComponentType, World};
    ///
    /// #[derive(Component)]
    /// struct Burning;
    ///
    /// #[derive(Component)]
    /// struct Frozen;
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn(Burning);
    /// let effects = [ComponentType::of::<Burning>(), ComponentType::of::<Frozen>()];
    /// assert_eq!(world.remove_types(orc, &effects), Ok(true));
    /// assert!(!world.has::<Burning>(orc));
    /// ```
    pub fn remove_types(
        &mut self,
        entity: Entity,
        types: &[ComponentType],
    ) -> Result<bool, EntityError> {
        let set = self.set_number_of(types)?;
        if types.iter().any(|ty| ty.is_in_relationship()) {
            return self.remove_linked(&[entity], set).map(|removed| removed > 0);
        }
        self.remove_set(entity, set, None)
    }

    /// Removes the components of a set, and does not change links. If a type is given, the transfer is cached for it.
    #[inline]
    pub(super) fn remove_set(
        &mut self,
        entity: Entity,
        set: u32,
        ty: Option<TypeId>,
    ) -> Result<bool, EntityError> {
        let Some(location) = self.storage.table.locate(entity) else {
            return if self.strict { Err(self.no_such(entity)) } else { Ok(false) };
        };
        let from = self.storage.archetype_at(location);
        let number = self.transfer(from, set, SetOperation::Remove)?;
        if let Some(ty) = ty {
            self.remember_transfer(ty, from, number, Recent::Remove);
        }
        self.check_transfer(entity, number, SetOperation::Remove)?;
        let transfer = &self.transfers[number];
        if transfer.present.is_none() {
            return Ok(false);
        }
        self.sync_for_transfer(location, number);
        if transfer.ends {
            self.storage.destroy(entity, location)?;
        } else {
            self.storage.move_entity(entity, location, transfer)?;
        }
        Ok(true)
    }

    /// Removes components from an entity, and returns them.
    ///
    /// Reorders query results: see [`Query::to_entities`](crate::Query::to_entities).
    ///
    /// # Errors
    ///
    /// Returns an error if the entity does not exist, it lacks one of the components, a type occurs twice, or there is no memory.
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
        if S::LINKS { self.take_linked(entity) } else { self.take_unlinked(entity) }
    }

    /// Removes components from an entity, returns them, and does not change links.
    pub(super) fn take_unlinked<S: ComponentSet>(
        &mut self,
        entity: Entity,
    ) -> Result<S, EntityError> {
        // The transfer that would replace the components contains their offsets.
        let (location, read) = self.find_set::<S>(entity)?;
        if S::COUNT == 0 {
            let nowhere = RowPlace::new(std::ptr::null_mut(), &[], 0);
            // SAFETY: an empty set reads nothing.
            return Ok(unsafe { S::read(nowhere, &mut iter::empty()) });
        }
        let from = self.storage.chunks[location.chunk].archetype;
        let set = self.set_number::<S>()?;
        let number = self.transfer(from, set, SetOperation::Remove)?;
        self.sync_for_transfer(location, number);
        self.storage.make_unique(location.chunk)?;
        let shared = if S::SHARED { self.shared_of_set(location.chunk, set) } else { Vec::new() };
        let place =
            self.storage.chunks[location.chunk].row(location.row, &self.transfers[read].offsets);
        // The default values of ignored fields are user code, which may panic. So the values are read before anything changes.
        // SAFETY: `find_set` returned the location of an entity that has these types. Nothing uses the values of the row until they
        // are kept or written back.
        let values = unsafe { S::read(place, &mut shared.into_iter()) };
        let values = ReadValues { values: Some(values), place };
        let transfer = &self.transfers[number];
        let to = if transfer.ends {
            None
        } else {
            Some(self.storage.room_by(transfer, location.chunk)?)
        };
        // From here on, only the drop of a chunk component may panic, after the row was removed. Then the values are dropped, too.
        let values = values.keep();
        // SAFETY:
        // - `find_set` returned the location of an entity that has these types, and its chunk was made unshared
        // - the values were read once, and no column of the row is left to be dropped
        // - the new archetype has no new column, and its chunk has room
        unsafe {
            match to {
                Some(to) => {
                    let chunks = &self.storage.chunks;
                    // Only a move that is observed resets the flag.
                    self.storage.lifecycle.values_were_moved =
                        chunks[location.chunk].is_observed() || chunks[to].is_observed();
                    self.storage.move_row(entity, location, transfer, to, &[]);
                }
                None => {
                    if self.storage.chunks[location.chunk].is_observed() {
                        let run = RowRange { chunk: location.chunk, first: location.row, rows: 1 };
                        self.storage.log_destroyed_without_values(run);
                    }
                    self.storage.table.free(entity);
                    self.storage.remove_row(location.chunk, location.row, Some(&[]));
                }
            }
        }
        Ok(values)
    }

    /// Moves an entity to another archetype. Components of both archetypes keep their values. New components have their default
    /// values.
    ///
    /// Reorders query results: see [`Query::to_entities`](crate::Query::to_entities).
    ///
    /// # Errors
    ///
    /// Returns an error if the entity does not exist, or is [only left for cleanup](Self::is_cleanup_only). Also returns an error
    /// if the archetype belongs to another world, a new component has no default value, or a cleanup component would be dropped.
    /// Also returns an error if there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Debug, PartialEq)]
    /// struct Health(u32);
    ///
    /// #[derive(Component, Default, Debug, PartialEq)]
    /// struct Wings(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let bug = world.spawn(Health(3));
    /// let flying = world.archetype::<(Health, Wings)>();
    /// world.set_archetype(bug, flying)?;
    /// assert_eq!((world.get(bug)?, world.get(bug)?), (&Health(3), &Wings(0)));
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
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
        let (old, new) = (&self.storage.archetypes[from].shape, &self.storage.archetypes[to].shape);
        let arriving = new.types.iter().copied().filter(|&ty| !old.has(ty));
        let required = required_by(arriving, |ty| new.has(ty));
        if !required.is_empty() {
            let all = new.types.iter().copied().chain(required.iter().map(|found| found.ty));
            let mut types: Vec<_> = all.collect();
            super::archetypes::sort(&mut types)?;
            to = self.find_archetype(&types)?;
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
            // Without the tag `CleanupEntity`, the entity would be alive again.
            return Err(EntityError::CleanupOnly { entity });
        }
        if self.has_links(location.chunk) {
            return self.set_linked_archetype(entity, location, to, required);
        }
        self.set_archetype_unlinked(entity, location, to, required)
    }

    /// Moves an entity to another archetype, and does not change links.
    pub(super) fn set_archetype_unlinked(
        &mut self,
        entity: Entity,
        location: Location,
        to: u32,
        required: Vec<Requirement>,
    ) -> Result<(), EntityError> {
        let from = self.storage.archetype_at(location);
        self.sync_for_move([from, to]);
        let shapes = (&self.storage.archetypes[from].shape, &self.storage.archetypes[to].shape);
        let transfer = Transfer::new(shapes.0, shapes.1, to, &[], SetOperation::AddMissing);
        // A required component that the entity already has is kept.
        let missing: Vec<_> =
            required.into_iter().filter(|found| !shapes.0.has(found.ty)).collect();
        let transfer = transfer.with_required(&missing, shapes.1);
        self.storage.move_with_initial(&mut self.runs, entity, location, &transfer)
    }

    /// Returns the slot of an entity, the cached transfer, and the chunk to move to, if the entity makes the same transfer as the
    /// last one.
    #[inline(always)]
    fn recent_transfer<S: ComponentSet>(
        &mut self,
        entity: Entity,
        change: Recent,
    ) -> Option<(SlotMut, u32, u32)> {
        if self.jobs.are_live() {
            // The slow path handles conflicting jobs. Opening the slot may copy its page, which jobs may be reading.
            return None;
        }
        let slot = self.storage.table.open(entity)?;
        // SAFETY: the slot was just opened, so the entity has a location. The table refers only to existing chunks.
        let source = unsafe { self.storage.chunks.get_unchecked(slot.location().chunk) };
        let RecentTransfer { set, from, transfer, mut to, room_changes } =
            self.recent_transfers[change as usize];
        if from != source.archetype || set != TypeId::of::<S>() || !source.moves_simply() {
            return None;
        }
        if room_changes != self.storage.room_changes {
            to = self.renew_transfer(change)?;
        }
        // SAFETY: the archetype lists the chunk as having room, and archetypes list only existing chunks.
        let target = unsafe { self.storage.chunks.get_unchecked(to) };
        target.moves_simply().then_some((slot, transfer, to))
    }

    /// Finds the chunk with room to which the cached transfer moves entities, and caches it.
    #[inline(never)]
    fn renew_transfer(&mut self, change: Recent) -> Option<u32> {
        let Storage { archetypes, room_changes, .. } = &self.storage;
        let way = &mut self.recent_transfers[change as usize];
        way.to = *archetypes[self.transfers[way.transfer].to].with_room.last()?;
        way.room_changes = *room_changes;
        Some(way.to)
    }

    /// Caches a transfer, if it only moves values.
    fn remember_transfer(&mut self, set: TypeId, from: u32, number: u32, change: Recent) {
        let transfer = &self.transfers[number];
        let only_moves = transfer.left.is_empty() && transfer.required.is_empty() && !transfer.ends;
        if !self.strict && transfer.to != from && only_moves {
            // The next call finds the chunk, because `room_changes` does not match.
            let way = RecentTransfer { set, from, transfer: number, to: 0, room_changes: u64::MAX };
            self.recent_transfers[change as usize] = way;
        }
    }
}

/// The effect of inserting a set of components into an entity.
pub(super) enum InsertOutcome {
    /// The entity was not moved.
    Same,
    /// The entity already had all components, and was moved to a chunk with the new shared values.
    Moved,
    /// The entity lacked one of the components, and was moved to another archetype.
    New,
}

impl EntityManager {
    /// Fast path: moves an entity to a chunk with room that has the given shared value, and otherwise the same shared values.
    /// Returns whether the entity was moved, or `None` if there is no such chunk.
    pub(super) fn set_known_shared<T: SharedComponent>(
        &mut self,
        entity: Entity,
        value: &T,
    ) -> Result<Option<bool>, EntityError> {
        let location = self.locate(entity)?;
        let component = ComponentType::of_shared::<T>();
        // Entities with different values are far apart in memory, so the row is prefetched while the value is looked up.
        self.storage.fetch_row(location);
        let Some(to) = self.storage.room_with(location.chunk, component, value) else {
            return self.check_has_type(entity, component).map(|()| None);
        };
        if to == location.chunk {
            return Ok(Some(false));
        }
        let from = self.storage.archetype_at(location);
        let transfer = self.transfer_of::<Shared<T>>(from, SetOperation::Set)?;
        self.sync_for_transfer(location, transfer);
        self.storage.make_unique(location.chunk)?;
        self.storage.make_unique(to)?;
        self.storage.move_entity_to(entity, location, &self.transfers[transfer], to);
        Ok(Some(true))
    }

    /// Returns the same as [`prepare_insert`](Self::prepare_insert), for a set of `count` components, some of them shared. The chunk remains shared
    /// with forks if the entity already has all values and the set has only shared components.
    pub(super) fn prepare_shared_insert(
        &mut self,
        entity: Entity,
        set: u32,
        given: &InlineVec<SharedValue, INLINE_SHARED>,
        count: usize,
        change: SetOperation,
    ) -> Result<(Location, u32, Option<u32>), EntityError> {
        let location = self.locate(entity)?;
        let from = self.storage.archetype_at(location);
        let number = self.transfer(from, set, change)?;
        self.check_transfer(entity, number, change)?;
        let transfer = &self.transfers[number];
        self.sync_for_transfer(location, number);
        let sought = self.storage.look_up_shared(&self.sets.get(set).types, given);
        let (from, given_of) = (Some(location.chunk), |at| sought.get(at));
        let wanted = self.storage.group_key(&transfer.shared, from, given_of);
        let stays = self.storage.has_group_key(location.chunk, transfer.to, &wanted);
        if !stays || given.len() < count {
            self.storage.make_unique(location.chunk)?;
        }
        let to = if stays { None } else { Some(self.storage.room_for(transfer.to, wanted)?) };
        Ok((location, number, to))
    }
}
