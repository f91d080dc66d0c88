//! Values as trees, for text: [`Value`].

use std::time::Duration;

use ancho_entities::{
    Entity, FieldKind, FieldShape, Scalar, ValueError, ValuePart, ValueReader, ValueWriter,
    VariantShape,
};

use crate::stream::MOST_DEPTH;

/// A value as a tree, as JSON has it.
///
/// Types of components become trees in this way:
///
/// - a struct is a map of its fields; a struct with one unnamed field is the value of the field, and one with several is a list
/// - a variant without fields is its name; another one is a map from its name to its fields
/// - `None` and the null entity are null, and `Some` is its value
/// - lists, sets, arrays and tuples are lists; a map is a list of pairs
/// - an entity is the name that a scene has for it
///
/// # Examples
///
/// ```
/// use ancho_serialize::Value;
///
/// let value: Value = r#"{"speed": 1.5, "tags": ["fast", null]}"#.parse().unwrap();
/// assert_eq!(value.get("speed"), Some(&Value::Float(1.5)));
/// assert_eq!(value.to_string(), r#"{"speed":1.5,"tags":["fast",null]}"#);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// No value.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// An integer that is not negative.
    Unsigned(u128),
    /// A negative integer.
    Negative(i128),
    /// A 64-bit floating-point number.
    Float(f64),
    /// A 32-bit floating-point number, which is written with fewer digits.
    Float32(f32),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Value>),
    /// A map, in the order of its keys in the text or of the fields of a type.
    Map(Vec<(String, Value)>),
}

impl Value {
    /// Returns the value of a key, if this is a map that has it.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Map(entries) => {
                entries.iter().find(|(known, _)| known == key).map(|(_, value)| value)
            }
            _ => None,
        }
    }

    /// Returns the kind of the value in messages.
    fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a bool",
            Self::Unsigned(_) | Self::Negative(_) => "an integer",
            Self::Float(_) | Self::Float32(_) => "a number",
            Self::Text(_) => "text",
            Self::List(_) => "a list",
            Self::Map(_) => "a map",
        }
    }
}

/// Returns whether fields have numbers instead of names.
fn are_numbered<'a>(mut names: impl Iterator<Item = &'a str>) -> bool {
    names.all(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Writes values as trees. Entities become what a function returns.
pub(crate) struct TreeWriter<'a> {
    entity: &'a dyn Fn(Entity) -> Value,
    open: Vec<OpenTree>,
    /// The last value that was completed outside of all parts.
    pub(crate) result: Option<Value>,
    /// The first type that cannot be written.
    pub(crate) opaque: Option<&'static str>,
}

struct OpenTree {
    part: ValuePart,
    names: Vec<&'static str>,
    values: Vec<Value>,
}

impl<'a> TreeWriter<'a> {
    pub(crate) fn new(entity: &'a dyn Fn(Entity) -> Value) -> Self {
        Self { entity, open: Vec::new(), result: None, opaque: None }
    }

    fn push(&mut self, value: Value) {
        match self.open.last_mut() {
            Some(open) => open.values.push(value),
            None => self.result = Some(value),
        }
    }
}

/// Returns the tree of fields.
fn tree_of_fields(names: &[&'static str], mut values: Vec<Value>) -> Value {
    if names.is_empty() || !are_numbered(names.iter().copied()) {
        let names = names.iter().map(|&name| name.to_owned());
        return Value::Map(names.zip(values).collect());
    }
    match (values.len(), values.pop()) {
        (1, Some(value)) => value,
        (_, last) => {
            values.extend(last);
            Value::List(values)
        }
    }
}

impl ValueWriter for TreeWriter<'_> {
    fn scalar(&mut self, value: Scalar) {
        let integer = |value: i128| match u128::try_from(value) {
            Ok(value) => Value::Unsigned(value),
            Err(_) => Value::Negative(value),
        };
        let value = match value {
            Scalar::Unit => Value::Null,
            Scalar::Bool(value) => Value::Bool(value),
            Scalar::Char(value) => Value::Text(value.into()),
            Scalar::U8(value) => Value::Unsigned(value.into()),
            Scalar::U16(value) => Value::Unsigned(value.into()),
            Scalar::U32(value) => Value::Unsigned(value.into()),
            Scalar::U64(value) => Value::Unsigned(value.into()),
            Scalar::U128(value) => Value::Unsigned(value),
            Scalar::I8(value) => integer(value.into()),
            Scalar::I16(value) => integer(value.into()),
            Scalar::I32(value) => integer(value.into()),
            Scalar::I64(value) => integer(value.into()),
            Scalar::I128(value) => integer(value),
            Scalar::F32(value) => Value::Float32(value),
            Scalar::F64(value) => Value::Float(value),
            Scalar::Entity(Entity::NULL) => Value::Null,
            Scalar::Entity(entity) => (self.entity)(entity),
        };
        self.push(value);
    }

    fn text(&mut self, text: &str) {
        self.push(Value::Text(text.to_owned()));
    }

    fn duration(&mut self, value: Duration) {
        self.push(Value::List(vec![
            Value::Unsigned(value.as_secs().into()),
            Value::Unsigned(value.subsec_nanos().into()),
        ]));
    }

    fn blob(&mut self, bytes: &[u8]) {
        self.push(Value::Text(bytes.iter().map(|byte| format!("{byte:02x}")).collect()));
    }

    fn begin(&mut self, part: ValuePart) {
        self.open.push(OpenTree { part, names: Vec::new(), values: Vec::new() });
    }

    fn field(&mut self, name: &'static str) {
        if let Some(open) = self.open.last_mut() {
            open.names.push(name);
        }
    }

    fn element(&mut self) {}

    fn end(&mut self) {
        let Some(OpenTree { part, names, mut values }) = self.open.pop() else { return };
        let value = match part {
            ValuePart::Struct => tree_of_fields(&names, values),
            ValuePart::Tuple | ValuePart::Array { .. } | ValuePart::List { .. } => {
                Value::List(values)
            }
            ValuePart::Variant { name, .. } if names.is_empty() => Value::Text(name.to_owned()),
            ValuePart::Variant { name, .. } => {
                Value::Map(vec![(name.to_owned(), tree_of_fields(&names, values))])
            }
            ValuePart::None => Value::Null,
            ValuePart::Some | ValuePart::Boxed { .. } => values.pop().unwrap_or(Value::Null),
        };
        self.push(value);
    }

    fn opaque(&mut self, type_name: &'static str) {
        self.opaque.get_or_insert(type_name);
        self.push(Value::Null);
    }
}

/// A step from a value to a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Key(String),
    Index(usize),
}

