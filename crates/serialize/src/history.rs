//! Snapshots of a world in memory, by frame.

use std::collections::VecDeque;
use std::fmt;

use ancho_entities::__parts::{ArchetypeParts, StateParts};
use ancho_entities::World;

use crate::error::{SerializeError, SerializeErrorKind as Kind};

/// The bytes that a snapshot takes for each chunk besides the memory of the chunk.
const PER_CHUNK: usize = 192;

/// Snapshots of a world by frame, with a limit of memory.
///
/// A snapshot is a [fork](World::fork), which shares memory with the world and with other snapshots. A frame therefore takes memory
/// for the chunks that were written until the next frame, and recording takes time for each chunk, not for each entity. Use a history
/// for rollback, replays and debugging.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, Query, World};
/// use ancho_serialize::History;
///
/// #[derive(Component, Clone, Copy, Debug, PartialEq)]
/// struct Height(u32);
///
/// let mut world = World::new("Game");
/// world.add_system(|mut all: Query<&mut Height>| all.for_each(|height| height.0 += 1));
/// let balloon = world.spawn(Height(0));
/// let mut history = History::new(64 << 20);
/// for frame in 0..10 {
///     history.record(&mut world, frame)?;
///     world.update(1.0 / 60.0);
/// }
/// history.rewind(&mut world, 3)?;
/// assert_eq!(world.get(balloon), Ok(&Height(3)));
/// assert_eq!(history.newest(), Some(3));
/// # Ok::<(), ancho_serialize::SerializeError>(())
/// ```
pub struct History {
    frames: VecDeque<Snapshot>,
    limit: usize,
    /// The memory of all frames.
    memory: usize,
}

struct Snapshot {
    frame: u64,
    world: World,
    /// The addresses of the chunks' memory, in ascending order.
    chunks: Vec<usize>,
    /// The bytes of this frame that the next frame does not share.
    memory: usize,
}

impl History {
    /// Creates a history that drops its oldest frames when all frames take more memory than this. The newest frame always stays.
    ///
    /// The memory of chunks is counted, and not the memory on the heap that values of components own.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { frames: VecDeque::new(), limit, memory: 0 }
    }

    /// Records the state of a world as a frame. Frames with this number and later ones are dropped first.
    ///
    /// # Errors
    ///
    /// Returns an error if the world cannot be forked. In that case no frame is dropped.
    pub fn record(&mut self, world: &mut World, frame: u64) -> Result<(), SerializeError> {
        let fork = world.fork()?;
        self.drop_from(frame);
        let state = StateParts::of(&fork);
        let chunks = state.archetypes().flat_map(ArchetypeParts::chunks);
        let mut chunks: Vec<usize> = chunks.map(|chunk| chunk.memory()).collect();
        chunks.sort_unstable();
        if let Some(last) = self.frames.back_mut() {
            let (size, _) = state.chunk_settings();
            let own = last.chunks.iter().filter(|chunk| chunks.binary_search(chunk).is_err());
            let own = own.count() * size as usize;
            last.memory += own;
            self.memory += own;
        }
        let memory = chunks.len() * PER_CHUNK;
        self.memory += memory;
        self.frames.push_back(Snapshot { frame, world: fork, chunks, memory });
        while self.memory > self.limit && self.frames.len() > 1 {
            self.drop_oldest();
        }
        Ok(())
    }

    /// Drops the oldest frame. Returns its number.
    pub fn drop_oldest(&mut self) -> Option<u64> {
        let oldest = self.frames.pop_front()?;
        self.memory -= oldest.memory;
        Some(oldest.frame)
    }

    /// Drops a frame and all later ones.
    fn drop_from(&mut self, frame: u64) {
        while self.frames.back().is_some_and(|last| last.frame >= frame) {
            let last = self.frames.pop_back();
            self.memory -= last.map_or(0, |last| last.memory);
        }
        // The memory that the newest frame does not share is counted when the next one is recorded.
        if let Some(last) = self.frames.back_mut() {
            let memory = last.chunks.len() * PER_CHUNK;
            self.memory -= last.memory - memory;
            last.memory = memory;
        }
    }

    /// Restores the state of a frame: entities, state resources and time, and drops all later frames. The frame itself stays, so that it can be restored
    /// again.
    ///
    /// # Errors
    ///
    /// Returns an error if the history does not have the frame, or the world cannot be restored. In that case nothing changes.
    pub fn rewind(&mut self, world: &mut World, frame: u64) -> Result<(), SerializeError> {
        let Some(at) = self.position(frame) else {
            let range = match (self.oldest(), self.newest()) {
                (Some(oldest), Some(newest)) => format!("it has frames from {oldest} to {newest}"),
                _ => "it has no frames".to_owned(),
            };
            let message = format!("the history does not have frame {frame}; {range}");
            return Err(SerializeError::new(Kind::NoSuchFrame, message));
        };
        let snapshot = &mut self.frames[at];
        world.restore(&mut snapshot.world)?;
        self.drop_from(frame + 1);
        Ok(())
    }

    fn position(&self, frame: u64) -> Option<usize> {
        self.frames.binary_search_by_key(&frame, |snapshot| snapshot.frame).ok()
    }

    /// Returns the state of a frame, to read or compare it.
    #[must_use]
    pub fn world(&self, frame: u64) -> Option<&World> {
        self.position(frame).map(|at| &self.frames[at].world)
    }

    /// Returns the numbers of all frames, in ascending order.
    pub fn frames(&self) -> impl Iterator<Item = u64> {
        self.frames.iter().map(|snapshot| snapshot.frame)
    }

    /// Returns the number of the oldest frame.
    #[must_use]
    pub fn oldest(&self) -> Option<u64> {
        self.frames.front().map(|snapshot| snapshot.frame)
    }

    /// Returns the number of the newest frame.
    #[must_use]
    pub fn newest(&self) -> Option<u64> {
        self.frames.back().map(|snapshot| snapshot.frame)
    }

    /// Returns the number of frames.
    #[must_use]
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// Returns whether there are no frames.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Returns the memory that the frames take besides the world, in bytes. See [`new`](Self::new).
    #[must_use]
    pub fn memory(&self) -> usize {
        self.memory
    }

    /// Drops all frames.
    pub fn clear(&mut self) {
        self.frames.clear();
        self.memory = 0;
    }
}

impl fmt::Debug for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("History")
            .field("oldest", &self.oldest())
            .field("newest", &self.newest())
            .field("memory", &self.memory)
            .finish_non_exhaustive()
    }
}
