//! Exchanging the components of two entities.

use ancho_entities::{Component, Entity, EntityError, Shared, SharedComponent};

use crate::common::{A, B, Tag, Text, both, chunks_of};

#[test]
fn all_components_are_exchanged() {
    // DIFFERENCE: calls name entities, where the reference uses chunks and indices. So no index is out of range.
    for mut world in both() {
        let one = world.spawn((A(1), Text("one".into()), Tag));
        let two = world.spawn((A(2), Text("two".into()), Tag));
        world.swap_components(one, two).unwrap();
        assert_eq!((world.get(one), world.get(two)), (Ok(&A(2)), Ok(&A(1))));
        assert_eq!(world.get(one), Ok(&Text("two".into())));
        assert_eq!(world.get(two), Ok(&Text("one".into())));
        world.swap_components(one, one).unwrap();
        assert_eq!(world.get(one), Ok(&Text("two".into())));
    }
}

#[test]
fn entities_of_two_chunks_can_be_exchanged_and_both_count_as_changed() {
    let mut world = chunks_of(2);
    let all: Vec<_> = world.spawn_batch((0..6).map(|number| (A(number), B(number)))).collect();
    let before = world.version();
    world.advance_version();
    world.swap_components(all[0], all[5]).unwrap();
    assert_eq!((world.get(all[0]), world.get(all[5])), (Ok(&A(5)), Ok(&A(0))));
    assert_eq!((world.get(all[0]), world.get(all[5])), (Ok(&B(5)), Ok(&B(0))));
    let changed: Vec<_> = world
        .chunks()
        .map(|chunk| (chunk.did_change::<A>(before), chunk.did_change::<B>(before)))
        .collect();
    assert_eq!(changed, [(true, true), (false, false), (true, true)]);
    // The entities keep their rows.
    assert_eq!(world.all_entities(), all);
}

#[test]
fn entities_with_other_components_cannot_be_exchanged() {
    for mut world in both() {
        let left = world.spawn(A(1));
        let right = world.spawn((A(2), B(2)));
        let before = world.state_hash();
        let refused = EntityError::DifferentArchetypes { left, right };
        assert_eq!(world.swap_components(left, right), Err(refused));
        for other in [left, right] {
            assert!(world.swap_components(other, Entity::NULL).is_err());
            assert!(world.swap_components(Entity::NULL, other).is_err());
        }
        assert_eq!(world.state_hash(), before);
    }
}

#[test]
fn shared_values_and_enabled_bits_are_exchanged() {
    #[derive(SharedComponent, Clone, Debug, PartialEq, Eq, Hash)]
    struct Team(u8);

    #[derive(Component, Clone, Copy, Debug, PartialEq)]
    #[component(enableable)]
    struct Engine(u8);

    for mut world in both() {
        let one = world.spawn((A(1), Engine(1), Shared::new(Team(1))));
        let two = world.spawn((A(2), Engine(2), Shared::new(Team(2))));
        let three = world.spawn((A(3), Engine(3), Shared::new(Team(2))));
        world.set_component_enabled::<Engine>(one, false).unwrap();
        world.swap_components(one, two).unwrap();
        let team = |entity| world.shared::<Team>(entity).unwrap().0;
        assert_eq!([one, two, three].map(team), [2, 1, 2]);
        assert_eq!((world.get(one), world.get(two)), (Ok(&A(2)), Ok(&A(1))));
        let is_enabled = |entity| world.is_component_enabled::<Engine>(entity).unwrap();
        assert_eq!([one, two, three].map(is_enabled), [true, false, true]);
    }
}
