//! Loading worlds. Nothing in a file is trusted.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::Path;

use ancho_entities::__parts::{
    BuildError, BuiltState, ClockParts, ColumnForm, FutureIds, SharedSlot, SourceChunk,
    StateBuilder, builtin_types,
};
use ancho_entities::{
    BufferElement, Component, ComponentType, Entity, EntityMap, Field, ManagedComponent, Resource,
    SharedComponent, TimeError, ValueError, World, WorldSettings,
};

use crate::bytes::ByteReader;
use crate::error::{SerializeError, SerializeErrorKind as Kind};
use crate::save::{MAGIC, OnProgress, Progress, check_stream};
use crate::schema::Schema;
use crate::section::{Section, SectionReader, Tag, section_name};
use crate::stream::{StreamReader, StreamWriter, flat_to_stream};
use crate::types::{FileType, Target, TypeRules, UnknownTypes, find_targets};

/// The options of loading a world.
///
/// A type of the program is found by its stable name, if the program has registered it. Types are registered when they are first
/// used, for example by a query of a system. Register other types with [`component`](Self::component) and its siblings.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, World};
/// use ancho_serialize::{LoadOptions, SaveOptions, load, save};
///
/// #[derive(Component, Clone, Copy)]
/// #[component(name = "Hp")]
/// struct Hp(u16);
///
/// #[derive(Component, Debug, PartialEq)]
/// #[component(name = "Health")]
/// struct Health {
///     points: u32,
/// }
///
/// let mut old = World::new("Game");
/// let orc = old.spawn(Hp(20));
/// let mut bytes = Vec::new();
/// save(&old, &mut bytes, SaveOptions::new())?;
///
/// let options = LoadOptions::new().component::<Health>().rename("Hp", "Health");
/// let options = options.migrate("Hp", |old: Hp| Health { points: old.0.into() });
/// assert_eq!(load(&bytes[..], options)?.get(orc), Ok(&Health { points: 20 }));
/// # Ok::<(), ancho_serialize::SerializeError>(())
/// ```
#[must_use = "options do nothing until a world is loaded with them"]
pub struct LoadOptions {
    rules: TypeRules,
    decoded_limit: u64,
    progress: Option<OnProgress>,
    resources: Vec<KnowResource>,
}

/// Registers a type of resource.
type KnowResource = fn(&mut BuiltState) -> Result<(), String>;

impl Default for LoadOptions {
    fn default() -> Self {
        let (rules, resources) = (TypeRules::default(), Vec::new());
        Self { rules, decoded_limit: u64::MAX, progress: None, resources }
    }
}

impl fmt::Debug for LoadOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoadOptions")
            .field("decoded_limit", &self.decoded_limit)
            .field("unknown_types", &self.rules.unknown)
            .finish_non_exhaustive()
    }
}

impl LoadOptions {
    /// Creates the default options: unknown types are errors, and there is no limit.
    pub fn new() -> Self {
        Self::default()
    }

    /// Registers a component type, so that it is found in the file.
    pub fn component<T: Component>(self) -> Self {
        ComponentType::of::<T>();
        self
    }

    /// Registers a buffer type, so that it is found in the file.
    pub fn buffer<T: BufferElement>(self) -> Self {
        ComponentType::of_buffer::<T>();
        self
    }

    /// Registers a shared component type, so that it is found in the file.
    pub fn shared<T: SharedComponent>(self) -> Self {
        ComponentType::of_shared::<T>();
        self
    }

    /// Registers a managed component type, so that it is found in the file.
    pub fn managed<T: ManagedComponent>(self) -> Self {
        ComponentType::of_managed::<T>();
        self
    }

    /// Registers a chunk component type, so that it is found in the file.
    pub fn chunk_component<T: Component + Default>(self) -> Self {
        ComponentType::of_chunk::<T>();
        self
    }

    /// Registers a type of state resource, so that it is found in the file. Resources of the world's systems are registered already.
    pub fn resource<T: Resource>(mut self) -> Self {
        self.resources.push(BuiltState::know_resource::<T>);
        self
    }

