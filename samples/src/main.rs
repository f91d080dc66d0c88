//! The sample gallery: `cargo run --release` lists the samples and shows each for a moment.
//!
//! A sample is a module that teaches one thing. Start with `first_job`. What they share is in
//! `gallery`; `headless` runs them all without showing anything, and compares their results.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "showing things is what samples do")]

mod command_line;
mod first_job;
mod gallery;
mod headless;
mod life;
mod mandelbrot;
mod native_counter;
mod particles;
mod random;
mod state_hash;
mod timeline;

use std::path::Path;
use std::process::ExitCode;

use command_line::{Command, USAGE};

fn main() -> ExitCode {
    let (command, trace) = match command_line::parse(std::env::args().skip(1)) {
        Ok(parsed) => parsed,
        Err(mistake) => {
            eprintln!("{mistake}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let trace = trace.as_deref();
    let shown_trace = trace.unwrap_or(Path::new(timeline::TRACE));
    let done = match command {
        Command::ShowAll => gallery::show_all(shown_trace),
        Command::ShowOne(sample) => gallery::show_one(sample, shown_trace),
        Command::Headless => headless::run(trace),
        Command::List => {
            gallery::list();
            Ok(())
        }
        Command::Help => {
            println!("{USAGE}");
            Ok(())
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
