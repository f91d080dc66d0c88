//! The fields of a value as text, decoded from the bytes that the value writes to a hasher.
//!
//! The byte stream of a value follows its shape: numbers in their order, the length of a list before its elements, the index of a
//! variant before its fields. Therefore it can be decoded without reading the memory of the value. A type with a manual
//! implementation of the hash may write other bytes, which are shown as bytes.

use std::fmt::Write;

use ancho_entities::{Entity, FieldKind, Shape};

/// Maximum depth of nested values.
const DEEPEST: usize = 64;

/// Number of bytes shown for an unknown type.
const SHOWN_BYTES: usize = 8;

/// A part of a value that has no parts itself, as text.
#[derive(Debug, PartialEq, Eq)]
struct Leaf {
    path: String,
    value: String,
}

/// The first difference between two values: the path of the part that differs, and its text in each value.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PartDifference {
    pub(crate) path: String,
    pub(crate) values: [String; 2],
}

/// Finds the first part of two values that differs, in the bytes that the values write to a hasher. For types that are only known
/// at run time, the bytes are the memory of the value.
pub(crate) fn first_difference(
    shape: &Shape,
    is_memory: bool,
    streams: [&[u8]; 2],
) -> PartDifference {
    let [first, second] = streams.map(|stream| leaves(shape, is_memory, stream));
    if let (Some(first), Some(second)) = (first, second)
        && let Some((first, second)) =
            first.into_iter().zip(second).find(|(one, other)| one != other)
        && first.path == second.path
    {
        return PartDifference { path: first.path, values: [first.value, second.value] };
    }
    let [first, second] = streams;
    let same = first.iter().zip(second).take_while(|(one, other)| one == other).count();
    let values = streams.map(|stream| bytes_from(stream, same));
    PartDifference { path: format!("byte {same}"), values }
}

fn bytes_from(stream: &[u8], at: usize) -> String {
    let shown = stream.iter().skip(at).take(SHOWN_BYTES);
    let mut text = String::new();
    for byte in shown {
        let space = if text.is_empty() { "" } else { " " };
        let _text_takes_all = write!(text, "{space}{byte:02x}");
    }
    if text.is_empty() { "nothing".to_owned() } else { text }
}

/// Returns all parts of a value, or `None` if the stream does not match the shape.
fn leaves(shape: &Shape, is_memory: bool, stream: &[u8]) -> Option<Vec<Leaf>> {
    let mut reader = Reader { stream, at: 0, is_memory, path: String::new(), leaves: Vec::new() };
    reader.value(shape, 0)?;
    (reader.at == stream.len()).then_some(reader.leaves)
}

