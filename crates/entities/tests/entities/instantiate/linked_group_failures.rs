//! Entity groups with a failure half way: either nothing was done, or all of it.

use std::cell::Cell;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use ancho_entities::{
    Buffer, ChunkArena, Component, Disabled, Entity, EntityError, Field, LinkedEntityGroup, World,
    WorldSettings,
};

use crate::common::{A, B, Link, Stays, Tag, both, ignore, panic_message};
use crate::fixtures::fragile::{Call, Scene, survives};
use crate::fixtures::limited_memory::{CHUNK, refused};

fn make_group(world: &mut World, members: &[Entity]) {
    let group: Buffer<_> = members.iter().copied().map(LinkedEntityGroup).collect();
    world.add(members[0], group).unwrap();
}

/// Makes a group of entities of two archetypes: the whole of one chunk, and parts of others. One entity is listed
/// twice.
fn grouped(mut scene: Scene) -> Scene {
    let all = scene.all.clone();
    for world in &mut scene.worlds {
        make_group(world, &[all[2], all[0], all[1], all[9], all[10], all[5], all[0], all[3]]);
    }
    scene
}

const MEMBERS: [usize; 7] = [2, 0, 1, 9, 10, 5, 3];

fn alone() -> Scene {
    grouped(Scene::new())
}

/// Returns a scene and its fork, which share all memory.
fn forked() -> Scene {
    let mut scene = alone();
    let fork = scene.world().fork().unwrap();
    scene.worlds.push(fork);
    scene
}

#[test]
fn no_member_is_created_when_one_clone_panics() {
    for setup in [alone, forked] {
        for count in [1, 2, 7] {
            survives(Call::Clone, &format!("{count} groups"), setup, |scene| {
                let (world, all) = scene.parts();
                let root = all[2];
                let before = (world.entity_count(), world.state_hash());
                let instantiate = AssertUnwindSafe(|| {
                    let created = world.instantiate_many(root, count).unwrap();
                    assert_eq!(created.len(), count);
                });
                let result = catch_unwind(instantiate);
                let after = (world.entity_count(), world.state_hash());
                match result {
                    Ok(()) => assert_eq!(after.0, before.0 + count * MEMBERS.len()),
                    Err(panic) => {
                        assert_eq!(after, before);
                        resume_unwind(panic);
                    }
                }
            });
        }
    }
}

#[test]
fn all_members_are_despawned_when_one_destructor_panics() {
    for setup in [alone, forked] {
        for stays in [false, true] {
            let setup = || {
                let mut scene = setup();
                let (world, all) = scene.parts();
                if stays {
                    world.add(all[0], Stays).unwrap();
                    world.add(all[5], Stays).unwrap();
                }
                scene
            };
            survives(Call::Drop, &format!("despawn, {stays}"), setup, |scene| {
                let (world, all) = scene.parts();
                let result =
                    catch_unwind(AssertUnwindSafe(|| ignore(world.despawn(all[2]).unwrap())));
                for at in MEMBERS {
                    let left = stays && matches!(at, 0 | 5);
                    assert_eq!(world.exists(all[at]), left, "{at}");
                    assert!(!world.has::<A>(all[at]));
                }
                if let Err(panic) = result {
                    resume_unwind(panic);
                }
            });
        }
    }
}

#[test]
fn all_members_stay_when_shared_memory_cannot_be_copied() {
    for (what, action) in [
        ("despawn", (|world, root| ignore(world.despawn(root))) as fn(&mut World, Entity)),
        ("despawn_slice", |world, root| ignore(world.batch(&[root]).despawn())),
        ("set_enabled", |world, root| ignore(world.set_enabled(root, false))),
    ] {
        survives(Call::Clone, what, forked, |scene| {
            let (world, all) = scene.parts();
            let before = (world.entity_count(), world.state_hash());
            let result = catch_unwind(AssertUnwindSafe(|| action(world, all[2])));
            if let Err(panic) = result {
                assert_eq!((world.entity_count(), world.state_hash()), before);
                resume_unwind(panic);
            }
            assert!(MEMBERS.iter().all(|&at| !world.is_enabled(all[at])));
        });
    }
}

