//! Reads, composes and applies deltas. No input may panic, and a failed delta leaves the world unchanged.

#![no_main]

use std::cell::RefCell;

use ancho_entities::World;
use ancho_fuzz::{repair, small_world};
use ancho_serialize::{Delta, LoadOptions};
use libfuzzer_sys::fuzz_target;

/// The position of the checksum and the length of the base: after the headers of the file and of the section.
const BASE: std::ops::Range<usize> = 128..144;

thread_local! {
    static STATE: RefCell<Option<State>> = const { RefCell::new(None) };
}

struct State {
    world: World,
    hash: u64,
    /// The delta from the world to itself.
    nothing: Delta,
}

fuzz_target!(|data: &[u8]| {
    STATE.with_borrow_mut(|state| {
        let state = state.get_or_insert_with(|| {
            let world = small_world();
            let nothing = Delta::between(&world, &world).expect("the world can be saved");
            State { hash: world.state_hash(), nothing, world }
        });
        let mut bytes = data.to_vec();
        if bytes.len() >= BASE.end {
            // With the right base, the steps of the delta are reached.
            bytes[BASE].copy_from_slice(&state.nothing.to_bytes()[BASE]);
        }
        repair(&mut bytes);
        let Ok(delta) = Delta::from_reader(&bytes[..]) else { return };
        let again = Delta::from_reader(&delta.to_bytes()[..]).expect("the bytes of a delta are a delta");
        assert_eq!(again, delta);
        let both = state.nothing.then(&delta).expect("the base is the target of the first delta");
        _ = both.then(&delta);
        match delta.apply(&mut state.world, LoadOptions::new().decoded_limit(1 << 24)) {
            // The next input begins with the same world.
            Ok(()) => state.world = small_world(),
            Err(_) => assert_eq!(state.world.state_hash(), state.hash),
        }
    });
});
