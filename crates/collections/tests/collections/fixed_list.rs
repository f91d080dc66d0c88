//! Lists of fixed size: contents, refusals and bytes.

use crate::common::panics;

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use ancho_collections::{
    FixedList, FixedList32, FixedList64, FixedList128, FixedList512, FixedList4096, FixedListFull,
};
use panics::assert_panics;

/// Six elements: small enough to overflow.
type Tiny = FixedList<u8, 8>;

const FULL: [u8; 6] = [1, 2, 3, 4, 5, 6];

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(align(32))]
struct Aligned32(u8);

/// Four bytes aligned, with three of padding in the middle.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(C)]
struct Padded(u8, u32);

/// Returns the sizes of the five lists, and their capacities.
fn sizes_and_capacities<T: Copy>() -> [(usize, usize); 5] {
    [
        (size_of::<FixedList32<T>>(), FixedList32::<T>::CAPACITY),
        (size_of::<FixedList64<T>>(), FixedList64::<T>::CAPACITY),
        (size_of::<FixedList128<T>>(), FixedList128::<T>::CAPACITY),
        (size_of::<FixedList512<T>>(), FixedList512::<T>::CAPACITY),
        (size_of::<FixedList4096<T>>(), FixedList4096::<T>::CAPACITY),
    ]
}

fn expected(capacities: [usize; 5]) -> [(usize, usize); 5] {
    let [a, b, c, d, e] = capacities;
    [(32, a), (64, b), (128, c), (512, d), (4096, e)]
}

#[test]
fn the_size_is_fixed_and_the_capacity_is_the_rest_after_the_length() {
    assert_eq!(sizes_and_capacities::<u8>(), expected([30, 62, 126, 510, 4094]));
    assert_eq!(sizes_and_capacities::<[u8; 3]>(), expected([10, 20, 42, 170, 1364]));
    assert_eq!(sizes_and_capacities::<u16>(), expected([15, 31, 63, 255, 2047]));
    assert_eq!(sizes_and_capacities::<u32>(), expected([7, 15, 31, 127, 1023]));
    assert_eq!(sizes_and_capacities::<[f32; 3]>(), expected([2, 5, 10, 42, 341]));
    assert_eq!(sizes_and_capacities::<Padded>(), expected([3, 7, 15, 63, 511]));
    assert_eq!(sizes_and_capacities::<u128>(), expected([1, 3, 7, 31, 255]));
    assert_eq!(sizes_and_capacities::<()>(), expected([65535; 5]));
    #[cfg(target_pointer_width = "64")]
    assert_eq!(sizes_and_capacities::<u64>(), expected([3, 7, 15, 63, 511]));
    assert_eq!(
        (size_of::<FixedList64<Aligned32>>(), align_of::<FixedList64<Aligned32>>()),
        (64, 32)
    );
    assert_eq!(FixedList64::<Aligned32>::CAPACITY, 1);
    assert_eq!(align_of::<FixedList32<u8>>(), 1);
    assert_eq!(FixedList::<[u8; 30], 32>::CAPACITY, 1);
}

#[test]
fn bytes_are_length_elements_and_zeros() {
    assert_eq!(Tiny::new().raw_bytes(), &[0; 8]);
    assert_eq!(Tiny::from([7, 9]).raw_bytes(), &[2, 0, 7, 9, 0, 0, 0, 0]);
    assert_eq!(Tiny::from(FULL).raw_bytes(), &[6, 0, 1, 2, 3, 4, 5, 6]);
    // A gap before elements of four bytes, and none before those of two.
    let word = 0x0403_0201_u32.to_le();
    let words = FixedList::<u32, 12>::from([word]);
    assert_eq!(words.raw_bytes(), &[1, 0, 0, 0, 1, 2, 3, 4, 0, 0, 0, 0]);
    let halves = FixedList::<u16, 8>::from([0x0201_u16.to_le()]);
    assert_eq!(halves.raw_bytes(), &[1, 0, 1, 2, 0, 0, 0, 0]);
    let mut long = FixedList512::<u8>::new();
    long.resize(300, 1);
    assert_eq!(long.raw_bytes()[..3], [300_u16.to_le_bytes()[0], 1, 1]);
    assert_eq!(FixedList32::<u32>::default().raw_bytes(), &[0; 32]);
}

#[test]
fn nothing_stays_behind_a_list_that_became_shorter() {
    let mut list = Tiny::from(FULL);
    assert_eq!(list.pop(), Some(6));
    assert_eq!(list.raw_bytes(), &[5, 0, 1, 2, 3, 4, 5, 0]);
    assert_eq!(list.remove(0), 1);
    assert_eq!(list.raw_bytes(), &[4, 0, 2, 3, 4, 5, 0, 0]);
    assert_eq!(list.swap_remove(0), 2);
    assert_eq!(list.raw_bytes(), &[3, 0, 5, 3, 4, 0, 0, 0]);
    list.retain(|value| *value != 5);
    assert_eq!(list.raw_bytes(), &[2, 0, 3, 4, 0, 0, 0, 0]);
    list.truncate(1);
    assert_eq!(list.raw_bytes(), &[1, 0, 3, 0, 0, 0, 0, 0]);
    list.resize(3, 9);
    list.resize(2, 8);
    assert_eq!(list.raw_bytes(), &[2, 0, 3, 9, 0, 0, 0, 0]);
    list.clear();
    assert_eq!(list.raw_bytes(), &[0; 8]);
}

