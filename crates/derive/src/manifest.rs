//! The dependencies in a `Cargo.toml`, which are needed to find the path of a crate.
//!
//! This is a line reader, not a TOML parser: every user would have to build a TOML parser before any derive. It supports tables,
//! keys, values over several lines and comments.

/// The dependencies of a crate.
#[derive(Debug, Default)]
pub(crate) struct Manifest {
    dependencies: Vec<Dependency>,
}

#[derive(Debug)]
struct Dependency {
    /// The name of the dependency in the manifest, by which the code of the crate refers to it.
    name: String,
    package: Option<String>,
    dev: bool,
    inherited: bool,
}

impl Manifest {
    /// Parses a manifest. Calls `workspace` for the manifest of the workspace if a dependency is inherited.
    pub(crate) fn parse(text: &str, workspace: impl FnOnce() -> Option<String>) -> Self {
        let mut dependencies: Vec<Dependency> = Vec::new();
        for_each_entry(text, |table, key, value| {
            let table: Vec<&str> = table.iter().map(String::as_str).collect();
            let (kind, rest) = match &table[..] {
                ["target", _, kind, rest @ ..] | [kind, rest @ ..] => (*kind, rest),
                [] => return,
            };
            read(&mut dependencies, kind, &[rest, key].concat(), value);
        });
        if dependencies.iter().any(|dependency| dependency.inherited)
            && let Some(workspace) = workspace()
        {
            let renamed = packages_of_workspace(&workspace);
            for dependency in dependencies.iter_mut().filter(|dependency| dependency.inherited) {
                let found = renamed.iter().find(|renamed| renamed.name == dependency.name);
                dependency.package = found.and_then(|found| found.package.clone());
            }
        }
        Self { dependencies }
    }

    /// Returns the identifier by which code refers to a package, among normal or dev dependencies.
    pub(crate) fn name_of(&self, package: &str, dev: bool) -> Option<String> {
        let found = self.dependencies.iter().find(|dependency| {
            dependency.dev == dev
                && dependency.package.as_ref().unwrap_or(&dependency.name) == package
        })?;
        Some(found.name.replace('-', "_"))
    }
}

/// Returns the dependencies that a workspace declares for its members.
fn packages_of_workspace(text: &str) -> Vec<Dependency> {
    let mut dependencies = Vec::new();
    for_each_entry(text, |table, key, value| {
        let table: Vec<&str> = table.iter().map(String::as_str).collect();
        if let ["workspace", kind, rest @ ..] = &table[..] {
            read(&mut dependencies, kind, &[rest, key].concat(), value);
        }
    });
    dependencies
}

/// Records an entry of a list of dependencies. The first of `keys` is the name of the dependency.
fn read(dependencies: &mut Vec<Dependency>, kind: &str, keys: &[&str], value: &str) {
    let dev = match kind {
        "dependencies" => false,
        "dev-dependencies" => true,
        _ => return,
    };
    let [name, keys @ ..] = keys else { return };
    let known = dependencies.iter().position(|known| known.name == *name && known.dev == dev);
    let index = known.unwrap_or_else(|| {
        let name = (*name).to_owned();
        dependencies.push(Dependency { name, package: None, dev, inherited: false });
        dependencies.len() - 1
    });
    let mut note = |key: &str, value: &str| match key {
        "package" => dependencies[index].package = Some(unquoted(value).to_owned()),
        "workspace" => dependencies[index].inherited = value == "true",
        _ => {}
    };
    match keys {
        [key] => note(key, value),
        // `{ key = value, … }`
        [] => {
            if let Some(inside) = value.strip_prefix('{') {
                for entry in split(inside.trim_end_matches('}'), ',') {
                    if let Some((key, value)) = entry.split_once('=') {
                        note(unquoted(key.trim()), value.trim());
                    }
                }
            }
        }
        _ => {}
    }
}

/// Calls a function for the entries of all tables: the table's keys, the entry's keys and the value.
fn for_each_entry(text: &str, mut each: impl FnMut(&[String], &[&str], &str)) {
    let mut table = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let line = without_comment(line);
        if let Some(header) = line.strip_prefix('[') {
            table = keys(header.trim_matches(['[', ']']));
        } else if let [key, value @ ..] = &split(line, '=')[..]
            && !value.is_empty()
        {
            let mut value = value.join("=").trim().to_owned();
            while is_open(&value) {
                let Some(more) = lines.next() else { break };
                value.push_str(without_comment(more));
            }
            let keys = keys(key);
            each(&table, &keys.iter().map(String::as_str).collect::<Vec<_>>(), &value);
        }
    }
}