/// Reads values from trees. Entities are found by a function.
pub(crate) struct TreeReader<'t, 'a> {
    entity: &'a dyn Fn(&str) -> Result<Entity, String>,
    /// The next value.
    next: &'t Value,
    open: Vec<OpenRead<'t>>,
    text: String,
    bytes: Vec<u8>,
}

struct OpenRead<'t> {
    fields: &'static [FieldShape],
    source: Source<'t>,
    at: usize,
    /// The name of a variant, for places in messages.
    variant: Option<String>,
}

enum Source<'t> {
    Map(&'t [(String, Value)]),
    List(&'t [Value]),
    One(&'t Value),
    Nothing,
}

impl<'t, 'a> TreeReader<'t, 'a> {
    pub(crate) fn new(
        value: &'t Value,
        entity: &'a dyn Fn(&str) -> Result<Entity, String>,
    ) -> Self {
        Self { entity, next: value, open: Vec::new(), text: String::new(), bytes: Vec::new() }
    }

    /// Returns the steps from the whole value to the part that is read.
    pub(crate) fn path(&self) -> Vec<Step> {
        let mut path = Vec::new();
        for open in &self.open {
            path.extend(open.variant.clone().map(Step::Key));
            let Some(at) = open.at.checked_sub(1) else { continue };
            match open.source {
                Source::Map(entries) => {
                    path.extend(entries.get(at).map(|(key, _)| Step::Key(key.clone())));
                }
                Source::List(_) => path.push(Step::Index(at)),
                Source::One(_) | Source::Nothing => {}
            }
        }
        path
    }

    fn expected(&self, what: &str) -> ValueError {
        self.error(&format!("expected {what}, found {}", self.next.kind()))
    }

    fn push(
        &mut self,
        fields: &'static [FieldShape],
        source: Source<'t>,
        variant: Option<String>,
    ) -> Result<(), ValueError> {
        if self.open.len() >= MOST_DEPTH {
            return Err(self.error("values are nested too deeply"));
        }
        self.open.push(OpenRead { fields, source, at: 0, variant });
        Ok(())
    }

    fn fields_of(
        &self,
        fields: &'static [FieldShape],
        value: &'t Value,
    ) -> Result<Source<'t>, ValueError> {
        let written = || fields.iter().filter(|field| !field.is_skipped);
        let count = written().count();
        if count == 0 || !are_numbered(written().map(|field| field.name)) {
            return match value {
                Value::Map(entries) => Ok(Source::Map(entries)),
                Value::Null if count == 0 => Ok(Source::Nothing),
                _ => Err(self.error(&format!("expected a map of fields, found {}", value.kind()))),
            };
        }
        match value {
            _ if count == 1 => Ok(Source::One(value)),
            Value::List(values) if values.len() <= count => Ok(Source::List(values)),
            Value::List(values) => {
                Err(self.error(&format!("expected {count} fields, found {}", values.len())))
            }
            _ => {
                Err(self
                    .error(&format!("expected a list of {count} fields, found {}", value.kind())))
            }
        }
    }
}

/// Returns the known name that is nearest to another one, if it is near enough to be a mistake.
pub(crate) fn nearest<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let distance = |other: &str| {
        let (name, other): (Vec<char>, Vec<char>) =
            (name.to_lowercase().chars().collect(), other.to_lowercase().chars().collect());
        let mut row: Vec<usize> = (0..=other.len()).collect();
        for (i, from) in name.iter().enumerate() {
            let mut before = row[0];
            row[0] = i + 1;
            for (j, to) in other.iter().enumerate() {
                let replaced = before + usize::from(from != to);
                before = row[j + 1];
                row[j + 1] = replaced.min(before + 1).min(row[j] + 1);
            }
        }
        row[other.len()]
    };
    let best = known.map(|other| (distance(other), other)).min()?;
    (best.0 <= name.chars().count().max(3) / 2).then_some(best.1)
}

