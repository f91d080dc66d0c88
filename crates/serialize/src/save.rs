//! Saving worlds.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::{fmt, process};

use ancho_entities::__parts::{
    ArchetypeParts, ChunkParts, ClockParts, ColumnForm, ColumnLayout, StateParts,
};
use ancho_entities::{ComponentType, World};

use crate::bytes::{put_text, put_varint};
use crate::error::{SerializeError, SerializeErrorKind as Kind};
use crate::schema::Schema;
use crate::section::{Compression, ImagePart, Payload, SectionWriter, Tag, section_name};
use crate::stream::StreamWriter;
use crate::types::FileType;

/// The first bytes of a world file.
pub(crate) const MAGIC: [u8; 8] = *b"ANCHOWLD";

/// The progress of saving or loading, in chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The number of chunks that are done.
    pub done: u64,
    /// The number of all chunks.
    pub total: u64,
}

/// A function that is called after each chunk, and may stop the operation.
pub(crate) type OnProgress = Box<dyn FnMut(Progress) -> ControlFlow<()> + Send>;

/// The options of saving a world.
///
/// # Examples
///
/// ```
/// use ancho_entities::World;
/// use ancho_serialize::{SaveOptions, load_metadata, save};
///
/// let mut bytes = Vec::new();
/// save(&World::new("Level 3"), &mut bytes, SaveOptions::new().metadata("seed", "7"))?;
/// assert_eq!(load_metadata(&bytes[..])?["seed"], "7");
/// # Ok::<(), ancho_serialize::SerializeError>(())
/// ```
#[derive(Default)]
#[must_use = "options do nothing until a world is saved with them"]
pub struct SaveOptions {
    compression: Compression,
    metadata: BTreeMap<String, String>,
    progress: Option<OnProgress>,
    is_synced: bool,
}

impl SaveOptions {
    /// Creates the default options: no compression.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the compression.
    pub fn compression(mut self, compression: Compression) -> Self {
        self.compression = compression;
        self
    }

    /// Adds a text that the file carries, such as a seed or the name of a level.
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }

    /// Sets a function that is called after each chunk. If it returns [`ControlFlow::Break`], saving stops with an error.
    pub fn progress(
        mut self,
        each: impl FnMut(Progress) -> ControlFlow<()> + Send + 'static,
    ) -> Self {
        self.progress = Some(Box::new(each));
        self
    }

    /// Waits until the file is on the disk before it replaces the old one, so that a power failure loses neither. Slow.
    pub fn sync(mut self) -> Self {
        self.is_synced = true;
        self
    }
}

impl fmt::Debug for SaveOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SaveOptions")
            .field("compression", &self.compression)
            .field("metadata", &self.metadata)
            .finish_non_exhaustive()
    }
}

/// Writes the state of a world: entities with all components, names and future ids, state resources and the time. Returns the
/// number of bytes. Messages are not written.
///
/// The world that [`load`](crate::load) returns has the same [`state_hash`](ancho_entities::EntityManager::state_hash), and creates
/// the same ids. Jobs are completed first. Saving needs memory for one chunk, and for the values in it that are not plain.
///
/// # Errors
///
/// Returns an error if the writer fails, a component type has fields without reflection (A0268), or the caller cancels. The writer
/// then has a part of the data.
///
/// # Determinism
///
/// The same world writes the same bytes, for any number of workers.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, World};
/// use ancho_serialize::{LoadOptions, SaveOptions, load, save};
///
/// #[derive(Component, Clone, Copy, Debug, PartialEq)]
/// struct Health(u32);
///
/// let mut world = World::new("Game");
/// let orc = world.spawn(Health(20));
/// let mut bytes = Vec::new();
/// save(&world, &mut bytes, SaveOptions::new())?;
/// let loaded = load(&bytes[..], LoadOptions::new())?;
/// assert_eq!(loaded.get(orc), Ok(&Health(20)));
/// # Ok::<(), ancho_serialize::SerializeError>(())
/// ```
#[doc(alias = "SerializeWorld")]
pub fn save(world: &World, out: impl Write, options: SaveOptions) -> Result<u64, SerializeError> {
    Ok(write_file(world, world.name(), out, options, false)?.0)
}

/// A world file without compression, and its parts.
pub(crate) struct Image {
    pub(crate) bytes: Vec<u8>,
    pub(crate) parts: Vec<ImagePart>,
}

