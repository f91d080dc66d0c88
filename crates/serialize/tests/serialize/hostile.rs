//! Data that is cut, changed or made up. No data may lead to a panic, and a failed load changes nothing.

use ancho_entities::World;
use ancho_serialize::{LoadOptions, SerializeErrorKind as Kind, load, load_into, merge};

use crate::common::*;

#[test]
fn a_file_that_is_cut_anywhere_is_an_error() {
    let bytes = saved(&small_world());
    for len in 0..bytes.len() {
        let refused = load(&bytes[..len], LoadOptions::new()).unwrap_err();
        let expected = if len == 0 { Kind::NotAWorldFile } else { Kind::Truncated };
        assert_eq!(refused.kind(), expected, "{len}: {refused}");
    }
}

#[test]
fn every_flipped_bit_is_detected_and_changes_nothing() {
    let bytes = saved(&small_world());
    let mut world = World::new("Target");
    world.spawn_many(Position::default(), 10);
    let hash = world.state_hash();
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1 << (at % 8);
        let refused = load_into(&mut world, &changed[..], LoadOptions::new());
        assert!(refused.is_err(), "byte {at}");
    }
    assert_eq!(world.state_hash(), hash);
}

#[test]
fn flipped_bits_with_right_checksums_never_panic() {
    let bytes = saved(&small_world());
    let (mut refused, mut accepted) = (0, 0);
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1 << (at % 8);
        repair(&mut changed);
        match load(&changed[..], LoadOptions::new().decoded_limit(1 << 24)) {
            Ok(world) => {
                accepted += 1;
                // The world is consistent: all of it can be read and written.
                if at % 64 == 0 {
                    saved(&world);
                }
            }
            Err(error) => {
                // Padding after a section is always zero.
                let is_padding = error.kind() == Kind::Checksum;
                assert!(!is_padding || bytes[at] == 0, "{at}: {error}");
                refused += 1;
            }
        }
    }
    assert!(refused > 500 && accepted > 500, "{refused} refused, {accepted} accepted");
}

#[test]
fn large_numbers_with_right_checksums_allocate_little() {
    let bytes = saved(&small_world());
    for at in (0..bytes.len() - 8).step_by(11) {
        for number in [u64::MAX, u64::MAX / 2, 1 << 40, 1 << 31] {
            let mut changed = bytes.clone();
            changed[at..at + 8].copy_from_slice(&number.to_le_bytes());
            repair(&mut changed);
            _ = load(&changed[..], LoadOptions::new());
        }
    }
}

#[test]
fn other_formats_are_named() {
    let bytes = saved(&small_world());
    let refused = |change: &dyn Fn(&mut [u8])| {
        let mut changed = bytes.clone();
        change(&mut changed);
        repair(&mut changed);
        load(&changed[..], LoadOptions::new()).unwrap_err()
    };
    let newer = refused(&|bytes| bytes[8] = 2);
    assert_eq!(
        newer.to_string(),
        "A0261: header: the file has format 2, and this version of ancho reads formats up to 1; update ancho"
    );
    let swapped = refused(&|bytes| bytes[12..16].reverse());
    assert_eq!(swapped.kind(), Kind::NotAWorldFile);
    assert!(swapped.to_string().contains("big-endian"), "{swapped}");
    let other = refused(&|bytes| bytes[0] = b'X');
    assert_eq!(other.to_string(), "A0260: header: the data is not a world file");
}

#[test]
fn a_flipped_byte_names_its_section() {
    let mut bytes = saved(&small_world());
    let at = bytes.windows(4).position(|tag| tag == b"CHNK").unwrap();
    bytes[at + 64 + 3] ^= 1;
    let refused = load(&bytes[..], LoadOptions::new()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "A0263: chunk 0 of archetype 1: the checksum is wrong; the data was changed"
    );
    assert_eq!(refused.section(), "chunk 0 of archetype 1");
}

#[test]
fn missing_and_repeated_sections_are_errors() {
    let bytes = saved(&small_world());
    let chunks: Vec<usize> = bytes
        .windows(4)
        .enumerate()
        .filter(|(at, tag)| at % 64 == 0 && *tag == b"CHNK")
        .map(|(at, _)| at)
        .collect();
    let (first, second) = (chunks[0], chunks[1]);
    let mut missing = [&bytes[..first], &bytes[second..]].concat();
    assert_eq!(load(&missing[..], LoadOptions::new()).unwrap_err().kind(), Kind::Corrupt);
    repair(&mut missing);
    assert_eq!(load(&missing[..], LoadOptions::new()).unwrap_err().kind(), Kind::Corrupt);
    let mut twice = [&bytes[..second], &bytes[first..]].concat();
    repair(&mut twice);
    assert_eq!(load(&twice[..], LoadOptions::new()).unwrap_err().kind(), Kind::Corrupt);
}

#[test]
fn a_limit_of_decoded_bytes_is_respected() {
    let bytes = saved(&small_world());
    let refused = load(&bytes[..], LoadOptions::new().decoded_limit(1000)).unwrap_err();
    assert_eq!(refused.kind(), Kind::LimitExceeded);
}

#[test]
fn an_invalid_chunk_size_is_refused_by_all_functions() {
    let bytes = saved(&small_world());
    let with_chunk_size = |size: u32| {
        let mut changed = bytes.clone();
        // The first number after the headers of the file and of its first section.
        changed[128..132].copy_from_slice(&size.to_le_bytes());
        repair(&mut changed);
        changed
    };
    let mut world = World::new("Target");
    world.spawn_many(Position::default(), 10);
    let hash = world.state_hash();
    for size in [0, 2048, 0x003c_4000, 1 << 21, u32::MAX] {
        let changed = with_chunk_size(size);
        let results = [
            load(&changed[..], LoadOptions::new()).map(drop),
            load_into(&mut world, &changed[..], LoadOptions::new()),
            merge(&mut world, &changed[..], LoadOptions::new()).map(drop),
        ];
        for refused in results {
            let refused = refused.unwrap_err();
            assert_eq!(refused.to_string(), "A0264: world: the chunk size is invalid");
        }
        assert_eq!(world.state_hash(), hash);
    }
    // Another valid size only divides the entities among other chunks.
    load_into(&mut world, &with_chunk_size(1 << 15)[..], LoadOptions::new()).unwrap();
}
