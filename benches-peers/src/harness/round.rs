//! In the parent: a process for each cell, subjects interleaved round by round.

use std::process::{Command, Stdio};

use super::{Case, Effort, Figure, Pair, Part, Reading, Sampling, Summary, Under};

/// The variable with glibc's settings.
const TUNABLES: &str = "GLIBC_TUNABLES";
/// Keeps freed memory in the process, so that no subject waits for fresh pages from the kernel in the middle of a sample.
const WARM_HEAP: &str =
    "glibc.malloc.mmap_threshold=1073741824:glibc.malloc.trim_threshold=17179869184";
/// Allocates large blocks from the kernel and returns them when freed, so that new memory is cold, and resident memory is memory in
/// use.
const STRICT_HEAP: &str = "glibc.malloc.mmap_threshold=131072:glibc.malloc.trim_threshold=131072";

/// Compares the results of all subjects in each case.
///
/// # Errors
///
/// Returns an error when the results differ, or when a process fails.
pub(crate) fn check(part: &Part, cases: &[&'static Case]) -> Result<(), String> {
    for case in cases {
        let mut first: Option<(&str, u64)> = None;
        for (subject, _) in case.cells {
            let Reading { result, .. } = start(part, case, subject, Effort::Check)?;
            let (other, expected) = *first.get_or_insert((subject, result));
            if result != expected {
                return Err(format!(
                    "{}: {subject} and {other} do not compute the same ({result} and {expected})",
                    case.name
                ));
            }
        }
    }
    Ok(())
}

/// The number of turns per round for two cases whose ratio is required.
const TURNS: usize = 3;

/// Measures all cells, `rounds` times each. Two cases of a subject whose ratio is required are measured in turns.
///
/// # Errors
///
/// Returns an error when a process fails.
pub(crate) fn measure(
    part: &Part,
    cases: &[&'static Case],
    rounds: usize,
) -> Result<(Vec<Figure>, Vec<Pair>), String> {
    let mut pairs: Vec<Pair> = cases.iter().flat_map(|case| pairs_of(part, case)).collect();
    let cells: Vec<_> = cases
        .iter()
        .flat_map(|case| case.cells.iter().map(move |(subject, _)| (*case, *subject)))
        .collect();
    let mut readings = vec![Vec::with_capacity(rounds); cells.len()];
    for round in 1..=rounds {
        eprintln!("{}: round {round} of {rounds}", part.name);
        for ((case, subject), readings) in cells.iter().zip(&mut readings) {
            readings.push(figures_of(part, case, subject)?);
        }
        for Pair { case, under, subject, mins } in &mut pairs {
            for _ in 0..TURNS {
                for (case, min) in [&*case, under].into_iter().zip(mins.iter_mut()) {
                    *min = min.min(figures_of(part, case, subject)?.min);
                }
            }
        }
    }
    let figure = |((case, subject), readings): ((&'static Case, _), Vec<Summary>)| Figure {
        case: case.name,
        subject,
        figures: Summary::of_processes(&readings),
        unit: case.sampling.unit(),
    };
    Ok((cells.into_iter().zip(readings).map(figure).collect(), pairs))
}

/// Returns the pairs of a case that have a required ratio.
fn pairs_of(part: &Part, case: &'static Case) -> impl Iterator<Item = Pair> {
    case.requires.iter().filter_map(move |require| {
        let Under::Case(under) = require.under else { return None };
        let mins = [f64::INFINITY; 2];
        Some(Pair {
            case,
            under: part.cases.iter().find(|case| case.name == under)?,
            subject: require.over,
            mins,
        })
    })
}

/// Runs one process and returns its figures.
fn figures_of(part: &Part, case: &Case, subject: &str) -> Result<Summary, String> {
    let reading = start(part, case, subject, Effort::Measure)?;
    reading.figures.ok_or_else(|| format!("{} {subject}: no figure", case.name))
}

/// Starts this program again for one cell and waits for its line.
fn start(part: &Part, case: &Case, subject: &str, effort: Effort) -> Result<Reading, String> {
    let failed = |why: &str| format!("{} {} {subject}: {why}", part.name, case.name);
    let program = std::env::current_exe().map_err(|error| failed(&error.to_string()))?;
    let output = Command::new(program)
        .arg(match effort {
            Effort::Check => "--check",
            Effort::Measure => "--cell",
        })
        .args([part.name, case.name, subject])
        .env(
            TUNABLES,
            match case.sampling {
                Sampling::AfreshCold | Sampling::Resident { .. } => STRICT_HEAP,
                _ => WARM_HEAP,
            },
        )
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| failed(&error.to_string()))?;
    if !output.status.success() {
        return Err(failed(&format!("the process ended with {}", output.status)));
    }
    Reading::parse(&String::from_utf8_lossy(&output.stdout))
        .ok_or_else(|| failed("the process printed no reading"))
}
