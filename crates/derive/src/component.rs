//! Derives of `Component`, `ManagedComponent`, `BufferElement` and `SharedComponent`. The compiler computes the properties that
//! storage needs.

use std::num::NonZero;

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::meta::ParseNestedMeta;
use syn::parse::ParseStream;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{
    Attribute, DeriveInput, Error, Expr, Ident, LitInt, LitStr, Result, Token, Type, parenthesized,
    parse_quote,
};

use crate::attributes::read;
use crate::field::Derived;
use crate::{float_bits, relationship};

/// The trait that is derived.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Component,
    Managed,
    Buffer,
    Shared,
}

impl Kind {
    /// Returns the name of the attribute with the options.
    fn attribute(self) -> &'static str {
        match self {
            Self::Component => "component",
            Self::Managed => "managed",
            Self::Buffer => "buffer",
            Self::Shared => "shared",
        }
    }

    /// Returns the word for the type in messages.
    fn noun(self) -> &'static str {
        match self {
            Self::Component | Self::Managed => "a component",
            Self::Buffer => "an element",
            Self::Shared => "a shared component",
        }
    }

    fn implemented(self) -> TokenStream {
        match self {
            Self::Component => quote!(::ancho_entities::Component),
            Self::Managed => quote!(::ancho_entities::ManagedComponent),
            Self::Buffer => quote!(::ancho_entities::BufferElement),
            Self::Shared => quote!(::ancho_entities::SharedComponent),
        }
    }

    /// Returns the bounds on the type. The trait has the same bounds, but a generic type also needs them in its where clause.
    fn bounds(self) -> TokenStream {
        let threads = quote!(::core::marker::Send + ::core::marker::Sync);
        match self {
            Self::Component | Self::Buffer => threads,
            Self::Managed => quote!(::core::marker::Send),
            Self::Shared => quote!(::core::cmp::Eq + ::core::hash::Hash + #threads),
        }
    }

    /// Returns the type that is registered for a component.
    fn registered(self, name: &Ident) -> TokenStream {
        match self {
            Self::Component => quote!(#name),
            Self::Managed => quote!(::ancho_entities::Managed<#name>),
            Self::Buffer => quote!(::ancho_entities::Buffer<#name>),
            Self::Shared => quote!(::ancho_entities::Shared<#name>),
        }
    }

    fn has_option(self, option: &str) -> bool {
        match option {
            "name" | "cleanup" | "maximum_chunk_capacity" => true,
            "enableable" | "track_changes" | "write_group" => self != Self::Shared,
            "remedy" | "require" => self == Self::Component,
            "inline" | "reverse_of" => self == Self::Buffer,
            "component" => matches!(self, Self::Buffer | Self::Shared),
            "float_bits" => self == Self::Shared,
            _ => false,
        }
    }

    fn no_such_option(self) -> &'static str {
        match self {
            Self::Component => {
                "unknown option; a component has `#[component(name = \"…\", enableable, cleanup, \
                                track_changes, require(…), write_group(…), maximum_chunk_capacity = …, remedy = \"…\")]`"
            }
            Self::Managed => {
                "unknown option; a component has `#[managed(name = \"…\", enableable, cleanup, \
                              track_changes, write_group(…), maximum_chunk_capacity = …)]`"
            }
            Self::Buffer => {
                "unknown option; there are `#[buffer(inline = 8)]`, \
                             `#[buffer(name = \"…\")]`, `#[buffer(enableable)]`, `#[buffer(cleanup)]`, \
                             `#[buffer(track_changes)]`, `#[buffer(write_group(…))]`, \
                             `#[buffer(maximum_chunk_capacity = …)]`, `#[buffer(reverse_of = …)]` and `#[buffer(component)]`"
            }
            Self::Shared => {
                "unknown option; there are `#[shared(name = \"…\")]`, `#[shared(cleanup)]`, \
                             `#[shared(float_bits)]`, `#[shared(maximum_chunk_capacity = …)]` and `#[shared(component)]`"
            }
        }
    }

    /// Returns the methods that detect how values are duplicated, and whether the type has an initial value.
    fn probes(self, has_initial: bool) -> TokenStream {
        let duplicate = if self == Self::Shared {
            quote! {
                const DUPLICATE: ::ancho_entities::__macro::Duplicate<Self> = {
                    use ::ancho_entities::__macro::CloneNone as _;
                    ::ancho_entities::__macro::Probe::<Self>::__ANCHO_CLONE
                };
            }
        } else {
            quote! {
                fn duplicate() -> ::ancho_entities::__macro::Duplicate<Self> {
                    use ::ancho_entities::__macro::{
                        DuplicateBytes as _, DuplicateClone as _, DuplicateNone as _,
                    };
                    (&&&::ancho_entities::__macro::Probe::<Self>::new()).__ancho_duplicate()
                }
            }
        };
        let initial = (self != Self::Buffer && has_initial).then(|| {
            quote! {
                fn initial() -> ::ancho_entities::__macro::Initial<Self> {
                    use ::ancho_entities::__macro::{InitialDefault as _, InitialNone as _};
                    (&&::ancho_entities::__macro::Probe::<Self>::new()).__ancho_initial()
                }
            }
        });
        quote!(#duplicate #initial)
    }
}

pub(crate) fn derive(input: &DeriveInput, kind: Kind) -> Result<TokenStream> {
    let Derived { implementation, mut generics } = Derived::new(input)?;
    let name = &input.ident;
    let options = Options::read(&input.attrs, kind)?;
    // If the type is also a component, that derive implements `Field`.
    let implementation = (!options.is_component).then_some(implementation);
    let is_generic = !generics.params.is_empty();
    let constants = options.constants(is_generic);
    let relationship = match (kind, &options.reverse_of) {
        (Kind::Component, _) => relationship::source(input)?,
        (Kind::Buffer, Some(source)) => Some(relationship::reverse(input, source)?),
        _ => None,
    };
    // The world sets the values of relationships, so these have no initial value.
    let probes = kind.probes(relationship.is_none());
    // If the type is also a component, that derive implements `Mutable`.
    let is_mutable = relationship.is_none()
        && matches!(kind, Kind::Component | Kind::Buffer)
        && !options.is_component;
    let (link, linked) = relationship.unzip();
    // A generic type has no slot, because a static cannot be generic.
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
    // A generic type is checked where it is used.
    let check = (kind == Kind::Shared && !is_generic).then(|| {
        quote! {
            const _: () = ::ancho_entities::__macro::require_clone::<#name>();
        }
    });
    if is_generic {
        let (_, type_generics, _) = input.generics.split_for_impl();
        let bounds = kind.bounds();
        let bounds = parse_quote!(#name #type_generics: #bounds);
        generics.make_where_clause().predicates.push(bounds);
    }
    // Errors about other types do not list this one. For a generic type, the attribute would hide which bound is not met.
    let hidden = (!is_generic).then(|| quote!(#[diagnostic::do_not_recommend]));
    let implemented = kind.implemented();
    let (impl_generics, type_generics, where_clause) = generics.split_for_impl();
    let mutable = is_mutable.then(|| {
        quote! {
            #[automatically_derived]
            #[diagnostic::do_not_recommend]
            impl #impl_generics ::ancho_entities::Mutable for #name #type_generics #where_clause {}
        }
    });
    let equality = options.float_bits.then(|| float_bits::derive(input)).transpose()?;
    Ok(quote! {
        #implementation

        #equality

        #check

        #[automatically_derived]
        #hidden
        impl #impl_generics #implemented for #name #type_generics #where_clause {
            #constants

            #link

            #probes

            #slot
        }

        #linked

        #mutable
    })
}

/// The options in the parsed attribute of a component.
#[derive(Default)]
struct Options {
    name: Option<LitStr>,
    enableable: bool,
    cleanup: bool,
    track_changes: bool,
    /// The number of inline elements of a buffer.
    inline: Option<Expr>,
    /// The components whose write groups the type is in.
    write_groups: Vec<Type>,
    maximum_chunk_capacity: Option<NonZero<u32>>,
    remedy: Option<LitStr>,
    /// The required components, with their constructors unless they begin with their defaults.
    required: Vec<(Type, Option<Expr>)>,
    /// The relationship whose sources a buffer contains.
    reverse_of: Option<Type>,
    is_component: bool,
    /// Set if the derive implements `Eq` and `Hash`, by the bits of floats.
    float_bits: bool,
}

impl Options {
    fn read(attributes: &[Attribute], kind: Kind) -> Result<Self> {
        let mut options = Self::default();
        read(attributes, kind.attribute(), |meta| options.read_one(meta, kind))?;
        Ok(options)
    }

    fn read_one(&mut self, meta: &ParseNestedMeta<'_>, kind: Kind) -> Result<()> {
        let option = meta.path.get_ident().map(Ident::to_string).unwrap_or_default();
        if !kind.has_option(&option) {
            return Err(meta.error(kind.no_such_option()));
        }
        match option.as_str() {
            "enableable" => self.enableable = true,
            "cleanup" => self.cleanup = true,
            "track_changes" => self.track_changes = true,
            "component" => self.is_component = true,
            "float_bits" => self.float_bits = true,
            "write_group" => {
                let types;
                parenthesized!(types in meta.input);
                self.write_groups.extend(Punctuated::<Type, Token![,]>::parse_terminated(&types)?);
            }
            "require" => {
                let list;
                parenthesized!(list in meta.input);
                let parse = |input: ParseStream<'_>| {
                    let ty = input.parse()?;
                    let is_given = input.peek(Token![=]);
                    if is_given {
                        input.parse::<Token![=]>()?;
                    }
                    Ok((ty, if is_given { Some(input.parse()?) } else { None }))
                };
                let given = Punctuated::<_, Token![,]>::parse_terminated_with(&list, parse)?;
                self.required.extend(given);
            }
            "inline" => {
                if self.inline.replace(meta.value()?.parse()?).is_some() {
                    return Err(meta.error("`inline` is set twice"));
                }
            }
            "maximum_chunk_capacity" => {
                let given: LitInt = meta.value()?.parse()?;
                let Some(most) = NonZero::new(given.base10_parse()?) else {
                    return Err(Error::new(
                        given.span(),
                        "the maximum chunk capacity is zero, but a chunk has room for one entity at least",
                    ));
                };
                if self.maximum_chunk_capacity.replace(most).is_some() {
                    return Err(meta.error("a component has one maximum chunk capacity"));
                }
            }
            "reverse_of" => {
                if self.reverse_of.replace(meta.value()?.parse()?).is_some() {
                    return Err(meta.error("`reverse_of` is set twice"));
                }
            }
            "remedy" => {
                if self.remedy.replace(meta.value()?.parse()?).is_some() {
                    return Err(meta.error("`remedy` is set twice"));
                }
            }
            _ => {
                let (name, noun): (LitStr, _) = (meta.value()?.parse()?, kind.noun());
                if name.value().is_empty() {
                    let message = format!("the name of {noun} is not empty");
                    return Err(Error::new(name.span(), message));
                }
                if self.name.replace(name).is_some() {
                    return Err(meta.error(format!("{noun} has one name")));
                }
            }
        }
        if self.enableable && self.cleanup && kind != Kind::Buffer {
            return Err(meta.error("a cleanup component cannot be enableable"));
        }
        Ok(())
    }

    /// Returns the method `name`, and the constants of the trait that differ from their defaults.
    fn constants(&self, is_generic: bool) -> TokenStream {
        let flag = |is_set: bool, constant: TokenStream| {
            is_set.then(|| quote! { const #constant: ::core::primitive::bool = true; })
        };
        let enableable = flag(self.enableable, quote!(ENABLEABLE));
        let cleanup = flag(self.cleanup, quote!(CLEANUP));
        let track_changes = flag(self.track_changes, quote!(TRACK_CHANGES));
        let inline = self.inline.iter().map(|count| {
            quote! { const INLINE: ::core::primitive::usize = #count; }
        });
        let types = &self.write_groups;
        let write_groups = (!types.is_empty()).then(|| {
            quote! {
                const WRITE_GROUPS: &'static [::ancho_entities::WriteGroup] =
                    &[#(::ancho_entities::WriteGroup::of::<#types>()),*];
            }
        });
        let chunk_capacity = self.maximum_chunk_capacity.map(NonZero::get).map(|most| {
            quote! {
                const MAXIMUM_CHUNK_CAPACITY: ::core::option::Option<
                    ::core::num::NonZero<::core::primitive::u32>,
                > = ::core::num::NonZero::new(#most);
            }
        });
        let remedy = self.remedy.as_ref().map(|remedy| {
            quote! { const REMEDY: &'static ::core::primitive::str = #remedy; }
        });
        let name = self.name.as_ref().map(|given| {
            // The name of a generic type includes its arguments.
            let name = if is_generic {
                quote!(::ancho_entities::__macro::generic_name::<Self>(#given))
            } else {
                quote!(#given)
            };
            quote! {
                fn name() -> &'static ::core::primitive::str {
                    #name
                }
            }
        });
        let required = (!self.required.is_empty()).then(|| {
            let visits = self.required.iter().map(|(ty, value)| {
                let value = match value {
                    Some(value) => quote!(#value),
                    None => quote_spanned! {ty.span()=>
                        <#ty as ::core::default::Default>::default()
                    },
                };
                quote! {
                    ::ancho_entities::__macro::RequireVisitor::require::<#ty>(__visitor, || #value);
                }
            });
            quote! {
                const REQUIRES: ::core::primitive::bool = true;

                #[inline(always)]
                fn require<__V: ::ancho_entities::__macro::RequireVisitor>(__visitor: &mut __V) {
                    #(#visits)*
                }
            }
        });
        quote! {
            #required
            #name
            #enableable
            #cleanup
            #track_changes
            #(#inline)*
            #write_groups
            #chunk_capacity
            #remedy
        }
    }
}
