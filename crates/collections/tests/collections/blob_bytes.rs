//! Saving and loading, with any bytes.
#![cfg(feature = "derive")]

use crate::common::model;

use ancho_collections::{
    BlobArray, BlobAsset, BlobBuilder, BlobData, BlobError, BlobPtr, BlobString,
};
use model::{cases, time_is_up};
use proptest::prelude::*;

/// The size of the header, and the offsets of the fields that a forger has to correct.
const HEADER: usize = 48;
const CONTENT_HASH: usize = 24;
const LENGTH: usize = 32;

#[derive(BlobData, Debug, Clone, Copy, PartialEq)]
#[repr(u16)]
enum Kind {
    Cave,
    Tower = 7,
}

#[derive(BlobData, Debug)]
#[repr(C)]
struct Mark;

#[derive(BlobData, Debug)]
#[repr(C)]
struct Room {
    id: u8,
    weight: f64,
    title: BlobString,
    doors: BlobArray<u16>,
    locked: BlobArray<bool>,
    inner: BlobPtr<Room>,
}

#[derive(BlobData, Debug)]
#[repr(C)]
struct Level {
    name: BlobString,
    kind: Kind,
    lit: bool,
    letters: [char; 2],
    rooms: BlobArray<Room>,
    start: BlobPtr<Room>,
    goal: BlobPtr<Room>,
    mark: Mark,
    wide: BlobArray<u128>,
}

fn room(id: u8) -> Room {
    Room {
        id,
        weight: f64::from(id) / 2.0,
        title: BlobString::new(),
        doors: BlobArray::new(),
        locked: BlobArray::new(),
        inner: BlobPtr::new(),
    }
}

fn level() -> BlobAsset<Level> {
    let mut builder = BlobBuilder::new(Level {
        name: BlobString::new(),
        kind: Kind::Tower,
        lit: true,
        letters: ['a', 'ß'],
        rooms: BlobArray::new(),
        start: BlobPtr::new(),
        goal: BlobPtr::new(),
        mark: Mark,
        wide: BlobArray::new(),
    });
    let root = builder.root();
    builder.string(root, |level| &level.name, "Ancho").unwrap();
    let rooms = builder.array(root, |level| &level.rooms, [room(1), room(2)]).unwrap();
    for place in rooms.iter() {
        builder.string(place, |room| &room.title, "Größe").unwrap();
        builder.array(place, |room| &room.doors, [1, 2, 3]).unwrap();
        builder.array(place, |room| &room.locked, [true, false]).unwrap();
        builder.pointer(place, |room| &room.inner, room(3)).unwrap();
    }
    let goal = builder.pointer(root, |level| &level.goal, room(4)).unwrap();
    builder.share_pointer(root, |level| &level.start, root, |level| &level.goal).unwrap();
    builder.share_string(goal, |room| &room.title, root, |level| &level.name).unwrap();
    builder.array(root, |level| &level.wide, [1, u128::MAX]).unwrap();
    builder.build().unwrap()
}

fn load(bytes: &[u8]) -> Result<BlobAsset<Level>, BlobError> {
    BlobAsset::from_bytes(bytes, 3)
}

/// Loads the bytes, and if that succeeds, reads everything and compares the saved bytes.
fn load_and_read(bytes: &[u8]) -> bool {
    match load(bytes) {
        Ok(level) => {
            let shown = format!("{level:?}");
            assert!(shown.contains("Level"));
            assert!(matches!(level.kind, Kind::Cave | Kind::Tower));
            assert_eq!(level.to_bytes(3), bytes);
            true
        }
        Err(error) => {
            assert!(error.to_string().starts_with("A004"), "{error}");
            false
        }
    }
}

