//! Size limits of entities and their components.

use ancho_entities::{Component, ComponentType, EntityError, RuntimeType, World, WorldSettings};

use crate::common::{A, Checked, both, panic_message, world};

#[derive(Component, Clone, Copy)]
#[component(name = "game::Large")]
struct Large([u8; 10 * 1024]);

#[derive(Component, Clone, Copy)]
#[component(name = "game::AlsoLarge")]
struct AlsoLarge([u8; 10 * 1024]);

const LARGE: Large = Large([1; 10 * 1024]);
const ALSO_LARGE: AlsoLarge = AlsoLarge([2; 10 * 1024]);

#[test]
fn an_entity_must_fit_into_a_chunk() {
    for mut world in both() {
        world.spawn(LARGE);
        let before = world.state_hash();
        let refused = world.try_spawn((LARGE, ALSO_LARGE)).unwrap_err();
        let EntityError::DoesNotFit { entity_bytes, chunk_bytes, .. } = refused.error else {
            panic!("{}", refused.error);
        };
        assert!(entity_bytes >= 20 * 1024);
        assert_eq!(chunk_bytes, 16 * 1024);
        assert!(refused.to_string().contains(&entity_bytes.to_string()));
        assert!(refused.to_string().contains("16384"));
        let said = panic_message(|| world.spawn((LARGE, ALSO_LARGE)));
        assert_eq!(said, refused.error.to_string());
        let types = [ComponentType::of::<Large>(), ComponentType::of::<AlsoLarge>()];
        assert_eq!(world.archetype_of(&types), Err(refused.error));
        assert_eq!(world.state_hash(), before);
    }
}

#[test]
fn a_component_that_makes_an_entity_too_large_is_refused() {
    for mut world in both() {
        let entity = world.spawn((A(7), LARGE));
        let before = world.state_hash();
        let refused = world.add(entity, ALSO_LARGE).unwrap_err();
        assert!(matches!(refused.error, EntityError::DoesNotFit { .. }));
        assert_eq!(refused.value.0[0], 2);
        assert_eq!(world.state_hash(), before);
        assert_eq!(world.get(entity), Ok(&A(7)));
    }
}

#[test]
fn a_larger_chunk_has_room_for_more() {
    // DIFFERENCE: a component may be larger than 32,767 bytes, if the chunk is.
    #[derive(Component, Clone, Copy)]
    struct Huge([u8; 100_000]);

    let settings = WorldSettings::new().chunk_size(256 * 1024);
    let mut world = Checked::with_settings(settings);
    world.spawn((LARGE, ALSO_LARGE));
    let all: Vec<_> = world.spawn_many(Huge([3; 100_000]), 5).collect();
    assert!(all.iter().all(|entity| world.get::<Huge>(*entity).unwrap().0 == [3; 100_000]));
    let chunks: Vec<_> = world.chunks().map(|chunk| chunk.len()).collect();
    assert_eq!(chunks, [1, 2, 2, 1]);
}

#[test]
fn components_have_their_alignment() {
    // DIFFERENCE: alignments above 16 bytes are allowed.
    #[derive(Component, Clone, Copy)]
    #[repr(align(64))]
    struct Line(u8);

    let mut world = world();
    let entity = world.spawn((A(1), Line(2)));
    let line = world.get::<Line>(entity).unwrap();
    assert_eq!((line.0, std::ptr::from_ref(line).addr() % 64), (2, 0));
}

#[test]
fn there_may_be_more_than_8192_types() {
    // DIFFERENCE: the number of types is not limited.
    let types: Vec<_> = (0..9000)
        .map(|number| RuntimeType::new(format!("game::sizes::{number}"), 4, 4))
        .map(|ty| ComponentType::register(ty).unwrap())
        .collect();
    let mut world = World::new("Simulation");
    let entity = world.spawn(());
    world.add_types(entity, &types[8990..]).unwrap();
    assert!(world.has_type(entity, types[8999]));
    world.check_invariants().unwrap();
}
