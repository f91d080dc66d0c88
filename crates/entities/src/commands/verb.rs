//! What a command is, once the types of what it gives are forgotten.

use std::fmt;

use super::command::Given;
use super::play::{Fault, Player, Run};
use crate::entity::Entity;
use crate::manager::EntityManager;
use crate::set::ComponentSet;
use crate::storage::SetOperation;

/// What is to be done, for all commands that do the same with values of the same types.
///
/// The functions are given the address of what a command has recorded, its *payload*, whose type they know.
pub(super) struct Verb {
    /// What payloads are aligned to.
    pub(super) align: usize,
    /// How many bytes a payload has, or [`LISTED`](Self::LISTED).
    pub(super) size: usize,
    /// Drops a payload that was not used, if there is something to drop.
    ///
    /// # Safety
    ///
    /// - there is a payload of this verb, which is not used afterwards
    pub(super) drop: Option<unsafe fn(*mut u8)>,
    /// Carries out commands of this verb that follow each other, until the run has no more, or one fails: the last that was
    /// taken from the run.
    ///
    /// # Safety
    ///
    /// - the run is of this verb
    pub(super) play: unsafe fn(&mut Player<'_>, &mut Run<'_>) -> Result<(), Fault>,
    /// Notes a command, so that it is carried out together with others, if it can be.
    pub(super) fold: Option<FoldCommand>,
    /// Says in words what is done to an entity.
    ///
    /// # Safety
    ///
    /// - there is a payload of this verb. It may have been used: then only what can be copied is read of it
    pub(super) describe: unsafe fn(*const u8, Entity, &mut fmt::Formatter<'_>) -> fmt::Result,
    pub(super) kind: Kind,
    /// Calls a function with each entity that a command is done to, as its kind says.
    ///
    /// # Safety
    ///
    /// - there is a payload of this verb, which was not used, and nobody else uses meanwhile
    pub(super) named: unsafe fn(*mut u8, Entity, &mut dyn FnMut(Entity)),
    /// Notes which components a command gives.
    ///
    /// # Safety
    ///
    /// - as for `named`
    pub(super) gives: unsafe fn(*mut u8, &mut Given<'_>),
    pub(super) deed: Deed,
    /// The number of the set of components that it gives or takes, if the world has one.
    pub(super) set: fn(&mut EntityManager) -> Option<u32>,
}

/// Notes a command of a verb, so that it is carried out together with others: what it names, its payload, and where it says what it
/// names. Returns whether that can be. It cannot be if the command would fail.
///
/// # Safety
///
/// - there is a payload of the verb, which was not used, and is nobody else's to use as long as the player plays
pub(super) type FoldCommand = unsafe fn(&mut Player<'_>, Entity, *mut u8, *mut Entity) -> bool;

/// What others have to know of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Destroys those that it names.
    Despawn,
    /// Takes components from those that it names.
    Remove,
    /// Changes or creates those that it names.
    Touch,
    /// Only looks at those that it names.
    Look,
    /// Names nobody.
    Other,
}

/// What a command does to its target, if another that follows can undo it without a trace.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Deed {
    /// Creates it with a set.
    Create,
    /// Gives it a set, or takes one.
    Change(SetOperation),
    /// Destroys it.
    Destroy,
    /// Something else, or something that depends on what was recorded.
    Other,
}

/// What a command does with a set, if whether it is refused does not depend on values.
pub(super) const fn deed_with<S: ComponentSet>(deed: Deed) -> Deed {
    if S::SHARED || S::HAS_ENTITIES { Deed::Other } else { deed }
}

impl Verb {
    /// Payloads begin with a [`List`], which says how many bytes they have.
    pub(super) const LISTED: usize = usize::MAX;
}

/// What a payload begins with whose size is known only when it is recorded. Elements follow it.
#[repr(C)]
pub(super) struct List<P> {
    /// How many bytes the payload has.
    pub(super) bytes: usize,
    /// How many elements there are.
    pub(super) count: usize,
    pub(super) fixed: P,
}

impl<P> List<P> {
    /// Where the first element is, from the beginning of the payload.
    pub(super) const fn first<T>() -> usize {
        size_of::<Self>().next_multiple_of(align_of::<T>())
    }

    /// What a payload is aligned to.
    pub(super) const fn align<T>() -> usize {
        if align_of::<T>() > align_of::<Self>() { align_of::<T>() } else { align_of::<Self>() }
    }
}
