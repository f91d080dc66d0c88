//! The sample gallery: `cargo run --release` shows the default sample, `cargo run --release -- list` names them all.
//!
//! A sample is a module that takes a few minutes to read. Start with `rotation`, or with `first_job` for jobs alone.
//! Shared code is in `gallery`.
#![expect(clippy::print_stderr, reason = "errors of the command line are printed there")]

#[macro_use]
mod say;

mod battle;
mod boids;
mod chain;
mod command_line;
mod dungeon;
mod first_job;
mod galactic_conquest;
mod gallery;
mod gravity;
mod hierarchy;
mod life;
mod mandelbrot;
mod native_counter;
mod phyllotaxis;
mod rotation;
mod samples;
mod state_hash;
mod two_stick_shooter;

use std::process::ExitCode;

use command_line::{Command, USAGE};

fn main() -> ExitCode {
    let command = match command_line::parse(std::env::args_os().skip(1)) {
        Ok(command) => command,
        Err(mistake) => {
            eprintln!("{mistake}\n\n{USAGE}\n\nsamples:\n{}", samples::list());
            return ExitCode::from(2);
        }
    };
    let done = match command {
        Command::Show(show) => gallery::show(&show),
        Command::Check { samples, frames } => gallery::check(&samples, frames),
        Command::Bisect { sample, frames, workers } => gallery::bisect(sample, frames, workers),
        Command::Explain { page } => {
            say!("{}", page.trim_end());
            Ok(())
        }
        Command::List => {
            say!("{}", samples::list().trim_end());
            Ok(())
        }
        Command::Help => {
            let counts = samples::counts();
            say!("{USAGE}\n\nwhat `--entities` counts:\n{}", counts.trim_end());
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
