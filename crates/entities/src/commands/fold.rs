//! Commands are noted instead of being carried out, so that several can be carried out together.
//!
//! See [`stretch`](crate::manager) for what is done with them then.

#![expect(unsafe_code, reason = "payloads of commands, whose types their verbs know")]

use std::alloc::Layout;
use std::any::Any;
use std::mem::needs_drop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use super::play::{Player, resolve_entities};
use crate::component::ComponentType;
use crate::entity::Entity;
use crate::manager::{InsertPlan, StagedValue, ValueOwner, WriteFn};
use crate::set::ComponentSet;
use crate::storage::{RowPlace, SetOperation};

/// A command that is to be noted: who plays it, whom it names, and where it is.
pub(super) struct Folding<'f, 'p, C> {
    player: &'f mut Player<'p>,
    target: Entity,
    payload: *mut C,
    /// Where it says whom it names.
    place: *mut Entity,
}

/// What has panicked while a command was noted.
pub(super) type Panic = Box<dyn Any + Send>;

impl<'f, 'p, C> Folding<'f, 'p, C> {
    /// # Safety
    ///
    /// - there is a command, which was not used, and nobody else uses as long as the player plays
    /// - the place is where it says whom it names
    #[inline(always)]
    pub(super) unsafe fn new(
        player: &'f mut Player<'p>,
        target: Entity,
        payload: *mut C,
        place: *mut Entity,
    ) -> Self {
        Self { player, target, payload, place }
    }

    /// The command.
    pub(super) fn command(&self) -> &C {
        // SAFETY: there is one, which is this one's to use.
        unsafe { &*self.payload }
    }

    /// Notes that an entity is created with a set of components. Returns whether that can be done together with others.
    #[inline(always)]
    pub(super) fn create<S: ComponentSet>(self, set_of: impl FnOnce(&mut C) -> &mut S) -> bool {
        if S::SHARED {
            return false;
        }
        let Ok(&[entity, ..]) = self.player.resolved.ids_from(self.target) else { return false };
        let Ok(set) = self.player.entities.set_number::<S>() else { return false };
        let Some(gift) = self.player.entities.can_create(entity, set) else { return false };
        self.note(gift, set_of)
    }

    /// Notes that an entity is given a set of components.
    #[inline(always)]
    pub(super) fn give<S: ComponentSet>(
        self,
        change: SetOperation,
        set_of: impl FnOnce(&mut C) -> &mut S,
    ) -> bool {
        if S::SHARED {
            return false;
        }
        let Ok(entity) = self.player.resolved.resolve(self.target) else { return false };
        let Ok(set) = self.player.entities.set_number::<S>() else { return false };
        let Some(gift) = self.player.entities.can_insert(entity, set, change) else { return false };
        self.note(gift, set_of)
    }

    /// Notes that an entity is given the values of the command, unless they are refused.
    #[inline(always)]
    fn note<S: ComponentSet>(
        self,
        gift: InsertPlan,
        set_of: impl FnOnce(&mut C) -> &mut S,
    ) -> bool {
        // SAFETY: there is a command, which is this one's to use.
        let set: *mut S = set_of(unsafe { &mut *self.payload });
        let given = if S::COUNT == 0 {
            None
        } else if S::HAS_ENTITIES || self.player.keeps {
            match self.player.values_of(set) {
                // What was resolved in its place is still the command's.
                Some(values) if values.values == set.cast() => Some(self.own(set)),
                Some(values) => Some(values),
                None => return false,
            }
        } else {
            Some(self.own(set))
        };
        self.player.entities.record_insert(gift, given);
        true
    }

    /// The values of the command where they are.
    #[inline(always)]
    fn own<S: ComponentSet>(&self, set: *mut S) -> StagedValue {
        let owner =
            if needs_drop::<C>() { ValueOwner::Command(self.place) } else { ValueOwner::Nobody };
        StagedValue { values: set.cast(), write_fn: GivingOf::<S>::GIVING, owner }
    }