/// Returns the end of a message about an unknown name.
pub(crate) fn did_you_mean<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> String {
    nearest(name, known).map_or(String::new(), |near| format!("; did you mean `{near}`?"))
}

impl ValueReader for TreeReader<'_, '_> {
    fn scalar(&mut self, kind: FieldKind) -> Result<Scalar, ValueError> {
        let name = kind.kind_name();
        let scalar = match (self.next, kind) {
            (Value::Null, FieldKind::Unit) => Some(Scalar::Unit),
            (Value::Null, FieldKind::Entity) => Some(Scalar::Entity(Entity::NULL)),
            (Value::Text(text), FieldKind::Entity) => {
                let found = (self.entity)(text).map_err(|message| self.error(&message))?;
                Some(Scalar::Entity(found))
            }
            (Value::Text(text), FieldKind::Char) => {
                let mut chars = text.chars();
                chars.next().filter(|_| chars.next().is_none()).map(Scalar::Char)
            }
            // Numbers that JSON does not have.
            (Value::Text(text), FieldKind::F32) => text.parse().ok().map(Scalar::F32),
            (Value::Text(text), FieldKind::F64) => text.parse().ok().map(Scalar::F64),
            (Value::Bool(value), FieldKind::Bool) => Some(Scalar::Bool(*value)),
            (Value::Unsigned(value), FieldKind::F32) => Some(Scalar::F32(*value as f32)),
            (Value::Unsigned(value), FieldKind::F64) => Some(Scalar::F64(*value as f64)),
            (Value::Negative(value), FieldKind::F32) => Some(Scalar::F32(*value as f32)),
            (Value::Negative(value), FieldKind::F64) => Some(Scalar::F64(*value as f64)),
            (Value::Unsigned(value), kind) => Scalar::U128(*value).convert(kind),
            (Value::Negative(value), kind) => Scalar::I128(*value).convert(kind),
            (Value::Float(value), FieldKind::F64) => Some(Scalar::F64(*value)),
            (Value::Float(value), FieldKind::F32) => Some(Scalar::F32(*value as f32)),
            (Value::Float32(value), FieldKind::F32) => Some(Scalar::F32(*value)),
            (Value::Float32(value), FieldKind::F64) => Some(Scalar::F64((*value).into())),
            _ => None,
        };
        scalar.ok_or_else(|| match self.next {
            Value::Unsigned(value) => self.error(&format!("{value} does not fit in `{name}`")),
            Value::Negative(value) => self.error(&format!("{value} does not fit in `{name}`")),
            _ => self.expected(&format!("`{name}`")),
        })
    }

    fn text(&mut self) -> Result<&str, ValueError> {
        let Value::Text(text) = self.next else { return Err(self.expected("text")) };
        self.text.clone_from(text);
        Ok(&self.text)
    }

    fn duration(&mut self) -> Result<Duration, ValueError> {
        if let Value::List(parts) = self.next
            && let [Value::Unsigned(secs), Value::Unsigned(nanos)] = &parts[..]
            && let (Ok(secs), Ok(nanos)) = (u64::try_from(*secs), u32::try_from(*nanos))
            && nanos < 1_000_000_000
        {
            return Ok(Duration::new(secs, nanos));
        }
        Err(self.expected("a list of seconds and nanoseconds"))
    }

