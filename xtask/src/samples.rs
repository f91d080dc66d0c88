//! `cargo xtask samples`: runs the gallery without a window, and compares its hashes; `cargo xtask picture`: draws the picture in
//! the README.

use std::fs;
use std::path::Path;

use crate::hashes;
use crate::invocation::Invocation;
use crate::step::Outcome;
use crate::workspace::Workspace;

/// The picture in the README.
const PICTURE: &str = "samples/battle.svg";

pub(crate) fn run(workspace: &Workspace) -> Outcome {
    if !workspace.root.join("samples/Cargo.toml").exists() {
        return Outcome::NothingToDo("no crate `samples` in the workspace".to_owned());
    }
    if !build(workspace) {
        return Outcome::Checked { passed: false };
    }
    let is_same = gallery(workspace).args(["check"]).check();
    let is_current = picture_is_current(workspace);
    let hashes = hashes::compare(workspace, || gallery(workspace));
    let is_known = hashes.failures.is_empty();
    if !is_known {
        println!(
            "`cargo xtask samples --update` rewrites the hashes; the commit says why they change"
        );
    }
    Outcome::Checked { passed: is_same && is_current && is_known }
}

/// Rewrites the file of hashes.
pub(crate) fn update_hashes(workspace: &Workspace) -> bool {
    build(workspace) && hashes::update(workspace, || gallery(workspace))
}

/// Builds the gallery with the libraries that `testrelease` has built.
fn build(workspace: &Workspace) -> bool {
    let words = "build --release --workspace --exclude xtask --all-features --bin samples";
    Invocation::cargo(workspace, words).check()
}

/// Returns the built gallery, without arguments.
fn gallery(workspace: &Workspace) -> Invocation {
    Invocation::new(workspace.target_dir("release/samples"))
}

/// Draws the picture again. It is the same on every machine.
pub(crate) fn draw_picture(workspace: &Workspace) -> bool {
    build(workspace) && draw(workspace, &workspace.root.join(PICTURE))
}

fn draw(workspace: &Workspace, file: &Path) -> bool {
    let words = ["battle", "--view", "none", "--frames", "600", "--picture"];
    gallery(workspace).args(words).args([file]).check()
}

/// Returns whether the picture in the tree is up to date.
fn picture_is_current(workspace: &Workspace) -> bool {
    let drawn = workspace.target_dir("battle.svg");
    if !draw(workspace, &drawn) {
        return false;
    }
    match (fs::read(workspace.root.join(PICTURE)), fs::read(&drawn)) {
        (Ok(kept), Ok(drawn)) if kept == drawn => true,
        (Err(error), _) | (_, Err(error)) => {
            println!("{PICTURE} cannot be compared with what is drawn: {error}");
            false
        }
        _ => {
            println!(
                "{PICTURE} is not what `battle` draws now; `cargo xtask picture` draws it anew"
            );
            false
        }
    }
}
