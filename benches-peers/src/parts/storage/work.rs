//! The stored entities, and the expected results: the same for every subject.

use std::iter;

use glam::{Mat4, Vec3};

use super::types::*;

/// Entities of the cases of ten thousand.
pub(in crate::parts) const FEW: usize = 10_000;
/// Entities of the cases of a hundred thousand.
pub(in crate::parts) const MANY: usize = 100_000;
/// Entities of the cases of 16,384.
pub(super) const SHARING: usize = 16_384;
/// Entities of the cases of a million.
pub(in crate::parts) const MILLION: usize = 1_000_000;
/// Number of groups that are cloned.
pub(super) const GROUPS: usize = 20_000;
/// Number of entities in each group that is cloned, including the root.
pub(super) const GROUP: usize = 5;
/// Elements that are pushed to each buffer.
pub(super) const PUSHED: usize = 16;
/// Number of archetypes in which the cases of archetypes create entities, in turn.
pub(super) const USED: usize = 20;
/// Number of entities that the cases of archetypes create in each archetype.
pub(super) const TURNS: usize = 500;
/// Number of marks of which the other archetypes consist.
const OTHER_MARKS: usize = 11;

/// Returns the entity of ecs_bench_suite's `simple_insert`.
#[inline]
pub(in crate::parts) fn simple() -> (Transform, Position, Rotation, Velocity) {
    (
        Transform(Mat4::from_scale(Vec3::ONE)),
        Position(Vec3::X),
        Rotation(Vec3::X),
        Velocity(Vec3::X),
    )
}

/// Returns an entity of 24 bytes.
#[inline]
pub(in crate::parts) fn body(index: usize) -> (Position, Velocity) {
    let index = index as f32;
    (Position(Vec3::new(index, 1.0, 2.0)), Velocity(Vec3::new(3.0, index, 4.0)))
}

/// An entity of 320 bytes.
pub(super) type Large = (Payload0, Payload1, Payload2, Payload3, Payload4);

/// Returns the values that all entities of `create_100k_320B` have.
pub(super) fn large() -> Large {
    let payload = |first: u8| std::array::from_fn(|index| f32::from(first) + index as f32);
    (
        Payload0(payload(0)),
        Payload1(payload(16)),
        Payload2(payload(32)),
        Payload3(payload(48)),
        Payload4(payload(64)),
    )
}

/// Returns all of `elements` in an unpredictable order.
pub(in crate::parts) fn shuffled<T>(mut elements: Vec<T>) -> Vec<T> {
    for last in (1..elements.len()).rev() {
        let chosen = mixed(last as u64) % (last as u64 + 1);
        elements.swap(last, chosen as usize);
    }
    elements
}

/// Returns the marks, by number, of each archetype that exists and gets no entities, when `alive` archetypes exist. Each has at
/// least two marks, so it differs from the archetypes in use, which have one mark.
pub(in crate::parts) fn others(alive: usize) -> impl Iterator<Item = impl Iterator<Item = usize>> {
    let several = (0..1_u32 << OTHER_MARKS).filter(|marks| marks.count_ones() > 1);
    several
        .take(alive - USED)
        .map(|marks| (0..OTHER_MARKS).filter(move |mark| marks & (1 << mark) != 0))
}

/// Returns the component that the entities of all archetypes have.
#[inline]
pub(super) fn marked(value: f32) -> Position {
    Position(Vec3::splat(value))
}

/// Returns the number that a lookup adds to a sum. It is cheap to compute, and the sum is the same in any order.
#[inline]
pub(super) fn looked_up(position: &Position) -> u64 {
    position.0.x.to_bits().into()
}

/// Condenses entities, to the bit, in any order.
pub(in crate::parts) fn in_any_order(rows: impl Iterator<Item = u64>) -> u64 {
    rows.fold(0, |sum, row| sum.wrapping_add(mixed(row)))
}

/// Condenses the components of one entity, to the bit.
pub(in crate::parts) fn row(words: impl IntoIterator<Item = f32>) -> u64 {
    words.into_iter().fold(0xcbf2_9ce4_8422_2325, |hash, word| {
        (hash ^ u64::from(word.to_bits())).wrapping_mul(0x100_0000_01b3)
    })
}

pub(in crate::parts) fn simple_row(
    transform: &Transform,
    position: &Position,
    rotation: &Rotation,
    velocity: &Velocity,
) -> u64 {
    let vectors = [position.0, rotation.0, velocity.0];
    row(transform.0.to_cols_array().into_iter().chain(vectors.iter().flat_map(Vec3::to_array)))
}

pub(in crate::parts) fn body_row(position: &Position, velocity: &Velocity) -> u64 {
    row([position.0, velocity.0].iter().flat_map(Vec3::to_array))
}

pub(super) fn large_row(
    p0: &Payload0,
    p1: &Payload1,
    p2: &Payload2,
    p3: &Payload3,
    p4: &Payload4,
) -> u64 {
    row([p0.0, p1.0, p2.0, p3.0, p4.0].into_iter().flatten())
}

/// Condenses the elements of a buffer.
pub(super) fn pushed_row(elements: impl Iterator<Item = u32>) -> u64 {
    row(elements.map(f32::from_bits))
}

/// Removes the prefabs, each of which is [large], from the result of [`in_any_order`].
pub(super) fn without_prefabs(found: u64, prefabs: usize) -> u64 {
    let (p0, p1, p2, p3, p4) = large();
    let row = large_row(&p0, &p1, &p2, &p3, &p4);
    found.wrapping_sub(in_any_order(iter::repeat_n(row, prefabs)))
}

/// Condenses some of the twenty components of a moved entity, and the component that moved it.
pub(super) fn moved_row(first: &MarkA, middle: &MarkK, last: &MarkT, moved: &MarkU) -> u64 {
    row([first.0, middle.0, last.0, moved.0])
}

/// Mixes the bits of a word with the finaliser of SplitMix64.
pub(in crate::parts) fn mixed(word: u64) -> u64 {
    let mixed = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archetypes_are_as_many_as_asked_for_and_differ() {
        let mut others: Vec<Vec<usize>> = others(2_000).map(Iterator::collect).collect();
        assert_eq!(others.len(), 1_980);
        assert!(others.iter().all(|marks| marks.len() > 1));
        others.sort_unstable();
        others.dedup();
        assert_eq!(others.len(), 1_980);
        assert_eq!(super::others(20).count(), 0);
    }

    #[test]
    fn shuffling_loses_nothing() {
        let mut numbers = shuffled((0..1_000).collect());
        assert_ne!(numbers, (0..1_000).collect::<Vec<_>>());
        numbers.sort_unstable();
        assert_eq!(numbers, (0..1_000).collect::<Vec<_>>());
    }
}
