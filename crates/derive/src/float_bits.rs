//! `#[shared(float_bits)]`: implements `PartialEq`, `Eq` and `Hash` for a type with floats, which are compared by their bits.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Fields, Ident, Result};

/// The fields of a struct or of a variant: a pattern for each of two values, and the names that both patterns bind.
struct Bound {
    left: TokenStream,
    right: TokenStream,
    names: Vec<(Ident, Ident)>,
}

pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    if !input.generics.params.is_empty() {
        let message = "`float_bits` is for types without parameters; implement `PartialEq`, `Eq` and `Hash` instead";
        return Err(Error::new(input.generics.span(), message));
    }
    let variants: Vec<(TokenStream, &Fields)> = match &input.data {
        Data::Struct(data) => vec![(quote!(Self), &data.fields)],
        Data::Enum(data) => {
            let path = |name: &Ident| quote!(Self::#name);
            data.variants.iter().map(|variant| (path(&variant.ident), &variant.fields)).collect()
        }
        Data::Union(data) => {
            return Err(Error::new(data.union_token.span, "a union cannot be a shared component"));
        }
    };
    let mut equal = Vec::new();
    let mut hash = Vec::new();
    for (path, fields) in variants {
        let Bound { left, right, names } = bind(fields);
        let same = names.iter().zip(fields).map(|((left, right), field)| {
            quote_spanned! {field.ty.span()=>
                (&::ancho_entities::__macro::FloatBits(#left)).__ancho_is_same(#right)
            }
        });
        equal.push(quote!((#path #left, #path #right) => true #(&& #same)*));
        let hashes = names.iter().zip(fields).map(|((left, _), field)| {
            quote_spanned! {field.ty.span()=>
                (&::ancho_entities::__macro::FloatBits(#left)).__ancho_hash(__state);
            }
        });
        hash.push(quote!(#path #left => { #(#hashes)* }));
    }
    let other = (equal.len() != 1).then(|| quote!(_ => false));
    let discriminant = matches!(input.data, Data::Enum(_))
        .then(|| quote!(::core::hash::Hash::hash(&::core::mem::discriminant(self), __state);));
    let name = &input.ident;
    Ok(quote! {
        #[automatically_derived]
        impl ::core::cmp::PartialEq for #name {
            fn eq(&self, __other: &Self) -> bool {
                #[allow(unused_imports, reason = "the types of the fields decide which one is used")]
                use ::ancho_entities::__macro::{SameBits as _, SameValue as _};
                match (self, __other) {
                    #(#equal,)*
                    #other
                }
            }
        }

        #[automatically_derived]
        impl ::core::cmp::Eq for #name {}

        #[automatically_derived]
        impl ::core::hash::Hash for #name {
            fn hash<__H: ::core::hash::Hasher>(&self, __state: &mut __H) {
                #[allow(unused_imports, reason = "the types of the fields decide which one is used")]
                use ::ancho_entities::__macro::{SameBits as _, SameValue as _};
                #discriminant
                match self {
                    #(#hash)*
                }
            }
        }
    })
}

fn bind(fields: &Fields) -> Bound {
    let names: Vec<(Ident, Ident)> = (0..fields.len())
        .map(|at| (format_ident!("__left{at}"), format_ident!("__right{at}")))
        .collect();
    let (left, right): (Vec<&Ident>, Vec<&Ident>) =
        names.iter().map(|(left, right)| (left, right)).unzip();
    let (left, right) = match fields {
        Fields::Named(fields) => {
            let fields: Vec<_> = fields.named.iter().map(|field| &field.ident).collect();
            (quote!({ #(#fields: #left),* }), quote!({ #(#fields: #right),* }))
        }
        Fields::Unnamed(_) => (quote!((#(#left),*)), quote!((#(#right),*))),
        Fields::Unit => (quote!(), quote!()),
    };
    Bound { left, right, names }
}
