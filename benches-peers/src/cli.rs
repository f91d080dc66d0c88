//! The command line, parsed by hand: three options do not need a crate.

use std::path::PathBuf;

use crate::harness::{Case, Effort, Part};
use crate::parts;

/// Rounds taken when `--rounds` is not given.
const DEFAULT_ROUNDS: usize = 5;

/// What the program is asked to do.
pub(crate) enum Command {
    /// Measure a part and print its table.
    Run(Options),
    /// Be the process of one cell: part, case, subject. Only the program itself asks for this.
    Cell([String; 3], Effort),
}

/// A run of one part.
pub(crate) struct Options {
    pub(crate) part: &'static Part,
    /// The cases to run, in the part's order.
    pub(crate) cases: Vec<&'static Case>,
    pub(crate) rounds: usize,
    pub(crate) json: Option<PathBuf>,
}

/// Parses the arguments after the program's name.
///
/// # Errors
///
/// The message to print, which lists what exists when a part or a case is unknown.
pub(crate) fn parse(mut args: impl Iterator<Item = String>) -> Result<Command, String> {
    let Some(first) = args.next() else {
        return Err(usage("no part given"));
    };
    if first == "--cell" || first == "--check" {
        let effort = if first == "--cell" { Effort::Measure } else { Effort::Check };
        let address: Vec<String> = args.collect();
        return match address.try_into() {
            Ok(address) => Ok(Command::Cell(address, effort)),
            Err(_) => Err(usage(&format!("{first} takes a part, a case and a subject"))),
        };
    }
    let Some(part) = parts::find(&first) else {
        return Err(usage(&format!("unknown part `{first}`")));
    };
    let mut options =
        Options { part, cases: part.cases.iter().collect(), rounds: DEFAULT_ROUNDS, json: None };
    while let Some(option) = args.next() {
        let mut value = || args.next().ok_or_else(|| usage(&format!("{option} takes a value")));
        match option.as_str() {
            "--case" => options.cases = vec![case(part, &value()?)?],
            "--rounds" => options.rounds = rounds(&value()?)?,
            "--json" => options.json = Some(value()?.into()),
            _ => return Err(usage(&format!("unknown option `{option}`"))),
        }
    }
    Ok(Command::Run(options))
}

fn case(part: &'static Part, name: &str) -> Result<&'static Case, String> {
    part.case(name).ok_or_else(|| {
        let names = part.cases.iter().map(|case| case.name).collect::<Vec<_>>().join(", ");
        format!("peers: part `{}` has no case `{name}`; its cases are: {names}", part.name)
    })
}

fn rounds(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(rounds) if rounds > 0 => Ok(rounds),
        _ => Err(usage(&format!("--rounds takes a number above zero, not `{text}`"))),
    }
}

fn usage(message: &str) -> String {
    let parts = parts::ALL
        .iter()
        .map(|part| format!("  {:<12} {}", part.name, part.about))
        .collect::<Vec<_>>()
        .join("\n");
    format!(
        "peers: {message}\nusage: peers <part> [--case NAME] [--rounds N] [--json FILE]\nparts:\n{parts}"
    )
}
