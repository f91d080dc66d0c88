//! Commands in words.

use std::convert::Infallible;
use std::fmt::Write;

use super::log::CommandLog;

impl CommandLog {
    /// All commands that were not played, a line for each.
    pub(super) fn trace(&self) -> String {
        let mut lines = String::new();
        let mut segments = Vec::new();
        self.segments(&mut segments);
        let Ok(()) = self.for_each::<Infallible>(&segments, |command| {
            writeln!(lines, "{}: {command}", command.number).expect("a string takes everything");
            Ok(())
        });
        lines
    }
}
