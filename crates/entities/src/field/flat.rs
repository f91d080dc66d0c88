//! Flat shapes: types whose values consist of scalars at known offsets.

use std::ops::Range;

use super::{FieldKind, Shape};

/// The largest number of ranges in which a value is divided. Types with more are written field by field.
const MOST_RANGES: usize = 256;

/// The scalars of a flat type, as byte ranges of a value. Bytes between them are padding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FlatLayout {
    /// The address of the shape, which identifies the type.
    shape: usize,
    size: usize,
    /// The ranges that hold scalars, in ascending order. Neighbouring ranges that accept any bytes are joined.
    ranges: Vec<FlatRange>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct FlatRange {
    bytes: Range<usize>,
    accepts: Accepts,
}

/// The bytes that are valid in a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Accepts {
    Any,
    Bool,
    Char,
    NonZero,
}

impl FlatLayout {
    /// Returns the layout of a type, or `None` if values may contain more than scalars at known offsets.
    pub(crate) fn of(shape: &'static Shape) -> Option<Self> {
        let mut ranges = Vec::new();
        if shape.plain && shape.any_bits {
            ranges.push(FlatRange { bytes: 0..shape.size, accepts: Accepts::Any });
        } else {
            add_ranges(shape, 0, &mut ranges)?;
            ranges.sort_by_key(|range| range.bytes.start);
            ranges.dedup_by(|next, before| {
                let joins = before.bytes.end == next.bytes.start
                    && (before.accepts, next.accepts) == (Accepts::Any, Accepts::Any);
                if joins {
                    before.bytes.end = next.bytes.end;
                }
                joins
            });
        }
        (ranges.len() <= MOST_RANGES).then(|| {
            let address = std::ptr::from_ref(shape).addr();
            Self { shape: address, size: shape.size, ranges }
        })
    }

    /// Returns whether this is the layout that was created from a shape.
    pub(crate) fn is_of(&self, shape: &'static Shape) -> bool {
        self.shape == std::ptr::from_ref(shape).addr()
    }

    /// Returns the byte ranges of a value that hold scalars.
    pub(crate) fn ranges(&self) -> impl Iterator<Item = Range<usize>> {
        self.ranges.iter().map(|range| range.bytes.clone())
    }

    /// Returns the index of the first of many values that is invalid.
    pub(crate) fn find_invalid(&self, bytes: &[u8]) -> Option<usize> {
        let checked = self.ranges.iter().filter(|range| range.accepts != Accepts::Any);
        let mut first = None;
        for FlatRange { bytes: range, accepts } in checked {
            let invalid = bytes.chunks_exact(self.size).position(|value| {
                let scalar = &value[range.clone()];
                match accepts {
                    Accepts::Any => false,
                    Accepts::Bool => scalar[0] > 1,
                    Accepts::Char => {
                        let number = scalar.try_into().map(u32::from_ne_bytes);
                        number.ok().and_then(char::from_u32).is_none()
                    }
                    Accepts::NonZero => scalar.iter().all(|&byte| byte == 0),
                }
            });
            first = match (first, invalid) {
                (Some(one), Some(other)) => Some(std::cmp::min::<usize>(one, other)),
                (one, other) => one.or(other),
            };
        }
        first
    }
}

/// Adds the scalars of a value at an offset. Returns `None` if the type is not flat.
fn add_ranges(shape: &'static Shape, offset: usize, ranges: &mut Vec<FlatRange>) -> Option<()> {
    let accepts_as = |all: bool| (shape.any_bits == all).then_some(());
    match shape.kind {
        FieldKind::Struct(fields) | FieldKind::Tuple(fields) => {
            // A type that refuses bytes although its fields accept them has further rules.
            accepts_as(fields.iter().all(|field| field.shape.any_bits))?;
            for field in fields {
                add_ranges(field.shape, offset + field.offset, ranges)?;
            }
        }
        FieldKind::Array { element, len } => {
            accepts_as(element.any_bits)?;
            if element.plain && element.any_bits {
                let bytes = offset..offset + shape.size;
                ranges.push(FlatRange { bytes, accepts: Accepts::Any });
                return Some(());
            }
            if len > MOST_RANGES {
                return None;
            }
            for index in 0..len {
                add_ranges(element, offset + index * element.size, ranges)?;
            }
        }
        // Other types of a scalar kind, such as atomics, may change through shared references.
        kind if kind.scalar_shape().is_some_and(|scalar| scalar.size == shape.size)
            && shape.plain =>
        {
            let accepts = match kind {
                _ if shape.any_bits => Accepts::Any,
                FieldKind::Bool => Accepts::Bool,
                FieldKind::Char => Accepts::Char,
                _ => Accepts::NonZero,
            };
            if shape.size > 0 {
                ranges.push(FlatRange { bytes: offset..offset + shape.size, accepts });
            }
        }
        _ => return None,
    }
    (ranges.len() <= 16 * MOST_RANGES).then_some(())
}

#[cfg(test)]
mod tests {
    use std::num::NonZero;
    use std::slice;
    use std::sync::atomic::AtomicU32;

    use super::FlatLayout;
    use crate::Entity;
    use crate::field::Field;

    fn ranges<T: Field>() -> Vec<std::ops::Range<usize>> {
        FlatLayout::of(T::SHAPE).unwrap().ranges().collect()
    }

    #[test]
    fn scalars_without_gaps_are_one_range() {
        assert_eq!(ranges::<[[f32; 4]; 4]>(), slice::from_ref(&(0..64)));
        assert_eq!(ranges::<(u32, u32)>(), slice::from_ref(&(0..8)));
    }

    #[test]
    fn padding_is_left_out() {
        assert_eq!(ranges::<(Entity, f32)>(), slice::from_ref(&(0..12)));
    }

    #[test]
    fn values_with_more_than_scalars_are_not_flat() {
        assert!(FlatLayout::of(<(u32, String)>::SHAPE).is_none());
        assert!(FlatLayout::of(<Option<u32>>::SHAPE).is_none());
        assert!(FlatLayout::of(<[AtomicU32; 2]>::SHAPE).is_none());
    }

    #[test]
    fn invalid_scalars_are_found() {
        let layout = FlatLayout::of(<[bool; 2]>::SHAPE).unwrap();
        assert_eq!(layout.find_invalid(&[0, 1, 1, 1]), None);
        assert_eq!(layout.find_invalid(&[0, 1, 0, 2]), Some(1));
        let layout = FlatLayout::of(<char>::SHAPE).unwrap();
        assert_eq!(layout.find_invalid(&0xD800_u32.to_ne_bytes()), Some(0));
        let layout = FlatLayout::of(<NonZero<u16>>::SHAPE).unwrap();
        assert_eq!(layout.find_invalid(&[1, 0, 0, 0]), Some(1));
    }
}
