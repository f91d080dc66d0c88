//! The values of a blob that is being built, and their order in the block.
#![expect(
    unsafe_code,
    reason = "keeps values as bytes, and lends them to closures that pick a field"
)]

use std::collections::{BTreeMap, VecDeque};
use std::mem::ManuallyDrop;
use std::ptr;

use super::asset::{AlignedBytes, Block};
use super::check::{MAX_DEPTH, MAX_WALK};
use super::data::{BlobData, BlobVisitor, check_type};

/// The placed values, and the links of their fields.
///
/// The values are kept as bytes with zeros for padding, and with empty arrays, texts and pointers.
/// The contents of those are in `links`, and are written only to the finished block. So no field
/// leads to a value that can still move.
pub(super) struct Pieces {
    bytes: AlignedBytes,
    /// End of the last piece. Bytes after it were left by an iterator that panicked.
    end: usize,
    list: Vec<Piece>,
    links: Links,
}

/// Placed values: their piece, `None` if they have no bytes, and their number.
#[derive(Clone, Copy)]
pub(super) struct Placed {
    pub(super) piece: Option<u32>,
    pub(super) count: u32,
}

/// The piece of a field, and the field's offset in it.
pub(super) type FieldKey = (u32, u32);

impl Pieces {
    /// Begins with the root.
    pub(super) fn new<T: BlobData>(root: T) -> Self {
        let mut pieces =
            Self { bytes: AlignedBytes::new(), end: 0, list: Vec::new(), links: Links::new() };
        match pieces.place([root]) {
            Ok(Placed { piece: Some(_), .. }) => {}
            // Zero-sized values make no piece, except the root.
            Ok(_) => pieces.list.push(Piece { start: 0, size: 0, align: 1 }),
            Err(_) => unreachable!("one value fits a block, or `check_type` had not compiled"),
        }
        pieces
    }

    /// Places values for a field to point to.
    pub(super) fn place<T: BlobData>(
        &mut self,
        values: impl IntoIterator<Item = T>,
    ) -> Result<Placed, LayoutFault> {
        const { check_type::<T>() };
        let values = values.into_iter();
        // Refuses an announced size that is too large, before any value fills the memory.
        let room = MAX_SIZE.checked_div(size_of::<T>()).unwrap_or(MAX_SIZE);
        if values.size_hint().0 > room {
            return Err(LayoutFault::TooLarge);
        }
        let start = self.end.next_multiple_of(align_of::<T>());
        // First shorter, then longer, so that only zeros follow the last piece.
        self.bytes.resize(self.end);
        self.bytes.resize(start);
        let mut count = 0_u32;
        for value in values {
            count = count.checked_add(1).ok_or(LayoutFault::TooLarge)?;
            let at = self.bytes.len();
            let end = at.checked_add(size_of::<T>()).filter(|end| *end <= MAX_SIZE);
            self.bytes.resize(end.ok_or(LayoutFault::TooLarge)?);
            let to = self.bytes.as_mut_slice()[at..].as_mut_ptr();
            // SAFETY: the bytes from there on were just added: the size of a `T`, and all zero.
            unsafe { copy_into(value, to) };
        }
        let size = self.bytes.len() - start;
        if size == 0 {
            return Ok(Placed { piece: None, count });
        }
        self.end = self.bytes.len();
        self.list.push(Piece { start, size, align: align_of::<T>() });
        // Each but the root has a byte of its own, and a `u32` can count the bytes.
        Ok(Placed { piece: Some((self.list.len() - 1) as u32), count })
    }

    /// Calls the closure with a value, and returns the key of the field that the closure returns.
    /// Returns `None` if the closure does not return a field of the value.
    ///
    /// # Safety
    ///
    /// - There is a `P` at `offset` in the piece.
    pub(super) unsafe fn locate<P: BlobData, F>(
        &self,
        piece: u32,
        offset: u32,
        pick: impl FnOnce(&P) -> &F,
    ) -> Option<FieldKey> {
        let start = self.list[piece as usize].start + offset as usize;
        let bytes = &self.bytes.as_slice()[start..][..size_of::<P>()];
        // SAFETY: a `P` is at this place, written field by field from a value. Its padding and its
        // relative pointers are zero, which makes the pointers empty. It is aligned, as its piece
        // and the bytes are. It is not written while `self` is borrowed.
        let value = unsafe { &*bytes.as_ptr().cast::<P>() };
        let field: *const F = pick(value);
        // A field has bytes, so if it begins and ends within the value, it is part of it.
        let within = field.addr().checked_sub(bytes.as_ptr().addr())?;
        let end = within.checked_add(size_of::<F>())?;
        (end <= bytes.len() && size_of::<F>() > 0).then_some((piece, offset + within as u32))
    }

    /// Returns the contents of a field.
    pub(super) fn link(&self, field: FieldKey) -> Option<Link> {
        self.links.get(&field).copied()
    }

