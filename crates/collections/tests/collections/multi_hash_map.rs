//! Multi-maps: order of the values, and removal.

use crate::common::model;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use ancho_collections::{CapacityError, MultiMap, NativeMultiHashMap};
use model::{cases, time_is_up};
use proptest::prelude::*;

#[test]
fn the_values_of_a_key_have_the_order_of_adding() {
    let mut map = MultiMap::new();
    for i in 0..1000 {
        map.add(i % 7, i);
    }
    for key in 0..7 {
        assert!(map.values_for(&key).copied().eq((0..1000).filter(|i| i % 7 == key)));
        assert_eq!(map.count_for_key(&key), map.values_for(&key).len());
        assert_eq!(map.get_first(&key), Some(&key));
    }
    assert_eq!((map.values_for(&7).next(), map.contains_key(&7), map.len()), (None, false, 1000));
}

#[test]
fn places_of_removed_values_are_used_again() {
    let mut map: MultiMap<u32, u32> = MultiMap::with_capacity(100);
    map.extend((0..100).map(|i| (i % 10, i)));
    assert_eq!(map.capacity(), 100);
    for round in 0..50 {
        assert_eq!(map.remove(&(round % 10)), 10);
        map.extend((0..10).map(|i| (round % 10, round + i)));
        assert_eq!((map.len(), map.capacity()), (100, 100));
        assert!(map.values_for(&(round % 10)).copied().eq(round..round + 10));
    }
}

#[test]
fn a_key_without_values_is_gone() {
    let mut map = MultiMap::from([(1, 'a'), (2, 'b'), (1, 'a')]);
    assert_eq!(map.remove_value(&1, &'x'), 0);
    assert_eq!(map.remove_value(&1, &'a'), 2);
    assert!(!map.contains_key(&1));
    assert_eq!(map.retain_key(&2, |_| false), 1);
    assert_eq!((map.keys().len(), map.len()), (0, 0));
    assert_eq!(map.remove(&2), 0);
}

#[test]
fn first_middle_and_last_values_can_be_removed_while_walking() {
    for gone in 0..5 {
        let mut map: MultiMap<_, _> = (0..5).map(|i| ("key", i)).collect();
        let mut seen = Vec::new();
        let removed = map.retain_key("key", |value| {
            seen.push(*value);
            *value != gone
        });
        assert_eq!((removed, seen), (1, vec![0, 1, 2, 3, 4]));
        map.add("key", 9);
        assert!(map.values_for("key").copied().eq((0..5).filter(|i| *i != gone).chain([9])));
    }
}

#[test]
fn values_can_be_changed_in_place() {
    let mut map = MultiMap::from([(1, 5), (2, 6), (1, 7)]);
    let mut values = map.values_for_mut(&1);
    let (first, second) = (values.next().unwrap(), values.next().unwrap());
    std::mem::swap(first, second);
    assert!(values.next().is_none());
    assert!(map.values_for(&1).eq(&[7, 5]));
    assert_eq!(map.values_for_mut(&3).len(), 0);
}

#[test]
fn unique_keys_are_sorted_and_lists_are_parallel() {
    let map = MultiMap::from([("b", 1), ("a", 2), ("b", 3), ("c", 4)]);
    assert_eq!(map.unique_keys()[..], ["a", "b", "c"]);
    let (keys, values) = map.to_key_value_lists();
    assert_eq!((keys.len(), values.len()), (4, 4));
    assert!(keys.iter().zip(&values).eq(&map));
    let of_b = keys.iter().zip(&values).filter(|(key, _)| **key == "b");
    assert!(of_b.map(|(_, value)| *value).eq([1, 3]));
}

#[test]
fn a_smaller_capacity_keeps_all_and_closes_gaps() {
    let mut map: MultiMap<u32, Rc<u32>> = (0..1000).map(|i| (i % 50, Rc::new(i))).collect();
    (0..40).for_each(|key| _ = map.remove(&key));
    assert_eq!(
        map.set_capacity(199),
        Err(CapacityError::BelowLength { capacity: 199, length: 200 })
    );
    map.set_capacity(200).unwrap();
    assert_eq!((map.len(), map.capacity()), (200, 200));
    for key in 40..50 {
        assert!(map.values_for(&key).map(|value| **value).eq((0..20).map(|i| i * 50 + key)));
    }
    map.add(0, Rc::new(0));
    map.set_capacity(500).unwrap();
    assert_eq!((map.len(), map.capacity()), (201, 500));
    assert_eq!(map.iter().len(), map.iter().count());
}

#[test]
fn clearing_keeps_the_memory_and_clones_are_equal() {
    let mut map: MultiMap<u32, u32> = (0..100).map(|i| (i % 10, i)).collect();
    let copy = map.clone();
    assert!(copy == map && copy.iter().eq(&map));
    map.retain_key(&0, |value| *value != 0);
    map.add(0, 0);
    assert_ne!(copy, map, "in another order");
    let capacity = map.capacity();
    map.clear();
    assert_eq!((map.len(), map.capacity(), map.iter().next()), (0, capacity, None));
    map.extend(copy.iter().map(|(key, value)| (*key, *value)));
    assert_eq!(copy, map);
    assert_eq!(format!("{:?}", MultiMap::from([(1, 'a'), (1, 'b')])), "{1: ['a', 'b']}");
}

#[test]
fn a_shared_map_is_called_as_users_call_it() {
    let label = NativeMultiHashMap::<u32, u8>::new().label().to_string();
    assert!(label.starts_with("the NativeMultiHashMap<u32, u8> made at "), "{label}");
}