/// XXH64 of a block, as an independent implementation.
fn xxh64(bytes: &[u8]) -> u64 {
    const P: [u64; 6] = [
        0,
        11_400_714_785_074_694_791,
        14_029_467_366_897_019_727,
        1_609_587_929_392_839_161,
        9_650_029_242_287_828_579,
        2_870_177_450_012_600_261,
    ];
    let mul = u64::wrapping_mul;
    let read = |at: usize, count: usize| {
        (0..count).fold(0, |number, byte| number | u64::from(bytes[at + byte]) << (8 * byte))
    };
    let round = |lane: u64, word| mul(lane.wrapping_add(mul(word, P[2])).rotate_left(31), P[1]);
    let mut at = 0;
    let mut hash = P[5];
    if bytes.len() >= 32 {
        let mut v = [P[1].wrapping_add(P[2]), P[2], 0, 0_u64.wrapping_sub(P[1])];
        while at + 32 <= bytes.len() {
            for (lane, v) in v.iter_mut().enumerate() {
                *v = round(*v, read(at + 8 * lane, 8));
            }
            at += 32;
        }
        hash = v[0].rotate_left(1);
        for (v, turn) in v[1..].iter().zip([7, 12, 18]) {
            hash = hash.wrapping_add(v.rotate_left(turn));
        }
        for v in v {
            hash = mul(hash ^ round(0, v), P[1]).wrapping_add(P[4]);
        }
    }
    hash = hash.wrapping_add(bytes.len() as u64);
    while at + 8 <= bytes.len() {
        hash = mul((hash ^ round(0, read(at, 8))).rotate_left(27), P[1]).wrapping_add(P[4]);
        at += 8;
    }
    if at + 4 <= bytes.len() {
        hash = mul((hash ^ mul(read(at, 4), P[1])).rotate_left(23), P[2]).wrapping_add(P[3]);
        at += 4;
    }
    for at in at..bytes.len() {
        hash = mul((hash ^ mul(read(at, 1), P[5])).rotate_left(11), P[1]);
    }
    hash = mul(hash ^ (hash >> 33), P[2]);
    hash = mul(hash ^ (hash >> 29), P[3]);
    hash ^ (hash >> 32)
}

/// Corrects the length and the content hash, as a forger would.
fn forge(mut bytes: Vec<u8>) -> Vec<u8> {
    if let Some(length) = bytes.len().checked_sub(HEADER) {
        let hash = xxh64(&bytes[HEADER..]);
        bytes[LENGTH..LENGTH + 8].copy_from_slice(&(length as u64).to_le_bytes());
        bytes[CONTENT_HASH..CONTENT_HASH + 8].copy_from_slice(&hash.to_le_bytes());
    }
    bytes
}

#[test]
fn a_blob_is_restored_from_its_bytes() {
    let level = level();
    let loaded = load(&level.to_bytes(3)).unwrap();
    assert_eq!(loaded, level);
    assert!(!BlobAsset::ptr_eq(&loaded, &level));
    assert_eq!(format!("{loaded:?}"), format!("{level:?}"));
    assert_eq!(loaded.rooms[1].title, "Größe");
    assert_eq!(loaded.goal.get().unwrap().title, "Ancho");
    assert!(std::ptr::eq(loaded.start.get().unwrap(), loaded.goal.get().unwrap()));
    assert_eq!(forge(level.to_bytes(3)), level.to_bytes(3));
}

