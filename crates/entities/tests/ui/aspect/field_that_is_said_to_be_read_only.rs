// What can be changed is not had from a world that is only read, whatever a program says of its fields.
use ancho_entities::__macro::{AspectField, ReadOnlyField, SharedField};
use ancho_entities::{Aspect, Component};

#[derive(Component)]
struct Health(u32);

impl AspectField<SharedField> for &mut Health {
    type Data = &'static mut Health;
    type ReadOnly = &'static mut Health;
}

impl ReadOnlyField<SharedField> for &mut Health {}

#[derive(Aspect)]
struct Wounded<'w> {
    #[aspect(shared)]
    health: &'w mut Health,
}

fn main() {}
