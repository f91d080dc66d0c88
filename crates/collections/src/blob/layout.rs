//! Order of the pieces of a blob, in which every pointer leads forward.

use std::collections::{BTreeMap, VecDeque};

use super::check::{MAX_DEPTH, MAX_WALK};

/// Maximum size of a block.
pub(super) const MAX_SIZE: usize = u32::MAX as usize;

/// Values that are laid out together: the root, the elements of an array, a text, the value of a
/// pointer. The root is the first piece.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    /// Its position in the bytes of the builder.
    pub(super) start: usize,
    pub(super) size: usize,
    pub(super) align: usize,
}

/// Contents of a field.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    /// The piece it leads to; `None` if it was filled with nothing.
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

/// Reason why there is no such order.
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
    fn what_is_shared_comes_after_all_that_share_it() {
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
