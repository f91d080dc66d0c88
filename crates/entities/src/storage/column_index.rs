//! Which column of an archetype a component type has.

#![expect(unsafe_code, reason = "a mask in place of a check")]

use super::archetype::Column;
use crate::component::ComponentType;

/// A small hash table from types to columns, made once for each archetype.
///
/// At most half of its places are taken, so that finding a type, or that it is not there, takes one or two looks.
pub(crate) struct ColumnIndex {
    places: Box<[Found]>,
    mask: u32,
}

/// The column of a type.
#[derive(Clone, Copy)]
pub(crate) struct Found {
    /// The type's index, or [`NOBODY`].
    ty: u32,
    /// Which of the columns.
    pub(crate) column: u32,
    /// Where it begins in the chunk.
    pub(crate) offset: u32,
    /// Which mask it has, or [`NOBODY`].
    mask: u32,
}

impl Found {
    /// Which mask the column has, if it can be switched off and on.
    #[inline]
    pub(crate) fn mask(self) -> Option<u32> {
        (self.mask != NOBODY).then_some(self.mask)
    }
}

/// No type has this index, and no mask.
const NOBODY: u32 = u32::MAX;

impl ColumnIndex {
    /// The index of columns, some of which, by number, have the masks of their places in a list.
    pub(crate) fn new(types: &[ComponentType], columns: &[Column], enableable: &[u32]) -> Self {
        let length = (types.len() * 2 + 1).next_power_of_two();
        let mut places = vec![Found { ty: NOBODY, column: 0, offset: 0, mask: NOBODY }; length]
            .into_boxed_slice();
        let mask = u32::try_from(length - 1).expect("a chunk has room for fewer columns");
        for ((column, ty), place) in (0..).zip(types).zip(columns) {
            let mut at = start(ty.0.index) & mask;
            while places[at as usize].ty != NOBODY {
                at = (at + 1) & mask;
            }
            let mask = enableable.iter().position(|&enableable| enableable == column);
            places[at as usize] = Found {
                ty: ty.0.index,
                column,
                offset: place.offset,
                mask: mask.map_or(NOBODY, |mask| mask as u32),
            };
        }
        Self { places, mask }
    }

    #[inline]
    pub(crate) fn find(&self, ty: ComponentType) -> Option<Found> {
        let mut at = start(ty.0.index) & self.mask;
        loop {
            // SAFETY: the mask is one less than the number of places, a power of two.
            let place = unsafe { self.places.get_unchecked(at as usize) };
            if place.ty == ty.0.index {
                return Some(*place);
            }
            if place.ty == NOBODY {
                return None;
            }
            at = (at + 1) & self.mask;
        }
    }
}

/// Where the search for a type begins: spread by the golden ratio, since neighbouring indices often go together.
#[inline]
fn start(index: u32) -> u32 {
    index.wrapping_mul(0x9e37_79b1) >> 16
}
