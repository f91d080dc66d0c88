//! `write_group(…)`: the components whose write groups a type is in.

use proc_macro2::TokenStream;
use quote::quote;
use syn::meta::ParseNestedMeta;
use syn::punctuated::Punctuated;
use syn::{Result, Token, Type, parenthesized};

/// The components named by `write_group(…)` options, of which there may be several.
#[derive(Default)]
pub(crate) struct WriteGroups(Vec<Type>);

impl WriteGroups {
    /// Parses the value of the option.
    pub(crate) fn read(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        let types;
        parenthesized!(types in meta.input);
        self.0.extend(Punctuated::<Type, Token![,]>::parse_terminated(&types)?);
        Ok(())
    }

    /// Returns the constant of the trait, if it is not the default.
    pub(crate) fn constant(&self) -> Option<TokenStream> {
        let types = &self.0;
        (!types.is_empty()).then(|| {
            quote! {
                const WRITE_GROUPS: &'static [::ancho_entities::WriteGroup] =
                    &[#(::ancho_entities::WriteGroup::of::<#types>()),*];
            }
        })
    }
}
