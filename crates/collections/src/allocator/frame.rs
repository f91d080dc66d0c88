//! The memory of a world, with a count of frames.

use std::fmt;
use std::sync::Arc;

use super::arena::{Arena, FIRST_BLOCK};
use super::registry::{LiveContainer, Registry};
use super::{Allocator, Memory, Source, Temp};
use crate::error::debug_as_display;

/// Maximum number of frames that a container from [`FrameMemory::temp_job`] may live, after the one it was created in.
///
/// # Examples
///
/// ```
/// assert_eq!(ancho_collections::MAX_TEMP_JOB_FRAMES, 4);
/// ```
pub const MAX_TEMP_JOB_FRAMES: u64 = 4;

const TEMP_JOB: &str = "TempJob";
const PERSISTENT: &str = "Persistent";

/// The memory of a world: three allocators, and a frame count that detects containers that live too
/// long.
///
/// | | lives | can enter jobs |
/// |---|---|---|
/// | [`temp`](Self::temp) | until the next frame begins | no |
/// | [`temp_job`](Self::temp_job) | until it is dropped, for four frames at most | yes |
/// | [`persistent`](Self::persistent) | until it is dropped | yes |
///
/// A container that lives too long, or was never dropped, is *reported*, with its name and the place where it was created. Its
/// memory stays valid.
///
/// # Examples
///
/// ```
/// use allocator_api2::vec::Vec;
/// use ancho_collections::FrameMemory;
///
/// let mut memory = FrameMemory::new("Game");
/// for frame in 0..60 {
///     assert_eq!(memory.frame(), frame);
///     let scratch = memory.temp().slice(100, 0_u32);
///     let mut hits = Vec::new_in(memory.temp_job());
///     hits.extend_from_slice(scratch);
///     drop(hits);
///     let report = memory.advance();
///     assert!(report.leaks.is_empty(), "{report}");
/// }
/// ```
pub struct FrameMemory {
    name: &'static str,
    temp: Temp,
    temp_job: Allocator,
    persistent: Allocator,
    arena: Arc<Arena>,
    registry: Arc<Registry>,
}

impl FrameMemory {
    /// Creates the memory of a world; reports use `name`.
    ///
    /// # Examples
    ///
    /// ```
    /// let memory = ancho_collections::FrameMemory::new("Game");
    /// assert_eq!((memory.name(), memory.frame()), ("Game", 0));
    /// ```
    pub fn new(name: &'static str) -> Self {
        let (arena, registry) = (Arc::new(Arena::new(FIRST_BLOCK)), Arc::<Registry>::default());
        let allocator = |name, memory| {
            let registry = Some(Arc::clone(&registry));
            Allocator::new(Source { name, memory, registry, epoch: None })
        };
        Self {
            name,
            temp: Temp::new(),
            temp_job: allocator(TEMP_JOB, Memory::Arena(Arc::clone(&arena))),
            persistent: allocator(PERSISTENT, Memory::System),
            arena,
            registry,
        }
    }

    /// Returns the name used in reports.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_collections::FrameMemory::new("Game").name(), "Game");
    /// ```
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the scratch memory of the frame.
    ///
    /// # Examples
    ///
    /// ```
    /// let memory = ancho_collections::FrameMemory::new("Game");
    /// assert_eq!(memory.temp().slice(3, 5), [5, 5, 5]);
    /// ```
    pub fn temp(&self) -> &Temp {
        &self.temp
    }

    /// Returns the allocator for containers that jobs share for a few frames.
    ///
    /// Memory is allocated as by a [`RewindableAllocator`](crate::RewindableAllocator), and reused
    /// when all containers in its block are dropped. A container that is older than
    /// [`MAX_TEMP_JOB_FRAMES`] keeps its block from being reused, and is reported.
    ///
    /// # Examples
    ///
    /// ```
    /// let memory = ancho_collections::FrameMemory::new("Game");
    /// assert_eq!(memory.temp_job().name(), "TempJob");
    /// ```
    pub fn temp_job(&self) -> Allocator {
        self.temp_job.clone()
    }

    /// Returns the allocator for containers that live as long as the world.
    ///
    /// It is the system's memory, as [`Allocator::PERSISTENT`] is. Containers that were not dropped
    /// are in the list of [`leaks`](Self::leaks).
    ///
    /// # Examples
    ///
    /// ```
    /// let memory = ancho_collections::FrameMemory::new("Game");
    /// assert_eq!(memory.persistent().name(), "Persistent");
    /// ```
    pub fn persistent(&self) -> Allocator {
        self.persistent.clone()
    }