    /// Declares that a component or resource type has another stable name than in the file.
    pub fn rename(mut self, old: impl Into<String>, new: impl Into<String>) -> Self {
        self.rules.renamed.insert(old.into(), new.into());
        self
    }

    /// Sets the function that converts values of a component or resource type whose fields have changed. `name` is the stable name in the file.
    ///
    /// The function is called if the type of the program differs from that of the file. `Old` describes the type of the file, and
    /// `New` is the type of the program. For buffers, both are lists of elements.
    pub fn migrate<Old: Field, New: Field>(
        mut self,
        name: &str,
        convert: impl Fn(Old) -> New + Send + 'static,
    ) -> Self {
        self.rules.migrate(name, convert);
        self
    }

    /// Sets the treatment of component and resource types that the program does not have. Resources are never kept.
    pub fn unknown_types(mut self, unknown: UnknownTypes) -> Self {
        self.rules.unknown = unknown;
        self
    }

    /// Sets the largest number of bytes of all sections together, after they are decompressed. Larger files are refused before memory
    /// for them is allocated.
    pub fn decoded_limit(mut self, bytes: u64) -> Self {
        self.decoded_limit = bytes;
        self
    }

    /// Sets a function that is called after each chunk. If it returns [`ControlFlow::Break`], loading stops with an error.
    pub fn progress(
        mut self,
        each: impl FnMut(Progress) -> ControlFlow<()> + Send + 'static,
    ) -> Self {
        self.progress = Some(Box::new(each));
        self
    }
}

/// Reads a world that [`save`](crate::save) has written, with its time and state resources. Entities keep their ids, chunks and cleanup components.
///
/// The world has the name and the chunk size of the one that was saved, and no systems. Use [`load_into`] for a world with systems.
/// The reader is read up to the end mark of the world, and not further.
///
/// # Errors
///
/// Returns an error if the data is not a complete world file, a component type is unknown or has changed, or there is no memory. No
/// data leads to a panic or to undefined behaviour.
///
/// # Panics
///
/// Panics if user code panics, such as the `Default` or the comparison of a type.
///
/// # Examples
///
/// ```
/// use ancho_entities::World;
/// use ancho_serialize::{LoadOptions, SaveOptions, load, save};
///
/// let mut world = World::new("Game");
/// world.spawn_many((), 1000);
/// let mut bytes = Vec::new();
/// save(&world, &mut bytes, SaveOptions::new())?;
/// let loaded = load(&bytes[..], LoadOptions::new())?;
/// assert_eq!(loaded.state_hash(), world.state_hash());
/// # Ok::<(), ancho_serialize::SerializeError>(())
/// ```
#[doc(alias = "DeserializeWorld")]
pub fn load(from: impl Read, options: LoadOptions) -> Result<World, SerializeError> {
    let mut file = Loader::new(from, options)?;
    let mut settings = WorldSettings::new();
    settings = settings.chunk_size(file.world.chunk_size as usize);
    if file.world.limit > 0 {
        settings = settings.chunk_capacity_limit(file.world.limit as usize);
    }
    let mut world = World::with_settings(std::mem::take(&mut file.world.name), settings);
    let state = file.read(&world, true)?;
    replace(state, &mut world)?;
    Ok(world)
}

/// Replaces all entities of a world with those of a file. Entities keep their ids of the file.
///
/// Systems, local resources and settings of the world stay. All entities and state resources count as changed. If the chunk size of the world differs from that
/// of the file, entities are divided among other chunks.
///
/// # Errors
///
/// Returns the errors of [`load`]. The world is then unchanged.
///
/// # Examples
///
/// ```
/// use ancho_entities::World;
/// use ancho_serialize::{LoadOptions, SaveOptions, load_into, save};
///
/// let (mut saved, mut world) = (World::new("Old"), World::new("New"));
/// let orc = saved.spawn(());
/// let mut bytes = Vec::new();
/// save(&saved, &mut bytes, SaveOptions::new())?;
/// world.spawn_many((), 10);
/// load_into(&mut world, &bytes[..], LoadOptions::new())?;
/// assert_eq!((world.entity_count(), world.exists(orc)), (1, true));
/// # Ok::<(), ancho_serialize::SerializeError>(())
/// ```
pub fn load_into(
    world: &mut World,
    from: impl Read,
    options: LoadOptions,
) -> Result<(), SerializeError> {
    let mut file = Loader::new(from, options)?;
    let state = file.read(world, true)?;
    replace(state, world)
}

