//! `cargo xtask asan`: use after free, out of bounds, leaks.

use crate::sanitizer::Tests;
use crate::step::Outcome;
use crate::workspace::Workspace;
use crate::{packages, sanitizer, toolchain};

/// The folder of its builds.
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
            // Reports name functions and lines with the symbolizer that comes with the linker. A request
            // for too much memory is refused, as it is without the sanitizer, and not an error.
            .env_default(
                "ASAN_OPTIONS",
                "detect_leaks=1:allow_addr2line=1:allocator_may_return_null=1",
            )
    });
    Outcome::Tested(tests)
}
