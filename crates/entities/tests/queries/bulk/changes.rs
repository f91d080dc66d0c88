//! Structural changes of all entities that a query finds.

use ancho_entities::{
    Changed, Component, ComponentType, Disabled, Entity, EntityError, IgnoreEnabled,
    IncludeDisabled, IsDisabled, OrderChanged, Present, QueryDescriptor, Shared, With, Without,
    World, WorldSettings,
};

use crate::common::*;

/// Spawns `count` entities with `X`, and disables it for every hundredth. Returns all entities, and the disabled ones.
fn hundredths(world: &mut World, count: u32) -> (Vec<Entity>, Vec<Entity>) {
    let all: Vec<_> = world.spawn_batch((0..count).map(|at| (X(at), A(at)))).collect();
    let (mut on, mut off) = (Vec::new(), Vec::new());
    for (at, entity) in all.into_iter().enumerate() {
        if at % 100 == 17 {
            world.set_component_enabled::<X>(entity, false).unwrap();
            off.push(entity);
        } else {
            on.push(entity);
        }
    }
    (on, off)
}

fn sorted(mut entities: Vec<Entity>) -> Vec<Entity> {
    entities.sort();
    entities
}

#[test]
fn entities_with_a_disabled_component_are_not_despawned() {
    for limit in [10_000, 64, 7] {
        let mut world = chunks_of(limit);
        let (on, off) = hundredths(&mut world, 3000);
        assert_eq!(world.batch(QueryDescriptor::of::<&X, ()>()).despawn(), Ok(on.len()));
        assert_eq!(sorted(world.all_entities()), sorted(off.clone()));
        for (at, &entity) in off.iter().enumerate() {
            assert_eq!(world.get::<X>(entity), Ok(&X(at as u32 * 100 + 17)));
            assert_eq!(world.is_component_enabled::<X>(entity), Ok(false));
        }
        assert!(on.iter().all(|&entity| !world.exists(entity)));
    }
}

#[test]
fn entities_with_a_disabled_component_are_not_changed() {
    for limit in [10_000, 64, 7] {
        let mut world = chunks_of(limit);
        let (on, off) = hundredths(&mut world, 3000);
        assert_eq!(world.batch(QueryDescriptor::of::<&X, ()>()).add(B(5)).unwrap(), on.len());
        assert_eq!(world.batch(QueryDescriptor::of::<&X, ()>()).add((Tag, Y)).unwrap(), on.len());
        assert_eq!(
            world.batch(QueryDescriptor::of::<&X, ()>()).add(Shared::new(Team(3))).unwrap(),
            on.len()
        );
        for &entity in &on {
            assert_eq!(world.get::<B>(entity), Ok(&B(5)));
            assert!(world.has::<(Tag, Y, Shared<Team>)>(entity));
            assert_eq!(world.get::<X>(entity).unwrap().0, world.get::<A>(entity).unwrap().0);
            assert_eq!(world.is_component_enabled::<X>(entity), Ok(true));
            assert_eq!(world.is_component_enabled::<Y>(entity), Ok(true));
        }
        for &entity in &off {
            assert!(
                !world.has::<B>(entity) && !world.has::<Tag>(entity) && !world.has::<Y>(entity)
            );
            assert_eq!(world.is_component_enabled::<X>(entity), Ok(false));
        }
        assert_eq!(world.batch(QueryDescriptor::of::<&X, ()>()).set_shared(Team(4)), Ok(on.len()));
        assert_eq!(world.query::<&B>().with_shared(Team(4)).count(), on.len());
        assert_eq!(world.batch(QueryDescriptor::of::<&X, ()>()).remove::<(A, Y)>(), Ok(on.len()));
        assert_eq!(sorted(world.query::<&A>().to_entities()), sorted(off.clone()));
    }
}

