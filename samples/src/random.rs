//! Numbers that look random, and are the same everywhere.

/// Returns a number from 0 up to, and not including, 1: always the same one for the same index.
///
/// Not a generator that is asked again and again: the answer depends on the index alone, so that
/// values can be made in any order, on any thread (the mixer of SplitMix64; Steele, Lea and Flood,
/// 2014).
pub(crate) fn unit(index: u64) -> f32 {
    let mut bits = index.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^= bits >> 31;
    // As many bits as an `f32` holds, so that nothing is rounded.
    (bits >> 40) as f32 / (1_u32 << 24) as f32
}

#[cfg(test)]
mod tests {
    use super::unit;

    #[test]
    fn numbers_are_spread_evenly() {
        let mut tenths = [0; 10];
        for index in 0..10_000 {
            tenths[(unit(index) * 10.0) as usize] += 1;
        }
        assert!(tenths.iter().all(|count| (900..1100).contains(count)), "{tenths:?}");
    }
}
