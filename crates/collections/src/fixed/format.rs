//! Formats that are not literals, which `format_args!` does not accept.

use std::fmt::{Display, Write};

use super::error::FormatError;

/// Maximum number of arguments of a format: `{0}` to `{9}`.
const MAX_ARGUMENTS: usize = 10;

/// Writes a format, with the arguments in place of `{0}` to `{9}`, and one brace for two.
///
/// An error may come after a part was written. The caller removes it, so the format is read only
/// once.
pub(crate) fn write_format(
    out: &mut dyn Write,
    format: &str,
    arguments: &[&dyn Display],
) -> Result<(), FormatError> {
    let given = arguments.len();
    if given > MAX_ARGUMENTS {
        return Err(FormatError::TooManyArguments { given });
    }
    let mut rest = format;
    while let Some(at) = rest.find(['{', '}']) {
        let position = format.len() - rest.len() + at;
        write_text(out, &rest[..at])?;
        let taken = match rest.as_bytes()[at..] {
            [b'{', b'{', ..] | [b'}', b'}', ..] => {
                write_text(out, &rest[at..=at])?;
                2
            }
            [b'{', digit @ b'0'..=b'9', b'}', ..] => {
                let index = usize::from(digit - b'0');
                let Some(argument) = arguments.get(index) else {
                    return Err(FormatError::MissingArgument { position, index, given });
                };
                write_value(out, argument)?;
                3
            }
            _ => return Err(FormatError::BadFormat { position }),
        };
        rest = &rest[at + taken..];
    }
    write_text(out, rest)
}

/// Writes a value as `{}` would.
pub(crate) fn write_value(out: &mut dyn Write, value: &dyn Display) -> Result<(), FormatError> {
    write!(out, "{value}").map_err(|_| FormatError::Display)
}

fn write_text(out: &mut dyn Write, text: &str) -> Result<(), FormatError> {
    out.write_str(text).map_err(|_| FormatError::Display)
}
