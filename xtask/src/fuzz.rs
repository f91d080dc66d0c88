//! `cargo xtask fuzz`: passes mutated input to the readers of untrusted bytes, with libFuzzer.
//!
//! The targets are the executables of the workspace in `fuzz/`. Each has a committed corpus in `fuzz/corpus/TARGET`, which starts
//! from valid input. New inputs and the output of libFuzzer are kept below the target directory.

use std::fs;
use std::path::Path;

use crate::invocation::Invocation;
use crate::manifest::Manifest;
use crate::step::Outcome;
use crate::tally::{Tally, TestRun};
use crate::toolchain::{self, SANITIZER_TARGET};
use crate::workspace::Workspace;

/// The folder of this step's builds.
pub(crate) const BUILD: &str = "fuzz";

/// The manifest of the workspace that contains the targets.
const MANIFEST: &str = "fuzz/Cargo.toml";

/// The flags that make the compiler report which branches an input takes.
const COVERAGE: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
     -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
     -Cllvm-args=-sanitizer-coverage-trace-compares";

/// The arguments of `cargo xtask fuzz`.
#[derive(Debug, Default, Eq, PartialEq)]
pub(crate) struct Options {
    /// The targets to run; all targets if empty.
    targets: Vec<String>,
    /// The number of inputs for each target. Without it, a target runs for `seconds`.
    runs: Option<u64>,
    /// The time for each target; 30 seconds without it.
    seconds: Option<u64>,
    /// Builds with AddressSanitizer.
    asan: bool,
}

impl Options {
    /// Parses the words after `cargo xtask fuzz`.
    ///
    /// # Errors
    ///
    /// Returns a sentence for the user if a word is unknown or a value is missing.
    pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self::default();
        while let Some(word) = words.next() {
            let mut number = || {
                let value = words.next().ok_or_else(|| format!("`fuzz {word}` needs a number"))?;
                value.parse().map_err(|_| format!("`fuzz {word}` needs a number, found `{value}`"))
            };
            match word.as_str() {
                "--runs" => options.runs = Some(number()?),
                "--seconds" => options.seconds = Some(number()?),
                "--asan" => options.asan = true,
                flag if flag.starts_with('-') => {
                    return Err(format!("`fuzz` has no flag `{flag}`"));
                }
                _ => options.targets.push(word),
            }
        }
        Ok(options)
    }

    /// Returns the limit of a run as an argument of libFuzzer.
    fn limit(&self) -> String {
        match (self.runs, self.seconds) {
            (Some(runs), None) => format!("-runs={runs}"),
            (None, seconds) => format!("-max_total_time={}", seconds.unwrap_or(30)),
            (Some(runs), Some(seconds)) => format!("-runs={runs} -max_total_time={seconds}"),
        }
    }
}

/// Runs every target for 30 seconds.
pub(crate) fn run(workspace: &Workspace) -> Outcome {
    run_targets(workspace, &Options::default())
}

/// Builds and runs the selected targets.
pub(crate) fn run_targets(workspace: &Workspace, options: &Options) -> Outcome {
    let Ok(manifest) = fs::read_to_string(workspace.root.join(MANIFEST)) else {
        return Outcome::NothingToDo(format!("no workspace `{MANIFEST}`"));
    };
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Outcome::NothingToDo(format!("set up for {SANITIZER_TARGET} only"));
    }
    if let Err(remedy) = toolchain::nightly() {
        return Outcome::ToolMissing(remedy);
    }
    let all = Manifest::parse(&manifest).executables();
    if let Some(unknown) = options.targets.iter().find(|name| !all.contains(name)) {
        println!("no target `{unknown}` in `{MANIFEST}`; there are {}", all.join(", "));
        return Outcome::Checked { passed: false };
    }
    let target_dir = workspace.target_dir(if options.asan { "fuzz-asan" } else { BUILD });
    let flags =
        if options.asan { format!("{COVERAGE} -Zsanitizer=address") } else { COVERAGE.to_owned() };
    // Locked: figures in the README name the versions.
    let words = format!(
        "+nightly build --release --locked --manifest-path {MANIFEST} --target {SANITIZER_TARGET}"
    );
    let build = Invocation::cargo(workspace, &words).target_dir(&target_dir);
    if !build.env("RUSTFLAGS", flags).check() {
        return Outcome::Checked { passed: false };
    }
    let mut run = TestRun::default();
    for name in
        all.iter().filter(|name| options.targets.is_empty() || options.targets.contains(name))
    {
        let kept = target_dir.join("corpus").join(name);
        if let Err(error) = fs::create_dir_all(&kept) {
            println!("cannot create {}: {error}", kept.display());
            return Outcome::Checked { passed: false };
        }
        let program = target_dir.join(SANITIZER_TARGET).join("release").join(name);
        // The first folder receives new inputs.
        let log = target_dir.join(format!("{name}.log"));
        let passed = Invocation::new(program)
            .args(options.limit().split(' '))
            .args(["-print_final_stats=1", "-timeout=20", "-rss_limit_mb=4096", "-max_len=65536"])
            .args([format!("-artifact_prefix={}/{name}-", target_dir.display())])
            .args([kept, workspace.root.join("fuzz/corpus").join(name)])
            .current_dir(&workspace.root)
            .check_with_log(&log);
        // libFuzzer prints the bytes of inputs.
        let output = fs::read(&log).unwrap_or_default();
        let output = String::from_utf8_lossy(&output);
        println!("{name}: {}; log: {}", summary(&output), log.display());
        run += if passed {
            TestRun { tally: Tally { passed: 1, ..Tally::default() }, failures: Vec::new() }
        } else {
            let failure = failure(name, &output, &target_dir);
            println!("{failure}");
            TestRun { tally: Tally { failed: 1, ..Tally::default() }, failures: vec![failure] }
        };
    }
    Outcome::Tested(run)
}

