//! Names of entities that are to be created by commands.
//!
//! A placeholder is an [`Entity`] whose index no entity has: its highest bit is set. The other 63 bits say which entity it stands
//! for, without anybody having to be asked:
//!
//! ```text
//! 19 bits   20 bits   24 bits
//! stamp     lane      number
//! ```
//!
//! - the *stamp* is that of the buffer, for as long as it records; then it gets another. So placeholders of others are noticed, until
//!   half a million stamps later the numbers begin again.
//! - the *lane* is who has recorded: the main thread, or a batch of a job. Lanes are numbered by the order of what they record, and
//!   not by threads.
//! - the *number* is the how manieth entity it is that the lane creates.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::entity::Entity;

const NUMBER_BITS: u32 = 24;
const LANE_BITS: u32 = 20;
const STAMP_BITS: u32 = 19;

/// How many entities a lane can create. The last number is left out, so that no placeholder has all bits set.
pub(super) const NUMBERS: u32 = (1 << NUMBER_BITS) - 1;
/// How many lanes there can be.
pub(super) const LANES: u32 = 1 << LANE_BITS;

/// What a placeholder says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Placeholder {
    pub(super) stamp: u32,
    pub(super) lane: u32,
    pub(super) number: u32,
}

impl Placeholder {
    pub(super) fn to_entity(self) -> Entity {
        let Self { stamp, lane, number } = self;
        debug_assert!(stamp < 1 << STAMP_BITS && lane < LANES && number < NUMBERS);
        let bits = (u64::from(stamp) << LANE_BITS | u64::from(lane)) << NUMBER_BITS;
        let bits = bits | u64::from(number);
        let index = 1 << 31 | (bits as u32 & (u32::MAX >> 1));
        Entity::from_parts(index, (bits >> 31) as u32)
    }

    /// What an entity says, if it is a placeholder.
    pub(super) fn of(entity: Entity) -> Option<Self> {
        if !entity.is_placeholder() {
            return None;
        }
        let bits = u64::from(entity.version()) << 31 | u64::from(entity.index() & (u32::MAX >> 1));
        Some(Self {
            number: bits as u32 & ((1 << NUMBER_BITS) - 1),
            lane: (bits >> NUMBER_BITS) as u32 & (LANES - 1),
            stamp: (bits >> (NUMBER_BITS + LANE_BITS)) as u32,
        })
    }
}

/// A stamp that no buffer has.
///
/// Which one it is depends on what other threads do. It shows in placeholders alone, and in no world.
pub(super) fn new_stamp() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed) % (1 << STAMP_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_say_what_they_were_made_of() {
        let stamps = [0, 1, 77, (1 << STAMP_BITS) - 1];
        for stamp in stamps {
            for lane in [0, 1, 128, LANES - 1] {
                for number in [0, 1, 1 << 23, NUMBERS - 1] {
                    let placeholder = Placeholder { stamp, lane, number };
                    let entity = placeholder.to_entity();
                    assert!(entity.is_placeholder() && !entity.is_null());
                    assert_ne!(entity.to_bits(), u64::MAX);
                    assert_eq!(Placeholder::of(entity), Some(placeholder));
                }
            }
        }
        assert_eq!(Placeholder::of(Entity::NULL), None);
        assert_eq!(Placeholder::of(Entity::from_parts(u32::MAX >> 1, u32::MAX)), None);
    }
}
