//! Derives of `Resource` and `Message`. Values are state by default, and local with an option.

use std::num::NonZero;

use proc_macro2::TokenStream;
use quote::quote;
use syn::meta::ParseNestedMeta;
use syn::{Attribute, DeriveInput, Error, Generics, Ident, LitInt, LitStr, Result, parse_quote};

use crate::attributes::read;
use crate::field::Derived;

/// The trait that is derived.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Resource,
    Message,
}

impl Kind {
    /// Returns the name of the attribute with the options.
    fn attribute(self) -> &'static str {
        match self {
            Self::Resource => "resource",
            Self::Message => "message",
        }
    }

    fn implemented(self) -> TokenStream {
        match self {
            Self::Resource => quote!(::ancho_entities::Resource),
            Self::Message => quote!(::ancho_entities::Message),
        }
    }

    fn constant(self) -> TokenStream {
        match self {
            Self::Resource => quote!(::ancho_entities::__macro::ResourceKind),
            Self::Message => quote!(::ancho_entities::__macro::MessageKind),
        }
    }

    fn no_such_option(self) -> &'static str {
        match self {
            Self::Resource => {
                "unknown option; there are `#[resource(local)]`, `#[resource(name = \"…\")]` and \
                               `#[resource(component)]`"
            }
            Self::Message => {
                "unknown option; there are `#[message(local)]`, `#[message(name = \"…\")]`, \
                              `#[message(keep = 4)]`, `#[message(keep = all)]`, `#[message(limit = 1000)]` and \
                              `#[message(component)]`"
            }
        }
    }
}

pub(crate) fn derive(input: &DeriveInput, kind: Kind) -> Result<TokenStream> {
    let options = Options::read(&input.attrs, kind)?;
    let (implementation, mut generics) = if options.is_local {
        (None, local_generics(input, kind)?)
    } else {
        let Derived { implementation, generics } = Derived::of_state(input)?;
        // If the type is also a component, that derive implements `Field`.
        ((!options.is_component).then_some(implementation), generics)
    };
    let name = &input.ident;
    let is_generic = !generics.params.is_empty();
    if is_generic {
        let (_, type_generics, _) = input.generics.split_for_impl();
        let bounds = if options.is_local {
            quote!(::core::marker::Send)
        } else {
            quote!(::core::clone::Clone + ::core::marker::Send + ::core::marker::Sync)
        };
        let predicate = parse_quote!(#name #type_generics: #bounds);
        generics.make_where_clause().predicates.push(predicate);
    }
    let (implemented, constant) = (kind.implemented(), kind.constant());
    let state = if options.is_local { quote!(local) } else { quote!(state) };
    let constants = options.constants(is_generic);
    // Errors about other types do not list this one. For a generic type, the attribute would hide which bound is not met.
    let hidden = (!is_generic).then(|| quote!(#[diagnostic::do_not_recommend]));
    let (impl_generics, type_generics, where_clause) = generics.split_for_impl();
    Ok(quote! {
        #implementation

        #[automatically_derived]
        #hidden
        impl #impl_generics #implemented for #name #type_generics #where_clause {
            const KIND: #constant<Self> = <#constant<Self>>::#state();

            #constants
        }
    })
}

/// Returns the parameters of a local type, which are not bounded by `Field`.
fn local_generics(input: &DeriveInput, kind: Kind) -> Result<Generics> {
    if let Some(lifetime) = input.generics.lifetimes().next() {
        let message = format!("a {} owns its data, so it cannot have lifetimes", kind.attribute());
        return Err(Error::new(lifetime.lifetime.span(), message));
    }
    let mut generics = input.generics.clone();
    for parameter in generics.type_params_mut() {
        parameter.bounds.push(parse_quote!('static));
    }
    Ok(generics)
}

/// The options in the parsed attribute.
#[derive(Default)]
struct Options {
    name: Option<LitStr>,
    is_local: bool,
    is_component: bool,
    /// The number of chances for which a message is kept. Zero keeps it until it is read.
    keep: Option<u32>,
    limit: Option<NonZero<usize>>,
}

impl Options {
    fn read(attributes: &[Attribute], kind: Kind) -> Result<Self> {
        let mut options = Self::default();
        read(attributes, kind.attribute(), |meta| options.read_one(meta, kind))?;
        Ok(options)
    }

    fn read_one(&mut self, meta: &ParseNestedMeta<'_>, kind: Kind) -> Result<()> {
        let option = meta.path.get_ident().map(Ident::to_string).unwrap_or_default();
        match (option.as_str(), kind) {
            ("local", _) => self.is_local = true,
            ("component", _) => self.is_component = true,
            ("name", _) => {
                let name: LitStr = meta.value()?.parse()?;
                if name.value().is_empty() {
                    let message = format!("the name of a {} is not empty", kind.attribute());
                    return Err(Error::new(name.span(), message));
                }
                if self.name.replace(name).is_some() {
                    return Err(meta.error(format!("a {} has one name", kind.attribute())));
                }
            }
            ("keep", Kind::Message) => {
                let keep = read_keep(meta)?;
                if self.keep.replace(keep).is_some() {
                    return Err(meta.error("`keep` is set twice"));
                }
            }
            ("limit", Kind::Message) => {
                let given: LitInt = meta.value()?.parse()?;
                let Some(limit) = NonZero::new(given.base10_parse()?) else {
                    let message =
                        "the limit is zero, but a queue has room for one message at least";
                    return Err(Error::new(given.span(), message));
                };
                if self.limit.replace(limit).is_some() {
                    return Err(meta.error("`limit` is set twice"));
                }
            }
            _ => return Err(meta.error(kind.no_such_option())),
        }
        Ok(())
    }

    /// Returns the method `name`, and the constants of the trait that differ from their defaults.
    fn constants(&self, is_generic: bool) -> TokenStream {
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
        let keep = self.keep.map(|keep| {
            quote! {
                const KEEP: ::core::option::Option<::core::num::NonZero<::core::primitive::u32>> =
                    ::core::num::NonZero::new(#keep);
            }
        });
        let limit = self.limit.map(NonZero::get).map(|limit| {
            quote! {
                const LIMIT: ::core::option::Option<::core::num::NonZero<::core::primitive::usize>> =
                    ::core::num::NonZero::new(#limit);
            }
        });
        quote!(#name #keep #limit)
    }
}

/// Reads the value of `keep`: a number of chances, or `all`, which is zero.
fn read_keep(meta: &ParseNestedMeta<'_>) -> Result<u32> {
    let value = meta.value()?;
    if value.peek(LitInt) {
        let given: LitInt = value.parse()?;
        return match given.base10_parse()? {
            0 => Err(Error::new(
                given.span(),
                "a message is kept for one chance at least; `keep = all` keeps it until it is read",
            )),
            keep => Ok(keep),
        };
    }
    let all: Ident = value.parse()?;
    if all != "all" {
        return Err(Error::new(all.span(), "`keep` is a number of chances, or `all`"));
    }
    Ok(0)
}
