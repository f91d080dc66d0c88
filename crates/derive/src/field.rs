//! Derive of `Field`, for types whose fields can be inspected.
//!
//! The only unsafe part of the generated code is the description of a struct's layout. It lists fields, and lets the compiler find
//! their types and offsets. It does not rely on the parsed tokens: a later attribute macro may still add fields, change their types
//! or change the layout. For enums, the generated code states nothing about the bytes, so it may use the parsed types.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{
    Attribute, Data, DeriveInput, Error, Fields, Generics, Ident, Index, Member, Result, Type,
};

use crate::attributes::{read, read_repr};
use crate::bounds;

pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    Derived::new(input).map(|derived| derived.implementation)
}

/// An implementation of `Field`.
pub(crate) struct Derived {
    pub(crate) implementation: TokenStream,
    /// The parameters of the type, with their bounds.
    pub(crate) generics: Generics,
}

impl Derived {
    pub(crate) fn new(input: &DeriveInput) -> Result<Self> {
        if let Some(lifetime) = input.generics.lifetimes().next() {
            let message =
                "a component and its fields own their data, so they cannot have lifetimes";
            return Err(Error::new(lifetime.lifetime.span(), message));
        }
        refuse_packed(input)?;
        let contents = Contents::parse(input)?;
        let shape = contents.shape(&input.ident);
        let hash_state = contents.hash_state();
        let remap = contents.remap();
        let name = &input.ident;
        let generics = bounds::with_fields(&input.generics, contents.looked_into());
        let (impl_generics, type_generics, where_clause) = generics.split_for_impl();
        let implementation = quote! {
            #[automatically_derived]
            // SAFETY:
            // - size and alignment are those of `Self`; all fields of a struct are listed, or `hash_state` would not compile, with
            //   the types and offsets that the compiler has found
            // - a struct is plain, or accepts any bits, only if all its fields do; an enum never does
            // - the author has requested the derive, which allows values to be assembled from any fields
            unsafe impl #impl_generics ::ancho_entities::Field for #name #type_generics #where_clause {
                const SHAPE: &'static ::ancho_entities::Shape = &#shape;

                #[inline]
                fn hash_state(&self, __state: &mut ::ancho_entities::StateHasher) {
                    #[allow(unused_imports, reason = "not all types have fields")]
                    use ::ancho_entities::__macro::{VisitField as _, VisitNothing as _};
                    #hash_state
                }

                #[inline]
                fn remap(&mut self, __map: &mut ::ancho_entities::EntityRemap<'_>) {
                    #[allow(unused_imports, reason = "not all types have fields")]
                    use ::ancho_entities::__macro::{VisitField as _, VisitNothing as _};
                    #remap
                }
            }
        };
        Ok(Self { implementation, generics })
    }
}

/// The fields or variants of a type.
enum Contents {
    Opaque,
    Struct(Vec<Part>),
    Enum(Vec<Variant>),
}

struct Variant {
    name: Ident,
    parts: Vec<Part>,
}

/// A field of a struct or a variant.
struct Part {
    member: Member,
    ty: Type,
    is_opaque: bool,
}

impl Contents {
    fn parse(input: &DeriveInput) -> Result<Self> {
        // The fields of an opaque type are parsed as well, so that mistakes in them are reported.
        let is_opaque = is_opaque(&input.attrs)?;
        let contents = match &input.data {
            Data::Struct(data) => Self::Struct(Part::all(&data.fields)?),
            Data::Enum(data) => {
                let variants = data.variants.iter().map(|variant| {
                    refuse_options(&variant.attrs)?;
                    Ok(Variant { name: variant.ident.clone(), parts: Part::all(&variant.fields)? })
                });
                Self::Enum(variants.collect::<Result<_>>()?)
            }
            Data::Union(_) if is_opaque => Self::Opaque,
            Data::Union(data) => {
                let message = "a union cannot derive `Field`, because its valid field is unknown. Mark it \
                               `#[field(opaque)]`: then it is neither hashed nor searched for entities";
                return Err(Error::new(data.union_token.span(), message));
            }
        };
        Ok(if is_opaque { Self::Opaque } else { contents })
    }

    /// Returns the types of the fields that are not opaque.
    fn looked_into(&self) -> impl Iterator<Item = &Type> {
        let (parts, variants): (&[Part], &[Variant]) = match self {
            Self::Opaque => (&[], &[]),
            Self::Struct(parts) => (parts, &[]),
            Self::Enum(variants) => (&[], variants),
        };
        let parts = parts.iter().chain(variants.iter().flat_map(|variant| &variant.parts));
        parts.filter(|part| !part.is_opaque).map(|part| &part.ty)
    }

