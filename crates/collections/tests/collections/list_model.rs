//! Lists behave as vectors do.

use crate::common;
use crate::common::model;

use ancho_collections::{Allocator, List, RewindableAllocator};
use common::panic_message;
use common::source::limited;
use model::{cases, time_is_up};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    Push(u16),
    Pop,
    Extend(Vec<u16>),
    Collect(Vec<u16>),
    Insert(usize, u16),
    InsertSlice(usize, Vec<u16>),
    Remove(usize),
    SwapRemove(usize),
    RemoveRange(usize, usize),
    SwapRemoveRange(usize, usize),
    PushRepeated(u16, usize),
    Resize(usize, u16),
    Retain(u16),
    Truncate(usize),
    Clear,
    SetCapacity(usize),
    Reserve(usize),
    Sort,
    Clone,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let values = || prop::collection::vec(any::<u16>(), 0..40);
    let place = || 0..60_usize;
    let step = prop_oneof![
        4 => any::<u16>().prop_map(Step::Push),
        2 => Just(Step::Pop),
        2 => values().prop_map(Step::Extend),
        2 => values().prop_map(Step::Collect),
        2 => (place(), any::<u16>()).prop_map(|(at, value)| Step::Insert(at, value)),
        2 => (place(), values()).prop_map(|(at, values)| Step::InsertSlice(at, values)),
        2 => place().prop_map(Step::Remove),
        2 => place().prop_map(Step::SwapRemove),
        2 => (place(), place()).prop_map(|(start, end)| Step::RemoveRange(start, end)),
        2 => (place(), place()).prop_map(|(start, end)| Step::SwapRemoveRange(start, end)),
        1 => (any::<u16>(), 0..30_usize).prop_map(|(value, count)| Step::PushRepeated(value, count)),
        1 => (place(), any::<u16>()).prop_map(|(length, value)| Step::Resize(length, value)),
        1 => (1..5_u16).prop_map(Step::Retain),
        1 => place().prop_map(Step::Truncate),
        1 => Just(Step::Clear),
        1 => (0..200_usize).prop_map(Step::SetCapacity),
        1 => (0..200_usize).prop_map(Step::Reserve),
        1 => Just(Step::Sort),
        1 => Just(Step::Clone),
    ];
    prop::collection::vec(step, 1..80)
}

/// Checks that the list refuses calls at which a vector panics.
fn refused(list: &mut List<u16>, call: impl FnOnce(&mut List<u16>)) {
    let message = panic_message(|| call(list));
    assert!(message.starts_with("A0014: "), "{message}");
}

fn take(list: &mut List<u16>, model: &mut Vec<u16>, step: &Step) {
    let length = model.len();
    match *step {
        Step::Push(value) => {
            list.push(value);
            model.push(value);
        }
        Step::Pop => assert_eq!(list.pop(), model.pop()),
        Step::Extend(ref values) => {
            list.extend_from_slice(values);
            model.extend_from_slice(values);
        }
        Step::Collect(ref values) => {
            list.extend(values.iter().copied());
            model.extend_from_slice(values);
        }
        Step::Insert(at, value) if at <= length => {
            list.insert(at, value);
            model.insert(at, value);
        }
        Step::Insert(at, value) => refused(list, |list| list.insert(at, value)),
        Step::InsertSlice(at, ref values) if at <= length => {
            list.insert_slice(at, values);
            model.splice(at..at, values.iter().copied());
        }
        Step::InsertSlice(at, ref values) => refused(list, |list| list.insert_slice(at, values)),
        Step::Remove(at) if at < length => assert_eq!(list.remove(at), model.remove(at)),
        Step::Remove(at) => refused(list, |list| _ = list.remove(at)),
        Step::SwapRemove(at) if at < length => {
            assert_eq!(list.swap_remove(at), model.swap_remove(at));
        }
        Step::SwapRemove(at) => refused(list, |list| _ = list.swap_remove(at)),
        Step::RemoveRange(start, end) if start <= end && end <= length => {
            list.remove_range(start..end);
            model.drain(start..end);
        }
        Step::RemoveRange(start, end) => refused(list, |list| list.remove_range(start..end)),
        Step::SwapRemoveRange(start, end) if start <= end && end <= length => {
            list.swap_remove_range(start..end);
            let moved = model.split_off(end.max(length - (end - start)));
            let rest = model.split_off(start);
            model.extend(moved);
            model.extend(rest.into_iter().skip(end - start));
        }
        Step::SwapRemoveRange(start, end) => {
            refused(list, |list| list.swap_remove_range(start..end));
        }
        Step::PushRepeated(value, count) => {
            list.push_repeated(value, count);
            model.extend(std::iter::repeat_n(value, count));
        }
        Step::Resize(length, value) => {
            list.resize(length, value);
            model.resize(length, value);
        }
        Step::Retain(by) => {
            list.retain(|value| value % by == 0);
            model.retain(|value| value % by == 0);
        }
        Step::Truncate(length) => {
            list.truncate(length);
            model.truncate(length);
        }
        Step::Clear => {
            list.clear();
            model.clear();
        }
        Step::SetCapacity(capacity) => match list.set_capacity(capacity) {
            Ok(()) => assert_eq!(list.capacity(), capacity),
            Err(_) => assert!(capacity < length),
        },
        Step::Reserve(additional) => {
            list.reserve(additional);
            assert!(list.capacity() >= length + additional);
        }
        Step::Sort => {
            list.sort_unstable();
            model.sort_unstable();
        }
        Step::Clone => *list = list.clone(),
    }
}

fn run(allocator: &Allocator, steps: &[Step]) {
    let (mut list, mut model) = (List::new_in(allocator), Vec::new());
    for step in steps {
        take(&mut list, &mut model, step);
        assert_eq!(list[..], model, "after {step:?}");
        assert!(list.capacity() >= list.len());
        assert_eq!(list.allocator(), allocator);
    }
}

proptest! {
    #![proptest_config(cases(128))]

    #[test]
    fn any_script_has_the_same_result(steps in steps()) {
        if time_is_up() {
            return Ok(());
        }
        run(&Allocator::PERSISTENT, &steps);
        run(&RewindableAllocator::new().allocator(), &steps);
        let (custom, ledger) = limited(usize::MAX);
        run(&custom, &steps);
        prop_assert_eq!(ledger.out(), 0);
    }
}