    /// Sets the contents of a field.
    pub(super) fn set_link(&mut self, field: FieldKey, link: Link) {
        self.links.insert(field, link);
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// Lays the pieces out, and writes the offsets.
    pub(super) fn build(&self) -> Result<Block, LayoutFault> {
        let layout = lay_out(&self.list, &self.links)?;
        let mut bytes = AlignedBytes::zeroed(layout.size);
        let block = bytes.as_mut_slice();
        for (piece, position) in self.list.iter().zip(&layout.positions) {
            let values = &self.bytes.as_slice()[piece.start..][..piece.size];
            block[*position..][..piece.size].copy_from_slice(values);
        }
        for ((piece, field), link) in &self.links {
            let at = layout.positions[*piece as usize] + *field as usize;
            // Pointers lead forward, and the size of a block fits a `u32`.
            let offset = |target| (layout.positions[target as usize] - at) as u32;
            let offset = link.target.map_or(0, offset);
            block[at..][..4].copy_from_slice(&offset.to_ne_bytes());
            if let Some(length) = link.length {
                block[at + 4..][..4].copy_from_slice(&length.to_ne_bytes());
            }
        }
        Ok(Block::new(bytes))
    }
}

/// Maximum size of a block.
pub(super) const MAX_SIZE: usize = u32::MAX as usize;

/// Values that are laid out together: the root, the elements of an array, a text, the value of a
/// pointer. The root is the first piece.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    /// The position of the piece in the bytes of the builder.
    pub(super) start: usize,
    pub(super) size: usize,
    pub(super) align: usize,
}

/// Contents of a field.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    /// The piece that the field leads to, or `None` if the field was filled with nothing.
    pub(super) target: Option<u32>,
    /// The length of an array or a text; `None` for a pointer.
    pub(super) length: Option<u32>,
}

/// The filled fields: their piece, and their offset in it.
pub(super) type Links = BTreeMap<(u32, u32), Link>;

/// Position of each piece in the block, and the size of the block.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) positions: Vec<usize>,
    pub(super) size: usize,
}

/// The reason why the pieces cannot be laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LayoutFault {
    TooLarge,
    TooDeep,
    Cyclic,
}

/// Returns the links of one piece, in the order of its fields.
fn links_of(links: &Links, piece: u32) -> impl Iterator<Item = &Link> {
    links.range((piece, 0)..=(piece, u32::MAX)).map(|(_, link)| link)
}

/// Puts each piece after all pieces that lead to it, in breadth-first order from the root, field by
/// field.
///
/// That order depends only on the values. So the bytes of a blob do not depend on the order of the
/// calls that built it.
pub(super) fn lay_out(pieces: &[Piece], links: &Links) -> Result<Layout, LayoutFault> {
    let mut leading = vec![0_u32; pieces.len()];
    for link in links.values() {
        if let Some(target) = link.target {
            leading[target as usize] += 1;
        }
    }
    let mut layout = Layout { positions: vec![0; pieces.len()], size: 0 };
    let mut depths = vec![0; pieces.len()];
    // Number of paths to each piece, and of bytes on all of them.
    let mut ways = vec![0_u32; pieces.len()];
    ways[0] = 1;
    let mut walk = 0_u64;
    let mut placed = 0;
    let mut ready = VecDeque::from([0]);
    while let Some(index) = ready.pop_front() {
        let piece = pieces[index as usize];
        let position = layout.size.next_multiple_of(piece.align);
        let end = position.checked_add(piece.size).filter(|end| *end <= MAX_SIZE);
        layout.positions[index as usize] = position;
        layout.size = end.ok_or(LayoutFault::TooLarge)?;
        placed += 1;
        let (depth, ways_here) = (depths[index as usize], ways[index as usize]);
        walk = walk.saturating_add((piece.size as u64).saturating_mul(ways_here.into()));
        if walk > MAX_WALK {
            return Err(LayoutFault::TooLarge);
        }
        if depth > MAX_DEPTH {
            return Err(LayoutFault::TooDeep);
        }
        for target in links_of(links, index).filter_map(|link| link.target) {
            let at = target as usize;
            depths[at] = depths[at].max(depth + 1);
            ways[at] = ways[at].saturating_add(ways_here);
            leading[at] -= 1;
            if leading[at] == 0 {
                ready.push_back(target);
            }
        }
    }
    // Every piece is reachable from an earlier piece, and so from the root. The remaining pieces
    // are cycles.
    if placed == pieces.len() { Ok(layout) } else { Err(LayoutFault::Cyclic) }
}

/// Copies the value to `to`, except its padding and its relative pointers.
///
/// Padding is not copied because it may be uninitialised, and the bytes of a blob are initialised.
/// Relative pointers are not copied because a value passed to the builder has only empty ones,
/// whose bytes are zero: filled ones exist only in blocks, and never leave them.
///
/// # Safety
///
/// - `to` is valid for writes of the size of `T`.
/// - The bytes there are zero.
pub(super) unsafe fn copy_into<T: BlobData>(value: T, to: *mut u8) {
    let value = ManuallyDrop::new(value);
    T::visit(&mut Copy { from: (&raw const value).cast(), to });
}