#[test]
fn disabled_components_can_be_filtered_for() {
    let mut world = chunks_of(64);
    let (on, off) = hundredths(&mut world, 1000);
    let query = world.batch(QueryDescriptor::of::<(), IsDisabled<X>>());
    assert_eq!(query.add(Tag).unwrap(), off.len());
    assert_eq!(sorted(world.query::<&Tag>().to_entities()), off);
    assert!(world.query_filtered::<&X, With<Tag>>().is_empty(), "they are off where they are now");
    let all = world.batch(QueryDescriptor::of::<&X, IgnoreEnabled>());
    assert_eq!(all.despawn(), Ok(on.len() + off.len()));
    assert_eq!(world.entity_count(), 0);
}

#[test]
fn whole_masks_are_enabled_and_disabled() {
    for limit in [10_000, 200, 64, 3] {
        let mut world = chunks_of(limit);
        let all: Vec<_> = world.spawn_batch((0..1000).map(|at| (X(at), A(0)))).collect();
        world.spawn_many(A(1), 100);
        let seen = world.version();
        world.advance_version();
        assert_eq!(
            world.batch(QueryDescriptor::of::<&X, ()>()).set_component_enabled::<X>(false),
            Ok(1000)
        );
        assert!(world.query::<&X>().is_empty());
        assert_eq!(
            world.query_filtered::<(), (Changed<X>, IgnoreEnabled)>().since(seen).count(),
            1000
        );
        assert_eq!(world.query_filtered::<(), Changed<A>>().since(seen).count(), 0);
        assert_eq!(world.query_filtered::<(), OrderChanged>().since(seen).count(), 0);
        // Entities enabled again do not match a query for disabled ones.
        for &entity in all.iter().step_by(3) {
            world.set_component_enabled::<X>(entity, true).unwrap();
        }
        let off = world.batch(QueryDescriptor::of::<(), IsDisabled<X>>());
        assert_eq!(off.set_component_enabled::<X>(true), Ok(666));
        assert_eq!(world.query::<&X>().to_entities(), all);
        assert!(world.query::<&X>().iter().map(|x| x.0).eq(0..1000), "values stay");
    }
}

#[test]
fn enabling_by_a_query_that_filters_other_enabled_bits() {
    let mut world = chunks_of(100);
    let all: Vec<_> = world.spawn_many((X(0), Y), 300).collect();
    for &entity in &all[50..250] {
        world.set_component_enabled::<Y>(entity, false).unwrap();
    }
    assert_eq!(
        world.batch(QueryDescriptor::of::<(), Without<Y>>()).set_component_enabled::<X>(false),
        Ok(200)
    );
    assert_eq!(world.query::<&X>().to_entities(), [&all[..50], &all[250..]].concat());
    let ty = ComponentType::of::<Y>();
    assert_eq!(world.batch(QueryDescriptor::of::<&X, ()>()).set_type_enabled(ty, false), Ok(100));
    assert!(world.query::<&Y>().is_empty());
}

#[test]
fn types_that_are_not_enableable_are_refused() {
    let mut world = world();
    let first = world.spawn(A(1));
    world.spawn((A(1), X(1)));
    let component = ComponentType::of::<A>();
    let refused = EntityError::NotEnableable { component };
    assert_eq!(
        world.batch(QueryDescriptor::of::<&A, ()>()).set_component_enabled::<A>(false),
        Err(refused)
    );
    let component = ComponentType::of::<X>();
    let refused = EntityError::MissingComponent { entity: first, component };
    assert_eq!(
        world.batch(QueryDescriptor::of::<&A, ()>()).set_component_enabled::<X>(false),
        Err(refused)
    );
    assert_eq!(world.query::<&X>().count(), 1, "none was switched");
}

