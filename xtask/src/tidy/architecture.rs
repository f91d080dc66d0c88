//! The parts of ARCHITECTURE.md that rules compare the tree with.

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
    /// The folder's name below `crates/`.
    pub(super) krate: String,
    /// The line of the block's fence.
    pub(super) line: usize,
    /// Every module with its rank, which is lowest for the first line.
    pub(super) ranks: Vec<(String, usize)>,
}

impl ModuleOrder {
    pub(super) fn rank(&self, module: &str) -> Option<usize> {
        self.ranks.iter().find(|(name, _)| name == module).map(|(_, rank)| *rank)
    }
}

/// A path in the list of the section about `unsafe`; folders end in `/`.
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

/// Every ```` ```text module-direction <crate> ```` block.
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

/// The bullets of the section "Where `unsafe` lives" that begin with a path in backticks.
pub(super) fn unsafe_paths(tree: &Tree) -> Vec<UnsafePath> {
    text(tree)
        .lines()
        .enumerate()
        .skip_while(|(_, line)| line.trim() != "## Where `unsafe` lives")
        .skip(1)
        .take_while(|(_, line)| !line.starts_with("## "))
        .filter_map(|(index, line)| {
            let item = line.trim_start();
            let item = item.strip_prefix("- `").or_else(|| item.strip_prefix("* `"))?;
            let (path, _) = item.split_once('`')?;
            Some(UnsafePath { path: path.to_owned(), line: index + 1 })
        })
        .collect()
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
}
