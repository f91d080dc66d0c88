//! Paths of the workspace.

use std::env;
use std::path::{Path, PathBuf};

use crate::tree::Tree;

/// The paths a step needs.
#[derive(Debug)]
pub(crate) struct Workspace {
    /// The folder of the root manifest.
    pub(crate) root: PathBuf,
    target: Option<PathBuf>,
}

impl Workspace {
    /// Locates the workspace from the environment variables that cargo sets.
    pub(crate) fn locate() -> Self {
        // The run-time value is preferred: the compiled one is wrong after a tree is moved.
        let manifest_dir = env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let root = manifest_dir.parent().map(Path::to_path_buf).unwrap_or(manifest_dir);
        let target = env::var_os("CARGO_TARGET_DIR").and_then(|dir| std::path::absolute(dir).ok());
        Self { root, target }
    }

    /// Returns a folder below the target directory, for builds whose flags differ from the usual ones. In the same folder, each
    /// of the two builds would replace the other.
    pub(crate) fn target_dir(&self, name: &str) -> PathBuf {
        self.target.clone().unwrap_or_else(|| self.root.join("target")).join(name)
    }

    /// Returns a folder below the target directory of the peer benchmark's workspace.
    pub(crate) fn peers_target_dir(&self, name: &str) -> PathBuf {
        let own = || self.root.join("benches-peers/target");
        self.target.clone().unwrap_or_else(own).join(name)
    }

    /// Reads the tree's text.
    ///
    /// # Panics
    ///
    /// Panics if a file cannot be read, since no step could check such a tree.
    pub(crate) fn tree(&self) -> Tree {
        Tree::read(&self.root)
            .unwrap_or_else(|error| panic!("reading {}: {error}", self.root.display()))
    }
}

/// Returns whether a missing tool is a failure, as on a build server.
pub(crate) fn is_ci() -> bool {
    env::var_os("CI").is_some_and(|value| value == "true")
}
