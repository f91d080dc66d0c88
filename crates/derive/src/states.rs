//! States, sub-states and computed states.

use proc_macro2::TokenStream;
use quote::quote;
use syn::spanned::Spanned;
use syn::{Attribute, Data, DeriveInput, Error, ExprPath, LitStr, Meta, Path, Result};

use crate::attributes::read;
use crate::field::Derived;

/// The kind of a state.
enum Kind {
    Root,
    /// A sub-state, with the value of its parent.
    Sub(ExprPath),
    Computed,
}

pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    if let Data::Union(_) = &input.data {
        return Err(Error::new(input.ident.span(), "a state is an enum or a struct"));
    }
    if !input.generics.params.is_empty() {
        let message = "a state has no generic parameters; write a type of its own for each state";
        return Err(Error::new(input.generics.span(), message));
    }
    let mut name = None;
    read(&input.attrs, "state", |meta| {
        if !meta.path.is_ident("name") {
            return Err(meta.error("unknown option; there is `#[state(name = \"…\")]`"));
        }
        let given: LitStr = meta.value()?.parse()?;
        name = Some(given);
        Ok(())
    })?;
    let kind = kind(&input.attrs)?;
    let Derived { implementation, .. } = Derived::new(input)?;
    let ident = &input.ident;
    let name = name.map(|name| {
        quote! {
            fn name() -> &'static ::core::primitive::str {
                #name
            }
        }
    });
    let missing = match &kind {
        Kind::Root => quote! {
            ::core::result::Result::Err(::ancho_entities::__macro::missing_state::<Self>())
        },
        Kind::Sub(_) => quote!(world.try_add_sub_state::<Self>(chain)),
        Kind::Computed => quote!(world.try_add_computed_state::<Self>(chain)),
    };
    let others = match &kind {
        Kind::Root => quote! {
            #[automatically_derived]
            impl ::ancho_entities::SettableState for #ident {}
            #[automatically_derived]
            impl ::ancho_entities::RootState for #ident {}
        },
        Kind::Sub(value) => {
            let parent = parent(value)?;
            quote! {
                #[automatically_derived]
                impl ::ancho_entities::SettableState for #ident {}
                #[automatically_derived]
                impl ::ancho_entities::SubState for #ident {
                    type Parent = #parent;

                    fn exists_in(parent: &#parent) -> ::core::primitive::bool {
                        *parent == #value
                    }
                }
            }
        }
        Kind::Computed => TokenStream::new(),
    };
    Ok(quote! {
        #implementation

        #[automatically_derived]
        impl ::ancho_entities::States for #ident {
            #name

            #[allow(unused_variables, reason = "a root state only returns an error")]
            fn add_missing(
                world: &mut ::ancho_entities::World,
                chain: &mut ::ancho_entities::__macro::StateChain,
            ) -> ::core::result::Result<(), ::ancho_entities::SystemError> {
                #missing
            }
        }

        #others
    })
}

/// Reads the kind of a state from its attributes.
fn kind(attributes: &[Attribute]) -> Result<Kind> {
    let mut kind = Kind::Root;
    for attribute in attributes {
        let is_sub = attribute.path().is_ident("sub_state");
        if !is_sub && !attribute.path().is_ident("computed_state") {
            continue;
        }
        if !matches!(kind, Kind::Root) {
            let message = "a state is either a sub-state of one value or a computed state";
            return Err(Error::new(attribute.span(), message));
        }
        if is_sub {
            let mut value = None;
            read(std::slice::from_ref(attribute), "sub_state", |meta| {
                if !meta.path.is_ident("of") {
                    return Err(meta.error(
                        "write the value of the parent: `#[sub_state(of = Game::Running)]`",
                    ));
                }
                value = Some(meta.value()?.parse()?);
                Ok(())
            })?;
            let message = "write the value of the parent: `#[sub_state(of = Game::Running)]`";
            kind = Kind::Sub(value.ok_or_else(|| Error::new(attribute.span(), message))?);
        } else {
            if !matches!(attribute.meta, Meta::Path(_)) {
                let message = "write `#[computed_state]`, and implement `ComputedState`";
                return Err(Error::new(attribute.span(), message));
            }
            kind = Kind::Computed;
        }
    }
    Ok(kind)
}

/// Returns the type of a value such as `Game::Running`.
fn parent(value: &ExprPath) -> Result<Path> {
    let mut parent = value.path.clone();
    parent.segments.pop();
    // The separator before the popped segment.
    if let Some(last) = parent.segments.pop() {
        parent.segments.push(last);
        return Ok(parent);
    }
    Err(Error::new(
        value.span(),
        "name the type of the parent, too: `#[sub_state(of = Game::Running)]`",
    ))
}
