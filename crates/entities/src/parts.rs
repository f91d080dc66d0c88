//! The parts of a world's state, for code that writes worlds to files and rebuilds them.
//!
//! Reading yields the archetypes, chunks and columns as they are in memory. A [`StateBuilder`] checks what it gets, so that data from
//! a file cannot violate the invariants of the storage. It builds aside, and replaces the entities of a world at the end.

use std::fmt;
use std::mem;
use std::num::NonZero;

use crate::builtin::{
    Child, CleanupEntity, Disabled, LinkedEntityGroup, OmitLinkedEntityGroup, Parent, Prefab,
};
use crate::component::{ComponentType, registry};
use crate::entity::Entity;
use crate::error::EntityError;
use crate::field::{FlatLayout, Shape, ValueError, ValueReader, ValueWriter, plain_bytes};
use crate::manager::{EntityManager, PutError};
use crate::panics::FirstPanic;
use crate::schedule::RateState;
use crate::storage::{
    Archetype, Chunk, DoesNotFit, FutureIds, Location, OutOfMemory, ReadValue, RebuiltRows,
    Storage, sort_types,
};
use crate::time::{TimeError, TimeStack};
use crate::world::{Resource, World};

/// The form in which a column is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnForm {
    /// The values have no bytes.
    Nothing,
    /// The values are written as they are in memory, with zeros instead of padding.
    Bytes,
    /// The values are written field by field.
    Values,
    /// All entities of a chunk have the same value, which is in a table of its type.
    Shared,
    /// A chunk has one value.
    PerChunk,
}

/// The form of a component type's columns.
#[derive(Clone, Debug)]
pub struct ColumnLayout {
    ty: ComponentType,
    form: ColumnForm,
    flat: Option<FlatLayout>,
}

impl ColumnLayout {
    /// Returns the form of a type's columns.
    pub fn of(ty: ComponentType) -> Self {
        let flat = FlatLayout::of(ty.0.shape);
        let form = match &flat {
            _ if ty.is_shared() => ColumnForm::Shared,
            _ if ty.is_chunk_component() => ColumnForm::PerChunk,
            Some(_) if ty.size() == 0 && ty.0.drop.is_none() => ColumnForm::Nothing,
            Some(_) if ty.0.drop.is_none() => ColumnForm::Bytes,
            _ => ColumnForm::Values,
        };
        Self { ty, form, flat }
    }

    /// Returns the component type.
    pub fn component(&self) -> ComponentType {
        self.ty
    }

    /// Returns the form.
    pub fn form(&self) -> ColumnForm {
        self.form
    }
}

/// Returns the shape of the values of a shared component or a chunk component, and the shape of a column of other components.
pub fn value_shape(ty: ComponentType) -> &'static Shape {
    match (ty.0.shared, ty.0.per_chunk) {
        (Some(shared), _) => shared.shape,
        (_, Some(value)) => value.of.0.shape,
        _ => ty.0.shape,
    }
}

/// Returns the types of built-in components, registering them on first use.
pub fn builtin_types() -> [ComponentType; 7] {
    [
        ComponentType::of::<Prefab>(),
        ComponentType::of::<Disabled>(),
        ComponentType::of::<OmitLinkedEntityGroup>(),
        ComponentType::of::<CleanupEntity>(),
        ComponentType::of_buffer::<LinkedEntityGroup>(),
        ComponentType::of::<Parent>(),
        ComponentType::of_buffer::<Child>(),
    ]
}

/// Returns whether a type is the list of a relationship, which the world maintains.
pub fn is_link_list(ty: ComponentType) -> bool {
    ty.0.reverse_of.is_some()
}

/// Returns the registered type with a stable name, and whether other types have the same one.
pub fn find_stable(stable_name: &str) -> Option<(ComponentType, bool)> {
    let (info, is_shared) = registry::find_stable(stable_name)?;
    Some((ComponentType(info), is_shared))
}

