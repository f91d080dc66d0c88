//! Derive of `BufferElement`. The compiler computes the properties that storage needs.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, DeriveInput, Error, Expr, LitStr, Result, parse_quote};

use crate::chunk_capacity::MaximumChunkCapacity;
use crate::field::Derived;
use crate::name;
use crate::write_group::WriteGroups;

pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let Derived { implementation, mut generics } = Derived::new(input)?;
    let options = Options::parse(&input.attrs)?;
    let name = &input.ident;
    // A type that is also a component has its `Field` impl from that derive.
    let implementation = (!options.is_component).then_some(implementation);
    let inline = options.inline.map(|count| {
        quote! {
            const INLINE: ::core::primitive::usize = #count;
        }
    });
    let given_name = options.name.map(|given| name::method(&given, &input.generics));

    let flag = |is_set: bool, constant: TokenStream| {
        is_set.then(|| quote! { const #constant: ::core::primitive::bool = true; })
    };
    let enableable = flag(options.enableable, quote!(ENABLEABLE));
    let cleanup = flag(options.cleanup, quote!(CLEANUP));
    let track_changes = flag(options.track_changes, quote!(TRACK_CHANGES));
    let write_groups = options.write_groups.constant();
    let chunk_capacity = options.chunk_capacity.constant();

    let is_generic = !generics.params.is_empty();
    // A generic type has no slot: a static cannot be generic.
    let slot = (!is_generic).then(|| {
        let slot = quote!(::ancho_entities::__macro::TypeSlot<::ancho_entities::Buffer<#name>>);
        quote! {
            fn slot() -> ::core::option::Option<&'static #slot> {
                static __SLOT: #slot = ::ancho_entities::__macro::TypeSlot::new();
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
        impl #impl_generics ::ancho_entities::BufferElement for #name #type_generics #where_clause {
            #inline

            #enableable

            #cleanup

            #track_changes

            #write_groups

            #chunk_capacity

            #given_name

            fn duplicate() -> ::ancho_entities::__macro::Duplicate<Self> {
                use ::ancho_entities::__macro::{
                    DuplicateBytes as _, DuplicateClone as _, DuplicateNone as _,
                };
                (&&&::ancho_entities::__macro::Probe::<Self>::new()).__ancho_duplicate()
            }

            #slot
        }
    })
}

/// The parsed `#[buffer(…)]`.
#[derive(Default)]
struct Options {
    inline: Option<Expr>,
    name: Option<LitStr>,
    enableable: bool,
    cleanup: bool,
    track_changes: bool,
    write_groups: WriteGroups,
    chunk_capacity: MaximumChunkCapacity,
    is_component: bool,
}

impl Options {
    fn parse(attributes: &[Attribute]) -> Result<Self> {
        let mut options = Self::default();
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("buffer")) {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("inline") {
                    let count = meta.value()?.parse()?;
                    if options.inline.replace(count).is_some() {
                        return Err(meta.error("`inline` is set twice"));
                    }
                } else if meta.path.is_ident("name") {
                    let name: LitStr = meta.value()?.parse()?;
                    if name.value().is_empty() {
                        return Err(Error::new(name.span(), "the name of an element is not empty"));
                    }
                    if options.name.replace(name).is_some() {
                        return Err(meta.error("an element has one name"));
                    }
                } else if meta.path.is_ident("enableable") {
                    options.enableable = true;
                } else if meta.path.is_ident("cleanup") {
                    options.cleanup = true;
                } else if meta.path.is_ident("track_changes") {
                    options.track_changes = true;
                } else if meta.path.is_ident("write_group") {
                    options.write_groups.read(&meta)?;
                } else if meta.path.is_ident("maximum_chunk_capacity") {
                    options.chunk_capacity.read(&meta)?;
                } else if meta.path.is_ident("component") {
                    options.is_component = true;
                } else {
                    let message = "unknown option; there are `#[buffer(inline = 8)]`, `#[buffer(name = \"…\")]`, \
                                   `#[buffer(enableable)]`, `#[buffer(cleanup)]`, `#[buffer(track_changes)]`, \
                                   `#[buffer(write_group(…))]`, `#[buffer(maximum_chunk_capacity = …)]` and \
                                   `#[buffer(component)]`";
                    return Err(meta.error(message));
                }
                Ok(())
            })?;
        }
        Ok(options)
    }
}
