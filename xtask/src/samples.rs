//! `cargo xtask samples`: the gallery, without a window; `cargo xtask picture`: the picture in the README.

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

/// Draws the picture anew. It is the same on every machine.
pub(crate) fn draw_picture(workspace: &Workspace) -> bool {
    let words = "run --release -p samples -- battle --view none --frames 600 \
                 --picture samples/battle.svg";
    Invocation::cargo(workspace, words).check()
}
