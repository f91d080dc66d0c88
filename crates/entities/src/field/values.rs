//! Writing values field by field, and reading them back: [`ValueWriter`], [`ValueReader`].
//!
//! A file, a text scene and a network message write the same value in different forms. The type of the value calls the methods of a
//! writer, and the writer chooses the form. A reader is called in the same order. It may find fields in another order, with other
//! names or of other number types, and returns what the type needs.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use super::{Field, FieldKind, FieldShape, Shape, Stream, VariantShape, plain_bytes};
use crate::debug_as_display::debug_as_display;
use crate::entity::Entity;

/// A number, `bool`, `char`, `()` or [`Entity`], as [`ValueWriter`] and [`ValueReader`] exchange it.
///
/// # Examples
///
/// ```
/// use ancho_entities::{FieldKind, Scalar};
///
/// assert_eq!(Scalar::U8(7).convert(FieldKind::I64), Some(Scalar::I64(7)));
/// assert_eq!(Scalar::I32(-1).convert(FieldKind::U32), None);
/// assert_eq!(Scalar::F32(0.5).convert(FieldKind::F64), Some(Scalar::F64(0.5)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar {
    /// The unit type.
    Unit,
    /// `true` or `false`.
    Bool(bool),
    /// A character.
    Char(char),
    /// An unsigned 8-bit integer.
    U8(u8),
    /// An unsigned 16-bit integer.
    U16(u16),
    /// An unsigned 32-bit integer.
    U32(u32),
    /// An unsigned 64-bit integer, or a `usize`.
    U64(u64),
    /// An unsigned 128-bit integer.
    U128(u128),
    /// A signed 8-bit integer.
    I8(i8),
    /// A signed 16-bit integer.
    I16(i16),
    /// A signed 32-bit integer.
    I32(i32),
    /// A signed 64-bit integer, or an `isize`.
    I64(i64),
    /// A signed 128-bit integer.
    I128(i128),
    /// A 32-bit floating-point number.
    F32(f32),
    /// A 64-bit floating-point number.
    F64(f64),
    /// An entity.
    Entity(Entity),
}

/// An integer of any type.
enum Integer {
    Unsigned(u128),
    Signed(i128),
}

impl Scalar {
    fn integer(self) -> Option<Integer> {
        Some(match self {
            Self::U8(value) => Integer::Unsigned(value.into()),
            Self::U16(value) => Integer::Unsigned(value.into()),
            Self::U32(value) => Integer::Unsigned(value.into()),
            Self::U64(value) => Integer::Unsigned(value.into()),
            Self::U128(value) => Integer::Unsigned(value),
            Self::I8(value) => Integer::Signed(value.into()),
            Self::I16(value) => Integer::Signed(value.into()),
            Self::I32(value) => Integer::Signed(value.into()),
            Self::I64(value) => Integer::Signed(value.into()),
            Self::I128(value) => Integer::Signed(value),
            _ => return None,
        })
    }

    /// Returns the value as a scalar of another kind, or `None` if that would change the value.
    ///
    /// Integers convert to integers that can hold them, `f32` to `f64`, and integers to floating-point numbers if they are exact.
    #[must_use]
    pub fn convert(self, kind: FieldKind) -> Option<Self> {
        fn to<T: TryFrom<u128> + TryFrom<i128>>(value: &Integer) -> Option<T> {
            match *value {
                Integer::Unsigned(value) => T::try_from(value).ok(),
                Integer::Signed(value) => T::try_from(value).ok(),
            }
        }

        if let Some(value) = self.integer() {
            return match kind {
                FieldKind::U8 => to(&value).map(Self::U8),
                FieldKind::U16 => to(&value).map(Self::U16),
                FieldKind::U32 => to(&value).map(Self::U32),
                FieldKind::U64 | FieldKind::Usize => to(&value).map(Self::U64),
                FieldKind::U128 => to(&value).map(Self::U128),
                FieldKind::I8 => to(&value).map(Self::I8),
                FieldKind::I16 => to(&value).map(Self::I16),
                FieldKind::I32 => to(&value).map(Self::I32),
                FieldKind::I64 | FieldKind::Isize => to(&value).map(Self::I64),
                FieldKind::I128 => to(&value).map(Self::I128),
                FieldKind::F32 => {
                    let small =
                        to::<i32>(&value).filter(|small| small.unsigned_abs() <= 1 << 24)?;
                    Some(Self::F32(small as f32))
                }
                FieldKind::F64 => {
                    let small =
                        to::<i64>(&value).filter(|small| small.unsigned_abs() <= 1 << 53)?;
                    Some(Self::F64(small as f64))
                }
                _ => None,
            };
        }
        match (self, kind) {
            (Self::Unit, FieldKind::Unit)
            | (Self::Bool(_), FieldKind::Bool)
            | (Self::Char(_), FieldKind::Char)
            | (Self::F32(_), FieldKind::F32)
            | (Self::F64(_), FieldKind::F64)
            | (Self::Entity(_), FieldKind::Entity) => Some(self),
            (Self::F32(value), FieldKind::F64) => Some(Self::F64(value.into())),
            _ => None,
        }
    }
}

