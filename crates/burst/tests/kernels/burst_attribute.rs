//! `#[burst]` does not change the result of a function.
#![cfg(feature = "macros")]
#![forbid(unsafe_code)]

use ancho_burst::burst;

#[burst]
fn scale(values: &mut [f32], factor: f32) {
    values.iter_mut().for_each(|value| *value *= factor);
}

#[burst]
fn largest<'v, T: PartialOrd>(values: &'v [T], _others: &[T]) -> Option<&'v T> {
    values.iter().fold(None, |best, value| match best {
        Some(best) if *best >= *value => Some(best),
        _ => Some(value),
    })
}

#[burst]
fn first_mut(values: &mut [u32]) -> &mut u32 {
    &mut values[0]
}

#[burst]
fn position_of(values: &[i32], wanted: i32) -> Option<usize> {
    for (index, value) in values.iter().enumerate() {
        if *value == wanted {
            return Some(index);
        }
    }
    None
}

#[burst]
fn sum_of_numbers(words: &[&str]) -> Result<i32, std::num::ParseIntError> {
    let mut sum = 0;
    for word in words {
        sum += word.parse::<i32>()?;
    }
    Ok(sum)
}

#[burst]
fn total<const N: usize>((left, mut right): ([u32; N], [u32; N]), _: bool) -> u32 {
    right[0] += 1;
    left.iter().zip(&right).map(|(a, b)| a * b).sum()
}

#[burst]
fn apply(values: &mut [f32], change: impl Fn(f32) -> f32) {
    for value in values {
        *value = change(*value);
    }
}

#[burst]
fn evens(limit: u32) -> impl Iterator<Item = u32> {
    (0..limit).filter(|value| value % 2 == 0)
}

/// Takes ownership, and has three closures: one in a variable, one in a method call, one that is called.
#[burst]
fn joined(mut words: Vec<String>) -> String {
    let shout = |word: &String| word.to_uppercase();
    words.retain(|word| !word.is_empty());
    let end = (|| "!")();
    words.iter().map(shout).collect::<Vec<_>>().join(" ") + end
}

#[burst]
fn with_items_inside(value: u32) -> u32 {
    struct Holder(u32);
    impl Holder {
        fn new(value: u32) -> Self {
            Self(value)
        }
    }
    fn twice(value: u32) -> u32 {
        let double = |value| value * 2;
        double(value)
    }
    twice(Holder::new(value).0)
}

#[burst(inline)]
fn clamp(value: f32) -> f32 {
    [value].map(|value| value.clamp(0.0, 1.0))[0]
}

#[burst(inline)]
const fn half(value: f32) -> f32 {
    value * 0.5
}

#[burst(closures)]
fn holds_kernels(values: &mut [f32]) {
    let change = |value: &mut f32| *value = clamp(half(*value));
    ancho_burst::dispatch(|| values.iter_mut().for_each(change));
}

struct Field {
    heights: Vec<f32>,
}

impl Field {
    #[burst]
    fn raise(&mut self, by: f32) -> usize {
        for height in &mut self.heights {
            *height += by;
        }
        self.heights.len()
    }

    #[burst]
    fn highest(&self) -> Option<&f32> {
        let mut heights = self.heights.iter();
        let first = heights.next()?;
        Some(heights.fold(first, |best, height| if height > best { height } else { best }))
    }

    #[burst]
    fn into_heights(self) -> Vec<f32> {
        self.heights
    }
}

trait Settles {
    fn settle(&mut self);
}

impl Settles for Field {
    #[burst]
    fn settle(&mut self) {
        self.heights.iter_mut().for_each(|height| *height *= 0.5);
    }
}

/// A module that shadows every name that generated code could use.
mod shadowed {
    #![allow(dead_code, non_camel_case_types, reason = "the names are there to be in the way")]

    enum Option {}
    enum Result {}
    struct FnOnce;
    mod core {}
    mod std {}
    mod ancho_burst {}

    #[::ancho_burst::burst]
    pub(super) fn count(kernel: &[u8], dispatch: u8) -> usize {
        kernel.iter().filter(|byte| **byte == dispatch).count()
    }
}

#[test]
fn arguments_and_results_pass() {
    let mut values = [1.0, 2.0, 3.0];
    scale(&mut values, 2.0);
    apply(&mut values, |value| value + 1.0);
    assert_eq!(values, [3.0, 5.0, 7.0]);
    assert_eq!(total(([1, 2], [3, 4]), true), 12);
    assert_eq!(joined(vec!["hello".into(), String::new(), "world".into()]), "HELLO WORLD!");
    assert_eq!(evens(5).collect::<Vec<_>>(), [0, 2, 4]);
}

#[test]
fn generic_functions_borrow_from_their_arguments() {
    assert_eq!(largest(&[3, 9, 4], &[]), Some(&9));
    assert_eq!(largest(&["b", "a"], &[]), Some(&"b"));
    assert_eq!(largest::<f32>(&[], &[]), None);
    let mut values = [1, 2];
    *first_mut(&mut values) = 7;
    assert_eq!(values, [7, 2]);
}

#[test]
fn early_returns_leave_the_function() {
    assert_eq!(position_of(&[4, 5, 6], 5), Some(1));
    assert_eq!(position_of(&[4, 5, 6], 7), None);
    assert_eq!(sum_of_numbers(&["1", "2"]), Ok(3));
    assert!(sum_of_numbers(&["1", "two"]).is_err());
}

#[test]
fn items_inside_a_kernel_are_unchanged() {
    assert_eq!(with_items_inside(21), 42);
}

#[test]
fn inlined_and_const_helpers_have_the_same_result() {
    const QUARTER: f32 = half(0.5);
    assert_eq!(QUARTER, 0.25);
    let mut values = [-1.0, 1.0, 8.0];
    holds_kernels(&mut values);
    assert_eq!(values, [0.0, 0.5, 1.0]);
}

#[test]
fn methods_can_be_kernels() {
    let mut field = Field { heights: vec![1.0, 3.0, 2.0] };
    assert_eq!(field.raise(1.0), 3);
    field.settle();
    assert_eq!(field.highest(), Some(&2.0));
    assert_eq!(field.into_heights(), [1.0, 2.0, 1.5]);
}

#[test]
fn shadowed_names_do_not_conflict() {
    assert_eq!(shadowed::count(&[1, 2, 1], 1), 2);
}

#[test]
fn panics_pass_through() {
    let caught = std::panic::catch_unwind(|| *first_mut(&mut []));
    assert!(caught.is_err());
}
