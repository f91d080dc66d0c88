//! `cargo xtask 32bit`: the library compiles for platforms with 32-bit addresses.
//!
//! wasm32 is one without threads and clock, too.

use crate::build_std::Compiler;
use crate::invocation::Invocation;
use crate::step::Outcome;
use crate::workspace::Workspace;

/// The folder of its builds.
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
    // All of them, so that one run names all faults.
    let results = TARGETS.map(check);
    Outcome::Checked { passed: results.iter().all(|&passed| passed) }
}
