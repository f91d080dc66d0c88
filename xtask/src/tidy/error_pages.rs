//! Rule: every error code has a page that `ancho::explain` returns, and every page has a code that is used.

use std::collections::BTreeMap;

use super::Finding;
use crate::rust_source::RustSource;
use crate::tree::Tree;

/// The folder of the pages.
const FOLDER: &str = "crates/ancho/errors";

/// The file that compiles the pages into programs.
const LIST: &str = "crates/ancho/src/explain.rs";

/// The headings of a page, in order. The second has two forms.
const HEADINGS: [&[&str]; 3] = [
    &["\n## What happened\n"],
    &["\n## Why it is refused\n", "\n## Why it is reported\n"],
    &["\n## How to fix it\n"],
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    // The first place that uses each code.
    let mut used: BTreeMap<&str, (&str, usize)> = BTreeMap::new();
    let in_crates = tree
        .rust_files()
        .filter(|(path, _)| path.starts_with("crates/") && path.split('/').nth(2) == Some("src"))
        .filter(|(path, _)| *path != LIST);
    for (path, source) in in_crates {
        for (code, line) in codes(source) {
            used.entry(code).or_insert((path, line));
        }
    }
    let mut findings = Vec::new();
    for (code, (path, line)) in &used {
        if tree.text(&format!("{FOLDER}/{code}.md")).is_none() {
            let message = format!(
                "the error code {code} has no page. Write {FOLDER}/{code}.md as {FOLDER}/README.md says"
            );
            findings.push(Finding::failure(path, *line, message));
        }
    }
    let index = tree.text(&format!("{FOLDER}/README.md")).unwrap_or_default();
    let listed = tree.rust(LIST).map(codes).unwrap_or_default();
    for path in tree.other_paths() {
        let name = path.strip_prefix(FOLDER).and_then(|rest| rest.strip_prefix('/'));
        let Some(page) = name.and_then(|name| name.strip_suffix(".md")) else { continue };
        let mut refuse = |message: String| findings.push(Finding::failure(path, 1, message));
        if page == "README" {
            continue;
        }
        if !is_code(page) {
            refuse("this is not the page of an error code. Call it `A` and four digits".to_owned());
            continue;
        }
        if !used.contains_key(page) {
            refuse(format!("no crate uses {page}. Remove the page, or use the code"));
        }
        if !listed.iter().any(|(code, _)| *code == page) {
            refuse(format!("`ancho::explain` does not return the page. Add {page} to {LIST}"));
        }
        let text = tree.text(path).unwrap_or_default();
        let Some(title) = title(page, text) else {
            refuse(format!("the page does not start with its title. Begin with `# {page}: …`"));
            continue;
        };
        if !has_row(index, page, title) {
            refuse(format!(
                "the index has no row for the page. Add `| [{page}]({page}.md) | area | {title} |`"
            ));
        }
        if !has_sections(text) {
            refuse(format!(
                "the page lacks a section, the message or the example. Write it as {FOLDER}/README.md says"
            ));
        }
    }
    findings
}

/// Returns the title of a page without its code.
fn title<'a>(code: &str, text: &'a str) -> Option<&'a str> {
    let line = text.lines().next()?;
    line.strip_prefix("# ")?.strip_prefix(code)?.strip_prefix(": ")
}

/// Returns whether the index has a row with this code, an area and this title.
fn has_row(index: &str, code: &str, title: &str) -> bool {
    let start = format!("| [{code}]({code}.md) | ");
    index.lines().any(|line| {
        let cells = line.strip_prefix(&start).and_then(|rest| rest.strip_suffix(" |"));
        cells
            .and_then(|cells| cells.split_once(" | "))
            .is_some_and(|(area, rest)| !area.is_empty() && rest == title)
    })
}

/// Returns whether a page has its three sections in order, a message in the first and an example in the last.
fn has_sections(text: &str) -> bool {
    let starts = HEADINGS.map(|forms| forms.iter().find_map(|heading| text.find(heading)));
    let [Some(what), Some(why), Some(how)] = starts else { return false };
    what < why
        && why < how
        && text[what..why].contains("\n```text\n")
        && text[how..].contains("\n```rust")
}

/// Returns whether a word is an `A` and four digits.
fn is_code(word: &str) -> bool {
    word.len() == 5
        && word.starts_with('A')
        && word.bytes().skip(1).all(|byte| byte.is_ascii_digit())
}

