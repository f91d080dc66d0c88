//! Defaults that panic in the middle.

use ancho_entities::ComponentType;

use crate::common::{A, ignore};
use crate::fixtures::fragile::{Call, F0, F1, F2, Scene, survives};

#[test]
fn nothing_leaks_when_entities_are_created() {
    for setup in [Scene::new, Scene::forked] {
        survives(Call::Default, "create", setup, |scene| {
            let archetype = scene.world().archetype::<(F2, F0, A, F1)>();
            ignore(scene.world().create(archetype));
        });
        survives(Call::Default, "create into a chunk with others", setup, |scene| {
            let archetype = scene.world().archetype::<(F0, A, F1)>();
            ignore(scene.world().create(archetype));
        });
        survives(Call::Default, "create_many", setup, |scene| {
            let archetype = scene.world().archetype::<(F0, A, F1)>();
            ignore(scene.world().create_many(archetype, 11).map(|new| new.len()));
        });
    }
}

#[test]
fn nothing_leaks_when_types_are_added() {
    let types = [ComponentType::of::<F1>(), ComponentType::of::<A>(), ComponentType::of::<F2>()];
    for setup in [Scene::new, Scene::forked] {
        survives(Call::Default, "add_types", setup, |scene| {
            let (world, all) = scene.parts();
            ignore(world.add_types(all[10], &types));
        });
        survives(Call::Default, "set_archetype", setup, |scene| {
            let (world, all) = scene.parts();
            let archetype = world.archetype::<(F2, A, F1)>();
            ignore(world.set_archetype(all[10], archetype));
        });
    }
}

#[test]
fn an_entity_is_unchanged_when_a_type_cannot_be_added() {
    let types = [ComponentType::of::<F1>(), ComponentType::of::<F2>()];
    survives(Call::Default, "add_types", Scene::new, |scene| {
        let (world, all) = scene.parts();
        let hash = world.state_hash();
        let add = std::panic::AssertUnwindSafe(|| world.add_types(all[10], &types));
        if let Err(panic) = std::panic::catch_unwind(add) {
            let (world, all) = scene.parts();
            assert_eq!(world.get::<F0>(all[10]).unwrap().value, 10);
            assert!(!world.has::<F1>(all[10]) && !world.has::<F2>(all[10]));
            assert_eq!(world.state_hash(), hash);
            std::panic::resume_unwind(panic);
        }
    });
}
