//! Padding bytes are never hashed.
#![expect(unsafe_code, reason = "values in memory that was something else before, as in a chunk")]

use std::mem::MaybeUninit;

use ancho_entities::{Field, StateHasher};

#[derive(Field, Clone, Copy)]
#[repr(C)]
struct Padded {
    small: u8,
    large: u64,
    end: u16,
}

#[derive(Field, Clone, Copy)]
#[repr(C, align(32))]
struct Aligned {
    padded: Padded,
    number: f32,
}

#[derive(Field, Clone, Copy)]
#[repr(u8, align(16))]
enum Kind {
    One = 1,
}

fn hashes<T: Field>(values: &[T]) -> [u64; 2] {
    let (mut each, mut all) = (StateHasher::new(), StateHasher::new());
    values.iter().for_each(|value| value.hash_state(&mut each));
    T::hash_states(values, &mut all);
    [each.finish(), all.finish()]
}

/// Returns the hashes of three values in memory filled with a byte. Only the fields are written.
fn hashes_in(byte: u8) -> [[u64; 2]; 2] {
    let mut values = [const { MaybeUninit::<Aligned>::uninit() }; 3];
    for value in &mut values {
        let value = value.as_mut_ptr();
        // SAFETY: the pointer comes from an exclusive reference, and the fields are inside the value.
        unsafe {
            value.write_bytes(byte, 1);
            (&raw mut (*value).padded.small).write(1);
            (&raw mut (*value).padded.large).write(2);
            (&raw mut (*value).padded.end).write(3);
            (&raw mut (*value).number).write(4.0);
        }
    }
    // SAFETY: all bytes of the values were written, and then all fields.
    let values = unsafe { &*(&raw const values).cast::<[Aligned; 3]>() };
    // SAFETY: `padded` is one initialized `Padded`, so the pointer is valid for an array of one.
    let padded = unsafe { &*(&raw const values[0].padded).cast::<[Padded; 1]>() };
    [hashes(values), hashes(padded)]
}

#[test]
fn padding_is_not_hashed() {
    let [zeros, ones] = [hashes_in(0), hashes_in(0xFF)];
    assert_eq!(zeros, ones);
    assert!(zeros.iter().all(|[each, all]| each == all));
    assert!(!Padded::SHAPE.plain && !Aligned::SHAPE.plain);
}

/// An aligned enum has one byte with a meaning, and an empty option has bytes without one.
#[test]
fn the_bytes_of_enums_are_not_read() {
    let hashes_in = |byte: u8| {
        let mut kinds = [const { MaybeUninit::<Kind>::uninit() }; 2];
        for kind in &mut kinds {
            // SAFETY: the pointer comes from an exclusive reference. With `repr(u8)` the first byte is the variant.
            unsafe {
                kind.as_mut_ptr().write_bytes(byte, 1);
                kind.as_mut_ptr().cast::<u8>().write(Kind::One as u8);
            }
        }
        // SAFETY: the variants were written, and the rest is padding.
        let kinds = unsafe { &*(&raw const kinds).cast::<[Kind; 2]>() };
        hashes(kinds)
    };
    assert_eq!(hashes_in(0), hashes_in(0xFF));
    let shapes = [Kind::SHAPE, <[Kind; 2]>::SHAPE, <(Kind,)>::SHAPE, <Option<u64>>::SHAPE];
    assert!(shapes.iter().all(|shape| !shape.plain && !shape.any_bits));
}
