//! Structs of system parameters.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{
    Data, DeriveInput, Error, Fields, GenericParam, Generics, Ident, Lifetime, Member, Result,
    Type, parse_quote,
};

use crate::lifetime::replace_in_type;

/// Maximum number of parameters in a tuple.
const TUPLE: usize = 16;

pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let Data::Struct(data) = &input.data else {
        let message = "a struct derives `SystemParam`: each field is a parameter";
        return Err(Error::new(input.ident.span(), message));
    };
    for parameter in input.generics.lifetimes() {
        let name = &parameter.lifetime.ident;
        if name != "w" && name != "s" {
            let message = "the lifetimes of system parameters are `'w`, of data in the world, and `'s`, of data in the system: \
                           `Query<'w, …>`, `Res<'w, …>`, `Local<'s, …>`, `Commands<'s>`";
            return Err(Error::new(parameter.span(), message));
        }
    }
    let mut generics = input.generics.clone();
    for parameter in generics.type_params_mut() {
        parameter.default = None;
        parameter.bounds.push(parse_quote!('static));
    }
    let fields: Vec<(Member, Type)> = match &data.fields {
        Fields::Unit => Vec::new(),
        fields => fields.members().zip(fields.iter().map(|field| field.ty.clone())).collect(),
    };
    Ok(implement(&input.ident, &generics, &fields))
}

fn implement(name: &Ident, generics: &Generics, fields: &[(Member, Type)]) -> TokenStream {
    let own: Vec<_> = fields.iter().map(|(_, ty)| ty.clone()).collect();
    // The fields with the lifetimes of one run.
    let [world, state] =
        ["'ancho_w", "'ancho_s"].map(|name| Lifetime::new(name, Span::call_site()));
    let [w, s] = ["'w", "'s"].map(|name| Lifetime::new(name, Span::call_site()));
    let fetched = own.iter().cloned().map(|mut ty| {
        replace_in_type(&mut ty, Some(&w), &world);
        replace_in_type(&mut ty, Some(&s), &state);
        ty
    });
    let fetched: Vec<_> = fetched.collect();
    let variables: Vec<_> = (0..fields.len()).map(|at| format_ident!("field_{at}")).collect();
    let members = fields.iter().map(|(member, _)| member);
    let (own_tuple, fetched_tuple) = (nested(&own), nested(&fetched));
    let pattern = nested(&variables);

    let item = item_type(name, generics, &world, &state);
    let (impl_generics, ty_generics, where_clause) = generics.split_for_impl();
    let checks = fields.iter().map(|(_, ty)| {
        quote_spanned!(ty.span()=> ::ancho_entities::__macro::require_param_field::<#ty>();)
    });
    let mut read_only = generics.clone();
    let predicates = &mut read_only.make_where_clause().predicates;
    for ty in &own {
        predicates.push(parse_quote!(#ty: ::ancho_entities::ReadOnlyParam));
    }
    let (_, _, read_only_clause) = read_only.split_for_impl();
    quote! {
        #[automatically_derived]
        #[allow(unsafe_code, reason = "the crate of the struct may deny it; the implementation is checked here")]
        const _: () = {
            // Names the field that is not a parameter.
            #[allow(
                dead_code,
                clippy::extra_unused_lifetimes,
                clippy::multiple_bound_locations,
                reason = "the function is never called; its generics are those of the struct"
            )]
            fn check #impl_generics () #where_clause {
                #(#checks)*
            }

            // SAFETY:
            // - the tuple of the fields declares all data that they access
            // - only the fields access data
            unsafe impl #impl_generics ::ancho_entities::SystemParam for #name #ty_generics #where_clause {
                type State = <#own_tuple as ::ancho_entities::SystemParam>::State;
                type Item<#world, #state> = #item;

                const REACHES_SYSTEMS: ::core::primitive::bool =
                    <#own_tuple as ::ancho_entities::SystemParam>::REACHES_SYSTEMS;

                fn declare(
                    setup: &mut ::ancho_entities::__macro::ParamSetup<'_>,
                ) -> ::core::result::Result<Self::State, ::ancho_entities::__macro::ParamConflict> {
                    <#own_tuple as ::ancho_entities::SystemParam>::declare(setup)
                }

                #[inline]
                fn prepare(
                    state: &mut Self::State,
                    world: &mut ::ancho_entities::World,
                ) -> ::core::result::Result<(), ::ancho_entities::SystemFault> {
                    <#own_tuple as ::ancho_entities::SystemParam>::prepare(state, world)
                }

                #[inline]
                unsafe fn fetch<#world, #state>(
                    state: &#state mut Self::State,
                    world: ::ancho_entities::__macro::UnsafeWorldCell<#world>,
                ) -> Self::Item<#world, #state> {
                    // SAFETY: the caller meets the same contract for the struct, whose state is that of the tuple.
                    let #pattern = unsafe {
                        <#fetched_tuple as ::ancho_entities::SystemParam>::fetch(state, world)
                    };
                    #name { #(#members: #variables),* }
                }
            }

            impl #impl_generics ::ancho_entities::ReadOnlyParam for #name #ty_generics #read_only_clause {}
        };
    }
}

/// Returns the struct with the lifetimes of one run.
fn item_type(name: &Ident, generics: &Generics, world: &Lifetime, state: &Lifetime) -> TokenStream {
    let arguments = generics.params.iter().map(|parameter| match parameter {
        GenericParam::Lifetime(lifetime) if lifetime.lifetime.ident == "w" => quote!(#world),
        GenericParam::Lifetime(_) => quote!(#state),
        GenericParam::Type(ty) => {
            let name = &ty.ident;
            quote!(#name)
        }
        GenericParam::Const(constant) => {
            let name = &constant.ident;
            quote!(#name)
        }
    });
    quote!(#name<#(#arguments),*>)
}

/// Returns a tuple of the elements. If there are too many for a tuple of parameters, returns a tuple of tuples.
fn nested<T: quote::ToTokens>(elements: &[T]) -> TokenStream {
    if elements.len() <= TUPLE {
        return quote!((#(#elements,)*));
    }
    let tuples: Vec<_> = elements.chunks(TUPLE).map(nested).collect();
    nested(&tuples)
}
