//! Constraints on the order of systems that cannot hold, and their messages.

use std::error::Error;
use std::fmt;

use super::{Elsewhere, GroupPart};

/// Constraints on the order of systems that cannot hold: of updates (A0097, A0123 to A0128) or of creation (A0131 to A0134).
///
/// The message names the systems, and for a cycle the constraints around it.
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
/// let SystemFault::Order(cycle) = errors.iter().next().unwrap().fault() else { panic!() };
/// assert!(cycle.to_string().contains("`hen` before `egg` (set by `hen`), `egg` before `hen`"));
///
/// let hen = (|| {}).named("hen").create_after("egg");
/// let egg = (|| {}).named("egg").create_after("hen");
/// assert!(world.try_add_systems((hen, egg)).unwrap_err().to_string().starts_with("A0131: "));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderError(pub(in super::super) OrderFault);

/// The constraint that cannot hold, by names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) enum OrderFault {
    /// A0123: a cycle of constraints. It has no other systems than those of the cycle.
    Cycle { group: String, links: Vec<CycleLink> },
    /// A0124: the world does not have the target.
    UnknownTarget { system: String, group: String, is_before: bool, target: String },
    /// A0125: the target is the system itself.
    OfItself { system: String, is_before: bool },
    /// A0126: the target is in another group.
    NotASibling {
        system: String,
        group: String,
        is_before: bool,
        target: String,
        target_group: String,
    },
    /// A0097: the target is a patch, which runs after each other system.
    OfPatch { system: String, group: String, is_before: bool, target: String },
    /// A0127: the constraint contradicts `first` or `last`.
    Contradiction {
        system: String,
        group: String,
        is_before: bool,
        target: String,
        /// The part of the group that the system is in, such as "among the last".
        place: &'static str,
        target_place: &'static str,
        /// Set if [`LateSimulation`](crate::LateSimulation) runs where the system should.
        suits_late: bool,
    },
    /// A0128: the system is both first and last.
    FirstAndLast { system: String, group: String },
    /// A0131: a cycle of creation constraints.
    CreateCycle { links: Vec<CycleLink> },
    /// A0132: the system is created after one that is neither in the world nor added with it.
    CreateAfterUnknown { system: String, target: String },
    /// A0133: the system is created before one that the world already has.
    CreateBeforeExisting { system: String, target: String },
    /// A0134: the system is created before or after itself.
    CreateOfItself { system: String },
}

/// One constraint of a cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct CycleLink {
    pub(super) before: String,
    pub(super) after: String,
    /// The one of the two that has the constraint.
    pub(super) said_by: String,
}

/// A constraint, by names.
pub(super) struct NamedConstraint {
    pub(super) system: String,
    pub(super) group: String,
    pub(super) is_before: bool,
    pub(super) target: String,
}

impl OrderError {
    pub(super) fn of_itself(constraint: NamedConstraint) -> Self {
        let NamedConstraint { system, is_before, .. } = constraint;
        Self(OrderFault::OfItself { system, is_before })
    }

    /// The error of a target that is not among the children of the group.
    pub(super) fn not_here(constraint: NamedConstraint, found: Option<Elsewhere>) -> Self {
        let NamedConstraint { system, group, is_before, target } = constraint;
        Self(match found {
            Some(Elsewhere::InGroup(target_group)) => {
                OrderFault::NotASibling { system, group, is_before, target, target_group }
            }
            Some(Elsewhere::AmongPatches) => {
                OrderFault::OfPatch { system, group, is_before, target }
            }
            None => OrderFault::UnknownTarget { system, group, is_before, target },
        })
    }

    pub(super) fn contradiction(
        constraint: NamedConstraint,
        (own, other): (GroupPart, GroupPart),
        suits_late: bool,
    ) -> Self {
        let NamedConstraint { system, group, is_before, target } = constraint;
        let (place, target_place) = (own.in_words(), other.in_words());
        Self(OrderFault::Contradiction {
            system,
            group,
            is_before,
            target,
            place,
            target_place,
            suits_late,
        })
    }

    /// Converts an error of sorting by creation constraints, of which all known targets are siblings.
    pub(in super::super) fn of_creation(self) -> Self {
        Self(match self.0 {
            OrderFault::Cycle { links, .. } => OrderFault::CreateCycle { links },
            OrderFault::UnknownTarget { system, target, .. }
            | OrderFault::NotASibling { system, target, .. }
            | OrderFault::OfPatch { system, target, .. }
            | OrderFault::Contradiction { system, target, .. } => {
                OrderFault::CreateAfterUnknown { system, target }
            }
            OrderFault::OfItself { system, .. } | OrderFault::FirstAndLast { system, .. } => {
                OrderFault::CreateOfItself { system }
            }
            already => already,
        })
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

fn word(is_before: bool) -> &'static str {
    if is_before { "before" } else { "after" }
}

fn write_cycle(f: &mut fmt::Formatter<'_>, links: &[CycleLink]) -> fmt::Result {
    for (at, CycleLink { before, after, said_by }) in links.iter().enumerate() {
        let gap = if at == 0 { "" } else { ", " };
        write!(f, "{gap}`{before}` before `{after}` (set by `{said_by}`)")?;
    }
    f.write_str("; remove one of these constraints")
}

impl fmt::Display for OrderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for OrderFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cycle { group, links } => {
                write!(f, "A0123: the order of the systems of `{group}` has a cycle: ")?;
                write_cycle(f, links)
            }
            Self::UnknownTarget { system, group, is_before, target } => write!(
                f,
                "A0124: `{system}` of `{group}` should run {word} `{target}`, which this world does not have; add it \
                 to `{group}`, or remove `{word}`",
                word = word(*is_before)
            ),
            Self::OfItself { system, is_before } => write!(
                f,
                "A0125: `{system}` cannot run {word} itself; name another system, or remove `{word}`",
                word = word(*is_before)
            ),
            Self::NotASibling { system, group, is_before, target, target_group } => write!(
                f,
                "A0126: `{system}` of `{group}` should run {word} `{target}`, which is in `{target_group}`; only \
                 systems of the same group can be ordered: put both in one group, or order the groups",
                word = word(*is_before)
            ),
            Self::OfPatch { system, group, is_before, target } => write!(
                f,
                "A0097: `{system}` of `{group}` should run {word} `{target}`, which is a patch and runs after every \
                 other system; remove `{word}` or `patch`",
                word = word(*is_before)
            ),
            Self::Contradiction {
                system,
                group,
                is_before,
                target,
                place,
                target_place,
                suits_late,
            } => {
                let word = word(*is_before);
                write!(
                    f,
                    "A0127: `{system}` of `{group}` should run {word} `{target}`, but it is {place}, and `{target}` is \
                     {target_place}; "
                )?;
                if *suits_late {
                    write!(
                        f,
                        "put `{system}` in `LateSimulation`, which runs after `{target}`, or remove `{word}`"
                    )
                } else {
                    write!(f, "remove `{word}`, `first` or `last`")
                }
            }
            Self::FirstAndLast { system, group } => write!(
                f,
                "A0128: `{system}` of `{group}` cannot be both first and last; remove `first` or `last`"
            ),
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
