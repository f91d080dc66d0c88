//! The parts of ARCHITECTURE.md that rules compare with the tree.

use crate::tree::Tree;

pub(super) const PATH: &str = "ARCHITECTURE.md";

/// The order of one crate's modules, from a block such as
///
/// ````text
/// ```text module-direction jobs
/// primitive
/// deque, sleep
/// pool          # uses all of the above
/// ```
/// ````
///
/// A module may use those on its own line and on the lines above it.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct ModuleOrder {
    /// The name of the folder below `crates/`.
    pub(super) krate: String,
    /// The line of the block's fence.
    pub(super) line: usize,
    /// Every module with its rank. The modules on the first line have the lowest rank.
    pub(super) ranks: Vec<(String, usize)>,
}

impl ModuleOrder {
    pub(super) fn rank(&self, module: &str) -> Option<usize> {
        self.ranks.iter().find(|(name, _)| name == module).map(|(_, rank)| *rank)
    }
}

/// A path in the list of the section about `unsafe`. Folders end in `/`.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct UnsafePath {
    pub(super) path: String,
    pub(super) line: usize,
}

impl UnsafePath {
    pub(super) fn is_folder(&self) -> bool {
        self.path.ends_with('/')
    }

    pub(super) fn covers(&self, path: &str) -> bool {
        if self.is_folder() { path.starts_with(&self.path) } else { path == self.path }
    }
}

fn text(tree: &Tree) -> &str {
    tree.text(PATH).unwrap_or_default()
}

/// Returns every ```` ```text module-direction <crate> ```` block.
pub(super) fn module_orders(tree: &Tree) -> Vec<ModuleOrder> {
    let mut orders: Vec<ModuleOrder> = Vec::new();
    let mut inside = false;
    for (index, line) in text(tree).lines().enumerate() {
        if let Some(krate) = line.trim().strip_prefix("```text module-direction ") {
            let krate = krate.trim().to_owned();
            orders.push(ModuleOrder { krate, line: index + 1, ranks: Vec::new() });
            inside = true;
        } else if line.trim().starts_with("```") {
            inside = false;
        } else if inside && let Some(order) = orders.last_mut() {
            let modules = line.split('#').next().unwrap_or_default();
            let names = modules.split([',', ' ']).filter(|name| !name.is_empty());
            order.ranks.extend(names.map(|name| (name.to_owned(), index)));
        }
    }
    orders
}

/// Returns the paths of the section "Where `unsafe` lives". Each bullet begins with a path in backticks, which may continue over
/// lines, or with several, `folder/{this,that}.rs`.
pub(super) fn unsafe_paths(tree: &Tree) -> Vec<UnsafePath> {
    let lines: Vec<&str> = text(tree).lines().collect();
    let Some(heading) = lines.iter().position(|line| line.trim() == "## Where `unsafe` lives")
    else {
        return Vec::new();
    };
    let section = lines[heading + 1..].iter().take_while(|line| !line.starts_with("## ")).count();
    let section = heading + 1..heading + 1 + section;
    let mut paths = Vec::new();
    for index in section.clone() {
        let item = lines[index].trim_start();
        let Some(item) = item.strip_prefix("- `").or_else(|| item.strip_prefix("* `")) else {
            continue;
        };
        let rest = lines[index + 1..section.end].iter().map(|line| line.trim());
        let item: String = std::iter::once(item).chain(rest).collect();
        let Some((path, _)) = item.split_once('`') else { continue };
        let expanded = expand_braces(path);
        paths.extend(expanded.into_iter().map(|path| UnsafePath { path, line: index + 1 }));
    }
    paths
}

/// Expands a list in braces, as in shells. A path without one is returned unchanged.
fn expand_braces(path: &str) -> Vec<String> {
    let list = path.split_once('{').and_then(|(before, rest)| {
        let (list, after) = rest.split_once('}')?;
        Some((before, list, after))
    });
    let Some((before, list, after)) = list else { return vec![path.to_owned()] };
    list.split(',').map(|part| format!("{before}{}{after}", part.trim())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn module_orders_are_read_line_by_line() {
        let text = "# A\n```text module-direction jobs\nprimitive\ndeque, sleep node # low\n```\n\
                    ```text\nother\n```\n";
        let orders = module_orders(&Tree::from_files([(PATH, text)]));
        assert_eq!(orders.len(), 1);
        assert_eq!((orders[0].krate.as_str(), orders[0].line), ("jobs", 2));
        assert!(orders[0].rank("primitive") < orders[0].rank("deque"));
        assert_eq!(orders[0].rank("deque"), orders[0].rank("node"));
        assert_eq!(orders[0].rank("other"), None);
    }

    #[test]
    fn unsafe_paths_end_with_their_section() {
        let text = "- `before.rs`\n## Where `unsafe` lives\n\nProse.\n\n- `a/b.rs`: why\n\
                    - `a/raw/`: why\n- no path\n\n## Next\n- `after.rs`\n";
        let paths = unsafe_paths(&Tree::from_files([(PATH, text)]));
        let read: Vec<(&str, usize)> =
            paths.iter().map(|listed| (listed.path.as_str(), listed.line)).collect();
        assert_eq!(read, [("a/b.rs", 6), ("a/raw/", 7)]);
        assert!(paths[1].covers("a/raw/x.rs") && !paths[1].covers("a/raw.rs"));
    }

    #[test]
    fn several_unsafe_paths_of_a_folder_are_one_bullet() {
        let text = "## Where `unsafe` lives\n- `a/{b,c/d,\n  e}.rs`: why\n- `f.rs`: `g.rs` too\n";
        let paths = unsafe_paths(&Tree::from_files([(PATH, text)]));
        let read: Vec<(&str, usize)> =
            paths.iter().map(|listed| (listed.path.as_str(), listed.line)).collect();
        assert_eq!(read, [("a/b.rs", 2), ("a/c/d.rs", 2), ("a/e.rs", 2), ("f.rs", 4)]);
    }
}
