//! Linked groups, which are instantiated, despawned and disabled as one.

use ancho_entities::{
    Buffer, ChunkArena, Component, Entity, EntityError, LinkedEntityGroup, OmitLinkedEntityGroup,
    Prefab, World, WorldSettings,
};

use crate::common::{A, Checked, both, world};

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(name = "game::Refers")]
struct Refers(Entity, Entity);

/// A component that can be neither copied nor cloned.
#[derive(Component, Debug)]
#[component(name = "groups::Ticket")]
struct Ticket;

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(name = "game::LeftOver", cleanup)]
struct LeftOver(u32);

/// Gives an entity a group of itself and others.
fn group(world: &mut World, root: Entity, others: &[Entity]) {
    let members = std::iter::once(&root).chain(others).copied().map(LinkedEntityGroup);
    let members: Buffer<_> = members.collect();
    world.add(root, members).unwrap();
}

fn members(world: &World, root: Entity) -> Vec<Entity> {
    world.buffer::<LinkedEntityGroup>(root).unwrap().iter().map(|member| member.0).collect()
}

#[test]
fn a_group_is_instantiated_with_its_root() {
    // References inside the group lead to the instances; others stay.
    for mut world in both() {
        let outside = world.spawn(A(9));
        let root = world.spawn((Prefab, A(0)));
        let arm = world.spawn((Prefab, A(1), Refers(root, outside)));
        let hand = world.spawn((A(2), Refers(arm, Entity::NULL)));
        let foot = world.spawn((A(3), Refers(hand, hand)));
        group(&mut world, root, &[arm, hand, foot]);
        let instance = world.instantiate(root).unwrap();

        let all = members(&world, instance);
        assert_eq!((all.len(), all[0]), (4, instance));
        assert!(all.iter().all(|&member| world.exists(member) && !world.has::<Prefab>(member)));
        let values: Vec<_> = all.iter().map(|&member| world.get::<A>(member).unwrap().0).collect();
        assert_eq!(values, [0, 1, 2, 3]);
        assert_eq!(world.get(all[1]), Ok(&Refers(instance, outside)));
        assert_eq!(world.get(all[2]), Ok(&Refers(all[1], Entity::NULL)));
        assert_eq!(world.get(all[3]), Ok(&Refers(all[2], all[2])));
        // The originals are unchanged.
        assert_eq!(members(&world, root), [root, arm, hand, foot]);
        assert_eq!(world.get(arm), Ok(&Refers(root, outside)));
        assert_eq!(world.entity_count(), 9);
    }
}

#[test]
fn many_instances_have_separate_groups() {
    let mut world = world();
    let root = world.spawn(A(0));
    let other = world.spawn((A(1), Refers(root, root)));
    group(&mut world, root, &[other]);
    let roots: Vec<_> = world.instantiate_many(root, 1023).unwrap().collect();
    assert_eq!(world.entity_count(), 2 * 1024);
    let mut seen = std::collections::HashSet::new();
    for &instance in &roots {
        let all = members(&world, instance);
        assert_eq!(all[0], instance);
        assert_eq!(world.get(all[1]), Ok(&Refers(instance, instance)));
        assert!(all.iter().all(|&member| seen.insert(member)));
    }
    assert_eq!(world.instantiate_many(root, 0).unwrap().len(), 0);
}

#[test]
fn groups_of_members_are_copied_as_data() {
    // Instantiation is not recursive.
    let mut world = world();
    let (root, member, grandchild) = (world.spawn(A(0)), world.spawn(A(1)), world.spawn(A(2)));
    group(&mut world, member, &[grandchild]);
    group(&mut world, root, &[member]);
    let instance = world.instantiate(root).unwrap();
    let second = members(&world, instance)[1];
    assert_eq!(members(&world, second), [second, grandchild]);
    assert_eq!(world.entity_count(), 5);
}

#[test]
fn an_invalid_group_is_refused_and_nothing_is_created() {
    for mut world in both() {
        let (root, other) = (world.spawn(A(0)), world.spawn(A(1)));
        world.add(root, Buffer::from([LinkedEntityGroup(other)])).unwrap();
        let refused = EntityError::GroupWithoutRoot { root, first: other };
        assert_eq!(world.instantiate(root), Err(refused));

        let dead = world.spawn(A(2));
        world.despawn(dead).unwrap();
        world.set(root, Buffer::from([LinkedEntityGroup(root), LinkedEntityGroup(dead)])).unwrap();
        let found = world.instantiate(root);
        assert!(matches!(found, Err(EntityError::NoSuchEntity { entity, .. }) if entity == dead));

        let unique = world.spawn(Ticket);
        world
            .set(
                root,
                [root, other, unique].map(LinkedEntityGroup).into_iter().collect::<Buffer<_>>(),
            )
            .unwrap();
        let found = world.instantiate_many(root, 3).map(|created| created.len());
        assert!(matches!(found, Err(EntityError::NotDuplicable { .. })));
        assert_eq!(world.entity_count(), 3);
    }
}

