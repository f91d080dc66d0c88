//! Schemas: the fields of types, as files describe them.
//!
//! A schema is a [`Shape`](ancho_entities::Shape) that owns its names. It is written to files, so that a program finds fields by name
//! when its own types have changed since, and so that tools read files without the program's types.

use std::fmt;

use ancho_entities::{FieldKind, FieldShape, Shape};

use crate::bytes::{ByteReader, put_text, put_varint};

/// The largest depth of nested types.
const MOST_DEPTH: usize = 64;
/// The largest number of types within one type.
const MOST_NODES: usize = 1 << 16;

/// The fields of a type, as a file describes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema {
    /// The name of the type, without its module and parameters.
    pub name: String,
    /// The size of a value in memory.
    pub size: u64,
    /// The alignment of a value in memory.
    pub align: u32,
    /// The kind of the type.
    pub kind: SchemaKind,
}

/// The kind of a type in a [`Schema`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchemaKind {
    /// A number, `bool`, `char`, `()` or entity.
    Scalar(ScalarKind),
    /// UTF-8 text.
    Text,
    /// A duration.
    Duration,
    /// A blob asset or a reference to one.
    Blob,
    /// A struct.
    Struct(Vec<SchemaField>),
    /// A tuple.
    Tuple(Vec<SchemaField>),
    /// An enum.
    Enum(Vec<SchemaVariant>),
    /// An array.
    Array(Box<Schema>, u64),
    /// An optional value.
    Optional(Box<Schema>),
    /// A value on the heap.
    Boxed(Box<Schema>),
    /// A list, a set, or a map, whose elements are pairs.
    List(Box<Schema>),
    /// A type that contains itself: the number of levels up to it. 1 is the type that contains this one.
    Recursive(u32),
    /// A type without reflection.
    Opaque,
}

/// The kind of a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ScalarKind {
    /// The unit type.
    Unit = 0,
    /// `bool`, one byte.
    Bool,
    /// `char`, four bytes.
    Char,
    /// `u8`.
    U8,
    /// `u16`.
    U16,
    /// `u32`.
    U32,
    /// `u64`.
    U64,
    /// `u128`.
    U128,
    /// `usize`. Eight bytes in files, except in columns that are copied from memory.
    Usize,
    /// `i8`.
    I8,
    /// `i16`.
    I16,
    /// `i32`.
    I32,
    /// `i64`.
    I64,
    /// `i128`.
    I128,
    /// `isize`. Eight bytes in files, except in columns that are copied from memory.
    Isize,
    /// `f32`.
    F32,
    /// `f64`.
    F64,
    /// An entity: index and version.
    Entity,
}

/// All kinds of scalars, in the order of their numbers.
const SCALARS: [(ScalarKind, FieldKind); 18] = [
    (ScalarKind::Unit, FieldKind::Unit),
    (ScalarKind::Bool, FieldKind::Bool),
    (ScalarKind::Char, FieldKind::Char),
    (ScalarKind::U8, FieldKind::U8),
    (ScalarKind::U16, FieldKind::U16),
    (ScalarKind::U32, FieldKind::U32),
    (ScalarKind::U64, FieldKind::U64),
    (ScalarKind::U128, FieldKind::U128),
    (ScalarKind::Usize, FieldKind::Usize),
    (ScalarKind::I8, FieldKind::I8),
    (ScalarKind::I16, FieldKind::I16),
    (ScalarKind::I32, FieldKind::I32),
    (ScalarKind::I64, FieldKind::I64),
    (ScalarKind::I128, FieldKind::I128),
    (ScalarKind::Isize, FieldKind::Isize),
    (ScalarKind::F32, FieldKind::F32),
    (ScalarKind::F64, FieldKind::F64),
    (ScalarKind::Entity, FieldKind::Entity),
];

