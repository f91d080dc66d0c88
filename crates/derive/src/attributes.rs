//! Options in attributes.

use proc_macro2::TokenStream;
use syn::meta::ParseNestedMeta;
use syn::{Attribute, Result};

/// Calls a function with each option of the attributes with a name: of `#[component(cleanup)]`, with `cleanup`.
pub(crate) fn read(
    attributes: &[Attribute],
    name: &str,
    mut read: impl FnMut(&ParseNestedMeta<'_>) -> Result<()>,
) -> Result<()> {
    let mut attributes = attributes.iter().filter(|attribute| attribute.path().is_ident(name));
    attributes.try_for_each(|attribute| attribute.parse_nested_meta(|meta| read(&meta)))
}

/// Calls a function with each word of the `repr` attributes. The compiler validates the number of `align(16)`.
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
