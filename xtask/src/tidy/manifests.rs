//! Every manifest inherits its lints and its package metadata from the workspace.

use super::Finding;
use crate::tree::Tree;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for member in tree.members() {
        let path = format!("{}/Cargo.toml", member.folder);
        // The examples are copied to other workspaces, so they contain no attributes for the lints of this one.
        let has_lints = member.folder != "examples";
        if has_lints && member.manifest.get("lints", "workspace") != Some("true") {
            let message =
                "the lints of the workspace are off. Add `[lints]` with `workspace = true`";
            findings.push(Finding::failure(&path, 1, message));
        }
        for key in ["edition", "license", "rust-version"] {
            if !member.manifest.inherits(key) {
                let message = format!(
                    "`{key}` does not come from the workspace. Write `{key}.workspace = true`"
                );
                findings.push(Finding::failure(&path, 1, message));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::test_support::printed;
    use super::*;

    #[test]
    fn a_manifest_that_inherits_all_is_fine() {
        let manifest = "[package]\nedition.workspace = true\nlicense.workspace = true\n\
                        rust-version.workspace = true\n[lints]\nworkspace = true\n";
        assert!(printed(check, [("crates/jobs/Cargo.toml", manifest)]).is_empty());
    }

    #[test]
    fn each_missing_line_is_a_finding() {
        let manifest = "[package]\nedition = \"2021\"\nlicense.workspace = true\n";
        let found = printed(check, [("samples/Cargo.toml", manifest)]);
        assert_eq!(
            found,
            [
                "samples/Cargo.toml:1: the lints of the workspace are off. \
                 Add `[lints]` with `workspace = true`",
                "samples/Cargo.toml:1: `edition` does not come from the workspace. \
                 Write `edition.workspace = true`",
                "samples/Cargo.toml:1: `rust-version` does not come from the workspace. \
                 Write `rust-version.workspace = true`",
            ]
        );
    }
}
