//! Missing entities in every call: dead, null, of another world, not created yet.

use ancho_entities::{ComponentType, Entity, EntityError, EntityTracker, QueryDescriptor, World};

use crate::common::{A, B, Tag, Text, both};

/// Creates a world with one live entity, and many missing ones.
fn with_missing(world: &mut World) -> (Entity, Vec<Entity>) {
    // At index 0, version 0 would be the null entity.
    world.spawn(Tag);
    let there = world.spawn((A(1), Text("kept".into())));
    let [dead, replaced] = [world.spawn((A(1), Text("dead".into()))), world.spawn(A(1))];
    let moved_then_dead = world.spawn(A(1));
    world.add(moved_then_dead, B(1)).unwrap();
    for entity in [moved_then_dead, dead, replaced] {
        world.despawn(entity).unwrap();
    }
    let replacing = world.spawn(A(1));
    assert_eq!(replacing.index(), replaced.index());
    let mut other = World::new("Other");
    let foreign = other.spawn_many(A(1), 100_000).last().unwrap();
    let part = |index, version| Entity::from_parts(index, version);
    let missing = vec![
        Entity::NULL,
        dead,
        replaced,
        moved_then_dead,
        foreign,
        part(there.index(), 0),
        part(there.index(), there.version() + 1),
        part(there.index(), u32::MAX),
        part(dead.index(), dead.version() + 1),
        part(5, 1),
        part(6, 0),
        part(u32::MAX, 0),
        part(u32::MAX, 1),
        part(u32::MAX, u32::MAX),
        part(u32::MAX / 2, 1),
    ];
    (there, missing)
}

#[track_caller]
fn refused(error: EntityError, entity: Entity) {
    match error {
        EntityError::NoSuchEntity { entity: named, .. } => assert_eq!(named, entity),
        other => panic!("{entity}: {other}"),
    }
}

/// Calls the function with every missing entity, and checks that nothing changes.
fn for_each_missing(mut function: impl FnMut(&mut World, Entity, Entity, bool)) {
    for (mut world, strict) in both().into_iter().zip([false, true]) {
        let (there, missing) = with_missing(&mut world);
        let (hash, count) = (world.state_hash(), world.entity_count());
        let archetypes = world.archetype_count();
        for entity in missing {
            function(&mut world, there, entity, strict);
            world.check_invariants().unwrap();
            assert_eq!((world.state_hash(), world.entity_count()), (hash, count), "{entity}");
            assert_eq!(world.archetype_count(), archetypes, "{entity}");
        }
        assert_eq!(world.get(there), Ok(&Text("kept".into())));
    }
}

#[test]
fn exists_and_has() {
    for_each_missing(|world, _, entity, _| {
        assert!(!world.exists(entity));
        assert!(!world.exists(entity));
        assert!(!world.has::<A>(entity) && !world.has::<()>(entity));
        assert!(!world.has_type(entity, ComponentType::of::<A>()));
        assert_eq!(world.entity_name(entity), None);
        refused(world.entity_archetype(entity).unwrap_err(), entity);
    });
}

#[test]
fn read() {
    for_each_missing(|world, _, entity, _| {
        refused(world.get::<A>(entity).unwrap_err(), entity);
        refused(world.get::<Tag>(entity).unwrap_err(), entity);
        refused(world.get_mut::<A>(entity).unwrap_err(), entity);
        refused(world.get_mut::<Text>(entity).unwrap_err(), entity);
        let a = ComponentType::of::<A>();
        refused(world.get_bytes(entity, a).unwrap_err(), entity);
    });
}

#[test]
fn looked_up() {
    for_each_missing(|world, there, entity, _| {
        let (a, tag) = (world.lookup::<&A>(), world.lookup::<&Tag>());
        assert_eq!((a.get(entity), a.has(entity)), (None, false));
        assert_eq!((tag.get(entity), tag.has(entity)), (None, false));
        assert_eq!((a.get(there), tag.get(there)), (Some(&A(1)), None));
    });
}

#[test]
fn written() {
    for_each_missing(|world, _, entity, _| {
        let given_back = world.set(entity, (A(1), Text("mine".into()))).unwrap_err();
        assert_eq!(given_back.value, (A(1), Text("mine".into())));
        refused(given_back.error, entity);
        refused(world.set(entity, ()).unwrap_err().error, entity);
        let a = ComponentType::of::<A>();
        refused(world.set_bytes(entity, a, &[0; 4]).unwrap_err(), entity);
        refused(world.set_name(entity, "name").unwrap_err(), entity);
        refused(world.set_name(entity, "").unwrap_err(), entity);
    });
}

#[test]
fn exchanged() {
    for_each_missing(|world, there, entity, _| {
        let entities = &mut *world;
        refused(entities.swap_components(entity, there).unwrap_err(), entity);
        refused(entities.swap_components(there, entity).unwrap_err(), entity);
        refused(entities.swap_components(entity, entity).unwrap_err(), entity);
    });
}

#[test]
fn added_to() {
    for_each_missing(|world, _, entity, _| {
        let given_back = world.add(entity, (A(1), Text("mine".into()))).unwrap_err();
        assert_eq!(given_back.value, (A(1), Text("mine".into())));
        refused(given_back.error, entity);
        refused(world.add(entity, Tag).unwrap_err().error, entity);
        refused(world.add(entity, ()).unwrap_err().error, entity);
        let a = ComponentType::of::<A>();
        refused(world.add_types(entity, &[a]).unwrap_err(), entity);
        refused(world.add_types(entity, &[]).unwrap_err(), entity);
        refused(world.add_bytes(entity, a, &[0; 4]).unwrap_err(), entity);
    });
}