/// Creates eight entities in two chunks and a root in a third, in an arena of three chunks. With `stay`, some of them
/// have a cleanup component.
fn limited(stay: bool) -> (World, Vec<Entity>, ChunkArena) {
    let arena = ChunkArena::with_limit(3 * CHUNK);
    let settings = WorldSettings::new().chunk_capacity_limit(4).arena(arena.clone());
    let mut world = World::with_settings("Simulation", settings);
    let mut all: Vec<_> = world.spawn_batch((0..4).map(|n| (A(n), Tag))).collect();
    if stay {
        all.extend(world.spawn_many((A(9), Stays), 4));
    } else {
        all.extend(world.spawn_many((A(9), B(9), Link(Entity::NULL)), 4));
    }
    let root = world.spawn((A(0), Buffer::<LinkedEntityGroup>::new()));
    all.insert(0, root);
    make_group(&mut world, &all);
    (world, all, arena)
}

#[test]
fn no_group_is_instantiated_in_part_without_memory() {
    let (mut world, all, arena) = limited(false);
    // There is room for three more roots, and for no member.
    for count in [1, 3, 4, 100] {
        refused("instantiate", &mut world, &arena, |world| {
            world.instantiate_many(all[0], count).map(|new| new.len())
        });
    }
    let next = world.spawn((A(0), Buffer::<LinkedEntityGroup>::new()));
    assert_eq!((next.index(), next.version()), (9, 1), "no id was used");
    // The reverse: there is room for members, and not for roots.
    let arena = ChunkArena::with_limit(2 * CHUNK);
    let settings = WorldSettings::new().chunk_capacity_limit(4).arena(arena.clone());
    let mut world = World::with_settings("Simulation", settings);
    let member = world.spawn(A(1));
    let all: Vec<_> = world.spawn_many((A(0), Buffer::<LinkedEntityGroup>::new()), 4).collect();
    make_group(&mut world, &[all[0], member]);
    refused("instantiate", &mut world, &arena, |world| world.instantiate(all[0]));
}

#[test]
fn no_group_is_despawned_in_part_without_memory() {
    let (mut world, all, arena) = limited(true);
    // The cleanup components need a chunk of their own archetype.
    refused("despawn", &mut world, &arena, |world| world.despawn(all[0]));
    refused("despawn_slice", &mut world, &arena, |world| world.batch(&all[..1]).despawn());
    let (mut world, all, arena) = limited(false);
    let mut fork = world.fork().unwrap();
    let other = fork.despawn(all[1]).unwrap_err();
    assert!(matches!(other, EntityError::OutOfMemory(_)));
    refused("despawn", &mut world, &arena, |world| world.despawn(all[0]));
    drop(fork);
    assert_eq!(world.despawn(all[0]), Ok(true));
    assert_eq!((world.entity_count(), arena.stats().used), (0, 0));
}

#[test]
fn the_last_entity_of_a_shared_chunk_is_despawned_without_memory() {
    let arena = ChunkArena::with_limit(2 * CHUNK);
    let mut world = World::with_settings("Simulation", WorldSettings::new().arena(arena.clone()));
    let other = world.spawn(A(1));
    let root = world.spawn(Buffer::from([LinkedEntityGroup(other)]));
    let fork = world.fork().unwrap();
    assert_eq!(world.despawn(root), Ok(true));
    assert_eq!((world.entity_count(), fork.entity_count()), (0, 2));
    fork.check_invariants().unwrap();
    world.check_invariants().unwrap();
}

#[test]
fn no_group_is_enabled_in_part_without_memory() {
    for stay in [false, true] {
        let (mut world, all, arena) = limited(stay);
        refused("set_enabled", &mut world, &arena, |world| world.set_enabled(all[0], false));
        assert!(all.iter().all(|&entity| world.is_enabled(entity)));
    }
    // One free chunk is enough for a part of the group only.
    let arena = ChunkArena::with_limit(4 * CHUNK);
    let settings = WorldSettings::new().chunk_capacity_limit(4).arena(arena.clone());
    let mut world = World::with_settings("Simulation", settings);
    let all: Vec<_> = world.spawn_batch((0..9).map(|n| (A(n), Tag))).collect();
    make_group(&mut world, &[&all[8..], &all[..8]].concat());
    refused("set_enabled", &mut world, &arena, |world| world.set_enabled(all[8], false));
    // Without these four, the rest fits into one chunk.
    all[..4].iter().for_each(|&entity| assert_eq!(world.despawn(entity), Ok(true)));
    assert_eq!(world.set_enabled(all[8], false), Ok(true));
    assert!(all.iter().all(|&entity| !world.is_enabled(entity)));
    world.check_invariants().unwrap();
}