/// Adds the entities of a file to a world, where they get new ids. Returns the new id of each entity.
///
/// References between the entities of the file are replaced with the new ids, and all other references become null. Resources and
/// the time of the world stay.
///
/// # Errors
///
/// Returns the errors of [`load`]. The world is then unchanged.
///
/// # Examples
///
/// ```
/// use ancho_entities::World;
/// use ancho_serialize::{LoadOptions, SaveOptions, merge, save};
///
/// let (mut level, mut game) = (World::new("Level"), World::new("Game"));
/// let door = level.spawn(());
/// let mut bytes = Vec::new();
/// save(&level, &mut bytes, SaveOptions::new())?;
/// game.spawn_many((), 10);
/// let map = merge(&mut game, &bytes[..], LoadOptions::new())?;
/// assert!(game.exists(map.get(door).unwrap()));
/// assert_eq!(game.entity_count(), 11);
/// # Ok::<(), ancho_serialize::SerializeError>(())
/// ```
pub fn merge(
    world: &mut World,
    from: impl Read,
    options: LoadOptions,
) -> Result<EntityMap, SerializeError> {
    let mut file = Loader::new(from, options)?;
    Ok(file.read(world, false)?.merge(world)?)
}

fn replace(state: BuiltState, world: &mut World) -> Result<(), SerializeError> {
    state.replace(world).map_err(|message| SerializeError::new(Kind::World, message))
}

/// Loads a world from a file. See [`load`].
///
/// # Errors
///
/// Returns the errors of [`load`], and those of the file system.
pub fn load_file(path: impl AsRef<Path>, options: LoadOptions) -> Result<World, SerializeError> {
    load(File::open(path)?, options)
}

/// Reads the texts that a world file carries: see [`SaveOptions::metadata`](crate::SaveOptions::metadata). The rest of the file is not
/// read.
///
/// # Errors
///
/// Returns an error if the data does not begin like a world file.
pub fn load_metadata(from: impl Read) -> Result<BTreeMap<String, String>, SerializeError> {
    Ok(Loader::new(from, LoadOptions::new())?.world.metadata)
}

/// The first section of a file.
#[derive(Debug, Default)]
pub(crate) struct FileWorld {
    pub(crate) name: String,
    chunk_size: u32,
    limit: u32,
    pub(crate) metadata: BTreeMap<String, String>,
}

impl FileWorld {
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let mut from = ByteReader::new(bytes);
        let (chunk_size, limit) = (from.u32()?, from.u32()?);
        let name = from.text()?.to_owned();
        let mut metadata = BTreeMap::new();
        for _ in 0..from.count(2)? {
            metadata.insert(from.text()?.to_owned(), from.text()?.to_owned());
        }
        (from.left() == 0).then_some(Self { name, chunk_size, limit, metadata })
    }
}

/// An archetype of a file.
pub(crate) struct FileArchetype {
    /// The columns, as indices in the component table.
    pub(crate) columns: Vec<usize>,
    capacity: u32,
    chunks: u64,
    /// The number of chunks that were read.
    read: u64,
    /// The archetype of the builder, and its columns as columns of the file.
    number: u32,
    program_columns: Vec<usize>,
}

struct Loader<R> {
    sections: SectionReader<R>,
    world: FileWorld,
    rules: TypeRules,
    progress: Option<OnProgress>,
    resources: Vec<KnowResource>,
}

impl<R: Read> Loader<R> {
    /// Reads the header and the first section.
    fn new(from: R, options: LoadOptions) -> Result<Self, SerializeError> {
        let LoadOptions { rules, decoded_limit, progress, resources } = options;
        if cfg!(target_endian = "big") {
            let message = "worlds cannot be loaded on big-endian machines";
            return Err(SerializeError::new(Kind::NotAWorldFile, message));
        }
        let mut sections = SectionReader::new(from, MAGIC, "a world file", decoded_limit)?;
        expect(&mut sections, Tag::WORLD)?;
        let world = FileWorld::read(sections.data()).ok_or_else(|| invalid("world"))?;
        // Also if the file is loaded into a world with another chunk size: all functions accept the same files.
        if !world.chunk_size.is_power_of_two() || !(4096..=1 << 20).contains(&world.chunk_size) {
            return Err(SerializeError::corrupt("the chunk size is invalid").in_section("world"));
        }
        Ok(Self { sections, world, rules, progress, resources })
    }

