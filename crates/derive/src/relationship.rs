//! The options of relationships, and the implementations for both directions.

use proc_macro2::TokenStream;
use quote::quote;
use syn::meta::ParseNestedMeta;
use syn::{Attribute, Data, DeriveInput, Error, Fields, Ident, Member, Result, Type};

use crate::attributes::read;

/// The options of `#[relationship(…)]`.
#[derive(Default)]
struct Options {
    reverse: Option<Type>,
    ordered: bool,
    acyclic: bool,
    allow_self: bool,
    linked: Option<bool>,
}

const UNKNOWN: &str = "unknown option; a relationship has `#[relationship(reverse = …, ordered, acyclic, allow_self, \
                       on_target_despawn = despawn)]`";

impl Options {
    fn read_one(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        match meta.path.get_ident().map(Ident::to_string).unwrap_or_default().as_str() {
            "reverse" => {
                if self.reverse.replace(meta.value()?.parse()?).is_some() {
                    return Err(meta.error("`reverse` is set twice"));
                }
            }
            "ordered" => self.ordered = true,
            "acyclic" => self.acyclic = true,
            "allow_self" => self.allow_self = true,
            "on_target_despawn" => {
                let choice: Ident = meta.value()?.parse()?;
                let linked = match choice.to_string().as_str() {
                    "despawn" => true,
                    "detach" => false,
                    _ => {
                        let message = "the choices are `on_target_despawn = despawn` and `on_target_despawn = detach`";
                        return Err(Error::new(choice.span(), message));
                    }
                };
                if self.linked.replace(linked).is_some() {
                    return Err(meta.error("`on_target_despawn` is set twice"));
                }
            }
            _ => return Err(meta.error(UNKNOWN)),
        }
        Ok(())
    }
}

/// Returns the constant for `Component`, and the implementation of `Relationship`, if the type has the attribute.
pub(crate) fn source(input: &DeriveInput) -> Result<Option<(TokenStream, TokenStream)>> {
    let is_ours = |attribute: &&Attribute| attribute.path().is_ident("relationship");
    let Some(attribute) = input.attrs.iter().find(is_ours) else { return Ok(None) };
    let mut options = Options::default();
    read(&input.attrs, "relationship", |meta| options.read_one(meta))?;
    let Options { reverse, ordered, acyclic, allow_self, linked } = options;
    let Some(reverse) = reverse else {
        let message =
            "`reverse = …` is missing: it names the element of the buffer that targets have";
        return Err(Error::new_spanned(attribute, message));
    };
    if acyclic && allow_self {
        let message = "an acyclic relationship does not allow entities to refer to themselves; remove `allow_self`";
        return Err(Error::new_spanned(attribute, message));
    }
    let linked = linked.unwrap_or(false);
    let member = only_member(input)?;
    let name = &input.ident;
    let constant = quote! {
        const RELATIONSHIP: ::core::option::Option<
            &'static ::ancho_entities::__macro::RelationshipInfo,
        > = ::core::option::Option::Some(
            &::ancho_entities::__macro::RelationshipInfo::of::<Self>(),
        );
    };
    let implementation = quote! {
        #[automatically_derived]
        #[diagnostic::do_not_recommend]
        impl ::ancho_entities::Relationship for #name {
            type Reverse = #reverse;
            const ORDERED: ::core::primitive::bool = #ordered;
            const ACYCLIC: ::core::primitive::bool = #acyclic;
            const ALLOW_SELF: ::core::primitive::bool = #allow_self;
            const LINKED: ::core::primitive::bool = #linked;

            #[inline]
            fn new(target: ::ancho_entities::Entity) -> Self {
                Self { #member: target }
            }

            #[inline]
            fn target(&self) -> ::ancho_entities::Entity {
                self.#member
            }
        }
    };
    Ok(Some((constant, implementation)))
}

/// Returns the constant for `BufferElement`, and the implementation of `RelationshipTarget`, of the elements that contain sources.
pub(crate) fn reverse(input: &DeriveInput, source: &Type) -> Result<(TokenStream, TokenStream)> {
    let member = only_member(input)?;
    let name = &input.ident;
    let constant = quote! {
        const REVERSE_OF: ::core::option::Option<
            &'static ::ancho_entities::__macro::RelationshipInfo,
        > = <#source as ::ancho_entities::Component>::RELATIONSHIP;
    };
    let implementation = quote! {
        #[automatically_derived]
        #[diagnostic::do_not_recommend]
        impl ::ancho_entities::RelationshipTarget for #name {
            type Source = #source;

            #[inline]
            fn new(source: ::ancho_entities::Entity) -> Self {
                Self { #member: source }
            }

            #[inline]
            fn source(&self) -> ::ancho_entities::Entity {
                self.#member
            }
        }
    };
    Ok((constant, implementation))
}

/// Returns the only field of a struct without generic parameters.
fn only_member(input: &DeriveInput) -> Result<Member> {
    if !input.generics.params.is_empty() {
        let message = "the types of a relationship have no generic parameters";
        return Err(Error::new_spanned(&input.generics, message));
    }
    if let Data::Struct(data) = &input.data
        && let Fields::Named(_) | Fields::Unnamed(_) = &data.fields
        && data.fields.len() == 1
        && let Some(member) = data.fields.members().next()
    {
        return Ok(member);
    }
    let message = "both types of a relationship are structs with one field of type `Entity`";
    Err(Error::new_spanned(&input.ident, message))
}