/// Returns the stable names of all registered types, in ascending order.
pub fn stable_names() -> Vec<&'static str> {
    registry::stable_names()
}

/// Writes the initial value of a component field by field. Returns `false` if the type has none. Runs user code.
pub fn write_initial(ty: ComponentType, out: &mut dyn ValueWriter) -> bool {
    let value = if ty.is_shared() { None } else { ReadValue::initial(ty) };
    value.map(|value| value.write(out)).is_some()
}

/// The state of a world's entities.
#[derive(Clone, Copy)]
pub struct StateParts<'w> {
    world: &'w World,
    entities: &'w EntityManager,
}

impl fmt::Debug for StateParts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StateParts").field("entities", &self.entities.entity_count()).finish()
    }
}

impl<'w> StateParts<'w> {
    /// Returns the state of a world. Completes all jobs first.
    pub fn of(world: &'w World) -> Self {
        world.entities.jobs.sync_all();
        Self { world, entities: &world.entities }
    }

    /// Returns the size of chunks in bytes, and the largest number of entities in a chunk if it is limited.
    pub fn chunk_settings(self) -> (u32, Option<NonZero<u32>>) {
        let settings = &self.entities.storage.settings;
        (settings.chunk_size, settings.capacity_limit)
    }

    /// Returns the number of entities.
    pub fn entity_count(self) -> usize {
        self.entities.entity_count()
    }

    /// Returns all archetypes in order of creation, including those without entities.
    pub fn archetypes(self) -> impl ExactSizeIterator<Item = ArchetypeParts<'w>> {
        let storage = &self.entities.storage;
        storage
            .archetypes
            .as_slice()
            .iter()
            .map(move |archetype| ArchetypeParts { storage, archetype })
    }

    /// Calls a function for each state resource, in the order of the stable names: with the stable name, the shape, and a function
    /// that writes the value field by field.
    pub fn for_each_resource(
        self,
        each: impl FnMut(&'static str, &'static Shape, &dyn Fn(&mut dyn ValueWriter)),
    ) {
        self.world.resources.for_each_state(each);
    }

    /// Returns the time as numbers, and the states of rate managers by the names of their groups.
    pub fn clock(self) -> ClockParts {
        let (numbers, frame, flags) = self.world.time.to_numbers();
        let rates = self.world.systems.rate_states().into_iter();
        let rates = rates.map(|(group, RateState(numbers))| (group.to_string(), numbers)).collect();
        ClockParts { numbers, frame, flags, rates }
    }

    /// Returns the ids that the world will create next.
    pub fn future_ids(self) -> FutureIds {
        self.entities.storage.table.future_ids()
    }

    /// Returns the names of entities, by ascending index.
    pub fn names(self) -> Vec<(Entity, &'w str)> {
        self.entities.sorted_names()
    }

    /// Calls a function for each value of a shared type, with its index, and with `None` for indices that are free. Returns the free
    /// indices in the order of their use.
    pub fn for_each_shared(
        self,
        ty: ComponentType,
        mut each: impl FnMut(Option<&dyn Fn(&mut dyn ValueWriter)>),
    ) -> &'w [u32] {
        let shared = &self.entities.storage.shared;
        let (Some(table), Some(functions)) = (shared.table(ty), ty.0.shared) else { return &[] };
        let (slots, free) = shared.slots(table);
        for value in slots {
            match value {
                Some(value) => each(Some(&|out| (functions.write)(&**value, out))),
                None => each(None),
            }
        }
        free
    }
}

/// The time of a world, and the states of rate managers.
#[derive(Clone, Debug, PartialEq)]
pub struct ClockParts {
    /// Elapsed, delta, unscaled delta, scale and maximum delta.
    pub numbers: [f64; 5],
    /// The number of the frame.
    pub frame: u64,
    /// Two flags: the time is paused, and it stands still.
    pub flags: [bool; 2],
    /// The states of rate managers by the names of their groups.
    pub rates: Vec<(String, [f64; 3])>,
}

