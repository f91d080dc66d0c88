//! Derive of `SharedComponent`. The compiler computes the properties that storage needs.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, DeriveInput, Error, LitStr, Result, parse_quote};

use crate::chunk_capacity::MaximumChunkCapacity;
use crate::field::Derived;
use crate::name;

pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let Derived { implementation, mut generics } = Derived::new(input)?;
    let options = Options::parse(&input.attrs)?;
    let name = &input.ident;
    // A type that is also a component has its `Field` impl from that derive.
    let implementation = (!options.is_component).then_some(implementation);
    let given_name = options.name.map(|given| name::method(&given, &input.generics));
    let cleanup = options.cleanup.then(|| {
        quote! {
            const CLEANUP: ::core::primitive::bool = true;
        }
    });

    let chunk_capacity = options.chunk_capacity.constant();

    let is_generic = !generics.params.is_empty();
    // A generic type has no slot: a static cannot be generic.
    let slot = (!is_generic).then(|| {
        let slot = quote!(::ancho_entities::__macro::TypeSlot<::ancho_entities::Shared<#name>>);
        quote! {
            fn slot() -> ::core::option::Option<&'static #slot> {
                static __SLOT: #slot = ::ancho_entities::__macro::TypeSlot::new();
                ::core::option::Option::Some(&__SLOT)
            }
        }
    });
    // A generic type is checked where it is used.
    let check = (!is_generic).then(|| {
        quote! {
            const _: () = ::ancho_entities::__macro::require_clone::<#name>();
        }
    });
    if is_generic {
        let (_, type_generics, _) = input.generics.split_for_impl();
        let bounds = parse_quote!(
            #name #type_generics: ::core::cmp::Eq
                + ::core::hash::Hash
                + ::core::marker::Send
                + ::core::marker::Sync
        );
        generics.make_where_clause().predicates.push(bounds);
    }
    let (impl_generics, type_generics, where_clause) = generics.split_for_impl();
    Ok(quote! {
        #implementation

        #check

        #[automatically_derived]
        impl #impl_generics ::ancho_entities::SharedComponent for #name #type_generics #where_clause {
            #given_name

            #cleanup

            #chunk_capacity

            const DUPLICATE: ::ancho_entities::__macro::Duplicate<Self> = {
                use ::ancho_entities::__macro::CloneNone as _;
                ::ancho_entities::__macro::Probe::<Self>::__ANCHO_CLONE
            };

            fn initial() -> ::ancho_entities::__macro::Initial<Self> {
                use ::ancho_entities::__macro::{InitialDefault as _, InitialNone as _};
                (&&::ancho_entities::__macro::Probe::<Self>::new()).__ancho_initial()
            }

            #slot
        }
    })
}

/// The parsed `#[shared(…)]`.
#[derive(Default)]
struct Options {
    name: Option<LitStr>,
    cleanup: bool,
    chunk_capacity: MaximumChunkCapacity,
    is_component: bool,
}

impl Options {
    fn parse(attributes: &[Attribute]) -> Result<Self> {
        let mut options = Self::default();
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("shared")) {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("name") {
                    let name: LitStr = meta.value()?.parse()?;
                    if name.value().is_empty() {
                        let message = "the name of a shared component is not empty";
                        return Err(Error::new(name.span(), message));
                    }
                    if options.name.replace(name).is_some() {
                        return Err(meta.error("a shared component has one name"));
                    }
                } else if meta.path.is_ident("cleanup") {
                    options.cleanup = true;
                } else if meta.path.is_ident("maximum_chunk_capacity") {
                    options.chunk_capacity.read(&meta)?;
                } else if meta.path.is_ident("component") {
                    options.is_component = true;
                } else {
                    let message = "unknown option; there are `#[shared(name = \"…\")]`, `#[shared(cleanup)]`, \
                                   `#[shared(maximum_chunk_capacity = …)]` and `#[shared(component)]`";
                    return Err(meta.error(message));
                }
                Ok(())
            })?;
        }
        Ok(options)
    }
}
