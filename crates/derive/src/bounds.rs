//! Bounds on the parameters of a type that derives `Field`.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::visit_mut::{self, VisitMut};
use syn::{Generics, Ident, Type, TypeMacro, TypePath, parse_quote};

/// Returns the parameters of a type that has fields of these types. Parameters that the fields use are bounded by `Field`.
///
/// The bounds are on parameters (and on their associated types, such as `T::Output`), not on the types of the fields. A type may
/// contain itself behind a `Box`, and a bound on that field would be circular.
pub(crate) fn with_fields<'t>(
    generics: &Generics,
    types: impl IntoIterator<Item = &'t Type>,
) -> Generics {
    let parameters = generics.type_params().map(|parameter| parameter.ident.clone()).collect();
    let mut uses = Uses { parameters, used: Vec::new(), projections: Vec::new() };
    if !uses.parameters.is_empty() {
        types.into_iter().for_each(|ty| uses.visit_type_mut(&mut ty.clone()));
    }

    let mut generics = generics.clone();
    for parameter in generics.type_params_mut() {
        parameter.bounds.push(parse_quote!('static));
        if uses.used.contains(&parameter.ident) {
            parameter.bounds.push(parse_quote!(::ancho_entities::Field));
        }
    }
    if !uses.projections.is_empty() {
        let predicates = &mut generics.make_where_clause().predicates;
        for projection in uses.projections {
            predicates.push(parse_quote!(#projection: ::ancho_entities::Field));
        }
    }
    generics
}

/// The parameters and associated types that occur in types.
struct Uses {
    parameters: Vec<Ident>,
    used: Vec<Ident>,
    projections: Vec<TypePath>,
}

impl Uses {
    fn is_mentioned(&self, tokens: TokenStream) -> bool {
        tokens.into_iter().any(|token| match token {
            TokenTree::Ident(name) => self.parameters.contains(&name),
            TokenTree::Group(group) => self.is_mentioned(group.stream()),
            _ => false,
        })
    }
}

impl VisitMut for Uses {
    fn visit_type_path_mut(&mut self, path: &mut TypePath) {
        let segments = &path.path.segments;
        if path.qself.is_some() {
            if self.is_mentioned(path.to_token_stream()) {
                self.projections.push(path.clone());
            }
            return;
        }
        // `PhantomData` implements `Field` for any type.
        if segments.last().is_some_and(|segment| segment.ident == "PhantomData") {
            return;
        }
        match segments.first() {
            Some(first) if self.parameters.contains(&first.ident) => {
                if segments.len() == 1 {
                    self.used.push(first.ident.clone());
                } else {
                    self.projections.push(path.clone());
                }
            }
            _ => visit_mut::visit_type_path_mut(self, path),
        }
    }

    fn visit_type_macro_mut(&mut self, invocation: &mut TypeMacro) {
        // The expansion of a macro is unknown, so it may use every parameter.
        for parameter in self.parameters.clone() {
            let only =
                Self { parameters: vec![parameter], used: Vec::new(), projections: Vec::new() };
            if only.is_mentioned(invocation.to_token_stream()) {
                self.used.extend(only.parameters);
            }
        }
    }
}
