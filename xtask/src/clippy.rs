//! `cargo xtask clippy`.

use crate::invocation::Invocation;
use crate::step::Outcome;
use crate::toolchain;
use crate::workspace::Workspace;

pub(crate) fn run(workspace: &Workspace) -> Outcome {
    if let Err(remedy) = toolchain::component("clippy", "clippy") {
        return Outcome::ToolMissing(remedy);
    }
    let words = "clippy --workspace --all-targets --all-features -- -D warnings";
    Outcome::Checked { passed: Invocation::cargo(workspace, words).check() }
}
