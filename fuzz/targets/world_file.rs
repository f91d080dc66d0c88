//! Loads world files. No input may panic or take more memory than its contents justify, and a world that was loaded can be saved.

#![no_main]

use std::sync::Once;

use ancho_fuzz::{memory_limit, peak_of, repair, saved, small_world};
use ancho_serialize::{LoadOptions, SerializeErrorKind, UnknownTypes, load, load_into};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    // The types of the program are registered once.
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| drop(small_world()));
    let mut bytes = data.to_vec();
    repair(&mut bytes);
    let options = || LoadOptions::new().decoded_limit(1 << 24);
    let (loaded, peak) = peak_of(|| load(&bytes[..], options()));
    let limit = memory_limit(&bytes, 16 << 10);
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
            assert!(load_into(&mut world, &bytes[..], options()).is_err());
            assert_eq!(world.state_hash(), hash, "a failed load changed the world");
        }
    }
});
