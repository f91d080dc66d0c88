//! Commands of several kinds that are applied together: commands that cancel out are skipped, the rest has the same
//! result as one by one.

use std::panic::{AssertUnwindSafe, catch_unwind};

use ancho_entities::{
    Changed, ChunkArena, CommandFault, Component, ComponentType, Entity, EntityCommandBuffer,
    EntityError, RuntimeType, Shared, SharedComponent, World, WorldSettings,
};

use crate::common::*;

/// A component that tracks changes per entity.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(name = "game::Noted", track_changes)]
struct Noted(u32);

/// A component that fills most of a chunk.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Large([u64; 1500]);

#[test]
fn commands_that_cancel_out_do_no_work() {
    let mut world = world();
    let old = world.spawn((A(1), Glow(2)));
    let archetypes = world.archetype_count();
    let chunk = world.chunks().next().unwrap();
    let versions = (chunk.order_version(), chunk.change_version::<A>());
    world.advance_version();
    let ledger = Ledger::new();
    play(&mut world, |commands| {
        commands.add(old, Text("b".into()));
        let brief = commands.spawn((A(2), ledger.value(1)));
        commands.add(brief, Tag);
        commands.remove::<Text>(old);
        commands.set(brief, A(3));
        commands.despawn(brief);
        commands.add(old, (Tag, ledger.value(2)));
        commands.remove::<(Tag, Counted)>(old);
    })
    .unwrap();
    assert_eq!((world.entity_count(), ledger.live()), (1, 0));
    // No archetype was created for the intermediate states, so no chunk of one was ever used.
    assert_eq!(world.archetype_count(), archetypes);
    let chunk = world.chunks().next().unwrap();
    assert_eq!((chunk.order_version(), chunk.change_version::<A>()), versions);
    assert_eq!(world.chunks().count(), 1);
}

#[test]
fn of_values_that_are_set_again_the_last_is_there_and_the_others_are_dropped() {
    let ledger = Ledger::new();
    {
        let mut world = world();
        let old = world.spawn((A(1), ledger.value(1)));
        let buffer = play(&mut world, |commands| {
            let new = commands.spawn((A(2), ledger.value(2), Tag));
            commands.set(old, (ledger.value(3), A(3)));
            commands.add(new, (Glow(1), ledger.value(4)));
            commands.set(old, A(4));
            commands.remove::<(Tag, A)>(new);
            commands.set(old, ledger.value(5));
        });
        drop(buffer.unwrap());
        assert_eq!(ledger.live(), 2);
        assert_eq!((world.get(old), world.get::<Counted>(old).unwrap().number), (Ok(&A(4)), 5));
        let query = world.query::<(&Counted, &Glow)>();
        assert_eq!(query.iter().map(|(value, _)| value.number).collect::<Vec<_>>(), [4]);
    }
    assert_eq!(ledger.live(), 0);
}

#[test]
fn shared_values_move_with_their_entities() {
    const COLOURS: [&str; 3] = ["red", "blue", "green"];
    let colour = |at: usize| COLOURS[at % COLOURS.len()];
    for limit in [2, 1000] {
        let mut world = chunks_of(limit);
        let all: Vec<_> =
            (0..60).map(|at| world.spawn((A(0), Shared::new(Team(colour(at)))))).collect();
        let archetypes = world.archetype_count();
        play(&mut world, |commands| {
            for (at, &entity) in all.iter().enumerate() {
                commands.add(entity, Text("b".into()));
                commands.set(entity, A(at as u32));
                match at % 5 {
                    0 => commands.remove::<Text>(entity),
                    1 => {
                        commands.add(entity, Glow(1));
                        commands.remove::<(A, Text)>(entity);
                    }
                    2 => commands.despawn(entity),
                    3 => commands.remove::<A>(entity),
                    _ => {
                        commands.remove::<A>(entity);
                        // This command is applied one by one, and the following ones continue from its result.
                        commands.set(entity, Shared::new(Team("green")));
                        commands.add(entity, Tag);
                    }
                }
            }
        })
        .unwrap();
        // No archetype was made for `A`, `Text` and `Glow` together, nor for `A` and `Text`.
        assert_eq!(world.archetype_count(), archetypes + 3, "{limit}");
        for (at, &entity) in all.iter().enumerate() {
            let has = |kinds: [bool; 4]| {
                let has = [world.has::<A>(entity), world.has::<Text>(entity)];
                has.into_iter()
                    .chain([world.has::<Glow>(entity), world.has::<Tag>(entity)])
                    .eq(kinds)
            };
            let expected = match at % 5 {
                0 => {
                    assert_eq!(world.get(entity), Ok(&A(at as u32)));
                    has([true, false, false, false])
                }
                1 => has([false, false, true, false]),
                2 => !world.exists(entity),
                3 => has([false, true, false, false]),
                _ => has([false, true, false, true]),
            };
            assert!(expected, "{at}");
            if at % 5 != 2 {
                let team = if at % 5 == 4 { "green" } else { colour(at) };
                assert_eq!(world.shared(entity), Ok(&Team(team)), "{at}");
            }
        }
    }
}

