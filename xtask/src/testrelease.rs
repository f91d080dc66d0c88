//! `cargo xtask testrelease`: runs the tests in release, on the code that users ship.
//!
//! The step [`asan`](crate::asan) runs most tests of crates with `unsafe` without debug assertions. Of these crates, this step runs
//! the unit tests, the tests that `asan` skips, and the tests with several threads, which depend on timing.

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
        let threaded = sanitizer::subjects(&tree, Tests::Threaded);
        for Subject { package, tests } in sanitizer::subjects(&tree, Tests::All) {
            let is_threaded = |test: &String| {
                threaded.iter().any(|of| of.package == package && of.tests.contains(test))
            };
            let of_subject = members.iter_mut().filter(|member| member.package == package);
            of_subject.for_each(|member| {
                member.tests.retain(|test| !tests.contains(test) || is_threaded(test));
            });
        }
    }
    let cargo = Invocation::cargo(workspace, words);
    Outcome::Tested(unit::plain_tests(&members, cargo).test())
}
