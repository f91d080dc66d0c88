//! Components: what storage asks of a type, found out by the compiler.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, DeriveInput, Error, LitStr, Result, parse_quote};

use crate::field::Derived;

pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let Derived { implementation, mut generics } = Derived::new(input)?;
    let name = &input.ident;
    let given_name = given_name(&input.attrs)?.map(|given| {
        quote! {
            fn name() -> &'static ::core::primitive::str {
                #given
            }
        }
    });

    let is_generic = !generics.params.is_empty();
    // One place for all types that a generic type makes is not to be had.
    let slot = (!is_generic).then(|| {
        quote! {
            fn slot() -> ::core::option::Option<&'static ::ancho_entities::__macro::TypeSlot<Self>> {
                static __SLOT: ::ancho_entities::__macro::TypeSlot<#name> =
                    ::ancho_entities::__macro::TypeSlot::<#name>::new();
                ::core::option::Option::Some(&__SLOT)
            }
        }
    });
    if is_generic {
        let (_, type_generics, _) = input.generics.split_for_impl();
        let threads = parse_quote!(
            #name #type_generics: ::core::marker::Send + ::core::marker::Sync
        );
        generics.make_where_clause().predicates.push(threads);
    }
    let (impl_generics, type_generics, where_clause) = generics.split_for_impl();
    Ok(quote! {
        #implementation

        #[automatically_derived]
        impl #impl_generics ::ancho_entities::Component for #name #type_generics #where_clause {
            #given_name

            fn duplicate() -> ::ancho_entities::__macro::Duplicate<Self> {
                use ::ancho_entities::__macro::{
                    DuplicateBytes as _, DuplicateClone as _, DuplicateNone as _,
                };
                (&&&::ancho_entities::__macro::Probe::<Self>::new()).__ancho_duplicate()
            }

            fn initial() -> ::ancho_entities::__macro::Initial<Self> {
                use ::ancho_entities::__macro::{InitialDefault as _, InitialNone as _};
                (&&::ancho_entities::__macro::Probe::<Self>::new()).__ancho_initial()
            }

            #slot
        }
    })
}

/// The name of `#[component(name = "…")]`.
fn given_name(attributes: &[Attribute]) -> Result<Option<LitStr>> {
    let mut given: Option<LitStr> = None;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("component")) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("name") {
                let message =
                    "there is no such option; a component has `#[component(name = \"…\")]`";
                return Err(meta.error(message));
            }
            let name: LitStr = meta.value()?.parse()?;
            if name.value().is_empty() {
                return Err(Error::new(name.span(), "the name of a component is not empty"));
            }
            if given.replace(name).is_some() {
                return Err(meta.error("a component has one name"));
            }
            Ok(())
        })?;
    }
    Ok(given)
}
