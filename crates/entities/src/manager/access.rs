//! Access to the components of one entity: values, bytes, buffers, managed and chunk components, enabled bits.

#![expect(unsafe_code, reason = "references to values in chunks")]

use std::{iter, mem, slice};

use ancho_collections::Rejected;

use super::EntityManager;
use super::shared_components::shared_values_of;
use crate::buffer::{
    BufferElement, BufferLayout, DynamicBuffer, UntypedBuffer, elements_of, write_empty,
};
use crate::component::{Component, ComponentType, Mutable};
use crate::entity::Entity;
use crate::error::EntityError;
use crate::managed::ManagedComponent;
use crate::set::ComponentSet;
use crate::storage::{EnabledMasks, Location, SetOperation};

impl EntityManager {
    /// Returns the value of an entity's component.
    ///
    /// # Errors
    ///
    /// Returns an error if the entity does not exist, or lacks the component.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, EntityError, World};
    ///
    /// #[derive(Component, Debug, PartialEq)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn(Health(20));
    /// let stone = world.spawn(());
    /// assert_eq!(world.get::<Health>(orc), Ok(&Health(20)));
    /// assert!(matches!(world.get::<Health>(stone), Err(EntityError::MissingComponent { .. })));
    /// ```
    #[inline]
    #[doc(alias = "GetComponentData")]
    pub fn get<T: Component>(&self, entity: Entity) -> Result<&T, EntityError> {
        let value = self.find_value(entity, ComponentType::of::<T>())?;
        // SAFETY: the address is that of a value of this type. It is not written while the manager is borrowed.
        Ok(unsafe { &*value.cast::<T>() })
    }

    /// Returns the address of an entity's component, after completing the jobs that write the component.
    #[inline(always)]
    fn find_value(&self, entity: Entity, ty: ComponentType) -> Result<*const u8, EntityError> {
        self.jobs.sync_for_read(ty);
        match self.storage.find(entity, ty) {
            Some(value) => Ok(value),
            None => Err(self.not_found(entity, ty)),
        }
    }

    /// Returns an entity's component mutably, and marks it as changed.
    ///
    /// # Errors
    ///
    /// Returns an error if the entity does not exist, or lacks the component. Also returns an error if the memory is shared with
    /// a fork and a copy cannot be allocated.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn(Health(20));
    /// world.get_mut::<Health>(orc)?.0 -= 5;
    /// assert_eq!(world.get::<Health>(orc)?.0, 15);
    /// world.despawn(orc)?;
    /// assert!(world.get_mut::<Health>(orc).is_err());
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    #[inline]
    #[doc(alias = "GetComponentDataRW")]
    pub fn get_mut<T: Component + Mutable>(
        &mut self,
        entity: Entity,
    ) -> Result<&mut T, EntityError> {
        let (column, row) = self.column_mut(entity, ComponentType::of::<T>())?;
        // SAFETY: the column has a value of this type in the row, in unshared memory, and the manager is borrowed mutably.
        Ok(unsafe { &mut *column.cast::<T>().add(row) })
    }

    /// Returns the address of the column of an entity's component, in unshared memory, and the entity's row. Marks the component
    /// as changed.
    #[inline]
    pub(super) fn column_mut(
        &mut self,
        entity: Entity,
        ty: ComponentType,
    ) -> Result<(*mut u8, usize), EntityError> {
        self.sync_for_write(entity, ty);
        let Location { chunk: number, row } = self.locate(entity)?;
        let missing = EntityError::MissingComponent { entity, component: ty };
        let found = self.storage.chunks[number].find(ty).ok_or(missing)?;
        self.storage.make_unique(number)?;
        let chunk = &self.storage.chunks[number];
        // SAFETY: jobs that use the component were completed. Other jobs do not use its versions, and the versions of all columns
        // that they use were written out.
        unsafe { chunk.note_written_beside(found.column, row, 1, self.storage.version) };
        Ok((chunk.column(found.offset), row as usize))
    }

