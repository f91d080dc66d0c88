//! Commands that are printed before they run.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::failures::Failures;
use crate::tally::{Tally, TestRun};
use crate::workspace::{self, Workspace};

/// A command that is printed before it runs, with streamed output.
#[derive(Debug)]
pub(crate) struct Invocation(Command);

impl Invocation {
    pub(crate) fn new(program: impl AsRef<OsStr>) -> Self {
        Self(Command::new(program))
    }

    /// Creates a `cargo` command, split at spaces, that runs in the root of the workspace.
    pub(crate) fn cargo(workspace: &Workspace, words: &str) -> Self {
        let mut this = Self::new("cargo").args(words.split(' '));
        this.0.current_dir(&workspace.root);
        if workspace::is_ci() {
            // Incremental data is useless for a single build, and doubles its size.
            this = this.env_default("CARGO_INCREMENTAL", "0");
        }
        this
    }

    pub(crate) fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.0.args(args);
        self
    }

    pub(crate) fn env(mut self, key: &str, value: impl AsRef<OsStr>) -> Self {
        self.0.env(key, value);
        self
    }

    /// Sets a variable unless the user has set it.
    pub(crate) fn env_default(self, key: &str, value: &str) -> Self {
        if std::env::var_os(key).is_some() { self } else { self.env(key, value) }
    }

    pub(crate) fn current_dir(mut self, dir: &Path) -> Self {
        self.0.current_dir(dir);
        self
    }

    /// Builds in `dir`, so that a build with other flags does not replace the usual build.
    pub(crate) fn target_dir(self, dir: &Path) -> Self {
        self.args([OsStr::new("--target-dir"), dir.as_os_str()])
    }

    /// Runs the command to the end. Returns whether it succeeded.
    pub(crate) fn check(mut self) -> bool {
        self.announce();
        match self.0.status() {
            Ok(status) => status.success(),
            Err(error) => self.report_start_error(&error),
        }
    }

    /// Runs the command to the end, and writes all its output to a file. Returns whether it succeeded.
    pub(crate) fn check_with_log(mut self, log: &Path) -> bool {
        self.announce();
        let files = File::create(log).and_then(|file| Ok((file.try_clone()?, file)));
        let (output, errors) = match files {
            Ok(files) => files,
            Err(error) => {
                println!("cannot create {}: {error}", log.display());
                return false;
            }
        };
        match self.0.stdout(output).stderr(errors).status() {
            Ok(status) => status.success(),
            Err(error) => self.report_start_error(&error),
        }
    }

    /// Runs the command to the end, counts the tests in its output, and keeps the reports of failures.
    ///
    /// Only standard output is read: test binaries print their results there. Standard error stays a terminal, so that cargo
    /// shows its progress bar.
    pub(crate) fn test(mut self) -> TestRun {
        self.announce();
        let mut child = match self.0.stdout(Stdio::piped()).spawn() {
            Ok(child) => child,
            Err(error) => {
                self.report_start_error(&error);
                let failures = Failures::default().finish(false, &self.command_line());
                return TestRun { tally: Tally::default().with_exit(false), failures };
            }
        };
        let output = child.stdout.take().expect("standard output was piped above");
        let mut tally = Tally::default();
        let mut failures = Failures::default();
        stream(BufReader::new(output), std::io::stdout().lock(), |line| {
            tally += Tally::from_line(line).unwrap_or_default();
            failures.observe(line);
        });
        let success = child.wait().is_ok_and(|status| status.success());
        let failures = failures.finish(success, &self.command_line());
        TestRun { tally: tally.with_exit(success), failures }
    }

    /// Runs the command quietly. Returns its output, or the reason of its failure.
    pub(crate) fn capture(self) -> Result<String, String> {
        self.capture_both().map(|(output, _)| output)
    }

    /// Runs the command quietly. Returns standard output and standard error, or the reason of its failure.
    pub(crate) fn capture_both(mut self) -> Result<(String, String), String> {
        let output =
            self.0.output().map_err(|error| format!("`{}`: {error}", self.command_line()))?;
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() {
            Ok((String::from_utf8_lossy(&output.stdout).into_owned(), complaint))
        } else {
            Err(format!("`{}` failed: {}", self.command_line(), complaint.trim()))
        }
    }

    fn announce(&self) {
        println!("$ {}", self.command_line());
    }

    fn report_start_error(&self, error: &std::io::Error) -> bool {
        println!("cannot start `{}`: {error}", self.command_line());
        false
    }

    /// Returns the command in the syntax of a shell.
    fn command_line(&self) -> String {
        let mut words = Vec::new();
        for (key, value) in self.0.get_envs() {
            if let Some(value) = value {
                words.push(format!("{}={}", key.display(), shell_word(&value.to_string_lossy())));
            }
        }
        words.push(shell_word(&self.0.get_program().to_string_lossy()));
        words.extend(self.0.get_args().map(|arg| shell_word(&arg.to_string_lossy())));
        words.join(" ")
    }
}

fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_=+./,:@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Copies `from` to `to` line by line, and passes each line to `observe`.
fn stream(mut from: impl BufRead, mut to: impl Write, mut observe: impl FnMut(&str)) {
    let mut line = Vec::new();
    while from.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        observe(&String::from_utf8_lossy(&line));
        // Counting continues if our output is closed.
        let _ = to.write_all(&line).and_then(|()| to.flush());
        line.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_can_be_pasted_into_a_shell() {
        let invocation = Invocation::new("cargo")
            .args(["test", "--test", "it's"])
            .env("RUSTFLAGS", "--cfg loom");
        assert_eq!(
            invocation.command_line(),
            r"RUSTFLAGS='--cfg loom' cargo test --test 'it'\''s'"
        );
    }

    #[test]
    fn streaming_copies_every_byte() {
        let text = b"one\n\xff two\nlast line without an end";
        let mut copy = Vec::new();
        let mut lines = 0;
        stream(&text[..], &mut copy, |_| lines += 1);
        assert_eq!(copy, text);
        assert_eq!(lines, 3);
    }
}
