//! A function that takes one lifetime could otherwise be stored in a resource whose function takes each lifetime.

use ancho_entities::{ResMut, Resource};

#[derive(Resource)]
#[resource(local)]
struct Callback<F: Send + 'static>(F);

type OfAny = Callback<for<'a> fn(&'a str)>;
type OfStatic = Callback<fn(&'static str)>;

fn as_another_type(callback: ResMut<'_, OfAny>) -> ResMut<'_, OfStatic> {
    callback
}

fn main() {
    _ = as_another_type;
}