#[test]
fn a_query_without_results_changes_nothing() {
    let mut world = world();
    world.spawn_many(A(1), 10);
    let state = world.state_hash();
    let nobody = |world: &mut World| world.query_filtered_mut::<&B, With<A>>().count();
    assert_eq!(nobody(&mut world), 0);
    assert_eq!(world.batch(QueryDescriptor::of::<&B, ()>()).despawn(), Ok(0));
    assert_eq!(
        world.batch(QueryDescriptor::of::<&B, ()>()).add((Tag, Shared::new(Mesh(1)))).unwrap(),
        0
    );
    assert_eq!(world.batch(QueryDescriptor::of::<&B, ()>()).remove::<B>(), Ok(0));
    assert_eq!(world.batch(QueryDescriptor::of::<&B, ()>()).set_shared(Mesh(1)), Ok(0));
    assert_eq!(
        world.batch(QueryDescriptor::of::<&B, ()>()).set_component_enabled::<X>(true),
        Ok(0)
    );
    assert_eq!(world.batch(QueryDescriptor::of::<&B, ()>()).set_enabled(false), Ok(0));
    assert_eq!(world.batch(QueryDescriptor::of::<&A, ()>().with_shared(Team(9))).despawn(), Ok(0));
    assert_eq!(world.state_hash(), state);
    // An invalid set is refused even if no entity matches.
    let refused = world.batch(QueryDescriptor::of::<&B, ()>()).add((A(1), A(2))).unwrap_err();
    assert!(matches!(refused.error, EntityError::DuplicateComponent { .. }));
    assert_eq!(refused.value, (A(1), A(2)));
}

#[test]
fn present_components_are_replaced_and_stay_disabled() {
    let mut world = chunks_of(4);
    let all: Vec<_> =
        world.spawn_batch((0..10).map(|at| (A(at), X(at), Text(at.to_string())))).collect();
    world.set_component_enabled::<X>(all[3], false).unwrap();
    let seen = world.version();
    world.advance_version();
    let order: Vec<_> = world.all_entities();
    assert_eq!(
        world.batch(QueryDescriptor::of::<&A, ()>()).add((X(50), Text("new".into()))).unwrap(),
        0
    );
    assert_eq!(world.all_entities(), order, "no entity moved");
    assert!(world.query::<&Text>().iter().all(|text| text.0 == "new"));
    assert!(world.query_filtered::<&X, IgnoreEnabled>().iter().all(|x| x.0 == 50));
    assert_eq!(world.is_component_enabled::<X>(all[3]), Ok(false));
    assert_eq!(world.query_filtered::<(), Changed<A>>().since(seen).count(), 0);
    assert_eq!(world.query_filtered::<(), Changed<Text>>().since(seen).count(), 10);
    // A part of a chunk only.
    assert_eq!(
        world.batch(QueryDescriptor::of::<&X, ()>()).add((A(7), Text("on".into()))).unwrap(),
        0
    );
    assert_eq!(world.get::<Text>(all[3]).unwrap().0, "new");
    assert_eq!(world.get::<A>(all[3]), Ok(&A(3)));
    assert_eq!(world.query::<&Text>().iter().filter(|text| text.0 == "on").count(), 9);
    // Entities with one of the two components get both.
    assert_eq!(world.batch(QueryDescriptor::of::<&X, ()>()).add((A(8), B(9))).unwrap(), 9);
    assert_eq!(world.query::<(&A, &B)>().iter().filter(|&(a, b)| (a.0, b.0) == (8, 9)).count(), 9);
}

#[test]
fn missing_types_are_added_and_others_keep_their_values() {
    let mut world = chunks_of(4);
    let old = world.spawn((A(1), B(2)));
    let new: Vec<_> = world.spawn_many(A(1), 9).collect();
    let types = [ComponentType::of::<B>(), ComponentType::of::<Text>(), ComponentType::of::<Tag>()];
    assert_eq!(world.batch(QueryDescriptor::of::<&A, ()>()).add_types(&types), Ok(10));
    assert_eq!(world.get::<B>(old), Ok(&B(2)));
    for &entity in &new {
        assert_eq!(
            (world.get::<B>(entity), world.get::<Text>(entity)),
            (Ok(&B(0)), Ok(&Text::default()))
        );
    }
    assert_eq!(world.batch(QueryDescriptor::of::<&A, ()>()).add_types(&types), Ok(0));
    assert_eq!(world.batch(QueryDescriptor::of::<&A, ()>()).remove_types(&types[..2]), Ok(10));
    assert!(world.query_filtered::<(), Without<B>>().count() == 10);

    /// A component without a default.
    #[derive(Component, Clone)]
    struct Named;

    let refused =
        world.batch(QueryDescriptor::of::<&A, ()>()).add_types(&[ComponentType::of::<Named>()]);
    assert!(matches!(refused, Err(EntityError::NoInitialValue { .. })));
}