    /// Begins the next frame: frees the scratch memory, and reports the containers from
    /// [`temp_job`](Self::temp_job) that have just become older than [`MAX_TEMP_JOB_FRAMES`]. Each
    /// is reported once.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut memory = ancho_collections::FrameMemory::new("Game");
    /// memory.temp().slice(100, 0_u8);
    /// let report = memory.advance();
    /// assert_eq!((report.frame, memory.temp().bytes_used()), (1, 0));
    /// ```
    pub fn advance(&mut self) -> FrameReport {
        self.temp.reset();
        let (frame, leaks) = self.registry.advance(TEMP_JOB, MAX_TEMP_JOB_FRAMES);
        // Not in each frame: memory of a frame may be needed again only when its last container is
        // dropped.
        if frame.is_multiple_of(MAX_TEMP_JOB_FRAMES + 1) {
            self.arena.sweep();
        }
        FrameReport { world: self.name, frame, leaks }
    }

    /// Returns the number of ended frames.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut memory = ancho_collections::FrameMemory::new("Game");
    /// let _ = memory.advance();
    /// assert_eq!(memory.frame(), 1);
    /// ```
    pub fn frame(&self) -> u64 {
        self.registry.frame()
    }

    /// Returns the live containers, in the order in which they were created.
    ///
    /// These are the ones from [`temp_job`](Self::temp_job) and [`persistent`](Self::persistent),
    /// including forgotten ones.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_collections::FrameMemory::new("Game").live(), []);
    /// ```
    pub fn live(&self) -> Vec<LiveContainer> {
        self.registry.live()
    }

    /// Reports the live containers as leaks: for the end of a program.
    ///
    /// # Examples
    ///
    /// ```
    /// let memory = ancho_collections::FrameMemory::new("Game");
    /// let report = memory.leaks();
    /// assert!(report.leaks.is_empty(), "{report}");
    /// ```
    pub fn leaks(&self) -> LeakReport {
        LeakReport { world: self.name, frame: self.frame(), leaks: self.live() }
    }
}

impl fmt::Debug for FrameMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let statistics = self.arena.statistics();
        f.debug_struct("FrameMemory")
            .field("name", &self.name)
            .field("frame", &self.frame())
            .field("live_containers", &self.live().len())
            .field("temp", &self.temp)
            .field("temp_job_bytes_used", &statistics.bytes_used)
            .field("temp_job_bytes_reserved", &statistics.bytes_reserved)
            .finish()
    }
}

/// Containers that [`FrameMemory::advance`](crate::FrameMemory::advance) found to have just become
/// too old. Code A0020.
///
/// `Display` prints a sentence for each container, or nothing.
///
/// # Examples
///
/// ```
/// let mut memory = ancho_collections::FrameMemory::new("Game");
/// let report = memory.advance();
/// if !report.leaks.is_empty() {
///     eprintln!("{report}");
/// }
/// ```
#[derive(Clone, PartialEq, Eq)]
#[must_use = "it says which containers live too long"]
pub struct FrameReport {
    /// The name of the [`FrameMemory`](crate::FrameMemory).
    pub world: &'static str,
    /// The frame that has just begun.
    pub frame: u64,
    /// The containers, in the order in which they were created.
    pub leaks: Vec<LiveContainer>,
}

/// Containers that are alive when [`FrameMemory::leaks`](crate::FrameMemory::leaks) is called. Code
/// A0022.
///
/// `Display` prints a sentence for each container, or nothing.
///
/// # Examples
///
/// ```
/// let memory = ancho_collections::FrameMemory::new("Game");
/// let report = memory.leaks();
/// assert_eq!((report.world, report.to_string().as_str()), ("Game", ""));
/// ```
#[derive(Clone, PartialEq, Eq)]
#[must_use = "it says which containers were never dropped"]
pub struct LeakReport {
    /// The name of the [`FrameMemory`](crate::FrameMemory).
    pub world: &'static str,
    /// Current frame.
    pub frame: u64,
    /// The containers, in the order in which they were created.
    pub leaks: Vec<LiveContainer>,
}

impl fmt::Display for FrameReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { world, frame, leaks } = self;
        lines(f, leaks, |f, LiveContainer { label, allocator, frame: made }| {
            write!(
                f,
                "A0020: {label} from allocator `{allocator}` of `{world}` is {} frames old, and may live \
                 for {MAX_TEMP_JOB_FRAMES}; drop it earlier, or make it in persistent memory",
                frame - made
            )
        })
    }
}

