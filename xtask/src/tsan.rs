//! `cargo xtask tsan`: data races.
//!
//! The standard library is built with the sanitizer too. Without that, the atomics inside `Arc`,
//! `Mutex` and the test harness are invisible to it, and it reports races that are none; hiding
//! those by suppressions hides true ones as well.
//!
//! Building it takes its source. Where the nightly toolchain has the component `rust-src` that is
//! all; otherwise Debian's compiler and its source package are unpacked (not installed) into the
//! target directory and joined to the nightly's sanitizer runtime.

use std::fs;
use std::path::{Path, PathBuf};

use crate::invocation::Invocation;
use crate::sanitizer::Tests;
use crate::step::Outcome;
use crate::toolchain::SANITIZER_TARGET;
use crate::workspace::Workspace;
use crate::{packages, sanitizer, toolchain};

/// The folder of its builds.
pub(crate) const BUILD: &str = "tsan";

pub(crate) fn run(workspace: &Workspace) -> Outcome {
    let tree = workspace.tree();
    if let Some(reason) = sanitizer::obstacle(&tree) {
        return Outcome::NothingToDo(reason);
    }
    let tools = toolchain::nightly()
        .and_then(|()| packages::ensure_program("addr2line", "binutils"))
        .and_then(|()| Compiler::find(workspace));
    let compiler = match tools {
        Ok(compiler) => compiler,
        Err(remedy) => return Outcome::ToolMissing(remedy),
    };
    let tests = sanitizer::run(workspace, &tree, BUILD, Tests::Threaded, |cargo| {
        compiler
            .choose(cargo)
            .args(["-Zbuild-std"])
            // Stand-alone fences are not modelled by the sanitizer; `cfg(tsan)` lets the code
            // that uses them say the same by stronger orderings.
            .env("RUSTFLAGS", "-Zsanitizer=thread --cfg tsan")
            .env_default("TSAN_OPTIONS", "allow_addr2line=1:allocator_may_return_null=1")
    });
    Outcome::Tested(tests)
}

/// A compiler whose standard library's source is at hand.
enum Compiler {
    Nightly,
    /// Debian's, unpacked below this folder.
    Unpacked(PathBuf),
}

impl Compiler {
    fn find(workspace: &Workspace) -> Result<Self, String> {
        let sysroot = toolchain::nightly_sysroot()?;
        if Path::new(&sysroot).join("lib/rustlib/src/rust/library/Cargo.lock").exists() {
            return Ok(Self::Nightly);
        }
        let dir = workspace.target_dir("toolchain-tsan");
        // Written last, so that a broken download is taken up anew.
        let ready = dir.join("ready");
        if !ready.exists() {
            let by_hand = "rustup component add rust-src --toolchain nightly";
            unpack(&dir, Path::new(&sysroot)).map_err(|error| {
                format!("the standard library's source is missing ({error}): {by_hand}")
            })?;
            fs::write(&ready, "").map_err(|error| error.to_string())?;
        }
        Ok(Self::Unpacked(dir))
    }

    fn choose(&self, cargo: Invocation) -> Invocation {
        let Self::Unpacked(dir) = self else {
            return cargo;
        };
        let usr = dir.join("root/usr");
        let libraries = format!("{0}/lib/x86_64-linux-gnu:{0}/lib", usr.display());
        cargo
            .env("RUSTC", usr.join("bin/rustc"))
            .env("RUSTDOC", usr.join("bin/rustdoc"))
            .env("LD_LIBRARY_PATH", libraries)
            // A stable compiler otherwise refuses `-Zsanitizer`.
            .env("RUSTC_BOOTSTRAP", "1")
    }
}

/// Downloads and unpacks Debian's compiler and the standard library's source into `dir`.
fn unpack(dir: &Path, nightly_sysroot: &Path) -> Result<(), String> {
    if !packages::on_path("apt-get") || !packages::on_path("dpkg") {
        return Err("no Debian to take it from".to_owned());
    }
    packages::update_lists();
    let io_error = |error: std::io::Error| error.to_string();
    if dir.exists() {
        fs::remove_dir_all(dir).map_err(io_error)?;
    }
    fs::create_dir_all(dir).map_err(io_error)?;

    // Asked of the package lists, since the names of the libraries carry versions.
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

    let libraries = format!("lib/rustlib/{SANITIZER_TARGET}/lib");
    fs::copy(
        nightly_sysroot.join(&libraries).join("librustc-nightly_rt.tsan.a"),
        root.join("usr").join(&libraries).join("librustc-stable_rt.tsan.a"),
    )
    .map_err(|error| format!("copying the sanitizer's runtime: {error}"))?;
    Ok(())
}
