//! Replacement of lifetimes in structs.

use proc_macro2::Span;
use syn::visit_mut::VisitMut;
use syn::{Generics, Lifetime, Type};

pub(crate) fn static_lifetime() -> Lifetime {
    Lifetime::new("'static", Span::call_site())
}

/// Replaces a lifetime in a type by another. Returns whether the type contains it.
pub(crate) fn replace_in_type(ty: &mut Type, lifetime: Option<&Lifetime>, with: &Lifetime) -> bool {
    let Some(lifetime) = lifetime else { return false };
    let mut replace = Replace { lifetime, with, found: false };
    replace.visit_type_mut(ty);
    replace.found
}

/// Replaces a lifetime in parameters and where clauses by another.
pub(crate) fn replace_in_generics(
    generics: &mut Generics,
    lifetime: Option<&Lifetime>,
    with: &Lifetime,
) {
    let Some(lifetime) = lifetime else { return };
    Replace { lifetime, with, found: false }.visit_generics_mut(generics);
}

struct Replace<'l> {
    lifetime: &'l Lifetime,
    with: &'l Lifetime,
    found: bool,
}

impl VisitMut for Replace<'_> {
    fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
        if lifetime.ident == self.lifetime.ident {
            self.found = true;
            *lifetime = Lifetime::new(&self.with.to_string(), lifetime.span());
        }
    }
}