    /// Returns whether an entity exists and has all these components.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Sword;
    ///
    /// #[derive(Component)]
    /// struct Shield;
    ///
    /// let mut world = World::new("Simulation");
    /// let knight = world.spawn((Sword, Shield));
    /// let thief = world.spawn(Sword);
    /// assert!(world.has::<(Sword, Shield)>(knight));
    /// assert!(world.has::<Sword>(thief) && !world.has::<(Sword, Shield)>(thief));
    /// ```
    #[inline]
    #[doc(alias = "HasComponent")]
    #[doc(alias = "contains")]
    pub fn has<S: ComponentSet>(&self, entity: Entity) -> bool {
        let Some(location) = self.storage.table.locate(entity) else { return false };
        let shape = self.storage.chunks[location.chunk].shape();
        let mut all = true;
        S::types(&mut |ty| all &= shape.has(ty));
        all
    }

    /// Returns whether an entity exists and has this component.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, ComponentType, World};
    ///
    /// #[derive(Component)]
    /// struct Sword;
    ///
    /// let mut world = World::new("Simulation");
    /// let (knight, monk) = (world.spawn(Sword), world.spawn(()));
    /// let sword = ComponentType::of::<Sword>();
    /// assert!(world.has_type(knight, sword));
    /// assert!(!world.has_type(monk, sword));
    /// ```
    pub fn has_type(&self, entity: Entity, ty: ComponentType) -> bool {
        self.storage.archetype_of(entity).is_some_and(|archetype| archetype.shape.has(ty))
    }

    /// Replaces the values of components that the entity already has.
    ///
    /// With a shared component, this reorders query results: see [`Query::to_entities`](crate::Query::to_entities).
    ///
    /// # Errors
    ///
    /// Returns an error if the entity does not exist, or lacks one of the components. In that case no component is replaced. Also
    /// returns an error if the memory is shared with a fork and a copy cannot be allocated.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Debug, PartialEq)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn(Health(20));
    /// world.set(orc, Health(35)).unwrap();
    /// assert_eq!(world.get(orc), Ok(&Health(35)));
    ///
    /// let stone = world.spawn(());
    /// assert_eq!(world.set(stone, Health(1)).unwrap_err().value, Health(1));
    /// assert!(!world.has::<Health>(stone));
    /// ```
    #[doc(alias = "SetComponentData")]
    #[doc(alias = "insert")]
    pub fn set<S: ComponentSet>(
        &mut self,
        entity: Entity,
        set: S,
    ) -> Result<(), Rejected<S, EntityError>> {
        if S::COUNT == 0 {
            // Nothing is written, so memory that is shared with forks is not copied.
            return match self.locate(entity) {
                Ok(_) => Ok(()),
                Err(error) => Err(Rejected { value: set, error }),
            };
        }
        if S::LINKS {
            return self.insert_linked(entity, set, SetOperation::Set).map(drop);
        }
        self.insert(entity, set, SetOperation::Set).map(drop)
    }

    /// Returns the location of an entity that has all components of a set, and the transfer that replaces them.
    pub(super) fn find_set<S: ComponentSet>(
        &mut self,
        entity: Entity,
    ) -> Result<(Location, u32), EntityError> {
        let location = self.locate(entity)?;
        let from = self.storage.archetype_at(location);
        let number = self.transfer_of::<S>(from, SetOperation::Set)?;
        self.check_transfer(entity, number, SetOperation::Set)?;
        Ok((location, number))
    }

    /// Replaces components of an entity, and drops the old values last.
    ///
    /// # Safety
    ///
    /// - the transfer is one of this set, and leads from the archetype at the location to itself
    /// - the chunk's memory is unshared, and no job uses the components
    ///
    /// Shared components of the set are not changed: the chunk already has their values.
    pub(super) unsafe fn replace<S: ComponentSet>(
        &mut self,
        location: Location,
        transfer: u32,
        set: S,
    ) {
        let transfer = &self.transfers[transfer];
        let chunk = &self.storage.chunks[location.chunk];
        let place = chunk.row(location.row, &transfer.offsets);
        // SAFETY: the row has all components of the set. Each value is read once, and then overwritten.
        let old = unsafe {
            let old = if S::SHARED {
                // The chunk already has the shared values of the set, so the old values are the same.
                S::read(place, &mut shared_values_of(&set).into_iter())
            } else {
                S::read(place, &mut iter::empty())
            };
            set.write(place);
            old
        };
        for &column in &transfer.written {
            if S::SHARED && chunk.shape().shared.contains(&column) {
                continue;
            }
            // SAFETY: by the contract of this function, no job uses the component. Other jobs do not use its versions.
            unsafe { chunk.note_written_beside(column, location.row, 1, self.storage.version) };
        }
        if chunk.is_observed() {
            let entity = chunk.entities()[location.row as usize];
            self.storage.log_replaced(entity, location.chunk, old);
        } else {
            drop(old);
        }
    }

