//! Every error code has a page, and every page a code that is used.

use std::collections::BTreeMap;

use super::Finding;
use crate::rust_source::RustSource;
use crate::tree::Tree;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    // The first place that uses each code.
    let mut used: BTreeMap<&str, (&str, usize)> = BTreeMap::new();
    let in_crates = tree
        .rust_files()
        .filter(|(path, _)| path.starts_with("crates/") && path.split('/').nth(2) == Some("src"));
    for (path, source) in in_crates {
        for (code, line) in codes(source) {
            used.entry(code).or_insert((path, line));
        }
    }
    let mut findings = Vec::new();
    for (code, (path, line)) in &used {
        if tree.text(&page_path(code)).is_none() {
            let message = format!(
                "the error code {code} has no page. Write errors/{code}.md as errors/README.md says"
            );
            findings.push(Finding::failure(path, *line, message));
        }
    }
    for path in tree.other_paths() {
        let Some(page) = path.strip_prefix("errors/").and_then(|name| name.strip_suffix(".md"))
        else {
            continue;
        };
        if page == "README" {
            continue;
        }
        if !is_code(page) {
            let message = "this is not the page of an error code. Call it `A` and four digits";
            findings.push(Finding::failure(path, 1, message));
            continue;
        }
        if !used.contains_key(page) {
            let message = format!("no crate uses {page}. Remove the page, or use the code");
            findings.push(Finding::failure(path, 1, message));
        }
        let title = format!("# {page}: ");
        if !tree.text(path).is_some_and(|text| text.starts_with(&title)) {
            let message = format!("the page does not start with its title. Begin with `{title}…`");
            findings.push(Finding::failure(path, 1, message));
        }
    }
    findings
}

fn page_path(code: &str) -> String {
    format!("errors/{code}.md")
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

    #[test]
    fn a_code_with_its_page_is_fine() {
        assert!(printed(check, [USE, ("errors/A0001.md", "# A0001: two writers\n")]).is_empty());
    }

    #[test]
    fn a_code_without_a_page_is_found_where_it_is_used() {
        assert_eq!(
            printed(check, [USE]),
            ["crates/jobs/src/error.rs:2: the error code A0001 has no page. \
              Write errors/A0001.md as errors/README.md says"]
        );
    }

    #[test]
    fn a_page_without_a_use_or_a_title_is_refused() {
        let unused = printed(check, [("errors/A0002.md", "# A0002: x\n")]);
        assert_eq!(
            unused,
            ["errors/A0002.md:1: no crate uses A0002. Remove the page, or use the code"]
        );
        let untitled = printed(check, [USE, ("errors/A0001.md", "A0001\n")]);
        assert_eq!(untitled.len(), 1);
        let misnamed = printed(check, [("errors/B1.md", ""), ("errors/README.md", "")]);
        assert_eq!(misnamed.len(), 1);
    }

    #[test]
    fn only_words_in_strings_and_comments_are_codes() {
        let source = "// A0003\nstruct A0004; const X: u32 = 0xA0005; // BA0006 A00070\n\"A0008\"";
        let source = RustSource::new(source.to_owned());
        assert_eq!(codes(&source), [("A0003", 1), ("A0008", 3)]);
    }
}