/// A value that counts itself, and panics on drop if it has the chosen number.
struct Fragile<'a> {
    number: u32,
    alive: &'a Cell<i32>,
    panics_at: &'a Cell<u32>,
}

impl Drop for Fragile<'_> {
    fn drop(&mut self) {
        self.alive.set(self.alive.get() - 1);
        if self.number == self.panics_at.get() {
            panic!("dropped {}", self.number);
        }
    }
}

#[test]
fn a_panic_while_values_are_dropped_leaves_the_map_consistent() {
    let (alive, panics_at) = (Cell::new(0), Cell::new(5));
    let fragile = |number| {
        alive.set(alive.get() + 1);
        Fragile { number, alive: &alive, panics_at: &panics_at }
    };
    let fill = || (0..10).map(|i| (i % 2, fragile(i))).collect::<MultiMap<_, _>>();

    let check = |map: &MultiMap<u32, Fragile<'_>>, left: i32| {
        assert_eq!(alive.get(), left);
        assert_eq!((map.len(), map.iter().count()), (left as usize, left as usize));
        let counts: usize = map.keys().map(|key| map.count_for_key(key)).sum();
        assert_eq!(counts, map.len());
    };

    type Action = fn(&mut MultiMap<u32, Fragile<'_>>);
    let actions: [(Action, i32); 4] = [
        (|map| _ = map.remove(&1), 5),
        (|map| _ = map.retain_key(&1, |value| value.number != 5), 9),
        (|map| _ = map.retain_key(&1, |_| false), 7),
        (|map| map.clear(), 0),
    ];
    for (action, left) in actions {
        let mut map = fill();
        assert!(catch_unwind(AssertUnwindSafe(|| action(&mut map))).is_err());
        check(&map, left);
        map.add(1, fragile(20));
        check(&map, left + 1);
        panics_at.set(u32::MAX);
        drop(map);
        assert_eq!(alive.get(), 0);
        panics_at.set(5);
    }

    panics_at.set(9);
    let mut map = MultiMap::from([(1, fragile(9))]);
    assert!(catch_unwind(AssertUnwindSafe(|| map.retain_key(&1, |_| false))).is_err());
    check(&map, 0);
    assert!(!map.contains_key(&1), "the last value was removed, and the key with it");
}

#[derive(Clone, Debug)]
enum Operation {
    Add(u8, u8),
    Remove(u8),
    RemoveValue(u8, u8),
    Retain(u8, u8),
    Increase(u8),
    SetCapacity(usize),
    Extend(Vec<(u8, u8)>),
    Clear,
}

fn operation() -> impl Strategy<Value = Operation> {
    use Operation::*;
    let pair = || (0_u8..12, 0_u8..6);
    prop_oneof![
        12 => pair().prop_map(|(key, value)| Add(key, value)),
        3 => (0_u8..12).prop_map(Remove),
        4 => pair().prop_map(|(key, value)| RemoveValue(key, value)),
        3 => pair().prop_map(|(key, value)| Retain(key, value)),
        2 => (0_u8..12).prop_map(Increase),
        1 => (0_usize..200).prop_map(SetCapacity),
        2 => prop::collection::vec(pair(), 0..30).prop_map(Extend),
        1 => Just(Clear),
    ]
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn any_script_equals_a_map_of_vectors(script in prop::collection::vec(operation(), 0..200)) {
        if time_is_up() {
            return Ok(());
        }
        let mut map = MultiMap::<u8, u8>::new();
        let mut model = BTreeMap::<u8, Vec<u8>>::new();
        let length = |model: &BTreeMap<u8, Vec<u8>>| model.values().map(Vec::len).sum::<usize>();
        for operation in script {
            match operation {
                Operation::Add(key, value) => {
                    map.add(key, value);
                    model.entry(key).or_default().push(value);
                }
                Operation::Remove(key) => {
                    let all = model.remove(&key).unwrap_or_default();
                    prop_assert_eq!(map.remove(&key), all.len());
                }
                Operation::RemoveValue(key, value) => {
                    let before = length(&model);
                    model.entry(key).or_default().retain(|other| *other != value);
                    prop_assert_eq!(map.remove_value(&key, &value), before - length(&model));
                }
                Operation::Retain(key, least) => {
                    let before = length(&model);
                    model.entry(key).or_default().retain(|value| *value >= least);
                    let removed = map.retain_key(&key, |value| *value >= least);
                    prop_assert_eq!(removed, before - length(&model));
                }
                Operation::Increase(key) => {
                    map.values_for_mut(&key).for_each(|value| *value += 1);
                    model.entry(key).or_default().iter_mut().for_each(|value| *value += 1);
                }
                Operation::SetCapacity(capacity) => {
                    let set = map.set_capacity(capacity);
                    prop_assert_eq!(set.is_ok(), capacity >= length(&model));
                    prop_assert!(set.is_err() || map.capacity() == capacity);
                }
                Operation::Extend(pairs) => {
                    map.extend(pairs.iter().copied());
                    for (key, value) in pairs {
                        model.entry(key).or_default().push(value);
                    }
                }
                Operation::Clear => {
                    map.clear();
                    model.clear();
                }
            }
            model.retain(|_, values| !values.is_empty());
            prop_assert_eq!(map.len(), length(&model));
            prop_assert_eq!(map.unique_keys().to_vec(), model.keys().copied().collect::<Vec<_>>());
            for (key, values) in &model {
                prop_assert_eq!(&map.values_for(key).copied().collect::<Vec<_>>(), values);
                prop_assert_eq!(map.count_for_key(key), values.len());
            }
            prop_assert_eq!(map.iter().count(), map.iter().len());
        }
    }
}