    /// Reads the other sections, and builds the state for a world, with resources and time unless they are left out.
    fn read(&mut self, world: &World, has_resources: bool) -> Result<BuiltState, SerializeError> {
        builtin_types();
        let sections = &mut self.sections;
        expect(sections, Tag::TYPES)?;
        let types = read_types(sections.data()).ok_or_else(|| invalid("component table"))?;
        let targets = find_targets(&types, &self.rules);
        let targets = targets.map_err(|error| error.in_section("component table"))?;
        let mut builder = StateBuilder::new(world);
        expect(sections, Tag::ARCHETYPES)?;
        let mut archetypes = read_archetypes(sections.data(), types.len())
            .ok_or_else(|| invalid("archetype table"))?;
        for archetype in &mut archetypes {
            archetype
                .create(&types, &targets, &mut builder)
                .map_err(|error| error.in_section("archetype table"))?;
        }
        let mut columns = ColumnLoader { types: &types, targets: &targets, rules: &self.rules };
        let mut section = sections.next()?;
        while section.tag == Tag::SHARED {
            columns
                .read_shared(section, sections.data(), &mut builder)
                .map_err(|error| error.in_section(&section_name(section.tag, section.numbers)))?;
            section = sections.next()?;
        }
        check_tag(section, Tag::IDS)?;
        let ids = read_ids(sections.data()).ok_or_else(|| invalid("entity ids"))?;
        section = sections.next()?;
        let mut names = Vec::new();
        if section.tag == Tag::NAMES {
            names = read_names(sections.data()).ok_or_else(|| invalid("names"))?;
            section = sections.next()?;
        }
        let mut progress = Progress { done: 0, total: sections.counts[1] };
        let mut scratch = ChunkScratch::default();
        while section.tag == Tag::CHUNK {
            columns
                .read_chunk(section, sections.data(), &mut archetypes, &mut builder, &mut scratch)
                .map_err(|error| error.in_section(&section_name(section.tag, section.numbers)))?;
            progress.done += 1;
            if let Some(each) = &mut self.progress
                && each(progress).is_break()
            {
                return Err(SerializeError::cancelled());
            }
            section = sections.next()?;
        }
        if archetypes.iter().any(|archetype| archetype.read != archetype.chunks) {
            let message = "the archetypes have more chunks than the file";
            return Err(SerializeError::corrupt(message).in_section("archetype table"));
        }
        let built = builder.finish(world, &ids, &names);
        let mut built = built.map_err(|error| build_error(error).in_section("entity ids"))?;
        check_tag(section, Tag::CLOCK)?;
        if has_resources {
            let clock = read_clock(sections.data()).ok_or_else(|| invalid("time"))?;
            let set = built.set_clock(clock);
            let corrupt = |error: TimeError| SerializeError::corrupt(error.to_string());
            set.map_err(|error| corrupt(error).in_section("time"))?;
            for know in &self.resources {
                know(&mut built).map_err(|message| SerializeError::new(Kind::World, message))?;
            }
        }
        section = sections.next()?;
        let mut unknown = Vec::new();
        while section.tag == Tag::RESOURCE {
            if has_resources {
                let name = section_name(section.tag, section.numbers);
                let missing = read_resource(sections.data(), &self.rules, &mut built);
                unknown.extend(missing.map_err(|error| error.in_section(&name))?);
            }
            section = sections.next()?;
        }
        check_tag(section, Tag::END)?;
        if unknown.is_empty() || self.rules.unknown == UnknownTypes::Skip {
            return Ok(built);
        }
        let message = format!(
            "the program has no resource types {}; register them with `LoadOptions::resource`, rename them with \
             `LoadOptions::rename`, or choose `UnknownTypes::Skip`",
            unknown.join(", ")
        );
        Err(SerializeError::new(Kind::UnknownTypes, message))
    }
}