/// Adds a component with a value that is read field by field, or replaces its value.
///
/// # Errors
///
/// Returns an error if the value cannot be read, or the component cannot be added. The world is then unchanged.
pub fn put_value(
    world: &mut World,
    entity: Entity,
    ty: ComponentType,
    from: &mut dyn ValueReader,
) -> Result<(), PutError> {
    world.entities.put_value(entity, ty, from)
}

/// An archetype and its chunks.
#[derive(Clone, Copy)]
pub struct ArchetypeParts<'w> {
    storage: &'w Storage,
    archetype: &'w Archetype,
}

impl fmt::Debug for ArchetypeParts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.types()).finish()
    }
}

impl<'w> ArchetypeParts<'w> {
    /// Returns the component types, in the order of columns.
    pub fn types(self) -> &'w [ComponentType] {
        &self.archetype.shape.types
    }

    /// Returns the maximum number of entities in a chunk.
    pub fn capacity(self) -> u32 {
        self.archetype.shape.capacity
    }

    /// Returns the chunks in iteration order.
    pub fn chunks(self) -> impl ExactSizeIterator<Item = ChunkParts<'w>> {
        let storage = self.storage;
        let chunk = move |&number: &u32| ChunkParts { storage, chunk: &storage.chunks[number] };
        self.archetype.chunks.iter().map(chunk)
    }
}

/// The contents of a chunk.
#[derive(Clone, Copy)]
pub struct ChunkParts<'w> {
    storage: &'w Storage,
    chunk: &'w Chunk,
}

impl fmt::Debug for ChunkParts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChunkParts").field("rows", &self.chunk.len).finish()
    }
}

impl<'w> ChunkParts<'w> {
    /// Returns the entities, row by row.
    pub fn entities(self) -> &'w [Entity] {
        self.chunk.entities()
    }

    /// Returns the memory of the ids.
    pub fn entity_bytes(self) -> &'w [u8] {
        plain_bytes(self.chunk.entities()).expect("ids have no padding")
    }

    /// Returns a number that is equal for two chunks only if both share their memory, which neither has written since.
    pub fn memory(self) -> usize {
        self.chunk.memory_address().get()
    }

    /// Returns the position in the list of chunks with room, or `u32::MAX` for a full chunk.
    pub fn room_place(self) -> u32 {
        self.chunk.room_place
    }

    /// Returns the memory of a column, or `None` if it has padding or is not written as bytes.
    pub fn plain_column(self, column: usize, layout: &ColumnLayout) -> Option<&'w [u8]> {
        assert_eq!(self.chunk.shape().types[column], layout.ty);
        if layout.form == ColumnForm::Bytes { self.chunk.plain_column(column) } else { None }
    }

    /// Appends the memory of a column that is written as bytes, with zeros instead of padding.
    ///
    /// # Panics
    ///
    /// Panics if the column has another form.
    pub fn copy_column(self, column: usize, layout: &ColumnLayout, out: &mut Vec<u8>) {
        assert_eq!((self.chunk.shape().types[column], layout.form), (layout.ty, ColumnForm::Bytes));
        match (self.chunk.plain_column(column), &layout.flat) {
            (Some(bytes), _) => out.extend_from_slice(bytes),
            (None, Some(flat)) => self.chunk.copy_column(column, flat, out),
            (None, None) => unreachable!("a column of bytes is flat"),
        }
    }

    /// Writes the values of a column field by field. Each value follows a call of [`ValueWriter::element`].
    pub fn write_column(self, column: usize, out: &mut dyn ValueWriter) {
        self.chunk.write_column(column, out);
    }

    /// Writes the value of an entity. For a shared component, this is the value of the chunk.
    pub fn write_value(self, column: usize, row: usize, out: &mut dyn ValueWriter) {
        let ty = self.chunk.shape().types[column];
        match (ty.0.shared, self.storage.shared_value(self.chunk, ty)) {
            (Some(functions), Some(value)) => (functions.write)(&**value, out),
            _ => self.chunk.write_row(column, row, out),
        }
    }

    /// Returns the component types, in the order of columns.
    pub fn types(self) -> &'w [ComponentType] {
        &self.storage.archetypes[self.chunk.archetype].shape.types
    }

    /// Returns whether an enableable component of a row is enabled. Other components are always enabled.
    pub fn is_enabled(self, column: usize, row: usize) -> bool {
        let column = column as u32;
        let mask =
            self.chunk.shape().enableable.iter().position(|&enableable| enableable == column);
        mask.is_none_or(|mask| self.chunk.enabled.get(mask as u32, row as u32))
    }

    /// Writes the value of a chunk component.
    pub fn write_chunk_value(self, column: usize, out: &mut dyn ValueWriter) {
        self.chunk.write_chunk_value(column as u32, out);
    }

    /// Returns the enabled bits of all enableable columns, in the order of columns: one word for each 64 rows.
    pub fn enabled(self) -> impl Iterator<Item = &'w [u64]> {
        let words = self.chunk.len.div_ceil(u64::BITS) as usize;
        let masks = self.chunk.shape().enableable.len() as u32;
        (0..masks).map(move |mask| &self.chunk.enabled.words(mask)[..words])
    }

    /// Returns the indices of the shared values, in the order of the shared columns.
    pub fn shared(self) -> impl Iterator<Item = u32> {
        self.storage.archetypes.values_of(self.chunk).map(|(_, index)| index)
    }
}

