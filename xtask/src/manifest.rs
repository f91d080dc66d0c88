//! The parts of a `Cargo.toml` that the tasks use.
//!
//! This is a line reader, not a TOML parser. It supports tables, keys, values over several lines and comments, which is all that
//! the manifests of this workspace use, and needs no dependency.

/// A manifest as a list of its keys.
#[derive(Clone, Debug, Default)]
pub(crate) struct Manifest {
    entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
struct Entry {
    table: String,
    key: String,
    /// The value as written, without spaces.
    value: String,
    line: usize,
}

/// The list of dependencies that contains an entry.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum DependencyKind {
    Normal,
    Dev,
    Build,
}

/// A dependency in a manifest.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct Dependency {
    pub(crate) package: String,
    pub(crate) kind: DependencyKind,
    pub(crate) line: usize,
}

impl Manifest {
    pub(crate) fn parse(text: &str) -> Self {
        let mut entries = Vec::new();
        let mut table = String::new();
        let mut lines = text.lines().enumerate();
        while let Some((index, line)) = lines.next() {
            let line = without_comment(line).trim();
            if let Some(header) = line.strip_prefix('[') {
                table = header.trim_matches(['[', ']', ' ']).to_owned();
            } else if let Some((key, value)) = line.split_once('=') {
                let mut value = value.trim().to_owned();
                while open_brackets(&value) > 0 {
                    let Some((_, more)) = lines.next() else { break };
                    value.push_str(without_comment(more).trim());
                }
                entries.push(Entry {
                    table: table.clone(),
                    key: key.trim().to_owned(),
                    value: without_spaces(&value),
                    line: index + 1,
                });
            }
        }
        Self { entries }
    }

    /// Returns the value of a key as written, without the quotes of strings.
    pub(crate) fn get(&self, table: &str, key: &str) -> Option<&str> {
        let entry = self.entries.iter().find(|entry| entry.table == table && entry.key == key)?;
        Some(entry.value.trim_matches('"'))
    }

    /// Returns the strings of a list, or nothing if the key is missing.
    pub(crate) fn list(&self, table: &str, key: &str) -> Vec<&str> {
        let value = self.get(table, key).unwrap_or_default().trim_matches(['[', ']']);
        value
            .split(',')
            .map(|item| item.trim_matches('"'))
            .filter(|item| !item.is_empty())
            .collect()
    }

    /// Returns whether a key of `[package]` is inherited from the workspace.
    pub(crate) fn inherits(&self, key: &str) -> bool {
        self.get("package", &format!("{key}.workspace")) == Some("true")
            || self.get("package", key) == Some("{workspace=true}")
    }

    /// Returns the names of the `[[bin]]` tables, in their order.
    pub(crate) fn executables(&self) -> Vec<String> {
        let names = self.entries.iter().filter(|entry| entry.table == "bin" && entry.key == "name");
        names.map(|entry| entry.value.trim_matches('"').to_owned()).collect()
    }

    /// Returns every dependency, under its package's own name where the manifest renames it.
    pub(crate) fn dependencies(&self) -> Vec<Dependency> {
        let mut found: Vec<Dependency> = Vec::new();
        for entry in &self.entries {
            let last = |table: &str| table.rsplit('.').next().map(str::to_owned);
            // `[dependencies]` holds names as keys, `[dependencies.name]` holds one name's keys.
            let (kind, name) = if let Some(kind) = kind_of(&last(&entry.table)) {
                let name = entry.key.split('.').next().unwrap_or(&entry.key);
                (kind, renamed(&entry.value).unwrap_or(name))
            } else if let Some((above, name)) = entry.table.rsplit_once('.')
                && let Some(kind) = kind_of(&last(above))
            {
                (kind, self.get(&entry.table, "package").unwrap_or(name))
            } else {
                continue;
            };
            if !found.iter().any(|known| known.package == name && known.kind == kind) {
                found.push(Dependency { package: name.to_owned(), kind, line: entry.line });
            }
        }
        found
    }
}

fn kind_of(table: &Option<String>) -> Option<DependencyKind> {
    match table.as_deref()? {
        "dependencies" => Some(DependencyKind::Normal),
        "dev-dependencies" => Some(DependencyKind::Dev),
        "build-dependencies" => Some(DependencyKind::Build),
        _ => None,
    }
}

/// Returns the name in `{ package = "name", … }`.
fn renamed(value: &str) -> Option<&str> {
    let (before, after) = value.split_once("package=\"")?;
    before.ends_with(['{', ',']).then(|| after.split('"').next())?
}

fn without_comment(line: &str) -> &str {
    let mut quoted = false;
    for (index, byte) in line.bytes().enumerate() {
        match byte {
            b'"' => quoted = !quoted,
            b'#' if !quoted => return &line[..index],
            _ => {}
        }
    }
    line
}

/// Returns the number of brackets that a value opens without closing them.
fn open_brackets(value: &str) -> i32 {
    let mut quoted = false;
    let mut open = 0;
    for byte in value.bytes() {
        match byte {
            b'"' => quoted = !quoted,
            b'[' | b'{' if !quoted => open += 1,
            b']' | b'}' if !quoted => open -= 1,
            _ => {}
        }
    }
    open
}

fn without_spaces(value: &str) -> String {
    let mut quoted = false;
    value
        .chars()
        .filter(|c| {
            quoted ^= *c == '"';
            quoted || !c.is_whitespace()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
[package]
name = "ancho_jobs" # the pool
description = "a # that is no comment"
license.workspace = true
edition = { workspace = true }

[features]
default = [
    "std", # with a comment
    "derive",
]

[dependencies]
ancho_derive = { workspace = true, optional = true }
ancho_burst.workspace = true
short = { path = "../x", package = "long_name" }

[dependencies.tabled]
version = "1"
features = ["a"]

[target.'cfg(loom)'.dev-dependencies]
loom = { workspace = true }
"#;

    #[test]
    fn values_are_found_by_table_and_key() {
        let manifest = Manifest::parse(TEXT);
        assert_eq!(manifest.get("package", "name"), Some("ancho_jobs"));
        assert_eq!(manifest.get("package", "description"), Some("a # that is no comment"));
        assert_eq!(manifest.get("features", "default"), Some(r#"["std","derive",]"#));
        assert_eq!(manifest.get("features", "name"), None);
        assert_eq!(manifest.list("features", "default"), ["std", "derive"]);
        assert!(manifest.list("features", "name").is_empty());
    }

    #[test]
    fn executables_are_listed_in_their_order() {
        let text = "[[bin]]\nname = \"b\"\npath = \"b.rs\"\n[[bin]]\nname = \"a\"\n";
        assert_eq!(Manifest::parse(text).executables(), ["b", "a"]);
    }

    #[test]
    fn both_ways_to_inherit_are_known() {
        let manifest = Manifest::parse(TEXT);
        assert!(manifest.inherits("license") && manifest.inherits("edition"));
        assert!(!manifest.inherits("name") && !manifest.inherits("rust-version"));
    }

    #[test]
    fn dependencies_are_found_in_every_spelling() {
        let found = Manifest::parse(TEXT).dependencies();
        let names: Vec<&str> = found.iter().map(|found| found.package.as_str()).collect();
        assert_eq!(names, ["ancho_derive", "ancho_burst", "long_name", "tabled", "loom"]);
        assert_eq!(found[4].kind, DependencyKind::Dev);
        assert_eq!(found[1].line, 16);
    }
}
