//! `#[burst]`: functions compiled for each CPU level, and closures that are always inlined.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::visit_mut::{self, VisitMut};
use syn::{
    Attribute, Error, Expr, FnArg, GenericParam, Ident, ItemFn, Pat, Result, Safety, Token,
    parse_quote,
};

/// Effect of the attribute on its function.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Compiles the function for each CPU level.
    Dispatch,
    /// Always inlines the function.
    Inline,
    /// Only marks the closures in the function.
    Closures,
}

pub(crate) fn attribute(options: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let mode = parse_mode(options)?;
    let message = "`#[burst]` is for functions with a body";
    let mut function: ItemFn =
        syn::parse2(item.clone()).map_err(|_| Error::new_spanned(&item, message))?;
    check(&function, mode)?;
    MarkClosures.visit_block_mut(&mut function.block);
    match mode {
        Mode::Closures => {}
        Mode::Inline => {
            if let Some(inline) = inline_attribute(&function.attrs) {
                let message = "`#[burst(inline)]` inlines always; remove this attribute";
                return Err(Error::new_spanned(inline, message));
            }
            function.attrs.push(parse_quote!(#[inline(always)]));
        }
        Mode::Dispatch if function.sig.receiver().is_some() => dispatch_method(&mut function),
        Mode::Dispatch => dispatch_function(&mut function)?,
    }
    Ok(function.into_token_stream())
}

fn parse_mode(options: TokenStream) -> Result<Mode> {
    let options =
        Punctuated::<Ident, Token![,]>::parse_terminated.parse2(options).map_err(|error| {
            Error::new(error.span(), "`#[burst]` takes one option, `inline` or `closures`, or none")
        })?;
    let mut mode = Mode::Dispatch;
    for option in &options {
        if mode != Mode::Dispatch {
            let message = "`#[burst]` takes one option: `inline` and `closures` exclude each other";
            return Err(Error::new(option.span(), message));
        }
        mode = match option.to_string().as_str() {
            "inline" => Mode::Inline,
            "closures" => Mode::Closures,
            other => {
                let message = format!(
                    "`#[burst]` has no option `{other}`; there are `inline`, for helpers that must be \
                     inlined, and `closures`, for functions that only hold kernels"
                );
                return Err(Error::new(option.span(), message));
            }
        };
    }
    Ok(mode)
}

/// Rejects functions that cannot be compiled for several levels. Each error gives the reason.
fn check(function: &ItemFn, mode: Mode) -> Result<()> {
    let signature = &function.sig;
    let refuse = |span: Span, message: &str| Err(Error::new(span, message));
    if let Some(token) = &signature.asyncness
        && mode != Mode::Closures
    {
        let message = "an `async` function cannot be a burst kernel: its body runs in pieces, later. \
                       Put the loop in a function of its own";
        return refuse(token.span(), message);
    }
    if mode != Mode::Dispatch {
        return Ok(());
    }
    if let Some(token) = &signature.constness {
        let message = "a `const` function cannot be a burst kernel: the level is picked at run time. \
                       `#[burst(inline)]` is for helpers";
        return refuse(token.span(), message);
    }
    if let Safety::Unsafe(token) = &signature.safety {
        let message = "an `unsafe` function cannot be a burst kernel. Make a safe one, which may call \
                       unsafe helpers that are `#[burst(inline)]`";
        return refuse(token.span(), message);
    }
    if let Some(abi) = &signature.abi {
        let message = "an `extern` function cannot be a burst kernel. Call the kernel from it";
        return refuse(abi.span(), message);
    }
    Ok(())
}

/// Moves the body to an inner function, and dispatches calls to it.
///
/// A closure with the body would lose the aliasing information of `&mut` parameters, which are the only access to their targets.
/// Loops over many slices are vectorised only with this information.
fn dispatch_function(function: &mut ItemFn) -> Result<()> {
    let mut inner = function.sig.clone();
    // A name that does not clash with names in the body.
    let kernel = format_ident!("__burst_{}", inner.ident);
    inner.ident = kernel.clone();
    let mut names = Vec::new();
    for (position, input) in function.sig.inputs.iter_mut().enumerate() {
        let FnArg::Typed(parameter) = input else { continue };
        // The pattern belongs to the inner function. The outer function needs a name for the argument that it passes on.
        let name = format_ident!("__{position}", span = Span::mixed_site());
        *parameter.pat = Pat::Verbatim(name.to_token_stream());
        parameter.attrs.clear();
        names.push(name);
    }
    // `impl Trait` parameters cannot be named in an explicit list of generic arguments, so the compiler infers all arguments.
    let has_impl_trait = MentionsImplTrait::in_inputs(&inner);
    let generics = inner.generics.params.iter().filter_map(|parameter| match parameter {
        GenericParam::Type(parameter) => Some(&parameter.ident),
        GenericParam::Const(parameter) => Some(&parameter.ident),
        GenericParam::Lifetime(_) => None,
    });
    let turbofish = (!has_impl_trait).then(|| quote!(::<#(#generics),*>));
    if let Some(span) = MentionsSelf::find(function) {
        let message = "a function without `self` that uses `Self` cannot be a burst kernel. Name the type, or put the \
                       kernel outside of the `impl`";
        return Err(Error::new(span, message));
    }
    let body = &function.block;
    function.block = parse_quote!({
        #[inline(always)]
        #inner #body

        ::ancho_burst::dispatch(
            #[inline(always)]
            move || #kernel #turbofish (#(#names),*),
        )
    });
    Ok(())
}

/// Dispatches the body as a closure, because an inner function cannot use `self`.
fn dispatch_method(function: &mut ItemFn) {
    let result = match &function.sig.output {
        // The return type of a closure cannot be `impl Trait`. The compiler infers it.
        syn::ReturnType::Type(arrow, ty) if !matches!(**ty, syn::Type::ImplTrait(_)) => {
            quote!(#arrow #ty)
        }
        syn::ReturnType::Type(..) => quote!(),
        syn::ReturnType::Default => quote!(-> ()),
    };
    let body = &function.block;
    function.block = parse_quote!({
        ::ancho_burst::dispatch(
            #[inline(always)]
            move || #result #body,
        )
    });
}

fn inline_attribute(attributes: &[Attribute]) -> Option<&Attribute> {
    attributes.iter().find(|attribute| attribute.path().is_ident("inline"))
}

/// Marks closures `#[inline(always)]`, except for those with another `#[inline]`.
struct MarkClosures;

impl VisitMut for MarkClosures {
    fn visit_expr_mut(&mut self, expression: &mut Expr) {
        visit_mut::visit_expr_mut(self, expression);
        if let Expr::Closure(closure) = expression
            && closure.asyncness.is_none()
            && inline_attribute(&closure.attrs).is_none()
        {
            closure.attrs.push(parse_quote!(#[inline(always)]));
            // Attributes are stable on statements and arguments only. A block makes the closure a statement in every position, and
            // does not change the expected type.
            *expression = parse_quote!({ #closure });
        }
    }

    /// Leaves nested items, such as functions and modules, unchanged.
    fn visit_item_mut(&mut self, _: &mut syn::Item) {}
}

struct MentionsImplTrait(bool);

impl MentionsImplTrait {
    fn in_inputs(signature: &syn::Signature) -> bool {
        let mut this = Self(false);
        for input in &mut signature.inputs.clone() {
            this.visit_fn_arg_mut(input);
        }
        this.0
    }
}

impl VisitMut for MentionsImplTrait {
    fn visit_type_impl_trait_mut(&mut self, _: &mut syn::TypeImplTrait) {
        self.0 = true;
    }
}

struct MentionsSelf(Option<Span>);

impl MentionsSelf {
    fn find(function: &ItemFn) -> Option<Span> {
        let mut this = Self(None);
        this.visit_item_fn_mut(&mut function.clone());
        this.0
    }
}

impl VisitMut for MentionsSelf {
    fn visit_ident_mut(&mut self, ident: &mut Ident) {
        if ident == "Self" {
            self.0.get_or_insert(ident.span());
        }
    }

    /// Skips nested items, because a nested `impl` has its own `Self`.
    fn visit_item_mut(&mut self, _: &mut syn::Item) {}
}
