//! Rust text, with comments and strings separated from code.
//!
//! This is not a parser: the rules search for words, and only need to distinguish code from other text.

use std::ops::Range;

/// A Rust file.
#[derive(Debug)]
pub(crate) struct RustSource {
    text: String,
    /// `text` with comments and the contents of strings blanked, byte for byte. Offsets are the same in both.
    code: String,
    /// The offset of each line.
    lines: Vec<usize>,
}

impl RustSource {
    pub(crate) fn new(text: String) -> Self {
        let code = blank_comments_and_strings(&text);
        let starts = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let lines = std::iter::once(0).chain(starts.map(|(index, _)| index + 1)).collect();
        Self { text, code, lines }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn code(&self) -> &str {
        &self.code
    }

    /// Returns the number of lines.
    pub(crate) fn line_count(&self) -> usize {
        self.text.lines().count()
    }

    /// Returns the number of the line at `offset`, from 1.
    pub(crate) fn line_at(&self, offset: usize) -> usize {
        self.lines.partition_point(|start| *start <= offset)
    }

    /// Returns the text of a line, by its number from 1.
    pub(crate) fn text_line(&self, number: usize) -> &str {
        &self.text[self.line_range(number)]
    }

    /// Returns the code of a line, by its number from 1.
    pub(crate) fn code_line(&self, number: usize) -> &str {
        &self.code[self.line_range(number)]
    }

    fn line_range(&self, number: usize) -> Range<usize> {
        let start = self.lines[number - 1];
        let end = self.lines.get(number).map_or(self.text.len(), |next| next - 1);
        start..end
    }

    /// Returns whether the file opens with `#![expect(unsafe_code, reason = "…")]`.
    pub(crate) fn expects_unsafe_code(&self) -> bool {
        self.inner_attributes().contains("expect(unsafe_code,reason=\"")
    }

    /// Returns the `#![…]` at the top of the file, without white space.
    fn inner_attributes(&self) -> String {
        let mut rest = self.code.trim_start();
        let mut attributes = String::new();
        while rest.starts_with("#![") {
            let end = matching_bracket(rest, 2).map_or(rest.len(), |close| close + 1);
            attributes.extend(rest[..end].chars().filter(|c| !c.is_whitespace()));
            rest = rest[end..].trim_start();
        }
        attributes
    }
}

/// Returns the offsets of `word` in `text` as a whole word.
pub(crate) fn words<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).map(|(index, _)| index).filter(move |index| {
        !text[..*index].ends_with(is_part) && !text[index + word.len()..].starts_with(is_part)
    })
}

/// Returns the name that `text` begins with, if any.
pub(crate) fn leading_name(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    &text[..end]
}

/// Returns the offset of the bracket that closes the one at `open`, in code without comments and strings.
pub(crate) fn matching_bracket(code: &str, open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (index, byte) in code.bytes().enumerate().skip(open) {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(index);
                }
            }
            _ => {}
        }
    }
    None
}

fn blank_comments_and_strings(text: &str) -> String {
    let mut code = text.as_bytes().to_vec();
    let mut at = 0;
    while at < text.len() {
        let Some(CommentOrString { open, inside, close }) =
            comment_or_string_at(text.as_bytes(), at)
        else {
            at += 1;
            continue;
        };
        let start = at + open;
        let end = start + inside;
        for byte in code[start..end].iter_mut().filter(|byte| **byte != b'\n') {
            *byte = b' ';
        }
        at = end + close;
    }
    String::from_utf8(code).expect("what is blanked ends at an ASCII character or the end")
}

/// The lengths of a comment or a string: its delimiters stay, its content is blanked.
struct CommentOrString {
    open: usize,
    inside: usize,
    close: usize,
}

fn comment_or_string_at(bytes: &[u8], at: usize) -> Option<CommentOrString> {
    let rest = &bytes[at..];
    if rest.starts_with(b"//") {
        let inside = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        Some(CommentOrString { open: 0, inside, close: 0 })
    } else if rest.starts_with(b"/*") {
        Some(CommentOrString { open: 0, inside: block_comment_length(rest), close: 0 })
    } else if rest[0] == b'"' {
        Some(CommentOrString { open: 1, inside: length_to_quote(&rest[1..], b'"'), close: 1 })
    } else if rest[0] == b'\'' {
        // A lifetime has no closing quote right after its first character.
        let first = rest.get(1)?;
        let width = (first.leading_ones() as usize).max(1);
        (*first == b'\\' || rest.get(1 + width) == Some(&b'\'')).then(|| CommentOrString {
            open: 1,
            inside: length_to_quote(&rest[1..], b'\''),
            close: 1,
        })
    } else {
        let hashes = raw_string_hashes(bytes, at)?;
        let open = hashes + 2;
        let closing = [b"\"".as_slice(), &b"#".repeat(hashes)].concat();
        let inside = rest[open..].windows(closing.len()).position(|window| window == closing);
        let inside = inside.unwrap_or(rest.len() - open);
        Some(CommentOrString { open, inside, close: closing.len() })
    }
}