    /// Exchanges all components of two entities, including buffers, enabled bits and shared values.
    ///
    /// Entities with the same shared values keep their locations. If their shared values differ, the entities also exchange their
    /// chunks, because all entities of a chunk have the same shared values. [Chunk components](crate::PerChunk) stay with their
    /// chunks.
    ///
    /// # Errors
    ///
    /// Returns an error if one of the entities does not exist, or they have different components. Also returns an error if the
    /// memory is shared with a fork and a copy cannot be allocated.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Debug, PartialEq)]
    /// struct Cell(char);
    ///
    /// let mut world = World::new("Puzzle");
    /// let (left, right) = (world.spawn(Cell('A')), world.spawn(Cell('B')));
    /// world.swap_components(left, right)?;
    /// assert_eq!((world.get(left)?, world.get(right)?), (&Cell('B'), &Cell('A')));
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    pub fn swap_components(&mut self, left: Entity, right: Entity) -> Result<(), EntityError> {
        let (from, to) = (self.locate(left)?, self.locate(right)?);
        let archetype = self.storage.chunks[from.chunk].archetype;
        if archetype != self.storage.chunks[to.chunk].archetype {
            return Err(EntityError::DifferentArchetypes { left, right });
        }
        let shape = &self.storage.archetypes[archetype].shape;
        if let Some(&column) = shape.links.first() {
            // The lists of other entities would refer to the wrong one.
            return Err(EntityError::InRelationship { component: shape.types[column as usize] });
        }
        self.sync_for_move([archetype]);
        self.storage.make_unique(from.chunk)?;
        self.storage.make_unique(to.chunk)?;
        if self.storage.chunks[from.chunk].group != self.storage.chunks[to.chunk].group {
            // All entities of a chunk have the same shared values, so the entities exchange their locations instead of their
            // values.
            // SAFETY: both entities exist, in chunks of two groups of one archetype, which were made unshared.
            unsafe { self.storage.swap_entities(from, to) };
            return Ok(());
        }
        if left != right {
            let shape = &self.storage.archetypes[archetype].shape;
            for &(_, column) in &shape.sized {
                let value = |at: Location| {
                    let row = at.row as usize * column.size as usize;
                    self.storage.chunks[at.chunk].column(column.offset).wrapping_add(row)
                };
                // SAFETY: both rows exist in chunks that were made unshared. The rows differ, so the values do not overlap.
                unsafe {
                    std::ptr::swap_nonoverlapping(value(from), value(to), column.size as usize);
                }
            }
        }
        for mask in 0..self.storage.archetypes[archetype].shape.enableable.len() as u32 {
            let chunks = &mut self.storage.chunks;
            let was = chunks[from.chunk].enabled.get(mask, from.row);
            let now = chunks[to.chunk].enabled.get(mask, to.row);
            chunks[from.chunk].enabled.set(mask, from.row, now);
            chunks[to.chunk].enabled.set(mask, to.row, was);
        }
        let version = self.storage.version;
        for at in [from, to] {
            if self.storage.chunks[at.chunk].note_written_rows(at.row, 1, version) {
                self.storage.chunks.note_uniform(at.chunk);
            }
        }
        Ok(())
    }
}

