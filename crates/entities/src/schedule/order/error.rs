//! Constraints on the order of systems that cannot hold, and their messages.

use std::error::Error;
use std::fmt;

use super::{Elsewhere, GroupPart};

/// Constraints on the order of systems that cannot hold: of updates (A0097, A0123 to A0128) or of creation (A0131 to A0134).
///
/// The message names the systems. For a cycle, it names all constraints of the cycle.
///
/// # Examples
///
/// ```
/// use ancho_entities::{IntoSystem, SystemFault, World};
///
/// let mut world = World::new("Simulation");
/// world.add_system((|| {}).named("hen").before("egg"));
/// world.add_system((|| {}).named("egg").before("hen"));
/// let errors = world.sort_systems().unwrap_err();
/// let SystemFault::Order { message } = errors.iter().next().unwrap().fault() else { panic!() };
/// assert!(message.contains("`hen` before `egg` (set by `hen`), `egg` before `hen`"));
///
/// let hen = (|| {}).named("hen").create_after("egg");
/// let egg = (|| {}).named("egg").create_after("hen");
/// assert!(world.try_add_systems((hen, egg)).unwrap_err().to_string().starts_with("A0131: "));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OrderError {
    /// A0123: constraints form a cycle. `links` has the constraints of the cycle only.
    Cycle { group: String, links: Vec<CycleLink> },
    /// A constraint that cannot hold because of its target.
    Constraint(NamedConstraint, ConstraintFault),
    /// A0128: the system is both first and last.
    FirstAndLast { system: String, group: String },
    /// A0124: no member of a set is in one group with a system that the set is ordered by.
    SetsApart { set: String, is_before: bool, target: String },
    /// A0131: a cycle of creation constraints.
    CreateCycle { links: Vec<CycleLink> },
    /// A0132: the system is created after one that is neither in the world nor added with it.
    CreateAfterUnknown { system: String, target: String },
    /// A0133: the system is created before one that the world already has.
    CreateBeforeExisting { system: String, target: String },
    /// A0134: the system is created before or after itself.
    CreateOfItself { system: String },
}

/// A constraint, with the names of the systems.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedConstraint {
    pub(super) system: String,
    pub(super) group: String,
    pub(super) is_before: bool,
    pub(super) target: String,
}

/// The reason why a constraint cannot hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ConstraintFault {
    /// A0124: the world does not have the target.
    Unknown,
    /// A0124: the target is a set, and none of its members is in the group.
    NoMember,
    /// A0125: the target is the system itself.
    OfItself,
    /// A0126: the target is in another group. `is_met` is set if the groups already run in the order of the constraint.
    NotASibling { target_group: String, is_met: bool },
    /// A0097: the target is a patch, which runs after each other system.
    OfPatch,
    /// A0127: the constraint contradicts `first` or `last`. `suits_late` is set if moving the system to
    /// [`LateSimulation`](crate::LateSimulation) would meet the constraint.
    Contradiction { place: GroupPart, target_place: GroupPart, suits_late: bool },
}

/// One constraint of a cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CycleLink {
    pub(super) before: String,
    pub(super) after: String,
    /// The name of the system that declared the constraint: one of the two.
    pub(super) said_by: String,
}

impl OrderError {
    /// Returns the error for a target that is not among the children of the group.
    pub(super) fn not_here(
        constraint: NamedConstraint,
        found: Option<Elsewhere>,
        is_set: bool,
    ) -> Self {
        let fault = match found {
            _ if is_set => ConstraintFault::NoMember,
            Some(Elsewhere::InGroup { name, runs_before }) => ConstraintFault::NotASibling {
                target_group: name,
                is_met: runs_before == Some(!constraint.is_before),
            },
            Some(Elsewhere::AmongPatches) => ConstraintFault::OfPatch,
            Some(Elsewhere::EmptySet) | None => ConstraintFault::Unknown,
        };
        Self::Constraint(constraint, fault)
    }

    /// Converts an error of sorting by constraints into an error of creation constraints. All known targets of these are siblings.
    pub(crate) fn of_creation(self) -> Self {
        match self {
            Self::Cycle { links, .. } => Self::CreateCycle { links },
            Self::Constraint(NamedConstraint { system, .. }, ConstraintFault::OfItself)
            | Self::FirstAndLast { system, .. } => Self::CreateOfItself { system },
            Self::Constraint(NamedConstraint { system, target, .. }, _) => {
                Self::CreateAfterUnknown { system, target }
            }
            already => already,
        }
    }
}

