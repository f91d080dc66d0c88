//! `cargo xtask asan`: finds uses after free, accesses out of bounds and leaks.
//!
//! The tests have no debug assertions, as in the code that users ship: a fault that an assertion reports in the step `unit` has
//! to be caught by other means here. The tests are not optimised, because optimised builds take three times as long with the
//! sanitizer.

use crate::sanitizer::Tests;
use crate::step::Outcome;
use crate::workspace::Workspace;
use crate::{packages, sanitizer, toolchain};

/// The folder of this step's builds.
pub(crate) const BUILD: &str = "asan";

pub(crate) fn run(workspace: &Workspace) -> Outcome {
    let tree = workspace.tree();
    if let Some(reason) = sanitizer::obstacle(&tree) {
        return Outcome::NothingToDo(reason);
    }
    let tools =
        toolchain::nightly().and_then(|()| packages::ensure_program("addr2line", "binutils"));
    if let Err(remedy) = tools {
        return Outcome::ToolMissing(remedy);
    }
    let tests = sanitizer::run(workspace, &tree, BUILD, Tests::All, |cargo| {
        cargo
            .env("RUSTFLAGS", "-Zsanitizer=address")
            .env("CARGO_PROFILE_DEV_DEBUG_ASSERTIONS", "false")
            .env("CARGO_PROFILE_DEV_OVERFLOW_CHECKS", "false")
            // Reports name functions and lines with the linker's symbolizer. An allocation that is too large fails, as without
            // the sanitizer, instead of ending the test.
            .env_default(
                "ASAN_OPTIONS",
                "detect_leaks=1:allow_addr2line=1:allocator_may_return_null=1",
            )
            // Only optimised code has vectorised loops.
            .args(["--", "--skip", "vectorised::"])
    });
    Outcome::Tested(tests)
}
