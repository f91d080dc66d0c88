//! Capabilities of the installed Rust toolchains.

use crate::invocation::Invocation;

/// The only target that the sanitizer steps support.
pub(crate) const SANITIZER_TARGET: &str = "x86_64-unknown-linux-gnu";

/// Checks for a cargo subcommand that is a rustup component.
///
/// # Errors
///
/// Returns the command that installs the component.
pub(crate) fn component(subcommand: &str, component: &str) -> Result<(), String> {
    match Invocation::new("cargo").args([subcommand, "--version"]).capture() {
        Ok(_) => Ok(()),
        Err(_) => Err(format!("`{component}` is missing: rustup component add {component}")),
    }
}

/// Checks for the nightly toolchain, which `-Zsanitizer` requires.
///
/// Reads rustup's list instead of running `cargo +nightly`, which may install a toolchain.
///
/// # Errors
///
/// Returns the command that installs the toolchain.
pub(crate) fn nightly() -> Result<(), String> {
    let list = Invocation::new("rustup").args(["toolchain", "list"]).capture();
    if list.is_ok_and(|list| lists_nightly(&list)) {
        Ok(())
    } else {
        Err("the nightly toolchain is missing: rustup toolchain install nightly".to_owned())
    }
}

/// Returns the folder of the nightly toolchain.
///
/// # Errors
///
/// Returns the message of rustc.
pub(crate) fn nightly_sysroot() -> Result<String, String> {
    let sysroot = Invocation::new("rustc").args(["+nightly", "--print", "sysroot"]).capture()?;
    Ok(sysroot.trim().to_owned())
}

fn lists_nightly(list: &str) -> bool {
    list.lines().any(|line| line.starts_with("nightly-x") || line.starts_with("nightly-a"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dated_nightly_is_not_the_nightly() {
        assert!(lists_nightly("stable-x86_64\nnightly-x86_64-unknown-linux-gnu\n"));
        assert!(!lists_nightly("stable-x86_64\nnightly-2026-01-01-x86_64-unknown-linux-gnu\n"));
        assert!(!lists_nightly(""));
    }
}
