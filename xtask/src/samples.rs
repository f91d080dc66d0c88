//! `cargo xtask samples`: the gallery, without a window; `cargo xtask picture`: the picture in the README.

use std::fs;
use std::path::Path;

use crate::invocation::Invocation;
use crate::step::Outcome;
use crate::workspace::Workspace;

/// The picture in the README.
const PICTURE: &str = "samples/battle.svg";

pub(crate) fn run(workspace: &Workspace) -> Outcome {
    if !workspace.root.join("samples/Cargo.toml").exists() {
        return Outcome::NothingToDo("no crate `samples` in the workspace".to_owned());
    }
    let words = "run --release -p samples -- check";
    let is_same = Invocation::cargo(workspace, words).check();
    let is_current = picture_is_current(workspace);
    Outcome::Checked { passed: is_same && is_current }
}

/// Draws the picture anew. It is the same on every machine.
pub(crate) fn draw_picture(workspace: &Workspace) -> bool {
    draw(workspace, Path::new(PICTURE))
}

fn draw(workspace: &Workspace, file: &Path) -> bool {
    let words = "run --release -p samples -- battle --view none --frames 600 --picture";
    Invocation::cargo(workspace, words).args([file]).check()
}

/// Whether the picture in the tree is what the sample draws now.
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
