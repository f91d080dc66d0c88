//! `unsafe` stays in the modules that ARCHITECTURE.md lists.

use super::Finding;
use super::architecture::{self, UnsafePath};
use super::unsafe_uses::{UnsafeUse, UseKind, unsafe_uses};
use crate::rust_source::RustSource;
use crate::tree::Tree;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let listed = architecture::unsafe_paths(tree);
    let mut findings = Vec::new();
    let mut alive = vec![false; listed.len()];
    for (path, source) in tree.rust_files() {
        let uses = lint_worthy_uses(source);
        let Some(first) = uses.first() else { continue };
        let Some(index) = listed.iter().position(|item| item.covers(path)) else {
            let message = "`unsafe` is used in a file that ARCHITECTURE.md does not list. \
                           Use a safe building block, or add the file under \
                           \"Where `unsafe` lives\" with its reason";
            findings.push(Finding::failure(path, first.line, message));
            continue;
        };
        alive[index] = true;
        let needs_attribute = uses.iter().any(|found| !found.quoted);
        if needs_attribute && !has_attribute(tree, &listed[index], source) {
            let message = "the file does not say why it needs `unsafe`. \
                           Begin it with `#![expect(unsafe_code, reason = \"…\")]`";
            findings.push(Finding::failure(path, 1, message));
        }
    }
    for (item, alive) in listed.iter().zip(alive) {
        if !alive {
            let message =
                format!("`{}` is listed but has no `unsafe`. Take it off the list", item.path);
            findings.push(Finding::failure(architecture::PATH, item.line, message));
        }
    }
    findings
}

fn lint_worthy_uses(source: &RustSource) -> Vec<UnsafeUse> {
    unsafe_uses(source).into_iter().filter(|found| found.kind != UseKind::PointerType).collect()
}

/// Returns whether the file, or the root module of a listed folder, has the attribute.
fn has_attribute(tree: &Tree, item: &UnsafePath, source: &RustSource) -> bool {
    let folder = item.path.trim_end_matches('/');
    let holders = [format!("{folder}/mod.rs"), format!("{folder}.rs")];
    source.expects_unsafe_code()
        || (item.is_folder()
            && holders
                .iter()
                .filter_map(|path| tree.rust(path))
                .any(RustSource::expects_unsafe_code))
}

#[cfg(test)]
mod tests {
    use super::super::test_support::printed;
    use super::*;

    const LIST: (&str, &str) = (
        "ARCHITECTURE.md",
        "## Where `unsafe` lives\n- `crates/a/src/node.rs`: nodes\n- `crates/a/src/raw/`: memory\n",
    );
    const NODE: (&str, &str) =
        ("crates/a/src/node.rs", "#![expect(unsafe_code, reason = \"x\")]\nunsafe { f() }\n");
    const RAW: (&str, &str) =
        ("crates/a/src/raw/mod.rs", "#![expect(unsafe_code, reason = \"x\")]\n");
    const RAW_LIST: (&str, &str) = ("crates/a/src/raw/list.rs", "unsafe { f() }\n");

    #[test]
    fn listed_files_with_the_attribute_are_fine() {
        assert!(printed(check, [LIST, NODE, RAW, RAW_LIST]).is_empty());
    }

    #[test]
    fn other_files_are_refused_tests_included() {
        let test = ("crates/a/tests/t.rs", "\nunsafe { f() }\n");
        let found = printed(check, [LIST, NODE, RAW, RAW_LIST, test]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("crates/a/tests/t.rs:2: `unsafe` is used in a file"));
    }

    #[test]
    fn the_attribute_is_asked_for() {
        let bare = ("crates/a/src/node.rs", "unsafe { f() }\n");
        let found = printed(check, [LIST, bare, RAW, RAW_LIST]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("crates/a/src/node.rs:1: the file does not say why"));
    }

    #[test]
    fn code_that_a_macro_writes_is_listed_but_needs_no_attribute() {
        let quoted = ("crates/a/src/node.rs", "quote! { unsafe impl X for Y {} }\n");
        assert!(printed(check, [LIST, quoted, RAW, RAW_LIST]).is_empty());
    }

    #[test]
    fn a_stale_list_is_refused() {
        let safe = ("crates/a/src/node.rs", "run: unsafe fn(u8),\n");
        assert_eq!(
            printed(check, [LIST, safe, RAW, RAW_LIST]),
            ["ARCHITECTURE.md:2: `crates/a/src/node.rs` is listed but has no `unsafe`. \
              Take it off the list"]
        );
    }
}
