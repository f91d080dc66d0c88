//! `cargo xtask testrelease`: the tests on the code that users ship.

use crate::invocation::Invocation;
use crate::step::Outcome;
use crate::workspace::Workspace;

/// Where cargo puts what the profile of that name makes.
pub(crate) const BUILD: &str = "testrelease";

pub(crate) fn run(workspace: &Workspace) -> Outcome {
    // Naming the targets leaves out the doctests, which are slow to build and test no other code.
    let words = "test --workspace --all-features --profile testrelease --lib --bins --tests \
                 --no-fail-fast";
    Outcome::Tested(Invocation::cargo(workspace, words).test())
}
