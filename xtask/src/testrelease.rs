//! `cargo xtask testrelease`: runs the tests in release, on the code that users ship.

use crate::invocation::Invocation;
use crate::step::Outcome;
use crate::unit;
use crate::workspace::Workspace;

pub(crate) fn run(workspace: &Workspace) -> Outcome {
    // Doctests and compile-fail tests are not affected by optimisation.
    let words = "test --release --workspace --exclude xtask --all-features --no-fail-fast";
    Outcome::Tested(unit::plain_tests(workspace, Invocation::cargo(workspace, words)).test())
}
