//! A value registered as one type is not found as a subtype of it.

use ancho_entities::__macro::TypeSlot;
use ancho_entities::{Component, Field};

#[derive(Field)]
#[field(opaque)]
struct Call<F: 'static>(F);

static SLOT: TypeSlot<Call<for<'a> fn(&'a str)>> = TypeSlot::new();

impl Component for Call<fn(&'static str)> {
    fn slot() -> Option<&'static TypeSlot<Self>> {
        Some(&SLOT)
    }
}

fn main() {}