impl ScalarKind {
    /// Returns the number of bytes of the scalar in a stream.
    #[must_use]
    pub const fn size(self) -> usize {
        match self {
            Self::Unit => 0,
            Self::Bool | Self::U8 | Self::I8 => 1,
            Self::U16 | Self::I16 => 2,
            Self::Char | Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 | Self::Usize | Self::Isize | Self::Entity => 8,
            Self::U128 | Self::I128 => 16,
        }
    }

    /// Returns the kind as that of a field.
    #[must_use]
    pub fn field_kind(self) -> FieldKind {
        SCALARS[self as usize].1
    }

    fn from_byte(byte: u8) -> Option<Self> {
        SCALARS.get(usize::from(byte)).map(|&(kind, _)| kind)
    }

    /// Returns the kind of a field, if it is a scalar.
    #[must_use]
    pub const fn of(kind: FieldKind) -> Option<Self> {
        Some(match kind {
            FieldKind::Unit => Self::Unit,
            FieldKind::Bool => Self::Bool,
            FieldKind::Char => Self::Char,
            FieldKind::U8 => Self::U8,
            FieldKind::U16 => Self::U16,
            FieldKind::U32 => Self::U32,
            FieldKind::U64 => Self::U64,
            FieldKind::U128 => Self::U128,
            FieldKind::Usize => Self::Usize,
            FieldKind::I8 => Self::I8,
            FieldKind::I16 => Self::I16,
            FieldKind::I32 => Self::I32,
            FieldKind::I64 => Self::I64,
            FieldKind::I128 => Self::I128,
            FieldKind::Isize => Self::Isize,
            FieldKind::F32 => Self::F32,
            FieldKind::F64 => Self::F64,
            FieldKind::Entity => Self::Entity,
            _ => return None,
        })
    }
}

/// A field of a struct, a tuple or a variant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaField {
    /// The name of the field.
    pub name: String,
    /// The offset in memory. Zero in variants.
    pub offset: u64,
    /// The type of the field.
    pub schema: Schema,
}

/// A variant of an enum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaVariant {
    /// The name of the variant.
    pub name: String,
    /// The fields of the variant.
    pub fields: Vec<SchemaField>,
}

impl Schema {
    /// Returns the schema of a shape. Fields that files omit are left out.
    #[must_use]
    pub fn of(shape: &'static Shape) -> Self {
        Self::of_nested(shape, &mut Vec::new())
    }

    fn of_nested(shape: &'static Shape, outer: &mut Vec<*const Shape>) -> Self {
        let address = std::ptr::from_ref(shape);
        let kind = if let Some(at) = outer.iter().position(|&known| known == address) {
            SchemaKind::Recursive((outer.len() - at) as u32)
        } else if outer.len() >= MOST_DEPTH {
            SchemaKind::Opaque
        } else {
            outer.push(address);
            let kind = Self::kind_of(shape, outer);
            outer.pop();
            kind
        };
        let (size, align) = (shape.size as u64, shape.align as u32);
        Self { name: shape.name.to_owned(), size, align, kind }
    }

