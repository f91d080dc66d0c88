//! Chunk components: one value for all entities of a chunk.
//!
//! DIFFERENCE: a chunk has no meta entity. The value is stored beside the chunk, and no entity has to be hidden from
//! listings.

use std::collections::BTreeMap;
use std::sync::Arc;

use ancho_entities::{
    Component, ComponentType, Entity, EntityError, Managed, ManagedComponent, PerChunk, Prefab,
    World,
};

use crate::common::{A, B, C, Checked, Hundred, Tag, Text, both, chunk_entities, chunks_of, world};

/// A component that owns memory, and counts its instances by its owner.
#[derive(Component, Clone, Debug, Default)]
#[component(name = "game::chunk::Note")]
struct Note {
    text: String,
    #[field(opaque)]
    owner: Option<Arc<()>>,
}

/// A component that can be neither copied nor cloned.
#[derive(Component, Debug, Default, PartialEq)]
#[component(name = "game::chunk::Unique")]
struct Unique(u32);

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(name = "game::chunk::Large")]
struct Large([u8; 10 << 10]);

impl Default for Large {
    fn default() -> Self {
        Self([7; 10 << 10])
    }
}

#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
#[repr(align(512))]
#[component(name = "game::chunk::Line")]
struct Line(u8);

#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
#[component(name = "game::chunk::Target")]
struct Target(Entity);

fn per<T: Component + Default>() -> PerChunk<T> {
    PerChunk::new()
}

/// Returns the value of each chunk that has one.
fn values<T: Component + Default + Clone>(world: &World) -> Vec<T> {
    world.chunks().filter_map(|chunk| chunk.chunk_component::<T>().cloned()).collect()
}

#[test]
fn a_chunk_component_is_a_separate_type() {
    // Part of the archetype as a type other than `T`.
    let (chunk, entity) = (ComponentType::of_chunk::<A>(), ComponentType::of::<A>());
    assert_ne!(chunk, entity);
    assert_eq!((chunk.name(), chunk.size(), chunk.align()), ("PerChunk<game::A>", 0, 1));
    assert!(chunk.is_chunk_component() && !entity.is_chunk_component());
    assert!(!chunk.is_tag() && !chunk.is_cleanup() && !chunk.is_enableable());
    assert_eq!(ComponentType::find("PerChunk<game::A>"), Some(chunk));
    let mut world = world();
    let entities = &mut world;
    let both = entities.archetype::<(A, PerChunk<A>)>();
    assert_eq!(both, entities.archetype_of(&[chunk, entity]).unwrap());
    assert_ne!(both, entities.archetype::<A>());
    assert_ne!(both, entities.archetype::<PerChunk<A>>());
    let capacity = entities.archetype_capacity(both);
    let alone = entities.archetype::<A>();
    assert_eq!(capacity, entities.archetype_capacity(alone), "it takes no room");
}

#[test]
fn entities_of_a_chunk_have_one_value() {
    for mut world in both() {
        let all: Vec<_> = world.spawn_batch((0..3).map(|at| (A(at), per::<B>()))).collect();
        assert!(all.iter().all(|&entity| world.has::<(A, PerChunk<B>)>(entity)));
        assert!(!world.has::<B>(all[0]));
        assert_eq!(world.chunk_component(all[0]), Ok(&B(0)));
        world.set_chunk_component(all[1], B(5)).unwrap();
        assert!(all.iter().all(|&entity| world.chunk_component(entity) == Ok(&B(5))));
        // The plain component of the same type is independent.
        world.add(all[2], B(9)).unwrap();
        assert_eq!((world.get(all[2]), world.chunk_component(all[2])), (Ok(&B(9)), Ok(&B(0))));
        assert_eq!(world.chunk_component(all[0]), Ok(&B(5)));
    }
}

#[test]
fn a_new_chunk_begins_with_the_default() {
    let mut world = chunks_of(4);
    let all: Vec<_> = world.spawn_many((A(1), per::<Hundred>(), per::<Text>()), 10).collect();
    assert_eq!(values::<Hundred>(&world), [Hundred(100); 3]);
    assert_eq!(values::<Text>(&world), vec![Text(String::new()); 3]);
    world.set_chunk_component(all[0], Hundred(1)).unwrap();
    world.set_chunk_component(all[4], Text("second".into())).unwrap();
    assert_eq!(values::<Hundred>(&world), [Hundred(1), Hundred(100), Hundred(100)]);
    // A removed chunk and a new one are different chunks.
    world.batch(&all[..4]).despawn().unwrap();
    assert_eq!(values::<Hundred>(&world), [Hundred(100); 2]);
    world.spawn_many((A(1), per::<Hundred>(), per::<Text>()), 6);
    assert_eq!(values::<Hundred>(&world), [Hundred(100); 3]);
    let archetype = world.archetype::<(A, PerChunk<Hundred>)>();
    let created = world.create(archetype).unwrap();
    assert_eq!(world.chunk_component(created), Ok(&Hundred(100)));
}