#[cfg(target_endian = "little")]
#[test]
fn the_bytes_are_the_same_for_ever() {
    #[derive(BlobData)]
    #[repr(C)]
    struct Curve {
        duration: u16,
        name: BlobString,
        samples: BlobArray<f32>,
    }
    let mut builder = BlobBuilder::new(Curve {
        duration: 258,
        name: BlobString::new(),
        samples: BlobArray::new(),
    });
    builder.string(builder.root(), |curve| &curve.name, "jump!").unwrap();
    builder.array(builder.root(), |curve| &curve.samples, [1.0, -2.0]).unwrap();
    let curve = builder.build().unwrap();
    #[rustfmt::skip]
    let block = [
        2, 1, 0, 0, // the duration and padding
        16, 0, 0, 0, 5, 0, 0, 0, // where the name is, from here, and its length
        16, 0, 0, 0, 2, 0, 0, 0, // the same of the samples
        b'j', b'u', b'm', b'p', b'!', 0, 0, 0,
        0, 0, 0x80, 0x3F, 0, 0, 0, 0xC0,
    ];
    assert_eq!(curve.as_bytes(), block);
    assert_eq!(curve.content_hash(), xxh64(&block));
    assert_eq!(curve.content_hash(), 0xE9C5_B0B5_7838_B858);
    let bytes = curve.to_bytes(0x0102_0304);
    assert_eq!(bytes[..16], *b"\x89AnchoBl\x01\x01\0\0\x04\x03\x02\x01");
    assert_eq!(bytes[16..24], [5, 27, 90, 168, 167, 3, 27, 57]);
    assert_eq!(bytes[24..32], curve.content_hash().to_le_bytes());
    assert_eq!(bytes[32..48], [36, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(bytes[48..], block);
}

#[test]
fn other_versions_are_refused() {
    assert_eq!(
        load(&level().to_bytes(2)).unwrap_err().to_string(),
        "A0048: the bytes hold version 2 of the blob `collections::blob_bytes::Level`, not version 3; load them as \
         that version, or make them again"
    );
}

#[test]
fn other_types_are_refused() {
    assert_eq!(
        BlobAsset::<Room>::from_bytes(&level().to_bytes(3), 3).unwrap_err().to_string(),
        "A0048: the bytes do not fit the blob `collections::blob_bytes::Room` of this program, because its types have \
         other fields, or are laid out differently; make them again with this program"
    );
}

#[test]
fn a_changed_byte_is_detected() {
    let mut bytes = level().to_bytes(3);
    bytes[100] ^= 1;
    assert_eq!(
        load(&bytes).unwrap_err().to_string(),
        "A0049: the bytes are not a blob `collections::blob_bytes::Level`: at byte 24, the content hash is not that of \
         the block; pass them exactly as `to_bytes` returned them"
    );
    let bytes = level().to_bytes(3);
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut bytes = bytes.clone();
            bytes[at] ^= 1 << bit;
            assert!(load(&bytes).is_err(), "bit {bit} of byte {at}");
        }
    }
}

/// Changes each byte, with a correct hash: the result is an error, or a readable blob.
#[test]
fn a_forged_byte_does_no_harm() {
    let bytes = level().to_bytes(3);
    let mut accepted = 0;
    for at in HEADER..bytes.len() {
        for byte in (0..8).map(|bit| bytes[at] ^ (1 << bit)).chain([0, 1, 4, 8, 0x7F, 0xFF]) {
            let mut bytes = bytes.clone();
            bytes[at] = byte;
            accepted += usize::from(load_and_read(&forge(bytes)));
        }
    }
    // Other numbers make other valid blobs.
    assert!(accepted > 500, "{accepted}");
}

#[test]
fn any_beginning_is_refused() {
    let bytes = level().to_bytes(3);
    for length in 0..bytes.len() {
        assert!(load(&bytes[..length]).is_err());
        assert!(!load_and_read(&forge(bytes[..length].to_vec())), "the first {length} bytes");
    }
}

#[test]
fn anything_behind_is_refused() {
    for extra in [&[0; 1][..], &[0; 16], &[1; 3], &level().to_bytes(3)] {
        let bytes = [&level().to_bytes(3), extra].concat();
        assert!(load(&bytes).is_err());
        assert!(!load_and_read(&forge(bytes)));
    }
}

fn fault<T: BlobData>(block: &[u8], like: T) -> &'static str {
    let header = BlobBuilder::new(like).build().unwrap().to_bytes(0);
    let bytes = forge([&header[..HEADER], block].concat());
    match BlobAsset::<T>::from_bytes(&bytes, 0).map(drop) {
        Err(BlobError::Corrupt { fault, .. }) => fault,
        other => panic!("{other:?}"),
    }
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

