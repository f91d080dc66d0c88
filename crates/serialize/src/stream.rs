//! Streams: values as bytes, field by field. See the README of the format.

use std::time::Duration;

use ancho_entities::{
    Entity, FieldKind, FieldShape, Scalar, Shape, ValueError, ValuePart, ValueReader, ValueWriter,
    VariantShape,
};

use crate::bytes::{ByteReader, put_varint};
use crate::schema::{ScalarKind, Schema, SchemaField, SchemaKind, SchemaVariant};

/// The largest depth of nested values.
pub(crate) const MOST_DEPTH: usize = 200;

/// The share of the memory of elements that their bytes take at least: one in this many. Lists are padded for it, so that a reader
/// can check the length of a list before it allocates memory.
const PADDED_SHARE: usize = 4;

/// Returns the number of bytes that elements take at least.
fn least_bytes(len: usize, size: usize) -> usize {
    len.saturating_mul(size) / PADDED_SHARE
}

/// Writes values as bytes.
#[derive(Debug, Default)]
pub(crate) struct StreamWriter {
    pub(crate) out: Vec<u8>,
    /// For each open part, the length that it has at least.
    open: Vec<usize>,
    /// The first type that cannot be written.
    pub(crate) opaque: Option<&'static str>,
    pub(crate) is_too_deep: bool,
}

impl ValueWriter for StreamWriter {
    fn scalar(&mut self, value: Scalar) {
        let out = &mut self.out;
        match value {
            Scalar::Unit => {}
            Scalar::Bool(value) => out.push(value.into()),
            Scalar::Char(value) => out.extend(u32::from(value).to_le_bytes()),
            Scalar::U8(value) => out.push(value),
            Scalar::U16(value) => out.extend(value.to_le_bytes()),
            Scalar::U32(value) => out.extend(value.to_le_bytes()),
            Scalar::U64(value) => out.extend(value.to_le_bytes()),
            Scalar::U128(value) => out.extend(value.to_le_bytes()),
            Scalar::I8(value) => out.extend(value.to_le_bytes()),
            Scalar::I16(value) => out.extend(value.to_le_bytes()),
            Scalar::I32(value) => out.extend(value.to_le_bytes()),
            Scalar::I64(value) => out.extend(value.to_le_bytes()),
            Scalar::I128(value) => out.extend(value.to_le_bytes()),
            Scalar::F32(value) => out.extend(value.to_le_bytes()),
            Scalar::F64(value) => out.extend(value.to_le_bytes()),
            Scalar::Entity(value) => out.extend(value.to_bits().to_le_bytes()),
        }
    }

    fn text(&mut self, text: &str) {
        crate::bytes::put_text(&mut self.out, text);
    }

    fn duration(&mut self, value: Duration) {
        self.out.extend(value.as_secs().to_le_bytes());
        self.out.extend(value.subsec_nanos().to_le_bytes());
    }

    fn blob(&mut self, bytes: &[u8]) {
        put_varint(&mut self.out, bytes.len() as u64);
        self.out.extend_from_slice(bytes);
    }

    fn begin(&mut self, part: ValuePart) {
        let mut least = 0;
        match part {
            ValuePart::Struct | ValuePart::Tuple | ValuePart::Array { .. } => {}
            ValuePart::Variant { index, .. } => put_varint(&mut self.out, index.into()),
            ValuePart::None => self.out.push(0),
            ValuePart::Some => self.out.push(1),
            ValuePart::Boxed { size } => least = self.out.len() + least_bytes(1, size),
            ValuePart::List { len, size } => {
                put_varint(&mut self.out, len as u64);
                least = self.out.len() + least_bytes(len, size);
            }
        }
        self.open.push(least);
        self.is_too_deep |= self.open.len() > MOST_DEPTH;
    }

