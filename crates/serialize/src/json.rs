//! JSON: trees as text, and the places of values in a text.

use std::fmt::{self, Write};
use std::str::FromStr;

use crate::error::{SerializeError, SerializeErrorKind as Kind};
use crate::stream::MOST_DEPTH;
use crate::value::{Step, Value};

/// Writes a value on one line.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Unsigned(value) => write!(f, "{value}"),
            Self::Negative(value) => write!(f, "{value}"),
            // Debug writes the shortest digits that are read back as the same number, and always a point or an exponent.
            Self::Float(value) if value.is_finite() => write!(f, "{value:?}"),
            Self::Float32(value) if value.is_finite() => write!(f, "{value:?}"),
            // JSON has no such numbers.
            Self::Float(value) => write!(f, "\"{value}\""),
            Self::Float32(value) => write!(f, "\"{value}\""),
            Self::Text(text) => write_text(text, f),
            Self::List(values) => {
                f.write_char('[')?;
                for (at, value) in values.iter().enumerate() {
                    f.write_str(if at == 0 { "" } else { "," })?;
                    value.fmt(f)?;
                }
                f.write_char(']')
            }
            Self::Map(entries) => {
                f.write_char('{')?;
                for (at, (key, value)) in entries.iter().enumerate() {
                    f.write_str(if at == 0 { "" } else { "," })?;
                    write_text(key, f)?;
                    f.write_char(':')?;
                    value.fmt(f)?;
                }
                f.write_char('}')
            }
        }
    }
}

fn write_text(text: &str, out: &mut impl Write) -> fmt::Result {
    out.write_char('"')?;
    for c in text.chars() {
        match c {
            '"' => out.write_str("\\\"")?,
            '\\' => out.write_str("\\\\")?,
            '\n' => out.write_str("\\n")?,
            '\r' => out.write_str("\\r")?,
            '\t' => out.write_str("\\t")?,
            c if c < ' ' => write!(out, "\\u{:04x}", u32::from(c))?,
            c => out.write_char(c)?,
        }
    }
    out.write_char('"')
}

impl Value {
    /// Writes the value with line breaks: each entry of a map on a line of its own, and lists on one line if they are short.
    pub(crate) fn write_pretty(&self, indent: usize, out: &mut String) {
        /// Lists and maps that take fewer characters are written on one line.
        const SHORT: usize = 80;

        let line = self.to_string();
        let is_flat = match self {
            Self::Map(entries) => entries.is_empty(),
            Self::List(values) => !values.iter().any(|value| matches!(value, Self::Map(_))),
            _ => true,
        };
        if is_flat && line.len() <= SHORT || !matches!(self, Self::Map(_) | Self::List(_)) {
            out.push_str(&line);
            return;
        }
        let pad = |out: &mut String, indent: usize| {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', 2 * indent));
        };
        match self {
            Self::Map(entries) => {
                out.push('{');
                for (at, (key, value)) in entries.iter().enumerate() {
                    out.push_str(if at == 0 { "" } else { "," });
                    pad(out, indent + 1);
                    // A string does not fail.
                    _ = write_text(key, out);
                    out.push_str(": ");
                    value.write_pretty(indent + 1, out);
                }
                pad(out, indent);
                out.push('}');
            }
            Self::List(values) => {
                out.push('[');
                for (at, value) in values.iter().enumerate() {
                    out.push_str(if at == 0 { "" } else { "," });
                    pad(out, indent + 1);
                    value.write_pretty(indent + 1, out);
                }
                pad(out, indent);
                out.push(']');
            }
            _ => {}
        }
    }
}

impl FromStr for Value {
    type Err = SerializeError;

    /// Parses JSON.
    ///
    /// # Errors
    ///
    /// Returns A0275 with the line and the column if the text is not JSON.
    fn from_str(text: &str) -> Result<Self, SerializeError> {
        let mut parser = Parser::new(text);
        let parsed = parser.value(0).and_then(|value| {
            parser.skip_spaces();
            if parser.at < text.len() { Err("expected the end of the text") } else { Ok(value) }
        });
        parsed.map_err(|message| text_error(text, parser.at, message))
    }
}

/// Creates the error of a text at a byte.
pub(crate) fn text_error(text: &str, at: usize, message: &str) -> SerializeError {
    let (line, column) = line_and_column(text, at);
    SerializeError::new(Kind::Text, format!("line {line}, column {column}: {message}"))
}

/// Returns the line and the column of a byte, both from 1 on.
pub(crate) fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    let mut end = at.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let before = &text[..end];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

/// Returns the byte at which a part of a JSON text begins, or the nearest part around it.
pub(crate) fn locate(text: &str, path: &[Step]) -> usize {
    let mut parser = Parser::new(text);
    for step in path {
        parser.skip_spaces();
        let before = parser.at;
        if parser.enter(step).is_err() {
            return before;
        }
    }
    parser.skip_spaces();
    parser.at
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
}

type Parsed<T> = Result<T, &'static str>;

