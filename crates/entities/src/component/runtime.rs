//! Component types that are known only at run time.

#![expect(unsafe_code, reason = "reads and writes values that are bytes")]

use std::mem::discriminant;
use std::slice;
use std::sync::atomic::AtomicBool;

use super::info::{Beginning, Copying, TypeInfo, stable_hash};
use super::registry::RegisterError;
use crate::entity::Entity;
use crate::field::{EntityRemap, FieldKind, FieldShape, Shape, StateHasher};

/// A component type that is known only at run time: a number of bytes with a name, as scripts, tools and files have.
///
/// Values begin as zeros, are copied as bytes, and are read and written as such. What fields are told of can be shown,
/// and entities in them are followed when references are replaced.
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

/// Alignments up to this are enough for everything that a processor asks for.
const MAX_ALIGN: usize = 4096;

impl RuntimeType {
    /// A type of this name, whose values take so many bytes, at addresses that are multiples of the alignment.
    pub fn new(name: impl Into<String>, size: usize, align: usize) -> Self {
        Self { name: name.into(), size, align, enableable: false, fields: Vec::new() }
    }

    /// Tells of a field: a number or an entity, at this byte of the value.
    pub fn field(mut self, name: impl Into<String>, offset: usize, kind: FieldKind) -> Self {
        self.fields.push((name.into(), offset, kind));
        self
    }

    /// Lets values be switched off and on, entity by entity.
    pub fn enableable(mut self) -> Self {
        self.enableable = true;
        self
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Checks that values can be laid out so.
    pub(super) fn check(&self) -> Result<(), RegisterError> {
        let Self { size, align, .. } = *self;
        if !align.is_power_of_two() || align > MAX_ALIGN || !size.is_multiple_of(align) {
            return Err(RegisterError::BadLayout { size, align });
        }
        let mut taken: Vec<(usize, usize)> = Vec::new();
        for &(_, offset, kind) in &self.fields {
            // Other kinds have no size, or there are bytes that are not a value of theirs.
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

    /// Whether what is known of a type says the same as this.
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
                FieldShape { name: name.leak(), offset, shape }
            })
            .collect();
        let mut shape =
            Shape::laid_out(name, FieldKind::Struct(fields.leak()), self.size, self.align);
        // Values begin as zeros and are replaced by bytes: there is nothing else in them.
        shape.plain = true;
        shape.any_bits = true;
        TypeInfo {
            index,
            name,
            stable_name: name,
            stable_hash: stable_hash(name),
            shares_stable_name: AtomicBool::new(false),
            size: self.size,
            align: self.align,
            enableable: self.enableable,
            cleanup: false,
            tracked: false,
            write_groups: &[],
            maximum_capacity: None,
            sync: true,
            type_id: None,
            drop: None,
            copying: Copying::Bytes,
            beginning: Beginning::Zero,
            hash: hash_bytes,
            remap: shape.has_entities.then_some(remap_bytes),
            per_chunk: None,
            shared: None,
            elements: None,
            shape: Box::leak(Box::new(shape)),
        }
    }
}

/// See [`HashColumn`](super::info::HashColumn).
///
/// # Safety
///
/// - as there
unsafe fn hash_bytes(
    shape: &'static Shape,
    column: *const u8,
    count: usize,
    state: &mut StateHasher,
) {
    // SAFETY: there are so many values, and all their bytes are initialised.
    state.write_bytes(unsafe { slice::from_raw_parts(column, count * shape.size) });
}

/// See [`RemapColumn`](super::info::RemapColumn).
///
/// # Safety
///
/// - as there
unsafe fn remap_bytes(
    shape: &'static Shape,
    column: *mut u8,
    count: usize,
    map: &mut EntityRemap<'_>,
) {
    for field in shape.fields().iter().filter(|field| field.shape.has_entities) {
        for at in 0..count {
            let entity = column.wrapping_add(at * shape.size + field.offset).cast::<Entity>();
            // SAFETY: the field is in the value, which nobody else uses; any bytes are an entity.
            unsafe { entity.write_unaligned(map.apply(entity.read_unaligned())) };
        }
    }
}
