//! Reports of failed tests, collected from the output and repeated at the end of a run.
//!
//! A run prints ten thousand lines. The last hundred must contain the reason of a failure.

/// Maximum number of lines kept from one test binary's report.
const LINES_KEPT: usize = 80;

/// Collects the reports of failing test binaries from their output.
///
/// A failing test binary ends with a section from the line `failures:` to `test result: FAILED`, which contains the output of
/// each failing test.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    reports: Vec<String>,
    section: Vec<String>,
    within: bool,
}

impl Failures {
    /// Processes the next line of the output.
    pub(crate) fn observe(&mut self, line: &str) {
        let line = line.trim_end();
        if line.starts_with("test result: ") {
            if line.starts_with("test result: FAILED") {
                self.section.push(line.to_owned());
                self.reports.push(self.section.join("\n"));
            }
            self.section.clear();
            self.within = false;
        } else if line == "failures:" {
            // The line occurs twice: before the outputs, and before the list of names.
            self.within = true;
        } else if self.within && self.section.len() < LINES_KEPT {
            self.section.push(line.to_owned());
        }
    }

    /// Returns the reports. A command that failed without a report is named instead.
    pub(crate) fn finish(mut self, success: bool, command: &str) -> Vec<String> {
        if !success && self.reports.is_empty() {
            self.reports.push(format!("`{command}` failed without naming a test"));
        }
        self.reports
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observed(text: &str) -> Failures {
        let mut failures = Failures::default();
        text.lines().for_each(|line| failures.observe(line));
        failures
    }

    #[test]
    fn the_output_of_a_failing_test_is_kept_and_that_of_others_is_not() {
        let failures = observed(
            "running 2 tests\ntest a ... ok\ntest b ... FAILED\n\nfailures:\n\n---- b stdout ----\n\
             left is not right\n\nfailures:\n    b\n\ntest result: FAILED. 1 passed; 1 failed\n\
             running 1 test\ntest result: ok. 1 passed; 0 failed\n",
        );
        let reports = failures.finish(false, "cargo test");
        assert_eq!(reports.len(), 1);
        assert!(reports[0].contains("---- b stdout ----\nleft is not right"), "{reports:?}");
        assert!(!reports[0].contains("test a"), "{reports:?}");
    }

    #[test]
    fn a_long_report_is_cut_but_says_that_it_failed() {
        let long = "line\n".repeat(10 * LINES_KEPT);
        let failures = observed(&format!("failures:\n{long}test result: FAILED. 0 passed\n"));
        let reports = failures.finish(false, "cargo test");
        assert_eq!(reports[0].lines().count(), LINES_KEPT + 1);
        assert!(reports[0].ends_with("test result: FAILED. 0 passed"), "{reports:?}");
    }

    #[test]
    fn a_command_that_crashed_is_named() {
        let reports = observed("running 1 test\n").finish(false, "cargo test -p a");
        assert_eq!(reports, ["`cargo test -p a` failed without naming a test"]);
        assert!(observed("").finish(true, "cargo test").is_empty());
    }
}
