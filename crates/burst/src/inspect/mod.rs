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
mod flow;
mod image;
mod reason;
mod report;
mod verdict;

use std::error::Error;
use std::fmt;
use std::path::Path;

pub use reason::{Reason, reasons_of};
pub use report::{Call, Counts, Instance, Report};
pub use verdict::{Verdict, expect_vectorized, verdict};

/// Returns a report of every kernel in the running executable, ordered by name.
///
/// # Errors
///
/// Returns an error if the executable cannot be read, or the inspector does not support its kind.
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
/// Returns an error if the executable cannot be read, or the inspector does not support its kind.
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
/// Returns the errors of [`kernels`], and an error if no kernel or more than one has the name.
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

/// Returns the report with a name, which may be shortened as for [`kernel`].
///
/// # Errors
///
/// Returns an error if no kernel or more than one has the name.
///
/// # Examples
///
/// ```
/// assert!(ancho_burst::inspect::select(Vec::new(), "steer").is_err());
/// ```
pub fn select(reports: Vec<Report>, name: &str) -> Result<Report, InspectError> {
    report::find(reports, name)
}

/// Reasons why the inspector has no report.
///
/// # Examples
///
/// ```
/// use ancho_burst::inspect::InspectError;
///
/// let error = InspectError::Unknown { name: "stear".into(), known: vec!["game::steer".into()] };
/// assert_eq!(error.to_string(), "no kernel is called `stear`; there are:\n  game::steer");
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum InspectError {
    /// The inspector does not support this kind of executable. The text names the supported ones.
    Unsupported(&'static str),
    /// The executable could not be read, for the reason in the text.
    Read(String),
    /// No kernel has the name.
    Unknown {
        /// The requested name.
        name: String,
        /// The names of all kernels.
        known: Vec<String>,
    },
    /// Several kernels have the name.
    Ambiguous {
        /// The requested name.
        name: String,
        /// The full names of these kernels.
        found: Vec<String>,
    },
}

impl fmt::Display for InspectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, names: &[String]| {
            names.iter().try_for_each(|name| write!(f, "\n  {name}"))
        };
        match self {
            Self::Unsupported(reason) => f.write_str(reason),
            Self::Read(reason) => write!(f, "the executable cannot be read: {reason}"),
            Self::Unknown { name, known } if known.is_empty() => write!(
                f,
                "no kernel is called `{name}`, and the executable has none: kernels are found where they \
                 are compiled with optimisation and the features `dispatch` and `inspect`"
            ),
            Self::Unknown { name, known } => {
                write!(f, "no kernel is called `{name}`; there are:")?;
                list(f, known)
            }
            Self::Ambiguous { name, found } => {
                write!(f, "`{name}` could be any of these; give more of the name:")?;
                list(f, found)
            }
        }
    }
}

impl Error for InspectError {}

/// The same text as `Display`, so that `unwrap` shows the message.
impl fmt::Debug for InspectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
