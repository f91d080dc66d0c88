//! Runs of a sample without a view.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use super::{Run, SampleResult};

/// Interval between two updates of the progress line.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(250);

/// Runs `frames` frames at full speed. A line on standard error shows the progress.
pub(crate) fn run(run: &mut Run<'_>, frames: u32) -> SampleResult<()> {
    let errors = io::stderr().lock();
    let line = if errors.is_terminal() {
        Line::Overwrite { every: PROGRESS_INTERVAL }
    } else {
        Line::Append
    };
    run_with_line(run, frames, errors, line)
}

/// Style of the progress line.
#[derive(Clone, Copy, Debug)]
enum Line {
    /// In a terminal: overwritten at intervals, and erased at the end.
    Overwrite { every: Duration },
    /// In a file, which keeps all output: a number is appended for each tenth of the frames.
    Append,
}

fn run_with_line(
    run: &mut Run<'_>,
    frames: u32,
    mut output: impl Write,
    line: Line,
) -> SampleResult<()> {
    // Errors are ignored: the progress line is not essential.
    let mut write =
        |text: &str| _ = output.write_all(text.as_bytes()).and_then(|()| output.flush());
    if let Line::Append = line {
        write(&format!("{frames} frames:"));
    }
    let mut written = Instant::now();
    let mut stepped = Ok(());
    for frame in 1..=frames {
        stepped = run.step();
        if stepped.is_err() {
            break;
        }
        match line {
            Line::Overwrite { every } if written.elapsed() >= every || frame == frames => {
                written = Instant::now();
                // Returns to the beginning of the line, and erases it.
                write(&format!("\r\x1b[K{}", progress(run, frames)));
            }
            Line::Append if tenths(frame, frames) > tenths(frame - 1, frames) => {
                write(&format!(" {frame}"));
            }
            _ => {}
        }
    }
    write(match line {
        Line::Overwrite { .. } => "\r\x1b[K",
        Line::Append => "\n",
    });
    stepped
}

/// Returns the number of completed tenths of the frames.
fn tenths(frame: u32, frames: u32) -> u64 {
    u64::from(frame) * 10 / u64::from(frames)
}

fn progress(run: &Run<'_>, frames: u32) -> String {
    let ms = run.recent_frame().as_secs_f64() * 1e3;
    format!("frame {} of {frames}, {ms:.2} ms, {} entities", run.frame_count(), run.entity_count())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gallery::Kind;
    use crate::gallery::tests::options;
    use crate::rotation::SAMPLE;

    fn written(frames: u32, line: Line) -> String {
        let Kind::World(sample) = &SAMPLE.kind else { panic!("it has a world") };
        let options = options(10);
        let mut run = Run::new(sample, sample.world(&options).unwrap(), &options.pool, false);
        let mut output = Vec::new();
        run_with_line(&mut run, frames, &mut output, line).unwrap();
        assert_eq!(run.frame_count(), frames as usize);
        String::from_utf8(output).unwrap()
    }

    #[test]
    fn in_a_terminal_the_line_is_written_over_and_erased() {
        let text = written(3, Line::Overwrite { every: Duration::ZERO });
        let lines: Vec<_> = text.split("\r\x1b[K").collect();
        assert_eq!(lines.len(), 5, "{text:?}");
        for (frame, line) in (1..=3).zip(&lines[1..]) {
            assert!(line.starts_with(&format!("frame {frame} of 3, ")), "{line}");
            assert!(line.ends_with(" ms, 12 entities"), "{line}");
        }
        assert_eq!((lines[0], lines[4]), ("", ""));
    }

    #[test]
    fn it_is_written_now_and_then_and_for_the_last_frame() {
        let text = written(50, Line::Overwrite { every: Duration::from_secs(1_000) });
        assert!(text.starts_with("\r\x1b[Kframe 50 of 50, "), "{text:?}");
    }

    #[test]
    fn elsewhere_the_line_grows() {
        assert_eq!(written(50, Line::Append), "50 frames: 5 10 15 20 25 30 35 40 45 50\n");
        assert_eq!(written(3, Line::Append), "3 frames: 1 2 3\n");
        assert_eq!(written(15, Line::Append), "15 frames: 2 3 5 6 8 9 11 12 14 15\n");
    }
}
