//! Checks that untrusted bytes are a blob.
//!
//! The values of a block follow each other, and pointers lead forward. So the check goes through
//! the bytes once, from front to back, with a list of the values that are yet to be checked:
//!
//! - It ends: checked bytes are never read again, and there are no cycles.
//! - It does not recurse into pointers, so depth costs no stack.
//! - Values that overlap, or do not follow their predecessor, are found in their turn.
//! - A shared value is checked once, but counted once for each path to it. So walking the blob
//!   takes no longer than walking a blob of the same size without sharing.
//! - Each byte is part of a value, or is padding and zero. So blobs that are equal have equal bytes.
//!
//! The list holds at most one entry for each pointer in the bytes.

use std::any::TypeId;
use std::collections::BTreeMap;

use super::data::{BlobData, BlobVisitor, check_type, is_plain};
use super::relative::BlobString;

/// Maximum number of pointers from the root to a value.
///
/// The limit makes recursion safe, as in `Debug`, for any loaded blob.
pub(super) const MAX_DEPTH: u32 = 256;

/// Maximum number of bytes of a blob, counting a shared value once for each path to it.
pub(super) const MAX_WALK: u64 = u32::MAX as u64;

/// A fault in the bytes, and its position.
#[derive(Clone, Copy)]
pub(super) struct Fault {
    pub(super) at: usize,
    pub(super) what: &'static str,
}

/// Checks that the bytes are a block with a `T` at the front.
///
/// Then every pointer in it leads to values of its type, within the block, and aligned if the block
/// is.
pub(super) fn check<T: BlobData>(bytes: &[u8]) -> Result<(), Fault> {
    let mut checker = Checker {
        bytes,
        at: 0,
        seen: 0,
        end: 0,
        depth: 0,
        ways: 1,
        walk: 0,
        pending: BTreeMap::new(),
        fault: None,
    };
    if size_of::<T>() > 0 {
        checker.expect(0, Values::of::<T>(1));
    }
    checker.run()
}

/// Values of one type that are pointed to.
#[derive(Clone, Copy)]
struct Values {
    shape: &'static Shape,
    count: u32,
    /// Number of pointers from the root to this value.
    depth: u32,
    /// Number of paths from the root to this value.
    ways: u32,
}

/// Size, alignment and check of a type.
struct Shape {
    /// The type of each value; `BlobString` stands for the bytes of a text.
    element: TypeId,
    size: usize,
    align: usize,
    check: fn(&mut Checker<'_>, usize),
}

impl Values {
    /// Returns `count` values of type `T` at depth 0, with one path to them.
    fn of<T: BlobData>(count: u32) -> Self {
        const { check_type::<T>() };
        let shape = const {
            &Shape {
                element: TypeId::of::<T>(),
                size: size_of::<T>(),
                align: align_of::<T>(),
                check: |checker, count| checker.elements::<T>(count),
            }
        };
        Self { shape, count, depth: 0, ways: 1 }
    }

    fn text(length: u32) -> Self {
        const SHAPE: &Shape = &Shape {
            element: TypeId::of::<BlobString>(),
            size: 1,
            align: 1,
            check: |checker, length| checker.text(length),
        };
        Self { shape: SHAPE, count: length, depth: 0, ways: 1 }
    }

    fn is_same(self, other: Self) -> bool {
        self.shape.element == other.shape.element && self.count == other.count
    }
}

struct Checker<'b> {
    bytes: &'b [u8],
    /// Start of the current value.
    at: usize,
    /// The bytes before this position are checked.
    seen: usize,
    /// End of the current values, their depth, and the number of paths to them.
    end: usize,
    depth: u32,
    ways: u32,
    /// Number of checked bytes, counting a shared value once for each path to it.
    walk: u64,
    /// Values that pointers lead to and that are yet to be checked, by their start.
    pending: BTreeMap<usize, Values>,
    /// The first fault. No values are checked after it.
    fault: Option<Fault>,
}