/// The error of state that cannot be rebuilt.
#[derive(Clone, Debug)]
pub enum BuildError {
    /// A component type occurs twice in an archetype.
    TwiceInArchetype(ComponentType),
    /// The components of an entity are larger than a chunk.
    TooLarge {
        /// The size of an entity.
        bytes: usize,
        /// The room in a chunk.
        room: usize,
    },
    /// There is no memory for a chunk.
    OutOfMemory(OutOfMemory),
    /// An id is invalid, or has two owners.
    BadId(Entity),
    /// A chunk has no rows.
    NoRows,
    /// The numbers of used, free and existing ids do not agree.
    BadIdCount,
    /// The links of a relationship contradict each other.
    BadLinks(String),
    /// A shared value occurs twice, or its index does not exist.
    BadShared(ComponentType),
    /// A value of a column is invalid.
    BadValue(ComponentType, usize),
    /// A value could not be read.
    Unreadable(ComponentType, ValueError),
    /// The type of a missing column has no initial value.
    NoInitialValue(ComponentType),
}

/// Builds the entities of a world from checked parts.
pub struct StateBuilder {
    storage: Storage,
    /// The new index of each shared value, by type.
    shared: Vec<(ComponentType, Vec<u32>)>,
    /// The position of each chunk in its list of chunks with room, by chunk.
    rooms: Vec<(u32, u32)>,
}

impl fmt::Debug for StateBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StateBuilder").field("chunks", &self.rooms.len()).finish()
    }
}

impl StateBuilder {
    /// Creates a builder for entities of a world with the same settings as another.
    pub fn new(world: &World) -> Self {
        let storage = Storage::new(world.entities.storage.settings.clone());
        Self { storage, shared: Vec::new(), rooms: Vec::new() }
    }

    /// Adds an archetype, unless there is one with these types. Returns its number, and its types in the order of columns.
    ///
    /// # Errors
    ///
    /// Returns an error if a type occurs twice, or an entity does not fit in a chunk.
    pub fn archetype(
        &mut self,
        mut types: Vec<ComponentType>,
    ) -> Result<(u32, Vec<ComponentType>), BuildError> {
        sort_types(&mut types).map_err(BuildError::TwiceInArchetype)?;
        let Storage { archetypes, settings, shared, .. } = &mut self.storage;
        let number = archetypes.find_or_create(&types, settings, shared);
        let too_large =
            |DoesNotFit { entity_bytes: bytes, room }| BuildError::TooLarge { bytes, room };
        Ok((number.map_err(too_large)?, types))
    }

