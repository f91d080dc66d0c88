//! Printing to whoever reads.

use std::fmt::Arguments;
use std::io::{self, Write};

/// Prints a line. If nobody reads any more, as behind `| head`, the program ends without a word.
macro_rules! say {
    ($($text:tt)*) => {
        $crate::say::line(format_args!($($text)*))
    };
}

/// Prints a line, or ends the program: with a failure, since what was asked for is not done.
pub(crate) fn line(text: Arguments<'_>) {
    if writeln!(io::stdout().lock(), "{text}").is_err() {
        std::process::exit(1);
    }
}