    fn field(&mut self, _: &'static str) {}

    fn element(&mut self) {}

    fn end(&mut self) {
        let least = self.open.pop().unwrap_or(0);
        if self.out.len() < least {
            self.out.resize(least, 0);
        }
    }

    fn raw(&mut self, _: &'static Shape, bytes: &[u8]) -> bool {
        self.out.extend_from_slice(bytes);
        true
    }

    fn opaque(&mut self, type_name: &'static str) {
        self.opaque.get_or_insert(type_name);
    }
}

/// The fields that the program expects, and those of the file that are still to come.
#[derive(Debug)]
struct Fields<'s> {
    expected: &'static [FieldShape],
    /// The fields in the file, or `None` if they are those of the program.
    found: Option<&'s [SchemaField]>,
    next: usize,
}

#[derive(Debug)]
enum Open<'s> {
    Fields(Fields<'s>),
    Elements { left: usize, end: usize },
    One { end: usize },
}

/// Reads values that [`StreamWriter`] has written, which are not trusted.
///
/// With a schema, the values are those of the schema, and are converted to what the program expects: fields are found by name, and
/// numbers may have another type. Without one, they are those of the program's types.
#[derive(Debug)]
pub(crate) struct StreamReader<'b, 's> {
    pub(crate) bytes: ByteReader<'b>,
    /// The schema of the next value, and its outer schemas, outermost first. Empty if there is no schema.
    schemas: Vec<&'s Schema>,
    open: Vec<(Open<'s>, usize)>,
    /// The number of values that may still be read. Values without bytes could otherwise take any time.
    steps: usize,
}

impl<'b, 's> StreamReader<'b, 's> {
    /// Creates a reader of values that are written as the program's types are.
    pub(crate) fn same(bytes: &'b [u8]) -> Self {
        let steps = bytes.len().saturating_mul(4).saturating_add(1 << 20);
        Self { bytes: ByteReader::new(bytes), schemas: vec![], open: vec![], steps }
    }

    /// Creates a reader of values of a schema.
    pub(crate) fn converting(bytes: &'b [u8], schema: &'s Schema) -> Self {
        Self { schemas: vec![schema], ..Self::same(bytes) }
    }

    fn cut(&self) -> ValueError {
        self.error("the data ends within the value, or is invalid")
    }

    fn expected(&self, what: &str) -> ValueError {
        match self.schemas.last() {
            Some(schema) => self.error(&format!("expected {what}, found `{schema}`")),
            None => self.error(&format!("expected {what}")),
        }
    }

    /// Returns the schema of the next value, or `None` if values are those of the program's types.
    fn schema(&self) -> Option<&'s Schema> {
        self.schemas.last().copied()
    }

    /// Makes a schema the one of the next value. A recursive one is replaced by the outer schema that it stands for.
    fn enter(&mut self, schema: &'s Schema) -> usize {
        let depth = self.schemas.len();
        match schema.kind {
            SchemaKind::Recursive(levels) => {
                // The list of outer schemas is cut, so that levels are counted from the schema that is entered.
                let at = depth.saturating_sub(levels as usize);
                let outer = self.schemas[at];
                self.schemas.push(outer);
            }
            _ => self.schemas.push(schema),
        }
        depth
    }

    fn push(&mut self, open: Open<'s>, depth: usize) -> Result<(), ValueError> {
        if self.open.len() >= MOST_DEPTH {
            return Err(self.error("values are nested too deeply"));
        }
        self.open.push((open, depth));
        Ok(())
    }

