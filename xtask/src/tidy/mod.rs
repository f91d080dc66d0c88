//! `cargo xtask tidy`: rules of the tree that the compiler does not check.
//!
//! A rule is a function from the [`Tree`] to its findings, in its own file. Every finding names the place, the problem and the
//! remedy.

mod architecture;
mod crate_direction;
mod dependencies;
mod error_pages;
mod file_length;
mod manifests;
mod module_direction;
mod old_names;
mod prose;
mod readme;
mod safety_comments;
mod unfinished;
mod unsafe_modules;
mod unsafe_uses;
mod use_paths;
mod wording;

use std::fmt;

use crate::step::Outcome;
use crate::tree::Tree;
use crate::workspace::Workspace;

/// A finding of a rule at a place.
#[derive(Debug, Eq, PartialEq)]
struct Finding {
    path: String,
    /// The number of the line, from 1.
    line: usize,
    /// The problem in one sentence, and the remedy in another.
    message: String,
    weight: Weight,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Weight {
    Failure,
    /// The finding is printed, and is not a failure.
    Note,
}

impl Finding {
    fn failure(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into(), weight: Weight::Failure }
    }

    fn note(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { weight: Weight::Note, ..Self::failure(path, line, message) }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let weight = match self.weight {
            Weight::Failure => "",
            Weight::Note => "note: ",
        };
        write!(f, "{}:{}: {weight}{}", self.path, self.line, self.message)
    }
}

/// The rules that need only the text of the tree.
const RULES: &[fn(&Tree) -> Vec<Finding>] = &[
    crate_direction::check,
    error_pages::check,
    file_length::check,
    manifests::check,
    module_direction::check,
    old_names::check,
    readme::check,
    safety_comments::check,
    unfinished::check,
    unsafe_modules::check,
    wording::check,
];

pub(crate) fn run(workspace: &Workspace) -> Outcome {
    let findings = findings(workspace);
    for finding in &findings {
        println!("{finding}");
    }
    let failures = findings.iter().filter(|finding| finding.weight == Weight::Failure).count();
    println!("tidy: {failures} failures, {} notes", findings.len() - failures);
    Outcome::Checked { passed: failures == 0 }
}

fn findings(workspace: &Workspace) -> Vec<Finding> {
    let tree = workspace.tree();
    let mut findings: Vec<Finding> = RULES.iter().flat_map(|rule| rule(&tree)).collect();
    findings.extend(dependencies::check(workspace, &tree));
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_is_tidy() {
        let failures: Vec<String> = findings(&Workspace::locate())
            .iter()
            .filter(|finding| finding.weight == Weight::Failure)
            .map(Finding::to_string)
            .collect();
        assert!(failures.is_empty(), "\n{}", failures.join("\n"));
    }
}

/// Shared code of the rules' tests.
#[cfg(test)]
mod test_support {
    use super::Finding;
    use crate::tree::Tree;

    /// Returns the printed findings of one rule for an invented tree.
    pub(super) fn printed<const N: usize>(
        rule: fn(&Tree) -> Vec<Finding>,
        files: [(&str, &str); N],
    ) -> Vec<String> {
        rule(&Tree::from_files(files)).iter().map(Finding::to_string).collect()
    }
}
