//! Strings of fixed size: contents, refusals and bytes.

use crate::common::panics;

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::fmt::{self, Display, Write};

use ancho_collections::{
    FixedString, FixedString32, FixedString64, FixedString128, FixedString512, FixedString4096,
    FixedStringError, FormatError,
};
use panics::assert_panics;

/// Five bytes of text: small enough to overflow.
type Tiny = FixedString<8>;

const OVERFLOW_BY_ONE: FixedStringError = FixedStringError::Overflow { capacity: 5, needed: 6 };

/// Code points of one, two, three and four bytes.
const CODE_POINTS: [char; 4] = ['a', 'ñ', '€', '🌋'];

fn tiny(text: &str) -> Tiny {
    Tiny::try_from(text).unwrap()
}

/// Checks that the bytes are the length, the text, and zeros.
#[track_caller]
fn assert_holds<const N: usize>(string: &FixedString<N>, text: &str) {
    let mut bytes = [0; N];
    bytes[..2].copy_from_slice(&u16::try_from(text.len()).unwrap().to_le_bytes());
    bytes[2..2 + text.len()].copy_from_slice(text.as_bytes());
    assert_eq!(string.raw_bytes(), &bytes);
    assert_eq!(string.as_str(), text);
    assert_eq!(FixedString::from_raw_bytes(bytes), Ok(*string));
}

#[test]
fn sizes_and_capacities_are_those_of_unity() {
    assert_eq!((size_of::<FixedString32>(), FixedString32::CAPACITY), (32, 29));
    assert_eq!((size_of::<FixedString64>(), FixedString64::CAPACITY), (64, 61));
    assert_eq!((size_of::<FixedString128>(), FixedString128::CAPACITY), (128, 125));
    assert_eq!((size_of::<FixedString512>(), FixedString512::CAPACITY), (512, 509));
    assert_eq!((size_of::<FixedString4096>(), FixedString4096::CAPACITY), (4096, 4093));
    assert_eq!((size_of::<FixedString<65538>>(), FixedString::<65538>::CAPACITY), (65538, 65535));
    assert_eq!((size_of::<FixedString<3>>(), FixedString::<3>::CAPACITY), (3, 0));
    assert_eq!(align_of::<FixedString32>(), 1);
}

