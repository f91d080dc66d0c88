//! Parser for the paths of `use` declarations.

use crate::rust_source::{leading_name, matching_bracket};

/// One name at the end of a path, such as `C` in `a::{b, c::D as C}`.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Leaf<'a> {
    /// The first name of the path, here `a`, or the first name in braces.
    pub(super) first: &'a str,
    /// The name that the declaration introduces.
    pub(super) name: &'a str,
}

/// Returns the leaves of the path at the start of `code`, and ignores the rest.
pub(super) fn leaves(code: &str) -> Vec<Leaf<'_>> {
    let mut found = Vec::new();
    collect(code, None, "", &mut found);
    found
}

/// Collects the leaves of a path. If `code` begins in the middle of the path, `first` is the first name of the path, and `parent`
/// the name before `code`.
fn collect<'a>(code: &'a str, first: Option<&'a str>, parent: &'a str, found: &mut Vec<Leaf<'a>>) {
    let code = code.trim_start();
    if code.starts_with('{') {
        let close = matching_bracket(code, 0).unwrap_or(code.len());
        for part in split_at_commas(&code[1..close]) {
            collect(part, first, parent, found);
        }
        return;
    }
    let name = if code.starts_with('*') { &code[..1] } else { leading_name(code) };
    if name.is_empty() {
        return;
    }
    let rest = code[name.len()..].trim_start();
    let first = first.unwrap_or(name);
    if let Some(below) = rest.strip_prefix("::") {
        collect(below, Some(first), name, found);
        return;
    }
    let name = match rest.strip_prefix("as ") {
        Some(alias) => leading_name(alias.trim_start()),
        None if name == "self" => parent,
        None => name,
    };
    found.push(Leaf { first, name });
}

fn split_at_commas(group: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0_i32, 0);
    for (index, byte) in group.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            b',' if depth == 0 => {
                parts.push(&group[start..index]);
                start = index + 1;
            }
            _ => {}
        }
    }
    parts.push(&group[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(code: &str) -> Vec<(&str, &str)> {
        leaves(code).into_iter().map(|leaf| (leaf.first, leaf.name)).collect()
    }

    #[test]
    fn plain_paths() {
        assert_eq!(read("a;"), [("a", "a")]);
        assert_eq!(read("a::b::C; x"), [("a", "C")]);
        assert_eq!(read("a::b(c)"), [("a", "b")]);
        assert_eq!(read("a::*;"), [("a", "*")]);
        assert!(read("").is_empty());
    }

    #[test]
    fn groups_and_aliases() {
        assert_eq!(read("a::{b, c::D as C};"), [("a", "b"), ("a", "C")]);
        assert_eq!(read("{a::{self, X}, b::Y,};"), [("a", "a"), ("a", "X"), ("b", "Y")]);
    }
}
