//! `cargo xtask math`: the errors of the mathematical functions, for all 2^32 arguments.
//!
//! Not a step of the test command: it takes every core for half an hour. The tests try samples.

use crate::invocation::Invocation;
use crate::workspace::Workspace;

/// Measures the functions named, or all; true when each is within the bound it documents.
pub(crate) fn run(workspace: &Workspace, names: &[String]) -> bool {
    let words = "run --release -p ancho_burst --example exhaustive_math --";
    Invocation::cargo(workspace, words).args(names).check()
}