    /// Reads a value of a shared component.
    ///
    /// # Errors
    ///
    /// Returns an error if the value cannot be read.
    ///
    /// # Panics
    ///
    /// Panics if the type is not shared.
    pub fn read_shared(
        ty: ComponentType,
        from: &mut dyn ValueReader,
    ) -> Result<SharedSlot, BuildError> {
        let read = ty.0.shared.expect("a shared type").read;
        let value = read(from).map_err(|error| BuildError::Unreadable(ty, error))?;
        Ok(SharedSlot(Some(value)))
    }

    /// Sets the values of a shared type by index. `free` lists the indices without values in the order of their use.
    ///
    /// # Errors
    ///
    /// Returns an error if two values are equal, or `free` is not the list of indices without values.
    pub fn shared(
        &mut self,
        ty: ComponentType,
        slots: Vec<SharedSlot>,
        free: &[u32],
    ) -> Result<(), BuildError> {
        let slots: Vec<_> = slots.into_iter().map(|SharedSlot(value)| value).collect();
        let indices = self.storage.shared.restore(ty, &slots, free);
        self.shared.push((ty, indices.ok_or(BuildError::BadShared(ty))?));
        Ok(())
    }

    /// Opens chunks for rows of an archetype. `shared` has the index of a value for each shared type, in the order of columns.
    ///
    /// The rows get a chunk of their own if the first chunk with these shared values has yet to be opened, or `bytes`, the size of
    /// the data of the rows, is at least a quarter of a chunk. Otherwise they go to chunks with room. A capacity of another world's
    /// chunks that differs also packs rows.
    ///
    /// # Errors
    ///
    /// Returns an error if a shared value does not exist, or there is no memory.
    pub fn chunk(
        &mut self,
        archetype: u32,
        shared: &[u32],
        rows: usize,
        SourceChunk { room_place, capacity, bytes }: SourceChunk,
    ) -> Result<NewChunk<'_>, BuildError> {
        let shape = &self.storage.archetypes[archetype].shape;
        let types = shape.shared.iter().map(|&column| shape.types[column as usize]);
        let mut indices = Vec::new();
        for (at, ty) in types.enumerate() {
            let known = self.shared.iter().find(|(known, _)| *known == ty);
            let index = shared.get(at).and_then(|&index| known?.1.get(index as usize).copied());
            let index = index.ok_or(BuildError::BadShared(ty))?;
            let table = self.storage.shared.table(ty).ok_or(BuildError::BadShared(ty))?;
            let (mut slots, _) = self.storage.shared.slots(table);
            if slots.nth(index as usize).flatten().is_none() {
                return Err(BuildError::BadShared(ty));
            }
            indices.push(index);
        }
        if rows == 0 {
            return Err(BuildError::NoRows);
        }
        let chunk_size = self.storage.settings.chunk_size as usize;
        let is_other = self.storage.archetypes[archetype].shape.capacity != capacity;
        let is_packed = is_other || bytes < chunk_size / 4;
        let rebuilt = self.storage.rebuild_rows(archetype, &indices, rows, is_packed);
        let rows = rebuilt.map_err(BuildError::OutOfMemory)?;
        self.rooms.extend(rows.chunks().map(|number| (number, room_place)));
        Ok(NewChunk { rows })
    }

    /// Creates the entities, which are then in the chunks of the builder.
    ///
    /// # Errors
    ///
    /// Returns an error if the ids of the entities and the future ids are not consistent.
    pub fn finish(
        mut self,
        world: &World,
        ids: &FutureIds,
        names: &[(Entity, String)],
    ) -> Result<BuiltState, BuildError> {
        let storage = &mut self.storage;
        let rows: usize = storage.chunks.iter().map(|(_, chunk)| chunk.len as usize).sum();
        let accounted = ids.free.len().checked_add(ids.reserved.len());
        if accounted.and_then(|free| free.checked_add(rows)) != Some(ids.used as usize) {
            return Err(BuildError::BadIdCount);
        }
        let mut table = crate::storage::EntityTable::rebuild(ids).map_err(BuildError::BadId)?;
        for (number, chunk) in storage.chunks.iter() {
            let location = Location { chunk: number, row: 0 };
            table.settle(chunk.entities(), location).map_err(BuildError::BadId)?;
        }
        storage.table = table;
        storage.shared.forget_all_unused();
        drop(storage.shared.take_unused());
        let mut rooms = mem::take(&mut self.rooms);
        rooms.sort_unstable();
        storage.sort_rooms(|number| {
            let at = rooms.partition_point(|&(chunk, _)| chunk < number);
            rooms
                .get(at)
                .map_or(u64::MAX, |&(chunk, place)| u64::from(place) << 32 | u64::from(chunk))
        });
        debug_assert_eq!(storage.check_invariants(), Ok(()));
        let storage = mem::replace(storage, Storage::new(world.entities.storage.settings.clone()));
        let entities = world.entities.with_rebuilt(storage, names);
        entities.check_rebuilt_links().map_err(BuildError::BadLinks)?;
        Ok(BuiltState(world.aside(entities)))
    }
}

