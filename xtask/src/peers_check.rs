//! `cargo xtask peers-check`: checks that the peer benchmark builds.

use crate::invocation::Invocation;
use crate::step::Outcome;
use crate::workspace::Workspace;

pub(crate) fn run(workspace: &Workspace) -> Outcome {
    if !workspace.root.join("benches-peers/Cargo.toml").exists() {
        return Outcome::NothingToDo("no workspace `benches-peers`".to_owned());
    }
    // Locked: figures of different versions of a peer cannot be compared.
    let words = "check --locked --all-targets --manifest-path benches-peers/Cargo.toml";
    Outcome::Checked { passed: Invocation::cargo(workspace, words).check() }
}
