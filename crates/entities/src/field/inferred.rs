//! Fields of structs whose types the compiler finds, for the derive.

use super::{Field, FieldShape};

/// Describes the field that the function picks.
pub const fn field<S, F: Field>(name: &'static str, offset: usize, _: fn(&S) -> &F) -> FieldShape {
    FieldShape::new::<F>(name, offset)
}

/// Describes the field that the function picks, and nobody looks into.
pub const fn opaque_field<S, F>(name: &'static str, offset: usize, _: fn(&S) -> &F) -> FieldShape {
    FieldShape::opaque::<F>(name, offset)
}