/// A chunk of the world that was saved.
#[derive(Clone, Copy, Debug)]
pub struct SourceChunk {
    /// The position in the list of chunks with room.
    pub room_place: u32,
    /// The maximum number of entities.
    pub capacity: u32,
    /// The size of the data of the chunk.
    pub bytes: usize,
}

/// A value of a shared component, or none at a free index.
#[derive(Default)]
pub struct SharedSlot(Option<crate::component::SharedValue>);

impl fmt::Debug for SharedSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "SharedSlot(value)" } else { "SharedSlot(free)" })
    }
}

/// Rows of a new chunk, whose columns are written in order.
pub struct NewChunk<'b> {
    rows: RebuiltRows<'b>,
}

impl fmt::Debug for NewChunk<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewChunk").finish_non_exhaustive()
    }
}

impl NewChunk<'_> {
    /// Writes the next column, which has no bytes of its own: tags, shared components and chunk components.
    pub fn write_nothing(&mut self, column: usize) {
        self.rows.write_nothing(column as u32);
    }

    /// Writes the memory of the next column.
    ///
    /// # Errors
    ///
    /// Returns an error if a value is invalid.
    ///
    /// # Panics
    ///
    /// Panics if the column has another form, or another number of bytes.
    pub fn write_bytes(
        &mut self,
        column: usize,
        layout: &ColumnLayout,
        bytes: &[u8],
    ) -> Result<(), BuildError> {
        let flat = layout.flat.as_ref().expect("a column of bytes");
        let written = self.rows.write_bytes(column as u32, flat, bytes);
        written.map_err(|row| BuildError::BadValue(layout.ty, row))
    }

    /// Reads the values of the next column.
    ///
    /// # Errors
    ///
    /// Returns an error if a value cannot be read.
    pub fn read_values(
        &mut self,
        column: usize,
        ty: ComponentType,
        from: &mut dyn ValueReader,
    ) -> Result<(), BuildError> {
        let read = self.rows.read_values(column as u32, from);
        read.map_err(|error| BuildError::Unreadable(ty, error))
    }

    /// Writes the initial values of the next column.
    ///
    /// # Errors
    ///
    /// Returns an error if the type has no initial value.
    pub fn write_initial(&mut self, column: usize, ty: ComponentType) -> Result<(), BuildError> {
        let is_written = self.rows.write_initial(column as u32);
        is_written.then_some(()).ok_or(BuildError::NoInitialValue(ty))
    }

    /// Reads the value of a chunk component.
    ///
    /// # Errors
    ///
    /// Returns an error if the value cannot be read.
    pub fn read_chunk_value(
        &mut self,
        column: usize,
        ty: ComponentType,
        from: &mut dyn ValueReader,
    ) -> Result<(), BuildError> {
        let read = self.rows.read_chunk_value(column as u32, from);
        read.map_err(|error| BuildError::Unreadable(ty, error))
    }

    /// Gives the rows their ids and enabled bits. `masks` has the words of each enableable column.
    pub fn finish(self, ids: &[Entity], masks: &[&[u64]]) {
        self.rows.commit(ids, masks);
    }
}

