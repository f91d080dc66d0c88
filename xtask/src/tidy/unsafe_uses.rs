//! The uses of `unsafe` in a file, by kind.

use crate::rust_source::{RustSource, leading_name, matching_bracket, words};

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum UseKind {
    /// `unsafe { … }`
    Block,
    /// `unsafe impl`
    Impl,
    /// `unsafe fn` or `unsafe trait`
    Declaration,
    /// The type `unsafe fn(…)`, which permits nothing by itself.
    PointerType,
    /// Foreign blocks, attributes, and uses in macros.
    Other,
}

#[derive(Debug, Eq, PartialEq)]
pub(super) struct UnsafeUse {
    pub(super) kind: UseKind,
    pub(super) line: usize,
    /// True inside of `quote!`, in code that a macro generates for other crates.
    pub(super) quoted: bool,
}

pub(super) fn unsafe_uses(source: &RustSource) -> Vec<UnsafeUse> {
    let code = source.code();
    let quotes = quotes(code);
    words(code, "unsafe")
        .map(|at| UnsafeUse {
            kind: kind(&code[at + "unsafe".len()..]),
            line: source.line_at(at),
            quoted: quotes.iter().any(|range| range.contains(&at)),
        })
        .collect()
}

/// Returns the kind of a use, from the code after the word.
fn kind(after: &str) -> UseKind {
    let mut rest = after.trim_start();
    if rest.starts_with('{') {
        return UseKind::Block;
    }
    if leading_name(rest) == "extern" {
        // The name of the ABI is blanked, but its quotes remain.
        rest = rest["extern".len()..].trim_start().trim_start_matches(['"', ' ']);
    }
    match leading_name(rest) {
        "impl" => UseKind::Impl,
        "trait" | "auto" => UseKind::Declaration,
        "fn" if rest["fn".len()..].trim_start().starts_with('(') => UseKind::PointerType,
        "fn" => UseKind::Declaration,
        _ => UseKind::Other,
    }
}

fn quotes(code: &str) -> Vec<std::ops::Range<usize>> {
    ["quote", "quote_spanned", "parse_quote"]
        .iter()
        .flat_map(|name| words(code, name).map(|at| at + name.len()))
        .filter(|end| code[*end..].starts_with('!'))
        .filter_map(|end| {
            let open = end + code[end..].find(['{', '(', '['])?;
            Some(open..matching_bracket(code, open)?)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<UseKind> {
        unsafe_uses(&RustSource::new(text.to_owned())).iter().map(|found| found.kind).collect()
    }

    #[test]
    fn each_use_has_its_kind() {
        assert_eq!(kinds("unsafe { f() }"), [UseKind::Block]);
        assert_eq!(kinds("unsafe impl<T> Send for X<T> {}"), [UseKind::Impl]);
        assert_eq!(kinds("pub unsafe fn f() {}"), [UseKind::Declaration]);
        assert_eq!(kinds("pub unsafe extern \"C\" fn f() {}"), [UseKind::Declaration]);
        assert_eq!(kinds("unsafe trait T {}"), [UseKind::Declaration]);
        assert_eq!(kinds("run: unsafe fn(*mut ()),"), [UseKind::PointerType]);
        assert_eq!(kinds("run: unsafe extern \"C\" fn(u8),"), [UseKind::PointerType]);
        assert_eq!(kinds("#[unsafe(no_mangle)] unsafe extern \"C\" {}"), [UseKind::Other; 2]);
    }

    #[test]
    fn words_that_are_no_code_are_not_uses() {
        assert!(kinds("// unsafe {\n#![expect(unsafe_code)] \"unsafe\"").is_empty());
    }

    #[test]
    fn code_for_others_is_told_apart() {
        let text = "let a = quote! { unsafe impl X for Y {} };\nunsafe { b() }";
        let uses = unsafe_uses(&RustSource::new(text.to_owned()));
        assert_eq!((uses[0].quoted, uses[0].line), (true, 1));
        assert_eq!((uses[1].quoted, uses[1].line), (false, 2));
    }
}
