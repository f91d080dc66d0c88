//! What a type consists of.

use std::fmt;
use std::mem::needs_drop;

use super::Field;
use super::hasher::Stream;
use crate::Entity;

/// Name, kind, size and fields of a type.
///
/// Printed, it is the name that the type has in Rust, without the modules.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Entity, Field};
///
/// let shape = <(Entity, f32)>::SHAPE;
/// assert_eq!((shape.size, shape.align), (16, 8));
/// assert!(shape.has_entities && shape.any_bits);
/// // Four bytes of it are padding.
/// assert!(!shape.plain);
/// assert_eq!(shape.to_string(), "(Entity, f32)");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// What the type is called, without its module and its parameters.
    pub name: &'static str,
    /// What it is.
    pub kind: FieldKind,
    /// The size of a value, in bytes.
    pub size: usize,
    /// The alignment of a value.
    pub align: usize,
    /// Whether the bytes of a value may be read: there is no padding among them, and none of them changes through
    /// a shared reference.
    pub plain: bool,
    /// Whether any bytes may be written over a value, and are one. Its padding does not matter.
    pub any_bits: bool,
    /// Whether values may hold entities.
    pub has_entities: bool,
    /// What values write to a hasher.
    pub(crate) stream: Stream,
}

/// What the kind of a type says of its bytes.
struct Bytes {
    plain: bool,
    any_bits: bool,
    has_entities: bool,
    stream: Stream,
}

impl Shape {
    /// Describes a type. Whether it is plain, takes any bits and has entities follows from the kind, as far as it
    /// can be known.
    ///
    /// # Panics
    ///
    /// When it compiles, if a field is not within the type.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{FieldKind, FieldShape, Shape};
    ///
    /// #[repr(C)]
    /// struct Speed {
    ///     value: f32,
    /// }
    ///
    /// const SPEED: Shape = Shape::new::<Speed>(
    ///     "Speed",
    ///     FieldKind::Struct(&[FieldShape::new::<f32>("value", std::mem::offset_of!(Speed, value))]),
    /// );
    /// assert!(SPEED.plain && SPEED.any_bits && !SPEED.has_entities);
    /// ```
    #[must_use]
    pub const fn new<T>(name: &'static str, kind: FieldKind) -> Self {
        let mut shape = Self::laid_out(name, kind, size_of::<T>(), align_of::<T>());
        shape.any_bits = shape.any_bits && !needs_drop::<T>();
        shape
    }

    /// Describes a type that is not one of Rust, or is not there yet.
    ///
    /// # Panics
    ///
    /// If a field is not within the size.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{FieldKind, Shape};
    ///
    /// let word = Shape::laid_out("word", FieldKind::U32, 4, 4);
    /// assert!(word.plain && word.any_bits);
    /// ```
    #[must_use]
    pub const fn laid_out(name: &'static str, kind: FieldKind, size: usize, align: usize) -> Self {
        let Bytes { plain, any_bits, has_entities, stream } = kind.bytes(size);
        Self { name, kind, size, align, plain, any_bits, has_entities, stream }
    }

    /// The fields of a struct or a tuple, in the order they are written in. For other types there are none.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::Field;
    ///
    /// let [first, second] = <(u8, u32)>::SHAPE.fields() else { unreachable!() };
    /// assert_eq!((first.name, second.name), ("0", "1"));
    /// assert_eq!(second.shape.size, 4);
    /// assert!(u8::SHAPE.fields().is_empty());
    /// ```
    #[must_use]
    pub const fn fields(&self) -> &'static [FieldShape] {
        match self.kind {
            FieldKind::Struct(fields) | FieldKind::Tuple(fields) => fields,
            _ => &[],
        }
    }

    /// The same, of values that cannot be written as bytes: not all bits are one.
    pub(super) const fn checked(mut self) -> Self {
        self.any_bits = false;
        self
    }

    /// The same, of values that change through shared references.
    pub(super) const fn shared(mut self) -> Self {
        self.plain = false;
        self.stream = Stream::Fields;
        self
    }

    /// The same, with what is known of the entities in it.
    pub(crate) const fn with_entities(mut self, has_entities: bool) -> Self {
        self.has_entities = has_entities;
        self
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            FieldKind::Tuple(_)
            | FieldKind::Array { .. }
            | FieldKind::Optional(_)
            | FieldKind::Boxed(_)
            | FieldKind::List(_)
            | FieldKind::Set(_)
            | FieldKind::Map { .. } => fmt::Display::fmt(&self.kind, f),
            _ => f.pad(self.name),
        }
    }
}

