//! Shapes: descriptions of types for reflection.

use std::fmt;
use std::mem::needs_drop;

use super::Field;
use super::hasher::Stream;
use crate::Entity;

/// The name, kind, size and fields of a type.
///
/// `Display` prints the Rust name of the type without modules.
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
    /// The name of the type, without its module and its parameters.
    pub name: &'static str,
    /// The kind of the type.
    pub kind: FieldKind,
    /// The size of a value, in bytes.
    pub size: usize,
    /// The alignment of a value.
    pub align: usize,
    /// True if the bytes of a value may be read: values have no padding, and no byte changes through a shared reference.
    pub plain: bool,
    /// True if a value may be overwritten with any bytes. Bytes written to padding have no effect.
    pub any_bits: bool,
    /// True if values may contain entities.
    pub has_entities: bool,
    /// The relation between the memory of values and the bytes that they write to a hasher.
    pub(crate) stream: Stream,
}

/// The properties of a type's bytes that follow from its kind.
struct Bytes {
    plain: bool,
    any_bits: bool,
    has_entities: bool,
    stream: Stream,
}

impl Shape {
    /// Describes the type `T`. `plain`, `any_bits` and `has_entities` follow from the kind. If they do not follow from it, `plain`
    /// and `any_bits` are false.
    ///
    /// # Panics
    ///
    /// Panics if a field is outside of the type. In a constant, this is a compile error.
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
    #[track_caller]
    pub const fn new<T>(name: &'static str, kind: FieldKind) -> Self {
        let mut shape = Self::laid_out(name, kind, size_of::<T>(), align_of::<T>());
        shape.any_bits = shape.any_bits && !needs_drop::<T>();
        shape
    }

    /// Describes a type that is not a Rust type, given its size and alignment.
    ///
    /// # Panics
    ///
    /// Panics if a field is outside of the type.
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
    #[track_caller]
    pub const fn laid_out(name: &'static str, kind: FieldKind, size: usize, align: usize) -> Self {
        let Bytes { plain, any_bits, has_entities, stream } = kind.bytes(size);
        Self { name, kind, size, align, plain, any_bits, has_entities, stream }
    }

    /// Returns the fields of a struct or a tuple, in declaration order. Other types have no fields.
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

    /// Returns the shape with `any_bits` set to false, for types with invalid bit patterns.
    pub(super) const fn checked(mut self) -> Self {
        self.any_bits = false;
        self
    }

    /// Returns the shape with `plain` set to false, for types whose values change through shared references.
    pub(super) const fn shared(mut self) -> Self {
        self.plain = false;
        self.stream = Stream::Fields;
        self
    }

    /// Returns the shape with the given `has_entities`.
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
    /// The name of the field. Unnamed fields are called `0`, `1`, …
    pub name: &'static str,
    /// The offset in bytes from the start of the value. Always zero in a [variant](VariantShape), where offsets are unknown.
    pub offset: usize,
    /// The shape of the field's type.
    pub shape: &'static Shape,
    /// Names that the field had in older files: `#[field(alias = "…")]`.
    pub aliases: &'static [&'static str],
    /// True if files omit the field: `#[field(skip)]`.
    pub is_skipped: bool,
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
        Self { name, offset, shape: F::SHAPE, aliases: &[], is_skipped: false }
    }

    /// Describes an opaque field of any type.
    ///
    /// # Examples
    ///
    /// ```
    /// let field = ancho_entities::FieldShape::opaque::<fn()>("callback", 8);
    /// assert_eq!(field.shape.kind.kind_name(), "opaque");
    /// ```
    #[must_use]
    pub const fn opaque<F>(name: &'static str, offset: usize) -> Self {
        Self { name, offset, shape: Opaque::<F>::SHAPE, aliases: &[], is_skipped: false }
    }
}

