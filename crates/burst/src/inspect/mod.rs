//! The inspector: shows the machine code of each kernel (Unity's Burst Inspector).
//!
//! Reads the symbols and the code of an executable, decodes every instance of every kernel, and counts its instructions. Kernels
//! are named after their functions and closures, as by [`std::any::type_name`]. Requires optimised code, x86-64 and ELF;
//! otherwise every call returns an [`InspectError`].
//!
//! # Examples
//!
//! ```
//! use ancho_burst::inspect;
//!
//! ancho_burst::dispatch(|| std::hint::black_box([1.0_f32; 64]).map(|value| value * 2.0));
//! match inspect::kernels() {
//!     Ok(reports) => reports.iter().for_each(|report| println!("{report}")),
//!     Err(reason) => println!("{reason}"),
//! }
//! ```

mod code;
mod error;
mod flow;
mod image;
mod reason;
mod report;
mod verdict;

use std::path::Path;

pub use error::InspectError;
pub use reason::{Reason, reasons_of};
pub use report::{Call, Counts, Instance, Report};
pub use verdict::{Verdict, expect_vectorized, verdict};

/// Returns a report of every kernel in the running executable, ordered by name.
///
/// # Errors
///
/// If the executable cannot be read, or the inspector does not support its kind.
///
/// # Examples
///
/// ```
/// for report in ancho_burst::inspect::kernels().unwrap_or_default() {
///     assert!(!report.name.is_empty());
/// }
/// ```
pub fn kernels() -> Result<Vec<Report>, InspectError> {
    let path = std::env::current_exe().map_err(|error| InspectError::Read(error.to_string()))?;
    kernels_of(&path)
}

/// Returns a report of every kernel in an executable, ordered by name.
///
/// The executable must have been built with this feature, without which kernels have no names.
///
/// # Errors
///
/// If the executable cannot be read, or the inspector does not support its kind.
///
/// # Examples
///
/// ```
/// use std::path::Path;
/// assert!(ancho_burst::inspect::kernels_of(Path::new("no such file")).is_err());
/// ```
pub fn kernels_of(executable: &Path) -> Result<Vec<Report>, InspectError> {
    image::reports(executable)
}

/// Returns a report of one kernel in the running executable.
///
/// A name may start after any `::`. `game::steer` and `steer` find the kernel of the function `steer` in the crate `game`, the
/// closures in it, and the loop of a library that calls one of them.
///
/// # Errors
///
/// The errors of [`kernels`], and if no kernel or more than one has the name.
///
/// # Examples
///
/// ```
/// let error = ancho_burst::inspect::kernel("no_such_kernel").unwrap_err();
/// assert!(!error.to_string().is_empty());
/// ```
pub fn kernel(name: &str) -> Result<Report, InspectError> {
    select(kernels()?, name)
}

/// Selects the one report of that name, as [`kernel`] does.
///
/// # Errors
///
/// If no kernel or more than one has the name.
///
/// # Examples
///
/// ```
/// assert!(ancho_burst::inspect::select(Vec::new(), "steer").is_err());
/// ```
pub fn select(reports: Vec<Report>, name: &str) -> Result<Report, InspectError> {
    report::find(reports, name)
}
