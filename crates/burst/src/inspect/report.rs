//! Report of a kernel.

use std::fmt;

use super::InspectError;
use crate::CpuLevel;

/// The machine code of one kernel, at each level.
///
/// `Display` prints a table with one line for each instance, and the calls below. `{:#}` adds the assembly.
///
/// # Examples
///
/// ```
/// use ancho_burst::inspect::Report;
///
/// let report = Report { name: "game::steer".into(), instances: Vec::new() };
/// assert!(report.to_string().starts_with("game::steer\n"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The name of the function or closure, without the `{{closure}}` at its end.
    pub name: String,
    /// The instances of the kernel, lowest level first. A level has several instances if the function has several closures.
    pub instances: Vec<Instance>,
}

/// A kernel, compiled for one level.
///
/// # Examples
///
/// ```
/// for report in ancho_burst::inspect::kernels().unwrap_or_default() {
///     for instance in report.instances {
///         assert!(instance.bytes > 0);
///     }
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// The level for which the kernel was compiled.
    pub level: CpuLevel,
    /// The size of the code in bytes.
    pub bytes: usize,
    /// The numbers of instructions, by kind.
    pub counts: Counts,
    /// The calls that were not inlined, in the order of the code. Calls that only start a panic are in [`Counts::panics`].
    pub calls: Vec<Call>,
    /// The code in Intel syntax, one instruction per line.
    pub assembly: String,
}

/// Numbers of instructions of each kind.
///
/// Only instructions that compute are counted, without loads, stores, shuffles and zeroing.
///
/// # Examples
///
/// ```
/// let counts = ancho_burst::inspect::Counts { packed_128: 2, packed_256: 3, ..Default::default() };
/// assert_eq!(counts.packed(), 5);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Number of instructions on 128-bit vectors.
    pub packed_128: usize,
    /// Number of instructions on 256-bit vectors.
    pub packed_256: usize,
    /// Number of instructions on 512-bit vectors.
    pub packed_512: usize,
    /// Number of instructions on single floats.
    pub scalar: usize,
    /// Number of fused multiply-adds, which are included in the other counts.
    pub fma: usize,
    /// Number of calls that start a panic.
    pub panics: usize,
}

/// A call that was not inlined. Its target was compiled elsewhere, mostly for the baseline.
///
/// # Examples
///
/// ```
/// let call = ancho_burst::inspect::Call { name: "sinf".into(), in_loop: true };
/// assert_eq!(call.to_string(), "sinf (in a loop)");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The name of the called function, or "a pointer".
    pub name: String,
    /// `true` if the call is in an innermost loop.
    pub in_loop: bool,
}

impl Counts {
    /// Returns the number of packed instructions of all widths.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_burst::inspect::Counts::default().packed(), 0);
    /// ```
    pub const fn packed(&self) -> usize {
        self.packed_128 + self.packed_256 + self.packed_512
    }
}

impl Report {
    /// Returns the instances at a level.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_burst::{CpuLevel, inspect::Report};
    ///
    /// let report = Report { name: "game::steer".into(), instances: Vec::new() };
    /// assert_eq!(report.at(CpuLevel::V3).count(), 0);
    /// ```
    pub fn at(&self, level: CpuLevel) -> impl Iterator<Item = &Instance> {
        self.instances.iter().filter(move |instance| instance.level == level)
    }
}

/// Finds the one report with this name, or else the one whose name contains it as whole words.
pub(super) fn find(reports: Vec<Report>, name: &str) -> Result<Report, InspectError> {
    let wanted = without_closures(name);
    let names = |reports: &[Report]| reports.iter().map(|report| report.name.clone()).collect();
    if let Some(exact) = reports.iter().find(|report| report.name == wanted) {
        return Ok(exact.clone());
    }
    let mut found: Vec<Report> =
        reports.iter().filter(|report| mentions(&report.name, wanted)).cloned().collect();
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => Err(InspectError::Unknown { name: name.to_owned(), known: names(&reports) }),
        _ => Err(InspectError::Ambiguous { name: name.to_owned(), found: names(&found) }),
    }
}

