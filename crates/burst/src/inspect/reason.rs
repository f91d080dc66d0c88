//! Reasons why loops of a kernel were not vectorised, from the remarks of the compiler.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use super::InspectError;
use super::image;

/// The reason why the compiler did not vectorise a loop.
///
/// # Examples
///
/// ```
/// use ancho_burst::inspect::Reason;
///
/// let reason = Reason {
///     place: "src/steer.rs:7".into(),
///     within: Some("core/src/ops/arith.rs:105".into()),
///     text: "cannot prove it is safe to reorder floating-point operations".into(),
///     others: Vec::new(),
/// };
/// assert!(reason.to_string().starts_with("src/steer.rs:7: cannot prove"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reason {
    /// The file and the line of the kernel, or of a function that was inlined into it.
    pub place: String,
    /// The line of the standard library that the compiler named, if it did not name the place itself.
    pub within: Option<String>,
    /// The text of the compiler.
    pub text: String,
    /// Other kernels that contain the line: the remark does not name the kernel.
    pub others: Vec<String>,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.text)?;
        if let Some(within) = &self.within {
            write!(f, " ({within})")?;
        }
        if !self.others.is_empty() {
            write!(f, ", here or in {}", self.others.join(", "))?;
        }
        Ok(())
    }
}

/// Returns the compiler's reasons, by the name of the kernel.
///
/// `remarks` is the compiler's output with `-Cremark=loop-vectorize`. The executable needs line numbers and one codegen unit
/// (`-Cdebuginfo=1 -Ccodegen-units=1`), and this crate's feature `inspect`.
///
/// # Errors
///
/// Returns the errors of [`kernels_of`](super::kernels_of).
///
/// # Examples
///
/// ```
/// use std::path::Path;
/// assert!(ancho_burst::inspect::reasons_of(Path::new("no such file"), "").is_err());
/// ```
pub fn reasons_of(
    executable: &Path,
    remarks: &str,
) -> Result<BTreeMap<String, Vec<Reason>>, InspectError> {
    Ok(assign(&image::lines(executable)?, remarks))
}

/// A file and a line of it.
type Line = (String, u32);

/// The source lines of a kernel's instructions, each with the user's lines that it was inlined into.
#[derive(Debug, Default)]
pub(super) struct Lines(BTreeMap<Line, BTreeSet<Line>>);

impl Lines {
    /// Adds the lines of an instruction, innermost first.
    pub(super) fn add(&mut self, stack: &[Line]) {
        let Some(innermost) = stack.first() else { return };
        let own = stack.iter().find(|(file, _)| in_library(file).is_none()).unwrap_or(innermost);
        self.0.entry(innermost.clone()).or_default().insert(own.clone());
    }
}

fn assign(kernels: &BTreeMap<String, Lines>, remarks: &str) -> BTreeMap<String, Vec<Reason>> {
    let mut reasons: BTreeMap<String, BTreeSet<Reason>> = BTreeMap::new();
    // A kernel is compiled for each level, mostly with the same remarks.
    let remarks: BTreeSet<(Line, &str)> = remarks.lines().filter_map(parse).collect();
    for (line, text) in &remarks {
        let having: Vec<&String> = kernels
            .iter()
            .filter(|(_, lines)| lines.0.contains_key(line))
            .map(|(n, _)| n)
            .collect();
        for &kernel in &having {
            let others = having.iter().filter(|&&name| name != kernel);
            for own in &kernels[kernel].0[line] {
                let within = (own != line).then(|| show(line));
                let others = match within {
                    // A user's line in several kernels is the same loop in each.
                    None => Vec::new(),
                    Some(_) => others.clone().map(|&name| name.clone()).collect(),
                };
                let reason = Reason { place: show(own), within, text: (*text).to_owned(), others };
                reasons.entry(kernel.clone()).or_default().insert(reason);
            }
        }
    }
    let sorted = |(kernel, reasons): (String, BTreeSet<Reason>)| {
        (kernel, reasons.into_iter().collect::<Vec<Reason>>())
    };
    reasons.into_iter().map(sorted).collect()
}

/// Returns the line and the reason of a remark.
fn parse(remark: &str) -> Option<(Line, &str)> {
    let (place, text) = remark.split_once(" loop-vectorize ")?;
    let (_, reason) = text.split_once("loop not vectorized: ")?;
    let mut parts = place.trim_start_matches("note: ").rsplitn(3, ':');
    let (_column, line, file) = (parts.next()?, parts.next()?, parts.next()?);
    Some(((file.to_owned(), line.parse().ok()?), reason.trim_end()))
}

/// Returns the path of a file within the standard library, if it is part of it.
fn in_library(file: &str) -> Option<&str> {
    file.split_once("/library/").map(|(_, within)| within)
}

fn show((file, line): &Line) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    let own = Path::new(file)
        .strip_prefix(here)
        .map_or(file.as_str(), |path| path.to_str().unwrap_or(file));
    format!("{}:{line}", in_library(file).unwrap_or(own))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CORE: &str = "/rustc/x/library/core/src/ops/arith.rs";

    fn lines(stacks: &[&[(&str, u32)]]) -> Lines {
        let mut lines = Lines::default();
        for stack in stacks {
            let stack: Vec<Line> = stack.iter().map(|&(f, line)| (f.to_owned(), line)).collect();
            lines.add(&stack);
        }
        lines
    }

    fn texts(remarks: &str) -> BTreeMap<String, Vec<String>> {
        let kernels = BTreeMap::from([
            ("calls".to_owned(), lines(&[&[("a.rs", 3)], &[("a.rs", 4)]])),
            ("sums".to_owned(), lines(&[&[(CORE, 105), (CORE, 9), ("a.rs", 20), ("b.rs", 1)]])),
            ("both".to_owned(), lines(&[&[(CORE, 105), ("a.rs", 30)], &[("a.rs", 31)]])),
        ]);
        let text = |reasons: Vec<Reason>| reasons.iter().map(ToString::to_string).collect();
        assign(&kernels, remarks).into_iter().map(|(name, found)| (name, text(found))).collect()
    }

    #[test]
    fn a_reason_goes_to_the_kernel_that_has_the_line() {
        let remarks = "\
note: a.rs:3:5 loop-vectorize (analysis): loop not vectorized: call instruction cannot be vectorized

note: a.rs:3:5 loop-vectorize (analysis): loop not vectorized: call instruction cannot be vectorized
note: a.rs:4:1 loop-vectorize (success): vectorized loop (vectorization width: 8)
note: c.rs:3:5 loop-vectorize (analysis): loop not vectorized: another program's
note: a.rs:3:5 loop-vectorize (missed): loop not vectorized
";
        let expected = vec!["a.rs:3: call instruction cannot be vectorized".to_owned()];
        assert_eq!(texts(remarks), BTreeMap::from([("calls".to_owned(), expected)]));
    }

    #[test]
    fn a_line_of_the_standard_library_is_reported_as_the_line_it_was_inlined_into() {
        let remark =
            format!("note: {CORE}:105:45 loop-vectorize (analysis): loop not vectorized: no");
        let found = texts(&remark);
        assert_eq!(found["sums"], ["a.rs:20: no (core/src/ops/arith.rs:105), here or in both"]);
        assert_eq!(found["both"], ["a.rs:30: no (core/src/ops/arith.rs:105), here or in sums"]);
        assert_eq!(found.get("calls"), None);
    }
}
