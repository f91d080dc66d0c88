//! Every `unsafe` has a comment or a section about its safety.
//!
//! Clippy requires the same of the code it compiles. This rule also reads other code, such as code for other targets and code
//! inside `quote!`.

use super::Finding;
use super::unsafe_uses::{UseKind, unsafe_uses};
use crate::rust_source::{RustSource, words};
use crate::tree::Tree;

/// Maximum number of lines, attributes or the beginning of the statement, between the comment and the word.
const REACH: usize = 6;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, source) in tree.rust_files() {
        for found in unsafe_uses(source) {
            let message = match found.kind {
                UseKind::Block | UseKind::Impl if !has_safety_comment(source, found.line) => {
                    "`unsafe` without a reason. Write a `// SAFETY:` comment above it that \
                     answers each point of the contract"
                }
                UseKind::Declaration if lacks_safety_section(source, found.line) => {
                    "the contract is not written down. Add a `# Safety` section to the \
                     documentation"
                }
                _ => continue,
            };
            findings.push(Finding::failure(path, found.line, message));
        }
    }
    findings
}

/// Returns whether a `SAFETY:` comment is on the line or above it.
fn has_safety_comment(source: &RustSource, line: usize) -> bool {
    if source.text_line(line).contains("SAFETY:") {
        return true;
    }
    for above in (line.saturating_sub(REACH).max(1)..line).rev() {
        if source.text_line(above).trim_start().starts_with("//") {
            return comment_block(source, above).any(|comment| comment.contains("SAFETY:"));
        }
        if ends_something(source.code_line(above)) {
            return false;
        }
    }
    false
}

/// Returns the lines of the comment that ends at `last`.
fn comment_block(source: &RustSource, last: usize) -> impl Iterator<Item = &str> {
    (1..=last)
        .rev()
        .map(|line| source.text_line(line).trim_start())
        .take_while(|text| text.starts_with("//"))
}

/// Returns whether this line ends a statement or item, so that the lines below belong to another.
fn ends_something(code: &str) -> bool {
    let code = code.trim();
    code.is_empty()
        || code.ends_with([';', '}'])
        || (code.ends_with('{') && words(code, "fn").next().is_some())
}

/// Returns whether the item on `line` has documentation without a `# Safety` section.
fn lacks_safety_section(source: &RustSource, line: usize) -> bool {
    let mut documented = false;
    for above in (1..line).rev() {
        let text = source.text_line(above).trim_start();
        if let Some(doc) = text.strip_prefix("///") {
            documented = true;
            if doc.trim() == "# Safety" {
                return false;
            }
        } else if !text.starts_with("//") && ends_something(source.code_line(above)) {
            break;
        }
    }
    documented
}

#[cfg(test)]
mod tests {
    use super::super::test_support::printed;
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        printed(check, [("a.rs", text)])
            .iter()
            .map(|found| found.split(". ").next().unwrap_or(found).to_owned())
            .collect()
    }

    #[test]
    fn a_comment_directly_above_will_do() {
        assert!(
            lines("fn f() {\n    // SAFETY: it is\n    // so.\n    unsafe { g() }\n}").is_empty()
        );
        assert!(lines("// SAFETY: no state.\n#[cfg(x)]\nunsafe impl Send for X {}").is_empty());
        assert!(lines("let x = /* SAFETY: so */ unsafe { g() };").is_empty());
    }

    #[test]
    fn the_comment_may_stand_above_the_statement() {
        let text = "// SAFETY: in bounds.\nlet (a, b) = split(\n    unsafe { g() },\n    \
                    unsafe { h() },\n);";
        assert!(lines(text).is_empty());
    }

    #[test]
    fn a_block_without_a_comment_is_refused() {
        let message = "`unsafe` without a reason";
        assert_eq!(lines("fn f() {\n    unsafe { g() }\n}"), [format!("a.rs:2: {message}")]);
        let text = "// Some words.\nunsafe { g() }";
        assert_eq!(lines(text), [format!("a.rs:2: {message}")]);
    }

    #[test]
    fn a_comment_answers_for_one_statement_only() {
        let text = "// SAFETY: so.\nunsafe impl Send for X {}\nunsafe impl Sync for X {}";
        assert_eq!(lines(text), ["a.rs:3: `unsafe` without a reason"]);
        let text = "// SAFETY: so.\nlet a = b;\nunsafe { g() }";
        assert_eq!(lines(text), ["a.rs:3: `unsafe` without a reason"]);
        let text = "// SAFETY: so.\nfn f() {\n    unsafe { g() }\n}";
        assert_eq!(lines(text), ["a.rs:3: `unsafe` without a reason"]);
    }

    #[test]
    fn a_documented_unsafe_fn_states_its_contract() {
        let text = "/// Does.\n#[inline]\npub unsafe fn f() {}";
        assert_eq!(lines(text), ["a.rs:3: the contract is not written down"]);
        let text =
            "/// Does.\n///\n/// # Safety\n///\n/// - Be good.\n#[inline]\npub unsafe fn f() {}";
        assert!(lines(text).is_empty());
        assert!(lines("/// Other.\nfn g() {}\nunsafe fn f() {}").is_empty());
    }
}
