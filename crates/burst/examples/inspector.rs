//! The kernels of an executable: `inspector <executable> [<kernel>] [--asm] [--remarks=<file>]`.
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
        eprintln!("usage: inspector <executable> [<kernel>] [--asm] [--remarks=<file>]");
        return ExitCode::from(2);
    };
    let assembly = flags.iter().any(|flag| flag == "--asm");
    let remarks = flags.iter().find_map(|flag| flag.strip_prefix("--remarks="));
    match show(Path::new(executable), words.get(1).map(String::as_str), assembly, remarks) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn show(
    executable: &Path,
    kernel: Option<&str>,
    assembly: bool,
    remarks: Option<&str>,
) -> Result<(), InspectError> {
    let reports = select(executable, kernel)?;
    let reasons = match remarks {
        Some(file) => {
            let read = std::fs::read_to_string(file);
            let remarks = read.map_err(|error| InspectError::Read(format!("{file}: {error}")))?;
            Some(inspect::reasons_of(executable, &remarks)?)
        }
        None => None,
    };
    for report in &reports {
        if assembly {
            print!("{report:#}");
        } else {
            print!("{report}");
        }
        if let Some(reasons) = &reasons {
            for reason in reasons.get(&report.name).into_iter().flatten() {
                println!("  not vectorised: {reason}");
            }
        }
        println!();
    }
    Ok(())
}

fn select(executable: &Path, kernel: Option<&str>) -> Result<Vec<Report>, InspectError> {
    let reports = inspect::kernels_of(executable)?;
    match kernel {
        Some(name) => Ok(vec![inspect::select(reports, name)?]),
        None => Ok(reports),
    }
}