impl GroupPart {
    fn in_words(self) -> &'static str {
        match self {
            Self::First => "among the first",
            Self::Middle => "neither among the first nor the last",
            Self::Last => "among the last",
        }
    }
}

fn write_cycle(f: &mut fmt::Formatter<'_>, links: &[CycleLink]) -> fmt::Result {
    for (at, CycleLink { before, after, said_by }) in links.iter().enumerate() {
        let gap = if at == 0 { "" } else { ", " };
        write!(f, "{gap}`{before}` before `{after}` (set by `{said_by}`)")?;
    }
    f.write_str("; remove one of these constraints")
}

impl NamedConstraint {
    /// Writes the message of a fault.
    fn fmt_fault(&self, fault: &ConstraintFault, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { system, group, is_before, target } = self;
        let word = if *is_before { "before" } else { "after" };
        let begin = |f: &mut fmt::Formatter<'_>, code: &str| {
            write!(f, "{code}: `{system}` of `{group}` should run {word} `{target}`, ")
        };
        match fault {
            ConstraintFault::Unknown => {
                begin(f, "A0124")?;
                write!(f, "which this world does not have; add it to `{group}`, or remove `{word}`")
            }
            ConstraintFault::NoMember => {
                begin(f, "A0124")?;
                write!(
                    f,
                    "a set without members in this group; add a member to `{group}`, or remove `{word}`"
                )
            }
            ConstraintFault::OfItself => write!(
                f,
                "A0125: `{system}` cannot run {word} itself; name another system, or remove `{word}`"
            ),
            ConstraintFault::NotASibling { target_group, is_met } => {
                begin(f, "A0126")?;
                write!(f, "which is in `{target_group}`; ")?;
                if *is_met {
                    write!(
                        f,
                        "all systems of `{group}` run {word} `{target}` already; remove `{word}`"
                    )
                } else {
                    f.write_str(
                        "only systems of the same group can be ordered: put both in one group, or order the groups",
                    )
                }
            }
            ConstraintFault::OfPatch => write!(
                f,
                "A0097: `{system}` of `{group}` should run {word} `{target}`, which is a patch and runs after every \
                 other system; remove `{word}` or `patch`"
            ),
            ConstraintFault::Contradiction { place, target_place, suits_late } => {
                let (place, target_place) = (place.in_words(), target_place.in_words());
                begin(f, "A0127")?;
                write!(f, "but it is {place}, and `{target}` is {target_place}; ")?;
                if *suits_late {
                    write!(
                        f,
                        "put `{system}` in `LateSimulation`, which runs after `{target}`, or remove `{word}`"
                    )
                } else {
                    write!(f, "remove `{word}`, `first` or `last`")
                }
            }
        }
    }
}

impl fmt::Display for OrderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cycle { group, links } => {
                write!(f, "A0123: the order of the systems of `{group}` has a cycle: ")?;
                write_cycle(f, links)
            }
            Self::Constraint(constraint, fault) => constraint.fmt_fault(fault, f),
            Self::FirstAndLast { system, group } => write!(
                f,
                "A0128: `{system}` of `{group}` cannot be both first and last; remove `first` or `last`"
            ),
            Self::SetsApart { set, is_before, target } => {
                let word = if *is_before { "before" } else { "after" };
                write!(
                    f,
                    "A0124: the systems of set `{set}` should run {word} `{target}`, but no two of them are in one group; put \
                     them in one group, or remove `{word}`"
                )
            }
            Self::CreateCycle { links } => {
                f.write_str("A0131: the creation order of systems has a cycle: ")?;
                write_cycle(f, links)
            }
            Self::CreateAfterUnknown { system, target } => write!(
                f,
                "A0132: `{system}` should be created after `{target}`, which is neither in this world nor added with \
                 it; add both with `add_systems`, or remove `create_after`"
            ),
            Self::CreateBeforeExisting { system, target } => write!(
                f,
                "A0133: `{system}` should be created before `{target}`, which is in this world already; add both with \
                 `add_systems`, or remove `create_before`"
            ),
            Self::CreateOfItself { system } => write!(
                f,
                "A0134: `{system}` cannot be created before or after itself; name another system, or remove the constraint"
            ),
        }
    }
}

impl Error for OrderError {}