#[test]
fn a_full_list_returns_elements_that_do_not_fit() {
    let mut list = Tiny::from(FULL);
    assert!(list.is_full());
    assert_eq!(list.try_push(7), Err(FixedListFull { value: 7, capacity: 6 }));
    assert_eq!(list.try_extend_from_slice(&[]), Ok(()));
    assert_eq!(list, FULL);
    list.pop();
    let two: &[u8] = &[7, 8];
    let full = list.try_extend_from_slice(two).unwrap_err();
    assert_eq!((full.value, full.capacity), (two, 6));
    assert_eq!(list, FULL[..5]);
    assert_eq!(list.try_push(7), Ok(()));
    assert_eq!(Tiny::try_from(&FULL[..]), Ok(Tiny::from(FULL)));
    assert!(Tiny::try_from(&[0; 7][..]).is_err());
    assert_eq!(
        full.to_string(),
        "the list holds 6 elements, and has no room for more; take a larger size"
    );
    assert_eq!(format!("{full:?}"), full.to_string());
}

#[test]
fn a_full_list_panics_and_is_left_as_it_was() {
    let more = |len, more| {
        format!(
            "A0032: a FixedList<u8, 8> with {len} elements has no room for {more} more, since it holds 6; take a \
             larger size, or use `try_push`, which returns the element"
        )
    };
    let mut list = Tiny::from(FULL);
    assert_panics(|| list.push(7), &more(6, 1));
    assert_panics(|| list.insert(0, 7), &more(6, 1));
    assert_panics(|| list.extend_from_slice(&[7, 8]), &more(6, 2));
    assert_panics(|| list.resize(7, 0), &more(6, 1));
    assert_eq!(list, FULL);
    list.truncate(2);
    assert_panics(|| list.extend_from_slice(&FULL), &more(2, 6));
    assert_panics(|| list.resize(usize::MAX, 0), &more(2, usize::MAX - 2));
    assert_eq!(list, [1, 2]);
    // An iterator runs once, so the elements before the overflow are kept.
    assert_panics(|| list.extend(3..=9), &more(6, 1));
    assert_eq!(list, FULL);
    assert_panics(|| (0..7).collect::<Tiny>(), &more(6, 1));
    assert_eq!((1..=6).collect::<Tiny>(), FULL);
}

#[test]
fn an_index_beyond_the_end_is_refused() {
    let refused = |what, index| {
        format!(
            "A0033: cannot {what} index {index} of a FixedList<u8, 8> with 2 elements; compare the index \
             with `len()` first"
        )
    };
    let mut list = Tiny::from([1, 2]);
    assert_panics(|| list.insert(3, 0), &refused("insert at", 3));
    assert_panics(|| list.remove(2), &refused("remove", 2));
    assert_panics(|| list.swap_remove(2), &refused("remove", 2));
    assert_eq!(list, [1, 2]);
    list.insert(2, 3);
    assert_eq!(list, [1, 2, 3]);
    let mut empty = Tiny::new();
    assert_eq!(empty.pop(), None);
    assert!(catch_unwind(AssertUnwindSafe(|| empty.remove(0))).is_err());
}

#[test]
fn elements_are_aligned() {
    let list = FixedList64::from([Aligned32(7)]);
    assert_eq!(list.as_ptr().addr() % 32, 0);
    assert_eq!(list, [Aligned32(7)]);
    let mut copies = [FixedList32::from([1_u128]); 3];
    copies[1][0] = u128::MAX;
    assert_eq!(copies.map(|copy| copy[0]), [1, u128::MAX, 1]);
}

#[test]
fn elements_of_any_copy_type_are_held() {
    let mut padded = FixedList32::from([Padded(1, 2), Padded(3, 4), Padded(5, 6)]);
    assert_eq!(padded.remove(1), Padded(3, 4));
    assert_eq!(padded, [Padded(1, 2), Padded(5, 6)]);
    let word = String::from("año");
    let words = FixedList64::from([word.as_str(), &word[..1]]);
    assert_eq!(words, ["año", "a"]);
    let mut options = FixedList32::from([Some('a'), None]);
    options.reverse();
    assert_eq!(options, [None, Some('a')]);
    let mut units = FixedList32::<()>::new();
    units.resize(65535, ());
    assert!(units.is_full() && units.try_push(()).is_err());
    assert_eq!((units.pop(), units.len()), (Some(()), 65534));
}