    fn kind_of(shape: &'static Shape, outer: &mut Vec<*const Shape>) -> SchemaKind {
        let mut fields_of = |fields: &'static [FieldShape]| -> Vec<SchemaField> {
            let written = fields.iter().filter(|field| !field.is_skipped);
            let fields = written.map(|field| SchemaField {
                name: field.name.to_owned(),
                offset: field.offset as u64,
                schema: Self::of_nested(field.shape, outer),
            });
            fields.collect()
        };
        match shape.kind {
            FieldKind::Text => SchemaKind::Text,
            FieldKind::Duration => SchemaKind::Duration,
            FieldKind::Blob => SchemaKind::Blob,
            FieldKind::Struct(fields) => SchemaKind::Struct(fields_of(fields)),
            FieldKind::Tuple(fields) => SchemaKind::Tuple(fields_of(fields)),
            FieldKind::Enum(variants) => {
                let variants = variants.iter().map(|variant| SchemaVariant {
                    name: variant.name.to_owned(),
                    fields: fields_of(variant.fields),
                });
                SchemaKind::Enum(variants.collect())
            }
            FieldKind::Array { element, len } => {
                SchemaKind::Array(Box::new(Self::of_nested(element, outer)), len as u64)
            }
            FieldKind::Optional(value) => {
                SchemaKind::Optional(Box::new(Self::of_nested(value, outer)))
            }
            FieldKind::Boxed(value) => SchemaKind::Boxed(Box::new(Self::of_nested(value(), outer))),
            FieldKind::List(element) | FieldKind::Set(element) => {
                SchemaKind::List(Box::new(Self::of_nested(element(), outer)))
            }
            FieldKind::Map { key, value } => {
                let (key, value) = (key(), value());
                let pair = |name: &str, offset: usize, shape, outer: &mut _| SchemaField {
                    name: name.to_owned(),
                    offset: offset as u64,
                    schema: Self::of_nested(shape, outer),
                };
                // A map is a list of pairs. The size is that of a tuple, which the reader compares with its own.
                outer.push(std::ptr::null());
                let fields = vec![pair("0", 0, key, outer), pair("1", key.size, value, outer)];
                outer.pop();
                let align = key.align.max(value.align);
                let size = (key.size + value.size).next_multiple_of(align) as u64;
                let kind = SchemaKind::Tuple(fields);
                let pair = Self { name: "tuple".to_owned(), size, align: align as u32, kind };
                SchemaKind::List(Box::new(pair))
            }
            kind => ScalarKind::of(kind).map_or(SchemaKind::Opaque, SchemaKind::Scalar),
        }
    }

    /// Returns the fields of a struct or a tuple.
    #[must_use]
    pub fn fields(&self) -> &[SchemaField] {
        match &self.kind {
            SchemaKind::Struct(fields) | SchemaKind::Tuple(fields) => fields,
            _ => &[],
        }
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        put_text(out, &self.name);
        put_varint(out, self.size);
        put_varint(out, self.align.into());
        match &self.kind {
            SchemaKind::Scalar(kind) => out.extend([0, *kind as u8]),
            SchemaKind::Text => out.push(1),
            SchemaKind::Duration => out.push(2),
            SchemaKind::Blob => out.push(3),
            SchemaKind::Struct(fields) => {
                out.push(4);
                write_fields(fields, out);
            }
            SchemaKind::Tuple(fields) => {
                out.push(5);
                write_fields(fields, out);
            }
            SchemaKind::Enum(variants) => {
                out.push(6);
                put_varint(out, variants.len() as u64);
                for variant in variants {
                    put_text(out, &variant.name);
                    write_fields(&variant.fields, out);
                }
            }
            SchemaKind::Array(element, len) => {
                out.push(7);
                put_varint(out, *len);
                element.write(out);
            }
            SchemaKind::Optional(value) => {
                out.push(8);
                value.write(out);
            }
            SchemaKind::Boxed(value) => {
                out.push(9);
                value.write(out);
            }
            SchemaKind::List(element) => {
                out.push(10);
                element.write(out);
            }
            SchemaKind::Recursive(levels) => {
                out.push(11);
                put_varint(out, (*levels).into());
            }
            SchemaKind::Opaque => out.push(12),
        }
    }

    pub(crate) fn read(from: &mut ByteReader<'_>) -> Option<Self> {
        let mut nodes = 0;
        Self::read_nested(from, 0, &mut nodes)
    }

    fn read_nested(from: &mut ByteReader<'_>, depth: usize, nodes: &mut usize) -> Option<Self> {
        *nodes += 1;
        if depth > MOST_DEPTH || *nodes > MOST_NODES {
            return None;
        }
        let name = from.text()?.to_owned();
        let size = from.varint()?;
        let align = u32::try_from(from.varint()?).ok().filter(|align| align.is_power_of_two())?;
        let mut nested = |from: &mut ByteReader<'_>| Self::read_nested(from, depth + 1, nodes);
        let kind = match from.byte()? {
            0 => SchemaKind::Scalar(ScalarKind::from_byte(from.byte()?)?),
            1 => SchemaKind::Text,
            2 => SchemaKind::Duration,
            3 => SchemaKind::Blob,
            4 => SchemaKind::Struct(read_fields(from, &mut nested)?),
            5 => SchemaKind::Tuple(read_fields(from, &mut nested)?),
            6 => {
                let count = from.count(2)?;
                let mut variants = Vec::with_capacity(count);
                for _ in 0..count {
                    let name = from.text()?.to_owned();
                    variants.push(SchemaVariant { name, fields: read_fields(from, &mut nested)? });
                }
                SchemaKind::Enum(variants)
            }
            7 => {
                let len = from.varint()?;
                SchemaKind::Array(Box::new(nested(from)?), len)
            }
            8 => SchemaKind::Optional(Box::new(nested(from)?)),
            9 => SchemaKind::Boxed(Box::new(nested(from)?)),
            10 => SchemaKind::List(Box::new(nested(from)?)),
            11 => {
                let levels = u32::try_from(from.varint()?).ok()?;
                if levels == 0 || levels as usize > depth {
                    return None;
                }
                SchemaKind::Recursive(levels)
            }
            12 => SchemaKind::Opaque,
            _ => return None,
        };
        Some(Self { name, size, align, kind })
    }

    /// Returns whether all values consist of scalars at offsets that are within the value and do not overlap its end. Only such types
    /// are written as they are in memory.
    pub(crate) fn is_flat(&self) -> bool {
        self.is_flat_within(self.size)
    }

    fn is_flat_within(&self, room: u64) -> bool {
        if self.size > room {
            return false;
        }
        match &self.kind {
            SchemaKind::Scalar(kind) => match kind {
                ScalarKind::Usize | ScalarKind::Isize => matches!(self.size, 4 | 8),
                kind => self.size == kind.size() as u64,
            },
            SchemaKind::Struct(fields) | SchemaKind::Tuple(fields) => fields.iter().all(|field| {
                let left = self.size.checked_sub(field.offset);
                left.is_some_and(|left| field.schema.is_flat_within(left))
            }),
            SchemaKind::Array(element, len) => {
                element.size.checked_mul(*len) == Some(self.size)
                    && element.is_flat_within(element.size)
            }
            _ => false,
        }
    }
}

