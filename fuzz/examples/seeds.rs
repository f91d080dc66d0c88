//! Writes the valid inputs from which the corpora start: `cargo run --manifest-path fuzz/Cargo.toml --example seeds`.

use std::fs;
use std::path::Path;

use ancho_entities::World;
use ancho_fuzz::{saved, small_world};
use ancho_serialize::{Compression, Delta, SaveOptions, save};

fn main() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let write = |target: &str, name: &str, bytes: &[u8]| {
        let folder = corpus.join(target);
        fs::create_dir_all(&folder).expect("the folder can be created");
        fs::write(folder.join(name), bytes).expect("the file can be written");
    };

    let empty = World::new("Empty");
    let mut world = small_world();
    let mut compressed = Vec::new();
    let options = SaveOptions::new().compression(Compression::Lz4);
    save(&world, &mut compressed, options).expect("the world can be saved");
    write("world_file", "empty", &saved(&empty));
    write("world_file", "small", &saved(&world));
    write("world_file", "compressed", &compressed);

    let mut changed = world.fork().expect("the components can be cloned");
    let entities: Vec<_> = changed.iter_entities().collect();
    for entity in entities.iter().step_by(3) {
        changed.despawn(*entity).expect("the entity exists");
    }
    changed.spawn_many((), 5);
    let delta = |base: &World, target: &World| {
        Delta::between(base, target).expect("the worlds can be saved").to_bytes()
    };
    write("delta", "nothing", &delta(&world, &world));
    write("delta", "changed", &delta(&world, &changed));
    write("delta", "cleared", &delta(&world, &empty));
}