#[test]
fn remains_are_enabled_with_their_group() {
    for mut world in both() {
        let (root, member) = (world.spawn(A(0)), world.spawn((A(1), Stays)));
        make_group(&mut world, &[root, member, member, root]);
        world.despawn(member).unwrap();
        assert_eq!(world.set_enabled(root, false), Ok(true));
        assert!(world.has::<Disabled>(member));
        // Without its cleanup component, the member lives on with `Disabled`, and is gone when that is removed.
        world.remove::<Stays>(member).unwrap();
        assert_eq!(world.set_enabled(root, true), Ok(true));
        assert_eq!(world.all_entities(), [root]);
        world.check_invariants().unwrap();
    }
}

#[test]
fn a_group_with_remains_is_not_instantiated() {
    for mut world in both() {
        let (root, member) = (world.spawn(A(0)), world.spawn((A(1), Stays)));
        make_group(&mut world, &[root, member]);
        world.despawn(member).unwrap();
        let hash = world.state_hash();
        for count in [0, 1, 5] {
            let found = world.instantiate_many(root, count).map(|new| new.len());
            assert_eq!(found, Err(EntityError::CleanupOnly { entity: member }));
        }
        assert_eq!(world.state_hash(), hash);
        // The despawn leaves the cleanup-only member.
        assert_eq!(world.despawn(root), Ok(true));
        assert_eq!(world.all_entities(), [member]);
    }
}

#[test]
fn members_of_other_worlds_and_null_are_refused_or_skipped() {
    for mut world in both() {
        let mut other = World::new("Other");
        let foreign = other.spawn_many((), 100).last().unwrap();
        for bad in [foreign, Entity::NULL, Entity::from_parts(u32::MAX, u32::MAX)] {
            let (root, member) = (world.spawn(A(0)), world.spawn(A(1)));
            make_group(&mut world, &[root, bad, member]);
            let hash = world.state_hash();
            let found = world.instantiate(root);
            assert!(
                matches!(found, Err(EntityError::NoSuchEntity { entity, .. }) if entity == bad)
            );
            assert_eq!(world.state_hash(), hash);
            assert_eq!(world.set_enabled(root, false), Ok(true));
            assert_eq!(world.despawn(root), Ok(true));
            assert_eq!(world.entity_count(), 0);
        }
    }
}

#[test]
fn more_instances_than_there_can_be_are_refused_before_anything_is_done() {
    let mut world = World::new("Simulation");
    let (root, member) = (world.spawn(A(0)), world.spawn(A(1)));
    make_group(&mut world, &[root, member]);
    let hash = world.state_hash();
    for count in [usize::MAX, usize::MAX / 2 + 1, u32::MAX as usize / 2 + 1] {
        let message = panic_message(|| ignore(world.instantiate_many(root, count)));
        assert!(message.contains("at most 2147483648 entities"), "{message}");
    }
    assert_eq!(world.state_hash(), hash);
    world.check_invariants().unwrap();
}

thread_local! {
    /// The number of comparisons that succeed before one panics.
    static FUSE: Cell<Option<u32>> = const { Cell::new(None) };
}

/// An entity in a set, which must be sorted again after remapping.
#[derive(Field, Clone, Copy, Debug, PartialEq, Eq)]
struct Friend(Entity);

impl PartialOrd for Friend {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Friend {
    fn cmp(&self, other: &Self) -> Ordering {
        match FUSE.get() {
            Some(0) => resume_unwind(Box::new("told to")),
            fuse => FUSE.set(fuse.map(|left| left - 1)),
        }
        self.0.cmp(&other.0)
    }
}

#[derive(Component, Clone, Debug)]
struct Friends(BTreeSet<Friend>);

#[test]
fn no_instance_is_created_when_remapping_its_references_panics() {
    let mut world = World::new("Simulation");
    let (root, member) = (world.spawn(A(0)), world.spawn(A(1)));
    for entity in [root, member] {
        world.add(entity, Friends([root, member].map(Friend).into())).unwrap();
    }
    let values = |world: &World| {
        world.check_invariants().unwrap();
        assert_eq!(world.get::<Friends>(root).unwrap().0.len(), 2);
        (world.entity_count(), world.all_entities())
    };
    for group in [false, true] {
        if group {
            make_group(&mut world, &[root, member]);
        }
        let before = values(&world);
        for fuse in 0.. {
            FUSE.set(Some(fuse));
            let result = catch_unwind(AssertUnwindSafe(|| {
                world.instantiate_many(root, 3).map(Vec::from_iter)
            }));
            FUSE.set(None);
            let Ok(created) = result else {
                assert_eq!(values(&world), before);
                continue;
            };
            assert!(fuse > 0);
            world.batch(&created.unwrap()).despawn().unwrap();
            break;
        }
        assert_eq!(values(&world).0, before.0);
    }
}
