//! Job structs: their fields as job data, and views of them.
//!
//! The generated code is safe. A struct's fields become a chain of pairs, `(a, (b, (c, ())))`, for which `ancho_jobs` implements
//! the unsafe traits. A view assigns the opened fields to their names again.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use syn::spanned::Spanned;
use syn::{
    Data, DeriveInput, Error, Fields, GenericParam, Generics, Ident, Lifetime, Result, Type,
    Visibility,
};

use crate::lifetime::{replace_in_type, static_lifetime};

pub(crate) fn derive_single(input: &DeriveInput) -> Result<TokenStream> {
    let job = JobStruct::parse(input)?;
    let view = job.view("View", "what a run of the job gets", |field| {
        field.opened(&quote!(JobData), &quote!(Whole), &quote!(mut))
    });
    let view_type = &view.path;
    let view_definition = &view.definition;
    let JobStruct { name, chain_type, chain_value, .. } = &job;
    let (impl_generics, type_generics, where_clause) = job.generics.split_for_impl();
    let view_value = job.view_value(&view.name);
    let pattern = job.pattern();
    Ok(quote! {
        #view_definition

        #[automatically_derived]
        #[allow(clippy::unused_unit, reason = "a job without fields")]
        impl #impl_generics ::ancho_jobs::JobStruct for #name #type_generics #where_clause {
            type Data = #chain_type;
            type View<'__v> = #view_type;

            fn into_data(self) -> Self::Data {
                #chain_value
            }

            fn view(
                #pattern: <Self::Data as ::ancho_jobs::JobData>::Whole<'_>,
            ) -> Self::View<'_> {
                #view_value
            }
        }
    })
}

pub(crate) fn derive_parallel(input: &DeriveInput) -> Result<TokenStream> {
    let job = JobStruct::parse(input)?;
    let parallel = quote!(ParallelJobData);
    let batch = job.view("Batch", "what one batch gets", |field| {
        field.opened(&parallel, &quote!(Batch), &quote!())
    });
    let item = job.view("Item", "what one index gets", |field| {
        field.opened(&parallel, &quote!(Item), &quote!())
    });
    let (batch_type, item_type) = (&batch.path, &item.path);
    let (batch_definition, item_definition) = (&batch.definition, &item.definition);
    let JobStruct { name, chain_type, chain_value, .. } = &job;
    let (impl_generics, type_generics, where_clause) = job.generics.split_for_impl();
    let (batch_value, item_value) = (job.view_value(&batch.name), job.view_value(&item.name));
    let pattern = job.pattern();
    Ok(quote! {
        #batch_definition
        #item_definition

        #[automatically_derived]
        #[allow(clippy::unused_unit, reason = "a job without fields")]
        impl #impl_generics ::ancho_jobs::ParallelJobStruct for #name #type_generics #where_clause {
            type Data = #chain_type;
            type Batch<'__v> = #batch_type;
            type Item<'__v> = #item_type;

            fn into_data(self) -> Self::Data {
                #chain_value
            }

            #[inline(always)]
            fn batch(
                #pattern: <Self::Data as ::ancho_jobs::ParallelJobData>::Batch<'_>,
            ) -> Self::Batch<'_> {
                #batch_value
            }

            #[inline(always)]
            fn item(
                #pattern: <Self::Data as ::ancho_jobs::ParallelJobData>::Item<'_>,
            ) -> Self::Item<'_> {
                #item_value
            }
        }
    })
}

/// A parsed struct that derives `JobStruct` or `ParallelJobStruct`.
struct JobStruct {
    name: Ident,
    visibility: Visibility,
    generics: Generics,
    fields: Vec<Field>,
    /// The type of the chain of pairs. `chain_value` is the expression of its value.
    chain_type: TokenStream,
    chain_value: TokenStream,
}

struct Field {
    name: Ident,
    visibility: Visibility,
    /// The type of the field, with the struct's lifetime replaced by `'static`. The opened type does not depend on the lifetime of
    /// the borrow.
    static_type: Type,
    is_token: bool,
}

/// A generated view.
struct View {
    name: Ident,
    definition: TokenStream,
    /// The path of the view's type, with the lifetime `'__v`.
    path: TokenStream,
}