#[test]
fn ranges_are_inserted_and_removed_as_a_whole_or_not_at_all() {
    let mut list = FixedList32::from([1_u32, 2, 6, 7]);
    list.insert_slice(2, &[3, 4, 5]);
    assert_eq!(list, [1, 2, 3, 4, 5, 6, 7]);
    assert!(list.is_full());
    // The bytes of removed elements are zero, as in a list that never had them.
    list.remove_range(0..2);
    assert_eq!(list.raw_bytes(), FixedList32::from([3_u32, 4, 5, 6, 7]).raw_bytes());
    list.swap_remove_range(1..3);
    assert_eq!(list.raw_bytes(), FixedList32::from([3_u32, 6, 7]).raw_bytes());
    list.swap_remove_range(0..2);
    assert_eq!(list, [7]);
    list.push_repeated(9, 2);
    list.remove_range(3..3);
    list.insert_slice(3, &[]);
    assert_eq!(list, [7, 9, 9]);

    let before = list;
    assert_eq!(list.try_insert_slice(1, &[0; 5]).unwrap_err().value, [0; 5]);
    assert_eq!(list.try_push_repeated(5, 5).unwrap_err().value, 5);
    assert_eq!(list.try_push_repeated(5, usize::MAX).unwrap_err().capacity, 7);
    assert_eq!(list.try_resize(8, 5).unwrap_err().value, 5);
    assert_eq!(list, before);
    let full = "A0032: a FixedList<u32, 32> with 3 elements has no room for 5 more, since it holds 7; take a larger \
                size, or use `try_push`, which returns the element";
    assert_panics(|| list.insert_slice(0, &[0; 5]), full);
    assert_panics(|| list.push_repeated(0, 5), full);
    assert_panics(|| list.resize(8, 0), full);
    let range = |range: &str| {
        format!(
            "A0033: cannot remove the range {range} of a FixedList<u32, 32> with 3 elements; compare the range \
             with `len()` first"
        )
    };
    assert_panics(|| list.remove_range(2..4), &range("2..4"));
    assert_panics(|| list.swap_remove_range(2..4), &range("2..4"));
    let reversed = std::ops::Range { start: 2, end: 1 };
    assert_panics(|| list.remove_range(reversed), &range("2..1"));
    let index = "A0033: cannot insert at index 4 of a FixedList<u32, 32> with 3 elements; compare the index with \
                 `len()` first";
    assert_panics(|| list.insert_slice(4, &[]), index);
    assert_eq!(list, before);
}

#[test]
fn a_list_is_a_slice() {
    let mut list = FixedList32::from([3_u32, 1, 2]);
    list.sort_unstable();
    list[0] = 9;
    assert_eq!(list.iter().position(|value| *value == 3), Some(2));
    assert!(list.contains(&9) && !list.contains(&1));
    for value in &mut list {
        *value += 1;
    }
    let mut sum = 0;
    for value in &list {
        sum += value;
    }
    assert_eq!((sum, list.as_slice()), (17, &[10, 3, 4][..]));
    assert_eq!(format!("{list:?}"), "[10, 3, 4]");
    assert_eq!(Vec::from(list), [10, 3, 4]);
}

#[test]
fn elements_are_removed_from_both_ends() {
    let mut elements = Tiny::from([1, 2, 3, 4]).into_iter();
    assert_eq!((elements.next(), elements.next_back(), elements.len()), (Some(1), Some(4), 2));
    assert_eq!(format!("{elements:?}"), "FixedListIntoIter([2, 3])");
    assert_eq!((elements.next_back(), elements.next()), (Some(3), Some(2)));
    assert_eq!((elements.next_back(), elements.next(), elements.len()), (None, None, 0));
    assert!(Tiny::from([1, 2]).into_iter().rev().eq([2, 1]));
}

#[test]
fn comparison_is_that_of_slices() {
    let (a, b) = (FixedList32::from([1, 2]), FixedList64::from([1, 3]));
    assert!(a < b && a != b && a == FixedList64::from([1, 2]) && a > FixedList32::from([1]));
    let slice: &[i32] = &[1, 2];
    assert!(a == [1, 2] && a == *slice && a == slice);
    assert_eq!(a.max(FixedList32::from([2])), [2]);
    assert_eq!(HashMap::from([(a, 'x')]).get(&[1, 2][..]), Some(&'x'));
    assert!(FixedList32::from([f32::NAN]) != FixedList32::from([f32::NAN]));
}

#[test]
fn a_predicate_that_panics_doubles_and_loses_no_element() {
    let mut list = Tiny::from(FULL);
    let panicking = |value: &u8| if *value == 4 { panic!("four") } else { *value > 1 };
    assert_panics(|| list.retain(panicking), "four");
    assert_eq!(list, [2, 3, 4, 5, 6]);
    assert_eq!(list.raw_bytes(), Tiny::from([2, 3, 4, 5, 6]).raw_bytes());
}

#[test]
fn a_constant_is_a_list() {
    const EMPTY: FixedList32<u32> = FixedList32::new();
    const LENGTH: usize = EMPTY.as_slice().len();
    assert_eq!((EMPTY, LENGTH), (FixedList32::from([]), 0));
}