struct Reader<'s> {
    stream: &'s [u8],
    at: usize,
    is_memory: bool,
    path: String,
    leaves: Vec<Leaf>,
}

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let bytes = self.stream.get(self.at..)?.first_chunk()?;
        self.at += N;
        Some(*bytes)
    }

    fn word(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    fn length(&mut self) -> Option<usize> {
        self.word()?.try_into().ok()
    }

    fn leaf(&mut self, value: impl ToString) {
        self.leaves.push(Leaf { path: self.path.clone(), value: value.to_string() });
    }

    /// Reads a nested value, which has a name in its parent.
    fn below(&mut self, name: &str, shape: &Shape, depth: usize) -> Option<()> {
        let before = self.path.len();
        if before > 0 && !name.starts_with('[') {
            self.path.push('.');
        }
        self.path.push_str(name);
        let read = self.value(shape, depth + 1);
        self.path.truncate(before);
        read
    }

    fn value(&mut self, shape: &Shape, depth: usize) -> Option<()> {
        if depth > DEEPEST {
            return None;
        }
        match shape.kind {
            FieldKind::Unit => {}
            // An opaque field writes nothing to a hasher, but has bytes in memory.
            FieldKind::Opaque => return (!self.is_memory).then_some(()),
            FieldKind::Bool => {
                let [byte] = self.take()?;
                self.leaf(byte != 0);
            }
            FieldKind::Char => {
                let code = u32::from_le_bytes(self.take()?);
                self.leaf(format_args!("{:?}", char::from_u32(code)?));
            }
            FieldKind::U8 => self.number(u8::from_le_bytes)?,
            FieldKind::U16 => self.number(u16::from_le_bytes)?,
            FieldKind::U32 => self.number(u32::from_le_bytes)?,
            FieldKind::U64 | FieldKind::Usize => self.number(u64::from_le_bytes)?,
            FieldKind::U128 => self.number(u128::from_le_bytes)?,
            FieldKind::I8 => self.number(i8::from_le_bytes)?,
            FieldKind::I16 => self.number(i16::from_le_bytes)?,
            FieldKind::I32 => self.number(i32::from_le_bytes)?,
            FieldKind::I64 | FieldKind::Isize => self.number(i64::from_le_bytes)?,
            FieldKind::I128 => self.number(i128::from_le_bytes)?,
            FieldKind::F32 => {
                let value = f32::from_le_bytes(self.take()?);
                self.leaf(format_args!("{value:?}"));
            }
            FieldKind::F64 => {
                let value = f64::from_le_bytes(self.take()?);
                self.leaf(format_args!("{value:?}"));
            }
            FieldKind::Entity => {
                let entity = Entity::from_bits(self.word()?);
                self.leaf(entity);
            }
            FieldKind::Text => {
                let len = self.length()?;
                let end = self.at.checked_add(len)?;
                let text = String::from_utf8_lossy(self.stream.get(self.at..end)?);
                self.at = end;
                self.leaf(format_args!("{text:?}"));
            }
            FieldKind::Duration => {
                let (seconds, nanos) = (self.word()?, u32::from_le_bytes(self.take()?));
                self.leaf(format_args!("{seconds}.{nanos:09}s"));
            }
            FieldKind::Blob => {
                let hash = self.word()?;
                self.leaf(format_args!("blob {hash:016x}"));
            }
            FieldKind::Struct(_) | FieldKind::Tuple(_) => return self.fields(shape, depth),
            FieldKind::Enum(variants) => {
                let index = u32::from_le_bytes(self.take()?);
                let variant = variants.get(usize::try_from(index).ok()?)?;
                self.leaf(variant.name);
                for field in variant.fields {
                    self.below(field.name, field.shape, depth)?;
                }
            }
            FieldKind::Array { element, len } => self.elements(element, len, depth)?,
            FieldKind::Optional(value) => {
                let is_some = u32::from_le_bytes(self.take()?) != 0;
                self.leaf(if is_some { "Some" } else { "None" });
                if is_some {
                    self.value(value, depth + 1)?;
                }
            }
            FieldKind::Boxed(value) => self.value(value(), depth + 1)?,
            FieldKind::List(element) | FieldKind::Set(element) => {
                let len = self.counted()?;
                self.elements(element(), len, depth)?;
            }
            FieldKind::Map { key, value } => {
                let len = self.counted()?;
                for index in 0..len {
                    let before = self.at;
                    self.below(&format!("[{index}].key"), key(), depth)?;
                    self.below(&format!("[{index}].value"), value(), depth)?;
                    if self.at == before {
                        break;
                    }
                }
            }
            // The stream of an unknown kind is compared byte by byte.
            _ => return None,
        }
        Some(())
    }

    fn number<const N: usize, T: ToString>(&mut self, from_bytes: fn([u8; N]) -> T) -> Option<()> {
        let value = from_bytes(self.take()?);
        self.leaf(value);
        Some(())
    }

    fn fields(&mut self, shape: &Shape, depth: usize) -> Option<()> {
        let first = self.at;
        for field in shape.fields() {
            if self.is_memory {
                self.at = first + field.offset;
            }
            self.below(field.name, field.shape, depth)?;
        }
        if self.is_memory {
            self.at = first + shape.size;
        }
        Some(())
    }

    /// Reads the number of elements, and adds it as a part.
    fn counted(&mut self) -> Option<usize> {
        let len = self.length()?;
        let before = self.path.len();
        self.path.push_str(if before > 0 { ".len()" } else { "len()" });
        self.leaf(len);
        self.path.truncate(before);
        Some(len)
    }

    fn elements(&mut self, element: &Shape, len: usize, depth: usize) -> Option<()> {
        for index in 0..len {
            let before = self.at;
            self.below(&format!("[{index}]"), element, depth)?;
            if self.at == before {
                // The elements write no bytes, so all of them are equal.
                break;
            }
        }
        Some(())
    }
}