fn write_fields(fields: &[SchemaField], out: &mut Vec<u8>) {
    put_varint(out, fields.len() as u64);
    for field in fields {
        put_text(out, &field.name);
        put_varint(out, field.offset);
        field.schema.write(out);
    }
}

fn read_fields(
    from: &mut ByteReader<'_>,
    nested: &mut impl FnMut(&mut ByteReader<'_>) -> Option<Schema>,
) -> Option<Vec<SchemaField>> {
    let count = from.count(6)?;
    let mut fields = Vec::with_capacity(count);
    for _ in 0..count {
        let name = from.text()?.to_owned();
        let offset = from.varint()?;
        fields.push(SchemaField { name, offset, schema: nested(from)? });
    }
    Some(fields)
}

impl fmt::Display for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            SchemaKind::Array(element, len) => write!(f, "[{element}; {len}]"),
            SchemaKind::Optional(value) => write!(f, "Option<{value}>"),
            SchemaKind::Boxed(value) => write!(f, "Box<{value}>"),
            SchemaKind::List(element) => write!(f, "Vec<{element}>"),
            SchemaKind::Tuple(fields) => {
                f.write_str("(")?;
                for (at, field) in fields.iter().enumerate() {
                    write!(f, "{}{}", if at == 0 { "" } else { ", " }, field.schema)?;
                }
                f.write_str(")")
            }
            _ => f.pad(&self.name),
        }
    }
}
