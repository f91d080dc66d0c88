//! What a part is made of, and the machinery every part shares.
//!
//! A part is a table: [`Case`]s down, subjects across. A case names how it is sampled and gives
//! one function per subject; the function builds its fixture and hands the operation to
//! [`Cell::run`], to [`Cell::run_afresh`] if each operation needs a state of its own, or to
//! [`Cell::run_resident`] if the figure is memory.
//! Nothing here knows of any particular library.

mod cell;
pub(crate) mod json;
pub(crate) mod round;
mod stats;
pub(crate) mod table;

pub(crate) use cell::{CHECKED_OPERATIONS, Cell, Effort, Reading, Sampling, Unit};
pub(crate) use stats::Summary;

/// One table of the benchmark.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) name: &'static str,
    /// What the part measures, in a few words.
    pub(crate) about: &'static str,
    /// The columns, ours first.
    pub(crate) subjects: &'static [Subject],
    /// The rows.
    pub(crate) cases: &'static [Case],
}

impl Part {
    /// Finds a case by name.
    pub(crate) fn case(&self, name: &str) -> Option<&Case> {
        self.cases.iter().find(|case| case.name == name)
    }

    /// Finds out what a subject is to the comparison.
    pub(crate) fn role(&self, subject: &str) -> Option<Role> {
        Some(self.subjects.iter().find(|known| known.name == subject)?.role)
    }
}

/// A column.
#[derive(Debug)]
pub(crate) struct Subject {
    pub(crate) name: &'static str,
    pub(crate) role: Role,
}

/// What a subject is to the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// ancho.
    Ours,
    /// A library that does the same job.
    Peer,
    /// Hand-written code that no library can be asked to beat.
    Limit,
}

/// A row.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) sampling: Sampling,
    /// Who runs the case, and how. A subject without an entry has no such thing to offer.
    pub(crate) cells: &'static [(&'static str, Run)],
    /// What cannot be beaten: the least of these.
    pub(crate) limits: &'static [Limit],
    /// What must hold between subjects.
    pub(crate) requires: &'static [Require],
}

/// Builds a subject's fixture for a case and measures it.
pub(crate) type Run = fn(Cell) -> Reading;

impl Case {
    /// Makes the cell that a subject's function is handed.
    pub(crate) fn cell(&self, effort: Effort) -> Cell {
        Cell::new(self.sampling, effort)
    }

    /// Finds a subject's function.
    pub(crate) fn subject(&self, name: &str) -> Option<Run> {
        Some(self.cells.iter().find(|(subject, _)| *subject == name)?.1)
    }
}

/// A bound on a case: what `subject` takes, shared perfectly among `threads`.
#[derive(Debug)]
pub(crate) struct Limit {
    pub(crate) subject: &'static str,
    pub(crate) threads: f64,
}

/// A requirement on a case: the minimum of `over` divided by the figure `under`.
#[derive(Debug)]
pub(crate) struct Require {
    pub(crate) over: &'static str,
    pub(crate) under: Under,
    pub(crate) bound: Bound,
}

/// What a subject's minimum is divided by.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Under {
    /// The minimum of a subject.
    Subject(&'static str),
    /// The least minimum of these subjects.
    Best(&'static [&'static str]),
    /// The minimum of the same subject in another case, measured in turns with it.
    Case(&'static str),
    /// A figure, in the unit of the case, and what to call it.
    Given(f64, &'static str),
    /// The minimum of a subject and a figure, in the unit of the case, and what to call the sum.
    Plus(&'static str, f64, &'static str),
}

/// The side on which a required ratio must lie.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

impl Bound {
    /// Tells whether `ratio` lies on the right side.
    pub(crate) fn holds(self, ratio: f64) -> bool {
        match self {
            Bound::AtMost(most) => ratio <= most,
            Bound::AtLeast(least) => ratio >= least,
        }
    }
}

/// Two cases of one subject that were measured in turns, close together.
///
/// A machine that others use too is not as quick in one minute as in the next: what was measured at other times is in no
/// proportion to it.
#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) case: &'static Case,
    /// The case that it is divided by.
    pub(crate) under: &'static Case,
    pub(crate) subject: &'static str,
    /// The least of each.
    pub(crate) mins: [f64; 2],
}

/// The figures of one cell over all rounds.
#[derive(Debug)]
pub(crate) struct Figure {
    pub(crate) case: &'static str,
    pub(crate) subject: &'static str,
    /// Minimum over all rounds, and median of the processes' medians,
    pub(crate) figures: Summary,
    /// in this unit.
    pub(crate) unit: Unit,
}
