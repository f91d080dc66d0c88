//! What the sanitizer steps have in common: which tests run, and how cargo is asked to.

use crate::invocation::Invocation;
use crate::tally::TestRun;
use crate::toolchain::SANITIZER_TARGET;
use crate::tree::Tree;
use crate::workspace::Workspace;

/// The tests of one crate that make sense under a sanitizer.
#[derive(Debug, Eq, PartialEq)]
struct Subject {
    package: String,
    tests: Vec<String>,
}

/// Why the step cannot run in this tree or on this machine, if so.
pub(crate) fn obstacle(tree: &Tree) -> Option<String> {
    if subjects(tree).is_empty() {
        Some("no crate has a module with `expect(unsafe_code)`".to_owned())
    } else if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        Some(format!("set up for {SANITIZER_TARGET} only"))
    } else {
        None
    }
}

/// Which of a crate's tests run.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Tests {
    All,
    /// If some are named `…_threads`, only those: the crate's other tests have one thread, and under a
    /// race detector take ten times as long for nothing. All of them if there are no such names.
    Threaded,
}

impl Tests {
    fn of(self, subject: &Subject) -> Vec<&str> {
        let all = subject.tests.iter().map(String::as_str);
        let threaded = all.clone().filter(|test| test.ends_with("_threads"));
        match self {
            Self::Threaded if threaded.clone().next().is_some() => threaded.collect(),
            _ => all.collect(),
        }
    }
}

/// Runs the tests of every crate with `unsafe`, each command completed by `prepare`.
pub(crate) fn run(
    workspace: &Workspace,
    tree: &Tree,
    target_dir: &str,
    tests: Tests,
    prepare: impl Fn(Invocation) -> Invocation,
) -> TestRun {
    let mut run = TestRun::default();
    for subject in subjects(tree) {
        let words = format!(
            "+nightly test -p {} --all-features --no-fail-fast --target {SANITIZER_TARGET} --lib",
            subject.package
        );
        let cargo = Invocation::cargo(workspace, &words)
            .args(tests.of(&subject).into_iter().flat_map(|test| ["--test", test]))
            .target_dir(&workspace.target_dir(target_dir));
        run += prepare(cargo).test();
    }
    run
}

/// Crates with `unsafe` code of their own.
///
/// Proc macros are left out, since they run inside the compiler, which is not instrumented; so
/// are the compile-fail tests, which would run a second compiler, and the loom models, which are
/// empty without `cfg(loom)`.
fn subjects(tree: &Tree) -> Vec<Subject> {
    let has_unsafe = |folder: &str| {
        tree.rust_files_below(&format!("{folder}/src"))
            .any(|(_, source)| source.expects_unsafe_code())
    };
    tree.crates()
        .into_iter()
        .filter(|member| member.manifest.get("lib", "proc-macro") != Some("true"))
        .filter(|member| has_unsafe(&member.folder))
        .map(|member| Subject {
            package: member.package,
            tests: member
                .tests
                .into_iter()
                .filter(|test| test != "compile_fail" && test != "loom")
                .collect(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_are_crates_with_unsafe_modules_and_their_plain_tests() {
        let unsafe_module = "#![expect(unsafe_code, reason = \"raw memory\")]\n";
        let tree = Tree::from_files([
            ("crates/a/Cargo.toml", "[package]\nname = \"a\"\n"),
            ("crates/a/src/lib.rs", "mod raw;"),
            ("crates/a/src/raw.rs", unsafe_module),
            ("crates/a/tests/compile_fail.rs", ""),
            ("crates/a/tests/loom.rs", ""),
            ("crates/a/tests/order.rs", ""),
            ("crates/a/tests/stress/main.rs", ""),
            ("crates/a/tests/common/mod.rs", ""),
            ("crates/safe/Cargo.toml", "[package]\nname = \"safe\"\n"),
            ("crates/safe/src/lib.rs", "// expect(unsafe_code) is not here\n"),
            ("crates/derive/Cargo.toml", "[package]\nname = \"d\"\n[lib]\nproc-macro = true\n"),
            ("crates/derive/src/lib.rs", unsafe_module),
        ]);
        let tests = vec!["order".to_owned(), "stress".to_owned()];
        assert_eq!(subjects(&tree), [Subject { package: "a".to_owned(), tests }]);
    }
    #[test]
    fn a_race_detector_gets_the_threaded_tests_of_crates_that_name_them() {
        let subject = |tests: &[&str]| Subject {
            package: "a".to_owned(),
            tests: tests.iter().map(|&test| test.to_owned()).collect(),
        };
        let named = subject(&["model", "forks_threads", "threads_of_one"]);
        assert_eq!(Tests::Threaded.of(&named), ["forks_threads"]);
        assert_eq!(Tests::All.of(&named).len(), 3);
        assert_eq!(Tests::Threaded.of(&subject(&["order", "stress"])), ["order", "stress"]);
    }
}
