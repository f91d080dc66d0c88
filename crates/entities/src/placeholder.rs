//! Placeholders: ids of entities that commands create.
//!
//! A placeholder is an [`Entity`] with the highest bit of the index set, which no entity has. The other 63 bits encode the created
//! entity without a lookup table:
//!
//! ```text
//! 1 bit       1 bit         35 bits   10 bits   16 bits
//! 0           0             stamp     lane      number
//!
//! 1 bit       1 bit         27 bits   10 bits   24 bits
//! 0           high number   stamp     lane      number
//!
//! 1 bit       1 bit         25 bits   20 bits   16 bits
//! high lane   0             stamp     lane      number
//!
//! 1 bit       1 bit         17 bits   20 bits   24 bits
//! high lane   high number   stamp     lane      number
//! ```
//!
//! - The *stamp* distinguishes placeholders of different buffers. A buffer gets a new stamp when it is cleared.
//! - The *lane* is that of the main thread, or of a batch of a job. Lanes are numbered in the order of playback, independent of
//!   threads.
//! - The *number* counts the entities that the lane creates.
//!
//! Most buffers have few lanes, which create few entities. Their stamps repeat after 34 billion buffers. Lanes from 1,024 on are
//! *high*, and so are numbers from 65,536 on. They take more bits, and leave fewer bits for the stamp. Each of the four forms has
//! its own stamps, which are created only when they are needed:
//!
//! - For high lanes, each buffer that has high lanes gets one stamp. These stamps repeat after 33 million such buffers.
//! - For high numbers, each lane that has high numbers gets one stamp. These stamps repeat after 134 million such lanes, or, if the
//!   lanes are high too, after 131,072 of them.

use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::entity::Entity;

/// Form of a placeholder, which determines the number of bits of each part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Form {
    is_high_lane: bool,
    is_high_number: bool,
}

const LANE_BITS: [u32; 2] = [10, 20];
const NUMBER_BITS: [u32; 2] = [16, 24];

/// The bits that distinguish the forms.
const HIGH_LANE: u64 = 1 << 62;
const HIGH_NUMBER: u64 = 1 << 61;
const FORM_BITS: u32 = 2;

/// Maximum number of entities that a lane creates. The largest number is not used, so that no placeholder has all bits set.
pub(crate) const NUMBERS: u32 = (1 << NUMBER_BITS[1]) - 1;
/// The number of low numbers, and the first high number.
const LOW_NUMBERS: u32 = 1 << NUMBER_BITS[0];
/// Maximum number of lanes.
pub(crate) const LANES: u32 = 1 << LANE_BITS[1];

impl Form {
    #[inline]
    fn of(lane: u32, number: u32) -> Self {
        Self { is_high_lane: lane >= 1 << LANE_BITS[0], is_high_number: number >= LOW_NUMBERS }
    }

    #[inline]
    fn lane_bits(self) -> u32 {
        LANE_BITS[usize::from(self.is_high_lane)]
    }

    #[inline]
    fn number_bits(self) -> u32 {
        NUMBER_BITS[usize::from(self.is_high_number)]
    }

    #[inline]
    fn stamp_bits(self) -> u32 {
        63 - FORM_BITS - self.lane_bits() - self.number_bits()
    }

    /// Returns the bits of the placeholder with the number 0.
    fn prefix(self, stamp: u64, lane: u32) -> u64 {
        debug_assert!(lane < LANES && stamp < 1 << self.stamp_bits());
        let mut bits = (stamp << self.lane_bits() | u64::from(lane)) << self.number_bits();
        bits |= if self.is_high_lane { HIGH_LANE } else { 0 };
        bits |= if self.is_high_number { HIGH_NUMBER } else { 0 };
        let index = 1 << 31 | (bits as u32 & (u32::MAX >> 1));
        Entity::from_parts(index, (bits >> 31) as u32).to_bits()
    }

    /// Returns a stamp that no other buffer or lane has.
    ///
    /// The value depends on the timing of threads. It occurs in placeholders only, and never in a world.
    fn new_stamp(self) -> u64 {
        static NEXT: [[AtomicU64; 2]; 2] = [const { [const { AtomicU64::new(0) }; 2] }; 2];
        let next = &NEXT[usize::from(self.is_high_lane)][usize::from(self.is_high_number)];
        next.fetch_add(1, Ordering::Relaxed) % (1 << self.stamp_bits())
    }
}

/// Stamps of the placeholders of a buffer.
#[derive(Clone, Debug, Default)]
pub(crate) struct BufferStamps {
    low_lanes: u64,
    /// Stamp of high lanes. Set when the buffer has such lanes.
    high_lanes: OnceLock<u64>,
}

impl BufferStamps {
    pub(crate) fn new() -> Self {
        Self { low_lanes: Form::of(0, 0).new_stamp(), high_lanes: OnceLock::new() }
    }

    /// Returns the prefixes of a lane that has not created entities yet.
    pub(crate) fn prefixes_of(&self, lane: u32) -> Prefixes {
        let form = Form::of(lane, 0);
        let stamp = if form.is_high_lane {
            *self.high_lanes.get_or_init(|| form.new_stamp())
        } else {
            self.low_lanes
        };
        Prefixes { low: form.prefix(stamp, lane), high: 0 }
    }
}

/// Bits of a lane's placeholders without the number: one prefix for low numbers and one for high numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Prefixes {
    low: u64,
    /// Prefix for high numbers. 0 until the lane has high numbers.
    high: u64,
}