#[test]
fn moving_entities_alters_no_value() {
    for mut world in both() {
        let first: Vec<_> = world.spawn_many((A(1), per::<B>()), 3).collect();
        let second: Vec<_> = world.spawn_many((A(1), per::<B>(), Tag), 3).collect();
        world.set_chunk_component(first[0], B(1)).unwrap();
        world.set_chunk_component(second[0], B(2)).unwrap();
        let is = |world: &World, entity, value| {
            assert_eq!(world.chunk_component(entity), Ok(&B(value)));
        };
        world.add(first[0], Tag).unwrap();
        is(&world, first[0], 2);
        is(&world, first[1], 1);
        world.remove::<Tag>(second[1]).unwrap();
        is(&world, second[1], 1);
        is(&world, second[0], 2);
        world.swap_components(first[1], second[1]).unwrap();
        is(&world, first[1], 1);
        world.despawn(first[2]).unwrap();
        is(&world, first[1], 1);
        assert_eq!(values::<B>(&world), [B(1), B(2)]);
        // Removed and added again, the component is that of another chunk.
        world.remove::<PerChunk<B>>(first[1]).unwrap();
        assert!(!world.has::<PerChunk<B>>(first[1]));
        world.add(first[1], (per::<B>(), C(1))).unwrap();
        is(&world, first[1], 0);
        assert_eq!(world.take::<PerChunk<B>>(first[1]), Ok(per()));
        assert!(!world.has::<PerChunk<B>>(first[1]) && world.has::<C>(first[1]));
    }
}

#[test]
fn values_are_dropped_with_their_chunk() {
    // The ways in which the last entity of a chunk can leave.
    type Ending = fn(&mut Checked, Entity);
    let endings: [(&str, Ending); 7] = [
        ("despawn", |world, entity| assert_eq!(world.despawn(entity), Ok(true))),
        ("despawn_slice", |world, entity| assert_eq!(world.batch(&[entity]).despawn(), Ok(1))),
        ("despawn_all", |world, _| assert_eq!(world.despawn_all(), Ok(1))),
        ("remove", |world, entity| assert_eq!(world.remove::<A>(entity), Ok(true))),
        ("remove it", |world, entity| assert_eq!(world.remove::<PerChunk<Note>>(entity), Ok(true))),
        ("add", |world, entity| assert!(world.add(entity, B(1)).unwrap())),
        ("set_archetype", |world, entity| {
            let archetype = world.archetype::<PerChunk<Note>>();
            world.set_archetype(entity, archetype).unwrap();
        }),
    ];
    for (what, end) in endings {
        for mut world in both() {
            let owner = Arc::new(());
            // Twice, since a repeated change may take a faster path.
            for _ in 0..2 {
                let entity = world.spawn((A(1), per::<Note>()));
                let note = Note { text: "mine".into(), owner: Some(Arc::clone(&owner)) };
                world.set_chunk_component(entity, note).unwrap();
                assert_eq!(Arc::strong_count(&owner), 2);
                end(&mut world, entity);
                assert_eq!(Arc::strong_count(&owner), 1, "{what}");
                if world.has::<PerChunk<Note>>(entity) {
                    assert_eq!(world.chunk_component::<Note>(entity).unwrap().text, "");
                }
                world.despawn_all().unwrap();
            }
        }
    }
    let owner = Arc::new(());
    let mut world = chunks_of(1);
    for entity in world.spawn_many(per::<Note>(), 5).collect::<Vec<_>>() {
        let note = Note { text: String::new(), owner: Some(Arc::clone(&owner)) };
        world.set_chunk_component(entity, note).unwrap();
    }
    assert_eq!(Arc::strong_count(&owner), 6);
    drop(world);
    assert_eq!(Arc::strong_count(&owner), 1);
}