#[test]
fn bytes_are_length_text_and_zeros() {
    assert_eq!(Tiny::new().raw_bytes(), &[0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(tiny("hi").raw_bytes(), &[2, 0, b'h', b'i', 0, 0, 0, 0]);
    assert_eq!(tiny("año").raw_bytes(), &[4, 0, b'a', 0xC3, 0xB1, b'o', 0, 0]);
    assert_eq!(tiny("12345").raw_bytes(), &[5, 0, b'1', b'2', b'3', b'4', b'5', 0]);
    let long = FixedString512::try_from("x".repeat(300).as_str()).unwrap();
    assert_eq!(long.raw_bytes()[..3], [300_u16.to_le_bytes()[0], 1, b'x']);
    assert_eq!(FixedString32::default().raw_bytes(), &[0; 32]);
}

#[test]
fn nothing_stays_behind_a_text_that_became_shorter() {
    let mut text = tiny("12345");
    text.pop();
    assert_holds(&text, "1234");
    text.remove(0);
    assert_holds(&text, "234");
    text.truncate(2);
    assert_holds(&text, "23");
    text.replace_range(.., "1").unwrap();
    assert_holds(&text, "1");
    text.clear();
    assert_holds(&text, "");
    text.push_str("12345").unwrap();
    text.copy_from_truncated("1").unwrap();
    assert_holds(&text, "1");
    text.push_str("112").unwrap();
    text.replace_all("1", "").unwrap();
    assert_holds(&text, "2");
}

#[test]
fn a_full_string_accepts_nothing_more() {
    for (text, more) in [("12345", "6"), ("1ñé", "6"), ("1234", "ñ"), ("", "123456")] {
        let mut string = tiny(text);
        assert_eq!(string.push_str(more), Err(OVERFLOW_BY_ONE));
        assert_eq!(string.insert_str(0, more), Err(OVERFLOW_BY_ONE));
        assert_eq!(string.append(more), Err(OVERFLOW_BY_ONE));
        assert_eq!(string.append_format(more, &[]), Err(OVERFLOW_BY_ONE));
        assert_eq!(write!(string, "{more}"), Err(fmt::Error));
        if let [only] = more.chars().collect::<Vec<_>>()[..] {
            assert_eq!(string.push(only), Err(OVERFLOW_BY_ONE));
            assert_eq!(string.insert(0, only), Err(OVERFLOW_BY_ONE));
        }
        assert_eq!(string.push_str(""), Ok(()));
        assert_holds(&string, text);
        let whole = format!("{text}{more}");
        assert_eq!(Tiny::try_from(whole.as_str()), Err(OVERFLOW_BY_ONE));
        assert_eq!(whole.parse::<Tiny>(), Err(OVERFLOW_BY_ONE));
        assert_eq!(Tiny::from_utf8(whole.as_bytes()), Err(OVERFLOW_BY_ONE));
    }
    let none = FixedString::<3>::try_from("1").unwrap_err();
    assert_eq!(none, FixedStringError::Overflow { capacity: 0, needed: 1 });
    assert_holds(&FixedString::<3>::new(), "");
}

#[test]
fn a_text_is_cut_between_code_points() {
    // Each code point at each position, so that the capacity ends at each of its bytes.
    for wide in CODE_POINTS {
        for before in 0..=8 {
            let text = format!("{}{wide}zz", "x".repeat(before));
            let fits = |kept: &&str| kept.len() <= 5;
            let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
            let kept = ends.map(|end| &text[..end]).rfind(fits).unwrap();
            assert_holds(&Tiny::from_truncated(&text), kept);
            let mut string = tiny("12345");
            let told = string.copy_from_truncated(&text);
            assert_holds(&string, kept);
            let cut = FixedStringError::Truncation { kept: kept.len(), len: text.len() };
            assert_eq!(told, if kept == text { Ok(()) } else { Err(cut) });
        }
    }
    assert_holds(&Tiny::from_truncated(""), "");
    assert_holds(&Tiny::from_truncated("12345"), "12345");
    assert_holds(&FixedString::<3>::from_truncated("1"), "");
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    let bad = |position| Err(FixedStringError::Encoding { position });
    assert_eq!(Tiny::from_utf8(b"a\xffb"), bad(1));
    assert_eq!(Tiny::from_utf8(b"ab\xc3"), bad(2));
    assert_eq!(Tiny::from_utf8(b"\xed\xa0\x80"), bad(0));
    assert_holds(&Tiny::from_utf8("año".as_bytes()).unwrap(), "año");
    assert_eq!(Tiny::from_raw_bytes([2, 0, b'a', 0xC3, 0, 0, 0, 0]), bad(1));
    let long = FixedStringError::Overflow { capacity: 5, needed: 6 };
    assert_eq!(Tiny::from_raw_bytes([6, 0, b'1', b'2', b'3', b'4', b'5', b'6']), Err(long));
    let longest = FixedStringError::Overflow { capacity: 5, needed: 65535 };
    assert_eq!(Tiny::from_raw_bytes([255; 8]), Err(longest));
    let dirty = |position| Err(FixedStringError::NotZero { position });
    assert_eq!(Tiny::from_raw_bytes([1, 0, b'1', 0, b'3', 0, 0, 0]), dirty(4));
    assert_eq!(Tiny::from_raw_bytes([5, 0, b'1', b'2', b'3', b'4', b'5', b'6']), dirty(7));
}

#[test]
fn a_constant_is_a_string() {
    const NAME: FixedString32 = FixedString32::from_static("Ana");
    const LENGTH: usize = NAME.as_str().len();
    assert_holds(&NAME, "Ana");
    assert_eq!(LENGTH, 3);
    assert_holds(&Tiny::from_static("12345"), "12345");
    assert_panics(
        || Tiny::from_static("1234567890"),
        "A0030: a text of 10 bytes does not fit in a FixedString<8>, which holds 5; take a larger size, \
         or cut the text with `from_truncated`",
    );
}

#[test]
fn editing_is_that_of_string() {
    let mut text = FixedString32::from_static("año");
    text.insert(0, '¡').unwrap();
    text.insert_str(text.len(), "!").unwrap();
    assert_holds(&text, "¡año!");
    assert_eq!(text.remove(3), 'ñ');
    text.replace_range(2..=2, "eñ").unwrap();
    assert_holds(&text, "¡eño!");
    assert_eq!(text.pop(), Some('!'));
    text.truncate(100);
    text.truncate(5);
    assert_holds(&text, "¡eñ");
    text.clear();
    assert_eq!(text.pop(), None);
}

#[test]
fn all_occurrences_are_replaced_or_none() {
    let mut text = tiny("1-2");
    text.replace_all("-", "ñé").unwrap_err();
    assert_holds(&text, "1-2");
    text.replace_all("-", "ñ").unwrap();
    assert_holds(&text, "1ñ2");
    text.replace_all("x", "123456").unwrap();
    assert_holds(&text, "1ñ2");
    // As in `str::replace`, an empty text is found at both ends and between all code points.
    let mut text = tiny("ab");
    text.replace_all("", "-").unwrap();
    assert_holds(&text, "-a-b-");
    let refused = text.replace_all("", "-").unwrap_err();
    assert_eq!(refused, FixedStringError::Overflow { capacity: 5, needed: 11 });
    assert_holds(&text, "-a-b-");
}

#[test]
fn positions_inside_code_points_are_refused() {
    let inside = "A0031: byte 2 of a FixedString<8> is inside 'ñ', which begins at byte 1; \
                  take positions from `find` or `char_indices`";
    let beyond = "A0031: byte 9 of a FixedString<8> is beyond the end of its text, which has 4 bytes; take positions \
                  from `find` or `char_indices`";
    let mut text = tiny("año");
    assert_panics(|| text.insert(2, '!'), inside);
    assert_panics(|| text.insert(9, '!'), beyond);
    assert_panics(|| text.insert_str(2, ""), inside);
    assert_panics(|| text.remove(2), inside);
    assert_panics(|| text.remove(9), beyond);
    assert_panics(|| text.truncate(2), inside);
    assert_panics(|| text.replace_range(2.., ""), inside);
    assert_panics(|| text.replace_range(..2, ""), inside);
    assert_panics(|| text.replace_range(1..9, ""), beyond);
    assert_panics(
        || text.remove(4),
        "A0031: byte 4 of a FixedString<8> is beyond the end of its text, which has 4 bytes; take positions from \
         `find` or `char_indices`",
    );
    assert_panics(
        #[expect(clippy::reversed_empty_ranges, reason = "it is what is refused")]
        || text.replace_range(3..1, ""),
        "A0031: a range of a FixedString<8> begins at byte 3 and ends before it, at byte 1; pass the \
         smaller position first",
    );
    assert_holds(&text, "año");
}

#[test]
fn a_format_takes_ten_arguments() {
    let mut text = FixedString32::new();
    let digits: [&dyn Display; 10] = [&0, &1, &2, &3, &4, &5, &6, &7, &8, &9];
    text.append_format("{9}{8}{7}{6}{5}{4}{3}{2}{1}{0}", &digits).unwrap();
    assert_holds(&text, "9876543210");
    let eleven: [&dyn Display; 11] = [&0; 11];
    let refused = text.append_format("", &eleven).unwrap_err();
    assert_eq!(refused, FormatError::TooManyArguments { given: 11 }.into());
    assert_holds(&text, "9876543210");
}

#[test]
fn a_format_is_filled_in() {
    let filled = |format: &str| {
        let mut text = FixedString32::from_static(">");
        text.append_format(format, &[&"añ", &-1.5]).map(|()| text)
    };
    for (format, expected) in [
        ("", ">"),
        ("€", ">€"),
        ("{0}", ">añ"),
        ("{1} of {0}.", ">-1.5 of añ."),
        ("{0}{0}", ">añañ"),
        ("{{0}}", ">{0}"),
        ("{{{0}}}", ">{añ}"),
        ("}}{{", ">}{"),
    ] {
        assert_holds(&filled(format).unwrap(), expected);
    }
}

#[test]
fn a_bad_format_appends_nothing_and_says_where() {
    let bad = |position| FormatError::BadFormat { position };
    let missing = |position, index| FormatError::MissingArgument { position, index, given: 2 };
    for (format, error) in [
        ("{", bad(0)),
        ("}", bad(0)),
        ("{}", bad(0)),
        ("ñ{", bad(2)),
        ("{0}}", bad(3)),
        ("{0} {10}", bad(4)),
        ("{{{", bad(2)),
        ("{0:4}", bad(0)),
        ("{-1}", bad(0)),
        ("{ 0}", bad(0)),
        ("{0", bad(0)),
        ("{1}{2}", missing(3, 2)),
        ("{9}", missing(0, 9)),
        // An error of the format takes precedence over a lack of room.
        ("0123456789{", bad(10)),
    ] {
        let mut text = tiny("1");
        assert_eq!(text.append_format(format, &[&"a", &"b"]), Err(error.into()), "{format}");
        assert_holds(&text, "1");
    }
}

#[test]
fn values_are_appended_whole_or_not_at_all() {
    let mut text = FixedString32::new();
    text.append(-12).unwrap();
    text.append(' ').unwrap();
    text.append(0.25_f32).unwrap();
    text.append(format_args!(" {:04x}", 255)).unwrap();
    assert_holds(&text, "-12 0.25 00ff");
    let mut text = tiny("1");
    let refused = text.append(format_args!("{}{}{}", 23, 4567, 8)).unwrap_err();
    assert_eq!(refused, FixedStringError::Overflow { capacity: 5, needed: 8 });
    assert_holds(&text, "1");
    // Pieces after the one that did not fit are not appended either.
    let refused = text.append_format("{0}{1}", &[&"abcdefg", &"h"]).unwrap_err();
    assert_eq!(refused, FixedStringError::Overflow { capacity: 5, needed: 9 });
    assert_holds(&text, "1");
    write!(text, "{}", 23).unwrap();
    assert_holds(&text, "123");
}

#[test]
fn a_value_that_cannot_be_displayed_leaves_nothing() {
    struct Fails;
    impl Display for Fails {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("ab")?;
            Err(fmt::Error)
        }
    }
    struct Panics;
    impl Display for Panics {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("ab")?;
            panic!("this is how it ends")
        }
    }
    let mut text = tiny("1");
    assert_eq!(text.append(Fails), Err(FormatError::Display.into()));
    assert_holds(&text, "1");
    assert_eq!(text.append_format("2{0}", &[&Fails]), Err(FormatError::Display.into()));
    assert_holds(&text, "1");
    assert_panics(|| text.append_format("2{0}", &[&Panics]), "this is how it ends");
    assert_holds(&text, "1");
}

