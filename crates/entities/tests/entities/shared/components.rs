//! Shared components, whose value all entities of a chunk have in common.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use ancho_entities::{
    ComponentType, Entity, EntityError, QueryDescriptor, Shared, SharedComponent, World,
};

use crate::common::{A, B, Text, both, chunk_entities, chunks_of, strict, world};

/// A shared value with a default.
#[derive(SharedComponent, Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[shared(name = "shared::Team")]
pub(crate) struct Team(pub(crate) u32);

/// A shared value without a default.
#[derive(SharedComponent, Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[shared(name = "shared::Mesh")]
pub(crate) struct Mesh(pub(crate) u64);

/// A shared value that owns memory, and cannot be cloned.
#[derive(SharedComponent, Debug, Default, PartialEq, Eq, Hash)]
#[shared(name = "game::Caption")]
pub(crate) struct Caption(pub(crate) String);

/// A cleanup component.
#[derive(SharedComponent, Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[shared(name = "game::Registry", cleanup)]
pub(crate) struct Registry(pub(crate) u32);

/// A shared value that counts its instances. Only the number is compared.
#[derive(SharedComponent, Debug)]
#[shared(name = "game::Counted")]
pub(crate) struct Counted(pub(crate) u32, #[field(opaque)] pub(crate) Arc<()>);

impl PartialEq for Counted {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for Counted {}

impl Hash for Counted {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

pub(crate) fn team(number: u32) -> Shared<Team> {
    Shared::new(Team(number))
}

pub(crate) fn teams(world: &World) -> Vec<u32> {
    world.shared_values::<Team>().map(|team| team.0).collect()
}

pub(crate) fn order(world: &World, number: u32) -> u32 {
    world.shared_order_version(&Team(number))
}

pub(crate) fn references(world: &World, number: u32) -> usize {
    world.shared_reference_count(&Team(number))
}

/// Returns the sequence number of the chunk of an entity.
pub(crate) fn chunk_of(world: &World, entity: Entity) -> u64 {
    let mut chunks = world.chunks();
    chunks.find(|chunk| chunk.entities().contains(&entity)).unwrap().sequence_number()
}

#[test]
fn values_take_no_bytes_and_are_separate_types() {
    let ty = ComponentType::of_shared::<Team>();
    assert_eq!((ty.size(), ty.name()), (0, "Shared<shared::Team>"));
    assert!(ty.is_shared() && !ty.is_tag() && !ty.is_enableable() && !ty.is_cleanup());
    assert!(ComponentType::of_shared::<Registry>().is_cleanup());
    assert_eq!(ComponentType::find("Shared<shared::Team>"), Some(ty));
    let mut world = world();
    let plain = world.archetype::<A>();
    let with = world.archetype::<(A, Shared<Team>)>();
    assert_ne!(plain, with);
    let entities = &world;
    assert_eq!(entities.archetype_capacity(plain), entities.archetype_capacity(with));
}

#[test]
fn a_type_can_be_a_component_and_shared() {
    #[derive(
        ancho_entities::Component, SharedComponent, Clone, Copy, Debug, PartialEq, Eq, Hash,
    )]
    #[component(name = "game::Colour")]
    #[shared(name = "game::Colour", component)]
    struct Colour(u32);

    let mut world = world();
    let entity = world.spawn((Colour(1), Shared::new(Colour(2))));
    assert_eq!(world.get(entity), Ok(&Colour(1)));
    assert_eq!(world.shared(entity), Ok(&Colour(2)));
    world.remove::<Colour>(entity).unwrap();
    assert!(world.has::<Shared<Colour>>(entity) && !world.has::<Colour>(entity));
}

#[test]
fn archetypes_depend_on_types_and_not_on_values() {
    let mut world = world();
    let (one, other) = (world.spawn((A(1), team(1))), world.spawn((team(2), A(1))));
    let archetype = |entity| world.entity_archetype(entity);
    assert_eq!(archetype(one), archetype(other));
}

#[test]
fn all_entities_of_a_chunk_have_the_same_values() {
    let mut world = chunks_of(8);
    for at in 0..120 {
        world.spawn((A(at), team(at % 3), Shared::new(Mesh(u64::from(at % 5)))));
    }
    let mut seen = 0;
    for chunk in world.chunks() {
        let (team, mesh) = (chunk.shared::<Team>().unwrap(), chunk.shared::<Mesh>().unwrap());
        assert_eq!(chunk.shared::<Caption>(), None);
        for (&entity, a) in chunk.entities().iter().zip(chunk.slice::<A>().unwrap()) {
            assert_eq!((team.0, mesh.0), (a.0 % 3, u64::from(a.0 % 5)));
            assert_eq!(world.shared(entity), Ok(team));
            seen += 1;
        }
    }
    assert_eq!(seen, 120);
    // Fifteen combinations of eight entities each.
    assert_eq!(world.chunks().count(), 15);
}

#[test]
fn setting_a_value_moves_the_entity_to_a_chunk_with_that_value() {
    for mut world in both() {
        let (red, blue) = (world.spawn((A(1), team(1))), world.spawn((A(2), team(2))));
        let third = world.spawn((A(3), team(1)));
        assert_eq!(chunk_entities(&world), [vec![red, third], vec![blue]]);
        assert_eq!(world.set_shared(red, Team(2)), Ok(true));
        assert_eq!(chunk_entities(&world), [vec![third], vec![blue, red]]);
        assert_eq!(world.set_shared(third, Team(3)), Ok(true));
        // The empty chunk is removed, and the last takes its place.
        assert_eq!(chunk_entities(&world), [vec![third], vec![blue, red]]);
        assert_eq!([red, blue, third].map(|entity| world.get::<A>(entity).unwrap().0), [1, 2, 3]);
        assert_eq!(
            [red, blue, third].map(|entity| world.shared::<Team>(entity).unwrap().0),
            [2, 2, 3]
        );
    }
}

#[test]
fn setting_the_same_value_changes_nothing() {
    for mut world in both() {
        let all: Vec<_> = world.spawn_many((A(1), team(1)), 10).collect();
        let look = |world: &World| {
            let chunk = world.chunks().next().unwrap();
            let ty = ComponentType::of_shared::<Team>();
            let versions = (chunk.order_version(), chunk.change_version_of(ty));
            (world.state_hash(), versions, order(world, 1), chunk.sequence_number())
        };
        let before = look(&world);
        world.advance_version();
        assert_eq!(world.set_shared(all[3], Team(1)), Ok(false));
        assert_eq!(world.set(all[3], team(1)), Ok(()));
        world.batch(&all).set_shared(Team(1)).unwrap();
        world.batch(&all[2..5]).set_shared(Team(1)).unwrap();
        assert_eq!(look(&world), before);
    }
}

#[test]
fn setting_an_equal_shared_value_sets_the_other_components_in_place() {
    let mut world = world();
    let entity = world.spawn((A(1), Text("x".into()), team(1)));
    let (place, version) = (chunk_of(&world, entity), world.advance_version());
    world.set(entity, (Text("y".into()), team(1))).unwrap();
    assert_eq!(chunk_of(&world, entity), place);
    assert_eq!(world.get(entity), Ok(&Text("y".into())));
    let chunk = world.chunks().next().unwrap();
    assert_eq!(chunk.change_version::<Text>(), Some(version));
    assert_ne!(chunk.change_version_of(ComponentType::of_shared::<Team>()), Some(version));
    // With another value the entity moves to another chunk.
    world.set(entity, (Text("z".into()), team(2))).unwrap();
    assert_ne!(chunk_of(&world, entity), place);
    assert_eq!(world.get(entity), Ok(&Text("z".into())));
    assert_eq!((world.get(entity), world.shared(entity)), (Ok(&A(1)), Ok(&Team(2))));
}

#[test]
fn a_value_that_is_set_counts_as_written() {
    let mut world = world();
    let entity = world.spawn((A(1), team(1)));
    let version = world.advance_version();
    world.set_shared(entity, Team(2)).unwrap();
    let chunk = world.chunks().next().unwrap();
    assert_eq!(chunk.change_version_of(ComponentType::of_shared::<Team>()), Some(version));
    assert_eq!(chunk.order_version(), version);
    assert_ne!(chunk.change_version::<A>(), Some(version), "it moved, and was not written");
}

#[test]
fn an_entity_without_the_component_has_no_value_to_get_or_set() {
    for mut world in both() {
        let entity = world.spawn(A(1));
        let component = ComponentType::of_shared::<Team>();
        let missing = EntityError::MissingComponent { entity, component };
        assert_eq!(world.shared::<Team>(entity), Err(missing));
        assert_eq!(world.set_shared(entity, Team(1)), Err(missing));
        assert_eq!(world.set(entity, (A(2), team(1))).unwrap_err().error, missing);
        assert_eq!(world.batch(&[entity]).set_shared(Team(1)), Err(missing));
        assert_eq!(world.take::<Shared<Team>>(entity), Err(missing));
        assert_eq!(world.get(entity), Ok(&A(1)));
        assert!(!world.has::<Shared<Team>>(entity));
        world.despawn(entity).unwrap();
        let gone = EntityError::NoSuchEntity { entity, slot_version: Some(2) };
        assert_eq!(world.shared::<Team>(entity), Err(gone));
        assert_eq!(world.set_shared(entity, Team(1)), Err(gone));
        assert_eq!(
            world.add(entity, Shared::new(Team(1))).map_err(|rejected| rejected.error),
            Err(gone)
        );
        assert_eq!(world.batch(&[entity]).set_shared(Team(1)), Err(gone));
        assert_eq!(teams(&world), [0]);
    }
}

#[test]
fn add_returns_whether_the_component_is_new_and_replaces_the_value() {
    let mut world = world();
    let entity = world.spawn(A(1));
    assert_eq!(
        world.add(entity, Shared::new(Team(1))).map_err(|rejected| rejected.error),
        Ok(true)
    );
    assert_eq!(
        world.add(entity, Shared::new(Team(2))).map_err(|rejected| rejected.error),
        Ok(false)
    );
    assert_eq!(world.add(entity, team(3)), Ok(false));
    assert_eq!(world.shared(entity), Ok(&Team(3)));
    assert_eq!(world.add(entity, (B(1), team(4))), Ok(true));
    assert_eq!((world.shared(entity), world.get(entity)), (Ok(&Team(4)), Ok(&B(1))));
    assert_eq!(teams(&world), [0, 4]);
}

#[test]
fn in_a_strict_world_a_present_value_is_not_added_again() {
    let mut world = strict();
    let entity = world.spawn((A(1), team(1)));
    let component = ComponentType::of_shared::<Team>();
    let present = EntityError::AlreadyPresent { entity, component };
    assert_eq!(
        world.add(entity, Shared::new(Team(2))).map_err(|rejected| rejected.error),
        Err(present)
    );
    assert_eq!(world.add(entity, team(1)).unwrap_err().error, present);
    assert_eq!(world.shared(entity), Ok(&Team(1)));
    assert_eq!(world.remove::<Shared<Team>>(entity), Ok(true));
    let missing = EntityError::MissingComponent { entity, component };
    assert_eq!(world.remove::<Shared<Team>>(entity), Err(missing));
}

#[test]
fn a_refused_value_is_returned() {
    let mut world = world();
    let owner = Arc::new(());
    let value = Shared::new(Counted(1, owner.clone()));
    let rejected = world.add(Entity::NULL, (A(1), value)).unwrap_err();
    assert_eq!((rejected.value.0, rejected.value.1.0), (A(1), 1));
    drop(rejected);
    assert_eq!(Arc::strong_count(&owner), 1);
    let twice = world.try_spawn((team(1), A(1), team(2))).unwrap_err();
    let component = ComponentType::of_shared::<Team>();
    assert_eq!(twice.error, EntityError::DuplicateComponent { component });
    assert_eq!(*twice.value.2, Team(2));
}

#[test]
fn removing_keeps_the_other_values() {
    for mut world in both() {
        let set = (A(1), B(2), team(3), Shared::new(Mesh(4)), Text("x".into()));
        let entity = world.spawn(set);
        assert_eq!(world.remove::<(A, Text)>(entity), Ok(true));
        assert_eq!((world.shared(entity), world.shared(entity)), (Ok(&Team(3)), Ok(&Mesh(4))));
        assert_eq!(world.remove::<Shared<Team>>(entity), Ok(true));
        assert_eq!(world.shared(entity), Ok(&Mesh(4)));
        assert_eq!(world.take::<(B, Shared<Mesh>)>(entity), Ok((B(2), Shared::new(Mesh(4)))));
        assert!(world.exists(entity));
        assert_eq!((references(&world, 3), world.shared_values::<Mesh>().count()), (0, 0));
    }
}

#[test]
fn other_components_can_be_added_and_removed_beside_a_value() {
    for mut world in both() {
        let all: Vec<_> = (0..30).map(|at| world.spawn((A(at), team(at % 3)))).collect();
        for &entity in &all {
            world.add(entity, B(1)).unwrap();
        }
        for &entity in &all[..15] {
            world.remove::<A>(entity).unwrap();
        }
        for (at, &entity) in (0..).zip(&all) {
            assert_eq!(world.shared(entity), Ok(&Team(at % 3)));
            assert_eq!((world.has::<B>(entity), world.has::<A>(entity)), (true, at >= 15));
        }
        assert_eq!(world.chunks().count(), 6);
    }
}

#[test]
fn entities_start_with_the_default_value_or_are_refused() {
    for mut world in both() {
        let archetype = world.archetype::<(A, Shared<Team>, Shared<Caption>)>();
        let entity = world.create(archetype).unwrap();
        assert_eq!(world.shared(entity), Ok(&Team(0)));
        assert_eq!(world.shared(entity), Ok(&Caption(String::new())));
        world.create_many(archetype, 5000).unwrap();
        assert_eq!(world.entity_count(), 5001);
        // A spawned default is the same value.
        let given = world.spawn((A(1), team(0), Shared::new(Caption::default())));
        assert_eq!(references(&world, 0), world.chunks().count());
        assert_eq!(world.shared(given), Ok(&Team(0)));

        let archetype = world.archetype::<(Shared<Mesh>, Shared<Team>)>();
        let component = ComponentType::of_shared::<Mesh>();
        let refused = EntityError::NoInitialValue { component };
        assert_eq!(world.create(archetype), Err(refused));
        assert_eq!(world.add_types(entity, &[component]), Err(refused));
        let team = ComponentType::of_shared::<Team>();
        let bare = world.spawn(A(1));
        assert_eq!(world.add_types(bare, &[team]), Ok(true));
        assert_eq!(world.shared(bare), Ok(&Team(0)));
    }
}

#[test]
fn adding_types_keeps_present_values() {
    let mut world = world();
    let entity = world.spawn((A(1), team(5)));
    let types = [ComponentType::of_shared::<Team>(), ComponentType::of_shared::<Caption>()];
    assert_eq!(world.add_types(entity, &types), Ok(true));
    assert_eq!(world.add_types(entity, &types), Ok(false));
    assert_eq!(world.shared(entity), Ok(&Team(5)));
    assert_eq!(world.shared(entity), Ok(&Caption(String::new())));
    assert_eq!(world.remove_types(entity, &types), Ok(true));
    assert!(!world.has::<Shared<Team>>(entity));
}

#[test]
fn set_archetype_keeps_common_values() {
    for mut world in both() {
        let entity = world.spawn((A(1), team(5)));
        let entities = &mut world;
        let with = entities.archetype::<(B, Shared<Team>, Shared<Caption>)>();
        let without = entities.archetype::<(A, B)>();
        let given = entities.archetype::<(A, Shared<Mesh>)>();
        entities.set_archetype(entity, with).unwrap();
        assert_eq!(entities.shared(entity), Ok(&Team(5)));
        assert_eq!(entities.shared(entity), Ok(&Caption(String::new())));
        assert_eq!(entities.get(entity), Ok(&B(0)));
        entities.set_archetype(entity, without).unwrap();
        assert!(!entities.has::<Shared<Team>>(entity));
        let component = ComponentType::of_shared::<Mesh>();
        let refused = EntityError::NoInitialValue { component };
        assert_eq!(entities.set_archetype(entity, given), Err(refused));
        assert_eq!(teams(&world), [0]);
    }
}

#[test]
fn a_cleanup_value_stays_the_same() {
    for mut world in both() {
        let set = (A(1), Shared::new(Registry(7)), team(1));
        let all: Vec<_> = world.spawn_many(set, 10).collect();
        let other = world.spawn((A(1), Shared::new(Registry(8)), team(1)));
        assert_eq!(world.batch(&all).despawn(), Ok(10));
        assert_eq!(world.despawn(other), Ok(true));
        assert_eq!((world.entity_count(), references(&world, 1)), (11, 0));
        for &entity in &all {
            assert_eq!(world.shared(entity), Ok(&Registry(7)));
            assert!(!world.has::<A>(entity) && !world.has::<Shared<Team>>(entity));
        }
        assert_eq!(world.shared(other), Ok(&Registry(8)));
        // It can be set, and removing it destroys the entity.
        assert_eq!(world.set_shared(other, Registry(7)), Ok(true));
        assert_eq!(world.despawn(other), Ok(false));
        assert_eq!(world.take::<Shared<Registry>>(other), Ok(Shared::new(Registry(7))));
        assert!(!world.exists(other));
        for &entity in &all {
            world.remove::<Shared<Registry>>(entity).unwrap();
        }
        assert_eq!(world.entity_count(), 0);
        assert_eq!(world.shared_values::<Registry>().map(|value| value.0).collect::<Vec<_>>(), [0]);
    }
}

#[test]
fn instances_have_all_values_except_cleanup_values() {
    for mut world in both() {
        let source = world.spawn((A(1), team(3), Shared::new(Registry(7)), Text("x".into())));
        let registry = |world: &World| world.shared_order_version(&Registry(7));
        let (before, stays) = (order(&world, 3), registry(&world));
        let copies: Vec<_> = world.instantiate_many(source, 10_000).unwrap().collect();
        for &copy in &copies {
            assert_eq!((world.shared(copy), world.get(copy)), (Ok(&Team(3)), Ok(&A(1))));
            assert!(!world.has::<Shared<Registry>>(copy));
        }
        assert!(order(&world, 3) > before);
        assert_eq!(registry(&world), stays, "no chunk with it was touched");
        assert_eq!(world.instantiate_many(source, 0).unwrap().len(), 0);
    }
}

#[test]
fn spawn_many_takes_one_value_or_none() {
    let mut world = chunks_of(16);
    assert_eq!(world.spawn_many((A(1), team(1)), 0).len(), 0);
    assert_eq!((teams(&world), world.chunks().count()), (vec![0], 0));
    let first: Vec<_> = world.spawn_many((Text("x".into()), team(1)), 20).collect();
    let second: Vec<_> = world.spawn_many((Text("y".into()), team(2)), 20).collect();
    let third: Vec<_> = world.spawn_many((Text("z".into()), team(1)), 4).collect();
    let expected = [&first[..16], &[&first[16..], &third].concat(), &second[..16], &second[16..]];
    let mut found = chunk_entities(&world);
    found.sort_by_key(|chunk| (world.shared::<Team>(chunk[0]).unwrap().0, chunk[0]));
    assert_eq!(found, expected);
}

#[test]
fn batches_continue_in_chunks_with_the_same_value() {
    let mut world = chunks_of(16);
    let sets = (0..64).map(|at| (A(at), team(at / 4 % 2)));
    let all: Vec<_> = world.spawn_batch(sets).collect();
    assert_eq!(all.len(), 64);
    for (at, &entity) in (0..).zip(&all) {
        assert_eq!((world.get(entity), world.shared(entity)), (Ok(&A(at)), Ok(&Team(at / 4 % 2))));
    }
    assert_eq!(world.chunks().map(|chunk| chunk.len()).collect::<Vec<_>>(), [16; 4]);
    assert_eq!(world.spawn_batch(std::iter::empty::<Shared<Team>>()).len(), 0);
}

#[test]
fn an_entity_can_have_any_number_of_shared_types() {
    // DIFFERENCE: Unity allows at most sixteen on an archetype.
    #[derive(SharedComponent, Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    struct Part<const N: usize>(u32);

    macro_rules! ten {
        ($base:expr, $value:expr) => {
            (
                Shared::new(Part::<{ $base }>($value)),
                Shared::new(Part::<{ $base + 1 }>($value)),
                Shared::new(Part::<{ $base + 2 }>($value)),
                Shared::new(Part::<{ $base + 3 }>($value)),
                Shared::new(Part::<{ $base + 4 }>($value)),
                Shared::new(Part::<{ $base + 5 }>($value)),
                Shared::new(Part::<{ $base + 6 }>($value)),
                Shared::new(Part::<{ $base + 7 }>($value)),
                Shared::new(Part::<{ $base + 8 }>($value)),
                Shared::new(Part::<{ $base + 9 }>($value)),
            )
        };
    }
    for mut world in both() {
        let forty = |value| (ten!(0, value), ten!(10, value), ten!(20, value), ten!(30, value));
        let one = world.spawn((A(1), forty(1)));
        let other = world.spawn((A(2), forty(2)));
        assert_eq!(world.chunks().count(), 2);
        assert_eq!(world.shared(one), Ok(&Part::<39>(1)));
        assert_eq!(world.set_shared(one, Part::<17>(2)), Ok(true));
        assert_eq!(world.shared(one), Ok(&Part::<17>(2)));
        assert_eq!(world.shared(one), Ok(&Part::<18>(1)));
        world.set(one, (A(3), forty(2))).unwrap();
        assert_eq!(chunk_of(&world, one), chunk_of(&world, other));
        let archetype = world.entity_archetype(one).unwrap();
        let third = world.create(archetype).unwrap();
        assert_eq!(world.shared(third), Ok(&Part::<39>(0)));
    }
}

#[test]
fn swapping_exchanges_shared_components_as_well() {
    for mut world in both() {
        let one = world.spawn((A(1), Text("one".into()), team(1)));
        let other = world.spawn((A(2), Text("other".into()), team(2)));
        let third = world.spawn((A(3), Text("third".into()), team(1)));
        for (left, right) in [(one, other), (one, third), (third, third)] {
            let look = |world: &World, entity| {
                let (a, team) =
                    (*world.get::<A>(entity).unwrap(), *world.shared::<Team>(entity).unwrap());
                (a, team, world.get::<Text>(entity).unwrap().clone())
            };
            let (was, is) = (look(&world, left), look(&world, right));
            world.swap_components(left, right).unwrap();
            assert_eq!((look(&world, left), look(&world, right)), (is, was));
            world.check_invariants().unwrap();
        }
    }
}

#[test]
fn bytes_of_a_value_are_neither_read_nor_written() {
    for mut world in both() {
        let (has, lacks) = (world.spawn((A(1), team(1))), world.spawn(A(1)));
        let component = ComponentType::of_shared::<Team>();
        let entities = &mut world;
        let read = EntityError::NotBytes { component, write: false };
        let write = EntityError::NotBytes { component, write: true };
        assert_eq!(entities.get_bytes(has, component), Err(read));
        assert_eq!(entities.set_bytes(has, component, &[]), Err(write));
        assert_eq!(entities.add_bytes(lacks, component, &[]), Err(write));
        assert_eq!(entities.chunks().next().unwrap().bytes(component), None);
        let refused = EntityError::NotEnableable { component };
        assert_eq!(entities.set_type_enabled(has, component, false), Err(refused));
    }
}

#[test]
fn the_order_version_of_a_value_never_decreases() {
    for mut world in both() {
        let (mut last, mut other) = (0, 0);
        // More rounds than a count that doubles each time could represent.
        for round in 0..100 {
            let entity = world.spawn((A(round), team(3)));
            assert!(order(&world, 3) > last, "round {round}: it came");
            last = order(&world, 3);
            match round % 4 {
                0 => _ = world.despawn(entity).unwrap(),
                1 => _ = world.set_shared(entity, Team(4)).unwrap(),
                2 => {
                    _ = world
                        .batch(QueryDescriptor::of::<&A, ()>().with_shared(Team(3)))
                        .set_shared(Team(4))
                        .unwrap();
                }
                _ => _ = world.remove::<Shared<Team>>(entity).unwrap(),
            }
            assert_eq!(references(&world, 3), 0);
            assert!(order(&world, 3) > last, "round {round}: it went");
            last = order(&world, 3);
            if round % 10 == 9 {
                world
                    .batch(QueryDescriptor::of::<&A, ()>().with_shared(Team(4)))
                    .despawn()
                    .unwrap();
                assert!(order(&world, 3) >= last);
                last = order(&world, 3);
            }
            assert!(order(&world, 4) >= other);
            other = order(&world, 4);
        }
        world.despawn_all().unwrap();
        assert!(order(&world, 3) >= last && order(&world, 4) >= other);
        assert!(last < 100_000, "it counts what happens: {last}");
    }
}
