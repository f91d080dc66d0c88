//! `Debug` of errors is their message, so that `unwrap` shows it. Panics have the place of the caller.

use std::fmt::{Debug, Display};

use ancho_collections::{
    AllocationError, BitArray, BlobError, CapacityError, DuplicateKey, FixedListFull,
    FixedStringError, FormatError, InvalidUtf8, List, Map, MultiMap, NativeSlice, Queue, QueueFull,
    Rejected, RingQueue, Set, SliceError, StreamError, Text,
};

use crate::common;
use crate::panic_place::panics_of;

fn check(error: impl Debug + Display) {
    let message = error.to_string();
    assert!(message.contains(' '), "{message}");
    assert_eq!(format!("{error:?}"), message);
    assert_eq!(format!("{error:#?}"), message);
}

#[test]
fn unwrap_shows_the_message_of_each_error() {
    let allocation = AllocationError { allocator: "scratch", elements: 7, element_size: 4 };
    check(allocation);
    check(CapacityError::BelowLength { capacity: 2, length: 3 });
    check(CapacityError::Allocation(allocation));
    check(Rejected { value: (), error: allocation });
    check(QueueFull { capacity: 4 });
    check(InvalidUtf8 { valid_up_to: 3 });
    check(DuplicateKey { key_type: "u32" });
    check(FixedListFull { value: (), capacity: 4 });
    let (value, field, root, asset) = ("Path", "points", "Level", "Level");
    for error in [
        BlobError::Disposed { asset },
        BlobError::Null { asset },
        BlobError::ForeignStore { asset },
        BlobError::WrongType { wanted: "A", found: "B" },
        BlobError::ForeignPlace { value },
        BlobError::NotAField { value, field },
        BlobError::FilledTwice { value, field },
        BlobError::NothingToShare { value, field },
        BlobError::TooLarge { root },
        BlobError::TooDeep { root },
        BlobError::Cyclic { root },
        BlobError::OtherVersion { root, expected: 1, found: 2 },
        BlobError::OtherLayout { root, difference: "its size" },
        BlobError::Corrupt { root, at: 3, fault: "a length" },
    ] {
        check(error);
    }
    for error in [
        StreamError::NoSuchLane { lane: 3, lanes: 2 },
        StreamError::NothingLeft { lane: 1 },
        StreamError::OtherSize { lane: 1, written: 4, asked: 8 },
        StreamError::NotAllRead { lane: 1, left: 2 },
    ] {
        check(error);
    }
    for error in [
        SliceError::Outside { offset: 4, sizes: (4, 6) },
        SliceError::Misaligned { offset: 1, alignment: 4 },
        SliceError::Lengths { from: 1, to: 2 },
    ] {
        check(error);
    }
    let format = FormatError::BadFormat { position: 3 };
    for error in [
        FixedStringError::Overflow { capacity: 29, needed: 36 },
        FixedStringError::Truncation { kept: 29, len: 36 },
        FixedStringError::Encoding { position: 2 },
        FixedStringError::NotZero { position: 9 },
        FixedStringError::Format(format),
    ] {
        check(error);
    }
    check(format);
    check(FormatError::MissingArgument { position: 1, index: 2, given: 1 });
    check(FormatError::TooManyArguments { given: 11 });
    check(FormatError::Display);
}

#[test]
fn panics_have_the_place_of_the_caller() {
    let too_many = || std::iter::repeat_n(1_u64, usize::MAX / 16);
    let nothing = || common::source::limited(0).0;
    let calls: &[(&str, &dyn Fn())] = &[
        ("A0014", &|| _ = NativeSlice::from(&[1, 2, 3][..])[3]),
        ("A0014", &|| _ = BitArray::new(3).get(3)),
        ("A0014", &|| _ = Text::from_utf8(b"abc").unwrap().remove(5)),
        ("A0018", &|| _ = Map::<u32, u32>::new()[&1]),
        ("A0019", &|| {
            let mut queue = RingQueue::with_capacity(1);
            (0..2).for_each(|number| queue.enqueue(number));
        }),
        ("A0017", &|| _ = List::<u64>::with_capacity(usize::MAX / 16)),
        ("A0014", &|| _ = List::<u64>::new().remove(0)),
        ("A0017", &|| _ = List::from_iter(too_many())),
        ("A0017", &|| _ = Queue::from_iter(too_many())),
        ("A0017", &|| _ = Map::<u64, u64>::from_iter(too_many().map(|one| (one, one)))),
        ("A0017", &|| _ = MultiMap::<u64, u64>::from_iter(too_many().map(|one| (one, one)))),
        ("A0017", &|| _ = Set::<u64>::from_iter(too_many())),
        // Iterators of unknown length, so that adding an element is refused.
        ("A0017", &|| List::new_in(&nothing()).extend([1].into_iter().filter(|_| true))),
        ("A0017", &|| Queue::new_in(&nothing()).extend([1].into_iter().filter(|_| true))),
        ("A0017", &|| Text::new_in(&nothing()).extend(['a'; 100].into_iter().filter(|_| true))),
        ("A0017", &|| {
            Map::<u64, u64>::new_in(&nothing()).extend([(1, 1)].into_iter().filter(|_| true));
        }),
        ("A0017", &|| {
            MultiMap::<u64, u64>::new_in(&nothing()).extend([(1, 1)].into_iter().filter(|_| true));
        }),
    ];
    for &(code, call) in calls {
        let panics = panics_of(call);
        let [panic] = &panics[..] else { panic!("{code}: {panics:?}") };
        assert!(panic.message.starts_with(code), "{panic:?}");
        assert_eq!(panic.file, file!(), "{panic:?}");
    }
}
