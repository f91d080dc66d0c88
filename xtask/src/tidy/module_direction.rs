//! A module may use only the modules that its crate's order puts beside or below it.

use std::collections::BTreeMap;

use super::Finding;
use super::architecture::{self, ModuleOrder};
use super::use_paths::leaves;
use crate::rust_source::{RustSource, leading_name, matching_bracket, words};
use crate::tree::Tree;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for order in architecture::module_orders(tree) {
        let lib_path = format!("crates/{}/src/lib.rs", order.krate);
        let Some(lib) = tree.rust(&lib_path) else {
            let message = format!("`{lib_path}` does not exist. Correct the name of the crate");
            findings.push(Finding::failure(architecture::PATH, order.line, message));
            continue;
        };
        findings.extend(compare_lists(&order, &lib_path, lib));
        let exports = exports(lib);
        let source_folder = format!("crates/{}/src", order.krate);
        for (path, source) in tree.rust_files_below(&source_folder) {
            let within = &path[source_folder.len() + 1..];
            findings.extend(check_file(&order, &exports, path, within, source));
        }
    }
    findings
}

/// Checks that the order names every module, and no other.
fn compare_lists(order: &ModuleOrder, lib_path: &str, lib: &RustSource) -> Vec<Finding> {
    let declared = declared_modules(lib);
    let unlisted =
        declared.iter().filter(|(name, _)| order.rank(name).is_none()).map(|(name, line)| {
            let message = format!(
                "the module `{name}` has no place in the order of modules. \
                 Add it to the block `module-direction {}` of ARCHITECTURE.md",
                order.krate
            );
            Finding::failure(lib_path, *line, message)
        });
    let absent = order
        .ranks
        .iter()
        .filter(|(name, _)| !declared.iter().any(|(declared, _)| declared == name))
        .map(|(name, _)| {
            let message = format!("`{lib_path}` has no `mod {name};`. Take it out of the block");
            Finding::failure(architecture::PATH, order.line, message)
        });
    unlisted.chain(absent).collect()
}

fn check_file(
    order: &ModuleOrder,
    exports: &BTreeMap<&str, &str>,
    path: &str,
    within: &str,
    source: &RustSource,
) -> Vec<Finding> {
    let own = within.split('/').next().unwrap_or(within).trim_end_matches(".rs");
    let Some(own_rank) = order.rank(own) else {
        return Vec::new();
    };
    // Unit tests may use modules above their own.
    if within.ends_with("/tests.rs") {
        return Vec::new();
    }
    let tests = tests_module(source.code());
    let mut findings = Vec::new();
    for (at, names) in mentions_of_root(source, depth(within)) {
        if tests.contains(&at) {
            continue;
        }
        for name in names {
            let module =
                if order.rank(name).is_some() { Some(name) } else { exports.get(name).copied() };
            let Some(module) = module else { continue };
            if order.rank(module).is_some_and(|rank| rank > own_rank) {
                let message = format!(
                    "`{own}` uses `{module}`, which stands above it. Move the shared part down, \
                     or change the order in ARCHITECTURE.md and say why"
                );
                findings.push(Finding::failure(path, source.line_at(at), message));
            }
        }
    }
    findings
}

/// Returns the number of `super` from a file to the crate's root.
fn depth(within: &str) -> usize {
    let folders = within.matches('/').count();
    if within.ends_with("/mod.rs") { folders } else { folders + 1 }
}

/// Returns the places at which the file names an item of the crate's root, by `crate::` or by `super::`, and the names.
fn mentions_of_root(source: &RustSource, depth: usize) -> Vec<(usize, Vec<&str>)> {
    let code = source.code();
    let first_names = |rest| leaves(rest).into_iter().map(|leaf| leaf.first).collect();
    let mut mentions: Vec<(usize, Vec<&str>)> = words(code, "crate")
        .filter_map(|at| Some((at, first_names(after_colons(&code[at + 5..])?))))
        .collect();
    let inline_modules = inline_modules(code);
    for at in words(code, "super") {
        if code[..at].trim_end().ends_with("super::") {
            continue;
        }
        let (mut climbed, mut rest) = (0, &code[at..]);
        while let Some(above) = rest.strip_prefix("super").and_then(after_colons) {
            climbed += 1;
            rest = above;
        }
        let inside = inline_modules.iter().filter(|range| range.contains(&at)).count();
        if climbed > 0 && climbed == depth + inside {
            mentions.push((at, first_names(rest)));
        }
    }
    mentions
}

fn after_colons(code: &str) -> Option<&str> {
    code.trim_start().strip_prefix("::").map(str::trim_start)
}

/// Returns the contents of `mod name { … }`.
fn inline_modules(code: &str) -> Vec<std::ops::Range<usize>> {
    words(code, "mod")
        .filter_map(|at| {
            let open = at + code[at..].find(['{', ';'])?;
            if code[open..].starts_with(';') {
                return None;
            }
            Some(open..matching_bracket(code, open)?)
        })
        .collect()
}