    /// Reads and drops a value of a schema.
    fn skip(&mut self, schema: &'s Schema, depth: usize) -> Result<(), ValueError> {
        if depth > MOST_DEPTH {
            return Err(self.error("values are nested too deeply"));
        }
        self.step()?;
        let cut = |reader: &Self| reader.cut();
        match &schema.kind {
            SchemaKind::Scalar(kind) => {
                self.bytes.take(kind.size()).ok_or_else(|| cut(self))?;
            }
            SchemaKind::Text => {
                self.bytes.text().ok_or_else(|| cut(self))?;
            }
            SchemaKind::Duration => {
                self.bytes.take(12).ok_or_else(|| cut(self))?;
            }
            SchemaKind::Blob => {
                let len = self.bytes.count(1).ok_or_else(|| cut(self))?;
                self.bytes.take(len);
            }
            SchemaKind::Struct(fields) | SchemaKind::Tuple(fields) => {
                let level = self.enter(schema);
                for field in fields {
                    self.skip(&field.schema, depth + 1)?;
                }
                self.schemas.truncate(level);
            }
            SchemaKind::Enum(variants) => {
                let index = self.bytes.varint().and_then(|index| usize::try_from(index).ok());
                let variant = index.and_then(|index| variants.get(index));
                let variant = variant.ok_or_else(|| cut(self))?;
                let level = self.enter(schema);
                for field in &variant.fields {
                    self.skip(&field.schema, depth + 1)?;
                }
                self.schemas.truncate(level);
            }
            SchemaKind::Array(element, len) => {
                // Elements without bytes take no data, but each takes time.
                let len = usize::try_from(*len).ok().filter(|&len| len <= 1 << 24);
                let len = len.ok_or_else(|| cut(self))?;
                let level = self.enter(schema);
                for _ in 0..len {
                    self.skip(element, depth + 1)?;
                }
                self.schemas.truncate(level);
            }
            SchemaKind::Optional(value) => {
                if self.flag()? {
                    let level = self.enter(schema);
                    self.skip(value, depth + 1)?;
                    self.schemas.truncate(level);
                }
            }
            SchemaKind::Boxed(value) => {
                let end = self.least_end(1, value.size)?;
                let level = self.enter(schema);
                self.skip(value, depth + 1)?;
                self.schemas.truncate(level);
                self.pad_to(end)?;
            }
            SchemaKind::List(element) => {
                let (len, end) = self.list_head(element.size)?;
                let level = self.enter(schema);
                for _ in 0..len {
                    self.skip(element, depth + 1)?;
                }
                self.schemas.truncate(level);
                self.pad_to(end)?;
            }
            SchemaKind::Recursive(levels) => {
                let at = self.schemas.len().checked_sub(*levels as usize);
                let outer = at.and_then(|at| self.schemas.get(at).copied());
                let outer = outer.ok_or_else(|| cut(self))?;
                self.skip(outer, depth + 1)?;
            }
            SchemaKind::Opaque => return Err(self.error("the file has a value without reflection")),
        }
        Ok(())
    }

    fn step(&mut self) -> Result<(), ValueError> {
        self.steps =
            self.steps.checked_sub(1).ok_or_else(|| self.error("there are too many values"))?;
        Ok(())
    }

    fn flag(&mut self) -> Result<bool, ValueError> {
        match self.bytes.byte() {
            Some(0) => Ok(false),
            Some(1) => Ok(true),
            _ => Err(self.cut()),
        }
    }

    /// Returns the position up to which elements of this size are padded.
    fn least_end(&self, len: usize, size: u64) -> Result<usize, ValueError> {
        let size = usize::try_from(size).map_err(|_| self.cut())?;
        let end = self.bytes.at.checked_add(least_bytes(len, size));
        let limit = self.bytes.at + self.bytes.left();
        end.filter(|&end| end <= limit).ok_or_else(|| self.cut())
    }

    /// Reads the length of a list, and returns it with the position up to which the list is padded.
    fn list_head(&mut self, size: u64) -> Result<(usize, usize), ValueError> {
        let len = self.bytes.varint().and_then(|len| usize::try_from(len).ok());
        let len = len.ok_or_else(|| self.cut())?;
        // Each element has at least one byte, except those of types without bytes.
        if len > self.bytes.left().saturating_add(1 << 16) {
            return Err(self.error("the list has more elements than data"));
        }
        Ok((len, self.least_end(len, size)?))
    }

    fn pad_to(&mut self, end: usize) -> Result<(), ValueError> {
        let missing = end.saturating_sub(self.bytes.at);
        match self.bytes.take(missing) {
            Some(padding) if padding.iter().all(|&byte| byte == 0) => Ok(()),
            _ => Err(self.cut()),
        }
    }

