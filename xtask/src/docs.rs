//! `cargo xtask docs`.

use crate::invocation::Invocation;
use crate::step::Outcome;
use crate::workspace::Workspace;

pub(crate) fn run(workspace: &Workspace) -> Outcome {
    let passed = Invocation::cargo(workspace, "doc --workspace --no-deps --all-features")
        .env("RUSTDOCFLAGS", "-D warnings")
        .check();
    Outcome::Checked { passed }
}
