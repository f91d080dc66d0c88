//! Pseudo-random numbers that are the same on every machine.

use ancho::entities::Field;

/// Returns a number in `0.0..1.0`, which is always the same for the same seed and index.
///
/// The function has no state: the result depends on seed and index alone, so that values can be computed in any order, on any
/// thread.
pub(crate) fn unit(seed: u64, index: u64) -> f32 {
    to_unit(mix(mix(seed).wrapping_add(index)))
}

/// A generator with a state. The state is a plain number, so that components can contain it.
#[derive(Field, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Random {
    state: u64,
}

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: mix(seed) }
    }

    /// Returns the next number in `0.0..1.0`.
    pub(crate) fn unit(&mut self) -> f32 {
        self.state = self.state.wrapping_add(1);
        to_unit(mix(self.state))
    }

    /// Returns the next number in `from..to`.
    pub(crate) fn between(&mut self, from: f32, to: f32) -> f32 {
        from + (to - from) * self.unit()
    }

    /// Returns the next integer below `count`.
    pub(crate) fn below(&mut self, count: usize) -> usize {
        ((self.unit() * count as f32) as usize).min(count.saturating_sub(1))
    }
}

/// The mixer of SplitMix64 (Steele, Lea and Flood, 2014).
fn mix(index: u64) -> u64 {
    let mut bits = index.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ bits >> 31
}

/// Converts random bits to a number from 0 to 1. Uses only as many bits as an `f32` holds, so that nothing is rounded.
fn to_unit(bits: u64) -> f32 {
    (bits >> 40) as f32 / (1_u32 << 24) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_even(numbers: impl Iterator<Item = f32>) {
        let mut tenths = [0; 10];
        for number in numbers.take(10_000) {
            tenths[(number * 10.0) as usize] += 1;
        }
        assert!(tenths.iter().all(|count| (900..1100).contains(count)), "{tenths:?}");
    }

    #[test]
    fn numbers_are_spread_evenly() {
        assert_even((0..).map(|index| unit(1, index)));
        assert_even((0..).map(|seed| unit(seed, 1)));
        let mut random = Random::new(1);
        assert_even(std::iter::repeat_with(|| random.unit()));
    }

    #[test]
    fn whole_numbers_are_below_their_limit() {
        let mut random = Random::new(2);
        let mut seen = [false; 7];
        for _ in 0..1000 {
            seen[random.below(7)] = true;
            assert!((3.0..4.0).contains(&random.between(3.0, 4.0)));
        }
        assert_eq!(seen, [true; 7]);
    }
}