impl JobStruct {
    fn parse(input: &DeriveInput) -> Result<Self> {
        let Data::Struct(data) = &input.data else {
            return Err(Error::new(input.ident.span(), "a job is a struct with named fields"));
        };
        let fields = match &data.fields {
            Fields::Named(fields) => fields.named.iter().collect(),
            Fields::Unit => Vec::new(),
            Fields::Unnamed(fields) => {
                let message =
                    "the fields of a job are named, so that its views can have the same names";
                return Err(Error::new(fields.span(), message));
            }
        };
        let mut lifetimes = input.generics.lifetimes();
        let lifetime = lifetimes.next().map(|parameter| &parameter.lifetime);
        if let Some(second) = lifetimes.next() {
            let message = "a job has one lifetime at most, which its tokens share";
            return Err(Error::new(second.span(), message));
        }

        let mut chain_type = quote!(());
        let mut chain_value = quote!(());
        let mut parsed = Vec::new();
        for field in fields.into_iter().rev() {
            let Some(name) = &field.ident else { continue };
            let mut static_type = field.ty.clone();
            let is_token = replace_in_type(&mut static_type, lifetime, &static_lifetime());
            let ty = &field.ty;
            (chain_type, chain_value) = if is_token {
                (quote!((#ty, #chain_type)), quote!((self.#name, #chain_value)))
            } else {
                (
                    quote!((::ancho_jobs::Plain<#ty>, #chain_type)),
                    quote!((::ancho_jobs::Plain(self.#name), #chain_value)),
                )
            };
            parsed.push(Field {
                name: name.clone(),
                visibility: field.vis.clone(),
                static_type,
                is_token,
            });
        }
        parsed.reverse();
        Ok(Self {
            name: input.ident.clone(),
            visibility: input.vis.clone(),
            generics: input.generics.clone(),
            fields: parsed,
            chain_type,
            chain_value,
        })
    }

    /// Defines the view with this suffix, with fields of the given types.
    fn view(&self, suffix: &str, what: &str, opened: impl Fn(&Field) -> TokenStream) -> View {
        let name = format_ident!("{}{}", self.name, suffix);
        let document = format!("The view of [`{}`]: {what}.", self.name);
        let fields = self.fields.iter().map(|field| {
            let Field { name, visibility, .. } = field;
            let ty = opened(field);
            let document = format!("See [`{}::{name}`].", self.name);
            quote!(#[doc = #document] #visibility #name: #ty,)
        });
        // The struct's lifetime is replaced by the view's lifetime. The other parameters do not change.
        let mut generics = self.generics.clone();
        generics.params = generics
            .params
            .into_iter()
            .filter(|parameter| !matches!(parameter, GenericParam::Lifetime(_)))
            .collect();
        let others = generics.params.iter().map(|parameter| match parameter {
            GenericParam::Type(parameter) => &parameter.ident,
            GenericParam::Const(parameter) => &parameter.ident,
            GenericParam::Lifetime(_) => unreachable!("filtered out above"),
        });
        let path = quote!(#name<'__v, #(#others),*>);
        let lifetime = Lifetime::new("'__v", Span::call_site());
        generics.params.insert(0, syn::parse_quote!(#lifetime));
        let where_clause = &generics.where_clause;
        let visibility = &self.visibility;
        let unused =
            self.fields.is_empty().then(|| quote!(__view: ::core::marker::PhantomData<&'__v ()>,));
        let definition = quote! {
            #[doc = #document]
            #[allow(dead_code, reason = "a job need not use all its fields")]
            #visibility struct #name #generics #where_clause {
                #(#fields)*
                #unused
            }
        };
        View { name, definition, path }
    }

    /// Returns the pattern that destructures a chain of opened fields.
    fn pattern(&self) -> TokenStream {
        self.fields.iter().rev().fold(quote!(()), |rest, field| {
            let name = &field.name;
            quote!((#name, #rest))
        })
    }

    /// Returns the expression that builds the view from variables named like its fields.
    fn view_value(&self, view: &Ident) -> TokenStream {
        let names = self.fields.iter().map(|field| &field.name);
        let unused = self.fields.is_empty().then(|| quote!(__view: ::core::marker::PhantomData));
        quote!(#view { #(#names,)* #unused })
    }
}

impl Field {
    /// Returns the type of the opened field: for a token, the trait's associated type; for a plain value, a reference.
    fn opened(&self, tr: &TokenStream, ty: &TokenStream, mutable: &TokenStream) -> TokenStream {
        let field = &self.static_type;
        if self.is_token {
            quote!(<#field as ::ancho_jobs::#tr>::#ty<'__v>)
        } else {
            quote!(&'__v #mutable #field)
        }
    }
}