#[test]
fn shared_values_of_entities_that_are_despawned_together_are_dropped_last() {
    /// A component whose destructor panics on request.
    #[derive(SharedComponent, PartialEq, Eq, Hash)]
    struct Fragile(u32, bool);

    impl Drop for Fragile {
        fn drop(&mut self) {
            if self.1 && !std::thread::panicking() {
                panic!("told to");
            }
        }
    }

    let ledger = Ledger::new();
    for fragile in [false, true] {
        let mut world = world();
        let set = |at: u32| (ledger.value(at), Shared::new(Fragile(at, fragile && at == 1)));
        let all: Vec<_> = (0..4).map(|at| world.spawn(set(at))).collect();
        let mut buffer = EntityCommandBuffer::new();
        let commands = buffer.commands().unwrap();
        for &entity in &all[..3] {
            commands.add(entity, Tag);
            commands.despawn(entity);
        }
        let played = catch_unwind(AssertUnwindSafe(|| world.play(&mut buffer).is_ok()));
        assert_eq!(played.ok(), (!fragile).then_some(true));
        // All entities are gone, and all their values dropped.
        assert_eq!((world.entity_count(), ledger.live()), (1, 1));
        assert_eq!(world.shared_values::<Fragile>().count(), 1);
        world.check_invariants().unwrap();
    }
}

#[test]
fn a_strict_world_stops_at_the_first_failure_and_a_lenient_world_skips_it() {
    for strict in [false, true] {
        let mut world = if strict { strict_world() } else { world() };
        let [first, second] = [world.spawn(A(1)), world.spawn(A(2))];
        let ledger = Ledger::new();
        let mut buffer = EntityCommandBuffer::new();
        let commands = buffer.commands().unwrap();
        commands.add(first, ledger.value(1));
        let new = commands.spawn(A(3));
        commands.despawn(second);
        commands.add(new, Tag);
        commands.set(second, A(4));
        commands.despawn(first);
        commands.remove::<Tag>(new);
        let unapplied = match world.play(&mut buffer) {
            Ok(report) => report.first_skipped().unwrap().clone(),
            error => first_failure(error),
        };
        let fault = CommandFault::Entity(EntityError::NoSuchEntity {
            entity: second,
            slot_version: Some(2),
        });
        assert_eq!((unapplied.number(), unapplied.fault()), (5, fault));
        assert_eq!(world.has::<(A, Counted)>(first), strict);
        assert!(!world.exists(second));
        let tagged = world.query::<(&A, &Tag)>().count();
        assert_eq!((tagged, ledger.live()), (usize::from(strict), isize::from(strict)));
    }
}

/// Creates a world with memory for `chunks` more chunks than its entities need.
fn short_of_memory(chunks: usize) -> (Checked, World, Vec<Entity>) {
    let settings = WorldSettings::new().arena(ChunkArena::with_limit(4 << 20));
    let mut world = Checked(World::with_settings("Simulation", settings.clone()));
    let all = (0..3).map(|at| world.spawn(A(at))).collect();
    // Another world takes the rest.
    let mut other = World::with_settings("other", settings);
    let mut others = Vec::new();
    while let Ok(entity) = other.try_spawn(Large([0; 1500])) {
        others.push(entity);
    }
    for entity in others.into_iter().rev().take(chunks) {
        other.despawn(entity).unwrap();
    }
    (world, other, all)
}

