//! Loads world files. No input may panic or take more memory than its contents justify, and a world that was loaded can be saved.

#![no_main]

use std::sync::Once;

use ancho_fuzz::{memory_limit, peak_of, repair, saved, small_world};
use ancho_serialize::{LoadOptions, SerializeErrorKind, UnknownTypes, load, load_into};
use libfuzzer_sys::fuzz_target;

/// The size of the chunks of `small_world`.
const CHUNK_SIZE: usize = 16 << 10;

/// Returns the size of chunks in a file: the first number after the headers of the file and of its first section.
fn file_chunk_size(bytes: &[u8]) -> usize {
    u32::from_le_bytes(bytes[128..132].try_into().expect("four bytes")) as usize
}

fuzz_target!(|data: &[u8]| {
    // The types of the program are registered once.
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| drop(small_world()));
    let mut bytes = data.to_vec();
    repair(&mut bytes);
    let options = || LoadOptions::new().decoded_limit(1 << 24);
    let (loaded, peak) = peak_of(|| load(&bytes[..], options()));
    let limit = memory_limit(&bytes, CHUNK_SIZE);
    assert!(peak <= limit, "{peak} bytes were allocated, {limit} are allowed");
    match loaded {
        Ok(world) => {
            let again = saved(&world);
            let copy = load(&again[..], options()).expect("a file that was just saved can be loaded");
            assert_eq!(copy.state_hash(), world.state_hash());
        }
        Err(error) if error.kind() == SerializeErrorKind::UnknownTypes => {
            _ = load(&bytes[..], options().unknown_types(UnknownTypes::Skip));
        }
        Err(_) => {
            let mut world = small_world();
            let hash = world.state_hash();
            match load_into(&mut world, &bytes[..], options()) {
                Err(_) => assert_eq!(world.state_hash(), hash, "a failed load changed the world"),
                // An entity that does not fit in a chunk of the file may fit in a larger chunk.
                Ok(_) => assert!(file_chunk_size(&bytes) < CHUNK_SIZE, "only `load` fails"),
            }
        }
    }
});
