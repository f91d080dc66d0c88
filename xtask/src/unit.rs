//! `cargo xtask unit`: runs the tests as a developer does, and contains the parts of it that are separate steps.

use std::slice;

use crate::invocation::Invocation;
use crate::packages;
use crate::step::Outcome;
use crate::tally::TestRun;
use crate::tree::Member;
use crate::workspace::Workspace;

/// Name of the test binaries that start compilers.
pub(crate) const COMPILE_FAIL: &str = "compile_fail";

/// Name of the test binaries that are empty without `--cfg loom`.
pub(crate) const LOOM: &str = "loom";

/// Runs the unit and integration tests of the workspace in debug, with all features.
pub(crate) fn run(workspace: &Workspace) -> Outcome {
    // One test shows the gallery in tmux, and skips that part without tmux.
    if let Err(missing) = packages::ensure_program("tmux", "tmux") {
        println!("{missing}; the tests go on without it");
    }
    let words = "test --workspace --all-features --no-fail-fast";
    let cargo = Invocation::cargo(workspace, words);
    Outcome::Tested(plain_tests(&workspace.tree().members(), cargo).test())
}

/// Adds the targets of members that hold plain tests: no doctests, compile-fail tests or loom models.
pub(crate) fn plain_tests(members: &[Member], cargo: Invocation) -> Invocation {
    let names = plain_test_names(members);
    cargo.args(["--lib", "--bins"]).args(names.iter().flat_map(|name| ["--test", name.as_str()]))
}

/// Runs the tests of one crate in debug, with all features. With `quick`, only the plain tests.
pub(crate) fn run_package(
    workspace: &Workspace,
    member: &Member,
    filter: &[String],
    quick: bool,
) -> Outcome {
    let words = format!("test -p {} --all-features --no-fail-fast", member.package);
    let mut cargo = Invocation::cargo(workspace, &words);
    if quick {
        let names = plain_test_names(slice::from_ref(member));
        cargo = cargo
            .args([if member.has_library { "--lib" } else { "--bins" }])
            .args(names.iter().flat_map(|name| ["--test", name.as_str()]));
    }
    // Cargo accepts one filter, test binaries any number.
    Outcome::Tested(cargo.args(["--"]).args(filter).test())
}

/// Runs the examples in the documentation.
pub(crate) fn run_doctests(workspace: &Workspace) -> Outcome {
    let words = "test --workspace --doc --all-features --no-fail-fast";
    Outcome::Tested(Invocation::cargo(workspace, words).test())
}

/// Runs the tests that check compiler errors.
pub(crate) fn run_compile_fail(workspace: &Workspace) -> Outcome {
    let words = format!("test --workspace --all-features --no-fail-fast --test {COMPILE_FAIL}");
    Outcome::Tested(Invocation::cargo(workspace, &words).test())
}

/// The crates with default features, in groups for one command each. Cargo unites the features of all crates in a command, so no
/// crate of a group enables features of another.
const WITHOUT_FEATURES: [&[&str]; 4] = [
    &["ancho_burst", "ancho_jobs"],
    &["ancho_collections", "ancho_entities"],
    &["ancho_serialize"],
    &["ancho"],
];

/// Runs the tests of each crate without its default features.
pub(crate) fn run_without_features(workspace: &Workspace) -> Outcome {
    let mut tests = TestRun::default();
    for group in WITHOUT_FEATURES {
        let words = "test --lib --tests --no-default-features --no-fail-fast";
        let packages = group.iter().flat_map(|package| ["-p", package]);
        tests += Invocation::cargo(workspace, words).args(packages).test();
    }
    Outcome::Tested(tests)
}

/// Returns the names of test binaries without [`COMPILE_FAIL`] and [`LOOM`], each once.
fn plain_test_names(members: &[Member]) -> Vec<String> {
    let all = members.iter().flat_map(|member| &member.tests);
    let mut names: Vec<String> =
        all.filter(|name| *name != COMPILE_FAIL && *name != LOOM).cloned().collect();
    names.sort();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tree;

    #[test]
    fn every_crate_with_default_features_is_tested_without_them() {
        let mut listed = WITHOUT_FEATURES.concat();
        listed.sort_unstable();
        let crates = Workspace::locate().tree().crates();
        let with_features =
            crates.iter().filter(|member| member.manifest.get("features", "default").is_some());
        let mut packages: Vec<&str> = with_features.map(|member| &*member.package).collect();
        packages.sort_unstable();
        assert_eq!(listed, packages);
    }

    #[test]
    fn plain_tests_start_no_compiler_and_need_no_loom() {
        let tree = Tree::from_files([
            ("crates/a/Cargo.toml", "[package]\nname = \"a\"\n"),
            ("crates/a/tests/compile_fail.rs", ""),
            ("crates/a/tests/loom.rs", ""),
            ("crates/a/tests/threads/main.rs", ""),
            ("crates/b/Cargo.toml", "[package]\nname = \"b\"\n"),
            ("crates/b/tests/order.rs", ""),
            ("crates/b/tests/threads/main.rs", ""),
        ]);
        assert_eq!(plain_test_names(&tree.members()), ["order", "threads"]);
    }
}