/// Returns the codes in the strings and comments of a file, with their lines. A type with such a name is not a code.
fn codes(source: &RustSource) -> Vec<(&str, usize)> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let text = source.text();
    text.match_indices('A')
        .filter(|(at, _)| source.code().as_bytes()[*at] == b' ')
        .filter(|(at, _)| !text[..*at].ends_with(is_part))
        .filter_map(|(at, _)| {
            let word = text.get(at..at + 5).filter(|word| is_code(word))?;
            (!text[at + 5..].starts_with(is_part)).then(|| (word, source.line_at(at)))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::test_support::printed;
    use super::*;

    const USE: (&str, &str) = ("crates/jobs/src/error.rs", "\nconst M: &str = \"A0001: two\";\n");
    const LISTED: (&str, &str) = (LIST, "pages![\"A0001\"]");
    const INDEX: (&str, &str) =
        ("crates/ancho/errors/README.md", "| [A0001](A0001.md) | jobs | two writers |\n");
    const PATH: &str = "crates/ancho/errors/A0001.md";
    const PAGE: &str = "# A0001: two writers\n\n## What happened\n\n```text\nA0001: two\n```\n\n\
                        ## Why it is refused\n\n## How to fix it\n\n```rust\nf();\n```\n";

    #[test]
    fn a_code_with_its_page_is_fine() {
        assert_eq!(printed(check, [USE, LISTED, INDEX, (PATH, PAGE)]), [""; 0]);
    }

    #[test]
    fn a_code_without_a_page_is_found_where_it_is_used() {
        assert_eq!(
            printed(check, [USE, LISTED]),
            ["crates/jobs/src/error.rs:2: the error code A0001 has no page. \
              Write crates/ancho/errors/A0001.md as crates/ancho/errors/README.md says"]
        );
    }

    #[test]
    fn a_page_without_a_use_is_refused() {
        let found = printed(check, [LISTED, INDEX, (PATH, PAGE)]);
        assert_eq!(
            found,
            [
                "crates/ancho/errors/A0001.md:1: no crate uses A0001. Remove the page, or use the code"
            ]
        );
    }

    #[test]
    fn a_page_that_is_not_compiled_in_is_refused() {
        let found = printed(check, [USE, INDEX, (PATH, PAGE)]);
        assert_eq!(
            found,
            ["crates/ancho/errors/A0001.md:1: `ancho::explain` does not return the page. \
              Add A0001 to crates/ancho/src/explain.rs"]
        );
    }

    #[test]
    fn a_page_without_a_title_or_a_name_is_refused() {
        let untitled = printed(check, [USE, LISTED, INDEX, (PATH, "A0001\n")]);
        assert_eq!(untitled.len(), 1, "{untitled:?}");
        assert!(untitled[0].ends_with("Begin with `# A0001: …`"), "{untitled:?}");
        let misnamed = printed(check, [("crates/ancho/errors/B1.md", ""), INDEX]);
        assert_eq!(misnamed.len(), 1, "{misnamed:?}");
    }

    #[test]
    fn a_page_without_its_row_is_refused() {
        let other = INDEX.1.replace("two", "three");
        for index in ["", &other] {
            let found = printed(check, [USE, LISTED, (INDEX.0, index), (PATH, PAGE)]);
            assert_eq!(
                found,
                ["crates/ancho/errors/A0001.md:1: the index has no row for the page. \
                  Add `| [A0001](A0001.md) | area | two writers |`"]
            );
        }
    }

    #[test]
    fn a_page_without_a_section_is_refused() {
        for part in ["## Why it is refused\n", "```text\n", "```rust\n"] {
            let page = PAGE.replace(part, "");
            let found = printed(check, [USE, LISTED, INDEX, (PATH, &page)]);
            assert_eq!(found.len(), 1, "{part}: {found:?}");
        }
    }

    #[test]
    fn only_words_in_strings_and_comments_are_codes() {
        let source = "// A0003\nstruct A0004; const X: u32 = 0xA0005; // BA0006 A00070\n\"A0008\"";
        let source = RustSource::new(source.to_owned());
        assert_eq!(codes(&source), [("A0003", 1), ("A0008", 3)]);
    }
}
