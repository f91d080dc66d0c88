//! Component types that are known only at run time.

use std::mem::discriminant;

use super::info::{RemapColumn, TypeInfo, remap_bytes};
use super::registry::RegisterError;
use crate::field::{FieldKind, FieldShape, Shape};

/// A component type that is known only at run time, and that has a name and a size in bytes. Scripts, tools and files use such
/// types.
///
/// Values start as zeros, and are copied, read and written as bytes. Declared fields can be displayed, and entities in them are
/// replaced.
///
/// # Examples
///
/// ```
/// use ancho_entities::{ComponentType, FieldKind, RuntimeType};
///
/// let aim = RuntimeType::new("script::Aim", 16, 8)
///     .field("target", 0, FieldKind::Entity)
///     .field("distance", 8, FieldKind::F32);
/// let aim = ComponentType::register(aim).unwrap();
/// assert_eq!(aim.shape().fields()[1].name, "distance");
/// ```
#[derive(Clone, Debug)]
#[must_use = "a type does nothing until it is registered"]
pub struct RuntimeType {
    name: String,
    size: usize,
    align: usize,
    enableable: bool,
    fields: Vec<(String, usize, FieldKind)>,
}

/// The largest allowed alignment. No processor requires more.
const MAX_ALIGN: usize = 4096;

impl RuntimeType {
    /// Creates a type with a name, a size in bytes and an alignment.
    pub fn new(name: impl Into<String>, size: usize, align: usize) -> Self {
        Self { name: name.into(), size, align, enableable: false, fields: Vec::new() }
    }

    /// Declares a field at a byte offset of the value. The field is a number or an entity.
    pub fn field(mut self, name: impl Into<String>, offset: usize, kind: FieldKind) -> Self {
        self.fields.push((name.into(), offset, kind));
        self
    }

    /// Makes the component enableable, so that it can be enabled and disabled per entity.
    pub fn enableable(mut self) -> Self {
        self.enableable = true;
        self
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Checks the layout and the fields.
    pub(super) fn check(&self) -> Result<(), RegisterError> {
        let Self { size, align, .. } = *self;
        if !align.is_power_of_two() || align > MAX_ALIGN || !size.is_multiple_of(align) {
            return Err(RegisterError::BadLayout { size, align });
        }
        let mut taken: Vec<(usize, usize)> = Vec::new();
        for &(_, offset, kind) in &self.fields {
            // Other kinds have no fixed size, or have invalid bit patterns.
            let shape = kind.scalar_shape().filter(|shape| shape.any_bits);
            let field_size = shape.map_or(0, |shape| shape.size);
            let end = offset.checked_add(field_size).filter(|&end| end <= size);
            let is_free =
                |end: usize| taken.iter().all(|&(first, after)| end <= first || after <= offset);
            match end {
                Some(end)
                    if field_size > 0
                        && offset.is_multiple_of(field_size.min(align))
                        && is_free(end) =>
                {
                    taken.push((offset, end));
                }
                _ => return Err(RegisterError::BadField { offset, field_size, size }),
            }
        }
        Ok(())
    }

    /// Returns `true` if registered metadata describes the same type.
    pub(super) fn is_described_by(&self, info: &TypeInfo) -> bool {
        let shape = info.shape;
        let fields = shape.fields();
        info.type_id.is_none()
            && info.enableable == self.enableable
            && shape.size == self.size
            && shape.align == self.align
            && fields.len() == self.fields.len()
            && fields.iter().zip(&self.fields).all(|(field, (name, offset, kind))| {
                field.name == name
                    && field.offset == *offset
                    && discriminant(kind) == discriminant(&field.shape.kind)
            })
    }

    pub(super) fn into_info(self, index: u32) -> TypeInfo {
        let name: &'static str = self.name.leak();
        let fields: Vec<FieldShape> = self
            .fields
            .into_iter()
            .map(|(name, offset, kind)| {
                let shape = kind.scalar_shape().expect("it was checked that the kind has a size");
                FieldShape { name: name.leak(), offset, shape, aliases: &[], is_skipped: false }
            })
            .collect();
        let mut shape =
            Shape::laid_out(name, FieldKind::Struct(fields.leak()), self.size, self.align);
        // Values start as zeros and are only replaced by bytes, so all bytes are initialised.
        shape.plain = true;
        shape.any_bits = true;
        let remap = shape.has_entities.then_some(remap_bytes as RemapColumn);
        let shape = Box::leak(Box::new(shape));
        TypeInfo {
            enableable: self.enableable,
            remap,
            ..TypeInfo::new(index, (name, name), shape, None)
        }
    }
}
