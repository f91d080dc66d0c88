//! Rule: crates that every user builds have no heavy dependencies.

use std::collections::BTreeSet;

use super::Finding;
use crate::invocation::Invocation;
use crate::tree::Tree;
use crate::workspace::Workspace;

const LEAN: &[&str] = &["ancho_jobs", "ancho_burst", "ancho_collections", "ancho_entities"];
const FORBIDDEN: &[&str] = &["serde", "syn", "wgpu"];
/// Maximum number of crates that building such a crate compiles, including itself.
const MOST: usize = 15;

/// Checks the output of cargo, since a manifest does not show transitive dependencies.
pub(super) fn check(workspace: &Workspace, tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for member in tree.crates() {
        if !LEAN.contains(&member.package.as_str()) {
            continue;
        }
        let manifest = format!("{}/Cargo.toml", member.folder);
        let words = format!(
            "tree -p {} -e normal --no-default-features --prefix none --format {{p}}",
            member.package
        );
        match Invocation::cargo(workspace, &words).capture() {
            Ok(listing) => {
                findings.extend(forbidden_in(&listing).into_iter().map(|name| {
                    let message = format!(
                        "`{}` brings in `{name}` without any feature. Put what needs \
                         it behind a feature; `cargo tree -p {} -i {name}` shows why it is needed",
                        member.package, member.package
                    );
                    Finding::failure(&manifest, 1, message)
                }));
                let count = names_in(&listing).len();
                if count > MOST {
                    let message = format!(
                        "`{}` has {count} crates built without any feature, and may \
                         have {MOST}. Put what needs them behind a feature",
                        member.package
                    );
                    findings.push(Finding::failure(&manifest, 1, message));
                }
            }
            Err(error) => {
                let message = format!("its dependencies cannot be listed. {error}");
                findings.push(Finding::failure(&manifest, 1, message));
            }
        }
    }
    findings
}

/// Returns the forbidden packages in a listing of one package per line, name first.
fn forbidden_in(listing: &str) -> Vec<&'static str> {
    let listed = names_in(listing);
    FORBIDDEN.iter().copied().filter(|name| listed.contains(name)).collect()
}

/// Returns the packages in a listing of one package per line, each once.
fn names_in(listing: &str) -> BTreeSet<&str> {
    listing.lines().filter_map(|line| line.split(' ').next()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_names_count() {
        let listing = "ancho_jobs v0.1.0 (/x/serde)\nserde_core v1.0.0\nsyn v3.0.0 (*)\n";
        assert_eq!(forbidden_in(listing), ["syn"]);
        assert!(forbidden_in("").is_empty());
        assert_eq!(names_in(&format!("{listing}syn v3.0.0\n")).len(), 3, "each counts once");
    }
}