#[test]
fn strict_worlds_change_all_or_nothing() {
    let settings = WorldSettings::new().strict(true).chunk_capacity_limit(4);
    let mut world = Checked(World::with_settings("Simulation", settings));
    world.spawn_many(A(1), 6);
    let has = world.spawn((A(1), B(2)));
    let state = world.state_hash();
    let component = ComponentType::of::<B>();
    let refused = world.batch(QueryDescriptor::of::<&A, ()>()).add(B(3)).unwrap_err();
    assert_eq!(refused.error, EntityError::AlreadyPresent { entity: has, component });
    let lacks = world.query_filtered::<&A, Without<B>>().to_entities()[0];
    let refused = world.batch(QueryDescriptor::of::<&A, ()>()).remove::<B>();
    assert_eq!(refused, Err(EntityError::MissingComponent { entity: lacks, component }));
    assert_eq!(world.state_hash(), state);
    assert_eq!(world.batch(QueryDescriptor::of::<&A, Without<B>>()).add(B(3)).unwrap(), 6);
    assert_eq!(world.batch(QueryDescriptor::of::<&A, ()>()).remove::<B>(), Ok(7));
    // Disabling a disabled entity is no error: it is skipped.
    world.set_enabled(has, false).unwrap();
    assert_eq!(world.batch(QueryDescriptor::of::<&A, IncludeDisabled>()).set_enabled(false), Ok(6));
    assert_eq!(world.batch(QueryDescriptor::of::<&A, IncludeDisabled>()).set_enabled(true), Ok(7));
    assert!(world.query::<&Disabled>().is_empty());
}

#[test]
fn only_chunks_with_the_value_are_touched() {
    let mut world = chunks_of(4);
    for team in 0..3 {
        world.spawn_many((A(team), Shared::new(Team(team))), 10);
    }
    world.spawn_many(A(9), 5);
    assert_eq!(
        world.batch(QueryDescriptor::of::<&A, ()>().with_shared(Team(1))).add(Tag).unwrap(),
        10
    );
    assert!(world.query_filtered::<&A, With<Tag>>().iter().all(|a| a.0 == 1));
    assert_eq!(
        world.batch(QueryDescriptor::of::<&A, ()>().with_shared(Team(1))).set_shared(Team(2)),
        Ok(10)
    );
    assert_eq!(world.query::<&Tag>().with_shared(Team(2)).count(), 10);
    assert_eq!(world.shared_reference_count(&Team(1)), 0, "no entity has the value");
    // Entities that already have the value are not counted.
    let all = world.batch(QueryDescriptor::of::<(), With<Shared<Team>>>());
    assert_eq!(all.set_shared(Team(2)), Ok(10));
    let refused = world.batch(QueryDescriptor::of::<&A, ()>()).set_shared(Team(7));
    assert!(matches!(refused, Err(EntityError::MissingComponent { .. })));
    assert_eq!(world.shared_values::<Team>().count(), 2, "7 was not kept");
    assert_eq!(world.batch(QueryDescriptor::of::<&A, ()>()).remove::<Shared<Team>>(), Ok(30));
    assert_eq!(world.batch(QueryDescriptor::of::<&A, ()>().with_shared(Team(2))).despawn(), Ok(0));
}

