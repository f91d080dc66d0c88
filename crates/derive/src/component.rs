//! Components: what storage asks of a type, found out by the compiler.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, DeriveInput, Error, LitStr, Result, parse_quote};

use crate::field::Derived;

pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let Derived { implementation, mut generics } = Derived::new(input)?;
    let name = &input.ident;
    let options = Options::read(&input.attrs)?;
    let given_name = options.name.map(|given| {
        quote! {
            fn name() -> &'static ::core::primitive::str {
                #given
            }
        }
    });

    let flag = |is_set: bool, constant: TokenStream| {
        is_set.then(|| quote! { const #constant: ::core::primitive::bool = true; })
    };
    let enableable = flag(options.enableable, quote!(ENABLEABLE));
    let cleanup = flag(options.cleanup, quote!(CLEANUP));

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
            #enableable
            #cleanup

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

/// What `#[component(…)]` says.
#[derive(Default)]
struct Options {
    name: Option<LitStr>,
    enableable: bool,
    cleanup: bool,
}

impl Options {
    fn read(attributes: &[Attribute]) -> Result<Self> {
        let mut options = Self::default();
        for attribute in
            attributes.iter().filter(|attribute| attribute.path().is_ident("component"))
        {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("enableable") {
                    options.enableable = true;
                } else if meta.path.is_ident("cleanup") {
                    options.cleanup = true;
                } else if meta.path.is_ident("name") {
                    let name: LitStr = meta.value()?.parse()?;
                    if name.value().is_empty() {
                        return Err(Error::new(
                            name.span(),
                            "the name of a component is not empty",
                        ));
                    }
                    if options.name.replace(name).is_some() {
                        return Err(meta.error("a component has one name"));
                    }
                } else {
                    let message = "there is no such option; a component has \
                                   `#[component(name = \"…\", enableable, cleanup)]`";
                    return Err(meta.error(message));
                }
                if options.enableable && options.cleanup {
                    return Err(meta.error("a component that stays cannot be switched off"));
                }
                Ok(())
            })?;
        }
        Ok(options)
    }
}