/// Writes a world without its name, so that the bytes depend only on its state.
pub(crate) fn image(world: &World) -> Result<Image, SerializeError> {
    let mut bytes = Vec::new();
    let (_, parts) = write_file(world, "", &mut bytes, SaveOptions::new(), true)?;
    Ok(Image { bytes, parts })
}

fn write_file(
    world: &World,
    name: &str,
    out: impl Write,
    mut options: SaveOptions,
    has_parts: bool,
) -> Result<(u64, Vec<ImagePart>), SerializeError> {
    if cfg!(target_endian = "big") {
        let message = "worlds cannot be saved on big-endian machines";
        return Err(SerializeError::new(Kind::Unsavable, message));
    }
    let state = StateParts::of(world);
    let table = TypeTable::new(state)?;
    let chunks: u64 = state.archetypes().map(|archetype| archetype.chunks().len() as u64).sum();
    let counts = [state.entity_count() as u64, chunks, state.archetypes().len() as u64];
    let mut writer = SectionWriter::new(out, MAGIC, options.compression, counts)?;
    writer.parts = has_parts.then(Vec::new);
    let mut payload = Payload::default();

    payload.fill(|out| write_world(name, state, &options.metadata, out));
    writer.write(Tag::WORLD, [0; 4], &payload)?;
    payload.clear();
    payload.fill(|out| table.write(out));
    writer.write(Tag::TYPES, [0; 4], &payload)?;
    payload.clear();
    payload.fill(|out| write_archetypes(state, &table, out));
    writer.write(Tag::ARCHETYPES, [0; 4], &payload)?;
    for (index, (layout, _)) in (0_u32..).zip(&table.types) {
        if layout.form() == ColumnForm::Shared {
            payload.clear();
            let mut written = Ok(());
            payload.fill(|out| written = write_shared(state, layout.component(), out));
            let numbers = [index, 0, 0, 0];
            written.map_err(|error| error.in_section(&section_name(Tag::SHARED, numbers)))?;
            writer.write(Tag::SHARED, numbers, &payload)?;
        }
    }
    payload.clear();
    payload.fill(|out| write_ids(state, out));
    writer.write(Tag::IDS, [0; 4], &payload)?;
    let names = state.names();
    if !names.is_empty() {
        payload.clear();
        payload.fill(|out| {
            put_varint(out, names.len() as u64);
            for (entity, name) in names {
                out.extend(entity.to_bits().to_le_bytes());
                put_text(out, name);
            }
        });
        writer.write(Tag::NAMES, [0; 4], &payload)?;
    }
    let mut progress = Progress { done: 0, total: chunks };
    let (chunk_size, _) = state.chunk_settings();
    let mut stream = StreamWriter::default();
    for (number, archetype) in (0_u32..).zip(state.archetypes()) {
        let layouts: Vec<&ColumnLayout> =
            archetype.types().iter().map(|&ty| table.layout(ty)).collect();
        let mut seen = SeenGroups::default();
        for (place, chunk) in (0_u32..).zip(archetype.chunks()) {
            payload.clear();
            let rows = chunk.entities().len() as u32;
            let numbers = [number, place, rows, chunk.room_place()];
            let is_first = seen.insert(chunk);
            let least = if is_first { 0 } else { chunk_size as usize / 4 };
            write_chunk(chunk, &layouts, least, &mut stream, &mut payload)
                .map_err(|error| error.in_section(&section_name(Tag::CHUNK, numbers)))?;
            writer.write(Tag::CHUNK, numbers, &payload)?;
            progress.done += 1;
            if let Some(each) = &mut options.progress
                && each(progress).is_break()
            {
                return Err(SerializeError::cancelled());
            }
        }
    }
    payload.clear();
    payload.fill(|out| write_clock(state, out));
    writer.write(Tag::CLOCK, [0; 4], &payload)?;
    let (mut number, mut written) = (0, Ok(()));
    state.for_each_resource(|name, shape, write| {
        if written.is_err() {
            return;
        }
        stream.out.clear();
        write(&mut stream);
        payload.clear();
        payload.fill(|out| {
            put_text(out, name);
            Schema::of(shape).write(out);
            put_varint(out, stream.out.len() as u64);
            out.extend_from_slice(&stream.out);
        });
        let numbers = [number, 0, 0, 0];
        number += 1;
        written = check_stream(&stream, "resource", name)
            .and_then(|()| writer.write(Tag::RESOURCE, numbers, &payload))
            .map_err(|error| error.in_section(&section_name(Tag::RESOURCE, numbers)));
    });
    written?;
    let parts = writer.parts.take().unwrap_or_default();
    Ok((writer.finish()?, parts))
}

