//! `cargo xtask loom`: runs model tests for every interleaving up to a bound.

use crate::invocation::Invocation;
use crate::step::Outcome;
use crate::tally::TestRun;
use crate::tree::Tree;
use crate::unit::LOOM;
use crate::workspace::Workspace;

/// Maximum number of preemptions. Three find nearly all bugs, in minutes instead of days.
const MAX_PREEMPTIONS: &str = "3";

/// The folder of this step's builds.
pub(crate) const BUILD: &str = "loom";

pub(crate) fn run(workspace: &Workspace) -> Outcome {
    let packages = packages_with_models(&workspace.tree());
    if packages.is_empty() {
        return Outcome::NothingToDo("no crate has a `tests/loom.rs`".to_owned());
    }
    let mut tests = TestRun::default();
    for package in packages {
        let words = format!("test --release -p {package} --test loom");
        tests += Invocation::cargo(workspace, &words)
            .target_dir(&workspace.target_dir(BUILD))
            .env("RUSTFLAGS", "--cfg loom")
            .env_default("LOOM_MAX_PREEMPTIONS", MAX_PREEMPTIONS)
            .test();
    }
    Outcome::Tested(tests)
}

fn packages_with_models(tree: &Tree) -> Vec<String> {
    tree.crates()
        .into_iter()
        .filter(|member| member.tests.iter().any(|test| test == LOOM))
        .map(|member| member.package)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_found_by_their_file() {
        let tree = Tree::from_files([
            ("crates/a/Cargo.toml", "[package]\nname = \"a\"\n"),
            ("crates/a/tests/loom.rs", ""),
            ("crates/b/Cargo.toml", "[package]\nname = \"b\"\n"),
            ("crates/b/tests/loom/main.rs", ""),
            ("crates/c/Cargo.toml", "[package]\nname = \"c\"\n"),
            ("crates/c/tests/broom.rs", ""),
        ]);
        assert_eq!(packages_with_models(&tree), ["a", "b"]);
    }
}
