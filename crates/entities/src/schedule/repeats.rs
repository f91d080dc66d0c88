//! Counts of repeated errors, so that an error of each frame is not printed in each frame.

use std::hash::BuildHasher;

use ancho_collections::FixedState;

use super::error::{SystemFault, UpdateError};

/// The number of different messages of a system after which its errors are compared by code only.
const DISTINCT_TEXTS: usize = 100;

/// The recent errors of one system, or those of a world that belong to no system.
///
/// A system has a log from its first error to the second run after its last one. Systems without a log are not counted.
#[derive(Debug, Default)]
pub(crate) struct ErrorLog {
    /// The number of runs since the first error.
    runs: u64,
    /// The number of runs at the beginning of the current frame. Jobs of later runs fail at the end of the frame.
    runs_before_frame: u64,
    /// The number of the current frame.
    frame: u64,
    /// The errors by text. Empty after [`DISTINCT_TEXTS`].
    texts: Vec<Row>,
    /// The number of texts that were ever in the list.
    distinct: usize,
    /// The errors by code.
    codes: Vec<Row>,
}

/// The same error in consecutive runs.
#[derive(Debug)]
struct Row {
    /// The hash of the text or code.
    hash: u64,
    count: u64,
    /// The run with the last of these errors.
    run: u64,
}

impl ErrorLog {
    /// Counts a run of the system. Returns false if no error is recent any more, so that the log is not needed.
    pub(crate) fn begin_run(&mut self, frame: u64) -> bool {
        if self.frame != frame {
            (self.frame, self.runs_before_frame) = (frame, self.runs);
        }
        self.runs += 1;
        let oldest = self.runs_before_frame.min(self.runs - 1);
        self.texts.retain(|row| row.run >= oldest);
        self.codes.retain(|row| row.run >= oldest);
        !self.codes.is_empty()
    }

    /// Counts an error, and writes the count to the error.
    pub(crate) fn count(&mut self, error: &mut UpdateError) {
        let is_of_job = matches!(error.fault, SystemFault::Job(_) | SystemFault::JobOfWorld(_));
        // A job fails after its run. If the system runs several times in a frame, all their jobs are reported together.
        let oldest = if is_of_job { self.runs_before_frame } else { self.runs.saturating_sub(1) };
        let (text, code) = hashes(error);
        error.repeats = bump(&mut self.codes, code, oldest, self.runs).0;
        if self.distinct < DISTINCT_TEXTS {
            let (count, is_new) = bump(&mut self.texts, text, oldest, self.runs);
            error.repeats = count;
            self.distinct += usize::from(is_new);
        }
    }
}

/// Counts an error in a list. Returns the count, and whether the error is new in the list.
fn bump(rows: &mut Vec<Row>, hash: u64, oldest: u64, run: u64) -> (u64, bool) {
    match rows.iter_mut().find(|row| row.hash == hash) {
        Some(row) => {
            row.count = if row.run >= oldest { row.count + 1 } else { 1 };
            row.run = run;
            (row.count, false)
        }
        None => {
            rows.push(Row { hash, count: 1, run });
            (1, true)
        }
    }
}

/// Returns the hashes of an error's text and of its system and code.
fn hashes(error: &UpdateError) -> (u64, u64) {
    let text = error.to_string();
    let code = text.split_once(": ").map_or("", |(code, _)| code);
    let state = FixedState::default();
    (state.hash_one(&text), state.hash_one((error.system(), code)))
}
