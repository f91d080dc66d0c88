//! A compiler that can build the standard library, for steps whose target or flags fit no prebuilt one.
//!
//! This requires the source of the standard library. The component `rust-src` of the nightly toolchain is sufficient. Otherwise
//! Debian's compiler and its source package are unpacked (not installed) into the target directory.

use std::fs;
use std::path::{Path, PathBuf};

use crate::invocation::Invocation;
use crate::workspace::Workspace;
use crate::{packages, toolchain};

/// A compiler with the source of its standard library.
#[derive(Debug)]
pub(crate) enum Compiler {
    Nightly,
    /// Debian's compiler, unpacked below this folder.
    Unpacked(PathBuf),
}

impl Compiler {
    /// Finds a compiler, or unpacks Debian's.
    ///
    /// # Errors
    ///
    /// Returns a message that says what to install.
    pub(crate) fn find(workspace: &Workspace) -> Result<Self, String> {
        toolchain::nightly()?;
        let sysroot = toolchain::nightly_sysroot()?;
        if Path::new(&sysroot).join("lib/rustlib/src/rust/library/Cargo.lock").exists() {
            return Ok(Self::Nightly);
        }
        let dir = workspace.target_dir("toolchain-std");
        // Written last, so that an interrupted download is repeated.
        let ready = dir.join("ready");
        if !ready.exists() {
            let by_hand = "rustup component add rust-src --toolchain nightly";
            unpack(&dir).map_err(|error| {
                format!("the standard library's source is missing ({error}): {by_hand}")
            })?;
            fs::write(&ready, "").map_err(|error| error.to_string())?;
        }
        Ok(Self::Unpacked(dir))
    }

    /// Makes a `cargo +nightly` command use this compiler.
    pub(crate) fn choose(&self, cargo: Invocation) -> Invocation {
        let Self::Unpacked(dir) = self else {
            return cargo;
        };
        let usr = dir.join("root/usr");
        let libraries = format!("{0}/lib/x86_64-linux-gnu:{0}/lib", usr.display());
        cargo
            .env("RUSTC", usr.join("bin/rustc"))
            .env("RUSTDOC", usr.join("bin/rustdoc"))
            .env("LD_LIBRARY_PATH", libraries)
            // Makes a stable compiler accept `-Z` flags.
            .env("RUSTC_BOOTSTRAP", "1")
    }

    /// Returns the folder of the compiler's own libraries for a target, if the compiler is unpacked.
    pub(crate) fn unpacked_libraries(&self, target: &str) -> Option<PathBuf> {
        match self {
            Self::Nightly => None,
            Self::Unpacked(dir) => Some(dir.join(format!("root/usr/lib/rustlib/{target}/lib"))),
        }
    }
}

/// Downloads and unpacks Debian's compiler and the standard library's source into `dir`.
fn unpack(dir: &Path) -> Result<(), String> {
    if !packages::on_path("apt-get") || !packages::on_path("dpkg") {
        return Err("no Debian to take it from".to_owned());
    }
    packages::update_lists();
    let io_error = |error: std::io::Error| error.to_string();
    if dir.exists() {
        fs::remove_dir_all(dir).map_err(io_error)?;
    }
    fs::create_dir_all(dir).map_err(io_error)?;

    // Read from the package lists, since the names of the libraries contain versions.
    let mut wanted: Vec<String> = packages::missing_closure("rustc-web")?
        .into_iter()
        .filter(|name| name == "rustc-web" || name.starts_with("lib"))
        .collect();
    wanted.push("rust-web-src".to_owned());
    if !Invocation::new("apt-get").args(["download"]).args(&wanted).current_dir(dir).check() {
        return Err(format!("apt-get could not download {}", wanted.join(" ")));
    }
    let root = dir.join("root");
    for entry in fs::read_dir(dir).map_err(io_error)? {
        let archive = entry.map_err(io_error)?.path();
        if archive.extension().is_some_and(|extension| extension == "deb") {
            Invocation::new("dpkg").args(["-x".as_ref(), archive.as_path(), &root]).capture()?;
            fs::remove_file(&archive).map_err(io_error)?;
        }
    }
    Ok(())
}
