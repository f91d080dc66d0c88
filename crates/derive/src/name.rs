//! Names that are set by attributes.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Generics, LitStr};

/// The method `name` of a type that was given one. Each type that a generic type makes has its arguments in its name.
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