/// Reads the next section, which must have this tag.
fn expect<R: Read>(sections: &mut SectionReader<R>, tag: Tag) -> Result<Section, SerializeError> {
    let section = sections.next()?;
    check_tag(section, tag)?;
    Ok(section)
}

fn check_tag(section: Section, tag: Tag) -> Result<(), SerializeError> {
    if section.tag == tag {
        return Ok(());
    }
    let message = format!("expected the section `{}`", tag.name());
    Err(SerializeError::corrupt(message).in_section(&section_name(section.tag, section.numbers)))
}

/// Returns the error of a section with invalid contents.
fn invalid(section: &str) -> SerializeError {
    SerializeError::corrupt("the contents are invalid").in_section(section)
}

fn build_error(error: BuildError) -> SerializeError {
    let corrupt = |message: String| SerializeError::corrupt(message);
    match error {
        BuildError::TwiceInArchetype(ty) => {
            corrupt(format!("an archetype has the component `{ty}` twice"))
        }
        BuildError::TooLarge { bytes, room } => {
            let message = format!(
                "an entity has {bytes} bytes, and a chunk has room for {room}; use larger chunks, or smaller components"
            );
            SerializeError::new(Kind::IncompatibleType, message)
        }
        BuildError::OutOfMemory(error) => SerializeError::new(Kind::World, error.to_string()),
        BuildError::BadId(entity) => {
            corrupt(format!("the id {entity} is invalid, or two entities have its index"))
        }
        BuildError::NoRows => corrupt("a chunk has no entities".to_owned()),
        BuildError::BadIdCount => {
            let message = "the numbers of entities, free ids and used ids contradict each other";
            corrupt(message.to_owned())
        }
        BuildError::BadLinks(message) => corrupt(message),
        BuildError::BadShared(ty) => {
            corrupt(format!("a value of `{ty}` is missing or occurs twice"))
        }
        BuildError::BadValue(ty, row) => {
            corrupt(format!("row {row} has an invalid value of `{ty}`"))
        }
        BuildError::Unreadable(ty, error) => {
            corrupt(format!("a value of `{ty}` cannot be read: {error}"))
        }
        BuildError::NoInitialValue(ty) => {
            SerializeError::new(Kind::IncompatibleType, format!("`{ty}` has no initial value"))
        }
    }
}

pub(crate) fn read_types(bytes: &[u8]) -> Option<Vec<FileType>> {
    let mut from = ByteReader::new(bytes);
    let count = from.count(8)?;
    let types: Vec<FileType> = (0..count).map_while(|_| FileType::read(&mut from)).collect();
    (types.len() == count && from.left() == 0).then_some(types)
}

pub(crate) fn read_archetypes(bytes: &[u8], types: usize) -> Option<Vec<FileArchetype>> {
    let mut from = ByteReader::new(bytes);
    let mut archetypes = Vec::new();
    for _ in 0..from.count(3)? {
        let mut columns = Vec::new();
        for _ in 0..from.count(1)? {
            let index = usize::try_from(from.varint()?).ok().filter(|&index| index < types)?;
            columns.push(index);
        }
        let capacity = u32::try_from(from.varint()?).ok()?;
        let chunks = from.varint()?;
        let (read, number, program_columns) = (0, 0, Vec::new());
        archetypes.push(FileArchetype { columns, capacity, chunks, read, number, program_columns });
    }
    (from.left() == 0).then_some(archetypes)
}

fn read_ids(bytes: &[u8]) -> Option<FutureIds> {
    let mut from = ByteReader::new(bytes);
    let used = from.u32()?;
    let mut lists = [Vec::new(), Vec::new()];
    for list in &mut lists {
        for _ in 0..from.count(8)? {
            list.push(Entity::from_bits(from.u64()?));
        }
    }
    let mut fresh = Vec::new();
    for _ in 0..from.count(4)? {
        fresh.push(from.u32()?);
    }
    let [free, reserved] = lists;
    (from.left() == 0).then_some(FutureIds { used, free, reserved, fresh })
}

