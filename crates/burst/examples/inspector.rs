//! The kernels of an executable: `inspector <executable> [<kernel>] [--asm]`.
//!
//! `cargo xtask inspect` builds the executable and calls this.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool")]

use std::path::Path;
use std::process::ExitCode;

use ancho_burst::inspect::{self, InspectError, Report};

fn main() -> ExitCode {
    let (flags, words): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|word| word.starts_with("--"));
    let Some(executable) = words.first() else {
        eprintln!("usage: inspector <executable> [<kernel>] [--asm]");
        return ExitCode::from(2);
    };
    let assembly = flags.iter().any(|flag| flag == "--asm");
    match select(Path::new(executable), words.get(1).map(String::as_str)) {
        Ok(reports) => {
            for report in &reports {
                if assembly {
                    println!("{report:#}");
                } else {
                    println!("{report}");
                }
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn select(executable: &Path, kernel: Option<&str>) -> Result<Vec<Report>, InspectError> {
    let reports = inspect::kernels_of(executable)?;
    match kernel {
        Some(name) => Ok(vec![inspect::select(reports, name)?]),
        None => Ok(reports),
    }
}
