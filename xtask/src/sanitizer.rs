//! Shared code of the sanitizer steps: selection of tests, and flags for cargo.

use crate::invocation::Invocation;
use crate::tally::TestRun;
use crate::toolchain::SANITIZER_TARGET;
use crate::tree::Tree;
use crate::unit::{COMPILE_FAIL, LOOM};
use crate::workspace::Workspace;

/// The table of a crate's manifest that selects its tests.
const METADATA: &str = "package.metadata.sanitizers";

/// The tests of one crate that a sanitizer runs.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct Subject {
    pub(crate) package: String,
    pub(crate) tests: Vec<String>,
}

/// Returns the reason why the step cannot run in this tree or on this machine, if any.
pub(crate) fn obstacle(tree: &Tree) -> Option<String> {
    if subjects(tree, Tests::All).is_empty() {
        Some("no crate has a module with `expect(unsafe_code)`".to_owned())
    } else if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        Some(format!("set up for {SANITIZER_TARGET} only"))
    } else {
        None
    }
}

/// A selection of a crate's test binaries.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Tests {
    All,
    /// The binaries that the manifest lists as `thread` in `[package.metadata.sanitizers]`, or all without such a list. With an
    /// empty list, the crate is left out. A race detector slows tests down ten times, and finds nothing in tests with one thread.
    Threaded,
}

/// Runs the tests of every crate with `unsafe`. `prepare` completes each command.
pub(crate) fn run(
    workspace: &Workspace,
    tree: &Tree,
    target_dir: &str,
    tests: Tests,
    prepare: impl Fn(Invocation) -> Invocation,
) -> TestRun {
    let mut run = TestRun::default();
    for Subject { package, tests } in subjects(tree, tests) {
        let words = format!(
            "+nightly test -p {package} --all-features --no-fail-fast --target {SANITIZER_TARGET} --lib"
        );
        let cargo = Invocation::cargo(workspace, &words)
            .args(tests.iter().flat_map(|test| ["--test", test.as_str()]))
            .target_dir(&workspace.target_dir(target_dir));
        run += prepare(cargo).test();
    }
    run
}

/// Finds the crates with their own `unsafe` code, and the test binaries to run.
///
/// Proc macros run inside the compiler, which is not instrumented. Compile-fail tests would run a second compiler, and loom
/// models are empty without `cfg(loom)`. A manifest excludes other binaries as `skip` in `[package.metadata.sanitizers]`.
pub(crate) fn subjects(tree: &Tree, choice: Tests) -> Vec<Subject> {
    let has_unsafe = |folder: &str| {
        tree.rust_files_below(&format!("{folder}/src"))
            .any(|(_, source)| source.expects_unsafe_code())
    };
    tree.crates()
        .into_iter()
        .filter(|member| member.manifest.get("lib", "proc-macro") != Some("true"))
        .filter(|member| has_unsafe(&member.folder))
        .filter(|member| match choice {
            Tests::All => true,
            Tests::Threaded => member.manifest.get(METADATA, "thread") != Some("[]"),
        })
        .map(|member| {
            let skipped = member.manifest.list(METADATA, "skip");
            let threaded = member.manifest.list(METADATA, "thread");
            let is_chosen = |test: &&String| match choice {
                Tests::Threaded if !threaded.is_empty() => threaded.contains(&test.as_str()),
                _ => *test != COMPILE_FAIL && *test != LOOM && !skipped.contains(&test.as_str()),
            };
            let tests = member.tests.iter().filter(is_chosen).cloned().collect();
            Subject { package: member.package, tests }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNSAFE_MODULE: &str = "#![expect(unsafe_code, reason = \"raw memory\")]\n";

    #[test]
    fn subjects_are_crates_with_unsafe_modules_and_their_plain_tests() {
        let tree = Tree::from_files([
            ("crates/a/Cargo.toml", "[package]\nname = \"a\"\n"),
            ("crates/a/src/lib.rs", "mod raw;"),
            ("crates/a/src/raw.rs", UNSAFE_MODULE),
            ("crates/a/tests/compile_fail.rs", ""),
            ("crates/a/tests/loom.rs", ""),
            ("crates/a/tests/order.rs", ""),
            ("crates/a/tests/stress/main.rs", ""),
            ("crates/a/tests/common/mod.rs", ""),
            ("crates/safe/Cargo.toml", "[package]\nname = \"safe\"\n"),
            ("crates/safe/src/lib.rs", "// expect(unsafe_code) is not here\n"),
            ("crates/derive/Cargo.toml", "[package]\nname = \"d\"\n[lib]\nproc-macro = true\n"),
            ("crates/derive/src/lib.rs", UNSAFE_MODULE),
        ]);
        let tests = vec!["order".to_owned(), "stress".to_owned()];
        let expected = [Subject { package: "a".to_owned(), tests }];
        assert_eq!(subjects(&tree, Tests::All), expected);
        assert_eq!(subjects(&tree, Tests::Threaded), expected);
    }

    #[test]
    fn a_manifest_chooses_the_tests_of_a_race_detector_and_those_to_skip() {
        let manifest = "[package]\nname = \"a\"\n[package.metadata.sanitizers]\n\
                        thread = [\"threads\"]\nskip = [\"allocations\"]\n";
        let tree = Tree::from_files([
            ("crates/a/Cargo.toml", manifest),
            ("crates/a/src/lib.rs", UNSAFE_MODULE),
            ("crates/a/tests/allocations.rs", ""),
            ("crates/a/tests/model.rs", ""),
            ("crates/a/tests/threads.rs", ""),
        ]);
        assert_eq!(subjects(&tree, Tests::All)[0].tests, ["model", "threads"]);
        assert_eq!(subjects(&tree, Tests::Threaded)[0].tests, ["threads"]);
    }

    #[test]
    fn a_race_detector_leaves_out_crates_without_threads() {
        let manifest = "[package]\nname = \"a\"\n[package.metadata.sanitizers]\nthread = []\n";
        let tree = Tree::from_files([
            ("crates/a/Cargo.toml", manifest),
            ("crates/a/src/lib.rs", UNSAFE_MODULE),
            ("crates/a/tests/model.rs", ""),
        ]);
        assert_eq!(subjects(&tree, Tests::All)[0].tests, ["model"]);
        assert_eq!(subjects(&tree, Tests::Threaded), []);
    }
}