    fn shape(&self, name: &Ident) -> TokenStream {
        let name = name.unraw().to_string();
        let kind = match self {
            Self::Opaque => quote!(Opaque),
            Self::Struct(parts) => {
                let fields = parts.iter().map(Part::field);
                quote!(Struct(&[#(#fields),*]))
            }
            Self::Enum(variants) => {
                let variants = variants.iter().map(|variant| {
                    let name = variant.name.unraw().to_string();
                    let fields = variant.parts.iter().map(Part::variant_field);
                    quote!(::ancho_entities::VariantShape { name: #name, fields: &[#(#fields),*] })
                });
                quote!(Enum(&[#(#variants),*]))
            }
        };
        quote!(::ancho_entities::Shape::new::<Self>(#name, ::ancho_entities::FieldKind::#kind))
    }

    fn hash_state(&self) -> TokenStream {
        let index = |index: u32| quote!(::ancho_entities::StateHasher::write_u32(__state, #index););
        self.visit(index, |value, span| {
            quote_spanned!(span=> ::ancho_entities::__macro::FieldValue(#value).__ancho_hash(__state);)
        })
    }

    fn remap(&self) -> TokenStream {
        self.visit(
            |_| TokenStream::new(),
            |value, span| {
                quote_spanned!(span=> ::ancho_entities::__macro::FieldValue(#value).__ancho_remap(__map);)
            },
        )
    }

    /// Generates expressions that visit the index of the variant, and each field that is not opaque.
    fn visit(
        &self,
        visit_index: impl Fn(u32) -> TokenStream,
        visit_part: impl Fn(&Ident, Span) -> TokenStream,
    ) -> TokenStream {
        let visit_all = |parts: &[Part]| {
            let (mut pattern, mut visits) = (TokenStream::new(), TokenStream::new());
            for (index, part) in parts.iter().enumerate() {
                let member = &part.member;
                if part.is_opaque {
                    pattern.extend(quote!(#member: _,));
                } else {
                    let value = format_ident!("__field_{index}", span = part.span());
                    pattern.extend(quote!(#member: #value,));
                    visits.extend(visit_part(&value, part.span()));
                }
            }
            // The pattern names all fields, so the code does not compile if one is omitted.
            (quote!({ #pattern }), visits)
        };
        match self {
            Self::Opaque => TokenStream::new(),
            Self::Struct(parts) => {
                let (pattern, visits) = visit_all(parts);
                quote!(let Self #pattern = self; #visits)
            }
            Self::Enum(variants) if variants.is_empty() => quote!(match *self {}),
            Self::Enum(variants) => {
                let arms = (0..).zip(variants).map(|(index, Variant { name, parts })| {
                    let (pattern, visits) = visit_all(parts);
                    let index = visit_index(index);
                    quote!(Self::#name #pattern => { #index #visits })
                });
                quote!(match self { #(#arms)* })
            }
        }
    }
}

impl Part {
    fn all(fields: &Fields) -> Result<Vec<Self>> {
        let parts = (0_u32..).zip(fields).map(|(index, field)| {
            let member = match &field.ident {
                Some(name) => Member::Named(name.clone()),
                None => Member::Unnamed(Index { index, span: Span::call_site() }),
            };
            Ok(Self { member, ty: field.ty.clone(), is_opaque: is_opaque(&field.attrs)? })
        });
        parts.collect()
    }

    fn name(&self) -> String {
        match &self.member {
            Member::Named(name) => name.unraw().to_string(),
            Member::Unnamed(index) => index.index.to_string(),
        }
    }

    /// Returns the span of the field's type, at which errors about the field are reported.
    fn span(&self) -> Span {
        Span::call_site().located_at(self.ty.span())
    }

    /// Returns the shape of a field of a struct.
    fn field(&self) -> TokenStream {
        let (name, span) = (self.name(), self.span());
        let describe = Ident::new(if self.is_opaque { "opaque_field" } else { "field" }, span);
        let mut member = self.member.clone();
        match &mut member {
            Member::Named(name) => name.set_span(name.span().located_at(span)),
            Member::Unnamed(index) => index.span = span,
        }
        quote_spanned! { span=>
            ::ancho_entities::__macro::#describe(
                #name,
                ::core::mem::offset_of!(Self, #member),
                |__value: &Self| &__value.#member,
            )
        }
    }

    /// Returns the shape of a field of a variant.
    fn variant_field(&self) -> TokenStream {
        let (name, ty, span) = (self.name(), &self.ty, self.span());
        let describe = Ident::new(if self.is_opaque { "opaque" } else { "new" }, span);
        quote_spanned!(span=> ::ancho_entities::FieldShape::#describe::<#ty>(#name, 0))
    }
}

/// Tests whether the attributes contain `#[field(opaque)]`.
fn is_opaque(attributes: &[Attribute]) -> Result<bool> {
    let mut is_opaque = false;
    read(attributes, "field", |meta| {
        if !meta.path.is_ident("opaque") {
            let message = "unknown option; `#[field(opaque)]` marks a field that is neither hashed nor searched \
                               for entities";
            return Err(meta.error(message));
        }
        is_opaque = true;
        Ok(())
    })?;
    Ok(is_opaque)
}

fn refuse_options(attributes: &[Attribute]) -> Result<()> {
    match attributes.iter().find(|attribute| attribute.path().is_ident("field")) {
        Some(attribute) => {
            let message = "a variant has no options: `#[field(opaque)]` stands before a field of it, or before the enum";
            Err(Error::new(attribute.path().span(), message))
        }
        None => Ok(()),
    }
}

fn refuse_packed(input: &DeriveInput) -> Result<()> {
    read_repr(&input.attrs, |meta| {
        if meta.path.is_ident("packed") {
            let message =
                "a packed struct cannot derive `Field`, because its fields are not aligned";
            return Err(meta.error(message));
        }
        Ok(())
    })
}