/// Returns whether a name contains `wanted` as whole words: at the end of the name, or of the path of a type in it.
fn mentions(name: &str, wanted: &str) -> bool {
    let starts = |before: &str| before.is_empty() || before.ends_with([':', '<', ' ', '&', '(']);
    let ends = |after: &str| {
        let after = without_closures(after.split(['>', ',', ')']).next().unwrap_or_default());
        after.is_empty()
    };
    let found = |(at, _)| starts(&name[..at]) && ends(&name[at + wanted.len()..]);
    !wanted.is_empty() && name.match_indices(wanted).any(found)
}

/// Returns the name of the function that contains the closures.
pub(super) fn without_closures(name: &str) -> &str {
    let mut name = name;
    while let Some(rest) = name.strip_suffix("::{{closure}}") {
        name = rest;
    }
    name
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.name)?;
        writeln!(
            f,
            "  {:<9} {:>6} {:>6} {:>6} {:>6} {:>5} {:>6} {:>7} {:>6}",
            "level", "128", "256", "512", "scalar", "fma", "calls", "panics", "bytes"
        )?;
        for Instance { level, bytes, counts, calls, .. } in &self.instances {
            let Counts { packed_128, packed_256, packed_512, scalar, fma, panics } = counts;
            writeln!(
                f,
                "  {:<9} {packed_128:>6} {packed_256:>6} {packed_512:>6} {scalar:>6} {fma:>5} {:>6} \
                 {panics:>7} {bytes:>6}",
                level.name(),
                calls.len()
            )?;
        }
        for instance in &self.instances {
            for call in &instance.calls {
                writeln!(f, "  {} calls {call}", instance.level)?;
            }
        }
        if f.alternate() {
            for instance in &self.instances {
                writeln!(f, "\n  {} at {}:", self.name, instance.level)?;
                f.write_str(&instance.assembly)?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if self.in_loop { f.write_str(" (in a loop)") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reports() -> Vec<Report> {
        ["game::steer", "game::sea::steer", "game::sort<f32>", "lib::each<game::turn::{{closure}}>"]
            .map(|name| Report { name: name.to_owned(), instances: Vec::new() })
            .to_vec()
    }

    #[test]
    fn a_name_is_found_from_any_part_on() {
        let name = |wanted| find(reports(), wanted).map(|report| report.name);
        assert_eq!(name("game::steer::{{closure}}").unwrap(), "game::steer");
        assert_eq!(name("sea::steer").unwrap(), "game::sea::steer");
        assert_eq!(name("sort<f32>").unwrap(), "game::sort<f32>");
        assert_eq!(name("turn").unwrap(), "lib::each<game::turn::{{closure}}>");
        assert!(matches!(name("game"), Err(InspectError::Unknown { .. })));
        assert!(matches!(name("steer"), Err(InspectError::Ambiguous { .. })));
        assert!(matches!(name("teer"), Err(InspectError::Unknown { .. })));
    }

    #[test]
    fn unwrap_shows_the_message_of_each_error() {
        let (name, found) = ("steer".to_owned(), vec!["game::steer".to_owned()]);
        for error in [
            InspectError::Unsupported("only executables of Linux can be read"),
            InspectError::Read("no such file".to_owned()),
            InspectError::Unknown { name: name.clone(), known: Vec::new() },
            InspectError::Unknown { name: name.clone(), known: found.clone() },
            InspectError::Ambiguous { name, found },
        ] {
            assert_eq!(format!("{error:?}"), error.to_string());
        }
    }

    #[test]
    fn a_report_reads_as_a_table() {
        let counts = Counts { packed_256: 8, scalar: 2, panics: 1, ..Counts::default() };
        let calls = vec![Call { name: "sinf".to_owned(), in_loop: true }];
        let instance =
            Instance { level: CpuLevel::V3, bytes: 120, counts, calls, assembly: String::new() };
        let report = Report { name: "game::steer".to_owned(), instances: vec![instance] };
        let expected = "\
game::steer
  level        128    256    512 scalar   fma  calls  panics  bytes
  v3             0      8      0      2     0      1       1    120
  v3 calls sinf (in a loop)
";
        assert_eq!(report.to_string(), expected);
    }
}