    fn read_scalar(&mut self, kind: ScalarKind) -> Option<Scalar> {
        let bytes = &mut self.bytes;
        Some(match kind {
            ScalarKind::Unit => Scalar::Unit,
            ScalarKind::Bool => match bytes.byte()? {
                0 => Scalar::Bool(false),
                1 => Scalar::Bool(true),
                _ => return None,
            },
            ScalarKind::Char => Scalar::Char(char::from_u32(bytes.u32()?)?),
            ScalarKind::U8 => Scalar::U8(bytes.byte()?),
            ScalarKind::U16 => Scalar::U16(bytes.array().map(u16::from_le_bytes)?),
            ScalarKind::U32 => Scalar::U32(bytes.u32()?),
            ScalarKind::U64 | ScalarKind::Usize => Scalar::U64(bytes.u64()?),
            ScalarKind::U128 => Scalar::U128(bytes.array().map(u128::from_le_bytes)?),
            ScalarKind::I8 => Scalar::I8(bytes.array().map(i8::from_le_bytes)?),
            ScalarKind::I16 => Scalar::I16(bytes.array().map(i16::from_le_bytes)?),
            ScalarKind::I32 => Scalar::I32(bytes.array().map(i32::from_le_bytes)?),
            ScalarKind::I64 | ScalarKind::Isize => {
                Scalar::I64(bytes.array().map(i64::from_le_bytes)?)
            }
            ScalarKind::I128 => Scalar::I128(bytes.array().map(i128::from_le_bytes)?),
            ScalarKind::F32 => Scalar::F32(bytes.array().map(f32::from_le_bytes)?),
            ScalarKind::F64 => Scalar::F64(bytes.array().map(f64::from_le_bytes)?),
            ScalarKind::Entity => Scalar::Entity(Entity::from_bits(bytes.u64()?)),
        })
    }

    /// Returns the index of the expected field that a field of the file is, by name or an older name.
    fn find(expected: &'static [FieldShape], name: &str) -> Option<usize> {
        let written = || expected.iter().enumerate().filter(|(_, field)| !field.is_skipped);
        let mut by_name = written().filter(|(_, field)| field.name == name);
        let mut by_alias = written().filter(|(_, field)| field.aliases.contains(&name));
        by_name.next().or_else(|| by_alias.next()).map(|(index, _)| index)
    }

    fn begin_fields(
        &mut self,
        expected: &'static [FieldShape],
        found: Option<&'s [SchemaField]>,
    ) -> Result<(), ValueError> {
        let depth = self.schemas.len();
        self.push(Open::Fields(Fields { expected, found, next: 0 }), depth)
    }
}

impl ValueReader for StreamReader<'_, '_> {
    fn scalar(&mut self, kind: FieldKind) -> Result<Scalar, ValueError> {
        let Some(schema) = self.schema() else {
            let found = ScalarKind::of(kind).and_then(|kind| self.read_scalar(kind));
            return found.ok_or_else(|| self.cut());
        };
        let SchemaKind::Scalar(found) = schema.kind else {
            return Err(self.expected(&format!("`{}`", kind.kind_name())));
        };
        let value = self.read_scalar(found).ok_or_else(|| self.cut())?;
        value
            .convert(kind)
            .ok_or_else(|| self.error(&format!("{value:?} does not fit in `{}`", kind.kind_name())))
    }

    fn text(&mut self) -> Result<&str, ValueError> {
        if self.schema().is_some_and(|schema| schema.kind != SchemaKind::Text) {
            return Err(self.expected("text"));
        }
        match self.bytes.text() {
            Some(text) => Ok(text),
            None => Err(self.cut()),
        }
    }

    fn duration(&mut self) -> Result<Duration, ValueError> {
        if self.schema().is_some_and(|schema| schema.kind != SchemaKind::Duration) {
            return Err(self.expected("a duration"));
        }
        let parts = self.bytes.u64().zip(self.bytes.u32());
        let parts = parts.filter(|&(_, nanos)| nanos < 1_000_000_000);
        parts.map(|(secs, nanos)| Duration::new(secs, nanos)).ok_or_else(|| self.cut())
    }