    fn blob(&mut self) -> Result<&[u8], ValueError> {
        let Value::Text(text) = self.next else { return Err(self.expected("hexadecimal text")) };
        let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
        let (pairs, rest) = text.as_bytes().as_chunks::<2>();
        let bytes = pairs.iter().map(|&[high, low]| Some(digit(high)? << 4 | digit(low)?));
        match bytes.collect::<Option<Vec<u8>>>() {
            Some(bytes) if rest.is_empty() => self.bytes = bytes,
            _ => return Err(self.expected("hexadecimal text")),
        }
        Ok(&self.bytes)
    }

    fn begin_struct(&mut self, fields: &'static [FieldShape]) -> Result<(), ValueError> {
        let source = self.fields_of(fields, self.next)?;
        self.push(fields, source, None)
    }

    fn begin_variant(&mut self, variants: &'static [VariantShape]) -> Result<usize, ValueError> {
        let (name, value) = match self.next {
            Value::Text(name) => (name, None),
            Value::Map(entries) => match &entries[..] {
                [(name, value)] => (name, Some(value)),
                _ => return Err(self.expected("a map with one variant")),
            },
            _ => return Err(self.expected("the name of a variant")),
        };
        let by_name = variants.iter().position(|variant| variant.name == name);
        let by_alias = || variants.iter().position(|variant| variant.aliases.contains(&&**name));
        let Some(index) = by_name.or_else(by_alias) else {
            let hint = did_you_mean(name, variants.iter().map(|variant| variant.name));
            return Err(self.error(&format!("there is no variant `{name}`{hint}")));
        };
        let fields = variants[index].fields;
        let source = match value {
            Some(value) => self.fields_of(fields, value)?,
            None => Source::Nothing,
        };
        self.push(fields, source, value.map(|_| name.clone()))?;
        Ok(index)
    }

    fn next_field(&mut self) -> Result<Option<usize>, ValueError> {
        let Some(open) = self.open.last_mut() else { return Ok(None) };
        let at = open.at;
        open.at += 1;
        let fields = open.fields;
        let written = || fields.iter().enumerate().filter(|(_, field)| !field.is_skipped);
        match open.source {
            Source::Nothing => Ok(None),
            Source::One(value) => {
                self.next = value;
                Ok(written().map(|(index, _)| index).next().filter(|_| at == 0))
            }
            Source::List(values) => {
                let Some(value) = values.get(at) else { return Ok(None) };
                self.next = value;
                Ok(written().map(|(index, _)| index).nth(at))
            }
            Source::Map(entries) => {
                let Some((name, value)) = entries.get(at) else { return Ok(None) };
                self.next = value;
                let by_name = written().find(|(_, field)| field.name == name);
                let found = by_name
                    .or_else(|| written().find(|(_, field)| field.aliases.contains(&&**name)));
                if let Some((index, _)) = found {
                    return Ok(Some(index));
                }
                let hint = did_you_mean(name, written().map(|(_, field)| field.name));
                Err(self.error(&format!("there is no field `{name}`{hint}")))
            }
        }
    }

    fn begin_option(&mut self) -> Result<bool, ValueError> {
        self.push(&[], Source::Nothing, None)?;
        Ok(*self.next != Value::Null)
    }

    fn begin_boxed(&mut self, _: usize) -> Result<(), ValueError> {
        self.push(&[], Source::Nothing, None)
    }

    fn begin_list(&mut self, array: Option<usize>, _: usize) -> Result<Option<usize>, ValueError> {
        let Value::List(values) = self.next else { return Err(self.expected("a list")) };
        if let Some(len) = array.filter(|&len| len != values.len()) {
            return Err(self.error(&format!("expected {len} elements, found {}", values.len())));
        }
        self.push(&[], Source::List(values), None)?;
        Ok(Some(values.len()))
    }

    fn next_element(&mut self) -> Result<bool, ValueError> {
        let Some(OpenRead { source: Source::List(values), at, .. }) = self.open.last_mut() else {
            return Ok(false);
        };
        let Some(value) = values.get(*at) else { return Ok(false) };
        *at += 1;
        self.next = value;
        Ok(true)
    }

    fn end(&mut self) -> Result<(), ValueError> {
        self.open.pop();
        Ok(())
    }

    fn error(&self, message: &str) -> ValueError {
        let mut place = String::new();
        for step in self.path() {
            match step {
                Step::Key(key) if place.is_empty() => place = key,
                Step::Key(key) => place = format!("{place}.{key}"),
                Step::Index(index) => place = format!("{place}[{index}]"),
            }
        }
        ValueError::new(place, message)
    }
}
