//! Bit arrays compared with a `Vec<bool>`.

use crate::common::model;

use std::panic::{AssertUnwindSafe, catch_unwind};

use ancho_collections::{BitArray, NativeBitArray};
use ancho_jobs::{JobPool, JobScheduler};
use model::{cases, time_is_up};
use proptest::prelude::*;

/// Returns the message of a panic.
fn panic_of<R>(run: impl FnOnce() -> R) -> String {
    let panic = catch_unwind(AssertUnwindSafe(run)).map(drop).unwrap_err();
    panic.downcast_ref::<String>().unwrap().clone()
}

#[test]
fn bits_are_false_until_they_are_set() {
    let mut bits = BitArray::new(130);
    assert!(bits.test_none(..) && !bits.test_any(..) && !bits.test_all(..));
    for index in [0, 63, 64, 127, 128, 129] {
        bits.set(index, true);
        assert!(bits.get(index));
    }
    assert!(bits.iter_ones().eq([0, 63, 64, 127, 128, 129]));
    assert_eq!(bits.as_words(), [1 | 1 << 63, 1 | 1 << 63, 0b11]);
    bits.set(63, false);
    assert!(!bits.get(63) && bits.get(64));
    assert_eq!(format!("{:?}", BitArray::from([true, false, true])), "BitArray(101)");
}

#[test]
fn bad_indices_and_ranges_are_refused() {
    let mut bits = BitArray::new(100);
    assert_eq!(
        panic_of(|| bits.set(100, true)),
        "A0014: index 100 is outside of a bit array of 100 elements; check the length first"
    );
    let refused = "A0014: the range 90..101 is outside of a bit array of 100 elements; check the length \
                   first";
    assert_eq!(panic_of(|| bits.set_range(90..101, true)), refused);
    assert_eq!(panic_of(|| bits.set_bits(90, 0, 11)), refused);
    assert_eq!(panic_of(|| bits.get_bits(90, 11)), refused);
    assert_eq!(panic_of(|| bits.count_ones(90..=100)), refused);
    assert_eq!(panic_of(|| bits.find_zeros(90..101, 1)), refused);
    assert_eq!(panic_of(|| bits.copy_within(0..11, 90)), refused);
    assert_eq!(panic_of(|| bits.copy_from(90, &BitArray::new(20), 0..11)), refused);
    #[expect(clippy::reversed_empty_ranges, reason = "what is refused")]
    let reversed = 5..3;
    assert!(panic_of(|| bits.test_all(reversed)).starts_with("A0014: the range 5..3 is "));
    assert!(panic_of(|| bits.test_any(..=usize::MAX)).starts_with("A0014: "));
    assert!(panic_of(|| bits.copy_within(0..1, usize::MAX)).starts_with("A0014: "));
    assert!(panic_of(|| bits.get_bits(usize::MAX, 1)).starts_with("A0014: "));
    assert_eq!(
        panic_of(|| bits.get_bits(0, 65)),
        "A0014: 65 bits are more than the 64 of a word; take them in several parts"
    );
    assert!(bits.test_none(..), "nothing was changed");
}

#[test]
fn zeros_are_found_across_words() {
    let mut bits = BitArray::new(300);
    bits.set_range(.., true);
    bits.set_range(60..200, false);
    assert_eq!(bits.find_zeros(.., 140), Some(60));
    assert_eq!(bits.find_zeros(.., 141), None);
    assert_eq!(bits.find_zeros(100.., 100), Some(100));
    assert_eq!(bits.find_zeros(..100, 41), None);
    assert_eq!(bits.find_zeros(.., usize::MAX), None);
    assert_eq!(bits.find_zeros(300.., 0), Some(300));
    assert_eq!(bits.find_zeros(300.., 1), None);
    assert_eq!(BitArray::new(0).find_zeros(.., 1), None);
}

#[test]
fn a_job_writes_bits() {
    let jobs = JobScheduler::new(&JobPool::new());
    let mut bits = NativeBitArray::new(100).named("seen");
    assert!(bits.label().to_string().starts_with("`seen` (NativeBitArray made at "));
    jobs.complete(jobs.schedule(&[], bits.write(), |bits| bits.set_range(10..20, true)).unwrap());
    assert_eq!(bits.get().unwrap().count_ones(..), 10);
}

#[derive(Debug, Clone)]
enum Step {
    Set(usize, bool),
    SetRange(usize, usize, bool),
    SetBits(usize, u64, usize),
    CopyWithin(usize, usize, usize),
    CopyFrom(usize, Vec<bool>, usize),
    Resize(usize, bool),
    Clear,
}