impl EntityManager {
    /// Returns the bytes of an entity's component.
    ///
    /// The bytes of a runtime type can always be read. The bytes of other types can be read if they have neither padding nor
    /// pointers.
    ///
    /// # Errors
    ///
    /// Returns an error if the entity does not exist, lacks the component, or the bytes cannot be read.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{ComponentType, RuntimeType, World};
    ///
    /// let fuel = ComponentType::register(RuntimeType::new("doc::Fuel", 4, 4)).unwrap();
    /// let mut world = World::new("Simulation");
    /// let ship = world.spawn(());
    /// world.add_bytes(ship, fuel, &7_u32.to_le_bytes()).unwrap();
    /// assert_eq!(world.get_bytes(ship, fuel), Ok(&[7, 0, 0, 0][..]));
    /// ```
    pub fn get_bytes(&self, entity: Entity, ty: ComponentType) -> Result<&[u8], EntityError> {
        let value = self.find_value(entity, ty)?;
        if !ty.0.shape.plain {
            return Err(EntityError::NotBytes { component: ty, write: false });
        }
        // SAFETY: the address is that of a value, all of whose bytes are initialised. It is not written while the manager is
        // borrowed.
        Ok(unsafe { slice::from_raw_parts(value, ty.size()) })
    }

    /// Returns the elements of an entity's buffer, given its type at run time: their number and their bytes.
    ///
    /// # Errors
    ///
    /// Returns an error if the entity does not exist, lacks the component, or the component is not a buffer.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Buffer, BufferElement, ComponentType, World};
    ///
    /// #[derive(BufferElement)]
    /// struct Name(String);
    ///
    /// let mut world = World::new("Simulation");
    /// let ship = world.spawn(Buffer::from([Name("Argo".into())]));
    /// let names = world.untyped_buffer(ship, ComponentType::of_buffer::<Name>()).unwrap();
    /// assert_eq!(names.len(), 1);
    /// // There are pointers in it.
    /// assert_eq!(names.bytes(0), None);
    /// ```
    pub fn untyped_buffer(
        &self,
        entity: Entity,
        ty: ComponentType,
    ) -> Result<UntypedBuffer<'_>, EntityError> {
        let value = self.find_value(entity, ty)?;
        // SAFETY: the address is that of a value of the type. It is not written while the manager is borrowed.
        let buffer = unsafe { untyped(ty, value) };
        buffer.ok_or(EntityError::NotABuffer { component: ty })
    }

    /// Replaces the bytes of an entity's component.
    ///
    /// The bytes of a runtime type can always be written. The bytes of other types can be written if any bytes are a valid value.
    ///
    /// # Errors
    ///
    /// Returns an error if the entity does not exist or lacks the component, if its bytes cannot be written, or if the number of
    /// bytes differs. Also returns an error if the memory is shared with a fork and a copy cannot be allocated.
    pub fn set_bytes(
        &mut self,
        entity: Entity,
        ty: ComponentType,
        bytes: &[u8],
    ) -> Result<(), EntityError> {
        self.check_has_type(entity, ty)?;
        check_bytes(ty, bytes)?;
        let (column, row) = self.column_mut(entity, ty)?;
        let value = column.wrapping_add(row * ty.size());
        let location = self.locate(entity)?;
        if self.storage.chunks[location.chunk].is_observed() {
            let archetype = self.storage.chunks[location.chunk].archetype;
            if let Some(place) = self.storage.log_overwritten(entity, archetype, ty) {
                // SAFETY: the log has just returned the place for this entity. The value is overwritten next, and need not be
                // dropped.
                unsafe { self.storage.take_one(place, archetype, ty, value) };
            }
        }
        // SAFETY: the row has a value of this number of bytes, in unshared memory. Any bytes are a valid value of the type.
        unsafe { value.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        Ok(())
    }

    /// Adds a component with these bytes to an entity, or replaces its value. Returns whether the component was added.
    ///
    /// Reorders query results: see [`Query::to_entities`](crate::Query::to_entities).
    ///
    /// # Errors
    ///
    /// Returns an error if the entity does not exist, the bytes cannot be written, or the number of bytes differs. Also returns
    /// an error if the entity would be larger than a chunk, or there is no memory. In a strict world, also returns an error if
    /// the entity already has the component.
    pub fn add_bytes(
        &mut self,
        entity: Entity,
        ty: ComponentType,
        bytes: &[u8],
    ) -> Result<bool, EntityError> {
        check_bytes(ty, bytes)?;
        let added = self.add_with(entity, ty, |value| {
            // SAFETY: the address has room for a value of the type. `check_bytes` has checked the length, and that any bytes are
            // a valid value.
            unsafe { value.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        })?;
        if !added {
            self.set_bytes(entity, ty, bytes)?;
        }
        Ok(added)
    }
}

impl EntityManager {
    /// Adds an empty buffer to an entity, and returns it. If the entity already has the buffer, its elements are kept.
    ///
    /// Reorders query results: see [`Query::to_entities`](crate::Query::to_entities).
    ///
    /// [`add`](Self::add) with a [`Buffer`](crate::Buffer) replaces the elements instead.
    ///
    /// # Errors
    ///
    /// Returns an error if the entity does not exist, the entity would be larger than a chunk, or there is no memory. In a strict
    /// world, also returns an error if the entity already has the buffer.
    ///
    /// # Complexity
    ///
    /// A structural change: all components of the entity are copied to another chunk, unless it already has the buffer.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{BufferElement, World};
    ///
    /// #[derive(BufferElement, Debug, PartialEq)]
    /// struct Item(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let hero = world.spawn(());
    /// world.add_buffer(hero)?.push(Item(3));
    /// assert_eq!(*world.add_buffer::<Item>(hero)?, [Item(3)]);
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    pub fn add_buffer<T: BufferElement + Mutable>(
        &mut self,
        entity: Entity,
    ) -> Result<DynamicBuffer<'_, T>, EntityError> {
        self.add_with(entity, ComponentType::of_buffer::<T>(), |value| {
            // SAFETY: the address has room for a value of the type.
            unsafe { write_empty::<T>(value.cast()) };
        })?;
        self.buffer_mut(entity)
    }

    /// Returns the elements of an entity's buffer.
    ///
    /// # Errors
    ///
    /// Returns an error if the entity does not exist, or lacks the buffer.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Buffer, BufferElement, World};
    ///
    /// #[derive(BufferElement, Debug, PartialEq)]
    /// struct Item(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let hero = world.spawn(Buffer::from([Item(3)]));
    /// assert_eq!(world.buffer::<Item>(hero)?, [Item(3)]);
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    #[inline]
    pub fn buffer<T: BufferElement>(&self, entity: Entity) -> Result<&[T], EntityError> {
        let value = self.find_value(entity, ComponentType::of_buffer::<T>())?;
        // SAFETY: the address is that of a buffer of this type. It is not written while the manager is borrowed.
        Ok(unsafe { elements_of(value.cast()) })
    }

    /// Returns an entity's buffer mutably, and marks it as changed.
    ///
    /// # Errors
    ///
    /// Returns an error if the entity does not exist, or lacks the buffer. Also returns an error if the memory is shared with a
    /// fork and a copy cannot be allocated.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Buffer, BufferElement, World};
    ///
    /// #[derive(BufferElement)]
    /// struct Item(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let hero = world.spawn(Buffer::from([Item(3)]));
    /// world.buffer_mut::<Item>(hero)?.clear();
    /// assert!(world.buffer::<Item>(hero)?.is_empty());
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    #[inline]
    pub fn buffer_mut<T: BufferElement + Mutable>(
        &mut self,
        entity: Entity,
    ) -> Result<DynamicBuffer<'_, T>, EntityError> {
        let (column, row) = self.column_mut(entity, ComponentType::of_buffer::<T>())?;
        let value = column.wrapping_add(row * BufferLayout::of::<T>().size);
        // SAFETY: the row has a buffer of this type, in unshared memory, and the manager is borrowed mutably.
        Ok(unsafe { DynamicBuffer::new(value.cast()) })
    }
}

