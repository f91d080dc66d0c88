//! Lists: growth, and changes of length.

use crate::common;

use std::ops::Range;

use ancho_collections::{Allocator, CapacityError, List, NativeList};
use common::source::limited;
use common::{WORKERS, assert_refused, panic_message, scheduler};

/// Returns the capacities of a list during `pushes` pushes.
fn capacities<T: Default>(pushes: usize) -> Vec<usize> {
    let mut list = List::new();
    let mut capacities = vec![list.capacity()];
    for _ in 0..pushes {
        list.push(T::default());
        if capacities.last() != Some(&list.capacity()) {
            capacities.push(list.capacity());
        }
    }
    capacities
}

#[test]
fn a_list_grows_to_powers_of_two_and_has_a_line_at_least() {
    assert_eq!(capacities::<u8>(129), [0, 64, 128, 256]);
    assert_eq!(capacities::<u32>(65), [0, 16, 32, 64, 128]);
    assert_eq!(capacities::<u64>(33), [0, 8, 16, 32, 64]);
    assert_eq!(capacities::<[u64; 4]>(9), [0, 2, 4, 8, 16]);
    assert_eq!(capacities::<[u64; 8]>(5), [0, 1, 2, 4, 8]);
    assert_eq!(capacities::<[u64; 20]>(5), [0, 1, 2, 4, 8]);
    // Two and a half elements fill a line.
    let capacities = capacities::<[u8; 24]>(100);
    assert!(capacities[1] * 24 >= 48 && capacities[1..].iter().all(|n| n.is_power_of_two()));
}

#[test]
fn a_reserved_capacity_grows_to_the_next_power_of_two() {
    let mut list = List::<u32>::with_capacity(100);
    assert_eq!(list.capacity(), 100);
    list.push_repeated(7, 100);
    assert_eq!(list.capacity(), 100);
    list.push(8);
    assert_eq!(list.capacity(), 128);

    let mut list = List::new();
    list.extend_from_slice(&[5_u32; 17]);
    assert_eq!(list.capacity(), 32);
    let mut list = List::<u32>::new();
    list.reserve(65);
    assert_eq!(list.capacity(), 128);
    list.reserve(128);
    assert_eq!(list.capacity(), 128, "there is room");
    list.push(1);
    list.reserve(128);
    assert_eq!(list.capacity(), 256);
}

#[test]
fn a_capacity_is_exact() {
    let mut list = List::from([1_u32, 2, 3]);
    for capacity in [3, 4, 17, 1000, 5, 3] {
        list.set_capacity(capacity).unwrap();
        assert_eq!((list.capacity(), &list[..]), (capacity, &[1, 2, 3][..]));
    }
    list.clear();
    list.set_capacity(0).unwrap();
    assert_eq!(list.capacity(), 0);
    list.push(9);
    assert_eq!(list[..], [9]);
}

#[test]
fn a_capacity_below_the_length_is_refused_and_nothing_changes() {
    let mut list = List::from([1_u32, 2, 3]);
    list.set_capacity(10).unwrap();
    let place = list.as_ptr();
    for capacity in 0..3 {
        let refused = list.set_capacity(capacity).unwrap_err();
        assert_eq!(refused, CapacityError::BelowLength { capacity, length: 3 });
        assert!(refused.to_string().starts_with("A0016: "));
        assert_eq!((list.as_ptr(), list.capacity(), &list[..]), (place, 10, &[1, 2, 3][..]));
    }
    let refused = list.set_capacity(usize::MAX).unwrap_err();
    assert!(refused.to_string().starts_with("A0017: "), "{refused}");
    assert_eq!((list.as_ptr(), list.capacity()), (place, 10));
    list.push(4);
    assert_eq!(list[..], [1, 2, 3, 4]);
}

#[test]
fn elements_are_inserted_anywhere() {
    let mut list = List::from([2_u32]);
    list.insert(0, 1);
    list.insert(2, 4);
    list.insert(2, 3);
    assert_eq!(list[..], [1, 2, 3, 4]);
    list.insert_slice(4, &[7, 8]);
    list.insert_slice(4, &[5, 6]);
    list.insert_slice(0, &[-1_i32 as u32, 0]);
    list.insert_slice(3, &[]);
    assert_eq!(list[1..], [0, 1, 2, 3, 4, 5, 6, 7, 8]);
    list.insert_slice(1, &[9; 1000]);
    assert_eq!((list.len(), list[0], list[1], list[1000], list[1001]), (1010, u32::MAX, 9, 9, 0));
}

