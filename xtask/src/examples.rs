//! `cargo xtask examples`: builds and runs the programs in `examples/`, and compares the last line that each prints.

use crate::invocation::Invocation;
use crate::step::Outcome;
use crate::tally::{Tally, TestRun};
use crate::tree::Tree;
use crate::workspace::Workspace;

/// The folder of the package, whose programs are its Rust files.
const FOLDER: &str = "examples";

/// The beginning of the line of a program's documentation that contains its expected last line, in backticks.
const LAST_LINE: &str = "//! Last line: `";

pub(crate) fn run(workspace: &Workspace) -> Outcome {
    let programs = programs(&workspace.tree());
    if programs.is_empty() {
        return Outcome::NothingToDo(format!("no programs in `{FOLDER}/`"));
    }
    // All features, so that the libraries are those that `testrelease` has built.
    let flags = "--release --workspace --exclude xtask --all-features";
    let build = Invocation::cargo(workspace, &format!("build {flags}"));
    if !build.args(programs.iter().flat_map(Program::arguments)).check() {
        return Outcome::Checked { passed: false };
    }
    let tested = programs.iter().filter(|program| program.has_tests);
    let test = Invocation::cargo(workspace, &format!("test {flags} --no-fail-fast"));
    let mut run = test.args(tested.flat_map(Program::arguments)).test();
    for program in &programs {
        let path = workspace.target_dir("release/examples").join(&program.name);
        let verdict = Invocation::new(path).capture().and_then(|printed| program.check(&printed));
        match verdict {
            Ok(()) => {
                println!("{}: {}", program.name, program.last_line.as_deref().unwrap_or_default());
                run.tally += Tally { passed: 1, ..Tally::default() };
            }
            Err(error) => {
                let failure = format!("{}: {error}", program.name);
                println!("{failure}");
                run += TestRun {
                    tally: Tally { failed: 1, ..Tally::default() },
                    failures: vec![failure],
                };
            }
        }
    }
    Outcome::Tested(run)
}

/// A program, and the line that it must print last.
#[derive(Debug)]
struct Program {
    name: String,
    last_line: Option<String>,
    has_tests: bool,
}

impl Program {
    /// Returns the arguments that select the program for cargo.
    fn arguments(&self) -> [&str; 2] {
        ["--example", &self.name]
    }

    /// Compares the last line of the output.
    fn check(&self, printed: &str) -> Result<(), String> {
        let last = printed.lines().last().unwrap_or_default();
        match &self.last_line {
            Some(expected) if expected == last => Ok(()),
            Some(expected) => {
                Err(format!("the last line is `{last}`, but `{expected}` in its documentation"))
            }
            None => Err(format!("its documentation has no line `{LAST_LINE}{last}`")),
        }
    }
}

/// Lists the programs in the order of their names.
fn programs(tree: &Tree) -> Vec<Program> {
    let files = tree.rust_files_below(FOLDER);
    files
        .filter_map(|(path, source)| {
            let name = path.strip_prefix(FOLDER)?.strip_prefix('/')?.strip_suffix(".rs")?;
            let mut lines = source.text().lines();
            let last_line = lines.find_map(|line| line.strip_prefix(LAST_LINE)?.strip_suffix('`'));
            (!name.contains('/')).then(|| Program {
                name: name.to_owned(),
                last_line: last_line.map(str::to_owned),
                has_tests: source.text().contains("#[test]"),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_the_files_of_the_folder() {
        let tree = Tree::from_files([
            ("examples/a.rs", "//! A.\n//!\n//! Last line: `won`\nfn main() {}\n"),
            ("examples/b.rs", "fn main() {}\n#[test]\nfn adds() {}\n"),
            ("examples/parts/c.rs", ""),
            ("samples/src/main.rs", ""),
        ]);
        let [a, b] = <[Program; 2]>::try_from(programs(&tree)).unwrap();
        assert_eq!((&*a.name, a.last_line.as_deref(), a.has_tests), ("a", Some("won"), false));
        assert_eq!((&*b.name, b.last_line, b.has_tests), ("b", None, true));
    }

    #[test]
    fn the_last_line_is_compared() {
        let program = |last_line: Option<&str>| Program {
            name: "a".to_owned(),
            last_line: last_line.map(str::to_owned),
            has_tests: false,
        };
        let silent = program(None);
        let program = program(Some("won"));
        assert_eq!(program.check("lost\nwon\n"), Ok(()));
        let error = program.check("won\nlost\n").unwrap_err();
        assert_eq!(error, "the last line is `lost`, but `won` in its documentation");
        assert!(silent.check("won\n").unwrap_err().contains("//! Last line: `won"));
    }

    #[test]
    fn every_program_of_the_tree_is_declared_and_short() {
        let tree = Workspace::locate().tree();
        let manifest = tree.text("examples/Cargo.toml").unwrap_or_default();
        for (path, source) in tree.rust_files_below(FOLDER) {
            let file = path.trim_start_matches("examples/");
            assert!(
                manifest.contains(&format!("path = \"{file}\"")),
                "{path} is not in the manifest"
            );
            let lines = source.text().lines().count();
            assert!(lines <= 200, "{path} has {lines} lines; a program to copy has at most 200");
        }
    }
}
