//! `samples/hashes.txt`: the state hash of each sample, the same on every machine.
//!
//! A line contains a sample, its number of entities, its seed, a number of frames and the hash after them. `-` stands for the
//! default, or for an option that the sample does not have. Lines that begin with `#` are comments.

use std::fmt::Write;
use std::fs;

use crate::invocation::Invocation;
use crate::tally::{Tally, TestRun};
use crate::workspace::Workspace;

/// The path of the file from the root of the workspace.
const FILE: &str = "samples/hashes.txt";

/// The comment that begins the file.
const HEADER: &str = "\
# The state hash of each sample, the same on every machine. `cargo xtask samples` compares it on this machine,
# `cargo xtask arm` on ARM; `cargo xtask samples --update` rewrites it. A commit that changes a line says why.
# sample           entities  seed frames  hash
";

/// Number of frames for a sample that has no line yet.
const FRAMES: &str = "120";

/// A line: the run, and its hash.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Line {
    sample: String,
    entities: String,
    seed: String,
    frames: String,
    hash: String,
}

impl Line {
    fn parse(line: &str) -> Result<Self, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let Ok([sample, entities, seed, frames, hash]) = <[String; 5]>::try_from(words) else {
            return Err(format!(
                "{FILE}: a line is sample, entities, seed, frames and hash, not `{line}`"
            ));
        };
        Ok(Self { sample, entities, seed, frames, hash })
    }

    fn of_new_sample(sample: &str) -> Self {
        let none = || "-".to_owned();
        let (sample, frames) = (sample.to_owned(), FRAMES.to_owned());
        Self { sample, entities: none(), seed: none(), frames, hash: none() }
    }

    /// Returns the arguments for the gallery.
    fn arguments(&self) -> Vec<&str> {
        let mut arguments = vec![self.sample.as_str(), "--view", "none", "--frames", &self.frames];
        for (option, value) in [("--entities", &self.entities), ("--seed", &self.seed)] {
            if value != "-" {
                arguments.extend([option, value]);
            }
        }
        arguments
    }

    /// Runs the gallery, and returns the hash that it prints.
    fn run(&self, gallery: Invocation) -> Result<String, String> {
        let printed = gallery.args(self.arguments()).capture()?;
        let hash = printed.lines().find_map(|line| line.strip_prefix("state hash "));
        hash.map(|hash| hash.trim().to_owned())
            .ok_or_else(|| format!("`{}` printed no state hash", self.sample))
    }
}

/// Runs all lines with a gallery, and compares the hashes. Each line counts as a test.
pub(crate) fn compare(workspace: &Workspace, gallery: impl Fn() -> Invocation) -> TestRun {
    match read(workspace).and_then(|lines| add_missing(lines, gallery())) {
        Ok(lines) => compare_lines(&lines, gallery),
        Err(error) => {
            println!("{error}");
            let tally = Tally { failed: 1, ..Tally::default() };
            TestRun { tally, failures: vec![error] }
        }
    }
}

fn compare_lines(lines: &[Line], gallery: impl Fn() -> Invocation) -> TestRun {
    let mut run = TestRun::default();
    for line in lines {
        let what = line.arguments().join(" ");
        let verdict = match line.run(gallery()) {
            Ok(hash) if hash == line.hash => Ok(hash),
            Ok(hash) => Err(format!("{what}: {hash}, but {} in {FILE}", line.hash)),
            Err(error) => Err(format!("{what}: {error}")),
        };
        match verdict {
            Ok(hash) => {
                println!("{what}: {hash}");
                run.tally += Tally { passed: 1, ..Tally::default() };
            }
            Err(failure) => {
                println!("{failure}");
                run.tally += Tally { failed: 1, ..Tally::default() };
                run.failures.push(failure);
            }
        }
    }
    run
}

/// Writes the current hashes to all lines, and adds a line for each sample that has none.
pub(crate) fn update(workspace: &Workspace, gallery: impl Fn() -> Invocation) -> bool {
    let updated = read(workspace).and_then(|lines| {
        let mut lines = add_missing(lines, gallery())?;
        for line in &mut lines {
            let hash = line.run(gallery())?;
            if hash != line.hash {
                println!("{}: {hash} instead of {}", line.arguments().join(" "), line.hash);
            }
            line.hash = hash;
        }
        let file = workspace.root.join(FILE);
        fs::write(file, render(&lines)).map_err(|error| format!("{FILE}: {error}"))
    });
    match updated {
        Ok(()) => true,
        Err(error) => {
            println!("{error}");
            false
        }
    }
}

fn read(workspace: &Workspace) -> Result<Vec<Line>, String> {
    let text = fs::read_to_string(workspace.root.join(FILE));
    parse(&text.map_err(|error| format!("{FILE}: {error}"))?)
}

fn parse(text: &str) -> Result<Vec<Line>, String> {
    text.lines()
        .filter(|line| !line.starts_with('#') && !line.trim().is_empty())
        .map(Line::parse)
        .collect()
}

/// Adds a line for each sample of the gallery that has none.
fn add_missing(mut lines: Vec<Line>, gallery: Invocation) -> Result<Vec<Line>, String> {
    let list = gallery.args(["list"]).capture()?;
    for sample in list.lines().filter_map(|line| line.split_whitespace().next()) {
        if !lines.iter().any(|line| line.sample == sample) {
            lines.push(Line::of_new_sample(sample));
        }
    }
    Ok(lines)
}

fn render(lines: &[Line]) -> String {
    let mut text = String::from(HEADER);
    for Line { sample, entities, seed, frames, hash } in lines {
        let _ = writeln!(text, "{sample:<18} {entities:>8} {seed:>5} {frames:>6}  {hash}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_written_is_read_again() {
        let line = |words: &str| Line::parse(words).unwrap();
        let lines =
            [line("boids 2000 1 30 00c0ffee00c0ffee"), line("life - - 120 1234567812345678")];
        assert_eq!(parse(&render(&lines)).unwrap(), lines);
    }

    #[test]
    fn a_hash_that_differs_is_reported_with_both() {
        let lines = parse("boids - - 1 00c0ffee\nlife - - 1 00000000\n").unwrap();
        let gallery = || Invocation::new("sh").args(["-c", "echo 'state hash  00c0ffee'", "sh"]);
        let run = compare_lines(&lines, gallery);
        assert_eq!(run.tally, Tally { passed: 1, failed: 1, skipped: 0 });
        let expected = "life --view none --frames 1: 00c0ffee, but 00000000 in samples/hashes.txt";
        assert_eq!(run.failures, [expected]);
    }

    #[test]
    fn options_are_given_to_the_gallery_where_a_sample_has_them() {
        let arguments = |words: &str| Line::parse(words).unwrap().arguments().join(" ");
        assert_eq!(
            arguments("boids 2000 1 30 0"),
            "boids --view none --frames 30 --entities 2000 --seed 1"
        );
        assert_eq!(arguments("life - - 120 0"), "life --view none --frames 120");
    }

    #[test]
    fn a_line_that_lacks_something_is_refused() {
        let error = parse("# sample\n\nboids 2000 1 30\n").unwrap_err();
        assert!(error.ends_with("not `boids 2000 1 30`"), "{error}");
    }
}
