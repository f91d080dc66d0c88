//! Components larger than a chunk.

use std::rc::Rc;
use std::sync::Arc;

use ancho_entities::{Component, ComponentType, EntityError, RuntimeType, World};

use crate::common::{A, both, panic_message};

#[derive(Component, Clone)]
#[component(name = "game::TooLarge")]
struct TooLarge {
    bytes: [u8; 16 * 1024],
    #[field(opaque)]
    owner: Arc<()>,
}

#[derive(Component, Clone, Copy)]
#[component(name = "game::Whole")]
struct Whole([u8; 16 * 1024]);

fn too_large(owner: &Arc<()>) -> TooLarge {
    TooLarge { bytes: [7; 16 * 1024], owner: owner.clone() }
}

#[track_caller]
fn does_not_fit(error: EntityError) {
    let EntityError::DoesNotFit { entity_bytes, chunk_bytes, largest } = error else {
        panic!("{error}");
    };
    assert!(entity_bytes > chunk_bytes && chunk_bytes == 16 * 1024);
    assert_eq!(largest, ComponentType::of::<TooLarge>());
}

#[test]
fn a_component_too_large_is_refused_and_returned() {
    for mut world in both() {
        let owner = Arc::new(());
        let entity = world.spawn(A(1));
        let hash = world.state_hash();
        let refused = world.try_spawn((too_large(&owner), A(2))).unwrap_err();
        does_not_fit(refused.error);
        assert_eq!((refused.value.0.bytes[9], refused.value.1), (7, A(2)));
        assert_eq!(Arc::strong_count(&owner), 2);
        drop(refused);
        assert_eq!(Arc::strong_count(&owner), 1);
        let refused = world.add(entity, too_large(&owner)).unwrap_err();
        does_not_fit(refused.error);
        assert_eq!(Arc::strong_count(&refused.value.owner), 2);
        drop(refused);
        let refused = world.spawn_columns((vec![too_large(&owner)], vec![A(1)])).unwrap_err();
        does_not_fit(refused.error);
        assert_eq!(Arc::strong_count(&refused.value.0[0].owner), 2);
        drop(refused);
        assert_eq!(Arc::strong_count(&owner), 1);
        let ty = ComponentType::of::<TooLarge>();
        does_not_fit(world.archetype_of(&[ty]).unwrap_err());
        let set = world.set(entity, too_large(&owner)).unwrap_err();
        assert_eq!(set.error, EntityError::MissingComponent { entity, component: ty });
        drop(set);
        assert!(!world.has::<TooLarge>(entity));
        assert_eq!((world.state_hash(), Arc::strong_count(&owner)), (hash, 1));
        world.check_invariants().unwrap();
    }
}

#[test]
fn a_component_too_large_panics_where_it_cannot_be_returned() {
    for mut world in both() {
        let owner = Arc::new(());
        let hash = world.state_hash();
        let said = [
            panic_message(|| world.spawn(too_large(&owner))),
            panic_message(|| world.spawn_many(too_large(&owner), 3).len()),
            panic_message(|| world.spawn_batch([too_large(&owner)]).len()),
            panic_message(|| world.archetype::<(A, TooLarge)>()),
        ];
        for said in said {
            assert!(said.starts_with("A0054: "), "{said}");
            assert!(said.contains("`game::TooLarge`"), "{said}");
        }
        assert_eq!((world.state_hash(), Arc::strong_count(&owner)), (hash, 1));
        world.check_invariants().unwrap();
    }
}

#[test]
fn types_too_large_cannot_be_added() {
    for mut world in both() {
        let entity = world.spawn(A(1));
        let hash = world.state_hash();
        let large = RuntimeType::new("game::too large at run time", 16 * 1024, 4);
        let large = ComponentType::register(large).unwrap();
        let refused = world.add_types(entity, &[large]).unwrap_err();
        assert!(matches!(refused, EntityError::DoesNotFit { .. }), "{refused}");
        let bytes = vec![0; 16 * 1024];
        let refused = world.add_bytes(entity, large, &bytes).unwrap_err();
        assert!(matches!(refused, EntityError::DoesNotFit { .. }), "{refused}");
        assert_eq!(world.state_hash(), hash);
        world.check_invariants().unwrap();
    }
}

#[test]
fn a_component_as_large_as_the_chunk_is_too_large() {
    // The entity's id must fit into the chunk as well.
    let mut world = World::new("Simulation");
    let refused = world.try_spawn(Whole([0; 16 * 1024])).map_err(|refused| refused.error);
    assert!(matches!(refused, Err(EntityError::DoesNotFit { .. })));
    world.check_invariants().unwrap();
}

#[test]
fn absurd_sizes_are_refused() {
    let mut world = World::new("Simulation");
    let entity = world.spawn(());
    for (size, align) in [(usize::MAX, 1), (1 << 40, 8), (u32::MAX as usize, 1), (1 << 32, 4096)] {
        let name = format!("game::beyond {size}");
        // Either the type is refused, or an entity with it.
        if let Ok(ty) = ComponentType::register(RuntimeType::new(name, size, align)) {
            let refused = world.add_types(entity, &[ty]).unwrap_err();
            assert!(matches!(refused, EntityError::DoesNotFit { .. }), "{refused}");
            assert!(world.archetype_of(&[ty]).is_err());
        }
    }
    for (size, align) in [(8, 0), (8, 3), (4, 8), (8192, 8192), (12, 8), (0, 0)] {
        let name = format!("game::layout {size}/{align}");
        let refused = ComponentType::register(RuntimeType::new(&name, size, align)).unwrap_err();
        assert!(refused.to_string().starts_with("A0063: "));
        assert_eq!(ComponentType::find(&name), None);
    }
    world.check_invariants().unwrap();
}

#[test]
fn a_world_with_invalid_settings_is_refused() {
    use ancho_entities::WorldSettings;

    for bytes in [0, 1, 4095, 5000, 2048, 2 << 20, usize::MAX] {
        let said = panic_message(|| WorldSettings::new().chunk_size(bytes));
        assert!(said.starts_with("A0065: "), "{said}");
    }
    let said = panic_message(|| WorldSettings::new().chunk_capacity_limit(0));
    assert!(said.starts_with("A0065: "), "{said}");
    let settings = WorldSettings::new().chunk_capacity_limit(usize::MAX).chunk_size(4096);
    let mut world = World::with_settings(String::new(), settings);
    world.spawn_many(A(1), 1000);
    world.check_invariants().unwrap();
    assert!(Rc::new(world).name().is_empty());
}
