//! Derives of `Component` and `ManagedComponent`. The compiler computes the properties that storage needs.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, DeriveInput, Error, Ident, LitStr, Result, parse_quote};

use crate::chunk_capacity::MaximumChunkCapacity;
use crate::field::Derived;
use crate::name;
use crate::write_group::WriteGroups;

/// The derived trait.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Component,
    Managed,
}

impl Kind {
    /// Returns the name of the attribute with the options.
    fn attribute(self) -> &'static str {
        match self {
            Self::Component => "component",
            Self::Managed => "managed",
        }
    }

    fn implemented(self) -> TokenStream {
        match self {
            Self::Component => quote!(::ancho_entities::Component),
            Self::Managed => quote!(::ancho_entities::ManagedComponent),
        }
    }

    /// Returns the thread bounds on the type. The trait requires them too, but a generic type needs them in its where clause.
    fn threads(self) -> TokenStream {
        match self {
            Self::Component => quote!(::core::marker::Send + ::core::marker::Sync),
            Self::Managed => quote!(::core::marker::Send),
        }
    }

    /// Returns the type that is registered for a component.
    fn registered(self, name: &Ident) -> TokenStream {
        match self {
            Self::Component => quote!(#name),
            Self::Managed => quote!(::ancho_entities::Managed<#name>),
        }
    }
}

pub(crate) fn derive(input: &DeriveInput, kind: Kind) -> Result<TokenStream> {
    let Derived { implementation, mut generics } = Derived::new(input)?;
    let name = &input.ident;
    let options = Options::read(&input.attrs, kind)?;
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
        let registered = kind.registered(name);
        let slot = quote!(::ancho_entities::__macro::TypeSlot<#registered>);
        quote! {
            fn slot() -> ::core::option::Option<&'static #slot> {
                static __SLOT: #slot = ::ancho_entities::__macro::TypeSlot::new();
                ::core::option::Option::Some(&__SLOT)
            }
        }
    });
    if is_generic {
        let (_, type_generics, _) = input.generics.split_for_impl();
        let threads = kind.threads();
        let threads = parse_quote!(#name #type_generics: #threads);
        generics.make_where_clause().predicates.push(threads);
    }
    let implemented = kind.implemented();
    let (impl_generics, type_generics, where_clause) = generics.split_for_impl();
    Ok(quote! {
        #implementation

        #[automatically_derived]
        impl #impl_generics #implemented for #name #type_generics #where_clause {
            #given_name
            #enableable
            #cleanup
            #track_changes
            #write_groups
            #chunk_capacity

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

/// The parsed `#[component(…)]` or `#[managed(…)]`.
#[derive(Default)]
struct Options {
    name: Option<LitStr>,
    enableable: bool,
    cleanup: bool,
    track_changes: bool,
    write_groups: WriteGroups,
    chunk_capacity: MaximumChunkCapacity,
}

impl Options {
    fn read(attributes: &[Attribute], kind: Kind) -> Result<Self> {
        let mut options = Self::default();
        for attribute in
            attributes.iter().filter(|attribute| attribute.path().is_ident(kind.attribute()))
        {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("enableable") {
                    options.enableable = true;
                } else if meta.path.is_ident("cleanup") {
                    options.cleanup = true;
                } else if meta.path.is_ident("track_changes") {
                    options.track_changes = true;
                } else if meta.path.is_ident("write_group") {
                    options.write_groups.read(&meta)?;
                } else if meta.path.is_ident("maximum_chunk_capacity") {
                    options.chunk_capacity.read(&meta)?;
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
                    let message = format!(
                        "unknown option; a component has `#[{}(name = \"…\", enableable, cleanup, track_changes, \
                         write_group(…), maximum_chunk_capacity = …)]`",
                        kind.attribute()
                    );
                    return Err(meta.error(message));
                }
                if options.enableable && options.cleanup {
                    return Err(meta.error("a cleanup component cannot be enableable"));
                }
                Ok(())
            })?;
        }
        Ok(options)
    }
}