#[test]
fn each_fault_has_its_own_message() {
    let array = BlobArray::<u32>::new;
    assert_eq!(fault(&[2], false), "a `bool` is neither 0 nor 1");
    assert_eq!(fault(&words(&[0xD800]), 'x'), "a `char` is not a scalar value");
    assert_eq!(fault(&[6, 6], Kind::Cave), "a value is not a variant of its enum");
    assert_eq!(fault(&words(&[4, 1, 0]), array()), "a pointer does not point forward");
    assert_eq!(fault(&words(&[u32::MAX, 1, 0]), array()), "a value reaches beyond the end");
    assert_eq!(fault(&words(&[8, u32::MAX, 0]), array()), "a value reaches beyond the end");
    assert_eq!(fault(&words(&[12, 1, 0, 7]), array()), "a value is not next to the one before it");
    assert_eq!(fault(&words(&[8, 1, 7, 0]), array()), "some bytes are not reachable");
    let message = "an array has a length or an offset, but not both";
    assert_eq!(fault(&words(&[8, 0]), array()), message);
    assert_eq!(fault(&words(&[0, 1]), array()), message);
    let message = "a text has a length or an offset, but not both";
    assert_eq!(fault(&words(&[8, 0]), BlobString::new()), message);
    let text = [&words(&[8, 2])[..], b"a\xFF"].concat();
    assert_eq!(fault(&text, BlobString::new()), "a text is not UTF-8");
    let padded = [&words(&[8, 1])[..], &[0; 24]].concat();
    let mut dirty = padded.clone();
    dirty[15] = 1;
    assert_eq!(fault(&dirty, BlobArray::<PaddedPair>::new()), "padding is not zero");
    let pair = [const { BlobArray::<u32>::new() }; 2];
    let overlapping = words(&[16, 2, 12, 1, 0, 0]);
    assert_eq!(fault(&overlapping, pair), "a value is not next to the one before it");
    let pair = [const { BlobArray::<u32>::new() }; 2];
    let unequal = words(&[16, 2, 8, 1, 0, 0]);
    assert_eq!(fault(&unequal, pair), "two pointers to one place have different types");
}

#[derive(BlobData)]
#[repr(C)]
struct PaddedPair {
    small: u8,
    large: u64,
}

#[derive(BlobData, Debug)]
#[repr(C)]
struct Chain {
    next: BlobPtr<Chain>,
    also: BlobPtr<Chain>,
}

#[test]
fn deep_and_branching_chains_cost_neither_stack_nor_time() {
    let empty = || Chain { next: BlobPtr::new(), also: BlobPtr::new() };
    // A million nested nodes.
    let mut deep = words(&[8, 0].repeat(1_000_000));
    deep.extend(words(&[0, 0]));
    assert_eq!(fault(&deep, empty()), "a value is more than 256 pointers deep");
    // Two paths from each node to the next make 2^255 paths to the last.
    let wide = |length| [words(&[8, 4].repeat(length)), words(&[0, 0])].concat();
    let message = "the blob would exceed 4 GiB without sharing";
    assert_eq!(fault(&wide(255), empty()), message);
    let header = BlobBuilder::new(empty()).build().unwrap().to_bytes(0);
    let bytes = forge([&header[..HEADER], &wide(10)].concat());
    let loaded = BlobAsset::<Chain>::from_bytes(&bytes, 0).unwrap();
    assert_eq!(format!("{loaded:?}").matches("next: null").count(), 1 << 10);
    // A cycle cannot be encoded: offsets are not negative, and the sum does not wrap.
    assert_eq!(fault(&words(&[0, 0xFFFF_FFFC]), empty()), "a value reaches beyond the end");
}

/// Small numbers as words: most are refused, for different reasons.
fn word() -> impl Strategy<Value = u32> {
    prop_oneof![0_u32..200, 0_u32..8, any::<u32>()]
}

proptest! {
    #![proptest_config(cases(2000))]

    #[test]
    fn forged_words_do_no_harm(
        changes in prop::collection::vec((any::<prop::sample::Index>(), word()), 1..6),
        cut in 0..40_usize,
    ) {
        if time_is_up() {
            return Ok(());
        }
        let mut bytes = level().to_bytes(3);
        let count = (bytes.len() - HEADER) / 4;
        for (index, word) in changes {
            let at = HEADER + 4 * index.index(count);
            bytes[at..at + 4].copy_from_slice(&word.to_ne_bytes());
        }
        if cut > 32 {
            bytes.truncate(bytes.len() - (cut - 32));
        }
        load_and_read(&forge(bytes));
    }

    #[test]
    fn any_block_does_no_harm(words in prop::collection::vec(word(), 0..80)) {
        if time_is_up() {
            return Ok(());
        }
        let mut bytes = level().to_bytes(3);
        bytes.truncate(HEADER);
        bytes.extend(words.into_iter().flat_map(u32::to_ne_bytes));
        load_and_read(&forge(bytes));
    }

    #[test]
    fn any_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if time_is_up() {
            return Ok(());
        }
        prop_assert!(!load_and_read(&bytes));
    }
}