/// Returns the content of `mod tests { … }`, or an empty range.
fn tests_module(code: &str) -> std::ops::Range<usize> {
    let start = words(code, "mod").find(|&at| leading_name(code[at + 3..].trim_start()) == "tests");
    let inside = |start: usize| inline_modules(code).into_iter().find(|range| range.start > start);
    start.and_then(inside).unwrap_or(0..0)
}

/// Returns the `mod name;` of a file, with their lines.
fn declared_modules(source: &RustSource) -> Vec<(&str, usize)> {
    let code = source.code();
    words(code, "mod")
        .filter_map(|at| {
            let rest = code[at + 3..].trim_start();
            let name = leading_name(rest);
            let declares = !name.is_empty() && rest[name.len()..].trim_start().starts_with(';');
            declares.then(|| (name, source.line_at(at)))
        })
        .collect()
}

/// Returns the names that the root re-exports, each with its module.
fn exports(lib: &RustSource) -> BTreeMap<&str, &str> {
    let code = lib.code();
    words(code, "use")
        .flat_map(|at| {
            let path = code[at + 3..].trim_start();
            let inner = ["crate::", "self::"].iter().find_map(|root| path.strip_prefix(root));
            leaves(inner.unwrap_or(path))
        })
        .map(|leaf| (leaf.name, leaf.first))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::test_support::printed;
    use super::*;

    const ORDER: (&str, &str) =
        ("ARCHITECTURE.md", "```text module-direction jobs\nlow\nmid, side\nhigh\n```\n");
    const LIB: (&str, &str) = (
        "crates/jobs/src/lib.rs",
        "mod high;\nmod low;\nmod mid;\nmod side;\npub use high::{Pool, Other as Alias};\n",
    );

    /// Returns the findings for one file, without the remedy.
    fn found(path: &str, text: &str) -> Vec<String> {
        let path = format!("crates/jobs/src/{path}");
        let found = printed(check, [ORDER, LIB, (&path, text)]);
        found
            .iter()
            .map(|line| line.trim_start_matches("crates/jobs/src/"))
            .map(|line| line.split(", which").next().unwrap_or(line).to_owned())
            .collect()
    }

    #[test]
    fn down_and_sideways_is_allowed() {
        let text = "use crate::low::X;\nuse crate::{side::Y, mid::Z};\nuse std::high;\n";
        assert!(found("mid.rs", text).is_empty());
        assert!(found("lib2.rs", "use crate::high;").is_empty());
    }

    #[test]
    fn up_is_refused_in_every_spelling() {
        assert_eq!(found("low.rs", "\nuse crate::mid::X;"), ["low.rs:2: `low` uses `mid`"]);
        assert_eq!(
            found("low.rs", "use crate::{low::A, high::B};"),
            ["low.rs:1: `low` uses `high`"]
        );
        assert_eq!(found("low.rs", "fn f() { crate::high::g() }"), ["low.rs:1: `low` uses `high`"]);
        assert_eq!(found("low.rs", "use super::mid;"), ["low.rs:1: `low` uses `mid`"]);
        assert_eq!(
            found("low/deep.rs", "use super::super::mid;"),
            ["low/deep.rs:1: `low` uses `mid`"]
        );
        assert_eq!(found("low/mod.rs", "use super::{mid};"), ["low/mod.rs:1: `low` uses `mid`"]);
    }

    #[test]
    fn a_name_that_the_root_exports_counts_as_its_module() {
        assert_eq!(found("low.rs", "use crate::Pool;"), ["low.rs:1: `low` uses `high`"]);
        assert_eq!(found("mid.rs", "use crate::{low, Alias};"), ["mid.rs:1: `mid` uses `high`"]);
    }

    #[test]
    fn names_of_ones_own_module_are_not_the_roots() {
        assert!(found("low/deep.rs", "use super::mid;").is_empty());
        assert!(found("low.rs", "mod tests { use super::mid; }").is_empty());
        assert!(found("low.rs", "// crate::high is above\n").is_empty());
    }

    #[test]
    fn unit_tests_may_use_what_stands_above() {
        assert!(found("low/tests.rs", "use crate::high;").is_empty());
        assert!(found("low.rs", "mod tests { use crate::high; }").is_empty());
        assert_eq!(found("low.rs", "use crate::high; mod tests {}").len(), 1);
    }

    #[test]
    fn the_list_and_the_modules_must_agree() {
        let lib = ("crates/jobs/src/lib.rs", "mod low;\nmod mid;\nmod side;\nmod extra;\n");
        let found = printed(check, [ORDER, lib]);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("crates/jobs/src/lib.rs:4: the module `extra`"));
        assert!(
            found[1].starts_with("ARCHITECTURE.md:1: `crates/jobs/src/lib.rs` has no `mod high;`")
        );
    }
}