/// Returns the parts of a dotted key.
fn keys(dotted: &str) -> Vec<String> {
    split(dotted, '.').iter().map(|key| unquoted(key.trim()).to_owned()).collect()
}

fn unquoted(text: &str) -> &str {
    text.trim_matches(['"', '\''])
}

fn without_comment(line: &str) -> &str {
    let end = outside_strings(line).find(|(_, c)| *c == '#').map_or(line.len(), |(at, _)| at);
    line[..end].trim()
}

/// Returns whether a value has unclosed brackets.
fn is_open(value: &str) -> bool {
    let depth = outside_strings(value).fold(0, |depth: i32, (_, c)| match c {
        '[' | '{' => depth + 1,
        ']' | '}' => depth - 1,
        _ => depth,
    });
    depth > 0
}

/// Splits a text at separators outside of strings and brackets.
fn split(text: &str, separator: char) -> Vec<String> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0, 0);
    for (at, c) in outside_strings(text) {
        match c {
            '[' | '{' => depth += 1,
            ']' | '}' => depth -= 1,
            c if c == separator && depth == 0 => {
                parts.push(text[start..at].to_owned());
                start = at + c.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(text[start..].to_owned());
    parts
}

/// Returns the characters outside of strings, with their positions.
fn outside_strings(text: &str) -> impl Iterator<Item = (usize, char)> {
    let mut quote = None;
    let mut escaped = false;
    text.char_indices().filter(move |&(_, c)| {
        match quote {
            None if c == '"' || c == '\'' => quote = Some(c),
            None => return true,
            Some('"') if escaped => escaped = false,
            Some('"') if c == '\\' => escaped = true,
            Some(open) if open == c => quote = None,
            Some(_) => {}
        }
        false
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Option<String> {
        Manifest::parse(text, || None).name_of("ancho", false)
    }

    #[test]
    fn dependencies_are_found_in_every_spelling() {
        for text in [
            "[dependencies]\nancho = \"0.1\"",
            "  [dependencies] # all of them\n  ancho='0.1'# one",
            "[dependencies]\n\"ancho\".version = \"0.1\"",
            "[dependencies]\nancho = { version = \"0.1\", features = [\"a\", \"b\"] }",
            "[dependencies]\nancho = {\n  version = \"0.1\", # new\n  features = [\n  \"a\",\n],\n}",
            "[dependencies.ancho]\nversion = \"0.1\"",
            "[target.'cfg(unix)'.dependencies]\nancho = \"0.1\"",
            "[target.\"cfg(not(target_os = \\\"x.y\\\"))\".dependencies.ancho]\nversion = \"0.1\"",
            "[dependencies]\nserde = \"1\"\nancho.workspace = true",
        ] {
            assert_eq!(name(text).as_deref(), Some("ancho"), "{text}");
        }
    }

    #[test]
    fn a_renamed_dependency_has_its_new_name() {
        for text in [
            "[dependencies]\necs = { package = \"ancho\", version = \"0.1\" }",
            "[dependencies]\necs = { version = \"0.1\", package = 'ancho' }",
            "[dependencies]\necs.package = \"ancho\"\necs.version = \"0.1\"",
            "[dependencies.ecs]\nversion = \"0.1\"\npackage = \"ancho\"",
        ] {
            assert_eq!(name(text).as_deref(), Some("ecs"), "{text}");
        }
    }

    #[test]
    fn what_is_no_dependency_is_not_taken_for_one() {
        for text in [
            "[package]\nname = \"ancho\"",
            "[features]\nancho = []\ndependencies = [\"ancho\"]",
            "[workspace.dependencies]\nancho = \"0.1\"",
            "[build-dependencies]\nancho = \"0.1\"",
            "[patch.crates-io]\nancho = { path = \"x\" }",
            "[dependencies]\n# ancho = \"0.1\"",
            "[dependencies]\nother = { features = [\"package = ancho\"], path = \"ancho\" }",
            "[dependencies]\nancho = { package = \"other\" }",
        ] {
            assert_eq!(name(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_inherited_is_renamed_by_the_workspace() {
        let workspace = "[workspace]\nmembers = [\"*\"]\n[workspace.dependencies]\n\
                         ecs = { package = \"ancho\", version = \"0.1\" }";
        for text in
            ["[dependencies]\necs.workspace = true", "[dependencies]\necs = { workspace = true }"]
        {
            let manifest = Manifest::parse(text, || Some(workspace.to_owned()));
            assert_eq!(manifest.name_of("ancho", false).as_deref(), Some("ecs"), "{text}");
        }
        Manifest::parse("[dependencies]\necs = \"1\"", || panic!("nothing is inherited"));
    }
}
