//! `cargo xtask math`: measures the errors of the mathematical functions, for all 2^32 arguments.
//!
//! This is not a step of the test command, since it takes every core for half an hour. The tests check samples of the arguments.

use crate::invocation::Invocation;
use crate::workspace::Workspace;

/// Measures the named functions, or all. Returns whether each is within its documented bound.
pub(crate) fn run(workspace: &Workspace, names: &[String]) -> bool {
    let words = "run --release -p ancho_burst --example exhaustive_math --";
    Invocation::cargo(workspace, words).args(names).check()
}
