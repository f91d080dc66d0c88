//! The text of the tree that people read: comments, string literals and Markdown.

use std::ops::Range;

use crate::rust_source::{self, RustSource};
use crate::tree::Tree;

/// Stands for code in a [`Prose`]. No phrase contains it, so no phrase spans code.
const CODE: u8 = 1;

/// The text of one file, with everything that is not prose replaced byte for byte.
pub(super) struct Prose<'a> {
    pub(super) path: &'a str,
    /// The text in lower case. Code is blanked, including code in backticks and in fenced blocks.
    text: String,
    /// Lines of the file. Only code outside of comments, strings and Markdown is blanked.
    lines_with_names: Vec<String>,
}

impl<'a> Prose<'a> {
    /// Returns the prose of every Rust and Markdown file.
    pub(super) fn of_tree(tree: &'a Tree) -> Vec<Self> {
        let rust = tree.rust_files().map(|(path, source)| Self::of_rust(path, source));
        let markdown = tree.other_paths().filter(|path| path.ends_with(".md"));
        let markdown =
            markdown.map(|path| Self::of_markdown(path, tree.text(path).unwrap_or_default()));
        rust.chain(markdown).collect()
    }

    fn of_rust(path: &'a str, source: &RustSource) -> Self {
        let blanked = source.text().bytes().zip(source.code().bytes()).map(|(text, code)| {
            // The code has blanks for comments and strings, and the text itself for the rest.
            if code.is_ascii_whitespace() { text } else { CODE }
        });
        let mut blanked: Vec<u8> = blanked.collect();
        for inside in byte_strings(source.code()) {
            blanked[inside].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = CODE);
        }
        let blanked = String::from_utf8(blanked).expect("code ends at ASCII characters");
        let lines = blanked.lines().map(|line| {
            let start = line.find(|c: char| !c.is_whitespace()).unwrap_or(line.len());
            let markers = ["///", "//!", "//"];
            let marker = markers.iter().find(|marker| line[start..].starts_with(**marker));
            let start = start + marker.map_or(0, |marker| marker.len());
            // A string continues on the next line after a `\`.
            format!("{}{}", " ".repeat(start), line[start..].trim_end_matches('\\'))
        });
        Self::of_lines(path, lines.collect())
    }

    fn of_markdown(path: &'a str, text: &str) -> Self {
        Self::of_lines(path, text.lines().map(str::to_owned).collect())
    }

    fn of_lines(path: &'a str, lines_with_names: Vec<String>) -> Self {
        let mut fenced = false;
        let lines = lines_with_names.iter().map(|line| {
            if line.trim_start().starts_with("```") {
                fenced = !fenced;
                return String::new();
            }
            match (fenced, line.find("//")) {
                // Only comments are prose in a fenced block.
                (true, None) => String::new(),
                (true, Some(at)) => without_names(&line[at..]),
                (false, _) => without_names(line),
            }
        });
        let text = lines.collect::<Vec<_>>().join("\n").to_ascii_lowercase();
        Self { path, text, lines_with_names }
    }

    /// Returns the numbers of the lines, from 1, in which `phrase` begins. Its words may be on several lines.
    ///
    /// The comparison ignores upper and lower case of the text. `phrase` is in lower case.
    pub(super) fn find(&self, phrase: &str) -> Vec<usize> {
        let mut words = phrase.split(' ');
        let first = words.next().unwrap_or_default();
        let continues = |at: &usize| {
            words.clone().try_fold(&self.text[at + first.len()..], |rest, word| {
                let rest = rest.trim_start().strip_prefix(word)?;
                (word.len() == 1 || !rest.starts_with(is_part)).then_some(rest)
            })
        };
        let starts = rust_source::words(&self.text, first).filter(|at| continues(at).is_some());
        starts.map(|at| self.text[..at].matches('\n').count() + 1).collect()
    }

    /// Returns every line with its number from 1, including code in backticks and fenced blocks.
    pub(super) fn lines_with_names(&self) -> impl Iterator<Item = (usize, &str)> {
        self.lines_with_names.iter().enumerate().map(|(index, line)| (index + 1, line.as_str()))
    }

    /// Returns whether the paragraph around a line contains one of these words.
    pub(super) fn paragraph_mentions(&self, line: usize, words: &[&str]) -> bool {
        let lines = &self.lines_with_names;
        let is_text = |line: &String| line.bytes().any(|byte| byte != CODE && byte != b' ');
        let before = lines[..line].iter().rev().take_while(|line| is_text(line));
        let after = lines[line..].iter().take_while(|line| is_text(line));
        before.chain(after).any(|line| words.iter().any(|word| line.contains(word)))
    }
}

/// Returns the contents of byte strings, which are data and not prose.
fn byte_strings(code: &str) -> impl Iterator<Item = Range<usize>> {
    let starts = code.match_indices("b\"").filter(|(at, _)| !code[..*at].ends_with(is_part));
    starts.filter_map(|(at, _)| {
        let start = at + 2;
        Some(start..start + code[start..].find('"')?)
    })
}

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Blanks the names in backticks.
fn without_names(line: &str) -> String {
    let mut inside = false;
    let blank = |c: char| {
        inside ^= c == '`';
        if inside || c == '`' { char::from(CODE) } else { c }
    };
    line.chars().map(blank).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str, phrase: &str) -> Vec<usize> {
        let tree = Tree::from_files([(path, text)]);
        Prose::of_tree(&tree).iter().flat_map(|prose| prose.find(phrase)).collect()
    }

    #[test]
    fn a_phrase_is_found_in_comments_strings_and_markdown() {
        assert_eq!(
            found("a.rs", "// so many\nf(\"So  many\");\n/// are so\n/// many.", "so many"),
            [1, 2, 3]
        );
        assert_eq!(found("a.rs", "f(\"are so \\\n    many\")", "so many"), [1]);
        assert_eq!(found("a.md", "are so\nmany", "so many"), [1]);
    }

    #[test]
    fn code_is_not_prose() {
        assert_eq!(found("a.rs", "let so = many; // so\nlet x; // many", "so many"), [0; 0]);
        assert_eq!(found("a.rs", "/// `so many`\nfn so_many() {}", "so many"), [0; 0]);
        assert_eq!(found("a.rs", "f(b\"so many\", \"so many\\nare\")", "so many"), [1]);
        assert_eq!(found("a.md", "```\nso many\n// so many\n```\nso, many", "so many"), [3]);
    }

    #[test]
    fn a_paragraph_ends_at_an_empty_line_or_code() {
        let tree =
            Tree::from_files([("a.md", "one\ntwo\n\nthree"), ("a.rs", "// one\nf();\n// two")]);
        let prose = Prose::of_tree(&tree);
        assert!(prose[1].paragraph_mentions(1, &["two"]));
        assert!(!prose[1].paragraph_mentions(1, &["three"]));
        assert!(!prose[0].paragraph_mentions(1, &["two"]));
    }
}