/// Returns the elements of a buffer, or `None` if the type is not a buffer.
///
/// # Safety
///
/// - there is a value of the type at the address, and it does not change during the lifetime `'w`
pub(super) unsafe fn untyped<'w>(ty: ComponentType, value: *const u8) -> Option<UntypedBuffer<'w>> {
    let find = ty.0.elements?;
    // SAFETY: there is a value of the type at the address.
    let (shape, first, len) = unsafe { find(value) };
    // SAFETY: there are `len` contiguous elements, all of whose bytes are initialised. They do not change during the lifetime
    // `'w`.
    let bytes = shape.plain.then(|| unsafe { slice::from_raw_parts(first, len * shape.size) });
    Some(UntypedBuffer::new(shape, len, bytes))
}

/// Checks that any bytes are a valid value of the type, and that the number of bytes is right.
fn check_bytes(ty: ComponentType, bytes: &[u8]) -> Result<(), EntityError> {
    if ty.is_in_relationship() {
        return Err(EntityError::InRelationship { component: ty });
    }
    if !ty.0.shape.any_bits || ty.0.drop.is_some() {
        return Err(EntityError::NotBytes { component: ty, write: true });
    }
    if bytes.len() != ty.size() {
        return Err(EntityError::WrongLength {
            component: ty,
            expected: ty.size(),
            found: bytes.len(),
        });
    }
    Ok(())
}

