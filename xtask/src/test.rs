//! `cargo xtask test`: runs every step, and prints one summary.

use std::fs;
use std::time::Instant;

use crate::report::{self, Row};
use crate::step::{Outcome, STEPS, Step};
use crate::unit;
use crate::workspace::{self, Workspace};

/// The arguments of `cargo xtask test`.
#[derive(Debug, Default)]
pub(crate) struct Options {
    /// The only crate to test, by the name of its package or folder.
    pub(crate) package: Option<String>,
    /// Parts of the names of the tests to run; all tests if empty. Requires `package`.
    pub(crate) filter: Vec<String>,
    /// Skips the heavy steps.
    pub(crate) quick: bool,
    /// Stops at the first step that fails. Otherwise one run reports all failures.
    pub(crate) fail_fast: bool,
}

/// Runs the steps. Returns whether all passed.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> bool {
    if let Some(name) = &options.package {
        return run_package(workspace, name, options);
    }
    let (left_out, chosen): (Vec<&Step>, Vec<&Step>) =
        STEPS.iter().partition(|step| options.quick && step.heavy);
    let left_out: Vec<&str> = left_out.iter().map(|step| step.name).collect();
    run_steps(workspace, &chosen, options.fail_fast, &left_out)
}

/// Tests one crate. Returns whether all tests passed.
fn run_package(workspace: &Workspace, name: &str, options: &Options) -> bool {
    let members = workspace.tree().members();
    let Some(member) = members.iter().find(|member| member.is_called(name)) else {
        let names: Vec<&str> = members.iter().map(|member| member.package.as_str()).collect();
        println!("no crate `{name}` in the workspace; there are {}", names.join(", "));
        return false;
    };
    let start = Instant::now();
    let outcome = unit::run_package(workspace, member, &options.filter, options.quick);
    report_one("test", outcome, start)
}

/// Prints the summary of one step that began at `start`. Returns whether it passed.
pub(crate) fn report_one(step: &'static str, outcome: Outcome, start: Instant) -> bool {
    let rows = [Row { step, outcome, time: start.elapsed() }];
    print!("{}", report::failures(&rows));
    println!("\n{}", report::summary(&rows, &[], workspace::is_ci()));
    !failed(&rows, workspace::is_ci())
}

/// Runs `steps` in order and prints the summary. Returns whether all passed.
pub(crate) fn run_steps(
    workspace: &Workspace,
    steps: &[&Step],
    fail_fast: bool,
    left_out: &[&str],
) -> bool {
    let ci = workspace::is_ci();
    let mut rows: Vec<Row> = Vec::new();
    for step in steps {
        println!("\n== {} ==", step.name);
        let start = Instant::now();
        let outcome = (step.run)(workspace);
        if ci && let Some(build) = step.own_build {
            // The error is ignored: a remaining folder only takes space.
            let _ = fs::remove_dir_all(workspace.target_dir(build));
        }
        rows.push(Row { step: step.name, outcome, time: start.elapsed() });
        if fail_fast && failed(&rows, ci) {
            break;
        }
    }
    print!("{}", report::failures(&rows));
    println!("\n{}", report::summary(&rows, left_out, ci));
    !failed(&rows, ci)
}

fn failed(rows: &[Row], ci: bool) -> bool {
    rows.iter().any(|row| row.tally(ci).failed > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSES: Step = Step {
        name: "passes",
        about: "",
        heavy: false,
        own_build: None,
        run: |_| Outcome::Checked { passed: true },
    };
    const FAILS: Step = Step {
        name: "fails",
        about: "",
        heavy: false,
        own_build: None,
        run: |_| Outcome::Checked { passed: false },
    };
    const MUST_NOT_RUN: Step = Step {
        name: "must-not-run",
        about: "",
        heavy: false,
        own_build: None,
        run: |_| panic!("it ran"),
    };

    #[test]
    fn one_failed_step_fails_the_run() {
        let workspace = Workspace::locate();
        assert!(run_steps(&workspace, &[&PASSES], false, &[]));
        assert!(!run_steps(&workspace, &[&FAILS, &PASSES], false, &[]));
    }

    #[test]
    fn fail_fast_stops_at_the_first_failure() {
        assert!(!run_steps(&Workspace::locate(), &[&FAILS, &MUST_NOT_RUN], true, &[]));
    }
}
