//! Placeholders: ids of entities that commands create.
//!
//! A placeholder is an [`Entity`] whose index no entity has: its highest bit is set. The other 63 bits encode which created entity
//! it stands for, without a lookup:
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
//! - the *stamp* distinguishes placeholders of different buffers. A buffer gets another one when it is cleared.
//! - the *lane* is that of the main thread, or of a batch of a job. Lanes are numbered in the order of what they record,
//!   independently of threads.
//! - the *number* counts the entities that the lane creates.
//!
//! Most buffers have few lanes, which create few entities. Their stamps repeat after 34 billion buffers. Lanes from 1,024 on, and
//! numbers from 65,536 on, take more bits, at the cost of the stamp. Each of the four forms has stamps of its own, which are taken
//! only when they are needed:
//!
//! - for high lanes, one for each buffer that has some: repeats after 33 million such buffers.
//! - for high numbers, one for each lane that has some: repeats after 134 million such lanes, and, if the lanes are high too, after
//!   131,072 of them.

use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::entity::Entity;

/// Form of a placeholder, which decides on the number of its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Form {
    is_high_lane: bool,
    is_high_number: bool,
}

const LANE_BITS: [u32; 2] = [10, 20];
const NUMBER_BITS: [u32; 2] = [16, 24];

/// The bits that tell the forms apart.
const HIGH_LANE: u64 = 1 << 62;
const HIGH_NUMBER: u64 = 1 << 61;
const FORM_BITS: u32 = 2;

/// Maximum number of entities that a lane creates. The last number is left out, so that no placeholder has all bits set.
pub(crate) const NUMBERS: u32 = (1 << NUMBER_BITS[1]) - 1;
/// Maximum number of lanes.
pub(crate) const LANES: u32 = 1 << LANE_BITS[1];

impl Form {
    #[inline]
    fn of(lane: u32, number: u32) -> Self {
        Self {
            is_high_lane: lane >= 1 << LANE_BITS[0],
            is_high_number: number >= 1 << NUMBER_BITS[0],
        }
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

    /// Takes a stamp that no other buffer or lane has.
    ///
    /// Its value depends on other threads. It shows only in placeholders, and in no world.
    fn new_stamp(self) -> u64 {
        static NEXT: [[AtomicU64; 2]; 2] = [const { [const { AtomicU64::new(0) }; 2] }; 2];
        let next = &NEXT[usize::from(self.is_high_lane)][usize::from(self.is_high_number)];
        next.fetch_add(1, Ordering::Relaxed) % (1 << self.stamp_bits())
    }
}

/// Stamps of a buffer.
#[derive(Clone, Debug, Default)]
pub(crate) struct BufferStamps {
    low_lanes: u64,
    /// Stamp of high lanes, once there are some.
    high_lanes: OnceLock<u64>,
}

impl BufferStamps {
    pub(crate) fn new() -> Self {
        Self { low_lanes: Form::of(0, 0).new_stamp(), high_lanes: OnceLock::new() }
    }

    /// Stamps of a lane that has created nothing.
    pub(crate) fn of_lane(&self, lane: u32) -> Stamps {
        let form = Form::of(lane, 0);
        let of_buffer = if form.is_high_lane {
            *self.high_lanes.get_or_init(|| form.new_stamp())
        } else {
            self.low_lanes
        };
        Stamps { of_buffer, of_high_numbers: None }
    }
}

/// Stamps of a lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stamps {
    /// Stamp of the buffer, for low lanes or for high ones.
    of_buffer: u64,
    /// Stamp of high numbers, once there are some.
    of_high_numbers: Option<u64>,
}

impl Stamps {
    /// Takes a stamp for high numbers, if this number is the first.
    #[inline]
    pub(crate) fn reach(&mut self, lane: u32, number: u32) {
        let form = Form::of(lane, number);
        if form.is_high_number && self.of_high_numbers.is_none() {
            self.of_high_numbers = Some(form.new_stamp());
        }
    }
}

/// Decoded placeholder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Placeholder {
    form: Form,
    stamp: u64,
    pub(crate) lane: u32,
    pub(crate) number: u32,
}

