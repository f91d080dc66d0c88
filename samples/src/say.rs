//! Printing to standard output.

use std::fmt::Arguments;
use std::io::{self, Write};

/// Prints a line. If the reader has closed the pipe, as `| head` does, the program ends silently.
macro_rules! say {
    ($($text:tt)*) => {
        $crate::say::line(format_args!($($text)*))
    };
}

/// Prints a line, or ends the program with a failure if that is impossible.
pub(crate) fn line(text: Arguments<'_>) {
    if writeln!(io::stdout().lock(), "{text}").is_err() {
        std::process::exit(1);
    }
}