impl EntityManager {
    /// Returns the value of an entity's managed component.
    ///
    /// # Errors
    ///
    /// Returns an error if the entity does not exist, or lacks the component.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Managed, ManagedComponent, World};
    ///
    /// #[derive(ManagedComponent)]
    /// struct Script(String);
    ///
    /// let mut world = World::new("Simulation");
    /// let door = world.spawn(Managed::new(Script("open".into())));
    /// assert_eq!(world.managed::<Script>(door)?.0, "open");
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    #[inline]
    pub fn managed<T: ManagedComponent>(&self, entity: Entity) -> Result<&T, EntityError> {
        let value = self.find_value(entity, ComponentType::of_managed::<T>())?;
        // SAFETY: the address is that of a value of this type. It is not written while the manager is borrowed. No other thread
        // can read it: no fork shares the memory, and the manager is not `Sync`.
        Ok(unsafe { &*value.cast::<Box<T>>() })
    }

    /// Returns an entity's managed component mutably, and marks it as changed.
    ///
    /// # Errors
    ///
    /// Returns an error if the entity does not exist, or lacks the component.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Managed, ManagedComponent, World};
    ///
    /// #[derive(ManagedComponent)]
    /// struct Script(String);
    ///
    /// let mut world = World::new("Simulation");
    /// let door = world.spawn(Managed::new(Script("open".into())));
    /// world.managed_mut::<Script>(door)?.0 = "close".into();
    /// assert_eq!(world.managed::<Script>(door)?.0, "close");
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    #[inline]
    pub fn managed_mut<T: ManagedComponent>(
        &mut self,
        entity: Entity,
    ) -> Result<&mut T, EntityError> {
        let (column, row) = self.column_mut(entity, ComponentType::of_managed::<T>())?;
        // SAFETY: the column has a value of this type in the row, in unshared memory, and the manager is borrowed mutably.
        Ok(unsafe { &mut *column.cast::<Box<T>>().add(row) })
    }
}

impl EntityManager {
    /// Returns the chunk component of an entity's chunk.
    ///
    /// # Errors
    ///
    /// Returns an error if the entity does not exist, or lacks the [chunk component](crate::PerChunk).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, PerChunk, World};
    ///
    /// #[derive(Component, Default, Debug, PartialEq)]
    /// struct Detail(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let stone = world.spawn(PerChunk::<Detail>::new());
    /// assert_eq!(world.chunk_component(stone), Ok(&Detail(0)));
    /// ```
    pub fn chunk_component<T: Component + Default>(
        &self,
        entity: Entity,
    ) -> Result<&T, EntityError> {
        let ty = ComponentType::of_chunk::<T>();
        self.jobs.sync_for_read(ty);
        let location = self.locate(entity)?;
        let missing = EntityError::MissingComponent { entity, component: ty };
        let (_, value) = self.storage.chunks[location.chunk].find_value(ty).ok_or(missing)?;
        // SAFETY: the address is that of a value of this type. It is not written while the manager is borrowed.
        Ok(unsafe { value.cast().as_ref() })
    }

