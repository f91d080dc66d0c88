//! Rule: every library crate has a README, and its `lib.rs` begins with the documentation.

use super::Finding;
use crate::tree::Tree;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for member in tree.crates() {
        if tree.text(&format!("{}/README.md", member.folder)).is_none() {
            let message = "the crate has no README.md. Write one: what the crate is, an example, and how to depend on it";
            findings.push(Finding::failure(&format!("{}/Cargo.toml", member.folder), 1, message));
        }
        let path = format!("{}/src/lib.rs", member.folder);
        let documented = tree.rust(&path).is_some_and(|source| {
            let text = source.text().trim_start();
            text.starts_with("#![doc = include_str!(\"../README.md\")]") || text.starts_with("//!")
        });
        if !documented {
            let message = "the crate's documentation is not its first line. \
                           Begin with `#![doc = include_str!(\"../README.md\")]`";
            findings.push(Finding::failure(&path, 1, message));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::test_support::printed;
    use super::*;

    const MANIFEST: (&str, &str) = ("crates/a/Cargo.toml", "");
    const README: (&str, &str) = ("crates/a/README.md", "# a\n");

    #[test]
    fn either_form_of_documentation_is_accepted() {
        for text in ["#![doc = include_str!(\"../README.md\")]\n", "//! Words.\n"] {
            assert!(printed(check, [MANIFEST, README, ("crates/a/src/lib.rs", text)]).is_empty());
        }
    }

    #[test]
    fn both_are_required() {
        let found = printed(check, [MANIFEST, ("crates/a/src/lib.rs", "mod x;\n//! Late.\n")]);
        assert_eq!(found.len(), 2);
        assert!(found[0].starts_with("crates/a/Cargo.toml:1: the crate has no README.md"));
        assert!(found[1].starts_with("crates/a/src/lib.rs:1: the crate's documentation"));
    }
}
