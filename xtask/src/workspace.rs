//! Where things are.

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
    /// Finds the workspace from what cargo tells the processes it starts.
    pub(crate) fn locate() -> Self {
        // The run-time value wins: the compiled one goes stale when a tree is moved.
        let manifest_dir = env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let root = manifest_dir.parent().map(Path::to_path_buf).unwrap_or(manifest_dir);
        let target = env::var_os("CARGO_TARGET_DIR").and_then(|dir| std::path::absolute(dir).ok());
        Self { root, target }
    }

    /// A folder below the target directory, for builds whose flags would evict the usual ones.
    pub(crate) fn target_dir(&self, name: &str) -> PathBuf {
        self.target.clone().unwrap_or_else(|| self.root.join("target")).join(name)
    }

    /// As [`target_dir`](Self::target_dir), for the workspace of the peer benchmark.
    pub(crate) fn peers_target_dir(&self, name: &str) -> PathBuf {
        let own = || self.root.join("benches-peers/target");
        self.target.clone().unwrap_or_else(own).join(name)
    }

    /// Reads the tree's text.
    ///
    /// # Panics
    ///
    /// When a file cannot be read: no step can say anything true about such a tree.
    pub(crate) fn tree(&self) -> Tree {
        Tree::read(&self.root)
            .unwrap_or_else(|error| panic!("reading {}: {error}", self.root.display()))
    }
}

/// Whether a missing tool is a failure, as on a build server.
pub(crate) fn is_ci() -> bool {
    env::var_os("CI").is_some_and(|value| value == "true")
}