    fn blob(&mut self) -> Result<&[u8], ValueError> {
        if self.schema().is_some_and(|schema| schema.kind != SchemaKind::Blob) {
            return Err(self.expected("a blob"));
        }
        let len = self.bytes.count(1);
        match len.and_then(|len| self.bytes.take(len)) {
            Some(bytes) => Ok(bytes),
            None => Err(self.cut()),
        }
    }

    fn begin_struct(&mut self, fields: &'static [FieldShape]) -> Result<(), ValueError> {
        let found = match self.schema().map(|schema| &schema.kind) {
            None => None,
            Some(SchemaKind::Struct(found) | SchemaKind::Tuple(found)) => Some(&**found),
            Some(_) => return Err(self.expected("a struct or a tuple")),
        };
        self.begin_fields(fields, found)
    }

    fn begin_variant(&mut self, variants: &'static [VariantShape]) -> Result<usize, ValueError> {
        let index = self.bytes.varint().and_then(|index| usize::try_from(index).ok());
        let index = index.ok_or_else(|| self.cut())?;
        match self.schema().map(|schema| &schema.kind) {
            None => {
                let variant = variants.get(index).ok_or_else(|| self.cut())?;
                self.begin_fields(variant.fields, None)?;
                Ok(index)
            }
            Some(SchemaKind::Enum(found)) => {
                let SchemaVariant { name, fields } = found.get(index).ok_or_else(|| self.cut())?;
                let by_name = variants.iter().position(|variant| variant.name == name);
                let by_alias =
                    || variants.iter().position(|variant| variant.aliases.contains(&&**name));
                let Some(index) = by_name.or_else(by_alias) else {
                    return Err(self.error(&format!("the enum has no variant `{name}`")));
                };
                self.begin_fields(variants[index].fields, Some(fields))?;
                Ok(index)
            }
            Some(_) => Err(self.expected("an enum")),
        }
    }

    fn next_field(&mut self) -> Result<Option<usize>, ValueError> {
        loop {
            let Some((Open::Fields(fields), depth)) = self.open.last_mut() else {
                return Err(self.error("fields are read outside of a struct"));
            };
            let (depth, next) = (*depth, fields.next);
            fields.next += 1;
            let (expected, found) = (fields.expected, fields.found);
            self.schemas.truncate(depth);
            let Some(found) = found else {
                let Some(field) = expected.get(next) else { return Ok(None) };
                if field.is_skipped {
                    continue;
                }
                return Ok(Some(next));
            };
            let Some(field) = found.get(next) else { return Ok(None) };
            if let Some(index) = Self::find(expected, &field.name) {
                self.enter(&field.schema);
                return Ok(Some(index));
            }
            self.skip(&field.schema, self.open.len())?;
        }
    }

    fn begin_option(&mut self) -> Result<bool, ValueError> {
        let depth = self.schemas.len();
        let value = match self.schema().map(|schema| &schema.kind) {
            None => None,
            Some(SchemaKind::Optional(value)) => Some(&**value),
            Some(_) => {
                // A value that became optional.
                let end = self.bytes.at;
                self.push(Open::One { end }, depth)?;
                return Ok(true);
            }
        };
        let has_value = self.flag()?;
        let end = self.bytes.at;
        self.push(Open::One { end }, depth)?;
        if let Some(value) = value {
            self.enter(value);
        }
        Ok(has_value)
    }

    fn begin_boxed(&mut self, size: usize) -> Result<(), ValueError> {
        let depth = self.schemas.len();
        let (value, size) = match self.schema().map(|schema| &schema.kind) {
            None => (None, size as u64),
            Some(SchemaKind::Boxed(value)) => (Some(&**value), value.size),
            // A value that was moved to the heap.
            Some(_) => (None, 0),
        };
        let end = self.least_end(1, size)?;
        self.push(Open::One { end }, depth)?;
        if let Some(value) = value {
            self.enter(value);
        }
        Ok(())
    }