impl fmt::Display for LeakReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { world, frame, leaks } = self;
        lines(f, leaks, |f, LiveContainer { label, allocator, frame: made }| {
            write!(
                f,
                "A0022: {label} from allocator `{allocator}` of `{world}` was made in frame {made}, and \
                 is alive in frame {frame}; drop it before the end"
            )
        })
    }
}

/// Writes a line for each container, and no line break at the end.
fn lines(
    f: &mut fmt::Formatter<'_>,
    leaks: &[LiveContainer],
    line: impl Fn(&mut fmt::Formatter<'_>, &LiveContainer) -> fmt::Result,
) -> fmt::Result {
    for (index, container) in leaks.iter().enumerate() {
        if index > 0 {
            f.write_str("\n")?;
        }
        line(f, container)?;
    }
    Ok(())
}

debug_as_display!(FrameReport, LeakReport);

#[cfg(test)]
mod tests {
    use allocator_api2::vec::Vec as RawVec;
    use ancho_jobs::ContainerLabel;

    use super::*;

    #[test]
    fn a_report_names_the_container_and_the_remedy() {
        let mut memory = FrameMemory::new("Game");
        let label = ContainerLabel::of::<Vec<u32>>().named("hits");
        let made = label.made();
        let _kept = memory.temp_job().register(label).unwrap();
        let _other = memory.persistent().register(label).unwrap();
        for _ in 0..4 {
            assert_eq!(memory.advance().to_string(), "");
        }
        let report = memory.advance();
        assert_eq!(
            report.to_string(),
            format!(
                "A0020: `hits` (Vec<u32> made at {made}) from allocator `TempJob` of `Game` is 5 frames \
                 old, and may live for 4; drop it earlier, or make it in persistent memory"
            )
        );
        assert_eq!(report.leaks, [LiveContainer { label, allocator: "TempJob", frame: 0 }]);
        assert_eq!(memory.advance().leaks, []);
    }

    #[test]
    fn leaks_at_the_end_are_listed_in_the_order_in_which_they_were_made() {
        let mut memory = FrameMemory::new("Game");
        let [first, second] =
            ["first", "second"].map(|name| ContainerLabel::of::<u32>().named(name));
        let _first = memory.persistent().register(first).unwrap();
        let _ = memory.advance();
        let second_entry = memory.temp_job().register(second).unwrap();
        drop(memory.temp_job().register(second).unwrap());
        let made = first.made();
        assert_eq!(
            memory.leaks().to_string(),
            format!(
                "A0022: `first` (u32 made at {made}) from allocator `Persistent` of `Game` was made in \
                 frame 0, and is alive in frame 1; drop it before the end\n\
                 A0022: `second` (u32 made at {made}) from allocator `TempJob` of `Game` was made in \
                 frame 1, and is alive in frame 1; drop it before the end"
            )
        );
        drop(second_entry);
        assert_eq!(memory.live().len(), 1);
    }

    #[test]
    fn plain_and_custom_allocators_keep_no_list() {
        assert!(Allocator::PERSISTENT.register(ContainerLabel::of::<u32>()).is_none());
        assert!(Allocator::PERSISTENT.stamp().is_none());
        let memory = FrameMemory::new("Game");
        assert!(memory.temp_job().stamp().is_none() && memory.persistent().stamp().is_none());
        let level = crate::RewindableAllocator::new();
        assert!(level.allocator().register(ContainerLabel::of::<u32>()).is_none());
        let stamp = level.allocator().stamp().unwrap();
        assert!(!stamp.is_past());
        level.rewind();
        assert!(stamp.is_past() && !level.allocator().stamp().unwrap().is_past());
    }

    #[test]
    fn entries_can_outlive_the_memory() {
        let memory = FrameMemory::new("Game");
        let entry = memory.temp_job().register(ContainerLabel::of::<u32>()).unwrap();
        drop(memory);
        drop(entry);
    }

    #[test]
    fn unused_blocks_are_freed() {
        let mut memory = FrameMemory::new("Game");
        let lists = [(); 3].map(|()| RawVec::<u8, _>::with_capacity_in(1 << 20, memory.temp_job()));
        assert_eq!(memory.arena.statistics().blocks, 3);
        drop(lists);
        for _ in 0..15 {
            let _small = RawVec::<u8, _>::with_capacity_in(100, memory.temp_job());
            let _ = memory.advance();
        }
        assert_eq!(memory.arena.statistics().blocks, 1);
    }
}