#[test]
fn only_chunks_that_changed_are_touched() {
    let mut world = chunks_of(4);
    let all: Vec<_> = world.spawn_batch((0..12).map(|at| (A(at), B(0)))).collect();
    let seen = world.version();
    world.advance_version();
    world.get_mut::<A>(all[5]).unwrap().0 = 50;
    let changed = world.batch(QueryDescriptor::of::<&A, Changed<A>>().since(seen));
    assert_eq!(changed.add(Tag).unwrap(), 4);
    assert_eq!(world.query::<&Tag>().to_entities(), all[4..8]);
    // Moved rows count as reordered, and new components as changed; the others keep their versions.
    let came = world.query_filtered::<&A, OrderChanged>().since(seen);
    assert_eq!(came.to_entities(), all[4..8]);
    assert_eq!(world.query_filtered::<(), Changed<Tag>>().since(seen).count(), 4);
    assert_eq!(world.query_filtered::<(), Changed<B>>().since(seen).count(), 0);
    assert_eq!(world.query_filtered::<(), Changed<A>>().since(seen).to_entities(), all[4..8]);
    let changed = world.batch(QueryDescriptor::of::<&A, Changed<A>>().since(seen));
    assert_eq!(changed.despawn(), Ok(4));
    assert_eq!(world.all_entities(), [&all[..4], &all[8..]].concat());
}

#[test]
fn whole_chunks_stay_in_place() {
    let mut world = chunks_of(10);
    let all: Vec<_> =
        world.spawn_batch((0..95).map(|at| (A(at), X(at), Text(at.to_string())))).collect();
    let numbers = |world: &World| -> Vec<u64> {
        world.chunks().map(|chunk| chunk.sequence_number()).collect()
    };
    let places = |world: &World| -> Vec<usize> {
        world.chunks().map(|chunk| chunk.slice::<A>().unwrap().as_ptr().addr()).collect()
    };
    let (before, memory) = (numbers(&world), places(&world));
    assert_eq!(world.batch(QueryDescriptor::of::<&A, ()>()).add((Tag, Y)).unwrap(), 95);
    assert_eq!(world.batch(QueryDescriptor::of::<&A, ()>()).add(Shared::new(Team(4))).unwrap(), 95);
    assert_eq!(world.batch(QueryDescriptor::of::<&A, ()>()).remove::<Tag>(), Ok(95));
    assert_eq!(world.batch(QueryDescriptor::of::<&A, ()>()).set_shared(Team(5)), Ok(95));
    assert_eq!(world.batch(QueryDescriptor::of::<&A, ()>()).set_enabled(false), Ok(95));
    assert_eq!((numbers(&world), places(&world)), (before, memory));
    assert_eq!(world.all_entities(), all);
    // New entities go to the chunk with room.
    let new = world.spawn((A(0), X(0), Text::default(), Y, Disabled, Shared::new(Team(5))));
    assert_eq!(numbers(&world).len(), 10);
    assert_eq!(world.all_entities()[95], new);
    // A component with bytes moves the rows, in their order.
    assert_eq!(world.batch(QueryDescriptor::of::<&A, IncludeDisabled>()).add(B(1)).unwrap(), 96);
    assert_eq!(world.all_entities()[..95], all);
}

#[test]
fn small_chunks_do_not_accumulate() {
    let mut world = chunks_of(100);
    for _ in 0..50 {
        world.spawn_many(A(1), 10);
        assert_eq!(world.batch(QueryDescriptor::of::<&A, Without<Tag>>()).add(Tag).unwrap(), 10);
    }
    assert!(world.chunks().count() <= 6, "{}", world.chunks().count());
}

#[test]
fn the_order_counters_rise_as_for_moves() {
    let mut world = chunks_of(4);
    world.spawn_many(A(1), 8);
    let order = |world: &World| {
        let entities = world;
        (entities.component_order_version::<A>(), entities.component_order_version::<Tag>())
    };
    let before = order(&world);
    world.batch(QueryDescriptor::of::<&A, ()>()).add(Tag).unwrap();
    let after = order(&world);
    assert!(after.0 > before.0 && after.1 > before.1);
    world.batch(QueryDescriptor::of::<&A, ()>()).remove::<Tag>().unwrap();
    assert!(order(&world).0 > after.0 && order(&world).1 > after.1);
}