#[test]
fn without_memory_the_same_command_fails_as_without_coalescing() {
    let large = Large([7; 1500]);
    let mut failures = 0;
    for chunks in 0..5 {
        let (mut world, _other, all) = short_of_memory(chunks);
        let step = |world: &mut World, number: usize| -> Result<(), EntityError> {
            match number {
                0 => _ = world.add(all[0], large).map_err(|rejected| rejected.error)?,
                1 => _ = world.remove::<A>(all[1])?,
                2 => _ = world.add(all[1], large).map_err(|rejected| rejected.error)?,
                3 => _ = world.add(all[2], (large, Tag)).map_err(|rejected| rejected.error)?,
                _ => world.set(all[0], A(10)).map_err(|rejected| rejected.error)?,
            }
            Ok(())
        };
        let expected: Vec<_> = (0..5)
            .filter_map(|at| Some((at + 1, CommandFault::Entity(step(&mut world, at).err()?))))
            .collect();
        let (mut together, _other, _) = short_of_memory(chunks);
        let played = play(&mut together, |commands| {
            commands.add(all[0], large);
            commands.remove::<A>(all[1]);
            commands.add(all[1], large);
            commands.add(all[2], (large, Tag));
            commands.set(all[0], A(10));
        });
        // Together, the commands may need less memory. If they still fail, the same commands fail.
        if let Err(error) = played {
            failures += 1;
            let failures = error.report().unwrap().failures();
            let failed = failures.iter().map(|failed| (failed.number(), failed.fault()));
            assert_eq!(failed.collect::<Vec<_>>(), expected);
            for &entity in &all {
                assert_eq!(world.has::<Large>(entity), together.has::<Large>(entity));
                assert_eq!(world.get::<A>(entity).ok(), together.get::<A>(entity).ok());
            }
        }
    }
    assert!((1..5).contains(&failures), "{failures}");
}

#[test]
fn components_that_are_added_again_are_enabled() {
    let mut world = world();
    let [kept, renewed, off, replaced] = [(); 4].map(|()| world.spawn((A(1), Glow(1))));
    for entity in [kept, renewed, replaced] {
        world.set_component_enabled::<Glow>(entity, false).unwrap();
    }
    play(&mut world, |commands| {
        commands.add(kept, Tag);
        commands.remove::<Glow>(renewed);
        commands.set_component_enabled::<Glow>(off, false);
        commands.add(renewed, Glow(2));
        commands.set(off, A(2));
        commands.add(replaced, (Glow(3), Tag));
        commands.add(off, Tag);
    })
    .unwrap();
    let is_on = |entity| world.is_component_enabled::<Glow>(entity).unwrap();
    assert_eq!([kept, renewed, off, replaced].map(is_on), [false, true, false, false]);
    assert_eq!(world.get(renewed), Ok(&Glow(2)));
}

#[test]
fn only_written_components_count_as_changed() {
    let mut world = chunks_of(4);
    let all: Vec<_> = world.spawn_batch((0..10).map(|at| (A(at), Noted(at)))).collect();
    let seen = world.version();
    world.advance_version();
    play(&mut world, |commands| {
        commands.add(all[0], Tag);
        commands.set(all[1], Noted(100));
        commands.add(all[2], Tag);
        commands.set(all[2], Noted(200));
        commands.despawn(all[3]);
        commands.set(all[5], A(50));
        commands.remove::<A>(all[6]);
        commands.remove::<Noted>(all[7]);
        commands.add(all[7], Noted(700));
        commands.despawn(all[9]);
    })
    .unwrap();
    let query = world.query_filtered::<(Entity, &Noted), Changed<Noted>>().since(seen);
    let mut changed: Vec<_> = query.iter().map(|(entity, noted)| (entity, noted.0)).collect();
    changed.sort_unstable();
    assert_eq!(changed, [(all[1], 100), (all[2], 200), (all[7], 700)]);
}

#[test]
fn ids_are_reused_in_the_same_order_as_without_coalescing() {
    let ids = |together: bool| {
        let mut world = world();
        let all: Vec<_> = world.spawn_batch((0..6).map(A)).collect();
        let mut buffer = EntityCommandBuffer::new();
        let despawn = |world: &mut World, buffer: &mut EntityCommandBuffer, entity| {
            buffer.commands().unwrap().despawn(entity);
            if !together {
                world.play(buffer).unwrap();
                buffer.clear().unwrap();
            }
        };
        for at in [4, 1, 3] {
            buffer.commands().unwrap().set(all[0], A(at));
            despawn(&mut world, &mut buffer, all[at as usize]);
        }
        if together {
            world.play(&mut buffer).unwrap();
        }
        world.spawn_many((), 5).collect::<Vec<_>>()
    };
    assert_eq!(ids(true), ids(false));
}

#[test]
fn forks_do_not_see_coalesced_commands() {
    let mut world = chunks_of(3);
    let all: Vec<_> = world.spawn_batch((0..8).map(|at| (A(at), Text(at.to_string())))).collect();
    let mut fork = Checked(world.fork().unwrap());
    let hash = fork.state_hash();
    let record = |commands: &mut ancho_entities::CommandRecorder| {
        commands.set(all[0], A(10));
        commands.add(all[1], Tag);
        commands.despawn(all[2]);
        commands.set(all[3], Text("other".into()));
        commands.remove::<Text>(all[4]);
        commands.spawn((A(9), Text("new".into())));
        commands.despawn(all[7]);
    };
    play(&mut world, record).unwrap();
    assert_eq!(fork.state_hash(), hash);
    assert_eq!(world.get(all[3]), Ok(&Text("other".into())));
    play(&mut fork, record).unwrap();
    assert_eq!(fork.state_hash(), world.state_hash());
}

