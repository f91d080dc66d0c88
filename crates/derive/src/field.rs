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
    Attribute, Data, DeriveInput, Error, Fields, Generics, Ident, Index, LitStr, Member, Result,
    Type, parse_quote,
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
    /// Derives `Field` for a component, or for a field of one.
    pub(crate) fn new(input: &DeriveInput) -> Result<Self> {
        Self::with_fields(input, &FieldFunctions::OF_COMPONENT)
    }

    /// Derives `Field` for a resource or message that is state. Errors about fields name the way to opt out.
    pub(crate) fn of_state(input: &DeriveInput) -> Result<Self> {
        Self::with_fields(input, &FieldFunctions::OF_STATE)
    }

    fn with_fields(input: &DeriveInput, functions: &FieldFunctions) -> Result<Self> {
        if let Some(lifetime) = input.generics.lifetimes().next() {
            let message =
                "a component and its fields own their data, so they cannot have lifetimes";
            return Err(Error::new(lifetime.lifetime.span(), message));
        }
        refuse_packed(input)?;
        let contents = Contents::parse(input)?;
        let shape = contents.shape(&input.ident, functions);
        let hash_state = contents.hash_state();
        let remap = contents.remap();
        let write_value = contents.write_value();
        let read_value = contents.read_value();
        let name = &input.ident;
        let mut generics = bounds::with_fields(&input.generics, contents.looked_into());
        if functions.need_sync {
            for parameter in generics.type_params_mut() {
                parameter.bounds.push(parse_quote!(::core::marker::Send));
                parameter.bounds.push(parse_quote!(::core::marker::Sync));
            }
        }
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

                fn write_value(&self, __out: &mut dyn ::ancho_entities::ValueWriter) {
                    #[allow(unused_imports, reason = "not all types have fields")]
                    use ::ancho_entities::__macro::{VisitField as _, VisitNothing as _};
                    #write_value
                }

                fn read_value(
                    __from: &mut dyn ::ancho_entities::ValueReader,
                ) -> ::core::result::Result<Self, ::ancho_entities::ValueError> {
                    #[allow(unused_imports, reason = "not all types have fields or a default")]
                    use ::ancho_entities::__macro::{
                        InitialDefault as _, InitialNone as _, ReadField as _, ReadNothing as _,
                    };
                    #read_value
                }
            }
        };
        Ok(Self { implementation, generics })
    }
}

/// The functions that describe fields. Their bounds are those of the fields.
struct FieldFunctions {
    field: &'static str,
    opaque_field: &'static str,
    /// Set if the fields are `Send` and `Sync`.
    need_sync: bool,
}

impl FieldFunctions {
    const OF_COMPONENT: Self =
        Self { field: "field", opaque_field: "opaque_field", need_sync: false };

    const OF_STATE: Self =
        Self { field: "state_field", opaque_field: "opaque_state_field", need_sync: true };
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
    aliases: Vec<LitStr>,
    is_tuple: bool,
}

/// A field of a struct or a variant.
struct Part {
    member: Member,
    ty: Type,
    is_opaque: bool,
    /// True if files omit the field.
    is_skipped: bool,
    /// The names of the field in older files.
    aliases: Vec<LitStr>,
}

