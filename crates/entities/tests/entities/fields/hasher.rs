//! The hash of states: a function of the bytes alone, stable for ever.

use ancho_entities::StateHasher;
use proptest::prelude::*;

fn hash(bytes: &[u8]) -> u64 {
    let mut state = StateHasher::new();
    state.write_bytes(bytes);
    state.finish()
}

/// Returns unordered numbers, the same in each run.
fn noise(seed: u64) -> impl Iterator<Item = u64> {
    let mut state = seed;
    std::iter::repeat_with(move || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (state ^ state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    })
}

/// Files and replays compare these numbers: they must never change.
#[test]
fn the_values_are_fixed() {
    let count: Vec<u8> = (0..=255).collect();
    assert_eq!(hash(b""), 0x1952_C2C8_071C_5027);
    assert_eq!(hash(b"\0"), 0x2423_C551_11BD_4D42);
    assert_eq!(hash(b"ancho"), 0x9A6D_E621_F7B8_1649);
    assert_eq!(hash(&count[..63]), 0x6C34_32B8_8C63_2BDB);
    assert_eq!(hash(&count[..64]), 0xD539_5E46_875C_92DA);
    assert_eq!(hash(&count[..65]), 0x2E4E_3E62_1CF8_62C6);
    assert_eq!(hash(&count), 0xBA46_BE2C_364A_CF04);
}

#[test]
fn zeros_count() {
    let zeros = [0; 300];
    let mut hashes: Vec<u64> = (0..=zeros.len()).map(|len| hash(&zeros[..len])).collect();
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len(), 301);
}

#[test]
fn one_bit_changes_half_of_the_hash() {
    for len in [1, 4, 8, 13, 64, 100, 256] {
        let message: Vec<u8> = noise(len).take(len as usize).map(|word| word as u8).collect();
        let before = hash(&message);
        let (mut flips, mut each) = (0, [0_u32; 64]);
        for bit in 0..message.len() * 8 {
            let mut other = message.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            let changed = hash(&other) ^ before;
            assert!(
                (12..=52).contains(&changed.count_ones()),
                "{len} bytes, bit {bit}: {changed:b}"
            );
            flips += changed.count_ones();
            for (output, count) in each.iter_mut().enumerate() {
                *count += (changed >> output & 1) as u32;
            }
        }
        let inputs = message.len() as f64 * 8.0;
        let mean = f64::from(flips) / inputs;
        assert!((29.0..35.0).contains(&mean), "{len} bytes: {mean} of 64 bits change");
        if inputs >= 500.0 {
            let rare =
                each.iter().filter(|count| !(0.38..0.62).contains(&(f64::from(**count) / inputs)));
            assert_eq!(rare.count(), 0, "{len} bytes: {each:?}");
        }
    }
}

/// Of 250,000 hashes, 7 pairs are expected to agree in 32 of their bits.
#[test]
fn similar_states_do_not_collide() {
    // A debug build takes ten times as long.
    const COUNT: u32 = if cfg!(debug_assertions) { 80_000 } else { 250_000 };
    let numbers = (0..u64::from(COUNT)).map(|number| hash(&number.to_le_bytes()));
    let positions = (0..COUNT).map(|number| {
        let place = [number % 64, number / 64 % 64, number / 4096];
        let mut state = StateHasher::new();
        place.into_iter().for_each(|value| state.write_f32(value as f32));
        state.finish()
    });
    let mostly_zero = (0..COUNT as usize).map(|number| {
        let (place, value) = (number % 512, number / 512);
        let mut message = [0; 512];
        message[place] = 1 + (value % 255) as u8;
        message[(place + 200) % 512] = (value / 255) as u8;
        hash(&message)
    });
    for hashes in [numbers.collect::<Vec<u64>>(), positions.collect(), mostly_zero.collect()] {
        assert_eq!(pairs(hashes.clone()), 0);
        assert!(pairs(hashes.iter().map(|hash| hash >> 32).collect()) < 25);
        assert!(pairs(hashes.iter().map(|hash| hash & 0xFFFF_FFFF).collect()) < 25);
    }
}

fn pairs(mut numbers: Vec<u64>) -> usize {
    numbers.sort_unstable();
    numbers.windows(2).filter(|pair| pair[0] == pair[1]).count()
}

/// A word that makes a factor of the product zero does not erase the earlier input.
#[test]
fn each_word_depends_on_all_words_before() {
    let secrets: [u64; 4] = [
        0xA076_1D64_78BD_642F,
        0xE703_7ED1_A0B4_28DB,
        0x8EBC_6AF0_9C88_C6E3,
        0x5899_65CC_7537_4CC3,
    ];
    let wiping: Vec<u8> =
        secrets.iter().flat_map(|secret| [0, *secret]).flat_map(u64::to_le_bytes).collect();
    let after = |first: u8| hash(&[&[first; 64], wiping.as_slice()].concat());
    assert_ne!(after(1), after(2));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn splitting_the_bytes_does_not_matter(
        bytes in proptest::collection::vec(any::<u8>(), 0..400),
        cuts in proptest::collection::vec(0..80_usize, 0..20),
    ) {
        let mut state = StateHasher::new();
        let mut rest = bytes.as_slice();
        for cut in cuts {
            let (part, after) = rest.split_at(cut.min(rest.len()));
            match *part {
                [a] => state.write_u8(a),
                [a, b] => state.write_u16(u16::from_le_bytes([a, b])),
                [a, b, c, d] => state.write_u32(u32::from_le_bytes([a, b, c, d])),
                _ => state.write_bytes(part),
            }
            rest = after;
        }
        state.write_bytes(rest);
        prop_assert_eq!(state.finish(), hash(&bytes));
    }
}