#[test]
fn values_that_panic_when_they_are_dropped_leave_all_done() {
    let ledger = Ledger::new();
    {
        let mut world = world();
        let all: Vec<_> = world.spawn_batch((0..4).map(|at| (A(at), ledger.value(at)))).collect();
        let mut buffer = EntityCommandBuffer::new();
        let commands = buffer.commands().unwrap();
        commands.set(all[0], ledger.value(10));
        commands.despawn(all[1]);
        commands.remove::<Counted>(all[2]);
        commands.add(all[3], Tag);
        ledger.panic_at_drop(1);
        let played = catch_unwind(AssertUnwindSafe(|| world.play(&mut buffer)));
        assert!(played.is_err());
        assert_eq!(world.get::<Counted>(all[0]).unwrap().number, 10);
        assert!(!world.exists(all[1]) && !world.has::<Counted>(all[2]) && world.has::<Tag>(all[3]));
        assert_eq!(ledger.live(), 2);
        // The world still works.
        play(&mut world, |commands| {
            commands.despawn(all[2]);
            commands.add(all[0], Tag);
        })
        .unwrap();
        assert_eq!(world.query::<(&Counted, &Tag)>().count(), 2);
    }
    assert_eq!(ledger.live(), 0);
}

#[test]
fn types_are_removed_together_with_others() {
    let mut world = world();
    let entity = world.spawn((A(1), Text("b".into()), Tag));
    play(&mut world, |commands| {
        commands.add(entity, Glow(1));
        commands.remove_types(entity, &[ComponentType::of::<Text>(), ComponentType::of::<Glow>()]);
        commands.set(entity, A(2));
    })
    .unwrap();
    assert!(
        world.has::<(A, Tag)>(entity) && !world.has::<Text>(entity) && !world.has::<Glow>(entity)
    );
    assert_eq!(world.get(entity), Ok(&A(2)));
}

#[test]
fn types_that_no_memory_has_room_for_are_removed_with_others() {
    // No entity has these types, so there is nothing to remove.
    let huge = ["game::Huge", "game::Vast"].map(|name| {
        ComponentType::register(RuntimeType::new(name, usize::MAX / 2 + 1, 1)).unwrap()
    });
    let mut world = world();
    let entity = world.spawn((A(1), Text("b".into()), Tag));
    play(&mut world, |commands| {
        commands.add(entity, Glow(1));
        commands.remove_types(entity, &[ComponentType::of::<Text>(), huge[0], huge[1]]);
        commands.set(entity, A(2));
    })
    .unwrap();
    assert!(world.has::<(A, Tag, Glow)>(entity) && !world.has::<Text>(entity));
    assert_eq!(world.get(entity), Ok(&A(2)));
}

#[test]
fn more_commands_than_one_batch_equal_single_commands() {
    let (mut world, mut expected) = (world(), world());
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    let (mut new, mut same) = (Vec::new(), Vec::new());
    // Runs are short, and entities created before the seam are changed after it.
    for at in 0..15_000 {
        new.push(commands.spawn(A(at)));
        same.push(expected.spawn(A(at)));
        let [half, third, fourth] = [2, 3, 4].map(|part| at as usize / part);
        commands.add(new[at as usize], Glow(at));
        expected.add(same[at as usize], Glow(at)).unwrap();
        commands.set(new[half], A(at + 1));
        expected.set(same[half], A(at + 1)).unwrap();
        commands.remove::<Glow>(new[third]);
        expected.remove::<Glow>(same[third]).unwrap();
        commands.add(new[fourth], Text(at.to_string()));
        expected.add(same[fourth], Text(at.to_string())).unwrap();
    }
    for at in (0..15_000).step_by(7) {
        commands.despawn(new[at]);
        expected.despawn(same[at]).unwrap();
    }
    assert!(commands.len() > 70_000);
    world.play(&mut buffer).unwrap();
    assert_eq!(world.entity_count(), expected.entity_count());
    for (new, same) in new.into_iter().zip(same) {
        let entity = buffer.resolve(new).unwrap();
        assert_eq!(world.exists(entity), expected.exists(same));
        assert_eq!(world.get::<A>(entity).ok(), expected.get::<A>(same).ok());
        assert_eq!(world.get::<Text>(entity).ok(), expected.get::<Text>(same).ok());
        assert_eq!(world.get::<Glow>(entity).ok(), expected.get::<Glow>(same).ok());
    }
}
