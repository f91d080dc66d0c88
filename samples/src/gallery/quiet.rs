//! Running a sample where nobody watches.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use super::{Run, SampleResult};

/// How often the line is written anew.
const EVERY: Duration = Duration::from_millis(250);

/// Runs so many frames as fast as they go. If the errors go to a terminal, a line there says how far it is.
pub(crate) fn run(run: &mut Run<'_>, frames: u32) -> SampleResult<()> {
    let mut errors = io::stderr().lock();
    let is_seen = errors.is_terminal();
    let mut written = Instant::now();
    for frame in 1..=frames {
        run.step()?;
        if is_seen && (written.elapsed() >= EVERY || frame == frames) {
            written = Instant::now();
            // To the beginning of the line; what was there is erased.
            write!(errors, "\r\x1b[K{}", progress(run, frames))?;
            errors.flush()?;
        }
    }
    if is_seen {
        write!(errors, "\r\x1b[K")?;
    }
    Ok(())
}

fn progress(run: &Run<'_>, frames: u32) -> String {
    let ms = run.recent_frame().as_secs_f64() * 1e3;
    format!("frame {} of {frames}, {ms:.2} ms, {} entities", run.frame_count(), run.entity_count())
}