/// The number of lines of the log that are printed if a target fails.
const TAIL: usize = 60;

/// Returns the report of a target that failed, with the end of its log.
fn failure(name: &str, output: &str, target_dir: &Path) -> String {
    let lines: Vec<&str> = output.lines().collect();
    let tail = &lines[lines.len().saturating_sub(TAIL)..];
    format!(
        "fuzz target {name} failed; a failing input is in {}, and the last lines of the log are:\n{}",
        target_dir.display(),
        tail.join("\n")
    )
}

/// Returns the numbers of runs and seconds, the coverage and the largest memory of a run of libFuzzer, as far as its output has them.
fn summary(output: &str) -> String {
    let mut parts = Vec::new();
    if let Some(done) = output.lines().rev().find_map(|line| line.strip_prefix("Done "))
        && let [runs, "runs", "in", seconds, ..] = done.split(' ').collect::<Vec<_>>()[..]
    {
        parts.push(format!("{runs} runs in {seconds} s"));
    }
    let coverage = |line: &str| {
        let mut words = line.split_whitespace().skip_while(|&word| word != "cov:");
        words.nth(1).map(str::to_owned)
    };
    if let Some(branches) = output.lines().rev().find_map(coverage) {
        parts.push(format!("coverage {branches}"));
    }
    let statistic = |name: &str| {
        let mut found = output.lines().rev().filter_map(|line| line.strip_prefix(name));
        found.next().map(|value| value.trim().to_owned())
    };
    if let Some(seconds) = statistic("stat::slowest_unit_time_sec:") {
        parts.push(format!("slowest input {seconds} s"));
    }
    if let Some(memory) = statistic("stat::peak_rss_mb:") {
        parts.push(format!("memory {memory} MB"));
    }
    if parts.is_empty() { "no statistics".to_owned() } else { parts.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<Options, String> {
        Options::parse(words.iter().map(|word| (*word).to_owned()))
    }

    #[test]
    fn flags_limit_the_runs() {
        assert_eq!(parse(&[]).unwrap().limit(), "-max_total_time=30");
        assert_eq!(parse(&["--runs", "10"]).unwrap().limit(), "-runs=10");
        assert_eq!(parse(&["--seconds", "5"]).unwrap().limit(), "-max_total_time=5");
        let options = parse(&["world_file", "--asan", "--runs", "7"]).unwrap();
        assert!(options.asan);
        assert_eq!(options.targets, ["world_file"]);
    }

    #[test]
    fn a_run_is_one_line() {
        let output = "#2\tINITED cov: 70 ft: 71 corp: 1/1b\n\
                      #570\tDONE   cov: 8407 ft: 18948 corp: 613/1257Kb lim: 3264 exec/s: 935 rss: 41Mb\n\
                      Done 570 runs in 61 second(s)\n\
                      stat::slowest_unit_time_sec:    0\n\
                      stat::peak_rss_mb:              41\n";
        let line = "570 runs in 61 s, coverage 8407, slowest input 0 s, memory 41 MB";
        assert_eq!(summary(output), line);
        assert_eq!(summary("#2\tINITED cov: 70 ft: 71 corp: 1/1b\nabort"), "coverage 70");
        assert_eq!(summary(""), "no statistics");
    }

    #[test]
    fn a_failure_has_the_end_of_the_log() {
        let output: String = (0..100).map(|line| format!("line {line}\n")).collect();
        let report = failure("delta", &output, Path::new("target/fuzz"));
        assert!(report.starts_with("fuzz target delta failed; a failing input is in target/fuzz,"));
        assert!(report.ends_with("line 98\nline 99"));
        assert!(report.contains("\nline 40\n") && !report.contains("\nline 39\n"));
    }

    #[test]
    fn wrong_words_are_named() {
        assert_eq!(parse(&["--fast"]).unwrap_err(), "`fuzz` has no flag `--fast`");
        assert_eq!(parse(&["--runs"]).unwrap_err(), "`fuzz --runs` needs a number");
        assert_eq!(parse(&["--runs", "a"]).unwrap_err(), "`fuzz --runs` needs a number, found `a`");
    }
}
