//! Which orders cannot be, and in which words that is told.

use std::error::Error;
use std::fmt;

use super::{Elsewhere, Part};

/// Why the systems of a group cannot be put in an order.
///
/// # Examples
///
/// ```
/// use ancho_entities::{IntoSystem, OrderError, SystemFault, World};
///
/// let mut world = World::new("Simulation");
/// world.add_system((|| {}).named("hen").before("egg"));
/// world.add_system((|| {}).named("egg").before("hen"));
/// let errors = world.sort_systems().unwrap_err();
/// let SystemFault::Order(OrderError::Cycle { links, .. }) = errors.iter().next().unwrap().fault() else { panic!() };
/// let around: Vec<_> = links.iter().map(|link| link.before.as_str()).collect();
/// assert_eq!(around, ["hen", "egg"]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OrderError {
    /// A0123: each of these is to run before the next, and the last before the first.
    Cycle {
        /// The group.
        group: String,
        /// Who is before whom, all around; nobody is in it who is not part of the cycle.
        links: Vec<CycleLink>,
    },
    /// A0124: a system is to run before or after one that the world does not have.
    UnknownTarget {
        /// The system that says so.
        system: String,
        /// The group it is in.
        group: String,
        /// Whether it is to run before the other, not after.
        is_before: bool,
        /// The other.
        target: String,
    },
    /// A0125: a system is to run before or after itself.
    OfItself {
        /// The system that says so.
        system: String,
        /// Whether it is to run before itself, not after.
        is_before: bool,
    },
    /// A0126: a system is to run before or after one of another group.
    NotASibling {
        /// The system that says so.
        system: String,
        /// The group it is in.
        group: String,
        /// Whether it is to run before the other, not after.
        is_before: bool,
        /// The other.
        target: String,
        /// The group that the other is in.
        target_group: String,
    },
    /// A0097: a system is to run before or after one that runs after each system, and has no place.
    OfPatch {
        /// The system that says so.
        system: String,
        /// The group it is in.
        group: String,
        /// Whether it is to run before the other, not after.
        is_before: bool,
        /// The other.
        target: String,
    },
    /// A0127: a system is to run before one that is first, or after one that is last, and so on.
    Contradiction {
        /// The system that says so.
        system: String,
        /// The group they are in.
        group: String,
        /// Whether it is to run before the other, not after.
        is_before: bool,
        /// The other.
        target: String,
        /// Where the system is, such as "among the last".
        place: &'static str,
        /// Where the other is.
        target_place: &'static str,
        /// Whether [`LateSimulation`](crate::LateSimulation) runs where the system should.
        suits_late: bool,
    },
    /// A0128: a system is to be first and last.
    FirstAndLast {
        /// The system.
        system: String,
        /// The group it is in.
        group: String,
    },
}

/// One step of a cycle: who is to run before whom, and who says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CycleLink {
    /// Runs first.
    pub before: String,
    /// Runs later.
    pub after: String,
    /// One of the two.
    pub said_by: String,
}

/// A constraint, in names.
pub(super) struct Said {
    pub(super) system: String,
    pub(super) group: String,
    pub(super) is_before: bool,
    pub(super) target: String,
}

impl OrderError {
    pub(super) fn of_itself(said: Said) -> Self {
        Self::OfItself { system: said.system, is_before: said.is_before }
    }

    pub(super) fn not_here(said: Said, found: Option<Elsewhere>) -> Self {
        let Said { system, group, is_before, target } = said;
        match found {
            Some(Elsewhere::InGroup(target_group)) => {
                Self::NotASibling { system, group, is_before, target, target_group }
            }
            Some(Elsewhere::AmongPatches) => Self::OfPatch { system, group, is_before, target },
            None => Self::UnknownTarget { system, group, is_before, target },
        }
    }

    pub(super) fn contradiction(said: Said, (own, other): (Part, Part), suits_late: bool) -> Self {
        let Said { system, group, is_before, target } = said;
        let (place, target_place) = (own.in_words(), other.in_words());
        Self::Contradiction { system, group, is_before, target, place, target_place, suits_late }
    }
}

impl Part {
    fn in_words(self) -> &'static str {
        match self {
            Self::First => "among the first",
            Self::Middle => "neither among the first nor among the last",
            Self::Last => "among the last",
        }
    }
}

fn word(is_before: bool) -> &'static str {
    if is_before { "before" } else { "after" }
}

impl fmt::Display for OrderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cycle { group, links } => {
                write!(f, "A0123: the systems of `{group}` cannot be put in an order: ")?;
                for (at, link) in links.iter().enumerate() {
                    let gap = if at == 0 { "" } else { ", " };
                    let CycleLink { before, after, said_by } = link;
                    write!(f, "{gap}`{before}` before `{after}` (said by `{said_by}`)")?;
                }
                f.write_str("; take one of these constraints away")
            }
            Self::UnknownTarget { system, group, is_before, target } => write!(
                f,
                "A0124: `{system}` of `{group}` is to run {word} `{target}`, which this world does not have; add it to \
                 `{group}`, or take `{word}` away",
                word = word(*is_before)
            ),
            Self::OfItself { system, is_before } => write!(
                f,
                "A0125: `{system}` is to run {word} itself; name another system, or take `{word}` away",
                word = word(*is_before)
            ),
            Self::NotASibling { system, group, is_before, target, target_group } => write!(
                f,
                "A0126: `{system}` of `{group}` is to run {word} `{target}`, which is in `{target_group}`; only systems of one \
                 group have an order among themselves: put both in one group, or order the groups",
                word = word(*is_before)
            ),
            Self::OfPatch { system, group, is_before, target } => write!(
                f,
                "A0097: `{system}` of `{group}` is to run {word} `{target}`, which is a patch, and has no place among other systems: it \
                 runs after each of them; take `{word}` away, or `patch`",
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
                    "A0127: `{system}` of `{group}` is to run {word} `{target}`, and cannot: it is {place}, and `{target}` is \
                     {target_place}; "
                )?;
                if *suits_late {
                    write!(
                        f,
                        "put `{system}` in `LateSimulation`, which runs after `{target}`, or take `{word}` away"
                    )
                } else {
                    write!(f, "take `{word}` away, or `first` or `last`")
                }
            }
            Self::FirstAndLast { system, group } => write!(
                f,
                "A0128: `{system}` of `{group}` is to be both first and last; take `first` or `last` away"
            ),
        }
    }
}

impl Error for OrderError {}