#[test]
fn numbers_are_parsed() {
    assert_eq!(FixedString32::from_static("-12").parse(), Ok(-12_i32));
    assert_eq!(FixedString32::from_static("2.5e3").parse(), Ok(2500.0_f64));
    assert!(FixedString32::from_static("12 ").parse::<u8>().is_err());
    assert!(FixedString32::from_static("256").parse::<u8>().is_err());
    let mut text = FixedString32::new();
    text.append(f32::MIN_POSITIVE).unwrap_err();
    text.append(format_args!("{:e}", f32::MIN_POSITIVE)).unwrap();
    assert_eq!(text.parse(), Ok(f32::MIN_POSITIVE));
}

#[test]
fn sizes_are_converted_into_larger_ones_and_back_if_they_fit() {
    let small = FixedString32::from_static("año");
    assert_holds(&FixedString64::from(small), "año");
    assert_holds(&FixedString4096::from(FixedString512::from(FixedString128::from(small))), "año");
    assert_eq!(FixedString32::try_from(FixedString4096::from(small)), Ok(small));
    let full = FixedString64::try_from("x".repeat(30).as_str()).unwrap();
    let refused = FixedStringError::Overflow { capacity: 29, needed: 30 };
    assert_eq!(FixedString32::try_from(full), Err(refused));
    assert_eq!(String::from(small), "año");
    assert_eq!("año".parse(), Ok(small));
}

