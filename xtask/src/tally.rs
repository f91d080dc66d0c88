//! Counts of tests, read from the output of test binaries.

use std::ops::AddAssign;

/// Numbers of tests that passed, failed and were skipped.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
}

impl Tally {
    pub(crate) fn total(self) -> u64 {
        self.passed + self.failed + self.skipped
    }

    /// Parses a line such as `test result: ok. 3 passed; 0 failed; 1 ignored; …`.
    ///
    /// Returns `None` for any other line, so that it can be called for all output of a test binary.
    pub(crate) fn from_line(line: &str) -> Option<Self> {
        let (_, counts) = line.trim().strip_prefix("test result: ")?.split_once(". ")?;
        let mut tally = Self::default();
        for part in counts.split(';') {
            let (number, what) = part.trim().split_once(' ')?;
            let field = match what {
                "passed" => &mut tally.passed,
                "failed" => &mut tally.failed,
                "ignored" => &mut tally.skipped,
                // "measured", "filtered out", "finished in": not tests that ran.
                _ => continue,
            };
            *field = number.parse().ok()?;
        }
        Some(tally)
    }

    /// Corrects the counts by the exit status of the command that printed them.
    ///
    /// Compile errors, crashes and sanitizer reports end a run without a result line. Such a run counts as one failure.
    pub(crate) fn with_exit(mut self, success: bool) -> Self {
        if !success && self.failed == 0 {
            self.failed = 1;
        }
        self
    }
}

/// The result of a command that runs tests.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct TestRun {
    pub(crate) tally: Tally,
    /// The output of failing tests, one text for each test binary.
    pub(crate) failures: Vec<String>,
}

impl AddAssign for TestRun {
    fn add_assign(&mut self, other: Self) {
        self.tally += other.tally;
        self.failures.extend(other.failures);
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_passing_line() {
        let line = "test result: ok. 12 passed; 0 failed; 3 ignored; 0 measured; 1 filtered out; \
                    finished in 0.02s";
        let expected = Tally { passed: 12, failed: 0, skipped: 3 };
        assert_eq!(Tally::from_line(line), Some(expected));
    }

    #[test]
    fn reads_a_failing_line() {
        let line = "test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out";
        let expected = Tally { passed: 1, failed: 2, skipped: 0 };
        assert_eq!(Tally::from_line(line), Some(expected));
    }

    #[test]
    fn other_lines_are_not_counted() {
        for line in
            ["", "test a ... ok", "running 3 tests", "test result: ok", "12 passed; 0 failed"]
        {
            assert_eq!(Tally::from_line(line), None, "{line:?}");
        }
    }

    #[test]
    fn a_crash_without_a_result_line_is_one_failure() {
        assert_eq!(Tally::default().with_exit(false).failed, 1);
        assert_eq!(Tally { failed: 2, ..Tally::default() }.with_exit(false).failed, 2);
        assert_eq!(Tally::default().with_exit(true), Tally::default());
    }
}