#[test]
fn setting_is_not_structural() {
    let mut world = chunks_of(2);
    let all: Vec<_> = world.spawn_many((A(1), per::<B>()), 4).collect();
    let ty = ComponentType::of_chunk::<B>();
    let places = chunk_entities(&world);
    let before = world.version();
    let now = world.advance_version();
    assert_eq!(world.chunk_component(all[0]), Ok(&B(0)));
    let versions = |world: &World| -> Vec<_> {
        let chunks = world.chunks();
        chunks.map(|chunk| (chunk.change_version_of(ty).unwrap(), chunk.order_version())).collect()
    };
    assert_eq!(versions(&world), [(before, before); 2]);
    world.set_chunk_component(all[3], B(3)).unwrap();
    assert_eq!(versions(&world), [(before, before), (now, before)]);
    assert!(world.chunks().all(|chunk| !chunk.did_change::<A>(before)));
    let later = world.advance_version();
    let mut seen = Vec::new();
    world.for_each_chunk_mut(|mut chunk| {
        let value = chunk.chunk_component_mut::<B>().unwrap();
        value.0 += 1;
        seen.push(*value);
    });
    assert_eq!(seen, [B(1), B(4)]);
    assert_eq!(versions(&world), [(later, before); 2]);
    assert_eq!(chunk_entities(&world), places);
    // New entities count as a change of all components of their chunk, as for all columns.
    world.despawn(all[3]).unwrap();
    let last = world.advance_version();
    world.spawn((A(1), per::<B>()));
    assert_eq!(versions(&world), [(later, before), (last, last)]);
}

#[test]
fn a_missing_chunk_component_is_an_error() {
    let owner = Arc::new(());
    let note = || Note { text: "mine".into(), owner: Some(Arc::clone(&owner)) };
    for mut world in both() {
        let (plain, dead) = (world.spawn((A(1), Note::default())), world.spawn(()));
        world.despawn(dead).unwrap();
        let component = ComponentType::of_chunk::<Note>();
        let missing = EntityError::MissingComponent { entity: plain, component };
        assert_eq!(world.chunk_component::<Note>(plain).unwrap_err(), missing);
        let refused = world.set_chunk_component(plain, note()).unwrap_err();
        assert_eq!((refused.error, refused.value.text.as_str()), (missing, "mine"));
        assert_eq!(
            missing.to_string(),
            format!(
                "A0051: entity {plain} has no `PerChunk<game::chunk::Note>`; add it first, or check with `has`"
            )
        );
        for gone in [dead, Entity::from_parts(900, 1), Entity::NULL] {
            let error = world.chunk_component::<Note>(gone).unwrap_err();
            assert!(matches!(error, EntityError::NoSuchEntity { entity, .. } if entity == gone));
            let refused = world.set_chunk_component(gone, note()).unwrap_err();
            assert_eq!((refused.error, refused.value.text.as_str()), (error, "mine"));
        }
        world.for_each_chunk_mut(|mut chunk| {
            assert_eq!(chunk.chunk_component_mut::<Note>().unwrap_err(), missing);
            assert!(chunk.as_chunk().chunk_component::<Note>().is_none());
        });
    }
    assert_eq!(Arc::strong_count(&owner), 1);
    let mut strict = crate::common::strict();
    let entity = strict.spawn(per::<B>());
    let refused = strict.add(entity, per::<B>()).unwrap_err();
    let component = ComponentType::of_chunk::<B>();
    assert_eq!(refused.error, EntityError::AlreadyPresent { entity, component });
}

#[test]
fn values_do_not_count_towards_the_size_of_an_entity() {
    // 10 KB for the chunk and 10 KB for an entity.
    let mut world = world();
    let entity = world.spawn((Large([1; 10 << 10]), per::<Large>(), per::<Line>(), per::<Tag>()));
    assert_eq!(world.chunk_component(entity), Ok(&Large::default()));
    world.set_chunk_component(entity, Large([2; 10 << 10])).unwrap();
    world.set_chunk_component(entity, Line(3)).unwrap();
    assert_eq!(world.get(entity), Ok(&Large([1; 10 << 10])));
    assert_eq!(world.chunk_component(entity), Ok(&Large([2; 10 << 10])));
    let line = world.chunk_component::<Line>(entity).unwrap();
    assert_eq!((line, std::ptr::from_ref(line).addr() % 512), (&Line(3), 0));
    assert_eq!(world.chunk_component(entity), Ok(&Tag));
}

