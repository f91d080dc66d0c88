//! Numbers and texts as bytes: lengths are variable, everything else is little-endian.

/// Appends a number with 7 bits per byte, the lowest first. The high bit of a byte says that another one follows.
pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a text: its length in bytes, then its bytes.
pub(crate) fn put_text(out: &mut Vec<u8>, text: &str) {
    put_varint(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// Reads numbers and texts from bytes that are not trusted. Methods return `None` at the end, or if the bytes are invalid.
#[derive(Clone, Debug)]
pub(crate) struct ByteReader<'b> {
    bytes: &'b [u8],
    /// The number of bytes that were read.
    pub(crate) at: usize,
}

impl<'b> ByteReader<'b> {
    pub(crate) fn new(bytes: &'b [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Returns the number of bytes that are left.
    pub(crate) fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    pub(crate) fn take(&mut self, len: usize) -> Option<&'b [u8]> {
        let end = self.at.checked_add(len)?;
        let bytes = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(bytes)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    pub(crate) fn byte(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return None;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    /// Reads the number of items that follow, each of which has at least `least` bytes.
    pub(crate) fn count(&mut self, least: usize) -> Option<usize> {
        let count = usize::try_from(self.varint()?).ok()?;
        (count.checked_mul(least)? <= self.left()).then_some(count)
    }

    pub(crate) fn text(&mut self) -> Option<&'b str> {
        let len = self.count(1)?;
        std::str::from_utf8(self.take(len)?).ok()
    }

    /// Skips to the next multiple of 64 bytes. The skipped bytes must be zero.
    pub(crate) fn align(&mut self) -> Option<()> {
        let end = self.at.checked_next_multiple_of(64)?;
        let skipped = self.take(end - self.at)?;
        skipped.iter().all(|&byte| byte == 0).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::{ByteReader, put_varint};

    #[test]
    fn numbers_of_all_sizes_are_read_back() {
        for value in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX - 1, u64::MAX] {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, value);
            assert_eq!(ByteReader::new(&bytes).varint(), Some(value));
            assert_eq!(ByteReader::new(&bytes[..bytes.len() - 1]).varint(), None);
        }
        assert_eq!(ByteReader::new(&[0xff; 11]).varint(), None);
    }
}
