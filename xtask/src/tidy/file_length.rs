//! Rule: a Rust file has at most 1,000 lines.

use super::Finding;
use crate::tree::Tree;

const LIMIT: usize = 1_000;
const AIM: usize = 500;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust_files()
        .filter_map(|(path, source)| {
            let lines = source.line_count();
            if lines > LIMIT {
                let message = format!(
                    "the file has {lines} lines, more than {LIMIT}. Move a type to its own file"
                );
                Some(Finding::failure(path, LIMIT + 1, message))
            } else if lines > AIM {
                let message = format!("the file has {lines} lines. Which type can leave?");
                Some(Finding::note(path, AIM + 1, message))
            } else {
                None
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::test_support::printed;
    use super::*;

    #[test]
    fn long_is_noted_and_too_long_is_refused() {
        let (aim, long, too_long) = ("\n".repeat(AIM), "\n".repeat(LIMIT), "\n".repeat(LIMIT + 1));
        let found = printed(check, [("a.rs", &aim), ("b.rs", &long), ("c.rs", &too_long)]);
        assert_eq!(
            found,
            [
                "b.rs:501: note: the file has 1000 lines. Which type can leave?",
                "c.rs:1001: the file has 1001 lines, more than 1000. Move a type to its own file",
            ]
        );
    }
}
