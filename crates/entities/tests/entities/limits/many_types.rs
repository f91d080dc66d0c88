//! A thousand component types on one entity.

use ancho_entities::{ComponentType, EntityError, RuntimeType, World};

use crate::common::{A, both};

fn thousand() -> Vec<ComponentType> {
    (0..1000)
        .map(|number| RuntimeType::new(format!("game::many::{number}"), 4, 4))
        .map(|ty| ComponentType::register(ty).unwrap())
        .collect()
}

#[test]
fn a_thousand_types_are_added_in_one_call() {
    for mut world in both() {
        let types = thousand();
        let entity = world.spawn(A(7));
        assert_eq!(world.add_types(entity, &types), Ok(true));
        let archetype = world.entity_archetype(entity).unwrap();
        assert_eq!(world.component_types(archetype).unwrap().len(), 1001);
        for (number, ty) in (0_u32..).zip(&types) {
            assert_eq!(world.get_bytes(entity, *ty), Ok(&[0; 4][..]));
            world.set_bytes(entity, *ty, &number.to_ne_bytes()).unwrap();
        }
        let second = world.create(archetype).unwrap();
        for (number, ty) in (0_u32..).zip(&types) {
            assert_eq!(world.get_bytes(entity, *ty), Ok(&number.to_ne_bytes()[..]));
            assert_eq!(world.get_bytes(second, *ty), Ok(&[0; 4][..]));
        }
        assert_eq!(world.get(entity), Ok(&A(7)));
        assert_eq!(world.remove_types(entity, &types), Ok(true));
        assert_eq!(world.get(entity), Ok(&A(7)));
        world.check_invariants().unwrap();
    }
}

#[test]
fn a_thousand_types_are_added_and_removed_one_by_one() {
    let mut world = World::new("Simulation");
    let types = thousand();
    let entity = world.spawn(A(7));
    let before = world.archetype_count();
    for (number, ty) in (0_u32..).zip(&types) {
        assert_eq!(world.add_bytes(entity, *ty, &number.to_ne_bytes()), Ok(true));
    }
    assert_eq!(world.archetype_count(), before + 1000);
    world.check_invariants().unwrap();
    for (number, ty) in (0..1000_u32).zip(&types).rev() {
        assert_eq!(world.get_bytes(entity, *ty), Ok(&number.to_ne_bytes()[..]));
        assert_eq!(world.remove_types(entity, &[*ty]), Ok(true));
    }
    // Removing the components creates no further archetypes.
    assert_eq!(world.archetype_count(), before + 1000);
    assert_eq!(world.get(entity), Ok(&A(7)));
    world.check_invariants().unwrap();
}

#[test]
fn a_thousand_types_are_swapped_forked_and_duplicated() {
    let mut world = World::new("Simulation");
    let types = thousand();
    let archetype = world.archetype_of(&types).unwrap();
    let all: Vec<_> = world.create_many(archetype, 20).unwrap().collect();
    for (number, ty) in (0_u32..).zip(&types) {
        world.set_bytes(all[3], *ty, &number.to_ne_bytes()).unwrap();
    }
    let (mut fork, duplicate) = (world.fork().unwrap(), world.duplicate().unwrap());
    assert_eq!(fork.state_hash(), duplicate.state_hash());
    fork.swap_components(all[3], all[19]).unwrap();
    fork.despawn(all[0]).unwrap();
    for (number, ty) in (0_u32..).zip(&types) {
        let expected = Ok(&number.to_ne_bytes()[..]);
        assert_eq!(fork.get_bytes(all[19], *ty), expected);
        assert_eq!(world.get_bytes(all[3], *ty), expected);
        assert_eq!(duplicate.get_bytes(all[3], *ty), expected);
    }
    for world in [&world, &fork, &duplicate] {
        world.check_invariants().unwrap();
    }
}

#[test]
fn a_thousand_types_with_a_duplicate_are_refused() {
    for mut world in both() {
        let mut types = thousand();
        types.push(types[500]);
        let entity = world.spawn(());
        let refused = EntityError::DuplicateComponent { component: types[500] };
        assert_eq!(world.add_types(entity, &types), Err(refused));
        assert_eq!(world.archetype_of(&types), Err(refused));
        assert_eq!(world.remove_types(entity, &types), Err(refused));
        world.check_invariants().unwrap();
    }
}

#[test]
fn a_thousand_tags_take_no_room() {
    let tags: Vec<_> = (0..1000)
        .map(|number| RuntimeType::new(format!("game::tags::{number}"), 0, 1))
        .map(|ty| ComponentType::register(ty).unwrap())
        .collect();
    let mut world = World::new("Simulation");
    let archetype = world.archetype_of(&tags).unwrap();
    assert_eq!(world.archetype_capacity(archetype), Ok(2048));
    world.create_many(archetype, 3000).unwrap();
    assert_eq!(world.chunks().count(), 2);
    world.check_invariants().unwrap();
}
