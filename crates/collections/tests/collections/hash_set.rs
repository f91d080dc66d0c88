//! Sets: lookups and set algebra.

use crate::common::model;

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use ancho_collections::{List, NativeHashSet, Set};
use model::{cases, time_is_up};
use proptest::prelude::*;

#[test]
fn adding_and_removing_say_whether_anything_changed() {
    let mut set = Set::new();
    assert_eq!([set.add(1), set.add(1), set.add(2)], [true, false, true]);
    assert_eq!([set.remove(&1), set.remove(&1)], [true, false]);
    assert_eq!([set.contains(&1), set.contains(&2)], [false, true]);
}

#[test]
fn sets_are_combined_with_sets_slices_and_iterators() {
    let mut set = Set::from([1_u64, 2, 3]);
    let (other, slice, list) = (Set::from([3, 4]), [5].as_slice(), List::from([6]));
    set.union_with(&other);
    set.union_with(slice);
    set.union_with(&list);
    set.union_with(7..9);
    assert_eq!(set, (1..9).collect());
    set.intersect_with([2, 4, 6, 8, 10, 2]);
    assert_eq!(set, [2, 4, 6, 8].into());
    set.except_with(&other);
    set.except_with([8, 8]);
    assert_eq!(set, [2, 6].into());
    set.intersect_with(&other);
    assert!(set.is_empty());
}

#[test]
fn values_need_not_be_copied_to_be_intersected() {
    struct Unique(u32);
    impl PartialEq for Unique {
        fn eq(&self, other: &Self) -> bool {
            self.0 == other.0
        }
    }
    impl Eq for Unique {}
    impl std::hash::Hash for Unique {
        fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
            self.0.hash(state);
        }
    }

    let mut set: Set<Unique> = (0..10).map(Unique).collect();
    set.intersect_with((5..15).map(Unique));
    assert_eq!(set.len(), 5);
}

#[test]
fn nothing_is_removed_by_values_that_cannot_all_be_had() {
    let mut set = Set::from([1, 2, 3]);
    let values = (2..).take_while(|&value| if value == 4 { panic!("no more") } else { true });
    assert!(catch_unwind(AssertUnwindSafe(|| set.intersect_with(values))).is_err());
    assert_eq!(set, [1, 2, 3].into());
}

#[test]
fn a_shared_set_is_called_as_users_call_it() {
    let set = NativeHashSet::<u32>::new();
    let label = set.label().to_string();
    assert!(label.starts_with("the NativeHashSet<u32> made at "), "{label}");
    assert_eq!(NativeHashSet::from(["a", "b", "a"]).get().unwrap().len(), 2);
    assert_eq!(format!("{:?}", Set::from([5])), "{5}");
}

#[derive(Clone, Debug)]
enum Operation {
    Add(u8),
    Remove(u8),
    Union(Vec<u8>),
    Intersect(Vec<u8>),
    Except(Vec<u8>),
    Clear,
}

fn operation() -> impl Strategy<Value = Operation> {
    use Operation::*;
    let values = |most| prop::collection::vec(0_u8..64, 0..most);
    prop_oneof![
        8 => (0_u8..64).prop_map(Add),
        8 => (0_u8..64).prop_map(Remove),
        2 => values(60).prop_map(Union),
        1 => values(150).prop_map(Intersect),
        2 => values(60).prop_map(Except),
        1 => Just(Clear),
    ]
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn any_script_equals_the_standard_set(script in prop::collection::vec(operation(), 0..150)) {
        if time_is_up() {
            return Ok(());
        }
        let mut set = Set::<u8>::new();
        let mut model = HashSet::<u8>::new();
        for operation in script {
            match operation {
                Operation::Add(value) => prop_assert_eq!(set.add(value), model.insert(value)),
                Operation::Remove(value) => {
                    prop_assert_eq!(set.remove(&value), model.remove(&value));
                }
                Operation::Union(values) => {
                    set.union_with(&values);
                    model.extend(values);
                }
                Operation::Intersect(values) => {
                    set.intersect_with(&values);
                    model.retain(|value| values.contains(value));
                }
                Operation::Except(values) => {
                    set.except_with(&values);
                    model.retain(|value| !values.contains(value));
                }
                Operation::Clear => {
                    set.clear();
                    model.clear();
                }
            }
            prop_assert_eq!(set.len(), model.len());
            prop_assert_eq!(&set.iter().copied().collect::<HashSet<_>>(), &model);
            prop_assert!((0..64).all(|value| set.contains(&value) == model.contains(&value)));
        }
    }
}