#[test]
fn values_stay_where_they_are() {
    // Jobs use the addresses.
    let mut world = chunks_of(8);
    let all: Vec<_> = world.spawn_many((A(1), per::<C>()), 5).collect();
    let address = |world: &World| std::ptr::from_ref(world.chunk_component::<C>(all[0]).unwrap());
    let before = address(&world);
    world.spawn_many((A(1), per::<C>()), 20);
    world.despawn(all[3]).unwrap();
    world.set_chunk_component(all[1], C(4)).unwrap();
    let fork = world.fork();
    // The chunk's memory is copied, and the value stays in place.
    world.set(all[0], A(2)).unwrap();
    assert!(std::ptr::eq(address(&world), before));
    assert!(!std::ptr::eq(address(&fork), before));
}

#[test]
fn instances_have_the_values_of_their_chunks() {
    let mut world = chunks_of(2);
    let prefab = world.spawn((Prefab, A(1), per::<B>(), per::<Unique>()));
    world.set_chunk_component(prefab, B(7)).unwrap();
    world.set_chunk_component(prefab, Unique(7)).unwrap();
    let all: Vec<_> = world.instantiate_many(prefab, 3).unwrap().collect();
    assert_eq!(values::<B>(&world), [B(7), B(0), B(0)]);
    // The instance's chunk has its default, so nothing is cloned.
    assert_eq!(world.chunk_component(all[0]), Ok(&Unique(0)));
    world.set_chunk_component(all[0], B(1)).unwrap();
    world.despawn(all[1]).unwrap();
    let instance = world.instantiate(all[0]).unwrap();
    assert!([B(0), B(1)].contains(world.chunk_component(instance).unwrap()));
    assert_eq!(world.chunk_component(all[0]), Ok(&B(1)));
}

#[test]
fn forks_have_separate_values() {
    let owner = Arc::new(());
    for copy in [Checked::fork as fn(&mut Checked) -> Checked, Checked::duplicate] {
        let mut world = chunks_of(2);
        let all: Vec<_> = world.spawn_many((A(1), per::<Note>(), per::<B>()), 5).collect();
        let note = Note { text: "first".into(), owner: Some(Arc::clone(&owner)) };
        world.set_chunk_component(all[0], note).unwrap();
        world.set_chunk_component(all[2], B(3)).unwrap();
        let mut fork = copy(&mut world);
        assert_eq!((fork.state_hash(), Arc::strong_count(&owner)), (world.state_hash(), 3));
        fork.set_chunk_component(all[2], B(4)).unwrap();
        assert_ne!(fork.state_hash(), world.state_hash());
        assert_eq!(world.chunk_component(all[2]), Ok(&B(3)));
        world.batch(&all[..2]).despawn().unwrap();
        assert_eq!(Arc::strong_count(&owner), 2);
        assert_eq!(fork.chunk_component::<Note>(all[0]).unwrap().text, "first");
        // A chunk that both still share, and a new one.
        fork.set(all[4], A(9)).unwrap();
        fork.spawn_many((A(1), per::<Note>(), per::<B>()), 3);
        assert_eq!(values::<B>(&fork), [B(0), B(4), B(0), B(0)]);
        drop(world);
        let again = copy(&mut fork);
        drop(fork);
        assert_eq!(again.chunk_component::<Note>(all[0]).unwrap().text, "first");
        drop(again);
        assert_eq!(Arc::strong_count(&owner), 1);
    }
}

#[test]
fn values_that_cannot_be_cloned_prevent_a_fork() {
    // As for every component: A0058.
    let mut world = world();
    let entity = world.spawn(per::<Unique>());
    let component = ComponentType::of_chunk::<Unique>();
    let refused = EntityError::NotDuplicable { component };
    assert_eq!(World::fork(&mut world).map(|_| ()), Err(refused));
    world.despawn(entity).unwrap();
    assert_eq!(World::fork(&mut world).map(|fork| fork.entity_count()), Ok(0));
}

#[test]
fn the_state_hash_covers_the_values() {
    let make = |value| {
        let mut world = chunks_of(2);
        let all: Vec<_> = world.spawn_many((A(1), per::<B>()), 4).collect();
        world.set_chunk_component(all[2], B(value)).unwrap();
        world
    };
    assert_eq!(make(1).state_hash(), make(1).state_hash());
    assert_ne!(make(1).state_hash(), make(2).state_hash());
}

