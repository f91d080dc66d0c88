//! Packages of the operating system that a step needs.

use std::path::Path;
use std::sync::OnceLock;

use crate::invocation::Invocation;

/// Ensures that `program` is on the path. Installs `package` if the user is root on Debian.
///
/// # Errors
///
/// Returns a message that says what to install, if the user is not root on Debian.
pub(crate) fn ensure_program(program: &str, package: &str) -> Result<(), String> {
    ensure(program, package, || on_path(program))
}

/// Ensures that `file` exists. Installs `package` if the user is root on Debian.
///
/// # Errors
///
/// Returns a message that says what to install, if the user is not root on Debian.
pub(crate) fn ensure_file(file: &Path, package: &str) -> Result<(), String> {
    ensure(&file.to_string_lossy(), package, || file.exists())
}

fn ensure(wanted: &str, package: &str, is_there: impl Fn() -> bool) -> Result<(), String> {
    if is_there() {
        return Ok(());
    }
    let remedy = format!("`{wanted}` is missing: install the package `{package}`");
    if !on_path("apt-get") || !is_root() {
        return Err(remedy);
    }
    update_lists();
    let installed = Invocation::new("apt-get")
        .args(["install", "--yes", "--no-install-recommends", package])
        .env("DEBIAN_FRONTEND", "noninteractive")
        .check();
    if installed && is_there() { Ok(()) } else { Err(remedy) }
}

/// Refreshes Debian's package lists, once per run. Requires root.
pub(crate) fn update_lists() {
    static UPDATED: OnceLock<bool> = OnceLock::new();
    UPDATED.get_or_init(|| is_root() && Invocation::new("apt-get").args(["update", "-qq"]).check());
}

/// Returns the packages in the transitive closure of `package`, including itself, that are not installed.
///
/// # Errors
///
/// Returns the message of `apt-cache`, for example about an unknown package.
pub(crate) fn missing_closure(package: &str) -> Result<Vec<String>, String> {
    let closure = Invocation::new("apt-cache")
        .args(["depends", "--recurse", "--no-recommends", "--no-suggests", "--no-conflicts"])
        .args(["--no-breaks", "--no-replaces", "--no-enhances", package])
        .capture()?;
    let installed = Invocation::new("dpkg-query")
        .args(["--show", "--showformat", "${db:Status-Status} ${Package}\n"])
        .capture()?;
    Ok(missing(&closure, &installed))
}

/// Compares the two listings: names start in the first column, virtual ones in `<>`.
fn missing(closure: &str, installed: &str) -> Vec<String> {
    let installed: Vec<&str> =
        installed.lines().filter_map(|line| line.strip_prefix("installed ")).collect();
    closure
        .lines()
        .filter(|line| line.starts_with(|first: char| first.is_ascii_alphanumeric()))
        .filter(|name| !installed.contains(name))
        .map(str::to_owned)
        .collect()
}

/// Returns whether a program of this name is on the path.
pub(crate) fn on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| dir.join(program).is_file())
}

fn is_root() -> bool {
    Invocation::new("id").args(["-u"]).capture().is_ok_and(|id| id.trim() == "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_packages_are_those_needed_and_not_installed() {
        let closure = "compiler\n  Depends: libc\n  Depends: <virtual>\n    libv\n\
                       libc\nlibv\n<virtual>\nlibnew-1.2\n";
        let installed = "installed libc\nconfig-files libv\ninstalled zlib\n";
        assert_eq!(missing(closure, installed), ["compiler", "libv", "libnew-1.2"]);
    }
}