/// Returns the length of a block comment. Block comments nest.
fn block_comment_length(rest: &[u8]) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < rest.len() {
        if rest[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

/// Returns the distance to the next quote that is not escaped, or to the end.
fn length_to_quote(inside: &[u8], quote: u8) -> usize {
    let mut escaped = false;
    let is_end = |byte: &u8| {
        let end = *byte == quote && !escaped;
        escaped = *byte == b'\\' && !escaped;
        end
    };
    inside.iter().position(is_end).unwrap_or(inside.len())
}

/// Returns the number of hashes if the `r` of a raw string is at `at`.
fn raw_string_hashes(bytes: &[u8], at: usize) -> Option<usize> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let before = |back: usize| at.checked_sub(back).map(|index| bytes[index]);
    // `br` and `cr` are prefixes too. Any other letter before the `r` makes it part of a name.
    let starts = match before(1) {
        Some(b'b' | b'c') => !before(2).is_some_and(is_part),
        Some(byte) => !is_part(byte),
        None => true,
    };
    let hashes = bytes[at..].iter().skip(1).take_while(|byte| **byte == b'#').count();
    let opens = bytes[at] == b'r' && bytes.get(at + 1 + hashes) == Some(&b'"');
    (starts && opens).then_some(hashes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> String {
        let source = RustSource::new(text.to_owned());
        assert_eq!(source.code().len(), text.len());
        source.code().to_owned()
    }

    #[test]
    fn comments_are_blanked() {
        assert_eq!(code("a // b\nc"), "a     \nc");
        assert_eq!(code("a /* b /* c */\nd */ e"), "a             \n     e");
    }

    #[test]
    fn strings_keep_their_quotes() {
        assert_eq!(code(r#"f("a \" // b", c)"#), r#"f("         ", c)"#);
        assert_eq!(code("(\"é\")"), "(\"  \")");
        assert_eq!(code("'é' \"unclosed é"), "'  ' \"           ");
    }

    #[test]
    fn raw_strings_end_at_their_own_hashes() {
        assert!(!code("let s = r#\"un \" safe\"#; next").contains("safe"));
        assert!(code("let s = r#\"un \" safe\"#; next").ends_with("; next"));
        assert!(code("br\"x\\\"; after").ends_with("; after"));
        assert_eq!(code("r#type; bar\"x\""), "r#type; bar\" \"");
    }

    #[test]
    fn lifetimes_are_not_characters() {
        assert_eq!(code("fn f<'a>(x: &'a str) // '"), "fn f<'a>(x: &'a str)     ");
        assert_eq!(code(r"('\'', '\u{41}', '/', b'\\')"), r"('  ', '      ', ' ', b'  ')");
    }

    #[test]
    fn lines_are_numbered_from_one() {
        let source = RustSource::new("one\ntwo // 2\n\nfour".to_owned());
        assert_eq!(source.line_at(0), 1);
        assert_eq!(source.line_at(3), 1);
        assert_eq!(source.line_at(4), 2);
        assert_eq!(source.text_line(2), "two // 2");
        assert_eq!(source.code_line(2).trim(), "two");
        assert_eq!(source.text_line(4), "four");
        assert_eq!(source.line_count(), 4);
    }

    #[test]
    fn whole_words_only() {
        let found: Vec<usize> = words("unsafe unsafe_code (unsafe)", "unsafe").collect();
        assert_eq!(found, [0, 20]);
    }

    #[test]
    fn the_attribute_may_be_wrapped_and_stand_after_docs() {
        let wrapped = "//! Docs.\n#![expect(dead_code)]\n#![expect(\n    unsafe_code,\n    \
                       reason = \"x\"\n)]\n";
        assert!(RustSource::new(wrapped.to_owned()).expects_unsafe_code());
        let late = "fn f() {}\n#![expect(unsafe_code, reason = \"x\")]\n";
        assert!(!RustSource::new(late.to_owned()).expects_unsafe_code());
        let silent = "#![expect(unsafe_code)]\n";
        assert!(!RustSource::new(silent.to_owned()).expects_unsafe_code());
    }
}