fn read_clock(bytes: &[u8]) -> Option<ClockParts> {
    let mut from = ByteReader::new(bytes);
    let mut numbers = [0.0; 5];
    for number in &mut numbers {
        *number = from.array().map(f64::from_le_bytes)?;
    }
    let frame = from.u64()?;
    let mut flags = [false; 2];
    for flag in &mut flags {
        *flag = from.byte().filter(|&flag| flag < 2)? == 1;
    }
    let mut rates = Vec::new();
    for _ in 0..from.count(25)? {
        let group = from.text()?.to_owned();
        let mut numbers = [0.0; 3];
        for number in &mut numbers {
            *number = from.array().map(f64::from_le_bytes)?;
        }
        rates.push((group, numbers));
    }
    (from.left() == 0).then_some(ClockParts { numbers, frame, flags, rates })
}

/// Reads a resource. Returns its name if the program does not have its type.
fn read_resource(
    bytes: &[u8],
    rules: &TypeRules,
    built: &mut BuiltState,
) -> Result<Option<String>, SerializeError> {
    let bad = || SerializeError::corrupt("the contents are invalid");
    let mut from = ByteReader::new(bytes);
    let name = from.text().ok_or_else(bad)?;
    let schema = Schema::read(&mut from).ok_or_else(bad)?;
    let value = from.count(1).and_then(|len| from.take(len)).ok_or_else(bad)?;
    if from.left() > 0 {
        return Err(bad());
    }
    let new_name = rules.renamed.get(name).map_or(name, String::as_str);
    let Some(shape) = built.resource_shape(new_name) else {
        return Ok(Some(format!("`{new_name}`")));
    };
    let unreadable = |error: ValueError| {
        let message = format!("the resource `{new_name}` cannot be read: {error}");
        SerializeError::corrupt(message)
    };
    let mut migrated = StreamWriter::default();
    let mut reader = if schema == Schema::of(shape) {
        StreamReader::same(value)
    } else if let Some(migration) = rules.migrations.get(name) {
        let mut old = StreamReader::converting(value, &schema);
        migration(&mut old, &mut migrated).map_err(unreadable)?;
        check_stream(&migrated, "resource", new_name)?;
        StreamReader::same(&migrated.out)
    } else {
        StreamReader::converting(value, &schema)
    };
    built.read_resource(new_name, &mut reader).map_err(unreadable)?;
    if reader.bytes.left() > 0 {
        return Err(bad());
    }
    Ok(None)
}

fn read_names(bytes: &[u8]) -> Option<Vec<(Entity, String)>> {
    let mut from = ByteReader::new(bytes);
    let mut names = Vec::new();
    for _ in 0..from.count(9)? {
        names.push((Entity::from_bits(from.u64()?), from.text()?.to_owned()));
    }
    (from.left() == 0).then_some(names)
}

impl FileArchetype {
    /// Creates the archetype of the program, without skipped types.
    fn create(
        &mut self,
        types: &[FileType],
        targets: &[Option<Target>],
        builder: &mut StateBuilder,
    ) -> Result<(), SerializeError> {
        let component = |&index: &usize| Some(targets[index].as_ref()?.layout.component());
        let wanted: Vec<ComponentType> = self.columns.iter().filter_map(component).collect();
        let (number, sorted) = builder.archetype(wanted).map_err(build_error)?;
        self.number = number;
        let column_of = |ty: &ComponentType| {
            self.columns.iter().position(|index| component(index) == Some(*ty))
        };
        self.program_columns = sorted.iter().filter_map(column_of).collect();
        debug_assert!(self.program_columns.len() == sorted.len() && types.len() == targets.len());
        Ok(())
    }
}

/// Memory that is used for each chunk.
#[derive(Default)]
struct ChunkScratch {
    ids: Vec<Entity>,
    stream: Vec<u8>,
}

/// Reads columns, and converts those whose types have changed.
struct ColumnLoader<'a> {
    types: &'a [FileType],
    targets: &'a [Option<Target>],
    rules: &'a TypeRules,
}

