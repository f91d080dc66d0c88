//! Slots of neighbours, which are looked at and written at a time: ids that are made together mostly are.
#![expect(unsafe_code, reason = "slots that were used are initialised")]

use std::mem::MaybeUninit;

use ancho_burst::dispatch;

use super::page::Slot;
use crate::entity::Entity;

/// Writes the slots of living entities of one version, which are in rows of a chunk that follow the first.
#[inline(never)]
pub(super) fn relocate_stretch(
    slots: &mut [MaybeUninit<Slot>],
    version: u32,
    chunk: u32,
    row: u32,
) {
    dispatch(
        #[inline(always)]
        || {
            for (slot, step) in slots.iter_mut().zip(0..) {
                slot.write(Slot { version, chunk, row: row + step });
            }
        },
    );
}

/// The version that the next entities of these slots, of which there are some, will all have, unless they differ: mostly they were
/// made together.
#[inline(never)]
pub(super) fn common_version(slots: &[Slot]) -> Option<u32> {
    let first = slots[0];
    let is_alive = first.is_alive();
    let differ = dispatch(
        #[inline(always)]
        || {
            // Without a way out in the middle the loop is one for vectors.
            slots.iter().fold(false, |differ, slot| {
                differ | (slot.version != first.version) | (slot.is_alive() != is_alive)
            })
        },
    );
    (!differ).then(|| first.version_if_dead())
}

/// Writes ids that follow the first, all of its version, and their slots, in rows of a chunk that follow the first.
#[inline(never)]
pub(super) fn write_alike(
    ids: &mut [MaybeUninit<Entity>],
    slots: &mut [MaybeUninit<Slot>],
    first: Entity,
    chunk: u32,
    row: u32,
) {
    dispatch(
        #[inline(always)]
        || {
            // One loop for each, since both are written from their beginning to their end.
            for (id, step) in ids.iter_mut().zip(0..) {
                id.write(Entity::from_parts(first.index() + step, first.version()));
            }
            for (slot, step) in slots.iter_mut().zip(0..) {
                slot.write(Slot { version: first.version(), chunk, row: row + step });
            }
        },
    );
}

/// How many of the first slots, of the index and of those after it, the chain of free ones leads through one after the other, with ids
/// of one version: one at least.
///
/// # Safety
///
/// The chain leads to the first slot: it, and whatever it leads to, is initialised.
pub(super) unsafe fn chained(slots: &[MaybeUninit<Slot>], index: u32) -> usize {
    // SAFETY: the caller promises it.
    let first = unsafe { slots[0].assume_init_ref() };
    let (mut row, mut following) = (first.row, index);
    let mut count = 1;
    for slot in &slots[1..] {
        following += 1;
        if row != following {
            break;
        }
        // SAFETY: the chain leads to this one.
        let slot = unsafe { slot.assume_init_ref() };
        if slot.version != first.version {
            break;
        }
        row = slot.row;
        count += 1;
    }
    count
}

/// Marks slots of neighbours that no entity has had: their ids are set aside.
#[inline(never)]
pub(super) fn write_aside(slots: &mut [MaybeUninit<Slot>]) {
    for slot in slots {
        slot.write(Slot::set_aside(Slot::UNUSED.version));
    }
}

/// Chains neighbours, from the first index on, whose ids of this version are all set aside. The last one leads to the next index.
/// Returns whether it did: if one of them is not set aside, nothing is written.
#[inline(never)]
pub(super) fn chain_aside(slots: &mut [Slot], first: Entity, next: u32) -> bool {
    let version = first.version();
    let differ = slots
        .iter()
        .fold(false, |differ, slot| differ | !slot.is_set_aside() | (slot.version != version));
    if differ {
        return false;
    }
    for (slot, following) in slots.iter_mut().zip(first.index() + 1..) {
        slot.row = following;
    }
    if let Some(last) = slots.last_mut() {
        last.row = next;
    }
    true
}
