//! Reports of containers that live too long.

use std::fmt;

use crate::error::debug_as_display;

use super::{LiveContainer, MAX_TEMP_JOB_FRAMES};

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
    /// The containers, in the order in which they were made.
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
    /// The containers, in the order in which they were made.
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