/// A visitor that copies a value to its destination. Both addresses are valid for the size of the
/// visited type, because the visitor is private, and is passed only to implementations of
/// `BlobData`, which report their type.
struct Copy {
    from: *const u8,
    to: *mut u8,
}

impl Copy {
    fn leaf<T>(&mut self) {
        // SAFETY: by the contract of `BlobData`, a leaf is at this place, so both are valid for its
        // size. The source can be read, since a leaf has no padding (of an enum it is the integer
        // alone), and the destination can be written. The builder does not own the value, so they
        // do not overlap.
        unsafe { ptr::copy_nonoverlapping(self.from, self.to, size_of::<T>()) };
    }

    fn part<T: BlobData>(&self, offset: usize) {
        // SAFETY: the offset is that of a part of the value, by the contract of `BlobData`, and
        // both addresses are valid for the whole value.
        let (from, to) = unsafe { (self.from.add(offset), self.to.add(offset)) };
        T::visit(&mut Self { from, to });
    }
}

impl BlobVisitor for Copy {
    #[inline]
    fn bits<T: BlobData>(&mut self, _: &'static str) {
        self.leaf::<T>();
    }

    #[inline]
    fn boolean(&mut self) {
        self.leaf::<bool>();
    }

    #[inline]
    fn character(&mut self) {
        self.leaf::<char>();
    }

    #[inline]
    fn variants<T: BlobData, I: BlobData>(&mut self, _: &'static str, _: &[(&'static str, i128)]) {
        self.leaf::<I>();
    }

    #[inline]
    fn repeat<T: BlobData>(&mut self, count: usize) {
        // The number of zero-sized values may be too large for a loop.
        let count = if size_of::<T>() == 0 { 0 } else { count };
        for index in 0..count {
            self.part::<T>(index * size_of::<T>());
        }
    }

    #[inline]
    fn field<S: BlobData, F: BlobData>(&mut self, _: &'static str, offset: usize, _: fn(&S) -> &F) {
        self.part::<F>(offset);
    }

    #[inline]
    fn array<T: BlobData>(&mut self) {}

    #[inline]
    fn string(&mut self) {}

    #[inline]
    fn pointer<T: BlobData>(&mut self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTE: Piece = Piece { start: 0, size: 1, align: 1 };

    fn links(edges: &[(u32, u32, u32)]) -> Links {
        let link = |target| Link { target: Some(target), length: None };
        edges.iter().map(|(piece, field, target)| ((*piece, *field), link(*target))).collect()
    }

    #[test]
    fn the_order_is_that_of_levels_and_fields() {
        // The root leads to 2 and then to 1, and 2 to 3.
        let pieces = [BYTE; 4];
        let layout = lay_out(&pieces, &links(&[(0, 0, 2), (0, 4, 1), (2, 0, 3)])).unwrap();
        assert_eq!(layout.positions, [0, 2, 1, 3]);
        assert_eq!(layout.size, 4);
    }

    #[test]
    fn a_shared_piece_comes_after_all_pieces_that_lead_to_it() {
        let pieces = [BYTE; 4];
        let layout = lay_out(&pieces, &links(&[(0, 0, 1), (0, 4, 2), (1, 0, 3), (2, 0, 3)]));
        assert_eq!(layout.unwrap().positions, [0, 1, 2, 3]);
        let layout = lay_out(&pieces, &links(&[(0, 0, 3), (0, 4, 2), (2, 0, 1), (1, 0, 3)]));
        assert_eq!(layout.unwrap().positions, [0, 2, 1, 3]);
    }

    #[test]
    fn pieces_are_aligned() {
        let pieces = [BYTE, Piece { align: 8, ..BYTE }, BYTE];
        let layout = lay_out(&pieces, &links(&[(0, 0, 1), (0, 4, 2)])).unwrap();
        assert_eq!(layout.positions, [0, 8, 9]);
        assert_eq!(layout.size, 10);
    }

    #[test]
    fn sizes_that_add_up_to_more_than_a_block_are_refused() {
        let half = Piece { size: 1 << 31, ..BYTE };
        let refused = lay_out(&[BYTE, half, half], &links(&[(0, 0, 1), (0, 4, 2)]));
        assert_eq!(refused.unwrap_err(), LayoutFault::TooLarge);
    }

    #[test]
    fn cycles_are_refused() {
        let refused = lay_out(&[BYTE; 3], &links(&[(0, 0, 1), (1, 0, 2), (2, 0, 1)]));
        assert_eq!(refused.unwrap_err(), LayoutFault::Cyclic);
    }
}
