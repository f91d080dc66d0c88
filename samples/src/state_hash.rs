//! A hash of a sample's state, the same on every machine.

/// A running hash of values, in the order they are added (64-bit FNV-1a; Fowler, Noll and Vo, 1991).
///
/// The standard library's hashers may change between releases, and `f32` is not `Hash`. Floats are hashed by their
/// bits: a difference in the last bit is a difference.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StateHash(u64);

impl StateHash {
    pub(crate) fn new() -> Self {
        Self(0xCBF2_9CE4_8422_2325)
    }

    pub(crate) fn add_bytes(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
        }
    }

    pub(crate) fn add_f32(&mut self, values: &[f32]) {
        for value in values {
            self.add_bytes(&value.to_bits().to_le_bytes());
        }
    }

    /// Returns the hash.
    pub(crate) fn finish(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::StateHash;

    #[test]
    fn the_hash_is_fnv_1a() {
        let hash = |text: &str| {
            let mut hash = StateHash::new();
            hash.add_bytes(text.as_bytes());
            hash.0
        };
        assert_eq!(hash(""), 0xCBF2_9CE4_8422_2325);
        assert_eq!(hash("a"), 0xAF63_DC4C_8601_EC8C);
        assert_eq!(hash("foobar"), 0x8594_4171_F739_67E8);
    }

    #[test]
    fn the_last_bit_of_a_float_and_its_sign_count() {
        let hash = |value: f32| {
            let mut hash = StateHash::new();
            hash.add_f32(&[value]);
            hash.finish()
        };
        assert_ne!(hash(1.0), hash(1.0_f32.next_up()));
        assert_ne!(hash(0.0), hash(-0.0));
    }
}
