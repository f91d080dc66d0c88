//! Derive of `ComponentSet` for a struct, whose fields are sets.
//!
//! Calls name the parsed types of the fields, so that a field whose type was changed by another macro does not compile. Patterns
//! list all fields, so that an added field does not compile either.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Fields, Ident, Index, Member, Result, Type, parse_quote};

use crate::attributes::read;

/// A field of the struct.
struct Part {
    member: Member,
    /// The variable that holds the field.
    name: Ident,
    ty: Type,
    is_ignored: bool,
}

pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let parts = parse(input)?;
    if let Some(lifetime) = input.generics.lifetimes().next() {
        let message = "a bundle owns its components, so it cannot have lifetimes";
        return Err(Error::new(lifetime.lifetime.span(), message));
    }
    let name = &input.ident;
    let sets: Vec<_> = parts.iter().filter(|part| !part.is_ignored).collect();
    let types: Vec<_> = sets.iter().map(|part| &part.ty).collect();
    let ignored: Vec<_> = parts.iter().filter(|part| part.is_ignored).collect();
    let names: Vec<_> = sets.iter().map(|part| &part.name).collect();
    let pattern = {
        let fields = parts.iter().map(|Part { member, name, .. }| quote!(#member: #name));
        quote!(Self { #(#fields),* })
    };
    let borrowed =
        {
            let fields = parts.iter().map(|Part { member, name, is_ignored, .. }| {
                if *is_ignored { quote!(#member: _) } else { quote!(#member: #name) }
            });
            quote!(Self { #(#fields),* })
        };
    let rebuilt = {
        let fields = parts.iter().map(|Part { member, name, is_ignored, .. }| {
            if *is_ignored {
                quote!(#member: ::core::default::Default::default())
            } else {
                quote!(#member: #name)
            }
        });
        quote!(Self { #(#fields),* })
    };
    let read = {
        let fields = parts.iter().map(|Part { member, name, .. }| quote!(#member: #name));
        quote!(Self { #(#fields),* })
    };
    let (defaults, ignored_types): (Vec<_>, Vec<_>) =
        ignored.iter().map(|part| (&part.name, &part.ty)).unzip();
    let dropped = ignored.iter().map(|Part { name, ty, .. }| {
        quote_spanned! {ty.span()=>
            const {
                ::core::assert!(
                    !::core::mem::needs_drop::<#ty>(),
                    "an ignored field of a bundle cannot need to be dropped, because user code must not run while an entity is changed"
                );
            }
            let _ = #name;
        }
    });

    let of = |ty: &Type| {
        quote_spanned! {ty.span()=>
            <#ty as ::ancho_entities::__macro::SetValues<
                <#ty as ::ancho_entities::__macro::SetKind>::Kind,
            >>
        }
    };
    let values: Vec<_> = types.iter().map(|ty| of(ty)).collect();

    let mut generics = input.generics.clone();
    let predicates = &mut generics.make_where_clause().predicates;
    for ty in &types {
        predicates.push(parse_quote!(#ty: ::ancho_entities::ComponentSet));
    }
    if !input.generics.params.is_empty() {
        let (_, type_generics, _) = input.generics.split_for_impl();
        let threads = quote!(::core::marker::Send + ::core::marker::Sync + 'static);
        predicates.push(parse_quote!(#name #type_generics: #threads));
    }
    let mut cloned = generics.clone();
    for ty in &types {
        // The lifetime makes the bound one that need not hold.
        let bound = parse_quote!(for<'__a> #ty: ::ancho_entities::__macro::CloneSetFor<'__a>);
        cloned.make_where_clause().predicates.push(bound);
    }
    let (kind_generics, type_generics, kind_where) = input.generics.split_for_impl();
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    let (clone_generics, _, clone_where) = cloned.split_for_impl();
    Ok(quote! {
        #[automatically_derived]
        impl #kind_generics ::ancho_entities::__macro::SetKind for #name #type_generics #kind_where {
            type Kind = ::ancho_entities::__macro::IsSet;
        }

        #[automatically_derived]
        // SAFETY: each field gets the offsets of its own types, because offsets and types are both in the order of the fields.
        unsafe impl #impl_generics ::ancho_entities::__macro::SetValues<::ancho_entities::__macro::IsSet>
            for #name #type_generics #where_clause
        {
            const COUNT: ::core::primitive::usize = 0 #(+ #values::COUNT)*;
            const SHARED: ::core::primitive::bool = false #(|| #values::SHARED)*;
            const LINKS: ::core::primitive::bool = false #(|| #values::LINKS)*;
            const HAS_ENTITIES: ::core::primitive::bool = false #(|| #values::HAS_ENTITIES)*;
            const REQUIRES: ::core::primitive::bool = false #(|| #values::REQUIRES)*;
            const TRACKED: ::core::primitive::bool = true #(&& #values::TRACKED)*;
            const HAS_BITS: ::core::primitive::bool = true #(&& #values::HAS_BITS)*;

            fn types(__each: &mut dyn ::core::ops::FnMut(::ancho_entities::ComponentType)) {
                #(#values::types(__each);)*
            }

            #[inline]
            fn require<__V: ::ancho_entities::__macro::RequireVisitor>(__visitor: &mut __V) {
                #(#values::require(__visitor);)*
            }

            fn shared(&self, __each: &mut dyn ::core::ops::FnMut(::ancho_entities::__macro::SharedValue)) {
                let #borrowed = self;
                #(#values::shared(#names, __each);)*
            }

            fn links(
                &self,
                __each: &mut dyn ::core::ops::FnMut(
                    &'static ::ancho_entities::__macro::RelationshipInfo,
                    ::ancho_entities::Entity,
                ),
            ) {
                let #borrowed = self;
                #(#values::links(#names, __each);)*
            }

            fn remap_entities(&mut self, __map: &mut ::ancho_entities::EntityRemap<'_>) {
                let #borrowed = self;
                #(#values::remap_entities(#names, __map);)*
            }

            fn duplicate_set(
                &mut self,
            ) -> ::core::result::Result<Self, ::ancho_entities::ComponentType> {
                let #borrowed = self;
                #(let #names = #values::duplicate_set(#names)?;)*
                ::core::result::Result::Ok(#rebuilt)
            }

            #[inline(always)]
            unsafe fn write(self, __place: ::ancho_entities::__macro::RowPlace) {
                let #pattern = self;
                #(#dropped)*
                #(
                    // SAFETY: the place has the offsets of this field, and the row's columns have no values that need to be dropped.
                    unsafe { #values::write(#names, __place) };
                    let __place = __place.after(#values::COUNT);
                )*
                let _ = __place;
            }

            #[inline(always)]
            unsafe fn read(
                __place: ::ancho_entities::__macro::RowPlace,
                __shared: &mut dyn ::core::iter::Iterator<Item = ::ancho_entities::__macro::SharedValue>,
            ) -> Self {
                #(
                    // SAFETY: the place has the offsets of this field, and the row's columns have values, which are not used afterwards.
                    let #names = unsafe { #values::read(__place, __shared) };
                    // If a default value of an ignored field panics, the row still owns all values.
                    let #names = ::core::mem::ManuallyDrop::new(#names);
                    let __place = __place.after(#values::COUNT);
                )*
                let _ = __place;
                #(let #defaults = <#ignored_types as ::core::default::Default>::default();)*
                #(let #names = ::core::mem::ManuallyDrop::into_inner(#names);)*
                #read
            }
        }

        #[automatically_derived]
        // SAFETY: each field counts its own columns, in the order of the types.
        unsafe impl #clone_generics ::ancho_entities::CloneSet for #name #type_generics #clone_where {
            #[inline]
            unsafe fn fill(
                &self,
                __place: ::ancho_entities::__macro::RowPlace,
                __rows: ::core::primitive::usize,
                __done: &mut ::core::primitive::usize,
            ) {
                let #borrowed = self;
                #(
                    // SAFETY: the place has the offsets of this field, the rows have no values that need to be dropped, and no other
                    // thread uses the set.
                    unsafe {
                        <#types as ::ancho_entities::CloneSet>::fill(#names, __place, __rows, __done);
                    }
                    let __place = __place.after(#values::COUNT);
                )*
                let _ = (__place, __rows, __done);
            }

            fn clone_set(&mut self) -> Self {
                let #borrowed = self;
                #(let #names = <#types as ::ancho_entities::CloneSet>::clone_set(#names);)*
                #rebuilt
            }
        }
    })
}

/// Returns the fields of a struct.
fn parse(input: &DeriveInput) -> Result<Vec<Part>> {
    let Data::Struct(data) = &input.data else {
        let message = "a bundle is a struct, whose fields are components or other sets";
        return Err(Error::new(input.ident.span(), message));
    };
    let fields = match &data.fields {
        Fields::Named(fields) => &fields.named,
        Fields::Unnamed(fields) => &fields.unnamed,
        Fields::Unit => return Ok(Vec::new()),
    };
    let part = |(at, field): (usize, &syn::Field)| {
        let mut is_ignored = false;
        read(&field.attrs, "bundle", |meta| {
            if !meta.path.is_ident("ignore") {
                return Err(
                    meta.error("unknown option; a field of a bundle has `#[bundle(ignore)]`")
                );
            }
            is_ignored = true;
            Ok(())
        })?;
        let member = match &field.ident {
            Some(name) => Member::Named(name.clone()),
            None => Member::Unnamed(Index::from(at)),
        };
        let name = format_ident!("__field_{at}");
        Ok(Part { member, name, ty: field.ty.clone(), is_ignored })
    };
    fields.iter().enumerate().map(part).collect()
}
