//! Random edits of a string of fixed size have the same effect on a `String` that must not grow.

use crate::common::model;

use ancho_collections::{FixedString, FixedStringError};
use model::{cases, time_is_up};
use proptest::prelude::*;

/// Small enough to be full most of the time.
const SIZE: usize = 16;
const CAPACITY: usize = SIZE - 3;

#[derive(Clone, Debug)]
enum Edit {
    Push(char),
    PushStr(String),
    Append(String, i32),
    Format(String, String),
    Insert(usize, char),
    InsertStr(usize, String),
    Replace(usize, usize, String),
    ReplaceAll(String, String),
    CopyTruncated(String),
    Remove(usize),
    Pop,
    Truncate(usize),
    Clear,
}

fn edit() -> impl Strategy<Value = Edit> {
    let c = || prop::sample::select(vec!['a', 'b', '{', '}', '\0', 'ñ', '€', '🌋']);
    let text = move |max| {
        prop::collection::vec(c(), 0..=max).prop_map(|text| text.into_iter().collect::<String>())
    };
    let at = || 0..=CAPACITY;
    prop_oneof![
        c().prop_map(Edit::Push),
        text(6).prop_map(Edit::PushStr),
        (text(3), any::<i32>()).prop_map(|(text, number)| Edit::Append(text, number)),
        (text(2), text(2)).prop_map(|(a, b)| Edit::Format(a, b)),
        (at(), c()).prop_map(|(at, c)| Edit::Insert(at, c)),
        (at(), text(6)).prop_map(|(at, text)| Edit::InsertStr(at, text)),
        (at(), at(), text(6)).prop_map(|(a, b, text)| Edit::Replace(a.min(b), a.max(b), text)),
        (text(1), text(2)).prop_map(|(from, to)| Edit::ReplaceAll(from, to)),
        text(16).prop_map(Edit::CopyTruncated),
        at().prop_map(Edit::Remove),
        Just(Edit::Pop),
        at().prop_map(Edit::Truncate),
        Just(Edit::Clear),
    ]
}

/// Rounds a position down to a code point boundary.
fn position(text: &str, at: usize) -> usize {
    text.floor_char_boundary(at)
}

/// Applies the edit to both, and compares the results.
fn apply(edit: &Edit, string: &mut FixedString<SIZE>, model: &mut String) {
    let mut edited = model.clone();
    let result = match edit {
        Edit::Push(c) => {
            edited.push(*c);
            string.push(*c)
        }
        Edit::PushStr(text) => {
            edited.push_str(text);
            string.push_str(text)
        }
        Edit::Append(text, number) => {
            edited.push_str(&format!("{text}{number}"));
            string.append(format_args!("{text}{number}"))
        }
        Edit::Format(a, b) => {
            edited.push_str(&format!("{b}{{{a}"));
            string.append_format("{1}{{{0}", &[a, b])
        }
        Edit::Insert(at, c) => {
            let at = position(model, *at);
            edited.insert(at, *c);
            string.insert(at, *c)
        }
        Edit::InsertStr(at, text) => {
            let at = position(model, *at);
            edited.insert_str(at, text);
            string.insert_str(at, text)
        }
        Edit::Replace(start, end, text) => {
            let range = position(model, *start)..position(model, *end);
            edited.replace_range(range.clone(), text);
            string.replace_range(range, text)
        }
        Edit::ReplaceAll(from, to) => {
            edited = model.replace(from, to);
            string.replace_all(from, to)
        }
        Edit::CopyTruncated(text) => {
            let kept = position(text, CAPACITY);
            edited = text[..kept].to_owned();
            let told = string.copy_from_truncated(text);
            let cut = FixedStringError::Truncation { kept, len: text.len() };
            assert_eq!(told.err(), (kept < text.len()).then_some(cut));
            Ok(())
        }
        Edit::Remove(at) => {
            let at = position(model, *at);
            if at < model.len() {
                assert_eq!(string.remove(at), edited.remove(at));
            }
            Ok(())
        }
        Edit::Pop => {
            assert_eq!(string.pop(), edited.pop());
            Ok(())
        }
        Edit::Truncate(at) => {
            let at = position(model, *at);
            edited.truncate(at);
            string.truncate(at);
            Ok(())
        }
        Edit::Clear => {
            edited.clear();
            string.clear();
            Ok(())
        }
    };
    if edited.len() <= CAPACITY {
        assert_eq!(result, Ok(()));
        *model = edited;
    } else {
        let needed = edited.len();
        assert_eq!(result, Err(FixedStringError::Overflow { capacity: CAPACITY, needed }));
    }
}

#[test]
fn random_edits_give_the_result_of_a_string() {
    let config = cases(512);
    proptest!(config, |(edits in prop::collection::vec(edit(), 1..64))| {
        if time_is_up() {
            return Ok(());
        }
        let mut string = FixedString::new();
        let mut model = String::new();
        for edit in &edits {
            apply(edit, &mut string, &mut model);
            assert_eq!(string, model, "after {edit:?}");
            let fresh = FixedString::<SIZE>::try_from(model.as_str()).unwrap();
            assert_eq!(string.raw_bytes(), fresh.raw_bytes(), "after {edit:?}");
        }
    });
}

#[test]
fn random_bytes_are_refused_or_round_trip() {
    let config = cases(2048);
    // Mostly small numbers, so that lengths and zeros are often valid.
    let byte = || prop_oneof![4 => Just(0_u8), 4 => 0..8_u8, 2 => 0x20..0x7F_u8, 1 => any::<u8>()];
    proptest!(config, |(bytes in prop::array::uniform8(byte()))| {
        if time_is_up() {
            return Ok(());
        }
        let len = usize::from(u16::from_le_bytes([bytes[0], bytes[1]]));
        let good = len <= 5
            && std::str::from_utf8(&bytes[2..2 + len]).is_ok()
            && bytes[2 + len..].iter().all(|byte| *byte == 0);
        match FixedString::from_raw_bytes(bytes) {
            Ok(string) => assert!(good && string.raw_bytes() == &bytes),
            Err(_) => assert!(!good),
        }
    });
}