#[test]
fn members_of_groups_follow_their_roots() {
    use ancho_entities::{Buffer, LinkedEntityGroup};

    let build = |world: &mut World| -> [Entity; 5] {
        let [root, near, far, other] = [A(1), A(2), A(3), A(4)].map(|value| world.spawn(value));
        let marked = world.spawn((A(5), Tag));
        let group = |all: &[Entity]| {
            all.iter().map(|&entity| LinkedEntityGroup(entity)).collect::<Buffer<_>>()
        };
        world.add(root, group(&[root, near, marked])).unwrap();
        world.add(near, group(&[near, far, root])).unwrap();
        world.add(root, Tag).unwrap();
        [root, near, far, other, marked]
    };
    let mut world = chunks_of(3);
    let [root, near, far, other, marked] = build(&mut world);
    assert_eq!(
        world.batch(QueryDescriptor::of::<&Tag, ()>()).set_enabled(false),
        Ok(3),
        "members, and not those of members"
    );
    for (entity, on) in [(root, false), (near, false), (far, true), (other, true), (marked, false)]
    {
        assert_eq!(world.is_enabled(entity), on);
    }
    assert_eq!(
        world.batch(QueryDescriptor::of::<&Tag, IncludeDisabled>()).set_enabled(true),
        Ok(3)
    );
    assert_eq!(world.batch(QueryDescriptor::of::<&Tag, ()>()).despawn(), Ok(4), "each once");
    assert_eq!(world.all_entities(), [other]);
}

#[test]
fn a_query_for_entities_without_components() {
    let mut world = chunks_of(4);
    let all: Vec<_> = world.spawn_many((), 6).collect();
    assert_eq!(world.batch(QueryDescriptor::of::<(), ()>()).add(()).unwrap(), 0);
    assert_eq!(world.batch(QueryDescriptor::of::<(), ()>()).remove::<()>(), Ok(0));
    assert_eq!(world.batch(QueryDescriptor::of::<(), ()>()).add(Tag).unwrap(), 6);
    assert_eq!(world.batch(QueryDescriptor::of::<(), ()>()).add(A(1)).unwrap(), 6);
    assert_eq!(world.batch(QueryDescriptor::of::<(), ()>()).remove::<(A, Tag)>(), Ok(6));
    assert_eq!(world.all_entities(), all);
    assert_eq!(world.batch(QueryDescriptor::of::<(), ()>()).despawn(), Ok(6));
    assert_eq!(world.chunks().count(), 0);
}

#[test]
fn single_changes_work_after_chunks_were_freed() {
    // The cached target of the last single change must not lead to a chunk that was reused.
    let mut world = chunks_of(4);
    let all: Vec<_> = world.spawn_batch((0..6).map(A)).collect();
    for &entity in &all[..2] {
        world.add(entity, B(1)).unwrap();
    }
    world.batch(QueryDescriptor::of::<(&A, &B), ()>()).add(Tag).unwrap();
    world.add(all[2], B(2)).unwrap();
    world.batch(QueryDescriptor::of::<&A, With<Tag>>()).remove::<Tag>().unwrap();
    world.remove::<B>(all[0]).unwrap();
    world.batch(QueryDescriptor::of::<&A, Without<B>>()).add(Tag).unwrap();
    world.remove::<B>(all[1]).unwrap();
    world.add(all[3], B(3)).unwrap();
    let found: Vec<_> = all.iter().map(|&entity| world.get::<A>(entity).unwrap().0).collect();
    assert_eq!(found, [0, 1, 2, 3, 4, 5]);
    assert_eq!(world.query::<&B>().count(), 2);
    assert_eq!(world.query_filtered::<(), Present<Tag>>().count(), 4);
}
