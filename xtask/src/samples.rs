//! `cargo xtask samples`: the gallery, without a window.

use crate::invocation::Invocation;
use crate::step::Outcome;
use crate::workspace::Workspace;

pub(crate) fn run(workspace: &Workspace) -> Outcome {
    if !workspace.root.join("samples/Cargo.toml").exists() {
        return Outcome::NothingToDo("no crate `samples` in the workspace".to_owned());
    }
    let words = "run --release -p samples -- check";
    Outcome::Checked { passed: Invocation::cargo(workspace, words).check() }
}
