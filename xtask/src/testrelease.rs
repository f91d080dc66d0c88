//! `cargo xtask testrelease`: runs the tests in release, on the code that users ship.
//!
//! The test binaries that [`asan`](crate::asan) runs are left out: it runs them in release too, so that each is compiled with
//! optimisation once.

use crate::invocation::Invocation;
use crate::sanitizer::{Subject, Tests};
use crate::step::Outcome;
use crate::workspace::Workspace;
use crate::{sanitizer, unit};

pub(crate) fn run(workspace: &Workspace) -> Outcome {
    // Doctests and compile-fail tests are not affected by optimisation.
    let words = "test --release --workspace --exclude xtask --all-features --no-fail-fast";
    let tree = workspace.tree();
    let mut members = tree.members();
    if sanitizer::obstacle(&tree).is_none() {
        for Subject { package, tests } in sanitizer::subjects(&tree, Tests::All) {
            let of_subject = members.iter_mut().filter(|member| member.package == package);
            of_subject.for_each(|member| member.tests.retain(|test| !tests.contains(test)));
        }
    }
    let cargo = Invocation::cargo(workspace, words);
    Outcome::Tested(unit::plain_tests(&members, cargo).test())
}
