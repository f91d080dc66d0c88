//! `cargo xtask asan`: finds uses after free, accesses out of bounds and leaks, in the code that users ship.
//!
//! The tests are optimised and have no debug assertions: a fault that an assertion reports in debug has to be caught by other
//! means here. The step `unit` runs the same tests in debug.

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
            .args(["--release"])
            .env("RUSTFLAGS", "-Zsanitizer=address")
            // Reports name functions and lines with the linker's symbolizer. An allocation that is too large fails, as without
            // the sanitizer, instead of ending the test.
            .env_default(
                "ASAN_OPTIONS",
                "detect_leaks=1:allow_addr2line=1:allocator_may_return_null=1",
            )
    });
    Outcome::Tested(tests)
}