    /// Replaces the chunk component of an entity's chunk, and marks it as changed.
    ///
    /// # Errors
    ///
    /// Returns an error if the entity does not exist, or lacks the [chunk component](crate::PerChunk). The error returns the
    /// value.
    ///
    /// # Complexity
    ///
    /// Not a structural change: no entity is moved.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, PerChunk, World};
    ///
    /// #[derive(Component, Default, Debug, PartialEq)]
    /// struct Detail(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let stone = world.spawn(PerChunk::<Detail>::new());
    /// world.set_chunk_component(stone, Detail(2)).unwrap();
    /// assert_eq!(world.chunk_component(stone), Ok(&Detail(2)));
    /// ```
    pub fn set_chunk_component<T: Component + Default>(
        &mut self,
        entity: Entity,
        value: T,
    ) -> Result<(), Rejected<T, EntityError>> {
        let ty = ComponentType::of_chunk::<T>();
        self.sync_for_external_write(ty);
        let found = self.storage.table.locate(entity).and_then(|location| {
            let chunk = &self.storage.chunks[location.chunk];
            Some((chunk, chunk.find_value(ty)?))
        });
        let Some((chunk, (column, found))) = found else {
            return Err(Rejected { value, error: self.not_found(entity, ty) });
        };
        // SAFETY:
        // - `sync_for_external_write` has completed the jobs that use the component, and other jobs do not use its versions
        // - the chunk has a value of this type, which no fork shares, and the manager is borrowed mutably
        let old = unsafe {
            chunk.set_version_beside(column, self.storage.version);
            mem::replace(found.cast::<T>().as_mut(), value)
        };
        // The old value is dropped last, because dropping it runs user code.
        drop(old);
        Ok(())
    }
}

/// The column and the mask of an enableable type in an archetype, cached because the next entity often has the same archetype.
#[derive(Clone, Copy)]
pub(super) struct EnabledSlot {
    archetype: u32,
    ty: Option<ComponentType>,
    column: u32,
    /// The index of the mask's first word in chunks of the archetype.
    first_word: u32,
}

impl EnabledSlot {
    pub(super) const NONE: Self = Self { archetype: 0, ty: None, column: 0, first_word: 0 };
}

impl EntityManager {
    /// Enables or disables a component of an entity. The value is kept, and the entity is not moved.
    ///
    /// Queries skip entities whose component is disabled. This is Unity's `SetComponentEnabled`.
    ///
    /// # Errors
    ///
    /// Returns an error if the entity does not exist, lacks the component, or the component is not enableable.
    ///
    /// # Complexity
    ///
    /// Not a structural change: one bit is set.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// #[component(enableable)]
    /// struct Engine(f32);
    ///
    /// let mut world = World::new("Simulation");
    /// let car = world.spawn(Engine(90.0));
    /// assert_eq!(world.is_component_enabled::<Engine>(car), Ok(true));
    /// world.set_component_enabled::<Engine>(car, false).unwrap();
    /// assert_eq!(world.is_component_enabled::<Engine>(car), Ok(false));
    /// assert!(world.has::<Engine>(car));
    /// ```
    #[inline]
    pub fn set_component_enabled<T: Component>(
        &mut self,
        entity: Entity,
        enabled: bool,
    ) -> Result<(), EntityError> {
        self.set_type_enabled(entity, ComponentType::of::<T>(), enabled)
    }

    /// Enables or disables a component of an entity, given its type at run time. See
    /// [`set_component_enabled`](Self::set_component_enabled).
    ///
    /// # Errors
    ///
    /// Returns the errors of [`set_component_enabled`](Self::set_component_enabled).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, ComponentType, World};
    ///
    /// #[derive(Component)]
    /// #[component(enableable)]
    /// struct Engine;
    ///
    /// let mut world = World::new("Simulation");
    /// let car = world.spawn(Engine);
    /// world.set_type_enabled(car, ComponentType::of::<Engine>(), false)?;
    /// assert!(!world.is_component_enabled::<Engine>(car)?);
    /// assert!(world.has::<Engine>(car), "the component stays");
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    #[inline]
    pub fn set_type_enabled(
        &mut self,
        entity: Entity,
        ty: ComponentType,
        enabled: bool,
    ) -> Result<(), EntityError> {
        self.sync_for_set_enabled(ty);
        if self.set_enabled_again(entity, ty, enabled) {
            return Ok(());
        }
        self.set_bit(entity, ty, enabled)
    }