#[test]
fn references_in_values_are_remapped() {
    let mut world = world();
    let (old, new) = (world.spawn(()), world.spawn(()));
    let marked = world.spawn((A(1), per::<Target>()));
    world.set_chunk_component(marked, Target(old)).unwrap();
    // The value belongs to the chunk, so instantiation does not remap it.
    let instance = world.instantiate(marked).unwrap();
    assert_eq!(world.chunk_component(instance), Ok(&Target(old)));
    let now = world.advance_version();
    let entities = &mut world;
    entities.remap_references(|entity| if entity == old { new } else { entity }).unwrap();
    assert_eq!(world.chunk_component(marked), Ok(&Target(new)));
    let chunk = world.chunks().find(|chunk| chunk.has::<A>()).unwrap();
    assert_eq!(chunk.change_version_of(ComponentType::of_chunk::<Target>()), Some(now));
}

#[test]
fn chunk_components_can_be_added_and_removed_by_type() {
    let mut world = world();
    let entity = world.spawn(A(1));
    let ty = ComponentType::of_chunk::<Hundred>();
    let entities = &mut world;
    assert_eq!(entities.add_types(entity, &[ty]), Ok(true));
    assert!(entities.has_type(entity, ty));
    assert_eq!(entities.chunk_component(entity), Ok(&Hundred(100)));
    assert_eq!(entities.get_bytes(entity, ty), Ok(&[][..]));
    assert_eq!(entities.remove_types(entity, &[ty]), Ok(true));
    assert!(!entities.has_type(entity, ty));
}

#[derive(ManagedComponent, Clone, Debug)]
#[managed(name = "game::Cached")]
struct Cached(#[field(opaque)] std::cell::Cell<u32>);

#[test]
fn chunk_components_work_beside_managed_components() {
    let mut world = chunks_of(2);
    let all: Vec<_> = (0..3)
        .map(|at| world.spawn((Managed::new(Cached(at.into())), per::<B>(), Text("x".into()))))
        .collect();
    world.set_chunk_component(all[0], B(1)).unwrap();
    let mut fork = world.fork();
    fork.managed::<Cached>(all[0]).unwrap().0.set(9);
    fork.set_chunk_component(all[0], B(2)).unwrap();
    assert_eq!(world.managed::<Cached>(all[0]).unwrap().0.get(), 0);
    assert_eq!((values::<B>(&world), values::<B>(&fork)), (vec![B(1), B(0)], vec![B(2), B(0)]));
}

#[test]
fn values_against_a_plain_map() {
    // Whatever entities do, the value of a chunk is the last one set, or the default.
    let mut world = chunks_of(3);
    let mut expected = BTreeMap::<u64, Hundred>::new();
    let mut entities = Vec::new();
    let mut random = 1_u64;
    let mut next = |below: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) as usize % below
    };
    for step in 0..3000 {
        let pick = next(entities.len().max(1));
        match (next(9), entities.get(pick).copied()) {
            (0 | 1, _) | (_, None) => entities.push(world.spawn((A(1), per::<Hundred>()))),
            (2, Some(entity)) => {
                world.despawn(entity).unwrap();
                entities.swap_remove(pick);
            }
            (3, Some(entity)) => {
                world.add(entity, Text("x".into())).unwrap();
            }
            (4, Some(entity)) => {
                world.remove::<Text>(entity).unwrap();
            }
            (5, Some(entity)) => entities.push(world.instantiate(entity).unwrap()),
            (6, Some(entity)) => {
                world.remove::<PerChunk<Hundred>>(entity).unwrap();
                world.add(entity, (per::<Hundred>(), Tag)).unwrap();
            }
            (7, Some(_)) => world = world.fork(),
            (_, Some(entity)) => {
                let value = Hundred(step);
                world.set_chunk_component(entity, value).unwrap();
                let mut chunks = world.chunks();
                let chunk = chunks.find(|chunk| chunk.entities().contains(&entity)).unwrap();
                expected.insert(chunk.sequence_number(), value);
            }
        }
        let mut found = BTreeMap::new();
        for chunk in world.chunks() {
            if let Some(&value) = chunk.chunk_component::<Hundred>() {
                let number = chunk.sequence_number();
                let before = expected.get(&number).copied().unwrap_or_default();
                assert_eq!(value, before, "step {step}, chunk {number}");
                found.insert(number, value);
            }
        }
        expected = found;
        world.check_invariants().unwrap();
    }
}
