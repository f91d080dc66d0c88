//! `cargo xtask arm`: checks for identical bits on ARM.
//!
//! Builds the gallery and the tests of bits for aarch64, together with the standard library, and runs them with qemu. Compares
//! every line of `samples/hashes.txt`.

use std::path::Path;

use crate::build_std::Compiler;
use crate::invocation::Invocation;
use crate::step::Outcome;
use crate::workspace::Workspace;
use crate::{hashes, packages};

/// The folder of this step's builds.
pub(crate) const BUILD: &str = "arm";

const TARGET: &str = "aarch64-unknown-linux-gnu";
const LINKER: &str = "aarch64-linux-gnu-gcc";
const QEMU: &str = "qemu-aarch64-static";
/// The folder of ARM's C library.
const LIBRARIES: &str = "/usr/aarch64-linux-gnu";

/// Arguments of cargo: the gallery with its test binary `gallery`, and the tests of bits. One command builds all of them, so that
/// they share one build of the libraries.
const TARGETS: &str = "-p samples -p ancho_burst -p ancho_transforms --features ancho_burst/glam \
                       --test gallery --test kernels --test math --test behaviour";

pub(crate) fn run(workspace: &Workspace) -> Outcome {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Outcome::NothingToDo("set up for x86-64 Linux only".to_owned());
    }
    let library = Path::new(LIBRARIES).join("lib/libc.so");
    let compiler = packages::ensure_program(LINKER, "gcc-aarch64-linux-gnu")
        .and_then(|()| packages::ensure_file(&library, "libc6-dev-arm64-cross"))
        .and_then(|()| packages::ensure_program(QEMU, "qemu-user-static"))
        .and_then(|()| Compiler::find(workspace));
    let compiler = match compiler {
        Ok(compiler) => compiler,
        Err(remedy) => return Outcome::ToolMissing(remedy),
    };
    let build = workspace.target_dir(BUILD);
    let cargo = |words: &str| {
        let flags = format!("--release -Zbuild-std=std,panic_unwind --target {TARGET}");
        let cargo = Invocation::cargo(workspace, &format!("+nightly {words} {flags}"))
            .target_dir(&build)
            .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", LINKER)
            .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER", format!("{QEMU} -L {LIBRARIES}"));
        compiler.choose(cargo)
    };
    let mut run = cargo(&format!("test {TARGETS}")).args(["--", "bits"]).test();
    let gallery = build.join(TARGET).join("release/samples");
    run += hashes::compare(workspace, || {
        Invocation::new(QEMU).args(["-L", LIBRARIES]).args([&gallery])
    });
    Outcome::Tested(run)
}
