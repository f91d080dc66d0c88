//! Paths of the ancho crates in the crate that uses a macro.
//!
//! Macros generate `::ancho_entities::Component`, which is correct for a crate that depends on `ancho_entities`. A crate that only
//! depends on `ancho` has the same item at `::ancho::entities`, and both crates can be renamed. Only the manifest of the crate
//! contains these names.

use std::path::{Path, PathBuf};
use std::{env, fs};

use proc_macro2::{Group, Ident, Punct, Spacing, TokenStream, TokenTree};
use quote::ToTokens;

use crate::manifest::Manifest;

/// The crates that generated code refers to, and their modules in the umbrella crate.
const CRATES: &[(&str, &str)] = &[
    ("ancho_burst", "burst"),
    ("ancho_collections", "collections"),
    ("ancho_entities", "entities"),
    ("ancho_jobs", "jobs"),
];

/// The umbrella crate.
const UMBRELLA: &str = "ancho";

/// Replaces the names of ancho crates by their paths in the current crate.
pub(crate) fn resolve(tokens: TokenStream) -> TokenStream {
    let manifest = manifest().unwrap_or_default();
    let package = env::var("CARGO_PKG_NAME").unwrap_or_default();
    let paths: Vec<_> = CRATES
        .iter()
        .map(|&(krate, module)| (krate, path(&manifest, &package, krate, module)))
        .filter(|(krate, path)| path != krate)
        .collect();
    if paths.is_empty() { tokens } else { replaced(tokens.clone(), &paths).unwrap_or(tokens) }
}

/// Returns the path of a crate. Without a manifest, for example with tools other than cargo, returns the name of the crate.
fn path(manifest: &Manifest, package: &str, krate: &str, module: &str) -> String {
    if package == krate {
        // The crate is compiled itself: its tests and examples refer to it by its name.
        return krate.to_owned();
    }
    let beneath = |umbrella: String| format!("{umbrella}::{module}");
    // Normal dependencies take precedence over dev dependencies.
    [false, true]
        .into_iter()
        .find_map(|dev| {
            let name = |package| manifest.name_of(package, dev);
            name(krate).or_else(|| name(UMBRELLA).map(beneath))
        })
        .unwrap_or_else(|| krate.to_owned())
}

/// Reads the manifest of the current crate, and that of its workspace if a dependency is inherited.
fn manifest() -> Option<Manifest> {
    let folder = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR")?);
    let text = fs::read_to_string(folder.join("Cargo.toml")).ok()?;
    Some(Manifest::parse(&text, || workspace(&folder)))
}

/// Returns the manifest of the workspace that contains a folder.
fn workspace(folder: &Path) -> Option<String> {
    folder.ancestors().find_map(|folder| {
        let text = fs::read_to_string(folder.join("Cargo.toml")).ok()?;
        text.lines().any(|line| line.trim_start().starts_with("[workspace")).then_some(text)
    })
}

/// Replaces crates by paths. Returns `None` if there is nothing to replace.
///
/// Unchanged tokens keep their spans.
fn replaced(tokens: TokenStream, paths: &[(&str, String)]) -> Option<TokenStream> {
    let mut changed = false;
    let mut result: Vec<TokenTree> = Vec::new();
    for token in tokens {
        match token {
            TokenTree::Group(group) => match replaced(group.stream(), paths) {
                None => result.push(group.into()),
                Some(stream) => {
                    let mut anew = Group::new(group.delimiter(), stream);
                    anew.set_span(group.span());
                    result.push(anew.into());
                    changed = true;
                }
            },
            TokenTree::Ident(ident) if starts_path(&result) => {
                match paths.iter().find(|(krate, _)| ident == krate) {
                    None => result.push(ident.into()),
                    Some((_, path)) => {
                        push_path(&mut result, path, &ident);
                        changed = true;
                    }
                }
            }
            token => result.push(token),
        }
    }
    changed.then(|| result.into_iter().collect())
}