/// A field of a struct or a tuple.
///
/// # Examples
///
/// ```
/// use ancho_entities::Field;
///
/// for field in <(u16, f32)>::SHAPE.fields() {
///     assert!(field.offset + field.shape.size <= 8);
/// }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct FieldShape {
    /// What it is called. Those without names are called `0`, `1`, …
    pub name: &'static str,
    /// Where it is, in bytes from the beginning of the value.
    pub offset: usize,
    /// What it is.
    pub shape: &'static Shape,
}

impl FieldShape {
    /// Describes a field of type `F`.
    ///
    /// # Examples
    ///
    /// ```
    /// let field = ancho_entities::FieldShape::new::<f32>("speed", 4);
    /// assert_eq!(field.shape.name, "f32");
    /// ```
    #[must_use]
    pub const fn new<F: Field>(name: &'static str, offset: usize) -> Self {
        Self { name, offset, shape: F::SHAPE }
    }

    /// Describes a field of any type, which is not looked into.
    ///
    /// # Examples
    ///
    /// ```
    /// let field = ancho_entities::FieldShape::opaque::<fn()>("callback", 8);
    /// assert_eq!(field.shape.kind.kind_name(), "opaque");
    /// ```
    #[must_use]
    pub const fn opaque<F>(name: &'static str, offset: usize) -> Self {
        Self { name, offset, shape: Opaque::<F>::SHAPE }
    }
}

/// A variant of an enum. Where its fields are is not known.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Field, FieldKind};
///
/// let FieldKind::Enum(variants) = <Result<u8, String>>::SHAPE.kind else { unreachable!() };
/// assert_eq!(variants[0].name, "Ok");
/// assert_eq!(variants[1].fields[0].shape.name, "String");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct VariantShape {
    /// What it is called.
    pub name: &'static str,
    /// Its fields, in the order they are written in.
    pub fields: &'static [VariantField],
}

/// A field of a variant.
///
/// # Examples
///
/// ```
/// use ancho_entities::VariantField;
///
/// let field = VariantField::new::<u8>("0");
/// assert_eq!((field.name, field.shape.size), ("0", 1));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct VariantField {
    /// What it is called. Those without names are called `0`, `1`, …
    pub name: &'static str,
    /// What it is.
    pub shape: &'static Shape,
}

impl VariantField {
    /// Describes a field of type `F`.
    ///
    /// # Examples
    ///
    /// ```
    /// let field = ancho_entities::VariantField::new::<char>("letter");
    /// assert_eq!(field.shape.name, "char");
    /// ```
    #[must_use]
    pub const fn new<F: Field>(name: &'static str) -> Self {
        Self { name, shape: F::SHAPE }
    }

    /// Describes a field of any type, which is not looked into.
    ///
    /// # Examples
    ///
    /// ```
    /// let field = ancho_entities::VariantField::opaque::<fn()>("callback");
    /// assert!(!field.shape.plain);
    /// ```
    #[must_use]
    pub const fn opaque<F>(name: &'static str) -> Self {
        Self { name, shape: Opaque::<F>::SHAPE }
    }
}

struct Opaque<T>(T);

impl<T> Opaque<T> {
    const SHAPE: &'static Shape = &Shape::new::<T>("opaque", FieldKind::Opaque);
}

