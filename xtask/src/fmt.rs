//! `cargo xtask fmt`.

use crate::invocation::Invocation;
use crate::step::Outcome;
use crate::toolchain;
use crate::workspace::Workspace;

pub(crate) fn run(workspace: &Workspace) -> Outcome {
    if let Err(remedy) = toolchain::component("fmt", "rustfmt") {
        return Outcome::ToolMissing(remedy);
    }
    Outcome::Checked { passed: Invocation::cargo(workspace, "fmt --all --check").check() }
}