/// A part of a value that consists of other values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValuePart {
    /// A struct. Each field follows a call of [`field`](ValueWriter::field).
    Struct,
    /// A tuple. Each field follows a call of [`field`](ValueWriter::field).
    Tuple,
    /// A variant of an enum, with fields like a struct.
    Variant {
        /// The index of the variant in declaration order.
        index: u32,
        /// The name of the variant.
        name: &'static str,
        /// True if the fields have numbers instead of names.
        is_tuple: bool,
    },
    /// An empty option.
    None,
    /// An option with a value, which follows.
    Some,
    /// A box. The value in it follows.
    Boxed {
        /// The size of the value in memory.
        size: usize,
    },
    /// An array. Each element follows a call of [`element`](ValueWriter::element).
    Array {
        /// The number of elements.
        len: usize,
    },
    /// A list, a set, or a map, whose elements are pairs. Each element follows a call of [`element`](ValueWriter::element).
    List {
        /// The number of elements.
        len: usize,
        /// The size of an element in memory.
        size: usize,
    },
}

/// A destination to which values are written field by field, such as a file or a text.
///
/// A type calls these methods in [`Field::write_value`]. The calls for a struct are [`begin`](Self::begin), then for each field
/// [`field`](Self::field) and the calls for the field's value, then [`end`](Self::end).
pub trait ValueWriter {
    /// Writes a scalar.
    fn scalar(&mut self, value: Scalar);

    /// Writes a text.
    fn text(&mut self, text: &str);

    /// Writes a duration.
    fn duration(&mut self, value: Duration);

    /// Writes bytes whose meaning only the type knows, such as those of a blob asset.
    fn blob(&mut self, bytes: &[u8]);

    /// Begins a part that consists of other values.
    fn begin(&mut self, part: ValuePart);

    /// Precedes the value of a field.
    fn field(&mut self, name: &'static str);

    /// Precedes an element of an array or a list.
    fn element(&mut self);

    /// Ends the part that was begun last.
    fn end(&mut self);

    /// Writes many values of a shape at once, given their memory. Returns `false` if the writer does not support it: then the
    /// caller writes the values one by one.
    ///
    /// The fields of the shape are in memory in declaration order, without padding, and in little-endian order.
    fn raw(&mut self, _shape: &'static Shape, _bytes: &[u8]) -> bool {
        false
    }

    /// Records that a value cannot be written, because its type has no reflection.
    fn opaque(&mut self, type_name: &'static str);
}

/// A source from which values are read field by field.
///
/// A type calls these methods in [`Field::read_value`]. The reader returns fields in the order in which it finds them.
pub trait ValueReader {
    /// Reads a scalar. The result has the given kind; for `usize` and `isize` it has 64 bits.
    ///
    /// # Errors
    ///
    /// Returns an error if the source has another value, or one that does not fit.
    fn scalar(&mut self, kind: FieldKind) -> Result<Scalar, ValueError>;

    /// Reads a text.
    ///
    /// # Errors
    ///
    /// Returns an error if the source has no valid text.
    fn text(&mut self) -> Result<&str, ValueError>;

    /// Reads a duration.
    ///
    /// # Errors
    ///
    /// Returns an error if the source has no valid duration.
    fn duration(&mut self) -> Result<Duration, ValueError>;

    /// Reads bytes whose meaning only the type knows.
    ///
    /// # Errors
    ///
    /// Returns an error if the source has no such bytes.
    fn blob(&mut self) -> Result<&[u8], ValueError>;

    /// Begins a struct or a tuple with these fields. Then [`next_field`](Self::next_field) is called until it returns `None`, and
    /// then [`end`](Self::end).
    ///
    /// # Errors
    ///
    /// Returns an error if the source has another kind of value.
    fn begin_struct(&mut self, fields: &'static [FieldShape]) -> Result<(), ValueError>;

    /// Begins an enum, and returns the index of its variant, which is less than the number of variants. The fields of the variant
    /// follow as in a struct.
    ///
    /// # Errors
    ///
    /// Returns an error if the source has another kind of value, or a variant that is not listed.
    fn begin_variant(&mut self, variants: &'static [VariantShape]) -> Result<usize, ValueError>;

    /// Returns the index of the next field, whose value is read next, or `None` after the last one.
    ///
    /// # Errors
    ///
    /// Returns an error if the source has an invalid field.
    fn next_field(&mut self) -> Result<Option<usize>, ValueError>;

    /// Begins an option. Returns whether there is a value, which is read next. [`end`](Self::end) follows.
    ///
    /// # Errors
    ///
    /// Returns an error if the source has another kind of value.
    fn begin_option(&mut self) -> Result<bool, ValueError>;

    /// Begins a box with a value of this size. [`end`](Self::end) follows the value.
    ///
    /// # Errors
    ///
    /// Returns an error if the source has another kind of value, or too many nested ones.
    fn begin_boxed(&mut self, size: usize) -> Result<(), ValueError>;

    /// Begins a list whose elements have this size in memory, or an array of a given length. Returns the number of elements if it
    /// is known; the source then has data for them. [`next_element`](Self::next_element) follows.
    ///
    /// # Errors
    ///
    /// Returns an error if the source has another kind of value, or an array of another length.
    fn begin_list(
        &mut self,
        array: Option<usize>,
        size: usize,
    ) -> Result<Option<usize>, ValueError>;

    /// Returns whether there is another element, which is read next.
    ///
    /// # Errors
    ///
    /// Returns an error if the source has an invalid list.
    fn next_element(&mut self) -> Result<bool, ValueError>;

    /// Ends the part that was begun last.
    ///
    /// # Errors
    ///
    /// Returns an error if the source continues.
    fn end(&mut self) -> Result<(), ValueError>;

    /// Reads the memory of many values of a shape that [`ValueWriter::raw`] has written, as the elements of a list. Returns `None`
    /// if the source has another form: then the elements are read one by one.
    ///
    /// # Errors
    ///
    /// Returns an error if the source has fewer bytes.
    fn raw(&mut self, _shape: &'static Shape, _bytes: usize) -> Result<Option<&[u8]>, ValueError> {
        Ok(None)
    }

    /// Creates an error at the current position.
    fn error(&self, message: &str) -> ValueError;
}

/// The error of a value that cannot be read.
///
/// # Examples
///
/// ```
/// use ancho_entities::ValueError;
///
/// let refused = ValueError::new("health.maximum", "expected `u32`, found text");
/// assert_eq!(refused.to_string(), "health.maximum: expected `u32`, found text");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct ValueError {
    place: String,
    message: String,
}

impl ValueError {
    /// Creates an error at a place, such as the path of a field. The place may be empty.
    pub fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self { place: place.into(), message: message.into() }
    }

    /// Returns the place of the error, such as the path of a field.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Returns the message without the place.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.place.is_empty() {
            write!(f, "{}: ", self.place)?;
        }
        f.write_str(&self.message)
    }
}

