//! `cargo xtask testrelease`: the tests on the code that users ship.

use crate::invocation::Invocation;
use crate::step::Outcome;
use crate::unit;
use crate::workspace::Workspace;

pub(crate) fn run(workspace: &Workspace) -> Outcome {
    // Doctests and compile-fail tests have no other code in release.
    let words = "test --release --workspace --exclude xtask --all-features --no-fail-fast";
    Outcome::Tested(unit::plain_tests(workspace, Invocation::cargo(workspace, words)).test())
}
