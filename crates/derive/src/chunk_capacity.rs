//! `maximum_chunk_capacity = …`: the maximum number of entities in a chunk with a component.

use std::num::NonZero;

use proc_macro2::TokenStream;
use quote::quote;
use syn::meta::ParseNestedMeta;
use syn::{Error, LitInt, Result};

/// The value of the option, if it is present.
#[derive(Default)]
pub(crate) struct MaximumChunkCapacity(Option<NonZero<u32>>);

impl MaximumChunkCapacity {
    /// Parses the value of the option.
    pub(crate) fn read(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        let given: LitInt = meta.value()?.parse()?;
        let Some(most) = NonZero::new(given.base10_parse()?) else {
            return Err(Error::new(
                given.span(),
                "the maximum chunk capacity is zero, but a chunk has room for one entity at least",
            ));
        };
        if self.0.replace(most).is_some() {
            return Err(meta.error("a component has one maximum chunk capacity"));
        }
        Ok(())
    }

    /// Returns the constant of the trait, if it is not the default.
    pub(crate) fn constant(&self) -> Option<TokenStream> {
        self.0.map(|most| {
            let most = most.get();
            quote! {
                const MAXIMUM_CHUNK_CAPACITY: ::core::option::Option<
                    ::core::num::NonZero<::core::primitive::u32>,
                > = ::core::num::NonZero::new(#most);
            }
        })
    }
}