fn step() -> impl Strategy<Value = Step> {
    let any_index = any::<usize>;
    prop_oneof![
        4 => (any_index(), any::<bool>()).prop_map(|(index, value)| Step::Set(index, value)),
        4 => (any_index(), any_index(), any::<bool>()).prop_map(|(a, b, value)| Step::SetRange(a, b, value)),
        4 => (any_index(), any::<u64>(), 0_usize..=64)
            .prop_map(|(index, value, count)| Step::SetBits(index, value, count)),
        2 => (any_index(), any_index(), any_index()).prop_map(|(a, b, to)| Step::CopyWithin(a, b, to)),
        2 => (any_index(), prop::collection::vec(any::<bool>(), 0..200), any_index())
            .prop_map(|(to, bits, from)| Step::CopyFrom(to, bits, from)),
        1 => (0_usize..400, any::<bool>()).prop_map(|(length, value)| Step::Resize(length, value)),
        1 => Just(Step::Clear),
    ]
}

/// Maps any two numbers to a range of an array.
fn range(a: usize, b: usize, length: usize) -> std::ops::Range<usize> {
    let (a, b) = (a % (length + 1), b % (length + 1));
    a.min(b)..a.max(b)
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn bits_are_a_vector_of_booleans(
        first in prop::collection::vec(any::<bool>(), 0..300),
        steps in prop::collection::vec(step(), 0..40),
        looks in prop::collection::vec((any::<usize>(), any::<usize>(), 0_usize..100), 5),
    ) {
        if time_is_up() {
            return Ok(());
        }
        let mut model = first;
        let mut bits: BitArray = model.iter().copied().collect();
        for step in steps {
            let length = model.len();
            match step {
                Step::Set(index, value) if length > 0 => {
                    bits.set(index % length, value);
                    model[index % length] = value;
                }
                Step::Set(..) => {}
                Step::SetRange(a, b, value) => {
                    bits.set_range(range(a, b, length), value);
                    model[range(a, b, length)].fill(value);
                }
                Step::SetBits(index, value, count) => {
                    let start = index % (length + 1);
                    let count = count.min(length - start);
                    bits.set_bits(start, value, count);
                    (0..count).for_each(|bit| model[start + bit] = value >> bit & 1 == 1);
                }
                Step::CopyWithin(a, b, to) => {
                    let from = range(a, b, length);
                    let to = to % (length - from.len() + 1);
                    bits.copy_within(from.clone(), to);
                    model.copy_within(from, to);
                }
                Step::CopyFrom(to, other, a) => {
                    // Every other time at the start of a word.
                    let to = if a % 2 == 0 { to } else { to / 64 * 64 };
                    let to = to % (length + 1);
                    let from = if a % 2 == 0 { a % (other.len() + 1) } else { 0 };
                    let count = (length - to).min(other.len() - from);
                    let from = from..from + count;
                    bits.copy_from(to, &other.iter().copied().collect(), from.clone());
                    model[to..to + count].copy_from_slice(&other[from]);
                }
                Step::Resize(length, value) => {
                    bits.resize(length, value);
                    model.resize(length, value);
                }
                Step::Clear => {
                    bits.clear();
                    model.fill(false);
                }
            }
            let copy: BitArray = model.iter().copied().collect();
            prop_assert_eq!(&bits, &copy, "also in the bits beyond the length");
        }

        let length = model.len();
        prop_assert_eq!(bits.len(), length);
        prop_assert!(bits.iter_ones().eq((0..length).filter(|&index| model[index])));
        for (a, b, count) in looks {
            let range = range(a, b, length);
            let part = &model[range.clone()];
            prop_assert_eq!(bits.count_ones(range.clone()), part.iter().filter(|bit| **bit).count());
            prop_assert_eq!(bits.test_all(range.clone()), part.iter().all(|bit| *bit));
            prop_assert_eq!(bits.test_any(range.clone()), part.iter().any(|bit| *bit));
            prop_assert_eq!(bits.test_none(range.clone()), !part.iter().any(|bit| *bit));
            let zeros = (range.start..=range.end.saturating_sub(count))
                .find(|&start| start + count <= range.end && !model[start..start + count].contains(&true));
            prop_assert_eq!(bits.find_zeros(range.clone(), count), zeros);
            let count = count.min(64).min(length - range.start);
            let number = (0..count).map(|bit| u64::from(model[range.start + bit]) << bit).sum::<u64>();
            prop_assert_eq!(bits.get_bits(range.start, count), number);
        }
    }
}
