//! Names that are set by attributes.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Generics, LitStr};

/// Returns the method `name` of a type with a custom name. For generic types the name includes the arguments.
pub(crate) fn method(given: &LitStr, generics: &Generics) -> TokenStream {
    let name = if generics.params.is_empty() {
        quote!(#given)
    } else {
        quote!(::ancho_entities::__macro::generic_name::<Self>(#given))
    };
    quote! {
        fn name() -> &'static ::core::primitive::str {
            #name
        }
    }
}