    /// Fast path: sets the bit if the type and the archetype are those of the last call, and only one version has to be set.
    /// Returns whether the bit was set.
    ///
    /// This function calls no other function and returns no error, so that no registers have to be saved.
    #[inline]
    fn set_enabled_again(&mut self, entity: Entity, ty: ComponentType, enabled: bool) -> bool {
        let Some(Location { chunk, row }) = self.storage.table.locate(entity) else { return false };
        let EnabledSlot { archetype, ty: last, column, first_word, .. } = self.last_enabled;
        // SAFETY: the table refers only to existing chunks.
        let chunk = unsafe { self.storage.chunks.get_unchecked(chunk) };
        if chunk.archetype != archetype || last != Some(ty) {
            return false;
        }
        // SAFETY: the archetype of the chunk has the column and the mask, and the table refers to existing rows. Jobs that use
        // the component or the mask were completed, and other jobs do not use its versions.
        unsafe {
            let is_noted = chunk.note_written_quickly(column, self.storage.version);
            if is_noted {
                chunk.enabled.set_from(first_word, row, enabled);
            }
            is_noted
        }
    }

    #[inline(never)]
    fn set_bit(
        &mut self,
        entity: Entity,
        ty: ComponentType,
        enabled: bool,
    ) -> Result<(), EntityError> {
        let Location { chunk, row } = self.locate(entity)?;
        let archetype = self.storage.chunks[chunk].archetype;
        let mut slot = self.last_enabled;
        if slot.archetype != archetype || slot.ty != Some(ty) {
            slot = self.find_enabled_slot(entity, archetype, ty)?;
        }
        let chunk = &self.storage.chunks[chunk];
        // SAFETY:
        // - the slot is that of the chunk's archetype, so the chunk has the mask and the column; the table refers to existing
        //   rows
        // - jobs that use the mask or the component were completed, and other jobs do not use its versions
        unsafe {
            chunk.enabled.set_from(slot.first_word, row, enabled);
            chunk.note_written_beside(slot.column, row, 1, self.storage.version);
        }
        Ok(())
    }

    /// Returns the error that [`set_type_enabled`](Self::set_type_enabled) would return for an entity.
    pub(crate) fn check_enableable(
        &mut self,
        entity: Entity,
        ty: ComponentType,
    ) -> Result<(), EntityError> {
        let archetype = self.storage.archetype_at(self.locate(entity)?);
        self.find_enabled_slot(entity, archetype, ty).map(drop)
    }

    /// Finds the column and the mask of a type in an archetype, and caches them.
    #[inline(never)]
    fn find_enabled_slot(
        &mut self,
        entity: Entity,
        archetype: u32,
        ty: ComponentType,
    ) -> Result<EnabledSlot, EntityError> {
        let shape = &self.storage.archetypes[archetype].shape;
        let missing = EntityError::MissingComponent { entity, component: ty };
        let found = shape.index.find(ty).ok_or(missing)?;
        let mask = found.mask().ok_or(EntityError::NotEnableable { component: ty })?;
        let first_word = EnabledMasks::first_word(mask, shape.capacity);
        let column = found.column;
        self.last_enabled = EnabledSlot { archetype, ty: Some(ty), column, first_word };
        Ok(self.last_enabled)
    }

    /// Returns whether a component of an entity is enabled. A component that is not enableable is always enabled.
    ///
    /// # Errors
    ///
    /// Returns an error if the entity does not exist, or lacks the component.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component)]
    /// #[component(enableable)]
    /// struct Stunned(f32);
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn(Stunned(1.5));
    /// assert!(world.is_component_enabled::<Stunned>(orc)?);
    /// world.set_component_enabled::<Stunned>(orc, false)?;
    /// assert!(!world.is_component_enabled::<Stunned>(orc)?);
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    pub fn is_component_enabled<T: Component>(&self, entity: Entity) -> Result<bool, EntityError> {
        self.is_type_enabled(entity, ComponentType::of::<T>())
    }

    /// Returns whether a component of an entity is enabled, given its type at run time. A component that is not enableable is
    /// always enabled.
    ///
    /// # Errors
    ///
    /// Returns an error if the entity does not exist, or lacks the component.
    pub fn is_type_enabled(&self, entity: Entity, ty: ComponentType) -> Result<bool, EntityError> {
        self.jobs.sync_for_enabled_read(ty);
        let Location { chunk, row } = self.locate(entity)?;
        let chunk = &self.storage.chunks[chunk];
        let found =
            chunk.find(ty).ok_or(EntityError::MissingComponent { entity, component: ty })?;
        Ok(found.mask().is_none_or(|mask| chunk.enabled.get(mask, row)))
    }
}
