//! Rule: the tree contains nothing unfinished.

use super::Finding;
use crate::rust_source;
use crate::tree::Tree;

/// Unfinished code, and tests that do not run.
const IN_CODE: &[&str] = &["todo!(", "unimplemented!(", "#[ignore"];

/// Marks of notes to oneself. They are written in two halves, since this file is checked as well.
const ANYWHERE: &[&str] = &[concat!("FIX", "ME"), concat!("XX", "X")];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, source) in tree.rust_files() {
        for word in IN_CODE {
            findings.extend(source.code().match_indices(word).map(|(at, _)| {
                let message = format!("`{word}` is left in the code. Finish it, or take it out");
                Finding::failure(path, source.line_at(at), message)
            }));
        }
        for word in ANYWHERE {
            findings.extend(rust_source::words(source.text(), word).map(|at| {
                let message = format!("`{word}` is left in the text. Do it, or open an issue");
                Finding::failure(path, source.line_at(at), message)
            }));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::test_support::printed;
    use super::*;

    #[test]
    fn unfinished_code_is_found() {
        let text =
            "fn f() {\n    todo!()\n}\n#[ignore = \"slow\"]\nfn g() { unimplemented!(\"x\") }";
        let found = printed(check, [("a.rs", text)]);
        assert_eq!(found.len(), 3, "{found:?}");
        assert_eq!(found[0], "a.rs:2: `todo!(` is left in the code. Finish it, or take it out");
    }

    #[test]
    fn notes_to_oneself_are_found_in_comments() {
        let text = format!("// {} later\n", ANYWHERE[0]);
        assert_eq!(printed(check, [("a.rs", &text)]).len(), 1);
        let longer_word = format!("// {}ES\n", ANYWHERE[0]);
        assert!(printed(check, [("a.rs", &longer_word)]).is_empty());
    }

    #[test]
    fn talking_about_unfinished_code_is_allowed() {
        assert!(
            printed(check, [("a.rs", "// no todo!() here\nlet s = \"#[ignore]\";")]).is_empty()
        );
    }
}