    fn begin_list(
        &mut self,
        array: Option<usize>,
        size: usize,
    ) -> Result<Option<usize>, ValueError> {
        let depth = self.schemas.len();
        let (element, len, end) = match (self.schema().map(|schema| &schema.kind), array) {
            (None, Some(len)) => (None, len, self.bytes.at),
            (None, None) => {
                let (len, end) = self.list_head(size as u64)?;
                (None, len, end)
            }
            (Some(SchemaKind::Array(element, len)), _) => {
                let len = usize::try_from(*len).map_err(|_| self.cut())?;
                if len > self.bytes.left().saturating_add(1 << 16)
                    || array.is_some_and(|array| array != len)
                {
                    return Err(self.error(&format!("the file has an array of {len} elements")));
                }
                // Memory for elements that became larger is allocated as they are read.
                (Some(&**element), len, self.bytes.at)
            }
            (Some(SchemaKind::List(element)), _) => {
                let (len, end) = self.list_head(element.size)?;
                if array.is_some_and(|array| array != len) {
                    return Err(self.error(&format!("the file has a list of {len} elements")));
                }
                (Some(&**element), len, end)
            }
            (Some(_), _) => return Err(self.expected("a list or an array")),
        };
        self.push(Open::Elements { left: len, end }, depth)?;
        let is_larger = element.is_some_and(|element| element.size < size as u64);
        if let Some(element) = element {
            self.enter(element);
        }
        Ok((!is_larger).then_some(len))
    }

    fn next_element(&mut self) -> Result<bool, ValueError> {
        match self.open.last_mut() {
            Some((Open::Elements { left, .. }, _)) if *left > 0 => {
                *left -= 1;
                self.step()?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    fn end(&mut self) -> Result<(), ValueError> {
        let Some((open, depth)) = self.open.pop() else {
            return Err(self.error("a part is ended that was not begun"));
        };
        self.schemas.truncate(depth);
        match open {
            Open::Fields(_) => Ok(()),
            Open::Elements { end, .. } | Open::One { end } => self.pad_to(end),
        }
    }

    fn raw(&mut self, _: &'static Shape, bytes: usize) -> Result<Option<&[u8]>, ValueError> {
        if self.schema().is_some() {
            return Ok(None);
        }
        match self.bytes.take(bytes) {
            Some(bytes) => Ok(Some(bytes)),
            None => Err(self.cut()),
        }
    }

    fn error(&self, message: &str) -> ValueError {
        let name = |(open, _): &(Open<'_>, usize)| match open {
            Open::Fields(Fields { expected, found, next }) => {
                let at = next.checked_sub(1)?;
                let found = found.map(|found| Some(found.get(at)?.name.clone()));
                found.unwrap_or_else(|| Some(expected.get(at)?.name.to_owned()))
            }
            _ => None,
        };
        let names: Vec<String> = self.open.iter().filter_map(name).collect();
        ValueError::new(names.join("."), message)
    }
}

/// Appends the scalars of a flat value, which is given as memory, as a stream.
pub(crate) fn flat_to_stream(value: &[u8], schema: &Schema, out: &mut Vec<u8>) {
    match &schema.kind {
        SchemaKind::Scalar(kind @ (ScalarKind::Usize | ScalarKind::Isize)) if schema.size == 4 => {
            let is_negative = *kind == ScalarKind::Isize && value[3] & 0x80 != 0;
            out.extend_from_slice(&value[..4]);
            out.extend([if is_negative { 0xff } else { 0 }; 4]);
        }
        SchemaKind::Scalar(kind) => out.extend_from_slice(&value[..kind.size()]),
        SchemaKind::Struct(fields) | SchemaKind::Tuple(fields) => {
            for field in fields {
                flat_to_stream(&value[field.offset as usize..], &field.schema, out);
            }
        }
        SchemaKind::Array(element, len) => {
            for index in 0..*len as usize {
                flat_to_stream(&value[index * element.size as usize..], element, out);
            }
        }
        _ => {}
    }
}