impl Checker<'_> {
    fn run(mut self) -> Result<(), Fault> {
        while let Some((start, values)) = self.pending.pop_first() {
            let Shape { size, align, check, .. } = *values.shape;
            if self.seen.checked_next_multiple_of(align) != Some(start) {
                self.fail(start, "a value is not next to the one before it");
            }
            self.at = start;
            (self.depth, self.ways) = (values.depth, values.ways);
            self.end = start + size * values.count as usize;
            let bytes = (self.end - start) as u64;
            self.walk = self.walk.saturating_add(bytes.saturating_mul(values.ways.into()));
            if self.walk > MAX_WALK {
                self.fail(start, "the blob would exceed 4 GiB without sharing");
            }
            if self.fault.is_none() {
                check(&mut self, values.count as usize);
                self.padding(self.end);
            }
            if let Some(fault) = self.fault {
                return Err(fault);
            }
        }
        if self.seen < self.bytes.len() {
            self.fail(self.seen, "some bytes are not reachable");
        }
        self.fault.map_or(Ok(()), Err)
    }

    /// Adds values to the list, if they are within the bytes.
    fn expect(&mut self, start: usize, values: Values) {
        let size = values.shape.size.checked_mul(values.count as usize);
        let end = size.and_then(|size| start.checked_add(size));
        if end.is_none_or(|end| end > self.bytes.len()) {
            return self.fail(start, "a value reaches beyond the end");
        }
        if values.depth > MAX_DEPTH {
            return self.fail(start, "a value is more than 256 pointers deep");
        }
        match self.pending.get_mut(&start) {
            None => _ = self.pending.insert(start, values),
            Some(known) if known.is_same(values) => {
                known.depth = known.depth.max(values.depth);
                known.ways = known.ways.saturating_add(values.ways);
            }
            Some(_) => self.fail(start, "two pointers to one place have different types"),
        }
    }

    /// Follows the current pointer, which is not empty.
    fn follow(&mut self, offset: u32, values: Values) {
        let values = Values { depth: self.depth + 1, ways: self.ways, ..values };
        match self.at.checked_add(offset as usize) {
            Some(start) if start >= self.end => self.expect(start, values),
            _ => self.fail(self.at, "a pointer does not point forward"),
        }
    }

    fn fail(&mut self, at: usize, what: &'static str) {
        self.fault.get_or_insert(Fault { at, what });
    }

    /// Advances to `end`, over bytes that must be zero.
    fn padding(&mut self, end: usize) {
        let skipped = self.bytes.get(self.seen..end).unwrap_or_default();
        if let Some(index) = skipped.iter().position(|byte| *byte != 0) {
            self.fail(self.seen + index, "padding is not zero");
        }
        self.seen = self.seen.max(end);
    }

    /// Advances over the bytes of a leaf, and returns them.
    fn leaf(&mut self, size: usize) -> &[u8] {
        self.padding(self.at);
        self.seen = self.seen.max(self.at + size);
        self.bytes.get(self.at..self.at + size).unwrap_or_default()
    }

    /// Reads `N` words of a pointer.
    fn words<const N: usize>(&mut self) -> [u32; N] {
        let mut words = [0; N];
        let bytes = self.leaf(4 * N);
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<4>().0) {
            *word = u32::from_ne_bytes(*bytes);
        }
        words
    }

    /// Checks a part of the current value.
    fn part<T: BlobData>(&mut self, at: usize) {
        let whole = self.at;
        self.at = at;
        T::visit(self);
        self.at = whole;
    }

    fn elements<T: BlobData>(&mut self, count: usize) {
        if size_of::<T>() == 0 {
            return;
        }
        if is_plain::<T>() {
            self.leaf(size_of::<T>() * count);
            return;
        }
        for index in 0..count {
            if self.fault.is_some() {
                return;
            }
            self.part::<T>(self.at + index * size_of::<T>());
        }
    }

    fn text(&mut self, length: usize) {
        if let Err(error) = std::str::from_utf8(self.leaf(length)) {
            self.fail(self.at + error.valid_up_to(), "a text is not UTF-8");
        }
    }
}

impl BlobVisitor for Checker<'_> {
    fn bits<T: BlobData>(&mut self, _: &'static str) {
        self.leaf(size_of::<T>());
    }

    fn boolean(&mut self) {
        if !matches!(self.leaf(1), [0 | 1]) {
            self.fail(self.at, "a `bool` is neither 0 nor 1");
        }
    }

    fn character(&mut self) {
        let [word] = self.words();
        if char::from_u32(word).is_none() {
            self.fail(self.at, "a `char` is not a scalar value");
        }
    }

    fn variants<T: BlobData, I: BlobData>(
        &mut self,
        _: &'static str,
        variants: &[(&'static str, i128)],
    ) {
        let size = size_of::<I>();
        let bytes = self.leaf(size);
        // The bytes of the value, signed or unsigned, are the low bytes of the wider number.
        let is_variant = variants.iter().any(|(_, value)| {
            let wide = value.to_ne_bytes();
            let low = if cfg!(target_endian = "little") {
                wide.get(..size)
            } else {
                wide.len().checked_sub(size).and_then(|start| wide.get(start..))
            };
            low == Some(bytes)
        });
        if !is_variant {
            self.fail(self.at, "a value is not a variant of its enum");
        }
    }

    fn repeat<T: BlobData>(&mut self, count: usize) {
        self.elements::<T>(count);
    }

    fn field<S: BlobData, F: BlobData>(&mut self, _: &'static str, offset: usize, _: fn(&S) -> &F) {
        self.part::<F>(self.at + offset);
    }

    fn array<T: BlobData>(&mut self) {
        let [offset, length] = self.words();
        match (offset, length) {
            (0, 0) => {}
            (1.., 1..) => self.follow(offset, Values::of::<T>(length)),
            _ => self.fail(self.at, "an array has a length or an offset, but not both"),
        }
    }

    fn string(&mut self) {
        let [offset, length] = self.words();
        match (offset, length) {
            (0, 0) => {}
            (1.., 1..) => self.follow(offset, Values::text(length)),
            _ => self.fail(self.at, "a text has a length or an offset, but not both"),
        }
    }

    fn pointer<T: BlobData>(&mut self) {
        let [offset] = self.words();
        if offset != 0 {
            self.follow(offset, Values::of::<T>(1));
        }
    }
}
