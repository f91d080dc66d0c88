//! Checks that a kernel is vectorised, for tests.

use std::fmt;

use super::report::{Call, Report};
use super::{InspectError, kernel};
use crate::CpuLevel;

/// The result of a vectorisation check at a level.
///
/// # Examples
///
/// ```
/// use ancho_burst::{CpuLevel, inspect::{Report, Verdict, verdict}};
///
/// let report = Report { name: "game::steer".into(), instances: Vec::new() };
/// assert_eq!(verdict(&report, CpuLevel::V3), Verdict::Absent);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every instance computes with vectors of the level's width, and has no call in a loop.
    Vectorized,
    /// There is no instance at this level.
    Absent,
    /// An instance does not compute with vectors of the level's width, or has a call in a loop. The text states the reason.
    Scalar(String),
}

/// Checks a report. A kernel is vectorised at a level if each of its instances there computes with vectors of the level's width,
/// and no innermost loop has a call. The width is 128, 256, and at v4 256 or 512 bits.
///
/// # Examples
///
/// ```
/// use ancho_burst::{CpuLevel, inspect::{Report, Verdict, verdict}};
///
/// let report = Report { name: "game::steer".into(), instances: Vec::new() };
/// assert_eq!(verdict(&report, CpuLevel::V3), Verdict::Absent);
/// ```
pub fn verdict(report: &Report, level: CpuLevel) -> Verdict {
    let mut found = Verdict::Absent;
    for instance in report.at(level) {
        let counts = &instance.counts;
        let (wide, bits) = match level {
            CpuLevel::Baseline => (counts.packed(), "128"),
            CpuLevel::V3 => (counts.packed_256, "256"),
            CpuLevel::V4 => (counts.packed_256 + counts.packed_512, "256 or more"),
        };
        let in_loop: Vec<&Call> = instance.calls.iter().filter(|call| call.in_loop).collect();
        // Without packed instructions, any call may be to a loop that was not inlined.
        let culprits = if wide == 0 { instance.calls.iter().collect() } else { in_loop };
        if wide == 0 || !culprits.is_empty() {
            let stopped = match culprits.as_slice() {
                [] => "it makes no calls; `cargo xtask inspect` shows the compiler's reasons"
                    .to_owned(),
                calls => format!("it calls {}", List(calls)),
            };
            return Verdict::Scalar(format!(
                "kernel `{}` is not vectorised at {level}: {wide} packed instructions of {bits} bits, {} \
                 packed in all, {} scalar; {stopped}",
                report.name,
                counts.packed(),
                counts.scalar,
            ));
        }
        found = Verdict::Vectorized;
    }
    found
}

/// Panics unless the kernel is vectorised at the level; see [`assert_vectorized!`](crate::assert_vectorized).
///
/// # Panics
///
/// Panics if the kernel is not vectorised, has no instance at the level, or does not exist.
///
/// # Examples
///
/// ```
/// // In a debug build this asserts nothing.
/// # if cfg!(debug_assertions) {
/// ancho_burst::inspect::expect_vectorized("game::steer", ancho_burst::CpuLevel::V3);
/// # }
/// ```
#[track_caller]
pub fn expect_vectorized(name: &str, level: CpuLevel) {
    // Unoptimised code is never vectorised, and differs from the code that users run.
    if cfg!(debug_assertions) || cfg!(not(feature = "dispatch")) {
        return;
    }
    let report = match kernel(name) {
        Ok(report) => report,
        Err(InspectError::Unsupported(_)) => return,
        Err(error) => panic!("{error}"),
    };
    match verdict(&report, level) {
        Verdict::Vectorized => {}
        Verdict::Absent => panic!("kernel `{}` has no instance at {level}", report.name),
        Verdict::Scalar(reason) => panic!("{reason}"),
    }
}

/// Asserts that a kernel is vectorised at a CPU level (Unity's `Loop.ExpectVectorized`).
///
/// The kernel is a function with [`#[burst]`](macro@crate::burst), or a name as for [`inspect::kernel`](crate::inspect::kernel),
/// such as that of the function around a job's closure. The assertion passes if each instance computes with vectors of the
/// level's width and no innermost loop has a call (see [`inspect::verdict`](crate::inspect::verdict)). The machine need not
/// support the level.
///
/// Does nothing in builds with debug assertions, which are not optimised, without the feature `dispatch`, and on platforms whose
/// executables the inspector cannot read.
///
/// # Panics
///
/// Panics if the kernel is not vectorised, with its name, the level, the counts and the calls that prevent it. Panics if there is
/// no such kernel.
///
/// # Examples
///
/// ```
/// use ancho_burst::{CpuLevel, assert_vectorized, burst};
///
/// #[burst]
/// fn double(values: &mut [f32]) {
///     values.iter_mut().for_each(|value| *value *= 2.0);
/// }
///
/// double(&mut [1.0; 64]);
/// assert_vectorized!(double, CpuLevel::V3);
/// ```
#[macro_export]
macro_rules! assert_vectorized {
    ($kernel:literal, $level:expr $(,)?) => {
        $crate::inspect::expect_vectorized($kernel, $level)
    };
    ($kernel:expr, $level:expr $(,)?) => {
        $crate::inspect::expect_vectorized(::core::any::type_name_of_val(&$kernel), $level)
    };
}

struct List<'c>(&'c [&'c Call]);

impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, call) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{call}")?;
        }
        Ok(())
    }
}