#[test]
fn elements_are_removed_from_anywhere() {
    let mut list = List::from([0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!((list.remove(7), list.remove(0), list.remove(2)), (7, 0, 3));
    assert_eq!(list[..], [1, 2, 4, 5, 6]);
    assert_eq!((list.swap_remove(4), list.swap_remove(1)), (6, 2));
    assert_eq!(list[..], [1, 5, 4]);
    list.remove_range(1..1);
    list.remove_range(0..2);
    assert_eq!(list[..], [4]);
    list.remove_range(0..1);
    assert!(list.is_empty());
}

#[test]
fn elements_from_the_end_replace_a_removed_range() {
    let after = |range: Range<usize>| {
        let mut list = List::from([0, 1, 2, 3, 4, 5]);
        list.swap_remove_range(range);
        list.to_vec()
    };
    assert_eq!(after(0..0), [0, 1, 2, 3, 4, 5]);
    assert_eq!(after(0..1), [5, 1, 2, 3, 4]);
    assert_eq!(after(1..3), [0, 4, 5, 3]);
    assert_eq!(after(0..3), [3, 4, 5]);
    assert_eq!(after(1..5), [0, 5], "fewer are after the range than in it");
    assert_eq!(after(2..6), [0, 1]);
    assert_eq!(after(0..6), []);
    assert_eq!(after(6..6), [0, 1, 2, 3, 4, 5]);
}

#[test]
fn a_length_is_changed_from_the_end() {
    let mut list = List::from([1, 2]);
    list.push_repeated(7, 0);
    list.push_repeated(7, 2);
    assert_eq!(list[..], [1, 2, 7, 7]);
    list.resize(6, 0);
    assert_eq!(list[..], [1, 2, 7, 7, 0, 0]);
    list.resize(3, 9);
    list.truncate(10);
    assert_eq!(list[..], [1, 2, 7]);
    list.truncate(1);
    list.resize(1, 9);
    assert_eq!(list[..], [1]);
    list.truncate(0);
    assert_eq!(list.pop(), None);
}

#[test]
fn retain_keeps_the_order_and_tests_each_element_once() {
    let mut list: List<u32> = (0..10).collect();
    let mut asked = Vec::new();
    list.retain(|value| {
        asked.push(*value);
        value % 3 == 0
    });
    assert_eq!(list[..], [0, 3, 6, 9]);
    assert!(asked.into_iter().eq(0..10));
    list.retain(|_| false);
    assert!(list.is_empty() && list.capacity() >= 10);
}

#[test]
fn a_slice_sorts_and_searches() {
    let mut list = List::from([5, 3, 9, 1]);
    assert_eq!(list.iter().position(|value| *value == 9), Some(2));
    assert_eq!(list.iter().position(|value| *value == 4), None);
    list.sort_unstable_by(|one, two| two.cmp(one));
    assert_eq!(list[..], [9, 5, 3, 1]);
    list.sort();
    assert_eq!((list.binary_search(&5), list.binary_search(&4)), (Ok(2), Err(2)));
    assert!(list.contains(&3) && !list.contains(&4));
    for value in &mut list {
        *value *= 2;
    }
    assert!((&list).into_iter().eq(&[2, 6, 10, 18]));
    assert_eq!((list.get(4), list.first(), list.last()), (None, Some(&2), Some(&18)));
}

#[test]
fn places_outside_of_a_list_are_refused_and_nothing_changes() {
    let mut list = List::from([1, 2, 3]);
    let refused: [fn(&mut List<i32>); 10] = [
        |list| list.insert(4, 9),
        |list| list.insert(usize::MAX, 9),
        |list| list.insert_slice(4, &[9, 9]),
        |list| list.insert_slice(usize::MAX, &[]),
        |list| _ = list.remove(3),
        |list| _ = list.remove(usize::MAX),
        |list| _ = list.swap_remove(3),
        |list| list.remove_range(1..4),
        |list| list.swap_remove_range(0..4),
        |list| list.swap_remove_range(usize::MAX - 1..usize::MAX),
    ];
    for (number, call) in refused.into_iter().enumerate() {
        let message = panic_message(|| call(&mut list));
        assert!(message.starts_with("A0014: ") && message.contains(" of 3 elements"), "{message}");
        assert_eq!(list[..], [1, 2, 3], "call {number}");
    }
    let backwards = Range { start: 2, end: 1 };
    assert_refused("A0014", || list.remove_range(backwards.clone()));
    assert_refused("A0014", || list.swap_remove_range(backwards.clone()));
    assert_refused("A0014", || List::<u8>::new().swap_remove(0));
    list.push(4);
    assert_eq!(list[..], [1, 2, 3, 4]);
}

#[test]
fn a_refusal_names_the_place_and_the_length() {
    let mut list = List::from([1, 2, 3]);
    assert_eq!(
        panic_message(|| list.remove(5)),
        "A0014: index 5 is outside of a list of 3 elements; check the length first"
    );
    assert_eq!(
        panic_message(|| list.remove_range(2..7)),
        "A0014: the range 2..7 is outside of a list of 3 elements; check the length first"
    );
}

#[test]
fn a_value_without_memory_is_returned() {
    let (allocator, ledger) = limited(128);
    let mut list = List::with_capacity_in(2, &allocator);
    list.push("one".to_owned());
    list.push("two".to_owned());
    ledger.refuse();
    let (place, capacity) = (list.as_ptr(), list.capacity());
    let rejected = list.try_push("three".to_owned()).unwrap_err();
    assert_eq!(rejected.value, "three");
    assert_eq!((rejected.error.allocator, rejected.error.element_size), ("Limited", 24));
    let refused = list.try_reserve(1).unwrap_err();
    assert!(refused.to_string().starts_with("A0017: the allocator `Limited` has no room for "));
    assert!(matches!(list.set_capacity(10).unwrap_err(), CapacityError::Allocation(_)));
    assert_eq!((list.as_ptr(), list.capacity(), list.len()), (place, capacity, 2));
    assert_eq!(list[..], ["one", "two"]);

    ledger.limit(10_000);
    list.try_push(rejected.value).unwrap();
    assert_eq!(list[..], ["one", "two", "three"]);
    drop(list);
    assert_eq!(ledger.out(), 0);
}

#[test]
fn a_call_that_there_is_no_memory_for_changes_nothing() {
    let (allocator, ledger) = limited(4 * 4);
    let mut list = List::with_capacity_in(4, &allocator);
    list.extend_from_slice(&[1_u32, 2, 3, 4]);
    let refused: [fn(&mut List<u32>); 7] = [
        |list| list.push(5),
        |list| list.push_repeated(5, 3),
        |list| list.resize(100, 5),
        |list| list.insert(1, 5),
        |list| list.insert_slice(1, &[5, 6]),
        |list| list.extend_from_slice(&[5, 6]),
        |list| list.reserve(1),
    ];
    for (number, call) in refused.into_iter().enumerate() {
        let message = panic_message(|| call(&mut list));
        assert!(message.starts_with("A0017: the allocator `Limited` has no room"), "{message}");
        assert_eq!(list[..], [1, 2, 3, 4], "call {number}");
        assert_eq!((list.capacity(), ledger.out()), (4, 16), "call {number}");
    }
    assert_refused("A0017", || List::<u32>::with_capacity_in(5, &allocator));
    ledger.limit(1000);
    list.insert(1, 9);
    assert_eq!(list[..], [1, 9, 2, 3, 4]);
}

#[test]
fn a_list_that_cannot_double_returns_an_error() {
    // A line of eight elements, next to which sixteen do not fit.
    let (allocator, _) = limited(64 + 100);
    let mut list = List::new_in(&allocator);
    (0..8_u64).for_each(|value| list.push(value));
    assert!(list.try_push(8).is_err());
    assert!(list.iter().copied().eq(0..8));
}

#[test]
fn capacity_that_cannot_be_reduced_is_an_error() {
    let (allocator, ledger) = limited(1000);
    let mut list = List::with_capacity_in(100, &allocator);
    list.extend_from_slice(&[1_u32, 2, 3]);
    ledger.refuse();
    let changed = list.set_capacity(10);
    assert_eq!(list[..], [1, 2, 3]);
    match changed {
        Ok(()) => assert_eq!(list.capacity(), 10),
        Err(refused) => {
            assert!(refused.to_string().starts_with("A0017: "), "{refused}");
            assert_eq!(list.capacity(), 100);
        }
    }
}

#[test]
fn a_copy_that_there_is_no_memory_for_is_refused() {
    let (allocator, ledger) = limited(1000);
    let mut list = List::with_capacity_in(4, &allocator);
    list.extend_from_slice(&[1_u32, 2, 3, 4]);
    ledger.refuse();
    assert_refused("A0017", || list.clone());
    assert_refused("A0017", || list.extend([5]));
    assert_refused("A0017", || list.extend((5..100).filter(|value| value % 2 == 0)));
    assert_eq!(list[..], [1, 2, 3, 4]);
}

#[test]
fn absurd_sizes_are_refused() {
    let mut list = List::from([1_u64, 2, 3]);
    for elements in [usize::MAX, usize::MAX - 3, usize::MAX / 8, isize::MAX as usize / 8, 1 << 60] {
        assert!(list.try_reserve(elements).is_err(), "{elements}");
        assert_refused("A0017", || list.reserve(elements));
        assert_refused("A0017", || list.push_repeated(1, elements));
        assert_refused("A0017", || list.resize(elements, 1));
        assert_refused("A0017", || List::<u64>::with_capacity(elements));
    }
    assert_eq!(list[..], [1, 2, 3]);
}

#[test]
fn an_empty_list_takes_no_memory() {
    let (allocator, ledger) = limited(0);
    let mut list = List::new_in(&allocator);
    list.push_repeated((), 1000);
    list.insert(500, ());
    list.insert_slice(0, &[(), ()]);
    assert_eq!((list.len(), list.remove(0), list.pop()), (1003, (), Some(())));
    list.swap_remove_range(10..20);
    list.remove_range(0..90);
    list.retain(|()| true);
    assert_eq!((list.len(), list.clone().len(), ledger.calls()), (901, 901, 0));
    assert_refused("A0014", || list.swap_remove(901));
    list.truncate(3);
    assert_eq!(format!("{list:?}"), "[(), (), ()]");
}

#[test]
fn there_can_be_no_more_than_a_usize_of_nothing() {
    let mut list = List::new();
    list.extend_from_slice(&[(); usize::MAX]);
    assert_eq!(list.len(), usize::MAX);
    assert!(list.try_push(()).is_err());
    assert!(list.try_reserve(1).is_err());
    assert_refused("A0017", || list.push(()));
    assert_refused("A0017", || list.insert(0, ()));
    assert_refused("A0017", || list.extend_from_slice(&[()]));
    assert_eq!((list.len(), list.pop()), (usize::MAX, Some(())));
}

#[test]
fn a_clone_is_separate_and_uses_the_same_allocator() {
    let (allocator, ledger) = limited(10_000);
    let mut list = List::new_in(&allocator);
    list.extend(["one", "two"].map(str::to_owned));
    let mut clone = list.clone();
    clone[0].push('!');
    clone.push("three".to_owned());
    assert_eq!(
        (&list[..], &clone[1..]),
        (&["one", "two"].map(str::to_owned)[..], &["two".to_owned(), "three".to_owned()][..])
    );
    assert_eq!((clone.allocator(), list.allocator()), (&allocator, &allocator));
    assert_ne!(list, clone);
    drop(list);
    assert_eq!(clone[0], "one!");
    drop(clone);
    assert_eq!(ledger.out(), 0);
    assert_eq!(List::<u8>::new().allocator(), &Allocator::PERSISTENT);
}

#[test]
fn lists_nest() {
    let (allocator, ledger) = limited(1 << 20);
    let mut table = List::new_in(&allocator);
    for row in 0..10 {
        let mut cells = List::new_in(&allocator);
        cells.extend((0..row).map(|cell| cell.to_string()));
        table.push(cells);
    }
    table.swap_remove(0);
    table.insert(1, table[2].clone());
    assert_eq!(table[0].len(), 9);
    assert_eq!(table[1], table[3]);
    assert_eq!(format!("{:?}", table[2]), r#"["0"]"#);
    drop(table);
    assert_eq!(ledger.out(), 0);
}

#[test]
fn batches_grow_the_lists_in_a_list() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut neighbours: NativeList<List<usize>> = (0..100).map(|_| List::new()).collect();
        let token = neighbours.write_elements();
        let job = jobs.schedule_for_each(&[], token, 100, 8, |list, i| list.extend(0..i));
        jobs.complete(job.unwrap());
        let neighbours = neighbours.get().unwrap();
        assert!(neighbours.iter().enumerate().all(|(i, list)| list.iter().copied().eq(0..i)));
    }
}
