//! Jobs cannot capture a non-send value, nor a reference to it.

use std::rc::Rc;

use ancho_entities::{Component, NonSend, Query};

#[derive(Component)]
struct Health(u32);

struct Damage(Rc<u32>);

fn by_guard(damage: NonSend<Damage>, mut all: Query<&mut Health>) {
    all.schedule(move |health| health.0 -= *damage.0);
}

fn by_reference(damage: NonSend<Damage>, mut all: Query<&mut Health>) {
    let damage: &Damage = &damage;
    all.schedule(move |health| health.0 -= *damage.0);
}

fn main() {}
