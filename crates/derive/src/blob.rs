//! Derive of `BlobData`, for types that can be stored in a blob.
//!
//! The only unsafe part of the generated code is the impl itself. It lists fields, and lets the compiler find their types and
//! offsets. It does not rely on the parsed tokens: a later attribute macro may still add fields, change their types or change the
//! layout.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{
    Data, DataEnum, DataStruct, DeriveInput, Error, Fields, Generics, Ident, Index, Member, Result,
    parse_quote,
};

use crate::attributes::read_repr;

pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let repr = Repr::parse(input)?;
    let visit = match &input.data {
        Data::Struct(data) => visit_struct(input, data, &repr)?,
        Data::Enum(data) => visit_enum(input, data, &repr)?,
        Data::Union(data) => {
            let message = "a union cannot be in a blob, because its valid field is unknown";
            return Err(Error::new(data.union_token.span(), message));
        }
    };
    let name = &input.ident;
    let generics = bounded(&input.generics);
    let (impl_generics, type_generics, where_clause) = generics.split_for_impl();
    let alignment = input.generics.params.is_empty().then(|| {
        let message =
            format!("`{name}` needs an alignment of more than 16 bytes, which blobs do not have");
        quote!(::core::assert!(::core::mem::align_of::<#name>() <= 16, #message);)
    });
    Ok(quote! {
        #[automatically_derived]
        // SAFETY: `visit` reports every field, with the type and the offset that the compiler has found, or the value of each
        // variant. A struct is valid if its fields are, and an enum is valid if it has one of the values. The fields are
        // `BlobData`, so they have no cells, pointers or destructors. The type itself has no `Drop`, or the constant below would
        // not compile.
        unsafe impl #impl_generics ::ancho_collections::BlobData for #name #type_generics
        #where_clause
        {
            fn visit<__V: ::ancho_collections::BlobVisitor>(__visitor: &mut __V) {
                #visit
            }
        }

        // The two implementations overlap for a type with a `Drop`, so such a type does not compile.
        #[allow(dead_code, drop_bounds, reason = "asks for a `Drop` where there must be none")]
        const _: () = {
            #alignment

            trait MustNotImplementDrop {}
            impl<__T: ::core::ops::Drop + ?::core::marker::Sized> MustNotImplementDrop for __T {}
            impl #impl_generics MustNotImplementDrop for #name #type_generics #where_clause {}
        };
    })
}

fn visit_struct(input: &DeriveInput, data: &DataStruct, repr: &Repr) -> Result<TokenStream> {
    if !repr.is_c {
        let message = "a struct in a blob has a layout that can be in files: write `#[repr(C)]`";
        return Err(Error::new(input.ident.span(), message));
    }
    let members: Vec<Member> = match &data.fields {
        Fields::Named(fields) => {
            fields.named.iter().filter_map(|field| field.ident.clone()).map(Member::Named).collect()
        }
        Fields::Unnamed(fields) => (0..fields.unnamed.len())
            .map(|index| Member::Unnamed(Index { index: index as u32, span: Span::call_site() }))
            .collect(),
        Fields::Unit => Vec::new(),
    };
    let visits = members.iter().zip(&data.fields).map(|(member, field)| {
        let name = match member {
            Member::Named(name) => name.unraw().to_string(),
            Member::Unnamed(index) => index.index.to_string(),
        };
        // If a field type cannot be stored in a blob, the error is reported at the field.
        let span = Span::call_site().located_at(field.ty.span());
        quote_spanned! { span=>
            ::ancho_collections::BlobVisitor::field(
                __visitor,
                #name,
                ::core::mem::offset_of!(Self, #member),
                |__value: &Self| &__value.#member,
            );
        }
    });
    let name = input.ident.unraw().to_string();
    Ok(quote! {
        // The destructuring pattern proves that no field is omitted.
        let _ = |__value: &Self| {
            let Self { #(#members: _,)* } = __value;
        };
        ::ancho_collections::BlobVisitor::structure::<Self>(__visitor, #name);
        #(#visits)*
    })
}

fn visit_enum(input: &DeriveInput, data: &DataEnum, repr: &Repr) -> Result<TokenStream> {
    let Some(integer) = &repr.integer else {
        let message = "an enum in a blob has a size that can be in files: write `#[repr(u8)]`, or another integer";
        return Err(Error::new(input.ident.span(), message));
    };
    if data.variants.is_empty() {
        let message = "an enum without variants cannot be in a blob: it has no values";
        return Err(Error::new(input.ident.span(), message));
    }
    if let Some(variant) = data.variants.iter().find(|variant| !variant.fields.is_empty()) {
        let message =
            "a variant with fields cannot be in a blob; keep the fields in a struct beside it";
        return Err(Error::new(variant.span(), message));
    }
    let variants = data.variants.iter().map(|variant| {
        let (ident, name) = (&variant.ident, variant.ident.unraw().to_string());
        // Braces are valid for variants without fields, and for no others. Without braces, `A()` would be a function, and the cast
        // would return its address.
        quote!((#name, Self::#ident {} as ::core::primitive::i128))
    });
    let name = input.ident.unraw().to_string();
    let message = format!("`{name}` has another integer than the `{integer}` in its `repr`");
    Ok(quote! {
        // With `align`, the enum is larger than its integer, and the rest is padding. The compiler verifies the integer type, which
        // an attribute macro could have replaced. The size of the enum proves nothing: `repr(u8, align(2))` has the same size as
        // `repr(u16)`.
        const {
            ::core::assert!(
                ::core::mem::size_of::<::core::mem::Discriminant<Self>>()
                    == ::core::mem::size_of::<::core::primitive::#integer>(),
                #message,
            );
        }
        ::ancho_collections::BlobVisitor::variants::<Self, ::core::primitive::#integer>(
            __visitor,
            #name,
            &[#(#variants),*],
        );
    })
}

/// The parsed `repr` attributes.
struct Repr {
    /// True if the `repr` is `C` or `transparent`.
    is_c: bool,
    integer: Option<Ident>,
}

impl Repr {
    fn parse(input: &DeriveInput) -> Result<Self> {
        let mut repr = Self { is_c: false, integer: None };
        read_repr(&input.attrs, |meta| {
            let Some(word) = meta.path.get_ident() else {
                return Ok(());
            };
            match word.to_string().as_str() {
                "C" | "transparent" => repr.is_c = true,
                "u8" | "u16" | "u32" | "u64" | "i8" | "i16" | "i32" | "i64" => {
                    repr.integer = Some(word.clone());
                }
                "packed" => {
                    let message = "a packed struct cannot be in a blob: its fields are not aligned";
                    return Err(meta.error(message));
                }
                _ => {}
            }
            Ok(())
        })?;
        Ok(repr)
    }
}

/// Returns the parameters of the type, each bounded by `BlobData`.
fn bounded(generics: &Generics) -> Generics {
    let mut generics = generics.clone();
    for parameter in generics.type_params_mut() {
        parameter.bounds.push(parse_quote!(::ancho_collections::BlobData));
    }
    generics
}
