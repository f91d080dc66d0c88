//! Maps: lookups and refusals.

use crate::common::model;

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use ancho_collections::{CapacityError, FixedState, Map, NativeHashMap, Rejected};
use model::{cases, time_is_up};
use proptest::prelude::*;

/// Returns the message of a panic.
fn message(action: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(action)).unwrap_err();
    match payload.downcast::<String>() {
        Ok(message) => *message,
        Err(payload) => payload.downcast::<&str>().unwrap().to_string(),
    }
}

#[test]
fn adding_a_key_twice_is_refused_and_returns_it() {
    let mut map = Map::new();
    map.add("Ada", 10).unwrap();
    let Rejected { value, error } = map.add("Ada", 20).unwrap_err();
    assert_eq!(value, ("Ada", 20));
    assert_eq!(
        error.to_string(),
        "A0018: a key of type `&str` is in the map already; use `insert` to replace its value, or \
         `try_add` to leave it"
    );
    assert_eq!(map["Ada"], 10);
}

#[test]
fn indexing_a_missing_key_says_which_type_it_has() {
    let map = Map::<u32, u32>::new();
    assert_eq!(
        message(|| _ = map[&5]),
        "A0018: a key of type `u32` is not in the map; use `get` if it may be missing"
    );
}

#[test]
fn a_present_key_needs_no_room() {
    let mut map = Map::with_capacity(7);
    map.extend((0..7).map(|i| (i, i)));
    assert_eq!((map.len(), map.capacity()), (7, 7));
    assert_eq!(map.insert(3, 30), Some(3));
    assert!(!map.try_add(4, 40));
    assert!(map.add(5, 50).is_err());
    assert_eq!(*map.get_or_insert_with(6, || unreachable!()), 6);
    assert_eq!(map.capacity(), 7);
    assert!(map.try_add(7, 7));
    assert_eq!((map.len(), map.capacity(), map[&3]), (8, 14, 30));
}

#[test]
fn capacity_is_not_lowered_by_removing() {
    let mut map: Map<u32, u32> = Map::with_capacity(448);
    assert_eq!(map.capacity(), 448);
    map.extend((0..448).map(|i| (i, i)));
    for i in 0..400 {
        map.remove(&i);
        assert_eq!(map.capacity(), 448);
    }
    map.clear();
    assert_eq!(map.capacity(), 448);
}

#[test]
fn capacity_is_the_number_of_keys_that_fit_without_growing() {
    for asked in 0..300 {
        let mut map: Map<u32, u32> = Map::with_capacity(asked);
        let capacity = map.capacity();
        assert!(capacity >= asked);
        map.extend((0..capacity as u32).map(|i| (i, i)));
        assert_eq!(map.capacity(), capacity, "asked for {asked}");
        map.insert(capacity as u32, 0);
        assert!(map.capacity() > capacity);
    }
}

#[test]
fn a_capacity_below_the_length_is_refused_and_a_smaller_one_keeps_all() {
    let mut map: Map<u32, u32> = (0..100).map(|i| (i, i * i)).collect();
    map.set_capacity(10_000).unwrap();
    assert!(map.capacity() >= 10_000);
    let refused = CapacityError::BelowLength { capacity: 99, length: 100 };
    assert_eq!(map.set_capacity(99), Err(refused));
    map.set_capacity(100).unwrap();
    assert_eq!(map.capacity(), 112);
    assert!((0..100).all(|i| map[&i] == i * i));
    map.clear();
    map.set_capacity(0).unwrap();
    assert!(map.capacity() <= 3);
}

#[test]
fn lists_of_keys_and_values_have_the_order_of_walking() {
    let map: Map<u32, String> = (0..100).map(|i| (i, i.to_string())).collect();
    let (keys, values) = map.to_key_value_lists();
    assert_eq!((&keys, &values), (&map.to_key_list(), &map.to_value_list()));
    assert!(map.keys().eq(&keys) && map.values().eq(&values));
    assert!(keys.iter().zip(&values).all(|(key, value)| key.to_string() == *value));
}

#[test]
fn the_same_operations_have_the_same_order() {
    let make = || {
        let mut map: Map<u64, u64> = (0..1000).map(|i| (i * 7919, i)).collect();
        map.retain(|key, _| key % 3 != 0);
        map.extend((0..100).map(|i| (i, i)));
        map
    };
    let (one, two) = (make(), make());
    assert!(one.iter().eq(&two));
    assert!(one.iter().eq(&one.clone()));
    assert!(one.clone().into_iter().map(|(key, _)| key).eq(two.to_key_list().iter().copied()));
}

#[test]
fn keys_are_found_by_their_borrowed_form() {
    let mut map = Map::from([("Ada".to_string(), 10)]);
    assert_eq!(map.get("Ada"), Some(&10));
    *map.get_mut("Ada").unwrap() += 1;
    assert_eq!((map["Ada"], map.contains_key("Bob")), (11, false));
    assert_eq!(map.remove("Ada"), Some(11));
}

#[test]
fn a_custom_hasher_can_be_used() {
    let mut map = Map::with_hasher(RandomState::new());
    map.extend((0..100).map(|i| (i, i)));
    assert!((0..100).all(|i| map[&i] == i));
    let seeded = Map::<u32, u32>::with_hasher(FixedState::with_seed(1));
    assert_ne!(seeded.hasher().hash_one(5), Map::<u32, u32>::new().hasher().hash_one(5));
}