/// Tests whether the next token is the first segment of a path: it follows a `::` that has no segment before it.
fn starts_path(tokens: &[TokenTree]) -> bool {
    let is_colon =
        |token: &TokenTree| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ':');
    match tokens {
        [before @ .., first, second] if is_colon(first) && is_colon(second) => {
            !matches!(before.last(), Some(TokenTree::Ident(ident)) if is_segment(ident))
        }
        _ => false,
    }
}

/// Tests whether a word can be a segment of a path: `crate` can, `impl` cannot.
fn is_segment(word: &Ident) -> bool {
    let is_name = syn::parse2::<Ident>(word.to_token_stream()).is_ok();
    is_name || ["crate", "self", "super", "Self"].iter().any(|keyword| word == keyword)
}

fn push_path(tokens: &mut Vec<TokenTree>, path: &str, instead_of: &Ident) {
    for (index, segment) in path.split("::").enumerate() {
        if index > 0 {
            for spacing in [Spacing::Joint, Spacing::Alone] {
                let mut colon = Punct::new(':', spacing);
                colon.set_span(instead_of.span());
                tokens.push(colon.into());
            }
        }
        tokens.push(Ident::new(segment, instead_of.span()).into());
    }
}

#[cfg(test)]
mod tests {
    use quote::quote;

    use super::*;

    fn entities(manifest: &str, package: &str) -> String {
        let manifest = Manifest::parse(manifest, || None);
        path(&manifest, package, "ancho_entities", "entities")
    }

    #[test]
    fn a_crate_is_found_by_the_name_it_has() {
        assert_eq!(entities("[dependencies]\nancho_entities = '0.1'", "game"), "ancho_entities");
        assert_eq!(entities("[dependencies]\nancho = '0.1'", "game"), "ancho::entities");
        let renamed = "[dependencies]\necs = { package = 'ancho_entities' }";
        assert_eq!(entities(renamed, "game"), "ecs");
        let renamed = "[dependencies]\ndots-stack = { package = \"ancho\" }";
        assert_eq!(entities(renamed, "game"), "dots_stack::entities");
    }

    #[test]
    fn the_crate_itself_is_preferred_and_what_only_tests_use_comes_last() {
        let both = "[dependencies]\nancho = '0.1'\nancho_entities = '0.1'";
        assert_eq!(entities(both, "game"), "ancho_entities");
        let test = "[dependencies]\nancho = '0.1'\n[dev-dependencies]\nancho_entities = '0.1'";
        assert_eq!(entities(test, "game"), "ancho::entities");
        let test = "[dev-dependencies]\nancho = '0.1'";
        assert_eq!(entities(test, "game"), "ancho::entities");
    }

    #[test]
    fn without_a_manifest_and_in_its_own_tests_a_crate_has_its_own_name() {
        assert_eq!(entities("", "game"), "ancho_entities");
        let own = "[dev-dependencies]\nancho = '0.1'";
        assert_eq!(entities(own, "ancho_entities"), "ancho_entities");
    }

    #[test]
    fn only_the_first_segment_of_a_path_is_replaced() {
        let paths = [("ancho_entities", "a::entities".to_owned())];
        let given = quote! {
            impl ::ancho_entities::Field for X {
                const A: own::ancho_entities::Y = crate::ancho_entities::A;
                const B: <X as ::ancho_entities::Field>::B = [::ancho_entities::ancho_entities()];
            }
        };
        let expected = quote! {
            impl ::a::entities::Field for X {
                const A: own::ancho_entities::Y = crate::ancho_entities::A;
                const B: <X as ::a::entities::Field>::B = [::a::entities::ancho_entities()];
            }
        };
        let found = replaced(given, &paths).expect("there is one");
        assert_eq!(found.to_string(), expected.to_string());
        assert!(replaced(quote!(::ancho_jobs::Job), &paths).is_none());
    }
}