impl ColumnLoader<'_> {
    fn read_shared(
        &mut self,
        section: Section,
        bytes: &[u8],
        builder: &mut StateBuilder,
    ) -> Result<(), SerializeError> {
        let bad = || SerializeError::corrupt("the contents are invalid");
        let index = section.numbers[0] as usize;
        let file = self.types.get(index).filter(|file| file.form == ColumnForm::Shared);
        let file = file.ok_or_else(bad)?;
        let Some(target) = &self.targets[index] else { return Ok(()) };
        let ty = target.layout.component();
        let mut from = ByteReader::new(bytes);
        let mut slots = Vec::new();
        for _ in 0..from.count(1).ok_or_else(bad)? {
            if from.byte().ok_or_else(bad)? == 0 {
                slots.push(SharedSlot::default());
                continue;
            }
            let value = from.count(1).and_then(|len| from.take(len)).ok_or_else(bad)?;
            let slot = self.with_reader(file, target, value, 1, |reader| {
                let slot = StateBuilder::read_shared(ty, reader).map_err(build_error)?;
                Ok(slot)
            })?;
            slots.push(slot);
        }
        let mut free = Vec::new();
        for _ in 0..from.count(1).ok_or_else(bad)? {
            let index = from.varint().and_then(|index| u32::try_from(index).ok());
            free.push(index.ok_or_else(bad)?);
        }
        if from.left() > 0 {
            return Err(bad());
        }
        builder.shared(ty, slots, &free).map_err(build_error)
    }

    /// Calls a function with a reader of values that were written field by field.
    fn with_reader<T>(
        &self,
        file: &FileType,
        target: &Target,
        bytes: &[u8],
        values: usize,
        read: impl FnOnce(&mut StreamReader<'_, '_>) -> Result<T, SerializeError>,
    ) -> Result<T, SerializeError> {
        let finish = |reader: &mut StreamReader<'_, '_>, result: T| {
            let rest = reader.bytes.left();
            let rest = reader.bytes.take(rest).unwrap_or_default();
            if rest.iter().any(|&byte| byte != 0) {
                return Err(SerializeError::corrupt("a column has more data than values"));
            }
            Ok(result)
        };
        if target.is_same {
            let mut reader = StreamReader::same(bytes);
            let result = read(&mut reader)?;
            return finish(&mut reader, result);
        }
        let mut reader = StreamReader::converting(bytes, &file.schema);
        let Some(migration) = self.rules.migrations.get(&file.name) else {
            let result = read(&mut reader)?;
            return finish(&mut reader, result);
        };
        let mut migrated = StreamWriter::default();
        let ty = target.layout.component();
        for _ in 0..values {
            migration(&mut reader, &mut migrated)
                .map_err(|error| build_error(BuildError::Unreadable(ty, error)))?;
        }
        finish_migration(&migrated, ty)?;
        let mut reader = StreamReader::same(&migrated.out);
        let result = read(&mut reader)?;
        finish(&mut reader, result)
    }

    fn read_chunk(
        &mut self,
        section: Section,
        bytes: &[u8],
        archetypes: &mut [FileArchetype],
        builder: &mut StateBuilder,
        scratch: &mut ChunkScratch,
    ) -> Result<(), SerializeError> {
        let bad = || SerializeError::corrupt("the contents are invalid");
        let [archetype, place, rows, room_place] = section.numbers;
        let archetype = archetypes.get_mut(archetype as usize).ok_or_else(bad)?;
        if u64::from(place) != archetype.read || archetype.read >= archetype.chunks {
            return Err(SerializeError::corrupt("chunks are missing, or in another order"));
        }
        archetype.read += 1;
        let archetype = &*archetype;
        let rows = rows as usize;
        let mut from = ByteReader::new(bytes);
        let file_types = || archetype.columns.iter().map(|&index| (index, &self.types[index]));
        let mut shared = Vec::new();
        for (index, file) in file_types() {
            if file.form == ColumnForm::Shared {
                shared.push((index, from.u32().ok_or_else(bad)?));
            }
        }
        from.align().ok_or_else(bad)?;
        let ids = rows.checked_mul(8).and_then(|len| from.take(len)).ok_or_else(bad)?;
        let (ids, _) = ids.as_chunks::<8>();
        scratch.ids.clear();
        scratch.ids.extend(ids.iter().map(|&id| Entity::from_bits(u64::from_le_bytes(id))));
        from.align().ok_or_else(bad)?;
        let mut masks = Vec::new();
        for (index, file) in file_types() {
            if file.is_enableable {
                let mut words = Vec::with_capacity(rows.div_ceil(64));
                for _ in 0..rows.div_ceil(64) {
                    words.push(from.u64().ok_or_else(bad)?);
                }
                masks.push((index, words));
            }
        }
        from.align().ok_or_else(bad)?;
        let mut data: Vec<&[u8]> = Vec::with_capacity(archetype.columns.len());
        for (_, file) in file_types() {
            let len = match file.form {
                ColumnForm::Nothing | ColumnForm::Shared => {
                    data.push(&[]);
                    continue;
                }
                ColumnForm::Bytes => {
                    let size = usize::try_from(file.schema.size).ok();
                    size.and_then(|size| rows.checked_mul(size))
                }
                ColumnForm::Values | ColumnForm::PerChunk => {
                    from.u64().and_then(|len| usize::try_from(len).ok())
                }
            };
            data.push(len.and_then(|len| from.take(len)).ok_or_else(bad)?);
            from.align().ok_or_else(bad)?;
        }
        let rest = from.left();
        if from.take(rest).is_none_or(|rest| rest.iter().any(|&byte| byte != 0)) {
            return Err(bad());
        }

        let program = || archetype.program_columns.iter().enumerate();
        let shared_of = |(_, &column): (usize, &usize)| {
            let index = archetype.columns[column];
            shared.iter().find(|&&(at, _)| at == index).map(|&(_, value)| value)
        };
        let shared: Vec<u32> = program().filter_map(shared_of).collect();
        let source = SourceChunk { room_place, capacity: archetype.capacity, bytes: bytes.len() };
        let chunk = builder.chunk(archetype.number, &shared, rows, source);
        let mut chunk = chunk.map_err(build_error)?;
        let mut words: Vec<&[u64]> = Vec::new();
        let all = vec![u64::MAX; rows.div_ceil(64)];
        for (column, &file_column) in program() {
            let index = archetype.columns[file_column];
            let file = &self.types[index];
            let target = self.targets[index].as_ref().ok_or_else(bad)?;
            let ty = target.layout.component();
            if ty.is_enableable() {
                let mask = masks.iter().find(|(at, _)| *at == index);
                words.push(mask.map_or(&all, |(_, words)| words));
            }
            let bytes = data[file_column];
            let form = target.layout.form();
            match (file.form, form) {
                (_, ColumnForm::Nothing) => chunk.write_nothing(column),
                (_, ColumnForm::Shared) => chunk.write_nothing(column),
                (_, ColumnForm::PerChunk) => {
                    chunk.write_nothing(column);
                    self.with_reader(file, target, bytes, 1, |reader| {
                        chunk.read_chunk_value(column, ty, reader).map_err(build_error)
                    })?;
                }
                (ColumnForm::Bytes, ColumnForm::Bytes) if target.is_same => {
                    chunk.write_bytes(column, &target.layout, bytes).map_err(build_error)?;
                }
                (ColumnForm::Bytes | ColumnForm::Nothing, _) => {
                    // The memory of the old type becomes a stream, from which the values are read field by field.
                    let size = file.schema.size as usize;
                    scratch.stream.clear();
                    for value in bytes.chunks_exact(size.max(1)) {
                        flat_to_stream(value, &file.schema, &mut scratch.stream);
                    }
                    self.with_reader(file, target, &scratch.stream, rows, |reader| {
                        chunk.read_values(column, ty, reader).map_err(build_error)
                    })?;
                }
                _ => {
                    self.with_reader(file, target, bytes, rows, |reader| {
                        chunk.read_values(column, ty, reader).map_err(build_error)
                    })?;
                }
            }
        }
        chunk.finish(&scratch.ids, &words);
        Ok(())
    }
}

fn finish_migration(migrated: &StreamWriter, ty: ComponentType) -> Result<(), SerializeError> {
    check_stream(migrated, "component", ty.name())
}