impl Error for ValueError {}

debug_as_display!(ValueError);

/// Returns whether the memory of values is what [`ValueWriter`] gets field by field, so that it can be copied.
pub(crate) const fn is_raw(shape: &Shape) -> bool {
    cfg!(target_endian = "little") && shape.plain && !matches!(shape.stream, Stream::Fields)
}

/// Writes the values of a list or an array, at once if possible.
pub(crate) fn write_elements<T: Field>(values: &[T], out: &mut dyn ValueWriter) {
    if const { is_raw(T::SHAPE) }
        && let Some(bytes) = plain_bytes(values)
        && out.raw(T::SHAPE, bytes)
    {
        return;
    }
    for value in values {
        out.element();
        value.write_value(out);
    }
}

/// Writes a list: its length, then its elements.
pub(crate) fn write_list<T: Field>(values: &[T], out: &mut dyn ValueWriter) {
    out.begin(ValuePart::List { len: values.len(), size: size_of::<T>() });
    write_elements(values, out);
    out.end();
}

/// Reads a list, or an array of a given length.
pub(crate) fn read_list<T: Field>(
    array: Option<usize>,
    from: &mut dyn ValueReader,
) -> Result<Vec<T>, ValueError> {
    let len = from.begin_list(array, size_of::<T>())?;
    let mut values = Vec::new();
    if let Some(len) = len {
        if const { is_raw(T::SHAPE) && T::SHAPE.any_bits && size_of::<T>() > 0 }
            && let Some(bytes) = len.checked_mul(size_of::<T>())
            && let Some(bytes) = from.raw(T::SHAPE, bytes)?
        {
            super::extend_from_bytes(&mut values, bytes);
            from.end()?;
            return Ok(values);
        }
        if values.try_reserve_exact(len).is_err() {
            return Err(from.error("there is not enough memory for the list"));
        }
    }
    while from.next_element()? {
        values.push(T::read_value(from)?);
    }
    from.end()?;
    Ok(values)
}

/// Writes a struct with one field, which is called `0`.
pub(crate) fn write_newtype(value: &impl Field, out: &mut dyn ValueWriter) {
    out.begin(ValuePart::Struct);
    out.field("0");
    value.write_value(out);
    out.end();
}

/// Reads a struct with one field, which is called `0`. Returns the value of the field.
pub(crate) fn read_newtype<T: Field>(
    fields: &'static [FieldShape],
    from: &mut dyn ValueReader,
) -> Result<T, ValueError> {
    from.begin_struct(fields)?;
    let mut value = None;
    while from.next_field()?.is_some() {
        value = Some(T::read_value(from)?);
    }
    from.end()?;
    value.ok_or_else(|| missing(from, "0"))
}

/// Creates the error of a field that is missing and has no default.
pub fn missing(from: &dyn ValueReader, name: &str) -> ValueError {
    from.error(&format!(
        "the field `{name}` is missing, and neither the type nor the field implements `Default`"
    ))
}

/// Creates the error of a type without reflection.
pub fn unreadable(from: &dyn ValueReader, type_name: &str) -> ValueError {
    from.error(&format!(
        "`{type_name}` has no reflection, so that it cannot be read; derive `Field`, or mark the field `#[field(skip)]`"
    ))
}