impl FieldShape {
    /// Returns the field with names that it had in older files.
    #[must_use]
    pub const fn with_aliases(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    /// Returns the field as one that files omit.
    #[must_use]
    pub const fn skipped(mut self) -> Self {
        self.is_skipped = true;
        self
    }
}

/// A variant of an enum. The offsets of its fields are unknown, and are zero in the [`FieldShape`].
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
    /// The name of the variant.
    pub name: &'static str,
    /// The fields of the variant, in declaration order.
    pub fields: &'static [FieldShape],
    /// Names that the variant had in older files: `#[field(alias = "…")]`.
    pub aliases: &'static [&'static str],
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
            // `usize` and `isize` are written with 64 bits on every machine.
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

    /// Returns the properties of a struct or a tuple with these fields and this size.
    const fn of_fields(mut fields: &'static [FieldShape], size: usize) -> Self {
        let mut bytes = Self::number(Stream::Nothing);
        let mut used = 0;
        while let [FieldShape { offset, shape, .. }, rest @ ..] = fields {
            assert!(*offset + shape.size <= size, "a field is within its type");
            bytes.plain = bytes.plain && shape.plain;
            bytes.any_bits = bytes.any_bits && shape.any_bits;
            bytes.has_entities = bytes.has_entities || shape.has_entities;
            // Fields are hashed in declaration order, which may differ from the order in memory.
            let in_order = shape.size == 0 || *offset == used;
            let stream = if in_order { shape.stream } else { Stream::Fields };
            bytes.stream = bytes.stream.and(stream);
            used += shape.size;
            fields = rest;
        }
        // Fields do not overlap, so the type has padding if their sizes add up to less than its size.
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

/// The kind of a type, for code that handles types known only at run time.
///
/// For contents that are stored inline, a variant has a reference to their [`Shape`]. For contents on the heap, it has a function
/// that returns the shape, because it may be the shape of the same type again.
///
/// `Display` prints the Rust name of the type.
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
    /// The unit type, without bytes.
    Unit,
    /// `true` or `false`: 1 or 0 in one byte.
    Bool,
    /// A `char`: a number of four bytes.
    Char,
    /// An unsigned 8-bit integer.
    U8,
    /// An unsigned 16-bit integer.
    U16,
    /// An unsigned 32-bit integer.
    U32,
    /// An unsigned 64-bit integer.
    U64,
    /// An unsigned 128-bit integer.
    U128,
    /// An unsigned integer of pointer size.
    Usize,
    /// A signed 8-bit integer.
    I8,
    /// A signed 16-bit integer.
    I16,
    /// A signed 32-bit integer.
    I32,
    /// A signed 64-bit integer.
    I64,
    /// A signed 128-bit integer.
    I128,
    /// A signed integer of pointer size.
    Isize,
    /// A 32-bit floating-point number.
    F32,
    /// A 64-bit floating-point number.
    F64,
    /// An [`Entity`].
    Entity,
    /// UTF-8 text, in any string type.
    Text,
    /// A duration.
    Duration,
    /// A blob asset, or a reference to one. It is hashed by content.
    Blob,
    /// A struct with named or numbered fields.
    Struct(&'static [FieldShape]),
    /// An enum with variants.
    Enum(&'static [VariantShape]),
    /// A tuple.
    Tuple(&'static [FieldShape]),
    /// An array of contiguous elements.
    Array {
        /// The shape of an element.
        element: &'static Shape,
        /// The number of elements.
        len: usize,
    },
    /// An optional value.
    Optional(&'static Shape),
    /// An owned value on the heap.
    Boxed(fn() -> &'static Shape),
    /// A list of any length.
    List(fn() -> &'static Shape),
    /// A sorted set of unique values.
    Set(fn() -> &'static Shape),
    /// A map, sorted by key.
    Map {
        /// The shape of the keys.
        key: fn() -> &'static Shape,
        /// The shape of the values.
        value: fn() -> &'static Shape,
    },
    /// A value without reflection.
    Opaque,
}

impl FieldKind {
    /// Returns a one-word name of the kind.
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
        if let Some(shape) = self.scalar_shape() {
            return shape.name;
        }
        match self {
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
            _ => "opaque",
        }
    }

    /// Returns the shape of a scalar kind: numbers, `bool`, `char`, `()` and `Entity`.
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
    pub const fn scalar_shape(&self) -> Option<&'static Shape> {
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

/// Describes the field that the function returns. The function is not called: it only determines the type of the field.
pub const fn field<S, F: Field>(name: &'static str, offset: usize, _: fn(&S) -> &F) -> FieldShape {
    FieldShape::new::<F>(name, offset)
}

/// Describes the field that the function returns, as opaque. The function is not called: it only determines the type of the field.
pub const fn opaque_field<S, F>(name: &'static str, offset: usize, _: fn(&S) -> &F) -> FieldShape {
    FieldShape::opaque::<F>(name, offset)
}