/// The groups of shared values of an archetype of which a chunk was written.
#[derive(Default)]
struct SeenGroups(std::collections::BTreeSet<Vec<u32>>);

impl SeenGroups {
    /// Adds the group of a chunk. Returns whether it is new.
    fn insert(&mut self, chunk: ChunkParts<'_>) -> bool {
        self.0.insert(chunk.shared().collect())
    }
}

/// The component types of a world, in the order in which its archetypes list them first.
pub(crate) struct TypeTable {
    pub(crate) types: Vec<(ColumnLayout, FileType)>,
    indices: std::collections::HashMap<ComponentType, usize>,
}

impl TypeTable {
    pub(crate) fn new(state: StateParts<'_>) -> Result<Self, SerializeError> {
        let mut table = Self { types: Vec::new(), indices: std::collections::HashMap::new() };
        let mut names = BTreeMap::new();
        for ty in state.archetypes().flat_map(ArchetypeParts::types) {
            if table.indices.contains_key(ty) {
                continue;
            }
            let layout = ColumnLayout::of(*ty);
            let file = FileType::of(&layout);
            if let Some(other) = names.insert(file.name.clone(), *ty) {
                let message = format!(
                    "the types `{other}` and `{ty}` share the stable name `{}`; give one of them another name, with \
                     `#[component(name = \"…\")]`",
                    file.name
                );
                return Err(SerializeError::new(Kind::Unsavable, message));
            }
            table.indices.insert(*ty, table.types.len());
            table.types.push((layout, file));
        }
        Ok(table)
    }

    fn layout(&self, ty: ComponentType) -> &ColumnLayout {
        &self.types[self.indices[&ty]].0
    }

    fn write(&self, out: &mut Vec<u8>) {
        put_varint(out, self.types.len() as u64);
        self.types.iter().for_each(|(_, file)| file.write(out));
    }
}

fn write_world(
    name: &str,
    state: StateParts<'_>,
    metadata: &BTreeMap<String, String>,
    out: &mut Vec<u8>,
) {
    let (chunk_size, limit) = state.chunk_settings();
    out.extend(chunk_size.to_le_bytes());
    out.extend(limit.map_or(0, |limit| limit.get()).to_le_bytes());
    put_text(out, name);
    put_varint(out, metadata.len() as u64);
    for (key, value) in metadata {
        put_text(out, key);
        put_text(out, value);
    }
}

fn write_clock(state: StateParts<'_>, out: &mut Vec<u8>) {
    let ClockParts { numbers, frame, flags, rates } = state.clock();
    numbers.iter().for_each(|number| out.extend(number.to_le_bytes()));
    out.extend(frame.to_le_bytes());
    flags.iter().for_each(|&flag| out.push(flag.into()));
    put_varint(out, rates.len() as u64);
    for (group, numbers) in rates {
        put_text(out, &group);
        numbers.iter().for_each(|number| out.extend(number.to_le_bytes()));
    }
}

fn write_archetypes(state: StateParts<'_>, table: &TypeTable, out: &mut Vec<u8>) {
    put_varint(out, state.archetypes().len() as u64);
    for archetype in state.archetypes() {
        put_varint(out, archetype.types().len() as u64);
        for ty in archetype.types() {
            put_varint(out, table.indices[ty] as u64);
        }
        put_varint(out, archetype.capacity().into());
        put_varint(out, archetype.chunks().len() as u64);
    }
}

fn write_shared(
    state: StateParts<'_>,
    ty: ComponentType,
    out: &mut Vec<u8>,
) -> Result<(), SerializeError> {
    let mut slots = Vec::new();
    let (mut count, mut written) = (0_u64, Ok(()));
    let free = state.for_each_shared(ty, |write| {
        count += 1;
        let Some(write) = write else {
            slots.push(0);
            return;
        };
        slots.push(1);
        let mut stream = StreamWriter::default();
        write(&mut stream);
        if written.is_ok() {
            written = check_stream(&stream, "component", ty.name());
        }
        put_varint(&mut slots, stream.out.len() as u64);
        slots.extend_from_slice(&stream.out);
    });
    put_varint(out, count);
    out.extend_from_slice(&slots);
    put_varint(out, free.len() as u64);
    free.iter().for_each(|&index| put_varint(out, index.into()));
    written
}

