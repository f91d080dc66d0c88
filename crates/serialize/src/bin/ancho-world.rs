//! Shows and checks world files, without the types of the program that wrote them.
//!
//! ```text
//! ancho-world info FILE…     prints the contents of files
//! ancho-world check FILE…    checks the checksums of files
//! ```
//!
//! The exit code is 0 if all files are right, 1 if one is not, and 2 if the arguments are wrong.

use std::fs::File;
use std::io::{self, BufReader, Write};
use std::process::ExitCode;

use ancho_serialize::{FileInfo, SerializeError};

const USAGE: &str = "usage: ancho-world info|check FILE…";

fn main() -> io::Result<ExitCode> {
    let mut arguments = std::env::args().skip(1);
    let command = arguments.next();
    let files: Vec<String> = arguments.collect();
    let (is_info, is_check) =
        (command.as_deref() == Some("info"), command.as_deref() == Some("check"));
    if !(is_info || is_check) || files.is_empty() {
        writeln!(io::stderr(), "{USAGE}")?;
        return Ok(ExitCode::from(2));
    }
    let mut code = ExitCode::SUCCESS;
    for path in files {
        match read(&path) {
            Ok(info) if is_info => writeln!(io::stdout(), "{path}: {info}")?,
            Ok(info) => {
                let FileInfo { entities, chunks, sections, .. } = info;
                writeln!(
                    io::stdout(),
                    "{path}: right; {entities} entities in {chunks} chunks, {sections} sections"
                )?;
            }
            Err(error) => {
                writeln!(io::stderr(), "{path}: {error}")?;
                code = ExitCode::FAILURE;
            }
        }
    }
    Ok(code)
}

fn read(path: &str) -> Result<FileInfo, SerializeError> {
    FileInfo::read(BufReader::with_capacity(1 << 18, File::open(path)?))
}
