//! The steps of the test command, in the order in which they run.

use crate::tally::TestRun;
use crate::workspace::Workspace;
use crate::{
    arm, asan, bits32, clippy, docs, examples, fmt, fuzz, loom, peers_check, samples, testrelease,
    tidy, tsan, unit,
};

/// One step of `cargo xtask test`, which is also a command of its own.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) name: &'static str,
    /// One line for `cargo xtask help`.
    pub(crate) about: &'static str,
    /// True if `--quick` excludes the step.
    pub(crate) heavy: bool,
    /// The folder below the target directory that only this step uses. A build server deletes the folder after the step, since
    /// the folders of all steps together need too much space.
    pub(crate) own_build: Option<&'static str>,
    pub(crate) run: fn(&Workspace) -> Outcome,
}

/// The result of a step.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Outcome {
    /// A yes-or-no check ran.
    Checked { passed: bool },
    /// Tests ran and were counted.
    Tested(TestRun),
    /// The tree contains nothing for this step. The text names what was searched for.
    NothingToDo(String),
    /// The machine lacks a tool. The text names the tool and its installation. Fails under `CI=true`, where a check that silently
    /// stops running is worse than one that fails.
    ToolMissing(String),
}

pub(crate) const STEPS: &[Step] = &[
    Step {
        name: "fmt",
        about: "checks the formatting of every crate",
        heavy: false,
        own_build: None,
        run: fmt::run,
    },
    Step {
        name: "tidy",
        about: "checks rules of the tree that the compiler does not check",
        heavy: false,
        own_build: None,
        run: tidy::run,
    },
    Step {
        name: "clippy",
        about: "runs clippy on all targets with all features; warnings are errors",
        heavy: false,
        own_build: None,
        run: clippy::run,
    },
    Step {
        name: "docs",
        about: "builds the documentation; warnings are errors",
        heavy: true,
        own_build: None,
        run: docs::run,
    },
    Step {
        name: "unit",
        about: "runs unit and integration tests in debug, with all features",
        heavy: false,
        own_build: None,
        run: unit::run,
    },
    Step {
        name: "doctests",
        about: "runs the examples in the documentation",
        heavy: true,
        own_build: None,
        run: unit::run_doctests,
    },
    Step {
        name: "compile-fail",
        about: "compares the errors of the compiler for wrong programs with the expected ones",
        heavy: true,
        own_build: None,
        run: unit::run_compile_fail,
    },
    Step {
        name: "features",
        about: "runs the tests of each crate without its default features",
        heavy: true,
        own_build: None,
        run: unit::run_without_features,
    },
    Step {
        name: "testrelease",
        about: "runs unit tests, tests with threads, and tests that `asan` skips, optimised and without debug assertions",
        heavy: true,
        own_build: None,
        run: testrelease::run,
    },
    Step {
        name: "loom",
        about: "explores thread interleavings of the `tests/loom.rs` models",
        heavy: true,
        own_build: Some(loom::BUILD),
        run: loom::run,
    },
    Step {
        name: "asan",
        about: "runs the tests of crates with `unsafe` under AddressSanitizer, without debug assertions",
        heavy: true,
        own_build: Some(asan::BUILD),
        run: asan::run,
    },
    Step {
        name: "tsan",
        about: "runs tests with several threads under ThreadSanitizer, with an instrumented standard library",
        heavy: true,
        own_build: Some(tsan::BUILD),
        run: tsan::run,
    },
    Step {
        name: "fuzz",
        about: "passes mutated input to the readers of untrusted bytes, 30 seconds each",
        heavy: true,
        own_build: Some(fuzz::BUILD),
        run: fuzz::run,
    },
    Step {
        name: "samples",
        about: "runs the samples with several worker counts and CPU levels, and compares their hashes and the picture",
        heavy: true,
        own_build: None,
        run: samples::run,
    },
    Step {
        name: "examples",
        about: "builds and runs the programs in `examples/`, and compares the last line that each prints",
        heavy: true,
        own_build: None,
        run: examples::run,
    },
    Step {
        name: "arm",
        about: "compares the hashes of the samples, and runs the tests of bits, on aarch64 under qemu",
        heavy: true,
        own_build: Some(arm::BUILD),
        run: arm::run,
    },
    Step {
        name: "32bit",
        about: "checks that the library compiles for i686 and wasm32",
        heavy: true,
        own_build: Some(bits32::BUILD),
        run: bits32::run,
    },
    Step {
        name: "peers-check",
        about: "checks that the peer benchmark builds with its own lock file",
        heavy: true,
        own_build: None,
        run: peers_check::run,
    },
];

/// Finds a step by the name of its command.
pub(crate) fn find(name: &str) -> Option<&'static Step> {
    STEPS.iter().find(|step| step.name == name)
}
