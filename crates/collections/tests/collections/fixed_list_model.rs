//! Random edits of a list of fixed size have the same effect on a `Vec` that must not grow.

use crate::common::model;

use std::fmt::Debug;

use ancho_collections::FixedList;
use model::{cases, time_is_up};
use proptest::prelude::*;
use zerocopy::{Immutable, IntoBytes};

#[derive(Clone, Debug)]
enum Edit {
    Push(u8),
    Extend(Vec<u8>),
    Insert(usize, u8),
    InsertSlice(usize, Vec<u8>),
    RemoveRange(usize, usize),
    SwapRemoveRange(usize, usize),
    PushRepeated(u8, usize),
    Set(usize, u8),
    Remove(usize),
    SwapRemove(usize),
    Retain(u8),
    Resize(usize, u8),
    Truncate(usize),
    Pop,
    Clear,
}

fn edit() -> impl Strategy<Value = Edit> {
    let at = || any::<usize>();
    prop_oneof![
        3 => any::<u8>().prop_map(Edit::Push),
        2 => prop::collection::vec(any::<u8>(), 0..6).prop_map(Edit::Extend),
        2 => (at(), any::<u8>()).prop_map(|(at, value)| Edit::Insert(at, value)),
        2 => (at(), prop::collection::vec(any::<u8>(), 0..6))
            .prop_map(|(at, values)| Edit::InsertSlice(at, values)),
        1 => (at(), at()).prop_map(|(from, to)| Edit::RemoveRange(from, to)),
        1 => (at(), at()).prop_map(|(from, to)| Edit::SwapRemoveRange(from, to)),
        1 => (any::<u8>(), 0..6_usize).prop_map(|(value, count)| Edit::PushRepeated(value, count)),
        1 => (at(), any::<u8>()).prop_map(|(at, value)| Edit::Set(at, value)),
        1 => at().prop_map(Edit::Remove),
        1 => at().prop_map(Edit::SwapRemove),
        1 => any::<u8>().prop_map(Edit::Retain),
        1 => (at(), any::<u8>()).prop_map(|(len, value)| Edit::Resize(len, value)),
        1 => at().prop_map(Edit::Truncate),
        1 => Just(Edit::Pop),
        1 => Just(Edit::Clear),
    ]
}

/// Applies the edit to both, if possible, and compares the results.
fn apply<T, const N: usize>(edit: &Edit, list: &mut FixedList<T, N>, model: &mut Vec<T>)
where
    T: Copy + Debug + Ord + From<u8>,
{
    let len = model.len();
    let capacity = FixedList::<T, N>::CAPACITY;
    match edit {
        Edit::Push(value) => {
            let value = T::from(*value);
            match list.try_push(value) {
                Ok(()) => model.push(value),
                Err(full) => assert_eq!((full.value, len), (value, capacity)),
            }
        }
        Edit::Extend(values) => {
            let values: Vec<T> = values.iter().copied().map(T::from).collect();
            match list.try_extend_from_slice(&values) {
                Ok(()) => model.extend(values),
                Err(full) => assert!(full.value == values && len + values.len() > capacity),
            }
        }
        Edit::Insert(at, value) if len < capacity => {
            list.insert(at % (len + 1), T::from(*value));
            model.insert(at % (len + 1), T::from(*value));
        }
        Edit::InsertSlice(at, values) => {
            let values: Vec<T> = values.iter().copied().map(T::from).collect();
            let at = at % (len + 1);
            match list.try_insert_slice(at, &values) {
                Ok(()) => drop(model.splice(at..at, values)),
                Err(full) => assert!(full.value == values && len + values.len() > capacity),
            }
        }
        Edit::RemoveRange(from, to) => {
            let from = from % (len + 1);
            let to = from + to % (len - from + 1);
            list.remove_range(from..to);
            model.drain(from..to);
        }
        Edit::SwapRemoveRange(from, to) => {
            let from = from % (len + 1);
            let to = from + to % (len - from + 1);
            list.swap_remove_range(from..to);
            let moved = (to - from).min(len - to);
            let last = model.split_off(len - moved);
            model.splice(from..to.min(len - moved), last);
        }
        Edit::PushRepeated(value, count) => match list.try_push_repeated(T::from(*value), *count) {
            Ok(()) => model.resize(len + count, T::from(*value)),
            Err(full) => assert!(full.value == T::from(*value) && len + count > capacity),
        },
        Edit::Set(at, value) if len > 0 => {
            list[at % len] = T::from(*value);
            model[at % len] = T::from(*value);
        }
        Edit::Remove(at) if len > 0 => assert_eq!(list.remove(at % len), model.remove(at % len)),
        Edit::SwapRemove(at) if len > 0 => {
            assert_eq!(list.swap_remove(at % len), model.swap_remove(at % len));
        }
        Edit::Retain(least) => {
            list.retain(|value| *value >= T::from(*least));
            model.retain(|value| *value >= T::from(*least));
        }
        Edit::Resize(to, value) => {
            list.resize(to % (capacity + 1), T::from(*value));
            model.resize(to % (capacity + 1), T::from(*value));
        }
        Edit::Truncate(to) => {
            list.truncate(to % (capacity + 2));
            model.truncate(to % (capacity + 2));
        }
        Edit::Pop => assert_eq!(list.pop(), model.pop()),
        Edit::Clear => {
            list.clear();
            model.clear();
        }
        Edit::Insert(..) | Edit::Set(..) | Edit::Remove(_) | Edit::SwapRemove(_) => {}
    }
}

fn compare<T, const N: usize>(edits: &[Edit])
where
    T: Copy + Debug + Ord + From<u8> + IntoBytes + Immutable,
{
    let mut list = FixedList::<T, N>::new();
    let mut model = Vec::new();
    for edit in edits {
        apply(edit, &mut list, &mut model);
        assert_eq!(list, model[..], "after {edit:?}");
        assert_eq!(list.is_full(), model.len() == FixedList::<T, N>::CAPACITY);
        let fresh = FixedList::<T, N>::try_from(&model[..]).unwrap();
        assert_eq!(list.raw_bytes(), fresh.raw_bytes(), "after {edit:?}");
    }
}

#[test]
fn random_edits_equal_those_of_a_vec() {
    let config = cases(256);
    proptest!(config, |(edits in prop::collection::vec(edit(), 1..64))| {
        if time_is_up() {
            return Ok(());
        }
        compare::<u8, 8>(&edits);
        compare::<u8, 32>(&edits);
        compare::<u16, 32>(&edits);
        compare::<u32, 32>(&edits);
        compare::<u64, 64>(&edits);
        compare::<u128, 64>(&edits);
    });
}
