//! A crate may use only the crates below it.

use super::Finding;
use crate::manifest::DependencyKind;
use crate::tree::Tree;

/// The folders of `crates/`, top to bottom.
const ORDER: &[&str] = &[
    "ancho",
    "debugger",
    "rendering",
    "hybrid",
    "app",
    "bisect",
    "transforms",
    "serialize",
    "entities",
    "collections",
    "jobs",
    "burst",
    "derive",
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for member in tree.crates() {
        let path = format!("{}/Cargo.toml", member.folder);
        let folder = member.folder.trim_start_matches("crates/");
        let Some(height) = ORDER.iter().position(|name| *name == folder) else {
            let message = format!(
                "the crate `{folder}` has no place in the order of crates. \
                 Add it to ORDER in xtask/src/tidy/crate_direction.rs and to ARCHITECTURE.md"
            );
            findings.push(Finding::failure(&path, 1, message));
            continue;
        };
        if member.package != package_name(folder) {
            let message = format!(
                "the package in `{}` is called `{}`. Call it `{}`",
                member.folder,
                member.package,
                package_name(folder)
            );
            findings.push(Finding::failure(&path, 1, message));
        }
        for dependency in member.manifest.dependencies() {
            let found = ORDER.iter().position(|name| package_name(name) == dependency.package);
            // A crate's tests may depend on the crate itself, to enable features.
            let allowed = found.is_none_or(|below| {
                below > height || (below == height && dependency.kind == DependencyKind::Dev)
            });
            if !allowed {
                let message = format!(
                    "`{}` depends on `{}`, which is not below it. \
                     Move the shared part down, or the user of it up",
                    member.package, dependency.package
                );
                findings.push(Finding::failure(&path, dependency.line, message));
            }
        }
    }
    findings
}

fn package_name(folder: &str) -> String {
    if folder == "ancho" { folder.to_owned() } else { format!("ancho_{folder}") }
}

#[cfg(test)]
mod tests {
    use super::super::test_support::printed;
    use super::*;

    const JOBS: &str = "[package]\nname = \"ancho_jobs\"\n";

    fn jobs_with(dependencies: &str) -> Vec<String> {
        let manifest = format!("{JOBS}{dependencies}\n");
        printed(check, [("crates/jobs/Cargo.toml", &manifest)])
    }

    #[test]
    fn downwards_is_allowed_and_so_are_strangers() {
        let below = "[dependencies]\nancho_burst.workspace = true\nglam = \"0.30\"";
        assert!(jobs_with(below).is_empty());
        assert!(jobs_with("[dev-dependencies]\nancho_jobs = { path = \".\" }").is_empty());
    }

    #[test]
    fn upwards_is_refused_in_every_kind_of_dependency() {
        for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let found = jobs_with(&format!("[{kind}]\nancho_entities.workspace = true"));
            assert_eq!(
                found,
                ["crates/jobs/Cargo.toml:4: `ancho_jobs` depends on `ancho_entities`, which is \
                  not below it. Move the shared part down, or the user of it up"]
            );
        }
    }

    #[test]
    fn itself_is_refused_outside_tests() {
        assert_eq!(jobs_with("[dependencies]\nancho_jobs.workspace = true").len(), 1);
    }

    #[test]
    fn a_crate_without_a_place_or_with_another_name_is_refused() {
        let files = [("crates/utils/Cargo.toml", "[package]\nname = \"ancho_utils\"\n")];
        assert!(printed(check, files)[0].contains("has no place in the order"));
        let files = [("crates/jobs/Cargo.toml", "[package]\nname = \"jobs\"\n")];
        assert!(printed(check, files)[0].ends_with("Call it `ancho_jobs`"));
    }
}
