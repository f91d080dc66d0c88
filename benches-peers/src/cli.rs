//! The command line, parsed by hand: three options do not need a crate.

use std::path::PathBuf;

use crate::harness::{Case, Effort, Part};
use crate::parts;

/// Default of `--rounds`.
const DEFAULT_ROUNDS: usize = 5;

/// A parsed command line.
pub(crate) enum Command {
    /// Measures parts, and prints their tables.
    Run(Options),
    /// Runs one cell in this process: part, case, subject. Only the program itself uses this
    /// command.
    Cell([String; 3], Effort),
}

/// A run of one part, or of all.
pub(crate) struct Options {
    /// Each part with the cases to run, in the part's order.
    pub(crate) parts: Vec<(&'static Part, Vec<&'static Case>)>,
    pub(crate) rounds: usize,
    pub(crate) json: Option<PathBuf>,
}

/// Parses the arguments after the program's name.
///
/// # Errors
///
/// Returns the message to print, which lists the known names when a part or a case is unknown.
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
    let chosen: Vec<&'static Part> = match parts::find(&first) {
        Some(part) => vec![part],
        None if first == "all" => parts::ALL.to_vec(),
        None => return Err(usage(&format!("unknown part `{first}`"))),
    };
    let with_cases = |part: &&'static Part| (*part, part.cases.iter().collect());
    let mut options = Options {
        parts: chosen.iter().map(with_cases).collect(),
        rounds: DEFAULT_ROUNDS,
        json: None,
    };
    while let Some(option) = args.next() {
        let mut value = || args.next().ok_or_else(|| usage(&format!("{option} takes a value")));
        match option.as_str() {
            "--case" => match chosen[..] {
                [part] => options.parts = vec![(part, vec![case(part, &value()?)?])],
                _ => return Err(usage("--case needs one part, not `all`")),
            },
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
        "peers: {message}\nusage: peers <part | all> [--case NAME] [--rounds N] [--json FILE]\nparts:\n{parts}"
    )
}
