//! Rule: names that were replaced are gone from text, and from the names of files.

use std::collections::BTreeSet;

use super::Finding;
use super::prose::Prose;
use crate::tree::Tree;

/// The file with the table of old and new names.
const CHANGELOG: &str = "CHANGELOG.md";

/// The first line of the table.
const HEADER: &str = "| old | new |";

/// Libraries whose names may be the same as old names of ancho.
const PEERS: &[&str] = &["Unity", "DOTS", "bevy", "hecs", "flecs", "legion", "shipyard"];

/// Names in the first column of the table that the standard library has too.
const STANDARD: &[&str] = &["AsMut", "AsRef"];

/// Old names of files and folders below `crates/entities/src`.
const FILES: &[&str] = &[
    "adopt",
    "apart",
    "arrivals",
    "cancel",
    "carry_out",
    "cellar",
    "choice",
    "continue_after",
    "creation",
    "dead",
    "deed",
    "fences",
    "few",
    "fold",
    "foresight",
    "found",
    "gates",
    "give",
    "going",
    "kept_chunks",
    "kept_cursor",
    "kinds",
    "landings",
    "late",
    "lend",
    "matched",
    "noting",
    "promises",
    "refit",
    "regroup",
    "routes",
    "shapes",
    "sought_values",
    "staying",
    "stock",
    "stretch",
    "tell",
    "upcoming",
    "uses",
    "vanishing",
    "verb",
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = files(tree);
    let names = old_names(tree);
    for prose in Prose::of_tree(tree) {
        if prose.path == CHANGELOG || prose.path == "xtask/src/tidy/old_names.rs" {
            continue;
        }
        for (number, line) in prose.lines_with_names() {
            for name in names_in(line).filter(|name| names.contains(*name)) {
                // A word such as `Created` is a name only in backticks.
                let is_name = is_compound(name) || line.contains(&format!("`{name}`"));
                let is_peers = || {
                    prose.paragraph_mentions(number, PEERS) || is_alias(tree, prose.path, number)
                };
                if is_name && !is_peers() {
                    let message = format!(
                        "`{name}` was replaced. Write the new name, which is in the table of {CHANGELOG}"
                    );
                    findings.push(Finding::failure(prose.path, number, message));
                }
            }
        }
    }
    findings
}

/// Returns whether a line is a search alias, which is a name of another library.
fn is_alias(tree: &Tree, path: &str, number: usize) -> bool {
    let line = tree.rust(path).and_then(|source| source.text().lines().nth(number - 1));
    line.is_some_and(|line| line.trim_start().starts_with("#[doc(alias = "))
}

/// Refuses files and folders with an old name.
fn files(tree: &Tree) -> Vec<Finding> {
    let of_file = |(path, _): (&str, _)| {
        let module = path.strip_prefix("crates/entities/src/")?.strip_suffix(".rs")?;
        let old = module.split('/').find(|part| FILES.contains(part))?;
        let message = format!(
            "`{old}` is a name that was replaced. Take a word of the glossary in ARCHITECTURE.md"
        );
        Some(Finding::failure(path, 1, message))
    };
    tree.rust_files().filter_map(of_file).collect()
}

/// Returns the names of the table's first column that no code has.
fn old_names(tree: &Tree) -> BTreeSet<String> {
    let changelog = tree.text(CHANGELOG).unwrap_or_default();
    let rows = changelog.lines().skip_while(|line| *line != HEADER).skip(2);
    let rows: Vec<&str> = rows.take_while(|line| line.starts_with('|')).collect();
    let cells = |index: usize| rows.iter().filter_map(move |row| row.split('|').nth(index));
    let new: BTreeSet<&str> = cells(2).flat_map(names_in).collect();
    let old = cells(1).flat_map(in_backticks).flat_map(names_in);
    let mut old: BTreeSet<&str> =
        old.filter(|name| name.len() > 4 && !new.contains(name)).collect();
    old.retain(|name| is_compound(name) || name.starts_with(|c: char| c.is_uppercase()));
    old.retain(|name| !STANDARD.contains(name));
    for (path, source) in tree.rust_files() {
        if path.starts_with("crates/") {
            for name in names_in(source.code()) {
                old.remove(name);
            }
        }
    }
    old.into_iter().map(str::to_owned).collect()
}

/// Returns the parts of a line in backticks.
fn in_backticks(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// Returns the words of a text that could be names in Rust.
fn names_in(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// Returns whether a name consists of several words, such as `spawn_many` or `QueryRef`.
fn is_compound(name: &str) -> bool {
    name.contains('_') || name.chars().skip(1).any(char::is_uppercase)
}

#[cfg(test)]
mod tests {
    use super::super::test_support::printed;
    use super::*;

    const TABLE: (&str, &str) = (
        CHANGELOG,
        "# Log\n\n| old | new |\n|---|---|\n| `QueryRef`, `Created`, `kept_name` | `Query` |\n| `get(x)` | `kept` |\n",
    );

    #[test]
    fn an_old_name_in_text_is_refused() {
        let text =
            "/// Returns a `QueryRef`.\nfn kept_name() { panic!(\"no QueryRef\") }\n// `Created`";
        let found = printed(check, [TABLE, ("crates/a/src/a.rs", text)]);
        assert_eq!(found.len(), 3, "{found:?}");
        assert_eq!(
            found[0],
            "crates/a/src/a.rs:1: `QueryRef` was replaced. Write the new name, which is in the table of CHANGELOG.md"
        );
        assert_eq!(printed(check, [TABLE, ("README.md", "A `QueryRef`.")]).len(), 1);
    }

    #[test]
    fn names_that_code_has_and_names_of_peers_are_allowed() {
        let text = "/// `kept_name`, `get`. Created here.\nfn kept_name() {}\n/// Unity's `QueryRef`.\n\n#[doc(alias = \"QueryRef\")]";
        assert_eq!(printed(check, [TABLE, ("crates/a/src/a.rs", text)]), [""; 0]);
    }

    #[test]
    fn an_old_name_of_a_file_is_refused() {
        let path = "crates/entities/src/manager/gates/mod.rs";
        assert_eq!(
            printed(check, [(path, "")]),
            ["crates/entities/src/manager/gates/mod.rs:1: `gates` is a name that was replaced. \
              Take a word of the glossary in ARCHITECTURE.md"]
        );
        assert_eq!(printed(check, [("crates/jobs/src/gates.rs", "")]), [""; 0]);
    }
}
