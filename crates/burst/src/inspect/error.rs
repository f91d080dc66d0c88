//! Errors of the inspector.

use std::error::Error;
use std::fmt;

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
#[derive(Clone, Debug, PartialEq, Eq)]
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
        /// The full names that end in it.
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
