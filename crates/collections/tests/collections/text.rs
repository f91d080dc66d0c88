//! Text compared with a `String`.
#![expect(unsafe_code, reason = "implements a source of memory that refuses")]

use crate::common::model;

use std::alloc::Layout;
use std::collections::{BTreeSet, HashSet};
use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

use ancho_collections::{Allocator, InvalidUtf8, MemorySource, NativeText, Text};
use ancho_jobs::{JobPool, JobScheduler};
use model::{cases, time_is_up};
use proptest::prelude::*;

/// A source that refuses everything.
struct Nothing;

// SAFETY: no memory is ever returned.
unsafe impl MemorySource for Nothing {
    fn allocate(&self, _: Layout) -> Option<NonNull<u8>> {
        None
    }
    unsafe fn deallocate(&self, _: NonNull<u8>, _: Layout) {}
}

/// Returns the message of a panic.
fn panic_of<R>(run: impl FnOnce() -> R) -> String {
    let panic = catch_unwind(AssertUnwindSafe(run)).map(drop).unwrap_err();
    panic.downcast_ref::<String>().unwrap().clone()
}

#[test]
fn bytes_that_are_not_text_change_nothing() {
    let mut text = Text::from("café");
    let refused = text.push_utf8(b"ab\xFF").unwrap_err();
    assert_eq!(refused, InvalidUtf8 { valid_up_to: 2 });
    assert_eq!(
        refused.to_string(),
        "A0027: the bytes are not UTF-8 from byte 2 on; use `String::from_utf8_lossy` to replace invalid bytes"
    );
    assert_eq!(text, "café");
    assert_eq!(Text::from_utf8("日本".as_bytes()).unwrap(), "日本");
    assert!(Text::from_utf8(&"日本".as_bytes()[..4]).is_err());
}

#[test]
fn text_is_divided_between_characters_only() {
    let mut text = Text::from("café");
    let refused = "A0014: no character begins at byte 4 of a text of 5 bytes; take an index from \
                   `char_indices` or `find`";
    assert_eq!(panic_of(|| text.insert_str(4, "x")), refused);
    assert_eq!(panic_of(|| text.remove(4)), refused);
    assert_eq!(panic_of(|| text.truncate(4)), refused);
    assert!(panic_of(|| text.remove(5)).starts_with("A0014: "));
    assert!(panic_of(|| text.insert_str(6, "x")).starts_with("A0014: "));
    text.truncate(100);
    assert_eq!(text, "café");
}

#[test]
fn text_without_memory_stays_as_it_is() {
    let mut text = Text::new_in(&Allocator::custom("Nothing", Nothing));
    assert!(text.try_push_str("").is_ok());
    let refused = text.try_push_str("Ada").unwrap_err();
    assert!(refused.to_string().starts_with("A0017: the allocator `Nothing` has no room for "));
    assert!(write!(text, "{}", 5).is_err());
    assert!(panic_of(|| text.push('x')).starts_with("A0017: "));
    assert_eq!(text, "");
}

#[test]
#[expect(
    clippy::mutable_key_type,
    reason = "the allocator in a text has no part in what it is equal to"
)]
fn text_is_a_key_as_its_string_is() {
    let names = ["Grace", "Ada"].map(Text::from);
    let hashed: HashSet<_> = names.iter().cloned().collect();
    assert!(hashed.contains("Ada") && !hashed.contains("Tony"));
    let sorted: BTreeSet<_> = names.into_iter().collect();
    assert_eq!(sorted.iter().map(Text::as_str).collect::<Vec<_>>(), ["Ada", "Grace"]);
    assert_eq!(format!("{:>5}|{:?}", Text::from("Ada"), Text::from("a\"b")), "  Ada|\"a\\\"b\"");
    assert_eq!("Ada".parse::<Text>().unwrap(), *"Ada");
    assert_eq!("Ada".chars().rev().collect::<Text>(), "adA");
}

#[test]
fn a_job_writes_text() {
    let jobs = JobScheduler::new(&JobPool::new());
    let mut log = NativeText::new().named("log");
    assert!(log.label().to_string().starts_with("`log` (NativeText made at "));
    let job = jobs.schedule(&[], log.write(), |log| write!(log, "{} hits", 3).unwrap());
    jobs.complete(job.unwrap());
    assert_eq!(*log.get().unwrap(), "3 hits");
}

#[derive(Debug, Clone)]
enum Step {
    Push(char),
    PushStr(String),
    Insert(usize, String),
    Remove(usize),
    Pop,
    Truncate(usize),
    Clear,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => any::<char>().prop_map(Step::Push),
        4 => any::<String>().prop_map(Step::PushStr),
        2 => (any::<usize>(), any::<String>()).prop_map(|(index, string)| Step::Insert(index, string)),
        4 => any::<usize>().prop_map(Step::Remove),
        2 => Just(Step::Pop),
        2 => any::<usize>().prop_map(Step::Truncate),
        1 => Just(Step::Clear),
    ]
}

/// Maps any number to the start of a character, or to the end.
fn boundary(index: usize, string: &str) -> usize {
    let index = index % (string.len() + 1);
    (0..=index).rev().find(|&index| string.is_char_boundary(index)).unwrap()
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn any_script_equals_a_string(steps in prop::collection::vec(step(), 0..60)) {
        if time_is_up() {
            return Ok(());
        }
        let mut text = Text::new();
        let mut model = String::new();
        for step in steps {
            match step {
                Step::Push(character) => {
                    text.push(character);
                    model.push(character);
                }
                Step::PushStr(string) => {
                    text.push_str(&string);
                    model.push_str(&string);
                }
                Step::Insert(index, string) => {
                    let index = boundary(index, &model);
                    text.insert_str(index, &string);
                    model.insert_str(index, &string);
                }
                Step::Remove(index) => {
                    let index = boundary(index, &model);
                    if index < model.len() {
                        prop_assert_eq!(text.remove(index), model.remove(index));
                    }
                }
                Step::Pop => prop_assert_eq!(text.pop(), model.pop()),
                Step::Truncate(length) => {
                    let length = boundary(length, &model);
                    text.truncate(length);
                    model.truncate(length);
                }
                Step::Clear => {
                    text.clear();
                    model.clear();
                }
            }
            prop_assert_eq!(text.as_str(), &model);
            prop_assert!(std::str::from_utf8(text.as_bytes()).is_ok());
            prop_assert!(text.capacity() >= text.len());
        }
    }

    #[test]
    fn bytes_are_text_if_they_are_for_strings(bytes in prop::collection::vec(any::<u8>(), 0..8)) {
        if time_is_up() {
            return Ok(());
        }
        match std::str::from_utf8(&bytes) {
            Ok(string) => prop_assert_eq!(&Text::from_utf8(&bytes).unwrap(), string),
            Err(error) => prop_assert_eq!(
                Text::from_utf8(&bytes).unwrap_err(),
                InvalidUtf8 { valid_up_to: error.valid_up_to() }
            ),
        }
    }
}