#[test]
fn comparison_is_that_of_str() {
    let (a, b) = (FixedString32::from_static("a"), FixedString64::from_static("b"));
    let (same, above) = (String::from("a"), String::from("b"));
    assert_eq!(a, FixedString64::from(a));
    assert_ne!(a, b);
    assert_eq!(a.partial_cmp(&b), Some(Ordering::Less));
    assert!(a == *"a" && a == "a" && a == same);
    assert!(*"a" == a && "a" == a && same == a);
    assert_eq!([a < *"b", a < "b", a < above, a < same], [true, true, true, false]);
    assert_eq!([*"b" < a, "b" < a, above < a, same < a], [false; 4]);
    assert_eq!(FixedString32::from_static("ab").cmp(&a), Ordering::Greater);
    // A NUL is ordinary text, though the bytes after the text are zero too.
    assert!(a != "a\0" && a < FixedString32::from_static("a\0"));
}

#[test]
fn a_map_finds_a_string_by_its_text() {
    let key = FixedString32::from_static("año");
    assert_eq!(HashMap::from([(key, 1)]).get("año"), Some(&1));
    assert_eq!(BTreeMap::from([(key, 1)]).get("año"), Some(&1));
    assert_eq!(HashMap::from([("año".to_owned(), 1)]).get(key.as_str()), Some(&1));
}