impl Prefixes {
    /// Creates a stamp for high numbers, if `number` is the first high number of the lane.
    #[inline]
    pub(crate) fn reach(&mut self, lane: u32, number: u32) {
        if number >= LOW_NUMBERS && self.high == 0 {
            self.take_high(lane);
        }
    }

    #[cold]
    fn take_high(&mut self, lane: u32) {
        let form = Form::of(lane, LOW_NUMBERS);
        self.high = form.prefix(form.new_stamp(), lane);
    }

    /// Returns the placeholder of a number, if it and the next number are low.
    #[inline(always)]
    pub(crate) fn low(self, number: u32) -> Option<Entity> {
        (number < LOW_NUMBERS - 1).then(|| Entity::from_bits(self.low | u64::from(number)))
    }

    /// Returns the placeholder of a number. [`reach`](Self::reach) was called for this number.
    #[inline]
    fn placeholder(self, number: u32) -> Entity {
        debug_assert!(number < NUMBERS && (number < LOW_NUMBERS || self.high != 0));
        let prefix = if number < LOW_NUMBERS { self.low } else { self.high };
        Entity::from_bits(prefix | u64::from(number))
    }
}

/// Decoded placeholder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Placeholder {
    entity: Entity,
    pub(crate) lane: u32,
    pub(crate) number: u32,
}

impl Placeholder {
    /// Decodes an entity, if it is a placeholder.
    #[inline]
    pub(crate) fn of(entity: Entity) -> Option<Self> {
        let (lane, number) = entity.placeholder()?;
        Some(Self { entity, lane, number })
    }

    /// Tests whether the placeholder belongs to the lane with these prefixes.
    #[inline]
    pub(crate) fn is_of(self, prefixes: Prefixes) -> bool {
        let prefix = self.entity.to_bits() - u64::from(self.number);
        prefix == prefixes.low || prefix == prefixes.high
    }

    /// Tests whether the placeholder may belong to a discarded lane of a buffer, which a failed job has recorded. Returns false for
    /// high numbers: they have the stamp of their lane, which is unknown after the lane was discarded.
    pub(crate) fn may_be_of(self, buffer: &BufferStamps) -> bool {
        let prefixes = |stamp: &u64| Form::of(self.lane, 0).prefix(*stamp, self.lane);
        let is_high_lane = Form::of(self.lane, 0).is_high_lane;
        let stamp = if is_high_lane { buffer.high_lanes.get() } else { Some(&buffer.low_lanes) };
        stamp.map(prefixes).is_some_and(|low| self.is_of(Prefixes { low, high: 0 }))
    }
}

/// Placeholders of entities that are created together.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, EntityCommandBuffer, World};
///
/// #[derive(Component, Clone, Copy)]
/// struct Health(u32);
///
/// let mut world = World::new("Simulation");
/// let mut buffer = EntityCommandBuffer::new();
/// let orcs = buffer.commands()?.spawn_many(Health(20), 100);
/// assert_eq!((orcs.len(), orcs.iter().count()), (100, 100));
/// world.play(&mut buffer)?;
/// assert!(world.exists(buffer.resolve(orcs.get(42).unwrap()).unwrap()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Placeholders {
    pub(crate) prefixes: Prefixes,
    pub(crate) first: u32,
    pub(crate) count: u32,
}

impl Placeholders {
    /// Returns the number of placeholders.
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Returns true if the number is 0.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the placeholder at an index.
    #[inline]
    pub fn get(&self, index: usize) -> Option<Entity> {
        (index < self.len()).then(|| self.at(index as u32))
    }

    /// Iterates over the placeholders.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Entity> + use<> {
        let this = *self;
        (0..this.count).map(move |at| this.at(at))
    }

    /// Returns the first placeholder, which is invalid if the number of placeholders is 0.
    #[inline]
    pub(crate) fn target(&self) -> Entity {
        self.at(0)
    }

    #[inline]
    fn at(&self, at: u32) -> Entity {
        // If there are no placeholders, the number may be one too high. Such a placeholder is never used.
        let number = (self.first + at).min(NUMBERS - 1);
        self.prefixes.placeholder(number)
    }
}

impl fmt::Debug for Placeholders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_say_what_they_were_made_of() {
        for lane in [0, 1, 128, 1023, 1024, LANES - 1] {
            for number in [0, 1, 65_535, 65_536, 1 << 23, NUMBERS - 1] {
                let form = Form::of(lane, number);
                for stamp in [0, 1, 77, (1 << form.stamp_bits()) - 1] {
                    let low = Form::of(lane, 0).prefix(stamp, lane);
                    let high = Form::of(lane, LOW_NUMBERS).prefix(stamp & 0x1_ffff, lane);
                    let prefixes = Prefixes { low, high };
                    let entity = prefixes.placeholder(number);
                    assert!(entity.is_placeholder() && !entity.is_null());
                    assert_ne!(entity.to_bits(), u64::MAX);
                    let placeholder = Placeholder::of(entity).unwrap();
                    assert_eq!((placeholder.lane, placeholder.number), (lane, number));
                    assert!(placeholder.is_of(prefixes));
                    let low = Form::of(lane, 0).prefix(stamp ^ 2, lane);
                    let high = Form::of(lane, LOW_NUMBERS).prefix(stamp & 0x1_ffff ^ 2, lane);
                    assert!(!placeholder.is_of(Prefixes { low, high }));
                    assert_eq!(entity.to_string(), format!("placeholder {lane}.{number}"));
                }
            }
        }
        assert_eq!(Placeholder::of(Entity::NULL), None);
        assert_eq!(Placeholder::of(Entity::from_parts(u32::MAX >> 1, u32::MAX)), None);
    }
}
