//! A type is a resource only if it derives `Resource`.

use ancho_entities::World;

struct Score(u32);

fn main() {
    World::new("Game").insert_resource(Score(0));
}