impl Contents {
    fn parse(input: &DeriveInput) -> Result<Self> {
        // The fields of an opaque type are parsed as well, so that mistakes in them are reported.
        let is_opaque = type_is_opaque(&input.attrs)?;
        let contents = match &input.data {
            Data::Struct(data) => Self::Struct(Part::all(&data.fields)?),
            Data::Enum(data) => {
                let variants = data.variants.iter().map(|variant| {
                    Ok(Variant {
                        name: variant.ident.clone(),
                        parts: Part::all(&variant.fields)?,
                        aliases: variant_aliases(&variant.attrs)?,
                        is_tuple: matches!(variant.fields, Fields::Unnamed(_)),
                    })
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

    fn shape(&self, name: &Ident, functions: &FieldFunctions) -> TokenStream {
        let name = name.unraw().to_string();
        let kind = match self {
            Self::Opaque => quote!(Opaque),
            Self::Struct(parts) => {
                let fields = parts.iter().map(|part| part.field(functions));
                quote!(Struct(&[#(#fields),*]))
            }
            Self::Enum(variants) => {
                let variants = variants.iter().map(|variant| {
                    let name = variant.name.unraw().to_string();
                    let fields = variant.parts.iter().map(|part| part.variant_field(functions));
                    let aliases = &variant.aliases;
                    quote! {
                        ::ancho_entities::VariantShape {
                            name: #name,
                            fields: &[#(#fields),*],
                            aliases: &[#(#aliases),*],
                        }
                    }
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

    fn write_value(&self) -> TokenStream {
        let write_all = |parts: &[Part]| {
            let (mut pattern, mut writes) = (TokenStream::new(), TokenStream::new());
            for (index, part) in parts.iter().enumerate() {
                let (member, name) = (&part.member, part.name());
                if part.is_opaque {
                    pattern.extend(quote!(#member: _,));
                    if !part.is_skipped {
                        writes.extend(quote!(__out.field(#name); __out.opaque(#name);));
                    }
                    continue;
                }
                let value = format_ident!("__field_{index}", span = part.span());
                pattern.extend(quote!(#member: #value,));
                writes.extend(quote_spanned! { part.span()=>
                    __out.field(#name);
                    ::ancho_entities::__macro::FieldValue(#value).__ancho_write(__out);
                });
            }
            (quote!({ #pattern }), writes)
        };
        match self {
            Self::Opaque => quote!(__out.opaque(<Self as ::ancho_entities::Field>::SHAPE.name);),
            Self::Struct(parts) => {
                let (pattern, writes) = write_all(parts);
                quote! {
                    let Self #pattern = self;
                    __out.begin(::ancho_entities::ValuePart::Struct);
                    #writes
                    __out.end();
                }
            }
            Self::Enum(variants) if variants.is_empty() => quote!(match *self {}),
            Self::Enum(variants) => {
                let arms = (0_u32..).zip(variants).map(|(index, variant)| {
                    let Variant { name, parts, is_tuple, .. } = variant;
                    let text = name.unraw().to_string();
                    let (pattern, writes) = write_all(parts);
                    quote! {
                        Self::#name #pattern => {
                            __out.begin(::ancho_entities::ValuePart::Variant {
                                index: #index,
                                name: #text,
                                is_tuple: #is_tuple,
                            });
                            #writes
                        }
                    }
                });
                quote!(match self { #(#arms)* } __out.end();)
            }
        }
    }

    fn read_value(&self) -> TokenStream {
        match self {
            Self::Opaque => quote! {
                ::core::result::Result::Err(::ancho_entities::__macro::unreadable(
                    __from,
                    <Self as ::ancho_entities::Field>::SHAPE.name,
                ))
            },
            Self::Struct(parts) => {
                let read = Part::read_all(parts);
                let values = parts.iter().enumerate().map(|(index, part)| {
                    let (member, value) = (&part.member, format_ident!("__field_{index}"));
                    let otherwise = part.or_default();
                    quote!(#member: match #value {
                        ::core::option::Option::Some(__value) => __value,
                        ::core::option::Option::None => #otherwise,
                    })
                });
                let slots: Vec<_> =
                    (0..parts.len()).map(|index| format_ident!("__field_{index}")).collect();
                // Skipped fields are never read, so that they do not count as missing.
                let expected = parts.iter().zip(&slots).filter(|(part, _)| !part.is_skipped);
                let expected: Vec<_> = expected.map(|(_, slot)| slot).collect();
                let members = parts.iter().map(|part| &part.member);
                quote! {
                    __from.begin_struct(<Self as ::ancho_entities::Field>::SHAPE.fields())?;
                    #read
                    __from.end()?;
                    let __is_complete = true #(&& #expected.is_some())*;
                    if !__is_complete
                        && let ::core::option::Option::Some(__make) =
                            (&&::ancho_entities::__macro::Probe::<Self>::new())
                                .__ancho_initial()
                                .__make()
                    {
                        #[allow(unused_mut, reason = "not all types have fields")]
                        let mut __whole: Self = __make();
                        #(
                            if let ::core::option::Option::Some(__value) = #slots {
                                __whole.#members = __value;
                            }
                        )*
                        return ::core::result::Result::Ok(__whole);
                    }
                    ::core::result::Result::Ok(Self { #(#values),* })
                }
            }
            Self::Enum(variants) => {
                let arms = (0_usize..).zip(variants).map(|(index, Variant { name, parts, .. })| {
                    let read = Part::read_all(parts);
                    let values = parts.iter().enumerate().map(|(index, part)| {
                        let (member, value) = (&part.member, format_ident!("__field_{index}"));
                        let otherwise = part.or_default();
                        quote!(#member: match #value {
                            ::core::option::Option::Some(__value) => __value,
                            ::core::option::Option::None => #otherwise,
                        })
                    });
                    quote! {
                        #index => {
                            #read
                            __from.end()?;
                            ::core::result::Result::Ok(Self::#name { #(#values),* })
                        }
                    }
                });
                quote! {
                    let ::ancho_entities::FieldKind::Enum(__variants) =
                        <Self as ::ancho_entities::Field>::SHAPE.kind
                    else {
                        ::core::unreachable!()
                    };
                    match __from.begin_variant(__variants)? {
                        #(#arms)*
                        _ => ::core::result::Result::Err(__from.error("the enum has no such variant")),
                    }
                }
            }
        }
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
                let arms = (0..).zip(variants).map(|(index, Variant { name, parts, .. })| {
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
            let FieldOptions { is_opaque, is_skipped, aliases } = FieldOptions::read(&field.attrs)?;
            Ok(Self { member, ty: field.ty.clone(), is_opaque, is_skipped, aliases })
        });
        parts.collect()
    }

    /// Generates variables for the fields, and a loop that reads the fields in the order in which the reader finds them.
    fn read_all(parts: &[Self]) -> TokenStream {
        let mut variables = TokenStream::new();
        let mut arms = TokenStream::new();
        for (index, part) in parts.iter().enumerate() {
            let value = format_ident!("__field_{index}");
            let (ty, name, span) = (&part.ty, part.name(), part.span());
            variables.extend(quote! {
                #[allow(unused_mut, reason = "fields without reflection are never read")]
                let mut #value: ::core::option::Option<#ty> = ::core::option::Option::None;
            });
            if part.is_opaque {
                arms.extend(quote! {
                    #index => {
                        return ::core::result::Result::Err(
                            ::ancho_entities::__macro::unreadable(__from, #name),
                        );
                    }
                });
            } else {
                arms.extend(quote_spanned! { span=>
                    #index => {
                        #value = ::core::option::Option::Some(
                            (&::ancho_entities::__macro::FieldType::<#ty>(::core::marker::PhantomData))
                                .__ancho_read(__from)?,
                        );
                    }
                });
            }
        }
        quote! {
            #variables
            while let ::core::option::Option::Some(__index) = __from.next_field()? {
                match __index {
                    #arms
                    _ => {
                        return ::core::result::Result::Err(__from.error("the type has no such field"));
                    }
                }
            }
        }
    }

    /// Generates the value of a field that was not read: its default, or else an error.
    fn or_default(&self) -> TokenStream {
        let (ty, name) = (&self.ty, self.name());
        quote! {
            match (&&::ancho_entities::__macro::Probe::<#ty>::new()).__ancho_initial().__make() {
                ::core::option::Option::Some(__make) => __make(),
                ::core::option::Option::None => {
                    return ::core::result::Result::Err(
                        ::ancho_entities::__macro::missing(__from, #name),
                    );
                }
            }
        }
    }

    /// Adds the options of the field to an expression for its shape.
    fn with_options(&self, shape: TokenStream) -> TokenStream {
        let aliases = &self.aliases;
        let aliases = (!aliases.is_empty()).then(|| quote!(.with_aliases(&[#(#aliases),*])));
        let skipped = self.is_skipped.then(|| quote!(.skipped()));
        quote!(#shape #aliases #skipped)
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
    fn field(&self, functions: &FieldFunctions) -> TokenStream {
        let (name, span) = (self.name(), self.span());
        let FieldFunctions { field, opaque_field, .. } = *functions;
        let describe = Ident::new(if self.is_opaque { opaque_field } else { field }, span);
        let mut member = self.member.clone();
        match &mut member {
            Member::Named(name) => name.set_span(name.span().located_at(span)),
            Member::Unnamed(index) => index.span = span,
        }
        self.with_options(quote_spanned! { span=>
            ::ancho_entities::__macro::#describe(
                #name,
                ::core::mem::offset_of!(Self, #member),
                |__value: &Self| &__value.#member,
            )
        })
    }

    /// Returns the shape of a field of a variant.
    fn variant_field(&self, functions: &FieldFunctions) -> TokenStream {
        let (name, ty, span) = (self.name(), &self.ty, self.span());
        if functions.need_sync {
            let describe =
                if self.is_opaque { "opaque_state_variant_field" } else { "state_variant_field" };
            let describe = Ident::new(describe, span);
            return self.with_options(
                quote_spanned!(span=> ::ancho_entities::__macro::#describe::<#ty>(#name)),
            );
        }
        let describe = Ident::new(if self.is_opaque { "opaque" } else { "new" }, span);
        self.with_options(
            quote_spanned!(span=> ::ancho_entities::FieldShape::#describe::<#ty>(#name, 0)),
        )
    }
}

/// The options of a field.
#[derive(Default)]
struct FieldOptions {
    is_opaque: bool,
    is_skipped: bool,
    aliases: Vec<LitStr>,
}

impl FieldOptions {
    fn read(attributes: &[Attribute]) -> Result<Self> {
        let mut options = Self::default();
        read(attributes, "field", |meta| {
            if meta.path.is_ident("opaque") {
                options.is_opaque = true;
            } else if meta.path.is_ident("skip") {
                options.is_opaque = true;
                options.is_skipped = true;
            } else if meta.path.is_ident("alias") {
                options.aliases.push(meta.value()?.parse()?);
            } else {
                let message = "unknown option; `#[field(opaque)]` marks a field that is neither hashed nor searched \
                               for entities, `skip` also lets files omit it, and `alias = \"…\"` is an older name";
                return Err(meta.error(message));
            }
            Ok(())
        })?;
        Ok(options)
    }
}

/// Tests whether the attributes of a type contain `#[field(opaque)]`.
fn type_is_opaque(attributes: &[Attribute]) -> Result<bool> {
    let mut is_opaque = false;
    read(attributes, "field", |meta| {
        if !meta.path.is_ident("opaque") {
            let message = "unknown option; `#[field(opaque)]` marks a type that is neither hashed nor searched \
                               for entities";
            return Err(meta.error(message));
        }
        is_opaque = true;
        Ok(())
    })?;
    Ok(is_opaque)
}

/// Returns the names that a variant had in older files.
fn variant_aliases(attributes: &[Attribute]) -> Result<Vec<LitStr>> {
    let mut aliases = Vec::new();
    read(attributes, "field", |meta| {
        if !meta.path.is_ident("alias") {
            let message = "unknown option; a variant has `#[field(alias = \"…\")]`, an older name. `#[field(opaque)]` stands \
                           before a field of it, or before the enum";
            return Err(meta.error(message));
        }
        aliases.push(meta.value()?.parse()?);
        Ok(())
    })?;
    Ok(aliases)
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
