//! `cargo xtask tsan`: data races.
//!
//! The standard library is built with the sanitizer too. Without that, the atomics inside `Arc`,
//! `Mutex` and the test harness are invisible to it, and it reports races that are none; hiding
//! those by suppressions hides true ones as well.

use std::fs;
use std::path::Path;

use crate::build_std::Compiler;
use crate::sanitizer::Tests;
use crate::step::Outcome;
use crate::toolchain::SANITIZER_TARGET;
use crate::workspace::Workspace;
use crate::{packages, sanitizer, toolchain};

/// The folder of its builds.
pub(crate) const BUILD: &str = "tsan";

pub(crate) fn run(workspace: &Workspace) -> Outcome {
    let tree = workspace.tree();
    if let Some(reason) = sanitizer::obstacle(&tree) {
        return Outcome::NothingToDo(reason);
    }
    let tools = packages::ensure_program("addr2line", "binutils")
        .and_then(|()| Compiler::find(workspace))
        .and_then(|compiler| add_runtime(&compiler).map(|()| compiler));
    let compiler = match tools {
        Ok(compiler) => compiler,
        Err(remedy) => return Outcome::ToolMissing(remedy),
    };
    let tests = sanitizer::run(workspace, &tree, BUILD, Tests::Threaded, |cargo| {
        compiler
            .choose(cargo)
            .args(["-Zbuild-std"])
            // Stand-alone fences are not modelled by the sanitizer; `cfg(tsan)` lets the code
            // that uses them say the same by stronger orderings.
            .env("RUSTFLAGS", "-Zsanitizer=thread --cfg tsan")
            .env_default("TSAN_OPTIONS", "allow_addr2line=1:allocator_may_return_null=1")
    });
    Outcome::Tested(tests)
}

/// Joins the nightly's sanitizer runtime to a compiler that comes without one.
fn add_runtime(compiler: &Compiler) -> Result<(), String> {
    let Some(libraries) = compiler.unpacked_libraries(SANITIZER_TARGET) else { return Ok(()) };
    let nightly = toolchain::nightly_sysroot()?;
    let runtime = format!("lib/rustlib/{SANITIZER_TARGET}/lib/librustc-nightly_rt.tsan.a");
    fs::copy(Path::new(&nightly).join(runtime), libraries.join("librustc-stable_rt.tsan.a"))
        .map(drop)
        .map_err(|error| format!("copying the sanitizer's runtime: {error}"))
}
