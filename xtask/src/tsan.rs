//! `cargo xtask tsan`: finds data races.
//!
//! The standard library is built with the sanitizer too. Otherwise the sanitizer does not see the atomics inside `Arc`, `Mutex`
//! and the test harness, and reports false races. Suppressions for those would hide true races as well.

use std::fs;
use std::path::Path;

use crate::build_std::Compiler;
use crate::sanitizer::Tests;
use crate::step::Outcome;
use crate::toolchain::SANITIZER_TARGET;
use crate::workspace::Workspace;
use crate::{packages, sanitizer, toolchain};

/// The folder of this step's builds.
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
            // The sanitizer does not model stand-alone fences. With `cfg(tsan)`, the code uses stronger orderings instead.
            .env("RUSTFLAGS", "-Zsanitizer=thread --cfg tsan")
            .env_default("TSAN_OPTIONS", "allow_addr2line=1:allocator_may_return_null=1")
    });
    Outcome::Tested(tests)
}

/// Adds the nightly's sanitizer runtime to a compiler that has none.
fn add_runtime(compiler: &Compiler) -> Result<(), String> {
    let Some(libraries) = compiler.unpacked_libraries(SANITIZER_TARGET) else { return Ok(()) };
    let nightly = toolchain::nightly_sysroot()?;
    let runtime = format!("lib/rustlib/{SANITIZER_TARGET}/lib/librustc-nightly_rt.tsan.a");
    fs::copy(Path::new(&nightly).join(runtime), libraries.join("librustc-stable_rt.tsan.a"))
        .map(drop)
        .map_err(|error| format!("copying the sanitizer's runtime: {error}"))
}
