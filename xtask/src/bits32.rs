//! `cargo xtask 32bit`: compiles the library for platforms with 32-bit addresses.
//!
//! One of them is wasm32, which also has no threads and no clock.

use crate::build_std::Compiler;
use crate::invocation::Invocation;
use crate::step::Outcome;
use crate::workspace::Workspace;

/// The folder of this step's builds.
pub(crate) const BUILD: &str = "32bit";

/// Targets, and the crates of the standard library that are built for each.
const TARGETS: [(&str, &str); 2] =
    [("i686-unknown-linux-gnu", "std,panic_unwind"), ("wasm32-unknown-unknown", "std,panic_abort")];

pub(crate) fn run(workspace: &Workspace) -> Outcome {
    let compiler = match Compiler::find(workspace) {
        Ok(compiler) => compiler,
        Err(remedy) => return Outcome::ToolMissing(remedy),
    };
    let check = |(target, library): (&str, &str)| {
        let words = format!(
            "+nightly check -p ancho --all-features -Zbuild-std={library} --target {target}"
        );
        let cargo = Invocation::cargo(workspace, &words).target_dir(&workspace.target_dir(BUILD));
        compiler.choose(cargo).check()
    };
    // All targets are checked, so that one run reports all errors.
    let results = TARGETS.map(check);
    Outcome::Checked { passed: results.iter().all(|&passed| passed) }
}