    /// Notes that components are taken from an entity.
    #[inline(always)]
    pub(super) fn take<S: ComponentSet>(self) -> bool {
        let Ok(set) = self.player.entities.set_number::<S>() else { return false };
        self.take_set(set)
    }

    /// Notes that components of these types are taken from an entity.
    pub(super) fn take_types(self, types: &[ComponentType]) -> bool {
        let Ok(set) = self.player.entities.set_number_of(types) else { return false };
        self.take_set(set)
    }

    #[inline(always)]
    fn take_set(self, set: u32) -> bool {
        let Ok(entity) = self.player.resolved.resolve(self.target) else { return false };
        self.player.entities.record_remove(entity, set, self.target.is_placeholder())
    }

    /// Notes that an entity is despawned.
    #[inline(always)]
    pub(super) fn despawn(self) -> bool {
        let Ok(entity) = self.player.resolved.resolve(self.target) else { return false };
        self.player.entities.record_despawn(entity, self.target.is_placeholder())
    }

    /// Notes that a component is switched on or off.
    pub(super) fn switch(self, ty: ComponentType, on: bool) -> bool {
        let Ok(entity) = self.player.resolved.resolve(self.target) else { return false };
        self.player.entities.record_enabled(entity, ty, on)
    }
}

impl Player<'_> {
    /// The values of a command with entities in place of placeholders, if it can be put there: duplicates, if the command is
    /// kept. What panics is noted, and refused.
    #[inline(never)]
    fn values_of<S: ComponentSet>(&mut self, set: *mut S) -> Option<StagedValue> {
        let (keeps, resolved) = (self.keeps, self.resolved);
        // SAFETY: there is a set, which is nobody else's to use.
        let set = unsafe { &mut *set };
        let made = catch_unwind(AssertUnwindSafe(|| {
            if !keeps {
                return resolve_entities(resolved, set).ok().map(|()| None);
            }
            let mut other = set.duplicate_set().ok()?;
            if S::HAS_ENTITIES {
                resolve_entities(resolved, &mut other).ok()?;
            }
            Some(Some(other))
        }));
        let write_fn = GivingOf::<S>::GIVING;
        match made {
            Ok(Some(None)) => Some(StagedValue {
                values: ptr::from_mut(set).cast(),
                write_fn,
                owner: ValueOwner::Nobody,
            }),
            Ok(Some(Some(other))) => {
                let staging = self.entities.coalesced.staging();
                let values = staging.place(Layout::new::<S>());
                // SAFETY: there is room for it.
                unsafe { values.cast::<S>().write(other) };
                let owner = if needs_drop::<S>() {
                    // SAFETY: it was just written there.
                    ValueOwner::StagingArena(unsafe {
                        staging.drop_later_by(drop_set::<S>, values)
                    })
                } else {
                    ValueOwner::Nobody
                };
                Some(StagedValue { values, write_fn, owner })
            }
            Ok(None) => None,
            Err(panic) => {
                self.panic = Some(panic);
                None
            }
        }
    }
}

/// What can be done with a type of sets once it is forgotten.
struct GivingOf<S>(S);

impl<S: ComponentSet> GivingOf<S> {
    const GIVING: &'static WriteFn = &WriteFn { write: write_set::<S> };
}

/// See [`WriteFn`].
///
/// # Safety
///
/// - as there
unsafe fn write_set<S: ComponentSet>(values: *mut u8, place: RowPlace) {
    // SAFETY: as the caller promises.
    unsafe { values.cast::<S>().read().write(place) }
}

/// Drops a set.
///
/// # Safety
///
/// - there is one, which is not used afterwards
unsafe fn drop_set<S>(values: *mut u8) {
    // SAFETY: as the caller promises.
    unsafe { values.cast::<S>().drop_in_place() }
}