fn write_ids(state: StateParts<'_>, out: &mut Vec<u8>) {
    let ids = state.future_ids();
    out.extend(ids.used.to_le_bytes());
    for list in [&ids.free, &ids.reserved] {
        put_varint(out, list.len() as u64);
        list.iter().for_each(|id| out.extend(id.to_bits().to_le_bytes()));
    }
    put_varint(out, ids.fresh.len() as u64);
    ids.fresh.iter().for_each(|version| out.extend(version.to_le_bytes()));
}

/// Returns an error if a value was written that has no reflection, or is nested too deeply.
pub(crate) fn check_stream(
    stream: &StreamWriter,
    what: &str,
    name: &str,
) -> Result<(), SerializeError> {
    let refused = |message: String| Err(SerializeError::new(Kind::Unsavable, message));
    if let Some(field) = stream.opaque {
        return refused(format!(
            "the {what} `{name}` cannot be saved, because `{field}` has no reflection; derive `Field` for its type, or mark it \
             `#[field(skip)]`"
        ));
    }
    if stream.is_too_deep {
        return refused(format!("a value of the {what} `{name}` is nested too deeply"));
    }
    Ok(())
}

fn write_chunk<'w>(
    chunk: ChunkParts<'w>,
    layouts: &[&ColumnLayout],
    least: usize,
    stream: &mut StreamWriter,
    payload: &mut Payload<'w>,
) -> Result<(), SerializeError> {
    payload.fill(|out| chunk.shared().for_each(|index| out.extend(index.to_le_bytes())));
    payload.align();
    payload.borrow(chunk.entity_bytes());
    payload.align();
    payload.fill(|out| {
        for word in chunk.enabled().flatten() {
            out.extend(word.to_le_bytes());
        }
    });
    payload.align();
    for (column, layout) in layouts.iter().enumerate() {
        match layout.form() {
            ColumnForm::Nothing | ColumnForm::Shared => continue,
            ColumnForm::Bytes => match chunk.plain_column(column, layout) {
                Some(bytes) => payload.borrow(bytes),
                None => payload.fill(|out| chunk.copy_column(column, layout, out)),
            },
            ColumnForm::Values | ColumnForm::PerChunk => {
                stream.out.clear();
                let mut memory = 0;
                if layout.form() == ColumnForm::Values {
                    chunk.write_column(column, stream);
                    memory = chunk.entities().len() * layout.component().size();
                } else {
                    chunk.write_chunk_value(column, stream);
                }
                check_stream(stream, "component", layout.component().name())?;
                // As lists, columns have at least a quarter of the bytes that they take in memory.
                let len = stream.out.len().max(memory / 4);
                stream.out.resize(len, 0);
                payload.fill(|out| {
                    out.extend((len as u64).to_le_bytes());
                    out.extend_from_slice(&stream.out);
                });
            }
        }
        payload.align();
    }
    // A chunk that is not the first of its kind has at least a quarter of the bytes that it takes in memory.
    let missing = least.saturating_sub(payload.len());
    payload.fill(|out| out.resize(out.len() + missing, 0));
    payload.align();
    Ok(())
}

/// Saves a world to a file. The file replaces an old one when it is complete: if saving fails, the old file is unchanged.
///
/// # Errors
///
/// Returns the errors of [`save`], and those of the file system.
///
/// # Examples
///
/// ```
/// use ancho_entities::World;
/// use ancho_serialize::{LoadOptions, SaveOptions, load_file, save_file};
///
/// let path = std::env::temp_dir().join(format!("{}.ancho", std::process::id()));
/// save_file(&World::new("Game"), &path, SaveOptions::new())?;
/// assert_eq!(load_file(&path, LoadOptions::new())?.name(), "Game");
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), ancho_serialize::SerializeError>(())
/// ```
pub fn save_file(
    world: &World,
    path: impl AsRef<Path>,
    options: SaveOptions,
) -> Result<u64, SerializeError> {
    let is_synced = options.is_synced;
    replace_file(path.as_ref(), is_synced, |out| save(world, out, options))
}