#[test]
fn values_are_dropped_once() {
    let value = Rc::new(());
    let mut map: Map<u32, Rc<()>> = (0..100).map(|i| (i, Rc::clone(&value))).collect();
    map.set_capacity(1000).unwrap();
    map.set_capacity(100).unwrap();
    assert_eq!(Rc::strong_count(&value), 101);
    map.insert(0, Rc::clone(&value));
    map.remove(&1);
    assert_eq!(Rc::strong_count(&value), 100);
    let mut rest = map.into_iter();
    rest.next();
    drop(rest);
    assert_eq!(Rc::strong_count(&value), 1);
}

#[test]
fn values_without_size_are_counted() {
    let mut map = Map::new();
    assert!(map.try_add((), ()));
    assert!(!map.try_add((), ()));
    assert_eq!((map.len(), map.remove(&()), map.len()), (1, Some(()), 0));
}

#[test]
fn maps_are_equal_in_any_order() {
    let one: Map<u32, u32> = (0..50).map(|i| (i, i)).collect();
    let mut two: Map<u32, u32> = Map::with_capacity(5000);
    two.extend((0..50).rev().map(|i| (i, i)));
    assert_eq!(one, two);
    two.insert(0, 1);
    assert_ne!(one, two);
    assert_eq!(format!("{:?}", Map::from([(1, "one")])), r#"{1: "one"}"#);
}

#[test]
fn a_shared_map_is_called_as_users_call_it() {
    let map = NativeHashMap::<u32, String>::new();
    let label = map.label().to_string();
    assert!(label.starts_with("the NativeHashMap<u32, String> made at "), "{label}");
    assert_eq!(NativeHashMap::from([(1, 2)]).get().unwrap()[&1], 2);
}

#[derive(Clone, Debug)]
enum Operation {
    Insert(u8, u16),
    Add(u8, u16),
    TryAdd(u8, u16),
    GetOrInsert(u8, u16),
    Change(u8, u16),
    Remove(u8),
    RetainMultiples(u8),
    SetCapacity(usize),
    Extend(Vec<(u8, u16)>),
    Clear,
}

fn operation() -> impl Strategy<Value = Operation> {
    use Operation::*;
    let pair = || (0_u8..64, any::<u16>());
    prop_oneof![
        4 => pair().prop_map(|(key, value)| Insert(key, value)),
        4 => pair().prop_map(|(key, value)| Add(key, value)),
        4 => pair().prop_map(|(key, value)| TryAdd(key, value)),
        2 => pair().prop_map(|(key, value)| GetOrInsert(key, value)),
        2 => pair().prop_map(|(key, value)| Change(key, value)),
        6 => (0_u8..64).prop_map(Remove),
        1 => (1_u8..5).prop_map(RetainMultiples),
        1 => (0_usize..400).prop_map(SetCapacity),
        1 => prop::collection::vec(pair(), 0..50).prop_map(Extend),
        1 => Just(Clear),
    ]
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn any_script_equals_the_standard_map(script in prop::collection::vec(operation(), 0..200)) {
        if time_is_up() {
            return Ok(());
        }
        let mut map = Map::<u8, u16>::new();
        let mut model = HashMap::<u8, u16>::new();
        for operation in script {
            match operation {
                Operation::Insert(key, value) => {
                    prop_assert_eq!(map.insert(key, value), model.insert(key, value));
                }
                Operation::Add(key, value) => {
                    let added = map.add(key, value);
                    prop_assert_eq!(added.is_ok(), !model.contains_key(&key));
                    model.entry(key).or_insert(value);
                }
                Operation::TryAdd(key, value) => {
                    prop_assert_eq!(map.try_add(key, value), !model.contains_key(&key));
                    model.entry(key).or_insert(value);
                }
                Operation::GetOrInsert(key, value) => {
                    let got = map.get_or_insert_with(key, || value);
                    prop_assert_eq!(got, model.entry(key).or_insert(value));
                }
                Operation::Change(key, value) => {
                    prop_assert_eq!(
                        map.get_mut(&key).map(|old| std::mem::replace(old, value)),
                        model.get_mut(&key).map(|old| std::mem::replace(old, value))
                    );
                }
                Operation::Remove(key) => prop_assert_eq!(map.remove(&key), model.remove(&key)),
                Operation::RetainMultiples(of) => {
                    map.retain(|key, _| key % of == 0);
                    model.retain(|key, _| key % of == 0);
                }
                Operation::SetCapacity(capacity) => {
                    let set = map.set_capacity(capacity);
                    prop_assert_eq!(set.is_ok(), capacity >= model.len());
                    prop_assert!(set.is_err() || map.capacity() >= capacity);
                }
                Operation::Extend(pairs) => {
                    map.extend(pairs.iter().copied());
                    model.extend(pairs);
                }
                Operation::Clear => {
                    map.clear();
                    model.clear();
                }
            }
            prop_assert_eq!(map.len(), model.len());
            prop_assert!(map.capacity() >= map.len());
            let pairs = map.iter().map(|(key, value)| (*key, *value));
            prop_assert_eq!(&pairs.collect::<HashMap<_, _>>(), &model);
            prop_assert!((0..64).all(|key| map.get(&key) == model.get(&key)));
        }
    }
}
