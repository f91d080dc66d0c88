//! `#[system]` and `#[bootstrap]`: systems that worlds add automatically, and the function that creates the default world.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::{
    Attribute, Error, Expr, ExprPath, Fields, GenericParam, Generics, Ident, Item, ItemFn, Result,
    Safety, Signature, Token,
};

pub(crate) fn attribute(options: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let settings = parse_settings(options)?;
    let message = "`#[system]` is for functions and structs";
    let item: Item = syn::parse2(item.clone()).map_err(|_| Error::new_spanned(&item, message))?;
    let (name, value, attributes) = match &item {
        Item::Fn(function) => {
            check_function(&function.sig, "system")?;
            let name = &function.sig.ident;
            (name, quote!(#name), &function.attrs)
        }
        Item::Struct(data) => {
            check_generics(&data.generics, "system")?;
            let name = &data.ident;
            let value = match data.fields {
                Fields::Unit => quote!(#name),
                _ => quote!(<#name as ::core::default::Default>::default()),
            };
            (name, value, &data.attrs)
        }
        other => return Err(Error::new_spanned(other, message)),
    };
    let conditions = conditions(attributes);
    Ok(quote! {
        #item

        #(#conditions)*
        const _: () = {
            #[allow(unused_imports, reason = "without settings there is nothing to call")]
            use ::ancho_entities::IntoSystem as _;

            ::ancho_entities::__macro::inventory::submit! {
                ::ancho_entities::__macro::auto_system(
                    ::core::concat!(::core::module_path!(), "::", ::core::stringify!(#name)),
                    ::core::file!(),
                    ::core::line!(),
                    || ::ancho_entities::__macro::builder_of(#value) #(.#settings)*,
                )
            }
        };
    })
}

pub(crate) fn bootstrap(options: &TokenStream, item: TokenStream) -> Result<TokenStream> {
    if !options.is_empty() {
        return Err(Error::new_spanned(options, "`#[bootstrap]` takes no options"));
    }
    let message = "`#[bootstrap]` is for functions";
    let function: ItemFn =
        syn::parse2(item.clone()).map_err(|_| Error::new_spanned(&item, message))?;
    check_function(&function.sig, "bootstrap")?;
    let name = &function.sig.ident;
    let conditions = conditions(&function.attrs);
    Ok(quote! {
        #function

        #(#conditions)*
        ::ancho_entities::__macro::inventory::submit! {
            ::ancho_entities::__macro::bootstrap_hook(
                ::core::concat!(::core::module_path!(), "::", ::core::stringify!(#name)),
                #name,
            )
        }
    })
}

/// Returns the calls that set the options of a system: `first, in_group(Simulation)` becomes `.first().in_group(Simulation)`.
fn parse_settings(options: TokenStream) -> Result<Vec<TokenStream>> {
    let message = "`#[system]` takes the settings of a system, such as `first` or `in_group(Simulation)`, separated by \
                   commas";
    let settings = Punctuated::<Expr, Token![,]>::parse_terminated
        .parse2(options)
        .map_err(|error| Error::new(error.span(), message))?;
    let setting = |setting: Expr| match &setting {
        Expr::Path(path) if is_plain(path) => Ok(quote!(#path())),
        Expr::Call(call) if matches!(&*call.func, Expr::Path(path) if is_plain(path)) => {
            Ok(setting.to_token_stream())
        }
        other => Err(Error::new_spanned(other, message)),
    };
    settings.into_iter().map(setting).collect()
}

fn is_plain(path: &ExprPath) -> bool {
    let name: Option<&Ident> = path.path.get_ident();
    path.qself.is_none() && name.is_some()
}

fn check_function(signature: &Signature, attribute: &str) -> Result<()> {
    check_generics(&signature.generics, attribute)?;
    if let Some(receiver) = signature.receiver() {
        let message = format!("`#[{attribute}]` is for functions, and this is a method");
        return Err(Error::new_spanned(receiver, message));
    }
    if let Some(token) = &signature.asyncness {
        let message = format!(
            "`#[{attribute}]` cannot mark an `async` function, which would never be awaited"
        );
        return Err(Error::new_spanned(token, message));
    }
    if let Safety::Unsafe(token) = &signature.safety {
        let message = format!("`#[{attribute}]` cannot mark an `unsafe` function");
        return Err(Error::new_spanned(token, message));
    }
    Ok(())
}

/// Rejects generic parameters other than lifetimes. The compiler infers lifetimes where the function is used.
fn check_generics(generics: &Generics, attribute: &str) -> Result<()> {
    let is_open = |parameter: &&GenericParam| !matches!(parameter, GenericParam::Lifetime(_));
    match generics.params.iter().find(is_open) {
        Some(parameter) => {
            let message = format!(
                "an item marked with `#[{attribute}]` cannot be generic, because its type parameters are unknown. Mark \
                 a function that calls it, or add it to a world yourself"
            );
            Err(Error::new_spanned(parameter, message))
        }
        None => Ok(()),
    }
}

/// Returns the `cfg` attributes of the item.
fn conditions(attributes: &[Attribute]) -> impl Iterator<Item = &Attribute> {
    attributes.iter().filter(|attribute| attribute.path().is_ident("cfg"))
}