/// Writes a file beside the one at a path, and replaces that one at the end.
pub(crate) fn replace_file(
    path: &Path,
    is_synced: bool,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<u64, SerializeError>,
) -> Result<u64, SerializeError> {
    struct Unfinished(PathBuf);

    impl Drop for Unfinished {
        fn drop(&mut self) {
            // The error that stopped the save is reported, not this one.
            _ = fs::remove_file(&self.0);
        }
    }

    static NEXT: AtomicU64 = AtomicU64::new(0);
    // Relaxed: the numbers only have to be distinct.
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}-{number}.tmp", process::id()));
    let unfinished = Unfinished(path.with_file_name(name));
    let mut out = BufWriter::with_capacity(1 << 18, File::create(&unfinished.0)?);
    let written = write(&mut out)?;
    let file = out.into_inner().map_err(|error| SerializeError::from(error.into_error()))?;
    if is_synced {
        file.sync_all()?;
    }
    drop(file);
    fs::rename(&unfinished.0, path)?;
    std::mem::forget(unfinished);
    Ok(written)
}

/// A save that runs on a thread of its own, from a fork of the world.
///
/// Dropping it waits for the save, and ignores its result.
#[must_use = "call `wait` to learn whether the world was saved"]
pub struct BackgroundSave {
    thread: Option<JoinHandle<Result<u64, SerializeError>>>,
    state: Arc<BackgroundState>,
}

#[derive(Default)]
struct BackgroundState {
    is_cancelled: AtomicBool,
    done: AtomicU64,
    total: AtomicU64,
}

/// Saves a world to a file on another thread. The call takes the time of a [fork](ancho_entities::World::fork), and the world can be
/// changed meanwhile.
///
/// # Errors
///
/// Returns an error if the world cannot be forked, or no thread can be started.
///
/// # Examples
///
/// ```
/// use ancho_entities::World;
/// use ancho_serialize::{SaveOptions, save_in_background};
///
/// let path = std::env::temp_dir().join(format!("{}-background.ancho", std::process::id()));
/// let mut world = World::new("Game");
/// let saving = save_in_background(&mut world, &path, SaveOptions::new())?;
/// world.update(1.0 / 60.0);
/// assert!(saving.wait()? > 0);
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), ancho_serialize::SerializeError>(())
/// ```
pub fn save_in_background(
    world: &mut World,
    path: impl Into<PathBuf>,
    mut options: SaveOptions,
) -> Result<BackgroundSave, SerializeError> {
    let (fork, path) = (world.fork()?, path.into());
    let state = Arc::new(BackgroundState::default());
    let seen = Arc::clone(&state);
    let mut outer = options.progress.take();
    let options = options.progress(move |progress| {
        // Relaxed: the numbers are for display, and a cancellation may be seen late.
        seen.done.store(progress.done, Ordering::Relaxed);
        seen.total.store(progress.total, Ordering::Relaxed);
        if seen.is_cancelled.load(Ordering::Relaxed) {
            return ControlFlow::Break(());
        }
        outer.as_mut().map_or(ControlFlow::Continue(()), |each| each(progress))
    });
    let thread = thread::Builder::new().name("ancho save".into());
    let thread = thread.spawn(move || save_file(&fork, path, options))?;
    Ok(BackgroundSave { thread: Some(thread), state })
}

impl BackgroundSave {
    /// Returns whether the save has ended.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Returns the progress.
    #[must_use]
    pub fn progress(&self) -> Progress {
        let BackgroundState { done, total, .. } = &*self.state;
        Progress { done: done.load(Ordering::Relaxed), total: total.load(Ordering::Relaxed) }
    }

    /// Stops the save after the current chunk. The old file, if there is one, is unchanged.
    pub fn cancel(&self) {
        self.state.is_cancelled.store(true, Ordering::Relaxed);
    }

    /// Waits for the save, and returns the number of bytes.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`save_file`].
    ///
    /// # Panics
    ///
    /// Panics if user code has panicked while values were written.
    pub fn wait(mut self) -> Result<u64, SerializeError> {
        let thread = self.thread.take().expect("the thread is joined once");
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl Drop for BackgroundSave {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            _ = thread.join();
        }
    }
}

impl fmt::Debug for BackgroundSave {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BackgroundSave").field("progress", &self.progress()).finish_non_exhaustive()
    }
}
