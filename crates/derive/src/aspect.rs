//! Aspects: structs that queries yield.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{
    Attribute, Data, DeriveInput, Error, Fields, GenericArgument, GenericParam, Generics, Ident,
    Lifetime, PathArguments, Result, Type, Visibility, parse_quote,
};

use crate::attributes::read;
use crate::lifetime::{replace_in_generics, replace_in_type, static_lifetime};

/// Maximum number of parts in a tuple of query data.
const TUPLE: usize = 16;

pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let aspect = Aspect::parse(input)?;
    let read_only = aspect.read_only.as_ref().unwrap_or(&aspect.name);
    let where_read_only = aspect.where_fields_are(&quote!(ReadOnlyField));
    let where_parallel = aspect.where_fields_are(&quote!(ParallelField));
    let own = aspect.implement_all(
        &aspect.name,
        &quote!(Data),
        &aspect.path(read_only, &static_lifetime()),
        &where_read_only,
        &where_parallel,
    );
    let view = aspect.read_only.as_ref().map(|view| aspect.view(view));
    Ok(quote!(#own #view))
}

/// A parsed struct that derives `Aspect`.
struct Aspect {
    name: Ident,
    visibility: Visibility,
    /// The generic parameters. Type parameters are bounded by `'static`.
    generics: Generics,
    lifetime: Option<Lifetime>,
    fields: Vec<Field>,
    /// The name of the read-only view.
    read_only: Option<Ident>,
}

struct Field {
    name: Ident,
    visibility: Visibility,
    documents: Vec<Attribute>,
    ty: Type,
    kind: Kind,
}

/// The kind of component that a field refers to.
#[derive(Clone, Copy)]
enum Kind {
    Plain,
    Shared,
    Chunk,
    Managed,
}

impl Kind {
    fn tokens(self) -> TokenStream {
        let name = match self {
            Self::Plain => "PlainField",
            Self::Shared => "SharedField",
            Self::Chunk => "ChunkField",
            Self::Managed => "ManagedField",
        };
        let name = Ident::new(name, Span::call_site());
        quote!(::ancho_entities::__macro::#name)
    }
}

impl Aspect {
    fn parse(input: &DeriveInput) -> Result<Self> {
        let Data::Struct(data) = &input.data else {
            return Err(Error::new(input.ident.span(), "an aspect is a struct with named fields"));
        };
        let Fields::Named(named) = &data.fields else {
            let span = match &data.fields {
                Fields::Unit => input.ident.span(),
                fields => fields.span(),
            };
            return Err(Error::new(span, "the fields of an aspect have names: write `{ … }`"));
        };
        let mut lifetimes = input.generics.lifetimes();
        let lifetime = lifetimes.next().map(|parameter| parameter.lifetime.clone());
        if let Some(second) = lifetimes.next() {
            let message = "an aspect has at most one lifetime, which all its references share";
            return Err(Error::new(second.span(), message));
        }
        let mut generics = input.generics.clone();
        for parameter in generics.type_params_mut() {
            parameter.default = None;
            parameter.bounds.push(parse_quote!('static));
        }
        let mut fields = Vec::new();
        for field in &named.named {
            let Some(name) = &field.ident else { continue };
            let documents = field.attrs.iter().filter(|attribute| attribute.path().is_ident("doc"));
            fields.push(Field {
                name: name.clone(),
                visibility: field.vis.clone(),
                documents: documents.cloned().collect(),
                ty: field.ty.clone(),
                kind: read_kind(&field.attrs)?,
            });
        }
        Ok(Self {
            name: input.ident.clone(),
            visibility: input.vis.clone(),
            generics,
            lifetime,
            fields,
            read_only: read_options(&input.attrs)?,
        })
    }

    /// Returns the path of a struct with the parameters of the aspect and this lifetime.
    fn path(&self, name: &Ident, lifetime: &Lifetime) -> TokenStream {
        let arguments = self.generics.params.iter().map(|parameter| match parameter {
            GenericParam::Lifetime(_) => lifetime.to_token_stream(),
            GenericParam::Type(parameter) => parameter.ident.to_token_stream(),
            GenericParam::Const(parameter) => parameter.ident.to_token_stream(),
        });
        quote!(#name<#(#arguments),*>)
    }

    /// Returns the where clause of the struct, with further predicates.
    fn where_clause_with(&self, more: impl Iterator<Item = TokenStream>) -> TokenStream {
        where_clause_of(&self.generics, more)
    }

    /// Returns predicates that each field is an aspect field. For a field that is not, the compiler reports one error, at this
    /// predicate. Fields that mention generic parameters are skipped, because a predicate would hide facts that the compiler can
    /// infer.
    fn known_fields(&self) -> impl Iterator<Item = TokenStream> {
        let parameters: Vec<_> = self
            .generics
            .params
            .iter()
            .filter_map(|parameter| match parameter {
                GenericParam::Lifetime(_) => None,
                GenericParam::Type(parameter) => Some(&parameter.ident),
                GenericParam::Const(parameter) => Some(&parameter.ident),
            })
            .collect();
        let known = self.fields.iter().filter(move |field| {
            !mentions(field.ty.to_token_stream(), &|name| parameters.contains(&name))
        });
        known.map(|field| {
            let (ty, kind) = (self.static_type(&field.ty), field.kind.tokens());
            quote_spanned!(field.ty.span()=> #ty: ::ancho_entities::__macro::AspectField<#kind>)
        })
    }

    /// Returns the query data of each field, which is an associated type of the field's trait.
    fn data(&self, which: &TokenStream) -> Vec<TokenStream> {
        let data = self.fields.iter().map(|field| {
            let (ty, kind) = (self.static_type(&field.ty), field.kind.tokens());
            let span = field.ty.span();
            quote_spanned!(span=> <#ty as ::ancho_entities::__macro::AspectField<#kind>>::#which)
        });
        data.collect()
    }

    /// Returns a type with the lifetime of the struct replaced by `'static`.
    fn static_type(&self, ty: &Type) -> Type {
        let mut ty = ty.clone();
        replace_in_type(&mut ty, self.lifetime.as_ref(), &static_lifetime());
        ty
    }

    /// Implements `QueryData` for a struct with these fields, by delegating to a tuple.
    fn implement(&self, name: &Ident, which: &TokenStream) -> TokenStream {
        let data = nest(&self.data(which), |parts| quote!((#(#parts,)*)));
        let names: Vec<_> = self.fields.iter().map(|field| &field.name).collect();
        let bound: Vec<_> =
            (0..names.len()).map(|at| format_ident!("__field{at}").to_token_stream()).collect();
        let pattern = nest(&bound, |parts| quote!((#(#parts,)*)));

        let item = Lifetime::new("'__item", Span::call_site());
        let item_type = self.path(name, &item);
        let static_type = self.path(name, &static_lifetime());
        let (impl_generics, type_generics, _) = self.generics.split_for_impl();
        let where_clause = self.where_clause_with(self.known_fields());

        // The fetch is a separate type, so that the aspect does not expose component types that are less visible than itself.
        let fetch_generics = self.static_generics();
        let (fetch_impl, fetch_type, _) = fetch_generics.split_for_impl();
        let fetch_where = where_clause_of(&fetch_generics, self.known_fields());
        let tuple = quote!(#data as ::ancho_entities::QueryData);
        quote! {
            const _: () = {
                #[doc(hidden)]
                pub struct __Fetch #fetch_impl (<#tuple>::Fetch) #fetch_where;

                #[automatically_derived]
                impl #fetch_impl ::core::clone::Clone for __Fetch #fetch_type #fetch_where {
                    #[inline(always)]
                    fn clone(&self) -> Self {
                        *self
                    }
                }

                #[automatically_derived]
                impl #fetch_impl ::core::marker::Copy for __Fetch #fetch_type #fetch_where {}

                #[automatically_derived]
                // SAFETY: every method delegates to the tuple, and the items of the tuple become the fields.
                unsafe impl #impl_generics ::ancho_entities::QueryData for #name #type_generics #where_clause {
                    type Item<#item> = #item_type;
                    type Static = #static_type;
                    type Fetch = __Fetch #fetch_type;
                    const PARTS: ::core::primitive::usize = <#tuple>::PARTS;
                    const ROW_BYTES: ::core::primitive::usize = <#tuple>::ROW_BYTES;
                    const WRITES: ::core::primitive::bool = <#tuple>::WRITES;
                    const MARKS: ::core::primitive::bool = <#tuple>::MARKS;
                    const TRACKS: ::core::primitive::bool = <#tuple>::TRACKS;

                    fn parts(
                        each: &mut dyn ::core::ops::FnMut(::ancho_entities::__macro::Part),
                    ) {
                        <#tuple>::parts(each)
                    }

                    #[inline(always)]
                    fn expect(
                        memory: ::core::num::NonZero<::core::primitive::usize>,
                        places: &[::ancho_entities::__macro::Place],
                        first: ::core::primitive::usize,
                        count: ::core::primitive::usize,
                    ) {
                        <#tuple>::expect(memory, places, first, count)
                    }

                    #[inline(always)]
                    fn expect_row(fetch: Self::Fetch, row: ::core::primitive::usize) {
                        <#tuple>::expect_row(fetch.0, row)
                    }

                    #[inline(always)]
                    unsafe fn mark(
                        marks: &mut ::ancho_entities::__macro::ChunkMarks<'_>,
                        places: &[::ancho_entities::__macro::Place],
                    ) {
                        // SAFETY: `mark` has the same contract as that of the tuple, and receives its arguments unchanged.
                        unsafe { <#tuple>::mark(marks, places) }
                    }

                    fn is_there(
                        places: &[::ancho_entities::__macro::Place],
                    ) -> ::core::primitive::bool {
                        <#tuple>::is_there(places)
                    }

                    #[inline(always)]
                    unsafe fn fetch(
                        view: ::ancho_entities::__macro::ChunkView<'_>,
                        places: &[::ancho_entities::__macro::Place],
                    ) -> Self::Fetch {
                        // SAFETY: `fetch` has the same contract as that of the tuple, and receives its arguments unchanged.
                        __Fetch(unsafe { <#tuple>::fetch(view, places) })
                    }

                    #[inline(always)]
                    unsafe fn is_on(
                        fetch: Self::Fetch,
                        row: ::core::primitive::usize,
                    ) -> ::core::primitive::bool {
                        // SAFETY: `is_on` has the same contract as that of the tuple, and receives its fetch and row.
                        unsafe { <#tuple>::is_on(fetch.0, row) }
                    }

                    #[inline(always)]
                    unsafe fn get<#item>(
                        fetch: Self::Fetch,
                        row: ::core::primitive::usize,
                    ) -> Self::Item<#item> {
                        // SAFETY: `get` has the same contract as that of the tuple, and receives its fetch and row.
                        let #pattern = unsafe { <#tuple>::get::<#item>(fetch.0, row) };
                        #name { #(#names: #bound,)* }
                    }

                    #[inline(always)]
                    unsafe fn track(
                        fetch: Self::Fetch,
                        first: ::core::primitive::usize,
                        count: ::core::primitive::usize,
                        as_slices: ::core::primitive::bool,
                    ) {
                        // SAFETY: `track` has the same contract as that of the tuple, and receives its fetch and rows.
                        unsafe { <#tuple>::track(fetch.0, first, count, as_slices) }
                    }
                }
            };
        }
    }

    /// Implements all traits for a struct with these fields: the aspect, or its read-only view.
    fn implement_all(
        &self,
        name: &Ident,
        which: &TokenStream,
        read_only: &TokenStream,
        where_read_only: &TokenStream,
        where_parallel: &TokenStream,
    ) -> TokenStream {
        let data = self.implement(name, which);
        let own_static = self.path(name, &static_lifetime());
        let (impl_generics, type_generics, _) = self.generics.split_for_impl();
        let where_clause = self.where_clause_with(self.known_fields());
        quote! {
            #data

            #[automatically_derived]
            impl #impl_generics ::ancho_entities::Aspect for #name #type_generics #where_clause {
                type ReadOnly = #read_only;
            }

            #[automatically_derived]
            // SAFETY: the where clause requires each field to be read-only, so no field can be changed.
            unsafe impl #impl_generics ::ancho_entities::ReadOnlyData for #name #type_generics #where_read_only {}

            #[automatically_derived]
            // SAFETY: the where clause requires each field to be parallel data.
            unsafe impl #impl_generics ::ancho_entities::ParallelData for #name #type_generics #where_parallel {}

            #[automatically_derived]
            impl #impl_generics ::ancho_entities::__macro::AspectField<::ancho_entities::__macro::PlainField>
                for #name #type_generics #where_clause
            {
                type Data = #own_static;
                type ReadOnly = #read_only;
            }
        }
    }

    /// Returns a where clause that requires a trait of all fields.
    fn where_fields_are(&self, what: &TokenStream) -> TokenStream {
        // The lifetime is higher-ranked: with a known lifetime, the compiler would check the predicate immediately, and reject the
        // impl.
        let hidden = Lifetime::new("'__any", Span::call_site());
        let fields = self.fields.iter().map(|field| {
            let (kind, span) = (field.kind.tokens(), field.ty.span());
            let mut ty = field.ty.clone();
            let borrows = replace_in_type(&mut ty, self.lifetime.as_ref(), &hidden);
            let any = borrows.then(|| quote!(for<#hidden>));
            quote_spanned!(span=> #any #ty: ::ancho_entities::__macro::#what<#kind>)
        });
        self.where_clause_with(self.known_fields().chain(fields))
    }

    /// Defines the read-only view, and implements the aspect for it.
    fn view(&self, view: &Ident) -> TokenStream {
        let where_clause = &self.generics.where_clause;
        let fields = self.fields.iter().map(|field| {
            let Field { name, visibility, documents, .. } = field;
            let ty = self.read_only_type(field, &field.ty);
            let document = documents.is_empty().then(|| {
                let document = format!("See [`{}::{name}`].", self.name);
                quote!(#[doc = #document])
            });
            quote!(#(#documents)* #document #visibility #name: #ty,)
        });
        let document = format!("[`{}`], to be read.", self.name);
        let visibility = &self.visibility;
        let generics = &self.generics;
        let read_only = self.data(&quote!(ReadOnly)).into_iter().zip(&self.fields);
        let where_read_only = self.where_clause_with(read_only.map(
            |(data, field)| quote_spanned!(field.ty.span()=> #data: ::ancho_entities::ReadOnlyData),
        ));
        let implemented = self.implement_all(
            view,
            &quote!(ReadOnly),
            &self.path(view, &static_lifetime()),
            &where_read_only,
            &self.where_fields_are(&quote!(ParallelViewField)),
        );
        quote! {
            #[doc = #document]
            #[allow(dead_code, reason = "not all that can be read has to be")]
            #[allow(missing_debug_implementations, reason = "as the aspect itself, which may have one")]
            #visibility struct #view #generics #where_clause {
                #(#fields)*
            }

            #implemented
        }
    }

    /// Returns the type of a field in the read-only view. References are written as references, which are easier to read and stay
    /// covariant. Other types use the associated type of the trait.
    fn read_only_type(&self, field: &Field, ty: &Type) -> TokenStream {
        if let Type::Reference(reference) = ty {
            let (lifetime, inner) = (&reference.lifetime, &reference.elem);
            return quote!(& #lifetime #inner);
        }
        let mut static_type = ty.clone();
        let borrows = replace_in_type(&mut static_type, self.lifetime.as_ref(), &static_lifetime());
        if !borrows {
            return ty.to_token_stream();
        }
        if let Some(inner) = inside_option(ty) {
            let inner = self.read_only_type(field, inner);
            return quote!(::core::option::Option<#inner>);
        }
        let (kind, lifetime) = (field.kind.tokens(), &self.lifetime);
        let read_only =
            quote!(<#static_type as ::ancho_entities::__macro::AspectField<#kind>>::ReadOnly);
        quote_spanned!(ty.span()=> <#read_only as ::ancho_entities::QueryData>::Item<#lifetime>)
    }

    /// Returns the parameters without the lifetime of the struct, which is replaced by `'static` in bounds.
    fn static_generics(&self) -> Generics {
        let mut generics = self.generics.clone();
        generics.params = generics
            .params
            .into_iter()
            .filter(|parameter| !matches!(parameter, GenericParam::Lifetime(_)))
            .collect();
        replace_in_generics(&mut generics, self.lifetime.as_ref(), &static_lifetime());
        generics
    }
}

/// Returns the where clause of the given parameters, with further predicates.
fn where_clause_of(generics: &Generics, more: impl Iterator<Item = TokenStream>) -> TokenStream {
    let own = generics.where_clause.iter().flat_map(|clause| &clause.predicates);
    let own = own.map(ToTokens::to_token_stream);
    let all = own.chain(more);
    quote!(where #(#all,)*)
}

/// Returns whether one of these names occurs in a type.
fn mentions(tokens: TokenStream, is_one: &dyn Fn(&Ident) -> bool) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(name) => is_one(&name),
        TokenTree::Group(group) => mentions(group.stream(), is_one),
        _ => false,
    })
}

/// Creates a tuple of the parts, or a tuple of tuples if there are more than 16 parts.
fn nest(parts: &[TokenStream], tuple: fn(&[TokenStream]) -> TokenStream) -> TokenStream {
    if parts.len() <= TUPLE {
        return tuple(parts);
    }
    let groups: Vec<_> = parts.chunks(TUPLE).map(tuple).collect();
    nest(&groups, tuple)
}

/// Returns the inner type of an `Option`, if the type is written as one.
fn inside_option(ty: &Type) -> Option<&Type> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last().filter(|segment| segment.ident == "Option")?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    match arguments.args.first() {
        Some(GenericArgument::Type(inner)) if arguments.args.len() == 1 => Some(inner),
        _ => None,
    }
}

/// Parses `#[aspect(…)]` on the struct.
fn read_options(attributes: &[Attribute]) -> Result<Option<Ident>> {
    let mut read_only = None;
    read(attributes, "aspect", |meta| {
        if !meta.path.is_ident("read_only") {
            return Err(meta.error(
                "unknown option; an aspect has `#[aspect(read_only = Name)]`, and its fields have others",
            ));
        }
        if read_only.replace(meta.value()?.parse()?).is_some() {
            return Err(meta.error("an aspect has one form to be read"));
        }
        Ok(())
    })?;
    Ok(read_only)
}

/// Parses `#[aspect(…)]` on a field.
fn read_kind(attributes: &[Attribute]) -> Result<Kind> {
    let mut said = None;
    read(attributes, "aspect", |meta| {
        let kinds = [("shared", Kind::Shared), ("chunk", Kind::Chunk), ("managed", Kind::Managed)];
        let Some((_, kind)) = kinds.into_iter().find(|(name, _)| meta.path.is_ident(name)) else {
            return Err(meta.error(
                "unknown option; a field of an aspect has `#[aspect(shared)]`, `#[aspect(chunk)]` or \
                 `#[aspect(managed)]`",
            ));
        };
        if said.replace(kind).is_some() {
            return Err(meta.error("a component is of one kind"));
        }
        Ok(())
    })?;
    Ok(said.unwrap_or(Kind::Plain))
}