impl<'t> Parser<'t> {
    fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_spaces(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    fn expect(&mut self, byte: u8, message: &'static str) -> Parsed<()> {
        self.skip_spaces();
        if self.peek() != Some(byte) {
            return Err(message);
        }
        self.at += 1;
        Ok(())
    }

    fn word(&mut self, word: &str, value: Value) -> Parsed<Value> {
        if self.text[self.at..].starts_with(word) {
            self.at += word.len();
            return Ok(value);
        }
        Err("expected a value")
    }

    fn value(&mut self, depth: usize) -> Parsed<Value> {
        if depth > MOST_DEPTH {
            return Err("values are nested too deeply");
        }
        self.skip_spaces();
        match self.peek() {
            Some(b'{') => {
                let mut entries = Vec::new();
                self.at += 1;
                self.skip_spaces();
                if self.peek() == Some(b'}') {
                    self.at += 1;
                    return Ok(Value::Map(entries));
                }
                loop {
                    self.skip_spaces();
                    if self.peek() != Some(b'"') {
                        return Err("expected a key in quotes");
                    }
                    let key = self.string()?;
                    self.expect(b':', "expected `:` after the key")?;
                    entries.push((key, self.value(depth + 1)?));
                    self.skip_spaces();
                    match self.peek() {
                        Some(b',') => self.at += 1,
                        Some(b'}') => {
                            self.at += 1;
                            return Ok(Value::Map(entries));
                        }
                        _ => return Err("expected `,` or `}`"),
                    }
                }
            }
            Some(b'[') => {
                let mut values = Vec::new();
                self.at += 1;
                self.skip_spaces();
                if self.peek() == Some(b']') {
                    self.at += 1;
                    return Ok(Value::List(values));
                }
                loop {
                    values.push(self.value(depth + 1)?);
                    self.skip_spaces();
                    match self.peek() {
                        Some(b',') => self.at += 1,
                        Some(b']') => {
                            self.at += 1;
                            return Ok(Value::List(values));
                        }
                        _ => return Err("expected `,` or `]`"),
                    }
                }
            }
            Some(b'"') => self.string().map(Value::Text),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => Err("expected a value"),
        }
    }

    fn number(&mut self) -> Parsed<Value> {
        let begin = self.at;
        while let Some(b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        let digits = &self.text[begin..self.at];
        let is_integer = !digits.contains(['.', 'e', 'E']);
        let parsed = if !is_integer {
            digits.parse().ok().filter(|value: &f64| value.is_finite()).map(Value::Float)
        } else if digits.starts_with('-') {
            let negative = digits.parse::<i128>().ok();
            negative
                .map(|value| if value == 0 { Value::Unsigned(0) } else { Value::Negative(value) })
        } else {
            digits.parse().ok().map(Value::Unsigned)
        };
        parsed.ok_or_else(|| {
            self.at = begin;
            "the number is invalid"
        })
    }

    fn string(&mut self) -> Parsed<String> {
        self.at += 1;
        let mut text = String::new();
        loop {
            let rest = &self.text[self.at..];
            let plain = rest.find(['"', '\\']).ok_or("the text has no end")?;
            if rest[..plain].contains(|c: char| c < ' ') {
                return Err("a text in quotes ends on its line");
            }
            text.push_str(&rest[..plain]);
            self.at += plain + 1;
            if rest.as_bytes()[plain] == b'"' {
                return Ok(text);
            }
            let escaped = self.peek().ok_or("the text has no end")?;
            self.at += 1;
            text.push(match escaped {
                b'"' => '"',
                b'\\' => '\\',
                b'/' => '/',
                b'n' => '\n',
                b'r' => '\r',
                b't' => '\t',
                b'b' => '\u{8}',
                b'f' => '\u{c}',
                b'u' => self.unicode()?,
                _ => return Err("there is no such escape"),
            });
        }
    }

    fn unicode(&mut self) -> Parsed<char> {
        let first = self.hex()?;
        if !(0xD800..0xDC00).contains(&first) {
            return char::from_u32(first).ok_or("there is no such character");
        }
        if !self.text[self.at..].starts_with("\\u") {
            return Err("there is no such character");
        }
        self.at += 2;
        let second = self.hex()?;
        if !(0xDC00..0xE000).contains(&second) {
            return Err("there is no such character");
        }
        let number = 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
        char::from_u32(number).ok_or("there is no such character")
    }

    fn hex(&mut self) -> Parsed<u32> {
        let digits = self.text.get(self.at..self.at + 4).ok_or("expected four digits")?;
        let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        let number = u32::from_str_radix(digits, 16).ok().filter(|_| is_hex);
        self.at += 4;
        number.ok_or("expected four digits")
    }

    /// Moves to a part of the value at this place.
    fn enter(&mut self, step: &Step) -> Parsed<()> {
        self.skip_spaces();
        let (end, wanted) = match (self.peek(), step) {
            (Some(b'{'), Step::Key(key)) => (b'}', Some(key)),
            (Some(b'['), Step::Index(_)) => (b']', None),
            _ => return Err("another kind of value"),
        };
        self.at += 1;
        for number in 0.. {
            self.skip_spaces();
            if self.peek() == Some(end) {
                break;
            }
            if let Some(wanted) = wanted {
                if self.peek() != Some(b'"') {
                    break;
                }
                let key = self.string()?;
                self.expect(b':', "expected `:` after the key")?;
                if key == *wanted {
                    return Ok(());
                }
            } else if *step == Step::Index(number) {
                return Ok(());
            }
            self.value(0)?;
            self.skip_spaces();
            if self.peek() == Some(b',') {
                self.at += 1;
            }
        }
        Err("there is no such part")
    }
}
