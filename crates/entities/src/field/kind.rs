//! What kinds of fields there are.

use std::fmt;

use super::{Field, FieldShape, Shape, VariantShape};
use crate::Entity;

/// What a field is, for those who know its type only at run time.
///
/// What is in the value itself is there as a [`Shape`]; what is elsewhere as a function that returns one, for that
/// may be the shape of the type again.
///
/// Printed, it is what Rust calls such a type.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Field, FieldKind};
///
/// assert!(matches!(<f32 as Field>::SHAPE.kind, FieldKind::F32));
/// assert_eq!(<Option<[u8; 4]> as Field>::SHAPE.kind.to_string(), "Option<[u8; 4]>");
/// assert_eq!(FieldKind::Bool.kind_name(), "bool");
/// ```
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum FieldKind {
    /// Nothing, in no bytes.
    Unit,
    /// `true` or `false`: 1 or 0 in one byte.
    Bool,
    /// A character, as a number in four bytes.
    Char,
    /// A number.
    U8,
    /// A number.
    U16,
    /// A number.
    U32,
    /// A number.
    U64,
    /// A number.
    U128,
    /// A number, as large as a pointer.
    Usize,
    /// A number with a sign.
    I8,
    /// A number with a sign.
    I16,
    /// A number with a sign.
    I32,
    /// A number with a sign.
    I64,
    /// A number with a sign.
    I128,
    /// A number with a sign, as large as a pointer.
    Isize,
    /// A number with a fraction.
    F32,
    /// A number with a fraction.
    F64,
    /// An [`Entity`].
    Entity,
    /// Text in UTF-8, of any form.
    Text,
    /// A span of time.
    Duration,
    /// A blob asset, or a reference to one: by the hash of its content.
    Blob,
    /// Fields with names, or with numbers for names.
    Struct(&'static [FieldShape]),
    /// One of several variants.
    Enum(&'static [VariantShape]),
    /// Fields without a type of their own.
    Tuple(&'static [FieldShape]),
    /// Always as many of one type, side by side.
    Array {
        /// What each of them is.
        element: &'static Shape,
        /// How many there are.
        len: usize,
    },
    /// One or none.
    Optional(&'static Shape),
    /// A value somewhere else, owned by this one.
    Boxed(fn() -> &'static Shape),
    /// Any number of values, in their order.
    List(fn() -> &'static Shape),
    /// Any number of values, sorted, each only once.
    Set(fn() -> &'static Shape),
    /// Any number of pairs, sorted by their keys.
    Map {
        /// What the keys are.
        key: fn() -> &'static Shape,
        /// What the values are.
        value: fn() -> &'static Shape,
    },
    /// Something that is not looked into.
    Opaque,
}

impl FieldKind {
    /// One word for the kind.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Field, FieldKind};
    ///
    /// assert_eq!(FieldKind::F32.kind_name(), "f32");
    /// assert_eq!(<(u8, u8) as Field>::SHAPE.kind.kind_name(), "tuple");
    /// assert_eq!(<String as Field>::SHAPE.kind.kind_name(), "text");
    /// ```
    #[must_use]
    pub const fn kind_name(&self) -> &'static str {
        match self {
            Self::Unit => "()",
            Self::Bool => "bool",
            Self::Char => "char",
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::U64 => "u64",
            Self::U128 => "u128",
            Self::Usize => "usize",
            Self::I8 => "i8",
            Self::I16 => "i16",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::I128 => "i128",
            Self::Isize => "isize",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::Entity => "Entity",
            Self::Text => "text",
            Self::Duration => "Duration",
            Self::Blob => "blob",
            Self::Struct(_) => "struct",
            Self::Enum(_) => "enum",
            Self::Tuple(_) => "tuple",
            Self::Array { .. } => "array",
            Self::Optional(_) => "option",
            Self::Boxed(_) => "box",
            Self::List(_) => "list",
            Self::Set(_) => "set",
            Self::Map { .. } => "map",
            Self::Opaque => "opaque",
        }
    }

    /// The shape of a field of this kind, if the kind alone says it: for numbers, `bool`, `char`, `()` and `Entity`.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::FieldKind;
    ///
    /// assert_eq!(FieldKind::F64.scalar_shape().map(|shape| shape.size), Some(8));
    /// assert!(FieldKind::Text.scalar_shape().is_none());
    /// ```
    #[must_use]
    pub fn scalar_shape(&self) -> Option<&'static Shape> {
        Some(match self {
            Self::Unit => <()>::SHAPE,
            Self::Bool => bool::SHAPE,
            Self::Char => char::SHAPE,
            Self::U8 => u8::SHAPE,
            Self::U16 => u16::SHAPE,
            Self::U32 => u32::SHAPE,
            Self::U64 => u64::SHAPE,
            Self::U128 => u128::SHAPE,
            Self::Usize => usize::SHAPE,
            Self::I8 => i8::SHAPE,
            Self::I16 => i16::SHAPE,
            Self::I32 => i32::SHAPE,
            Self::I64 => i64::SHAPE,
            Self::I128 => i128::SHAPE,
            Self::Isize => isize::SHAPE,
            Self::F32 => f32::SHAPE,
            Self::F64 => f64::SHAPE,
            Self::Entity => Entity::SHAPE,
            _ => return None,
        })
    }
}

impl fmt::Display for FieldKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tuple(fields) => {
                f.write_str("(")?;
                for (index, field) in fields.iter().enumerate() {
                    let comma = if index == 0 { "" } else { ", " };
                    write!(f, "{comma}{}", field.shape)?;
                }
                f.write_str(if fields.len() == 1 { ",)" } else { ")" })
            }
            Self::Array { element, len } => write!(f, "[{element}; {len}]"),
            Self::Optional(value) => write!(f, "Option<{value}>"),
            Self::Boxed(value) => write!(f, "Box<{}>", value()),
            Self::List(element) => write!(f, "Vec<{}>", element()),
            Self::Set(element) => write!(f, "BTreeSet<{}>", element()),
            Self::Map { key, value } => write!(f, "BTreeMap<{}, {}>", key(), value()),
            _ => f.pad(self.kind_name()),
        }
    }
}

impl fmt::Debug for FieldKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Struct(fields) => f.debug_tuple("Struct").field(fields).finish(),
            Self::Enum(variants) => f.debug_tuple("Enum").field(variants).finish(),
            _ => fmt::Display::fmt(self, f),
        }
    }
}
