//! Options in attributes.

use proc_macro2::TokenStream;
use syn::meta::ParseNestedMeta;
use syn::{Attribute, Result};

/// Calls a function with each option of all attributes with a name. For `#[component(cleanup)]`, the option is `cleanup`.
pub(crate) fn read(
    attributes: &[Attribute],
    name: &str,
    mut read: impl FnMut(&ParseNestedMeta<'_>) -> Result<()>,
) -> Result<()> {
    let mut attributes = attributes.iter().filter(|attribute| attribute.path().is_ident(name));
    attributes.try_for_each(|attribute| attribute.parse_nested_meta(|meta| read(&meta)))
}

/// Calls a function with each word of the `repr` attributes. The number in `align(16)` is left to the compiler.
pub(crate) fn read_repr(
    attributes: &[Attribute],
    mut word: impl FnMut(&ParseNestedMeta<'_>) -> Result<()>,
) -> Result<()> {
    read(attributes, "repr", |meta| {
        word(meta)?;
        if meta.input.peek(syn::token::Paren) {
            let number;
            syn::parenthesized!(number in meta.input);
            number.parse::<TokenStream>()?;
        }
        Ok(())
    })
}
