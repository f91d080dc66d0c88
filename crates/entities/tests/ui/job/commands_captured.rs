use ancho_entities::{Commands, Entity, Query};

fn bury(all: Query<Entity>, mut commands: Commands) {
    all.job().schedule(move |entity| commands.despawn(entity));
}

fn main() {}
