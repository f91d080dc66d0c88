//! The parts of the benchmark, and the machinery they share.
//!
//! A part is a table: [`Case`]s down, subjects across. A case has a sampling mode and one function per subject. The function builds
//! its fixture and passes the operation to [`Cell::run`]. It uses [`Cell::run_afresh`] if each operation needs its own state, and
//! [`Cell::run_resident`] if the figure is memory. This module depends on no particular library.

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
    /// A short description of the part.
    pub(crate) about: &'static str,
    /// The columns. That of ancho is the first.
    pub(crate) subjects: &'static [Subject],
    /// The rows.
    pub(crate) cases: &'static [Case],
}

impl Part {
    /// Finds a case by name.
    pub(crate) fn case(&self, name: &str) -> Option<&Case> {
        self.cases.iter().find(|case| case.name == name)
    }

    /// Returns the role of a subject.
    pub(crate) fn role(&self, subject: &str) -> Option<Role> {
        Some(self.subjects.iter().find(|known| known.name == subject)?.role)
    }
}

/// A column of the table: a library, or hand-written code.
#[derive(Debug)]
pub(crate) struct Subject {
    pub(crate) name: &'static str,
    pub(crate) role: Role,
}

impl Subject {
    pub(crate) const fn ours(name: &'static str) -> Self {
        Self { name, role: Role::Ours }
    }

    pub(crate) const fn peer(name: &'static str) -> Self {
        Self { name, role: Role::Peer }
    }

    pub(crate) const fn limit(name: &'static str) -> Self {
        Self { name, role: Role::Limit }
    }
}

/// The role of a subject in the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// ancho.
    Ours,
    /// A library that does the same job.
    Peer,
    /// Hand-written code, as a lower bound for any library.
    Limit,
}

/// A row of the table: an operation that all subjects perform.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) sampling: Sampling,
    /// The subjects that run the case, with their functions. A subject without an entry does not support the case.
    pub(crate) cells: &'static [(&'static str, Run)],
    /// The lower bounds, of which the smallest applies.
    pub(crate) limits: &'static [Limit],
    /// Required ratios between subjects.
    pub(crate) requires: &'static [Require],
}

/// Builds a subject's fixture for a case and measures it.
pub(crate) type Run = fn(Cell) -> Reading;

impl Case {
    /// Creates the cell that is passed to a subject's function.
    pub(crate) fn cell(&self, effort: Effort) -> Cell {
        Cell::new(self.sampling, effort)
    }

    /// Finds a subject's function.
    pub(crate) fn subject(&self, name: &str) -> Option<Run> {
        Some(self.cells.iter().find(|(subject, _)| *subject == name)?.1)
    }
}

/// A bound on a case: the time of `subject`, divided evenly among `threads`.
#[derive(Debug)]
pub(crate) struct Limit {
    pub(crate) subject: &'static str,
    pub(crate) threads: f64,
}

/// The limit of hand-written code on one thread.
pub(crate) const RAW: &[Limit] = &[Limit { subject: "raw", threads: 1.0 }];

/// A requirement on a case: the minimum of `over` divided by the figure `under`.
#[derive(Debug)]
pub(crate) struct Require {
    pub(crate) over: &'static str,
    pub(crate) under: Under,
    pub(crate) bound: Bound,
}

/// Requires that ancho takes at most `most` times the figure `under`.
pub(crate) const fn at_most(most: f64, under: Under) -> Require {
    Require { over: "ancho", under, bound: Bound::AtMost(most) }
}

/// The divisor of a subject's minimum.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Under {
    /// The minimum of a subject.
    Subject(&'static str),
    /// The smallest minimum of these subjects.
    Best(&'static [&'static str]),
    /// The minimum of the same subject in another case, measured in turns with it.
    Case(&'static str),
    /// A figure, in the unit of the case, and its name.
    Given(f64, &'static str),
    /// The minimum of a subject plus a figure, in the unit of the case, and the name of the sum.
    Plus(&'static str, f64, &'static str),
}

/// The side on which a required ratio must be.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

impl Bound {
    /// Returns `true` if `ratio` is on the required side.
    pub(crate) fn holds(self, ratio: f64) -> bool {
        match self {
            Bound::AtMost(most) => ratio <= most,
            Bound::AtLeast(least) => ratio >= least,
        }
    }
}

/// Two cases of one subject that were measured in turns, close together.
///
/// The speed of a shared machine varies from minute to minute, so figures measured at different times cannot be compared.
#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) case: &'static Case,
    /// The case used as the divisor.
    pub(crate) under: &'static Case,
    pub(crate) subject: &'static str,
    /// The minimum of each of the two cases.
    pub(crate) mins: [f64; 2],
}

/// The figures of one cell over all rounds.
#[derive(Debug)]
pub(crate) struct Figure {
    pub(crate) case: &'static str,
    pub(crate) subject: &'static str,
    /// Minimum over all rounds, and median of the processes' medians. `unit` is their unit.
    pub(crate) figures: Summary,
    /// The unit of the figures.
    pub(crate) unit: Unit,
}
