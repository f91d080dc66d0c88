//! Measures ancho beside its peers and prints one table per part.
//!
//! ```text
//! peers <part | all> [--case NAME] [--rounds N] [--json FILE]
//! ```
//!
//! Each cell of the table, a case of a subject, runs in a process of its own: the program starts
//! itself again for every cell of every round. The README has the rules and the figures.

mod cli;
mod harness;
mod parts;

use std::process::ExitCode;

use cli::{Command, Options};
use harness::{Effort, Part, json, round, table};

fn main() -> ExitCode {
    let outcome = match cli::parse(std::env::args().skip(1)) {
        Ok(Command::Run(options)) => run(&options),
        Ok(Command::Cell(address, effort)) => cell(&address, effort),
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("peers: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the parts, prints a table for each, and writes one JSON file if requested.
fn run(options: &Options) -> Result<(), String> {
    for (part, cases) in &options.parts {
        round::check(part, cases)?;
    }
    let mut figures = Vec::new();
    for (part, cases) in &options.parts {
        let (rows, pairs) = round::measure(part, cases, options.rounds)?;
        print!("{}", table::render(part, &rows, &pairs, options.rounds));
        figures.push((part.name, rows));
        // After each part, so that a run that is stopped leaves the parts it has measured.
        if let Some(path) = &options.json {
            std::fs::write(path, json::render(&figures))
                .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        }
    }
    Ok(())
}

/// Runs one cell in this process and prints its reading on one line.
fn cell([part, case, subject]: &[String; 3], effort: Effort) -> Result<(), String> {
    let run = parts::find(part)
        .and_then(|part: &Part| part.case(case))
        .and_then(|case| Some((case.cell(effort), case.subject(subject)?)));
    let Some((cell, run)) = run else {
        return Err(format!("no such cell: {part} {case} {subject}"));
    };
    println!("{}", run(cell));
    Ok(())
}