impl Placeholder {
    /// Placeholder of an entity of a lane. The lane has a stamp for high numbers if the number is high.
    #[inline]
    pub(crate) fn new(stamps: Stamps, lane: u32, number: u32) -> Self {
        let form = Form::of(lane, number);
        debug_assert!(!form.is_high_number || stamps.of_high_numbers.is_some());
        let of_high_numbers = || stamps.of_high_numbers.unwrap_or(0);
        let stamp = if form.is_high_number { of_high_numbers() } else { stamps.of_buffer };
        Self { form, stamp, lane, number }
    }

    #[inline]
    pub(crate) fn to_entity(self) -> Entity {
        let Self { form, stamp, lane, number } = self;
        debug_assert!(lane < LANES && number < NUMBERS && stamp < 1 << form.stamp_bits());
        let mut bits = (stamp << form.lane_bits() | u64::from(lane)) << form.number_bits();
        bits |= u64::from(number);
        bits |= if form.is_high_lane { HIGH_LANE } else { 0 };
        bits |= if form.is_high_number { HIGH_NUMBER } else { 0 };
        let index = 1 << 31 | (bits as u32 & (u32::MAX >> 1));
        Entity::from_parts(index, (bits >> 31) as u32)
    }

    /// Decodes an entity, if it is a placeholder.
    #[inline]
    pub(crate) fn of(entity: Entity) -> Option<Self> {
        let (lane, number) = entity.placeholder()?;
        let bits = entity.placeholder_bits();
        let form =
            Form { is_high_lane: bits & HIGH_LANE != 0, is_high_number: bits & HIGH_NUMBER != 0 };
        let stamp = (bits & !(HIGH_LANE | HIGH_NUMBER)) >> (form.lane_bits() + form.number_bits());
        Some(Self { form, stamp, lane, number })
    }

    /// Tests whether it belongs to the lane with these stamps.
    #[inline]
    pub(crate) fn is_of(self, stamps: Stamps) -> bool {
        let of_lane =
            if self.form.is_high_number { stamps.of_high_numbers } else { Some(stamps.of_buffer) };
        of_lane == Some(self.stamp)
    }

    /// Tests whether it may belong to a discarded lane of a buffer, which a failed job has recorded. High numbers have the stamp of
    /// their lane, which is unknown then.
    pub(crate) fn may_be_of(self, buffer: &BufferStamps) -> bool {
        let Form { is_high_lane, is_high_number } = self.form;
        let low_lanes = Some(&buffer.low_lanes);
        let of_buffer = if is_high_lane { buffer.high_lanes.get() } else { low_lanes };
        !is_high_number && of_buffer == Some(&self.stamp)
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
    pub(crate) stamps: Stamps,
    pub(crate) lane: u32,
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

    /// First placeholder, which is invalid if the number is 0.
    #[inline]
    pub(crate) fn target(&self) -> Entity {
        self.at(0)
    }

    #[inline]
    fn at(&self, at: u32) -> Entity {
        // Without placeholders, the number may be one too high. It is never used.
        let number = (self.first + at).min(NUMBERS - 1);
        Placeholder::new(self.stamps, self.lane, number).to_entity()
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
                    let stamps = Stamps { of_buffer: stamp, of_high_numbers: Some(stamp) };
                    let placeholder = Placeholder::new(stamps, lane, number);
                    let entity = placeholder.to_entity();
                    assert!(entity.is_placeholder() && !entity.is_null());
                    assert_ne!(entity.to_bits(), u64::MAX);
                    assert_eq!(Placeholder::of(entity), Some(placeholder));
                    assert_eq!((placeholder.lane, placeholder.number), (lane, number));
                    assert!(placeholder.is_of(stamps));
                    let others = Stamps { of_buffer: stamp ^ 2, of_high_numbers: Some(stamp ^ 2) };
                    assert!(!placeholder.is_of(others));
                    assert_eq!(entity.to_string(), format!("placeholder {lane}.{number}"));
                }
            }
        }
        assert_eq!(Placeholder::of(Entity::NULL), None);
        assert_eq!(Placeholder::of(Entity::from_parts(u32::MAX >> 1, u32::MAX)), None);
    }
}
