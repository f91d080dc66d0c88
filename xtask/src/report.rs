//! The summary at the end of a run.

use std::fmt::Write;
use std::time::Duration;

use crate::step::Outcome;
use crate::tally::Tally;

/// One step's row of the summary.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) step: &'static str,
    pub(crate) outcome: Outcome,
    pub(crate) time: Duration,
}

impl Row {
    /// Returns the counts for the last line: the tests of the step, or one for a step without tests.
    pub(crate) fn tally(&self, ci: bool) -> Tally {
        let one = |passed, failed, skipped| Tally { passed, failed, skipped };
        match &self.outcome {
            Outcome::Checked { passed: true } => one(1, 0, 0),
            Outcome::Checked { passed: false } => one(0, 1, 0),
            Outcome::Tested(tests) => tests.tally,
            Outcome::ToolMissing(_) if ci => one(0, 1, 0),
            Outcome::NothingToDo(_) | Outcome::ToolMissing(_) => one(0, 0, 1),
        }
    }

    fn verdict(&self, ci: bool) -> &'static str {
        match &self.outcome {
            _ if self.tally(ci).failed > 0 => "failed",
            Outcome::NothingToDo(_) | Outcome::ToolMissing(_) => "skipped",
            Outcome::Checked { .. } | Outcome::Tested(_) => "passed",
        }
    }

    fn reason(&self) -> &str {
        match &self.outcome {
            Outcome::NothingToDo(reason) | Outcome::ToolMissing(reason) => reason,
            Outcome::Checked { .. } | Outcome::Tested(_) => "",
        }
    }
}

/// Returns the output of the failing tests, for readers of the end of a long run. Empty if none failed.
pub(crate) fn failures(rows: &[Row]) -> String {
    let mut text = String::new();
    for row in rows {
        let Outcome::Tested(tests) = &row.outcome else { continue };
        for failure in &tests.failures {
            let _ = writeln!(text, "\n== failed in {} ==\n{failure}", row.step);
        }
    }
    text
}

/// Returns the summary. Its last line contains only the counts, for scripts.
pub(crate) fn summary(rows: &[Row], left_out: &[&str], ci: bool) -> String {
    let mut text = format!("{:<12} {:<8} {:>6} {:>8}\n", "step", "result", "tests", "seconds");
    let mut sum = Tally::default();
    for row in rows {
        sum += row.tally(ci);
        let tests = match &row.outcome {
            Outcome::Tested(tests) => tests.tally.total().to_string(),
            _ => "-".to_owned(),
        };
        let line = format!(
            "{:<12} {:<8} {tests:>6} {:>8.1}  {}",
            row.step,
            row.verdict(ci),
            row.time.as_secs_f64(),
            row.reason()
        );
        text.push_str(line.trim_end());
        text.push('\n');
    }
    if !left_out.is_empty() {
        let _ = writeln!(text, "left out by --quick: {}", left_out.join(", "));
    }
    let Tally { passed, failed, skipped } = sum;
    let _ = write!(text, "\n{passed} passed, {failed} failed, {skipped} skipped");
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::TestRun;

    fn rows() -> Vec<Row> {
        let row = |step, outcome| Row { step, outcome, time: Duration::from_millis(1250) };
        vec![
            row("fmt", Outcome::Checked { passed: true }),
            row(
                "unit",
                Outcome::Tested(TestRun {
                    tally: Tally { passed: 20, failed: 1, skipped: 2 },
                    failures: vec!["---- a stdout ----\nleft is not right".to_owned()],
                }),
            ),
            row("samples", Outcome::NothingToDo("no crate `samples`".to_owned())),
            row("asan", Outcome::ToolMissing("install it".to_owned())),
        ]
    }

    #[test]
    fn the_summary_reads_as_a_table() {
        let expected = "\
step         result    tests  seconds
fmt          passed        -      1.2
unit         failed       23      1.2
samples      skipped       -      1.2  no crate `samples`
asan         skipped       -      1.2  install it
left out by --quick: loom

21 passed, 1 failed, 4 skipped";
        assert_eq!(summary(&rows(), &["loom"], false), expected);
    }

    #[test]
    fn what_failed_is_told_with_its_step() {
        let expected = "\n== failed in unit ==\n---- a stdout ----\nleft is not right\n";
        assert_eq!(failures(&rows()), expected);
    }

    #[test]
    fn a_missing_tool_fails_on_a_build_server_but_an_empty_step_does_not() {
        let text = summary(&rows(), &[], true);
        assert!(text.contains("asan         failed"), "{text}");
        assert!(text.contains("samples      skipped"), "{text}");
        assert!(text.ends_with("\n21 passed, 2 failed, 3 skipped"), "{text}");
    }
}