#[test]
fn text_is_shown_like_a_str() {
    let text = FixedString32::from_static("a\"ñ");
    assert_eq!(format!("{text}|{text:>5}|{text:?}"), "a\"ñ|  a\"ñ|\"a\\\"ñ\"");
}

#[test]
fn error_messages() {
    let said = |error: FixedStringError| {
        assert_eq!(format!("{error:?}"), error.to_string());
        error.to_string()
    };
    assert_eq!(
        said(OVERFLOW_BY_ONE),
        "a text of 6 bytes does not fit in a string that holds 5; take a larger size, or cut the text \
         with `copy_from_truncated`"
    );
    assert_eq!(
        said(FixedStringError::Truncation { kept: 4, len: 6 }),
        "a text of 6 bytes was cut to 4, to fit in the string"
    );
    assert_eq!(said(FixedStringError::Encoding { position: 2 }), "the text is not UTF-8 at byte 2");
    assert_eq!(
        said(FixedStringError::NotZero { position: 7 }),
        "byte 7 of the string is after its text, and is not zero"
    );
    assert_eq!(
        said(FormatError::BadFormat { position: 3 }.into()),
        "the brace at byte 3 of the format is unmatched; write {0} to {9} for an argument, and {{ or }} \
         for a brace"
    );
    assert_eq!(
        said(FormatError::MissingArgument { position: 3, index: 1, given: 1 }.into()),
        "the format names {1} at byte 3, and the number of arguments is 1"
    );
    assert_eq!(
        said(FormatError::TooManyArguments { given: 11 }.into()),
        "a format takes up to 10 arguments, and 11 were given"
    );
    let display = FixedStringError::from(FormatError::Display);
    assert_eq!(said(display), "the `Display` of a value returned an error");
    assert!(display.source().is_some_and(|source| source.is::<FormatError>()));
    assert!(OVERFLOW_BY_ONE.source().is_none());
}

#[cfg(feature = "zerocopy")]
#[test]
fn a_component_with_a_string_is_bytes() {
    use zerocopy::{Immutable, IntoBytes};

    #[derive(Clone, Copy, IntoBytes, Immutable)]
    #[repr(C)]
    struct Named {
        id: u32,
        name: FixedString<8>,
    }
    let named = Named { id: u32::from_le(7), name: tiny("hi") };
    assert_eq!(named.as_bytes(), [7, 0, 0, 0, 2, 0, b'h', b'i', 0, 0, 0, 0]);
}
