//! The project's tasks; `cargo xtask help` lists them.
//!
//! Each command has its own file. A command reads the [`tree`](tree::Tree), which is plain text in memory, and evaluates it with
//! plain functions. Only [`invocation`] starts processes.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command line tool speaks through its streams"
)]

mod arm;
mod asan;
mod bits32;
mod build_std;
mod cli;
mod clippy;
mod docs;
mod examples;
mod failures;
mod fmt;
mod fuzz;
mod hashes;
mod help;
mod inspect;
mod invocation;
mod loom;
mod manifest;
mod math;
mod packages;
mod peers;
mod peers_check;
mod report;
mod rust_source;
mod samples;
mod sanitizer;
mod step;
mod tally;
mod test;
mod testrelease;
mod tidy;
mod toolchain;
mod tree;
mod tsan;
mod unit;
mod workspace;

use std::process::ExitCode;

use cli::Request;
use workspace::Workspace;

fn main() -> ExitCode {
    let request = match cli::parse(std::env::args().skip(1)) {
        Ok(request) => request,
        Err(message) => {
            eprintln!("error: {message}\n`cargo xtask help` lists the commands and their flags");
            return ExitCode::from(2);
        }
    };
    let workspace = Workspace::locate();
    let passed = match request {
        Request::Help => {
            println!("{}", help::text());
            true
        }
        Request::Test(options) => test::run(&workspace, &options),
        Request::Step(step) => test::run_steps(&workspace, &[step], false, &[]),
        Request::Inspect(options) => inspect::run(&workspace, &options),
        Request::Peers(options) => peers::run(&workspace, &options),
        Request::Fuzz(options) => {
            let start = std::time::Instant::now();
            test::report_one("fuzz", fuzz::run_targets(&workspace, &options), start)
        }
        Request::Math(names) => math::run(&workspace, &names),
        Request::Picture => samples::draw_picture(&workspace),
        Request::UpdateHashes => samples::update_hashes(&workspace),
    };
    if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