#[test]
fn removed_from() {
    for_each_missing(|world, _, entity, strict| {
        refused(world.take::<Text>(entity).unwrap_err(), entity);
        let a = ComponentType::of::<A>();
        let removed = [
            world.remove::<A>(entity),
            world.remove::<(A, Text)>(entity),
            world.remove_types(entity, &[a]),
        ];
        for removed in removed {
            match strict {
                false => assert_eq!(removed, Ok(false)),
                true => refused(removed.unwrap_err(), entity),
            }
        }
    });
}

#[test]
fn nothing_removed_from() {
    // In a strict world even an empty set requires a live entity.
    for_each_missing(|world, _, entity, strict| {
        for removed in [world.remove::<()>(entity), world.remove_types(entity, &[])] {
            match strict {
                false => assert_eq!(removed, Ok(false)),
                true => refused(removed.unwrap_err(), entity),
            }
        }
    });
}

#[test]
fn moved() {
    for_each_missing(|world, there, entity, _| {
        let archetype = world.entity_archetype(there).unwrap();
        refused(world.set_archetype(entity, archetype).unwrap_err(), entity);
    });
}

#[test]
fn destroyed() {
    for_each_missing(|world, there, entity, strict| {
        let one = world.despawn(entity);
        let alone = world.batch(&[entity, entity]).despawn();
        if strict {
            refused(one.unwrap_err(), entity);
            refused(alone.unwrap_err(), entity);
            refused(world.batch(&[there, entity, there]).despawn().unwrap_err(), entity);
        } else {
            assert_eq!((one, alone), (Ok(false), Ok(0)));
        }
    });
}

#[test]
fn destroyed_among_others() {
    let [mut world, _] = both();
    let (there, mut named) = with_missing(&mut world);
    let others: Vec<_> = world.spawn_many(A(1), 10).collect();
    named.retain(|entity| !world.exists(*entity));
    named.insert(3, there);
    named.extend(&others[2..5]);
    named.insert(7, others[9]);
    assert_eq!(world.batch(&named).despawn(), Ok(5));
    assert!(!world.exists(there) && world.exists(others[8]));
    world.check_invariants().unwrap();
}

#[test]
fn entities_of_another_world_are_identified_by_index_and_version_only() {
    // Two worlds hand out the same ids; an id does not contain its world.
    let [mut ours, mut theirs] = both();
    let (mine, yours) = (ours.spawn(A(1)), theirs.spawn(A(2)));
    assert_eq!(mine, yours);
    assert_eq!(ours.get(yours), Ok(&A(1)));
}

#[test]
fn references_to_missing_entities_are_allowed() {
    use crate::common::Link;

    for mut world in both() {
        let (_, missing) = with_missing(&mut world);
        for entity in &missing {
            world.spawn(Link(*entity));
        }
        let mut seen = Vec::new();
        world
            .remap_references(|entity| {
                seen.push(entity);
                Entity::NULL
            })
            .unwrap();
        // The null entity refers to nothing, and may be left out.
        seen.retain(|entity| !entity.is_null());
        assert_eq!(seen, &missing[1..]);
        for chunk in world.chunks() {
            for link in chunk.slice::<Link>().unwrap_or(&[]) {
                assert!(link.0.is_null());
            }
        }
        world.check_invariants().unwrap();
    }
}

#[test]
fn a_tracker_of_another_world_reports_the_entities_of_this_one() {
    let [mut ours, mut theirs] = both();
    let mut tracker = EntityTracker::new();
    let first = theirs.spawn_many(A(1), 5000).next().unwrap();
    let gone: Vec<_> = theirs.entity_changes(&mut tracker).created;
    assert_eq!((gone.len(), gone[0]), (5000, first));
    // The first id is alive in both worlds; the others are not.
    assert_eq!(ours.spawn(A(1)), first);
    let changes = ours.entity_changes(&mut tracker);
    assert_eq!((changes.created, changes.destroyed), (vec![], gone[1..].to_vec()));
    drop(theirs);
    let second = ours.spawn(A(1));
    assert_eq!(ours.entity_changes(&mut tracker).created, [second]);
    ours.check_invariants().unwrap();
}

#[test]
fn rejected_values_convert_to_their_error() {
    fn all(world: &mut World, entity: Entity) -> Result<(), EntityError> {
        world.set(entity, A(1))?;
        world.add(entity, (B(2), Text("moved".into())))?;
        world.set(entity, A(3))?;
        world.add(entity, Tag)?;
        world.try_spawn((A(4), B(4)))?;
        world.batch(QueryDescriptor::of::<&A, ()>()).add(Tag)?;
        world.remove::<Tag>(entity)?;
        Ok(())
    }

    let mut world = World::new("Simulation");
    let entity = world.spawn(A(0));
    all(&mut world, entity).unwrap();
    assert_eq!(world.get(entity), Ok(&A(3)));
    world.despawn(entity).unwrap();
    let refused = all(&mut world, entity).unwrap_err();
    assert!(matches!(refused, EntityError::NoSuchEntity { .. }), "{refused}");
}