impl FieldKind {
    const fn bytes(&self, size: usize) -> Bytes {
        match *self {
            Self::Unit => Bytes::number(Stream::Nothing),
            Self::U8 | Self::U16 | Self::U32 | Self::U64 | Self::U128 => {
                Bytes::number(Stream::Bytes)
            }
            Self::I8 | Self::I16 | Self::I32 | Self::I64 | Self::I128 => {
                Bytes::number(Stream::Bytes)
            }
            // They are written with 64 bits on every machine.
            Self::Usize | Self::Isize if size == 8 => Bytes::number(Stream::Bytes),
            Self::Usize | Self::Isize => Bytes::number(Stream::Fields),
            Self::F32 => Bytes::number(Stream::F32),
            Self::F64 => Bytes::number(Stream::F64),
            Self::Bool | Self::Char => Bytes { any_bits: false, ..Bytes::number(Stream::Bytes) },
            Self::Entity => Bytes { has_entities: true, ..Bytes::number(Stream::Bytes) },
            Self::Struct(fields) | Self::Tuple(fields) => Bytes::of_fields(fields, size),
            Self::Array { element, len } => {
                assert!(element.size * len == size, "an array is as large as its elements");
                let stream = if len == 0 { Stream::Nothing } else { element.stream };
                let has_entities = len > 0 && element.has_entities;
                Bytes { plain: element.plain, any_bits: element.any_bits, has_entities, stream }
            }
            Self::Enum(variants) => Bytes::unknown(have_entities(variants)),
            Self::Optional(value) => Bytes::unknown(value.has_entities),
            Self::Boxed(_) | Self::List(_) | Self::Set(_) | Self::Map { .. } => {
                Bytes::unknown(true)
            }
            Self::Text | Self::Duration | Self::Blob | Self::Opaque => Bytes::unknown(false),
        }
    }
}

impl Bytes {
    const fn number(stream: Stream) -> Self {
        Self { plain: true, any_bits: true, has_entities: false, stream }
    }

    const fn unknown(has_entities: bool) -> Self {
        Self { plain: false, any_bits: false, has_entities, stream: Stream::Fields }
    }

    /// What the fields say together.
    const fn of_fields(mut fields: &'static [FieldShape], size: usize) -> Self {
        let mut bytes = Self::number(Stream::Nothing);
        let mut used = 0;
        while let [FieldShape { offset, shape, .. }, rest @ ..] = fields {
            assert!(*offset + shape.size <= size, "a field is within its type");
            bytes.plain = bytes.plain && shape.plain;
            bytes.any_bits = bytes.any_bits && shape.any_bits;
            bytes.has_entities = bytes.has_entities || shape.has_entities;
            // Fields are hashed in the order they are written in, which need not be that of memory.
            let in_order = shape.size == 0 || *offset == used;
            let stream = if in_order { shape.stream } else { Stream::Fields };
            bytes.stream = bytes.stream.and(stream);
            used += shape.size;
            fields = rest;
        }
        // As fields do not overlap, there is padding if they are smaller than the whole.
        if used != size {
            bytes.plain = false;
            bytes.stream = Stream::Fields;
        }
        bytes
    }
}

const fn have_entities(mut variants: &'static [VariantShape]) -> bool {
    while let [variant, rest @ ..] = variants {
        let mut fields = variant.fields;
        while let [field, rest @ ..] = fields {
            if field.shape.has_entities {
                return true;
            }
            fields = rest;
        }
        variants = rest;
    }
    false
}

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

/// Describes the field that the function picks.
pub const fn field<S, F: Field>(name: &'static str, offset: usize, _: fn(&S) -> &F) -> FieldShape {
    FieldShape::new::<F>(name, offset)
}

/// Describes the field that the function picks, and nobody looks into.
pub const fn opaque_field<S, F>(name: &'static str, offset: usize, _: fn(&S) -> &F) -> FieldShape {
    FieldShape::opaque::<F>(name, offset)
}