/// State that was built, and belongs to no world yet.
pub struct BuiltState(World);

impl fmt::Debug for BuiltState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BuiltState").field("entities", &self.0.entity_count()).finish()
    }
}

impl BuiltState {
    /// Registers a type of resource, so that it is found by its stable name.
    ///
    /// # Errors
    ///
    /// Returns a message if another type has the same stable name.
    pub fn know_resource<T: Resource>(&mut self) -> Result<(), String> {
        self.0.resources.place_of::<T>().map(drop)
    }

    /// Returns the shape of the state resource with a stable name, if its type is known.
    pub fn resource_shape(&self, stable_name: &str) -> Option<&'static Shape> {
        self.0.resources.find_state(stable_name).map(|(_, shape)| shape)
    }

    /// Reads the value of the state resource with a stable name.
    ///
    /// # Errors
    ///
    /// Returns an error if the value cannot be read.
    ///
    /// # Panics
    ///
    /// Panics if the type is not known.
    pub fn read_resource(
        &mut self,
        stable_name: &str,
        from: &mut dyn ValueReader,
    ) -> Result<(), ValueError> {
        let (place, _) = self.0.resources.find_state(stable_name).expect("a known type");
        self.0.resources.read_state(place, from)
    }

    /// Sets the time and the states of rate managers.
    ///
    /// # Errors
    ///
    /// Returns an error if a number is invalid.
    pub fn set_clock(&mut self, clock: ClockParts) -> Result<(), TimeError> {
        let ClockParts { numbers, frame, flags, rates } = clock;
        self.0.time = TimeStack::from_numbers(numbers, frame, flags)?;
        let rates = rates.into_iter().map(|(group, numbers)| (group.into(), RateState(numbers)));
        self.0.systems.captured_rates = rates.collect();
        Ok(())
    }

    /// Replaces the state of a world, which has the settings that the builder was created with. All entities and resources count as
    /// changed.
    ///
    /// # Errors
    ///
    /// Returns a message if the world has another resource with the same stable name. The world is then unchanged.
    pub fn replace(mut self, world: &mut World) -> Result<(), String> {
        world.complete_jobs();
        world.resources.add_types_of(&self.0.resources)?;
        let empty = Storage::new(world.entities.storage.settings.clone());
        let empty = self.0.entities.with_rebuilt(empty, &[]);
        let entities = mem::replace(&mut self.0.entities, empty);
        let old = world.entities.replace_with(entities);
        let version = world.entities.storage.version;
        let replaced = world.replace_state(&mut self.0, Some(version));
        // Dropping the old state is user code, and comes last.
        let mut panics = FirstPanic::default();
        panics.during(|| drop(old));
        replaced.release(&mut panics);
        panics.go_on();
        world.deliver_outside();
        Ok(())
    }

    /// Moves the entities to a world, where they get new ids. Resources and the time of the world stay.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no memory. In that case the world is unchanged.
    pub fn merge(mut self, world: &mut World) -> Result<crate::EntityMap, EntityError> {
        world.entities.move_entities_from(&mut self.0.entities)
    }
}
