//! The text of the tree, in memory, so that rules are functions of plain data.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use crate::manifest::Manifest;
use crate::rust_source::RustSource;

/// Every text file that a task may read, by its path from the root, written with `/`.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    rust: BTreeMap<String, RustSource>,
    other: BTreeMap<String, String>,
}

/// A crate of the workspace.
#[derive(Debug)]
pub(crate) struct Member {
    /// The path, such as `crates/jobs`.
    pub(crate) folder: String,
    /// The name, such as `ancho_jobs`.
    pub(crate) package: String,
    pub(crate) manifest: Manifest,
    pub(crate) has_library: bool,
    /// The names of its integration tests.
    pub(crate) tests: Vec<String>,
}

impl Member {
    /// Returns whether the package or its folder has this name.
    pub(crate) fn is_called(&self, name: &str) -> bool {
        self.package == name || self.folder.rsplit('/').next() == Some(name)
    }
}

impl Tree {
    /// Reads the Rust files, manifests and Markdown below `root`.
    pub(crate) fn read(root: &Path) -> io::Result<Self> {
        let mut tree = Self::default();
        tree.read_folder(root, "")?;
        Ok(tree)
    }

    /// Creates a tree for a test.
    #[cfg(test)]
    pub(crate) fn from_files<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut tree = Self::default();
        for (path, text) in files {
            tree.add(path.to_owned(), text.to_owned());
        }
        tree
    }

    fn read_folder(&mut self, folder: &Path, prefix: &str) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{prefix}{name}");
            let kind = entry.file_type()?;
            if kind.is_dir() {
                // Cargo marks its target directories as caches.
                if !name.starts_with('.') && !entry.path().join("CACHEDIR.TAG").exists() {
                    self.read_folder(&entry.path(), &format!("{path}/"))?;
                }
            } else if kind.is_file()
                && [".rs", ".md", ".toml"].iter().any(|extension| name.ends_with(extension))
            {
                self.add(path, fs::read_to_string(entry.path())?);
            }
        }
        Ok(())
    }

    fn add(&mut self, path: String, text: String) {
        if path.ends_with(".rs") {
            self.rust.insert(path, RustSource::new(text));
        } else {
            self.other.insert(path, text);
        }
    }

    /// Returns the text of a file that is not Rust.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.other.get(path).map(String::as_str)
    }

    /// Returns the paths of files that are not Rust.
    pub(crate) fn other_paths(&self) -> impl Iterator<Item = &str> {
        self.other.keys().map(String::as_str)
    }

    pub(crate) fn rust(&self, path: &str) -> Option<&RustSource> {
        self.rust.get(path)
    }

    pub(crate) fn rust_files(&self) -> impl Iterator<Item = (&str, &RustSource)> {
        self.rust.iter().map(|(path, source)| (path.as_str(), source))
    }

    /// Returns the Rust files below a folder.
    pub(crate) fn rust_files_below(
        &self,
        folder: &str,
    ) -> impl Iterator<Item = (&str, &RustSource)> {
        self.rust_files().filter(move |(path, _)| {
            path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
        })
    }

    /// Returns the library crates, which are those in `crates/`.
    pub(crate) fn crates(&self) -> Vec<Member> {
        self.members().into_iter().filter(|member| member.folder.starts_with("crates/")).collect()
    }

    /// Returns every crate of the workspace.
    pub(crate) fn members(&self) -> Vec<Member> {
        let folders = self.other.keys().filter_map(|path| path.strip_suffix("/Cargo.toml"));
        folders
            .filter(|folder| match folder.strip_prefix("crates/") {
                Some(name) => !name.contains('/'),
                None => ["examples", "samples", "tests/umbrella", "xtask"].contains(folder),
            })
            .map(|folder| self.member(folder))
            .collect()
    }

    fn member(&self, folder: &str) -> Member {
        let manifest =
            Manifest::parse(self.text(&format!("{folder}/Cargo.toml")).unwrap_or_default());
        let prefix = format!("{folder}/tests/");
        let tests = self
            .rust
            .keys()
            .filter_map(|path| path.strip_prefix(&prefix)?.strip_suffix(".rs"))
            .map(|name| name.strip_suffix("/main").unwrap_or(name))
            .filter(|name| !name.contains('/'))
            .map(str::to_owned)
            .collect();
        Member {
            folder: folder.to_owned(),
            package: manifest.get("package", "name").unwrap_or_default().to_owned(),
            manifest,
            has_library: self.rust.contains_key(&format!("{folder}/src/lib.rs")),
            tests,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_by_their_manifests() {
        let tree = Tree::from_files([
            ("Cargo.toml", "[workspace]"),
            ("benches-peers/Cargo.toml", "[package]\nname = \"peers\"\n"),
            ("crates/jobs/Cargo.toml", "[package]\nname = \"ancho_jobs\"\n"),
            ("crates/jobs/tests/fixture/Cargo.toml", "[package]\nname = \"fixture\"\n"),
            ("samples/Cargo.toml", "[package]\nname = \"samples\"\n"),
        ]);
        let packages: Vec<String> =
            tree.members().into_iter().map(|member| member.package).collect();
        assert_eq!(packages, ["ancho_jobs", "samples"]);
        assert_eq!(tree.crates().len(), 1);
    }

    #[test]
    fn a_folder_is_not_its_longer_namesake() {
        let tree = Tree::from_files([("src/raw/a.rs", ""), ("src/raw_more/b.rs", "")]);
        let paths: Vec<&str> = tree.rust_files_below("src/raw").map(|(path, _)| path).collect();
        assert_eq!(paths, ["src/raw/a.rs"]);
    }
}