#[test]
fn without_memory_no_part_of_a_group_is_created() {
    let settings = WorldSettings::new().arena(ChunkArena::with_limit(3 * 16 * 1024));
    let mut world = Checked::with_settings(settings);
    let (root, other) =
        (world.spawn(A(0)), world.spawn((A(1), Refers(Entity::NULL, Entity::NULL))));
    group(&mut world, root, &[other]);
    let found = world.instantiate_many(root, 100_000).map(|created| created.len());
    assert!(matches!(found, Err(EntityError::OutOfMemory(_))));
    assert_eq!(world.entity_count(), 2);
}

#[test]
fn an_empty_group_counts_as_no_group() {
    for mut world in both() {
        let root = world.spawn((A(0), Buffer::<LinkedEntityGroup>::default()));
        let instance = world.instantiate(root).unwrap();
        assert!(members(&world, instance).is_empty());
        assert_eq!(world.despawn(root), Ok(true));
        assert!(world.exists(instance));
    }
}

#[test]
fn despawning_a_root_despawns_its_group_and_the_groups_of_its_members() {
    // Recursive, each entity once; groups may be cyclic, and name dead entities.
    for mut world in both() {
        let outside = world.spawn(A(9));
        let all: Vec<_> = world.spawn_many(A(1), 6).collect();
        world.despawn(all[5]).unwrap();
        group(&mut world, all[3], &[all[4], all[0]]);
        group(&mut world, all[1], &[all[3]]);
        group(&mut world, all[0], &[all[1], all[2], all[1], all[5]]);
        assert_eq!(world.despawn(all[0]), Ok(true));
        assert_eq!(world.all_entities(), [outside]);
    }
}

#[test]
fn members_can_be_despawned_without_their_root() {
    for mut world in both() {
        let (root, member) = (world.spawn(A(0)), world.spawn(A(1)));
        group(&mut world, root, &[member]);
        assert_eq!(world.despawn(member), Ok(true));
        assert!(world.exists(root));
        assert_eq!(world.despawn(root), Ok(true));
        assert_eq!(world.entity_count(), 0);
    }
}

#[test]
fn slices_follow_groups() {
    let mut world = world();
    let outside: Vec<_> = world.spawn_many(A(9), 5).collect();
    let mut roots = Vec::new();
    for _ in 0..20 {
        let others: Vec<_> = world.spawn_many(A(1), 4).collect();
        let root = world.spawn(A(0));
        group(&mut world, root, &others);
        roots.push(root);
    }
    assert_eq!(world.batch(&roots).despawn(), Ok(100));
    assert_eq!(world.all_entities(), outside);
}

#[test]
fn members_with_cleanup_components_remain() {
    for mut world in both() {
        let (root, member) = (world.spawn(A(0)), world.spawn((A(1), LeftOver(3))));
        group(&mut world, root, &[member]);
        assert_eq!(world.despawn(root), Ok(true));
        assert_eq!(world.all_entities(), [member]);
        assert_eq!(world.take::<LeftOver>(member), Ok(LeftOver(3)));
        assert_eq!(world.entity_count(), 0);
    }
}

#[test]
fn groups_are_disabled_and_enabled_as_one() {
    for mut world in both() {
        let (root, member, outside) = (world.spawn(A(0)), world.spawn(A(1)), world.spawn(A(2)));
        group(&mut world, root, &[member]);
        assert_eq!(world.set_enabled(root, false), Ok(true));
        assert!(!world.is_enabled(root) && !world.is_enabled(member));
        assert!(world.is_enabled(outside));
        assert_eq!(world.set_enabled(root, false), Ok(false));
        // One of them alone, then the rest.
        assert_eq!(world.set_enabled(member, true), Ok(true));
        assert_eq!(world.set_enabled(root, true), Ok(true));
        assert!(world.is_enabled(root) && world.is_enabled(member));
    }
}

#[test]
fn instances_can_be_created_without_their_group() {
    // The members are instantiated all the same; without a group the mark stays.
    for mut world in both() {
        let (root, member) = (world.spawn((A(0), OmitLinkedEntityGroup)), world.spawn(A(1)));
        group(&mut world, root, &[member]);
        let instance = world.instantiate(root).unwrap();
        assert!(!world.has::<Buffer<LinkedEntityGroup>>(instance));
        assert!(!world.has::<OmitLinkedEntityGroup>(instance));
        assert_eq!(world.entity_count(), 4);

        let alone = world.spawn((A(2), OmitLinkedEntityGroup));
        let instance = world.instantiate(alone).unwrap();
        assert!(world.has::<OmitLinkedEntityGroup>(instance));
    }
}

#[test]
fn groups_are_the_same_in_forks_and_in_every_run() {
    let run = || {
        let mut world = World::new("Simulation");
        let root = world.spawn(A(0));
        let others: Vec<_> = world.spawn_many((A(1), Refers(root, root)), 4).collect();
        group(&mut world, root, &others);
        let mut fork = world.fork().unwrap();
        for world in [&mut world, &mut fork] {
            let instances: Vec<_> = world.instantiate_many(root, 50).unwrap().collect();
            world.batch(&instances[10..20]).despawn().unwrap();
            world.check_invariants().unwrap();
        }
        assert_eq!(world.state_hash(), fork.state_hash());
        world.state_hash()
    };
    assert_eq!(run(), run());
}
