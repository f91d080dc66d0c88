//! Long runs of commands that cancel out: nothing is applied, and the result is the same as one by one.

use ancho_entities::{
    CommandError, CommandRecorder, Component, Entity, EntityCommandBuffer, LinkedEntityGroup,
    PlaybackReport, World, WorldSettings,
};

use crate::common::*;

/// Enough commands to be applied as runs.
const MANY: u32 = 300;

/// Counts the archetypes, to show that cancelled commands create none.
fn archetypes(world: &World) -> usize {
    world.archetype_count()
}

#[test]
fn long_runs_of_add_are_left_out_before_despawn() {
    let ledger = Ledger::new();
    let mut world = world();
    let all: Vec<_> = world.spawn_batch((0..MANY).map(|at| (A(at), ledger.value(at)))).collect();
    let before = archetypes(&world);
    play(&mut world, |commands| {
        all.iter().for_each(|&entity| commands.add(entity, (Glow(1), Tag)));
        all.iter().for_each(|&entity| commands.set(entity, ledger.value(7)));
        all.iter().for_each(|&entity| commands.remove::<A>(entity));
        all.iter().for_each(|&entity| commands.despawn(entity));
    })
    .unwrap();
    assert_eq!((world.entity_count(), ledger.live(), archetypes(&world)), (0, 0, before));
}

#[test]
fn long_runs_of_spawn_are_left_out_before_despawn() {
    let ids = |cancels: bool| {
        let ledger = Ledger::new();
        let mut world = world();
        let before = archetypes(&world);
        let mut buffer = EntityCommandBuffer::new();
        let commands = buffer.commands().unwrap();
        let all: Vec<_> = (0..MANY).map(|at| commands.spawn((A(at), ledger.value(at)))).collect();
        all.iter().for_each(|&entity| commands.add(entity, Tag));
        if !cancels {
            world.play(&mut buffer).unwrap();
            let all: Vec<_> = all.iter().map(|&entity| buffer.resolve(entity).unwrap()).collect();
            assert_eq!(world.entity_count(), MANY as usize);
            buffer.clear().unwrap();
            all.iter().for_each(|&entity| buffer.commands().unwrap().despawn(entity));
        } else {
            all.iter().for_each(|&entity| buffer.commands().unwrap().despawn(entity));
        }
        world.play(&mut buffer).unwrap();
        assert_eq!((world.entity_count(), ledger.live()), (0, 0));
        assert_eq!(archetypes(&world) == before, cancels);
        world.spawn_many((), MANY as usize + 3).collect::<Vec<_>>()
    };
    // Ids are handed out in the same order as one by one.
    assert_eq!(ids(true), ids(false));
}

#[test]
fn entities_with_reserved_ids_are_skipped_as_well() {
    let mut world = world();
    let before = archetypes(&world);
    let mut buffer = EntityCommandBuffer::new();
    let mut commands = world.commands(&mut buffer).unwrap();
    let all: Vec<_> = (0..MANY).map(|at| commands.spawn((A(at), Glow(at)))).collect();
    all.iter().for_each(|&entity| commands.despawn(entity));
    world.play(&mut buffer).unwrap();
    assert_eq!((world.entity_count(), archetypes(&world)), (0, before));
    assert!(all.iter().all(|&entity| !world.exists(entity)));
}

#[test]
fn components_that_long_runs_add_and_remove_never_exist() {
    let ledger = Ledger::new();
    let mut world = world();
    let all: Vec<_> = world.spawn_batch((0..MANY).map(A)).collect();
    let before = archetypes(&world);
    let chunk = world.chunks().next().unwrap();
    let versions = (chunk.order_version(), chunk.change_version::<A>());
    world.advance_version();
    play(&mut world, |commands| {
        all.iter().for_each(|&entity| commands.add(entity, ledger.value(1)));
        all.iter().for_each(|&entity| commands.remove::<(Counted, Tag)>(entity));
    })
    .unwrap();
    assert_eq!((ledger.live(), archetypes(&world)), (0, before));
    let chunk = world.chunks().next().unwrap();
    assert_eq!((chunk.order_version(), chunk.change_version::<A>()), versions);
}

#[test]
fn components_that_existed_before_are_removed() {
    let mut world = world();
    let all: Vec<_> = world.spawn_batch((0..MANY).map(A)).collect();
    world.add(all[200], Glow(5)).unwrap();
    play(&mut world, |commands| {
        all.iter().for_each(|&entity| commands.add(entity, (Glow(1), A(1))));
        all.iter().for_each(|&entity| commands.remove::<Glow>(entity));
    })
    .unwrap();
    assert_eq!(world.query::<&Glow>().count(), 0);
    assert!(all.iter().all(|&entity| world.get(entity) == Ok(&A(1))));
}

/// A function that records a run of commands for some entities.
type Record<'r> = &'r dyn Fn(&mut CommandRecorder, &[Entity]);

/// Returns the numbers of the commands that failed, and the number of those that were skipped.
fn unapplied(played: Result<PlaybackReport, CommandError>) -> (Vec<usize>, usize) {
    let report = match played {
        Ok(report) => report,
        Err(CommandError::Failed(report)) => *report,
        Err(error) => panic!("{error}"),
    };
    (report.failures().iter().map(|failed| failed.number()).collect(), report.skipped())
}

/// Plays the runs in one buffer and in a buffer for each run, and compares. Returns the number of the failed command,
/// if any, and the world.
fn same_as_apart(
    strict: bool,
    prepare: impl Fn(&mut World) -> Vec<Entity>,
    runs: &[Record<'_>],
) -> (Option<usize>, World) {
    let [mut one, mut apart] =
        [(); 2].map(|()| World::with_settings("w", WorldSettings::new().strict(strict)));
    let all = prepare(&mut one);
    assert_eq!(prepare(&mut apart), all);
    let mut buffer = EntityCommandBuffer::new();
    runs.iter().for_each(|run| run(buffer.commands().unwrap(), &all));
    let (failed, skipped) = unapplied(one.play(&mut buffer));
    let (mut before, mut failed_apart, mut skipped_apart) = (0, Vec::new(), 0);
    for run in runs {
        let mut buffer = EntityCommandBuffer::new();
        run(buffer.commands().unwrap(), &all);
        let count = buffer.len();
        let (failed, skipped) = unapplied(apart.play(&mut buffer));
        failed_apart.extend(failed.iter().map(|number| before + number));
        skipped_apart += skipped;
        before += count;
        if strict && !failed.is_empty() {
            break;
        }
    }
    assert_eq!((&failed, skipped), (&failed_apart, skipped_apart));
    let failed = failed.first().copied();
    for &entity in &all {
        assert_eq!(one.exists(entity), apart.exists(entity), "{entity}");
        assert_eq!(one.get::<A>(entity).ok(), apart.get::<A>(entity).ok());
        assert_eq!(one.get::<Glow>(entity).ok(), apart.get::<Glow>(entity).ok());
        assert_eq!(one.get::<Stays>(entity).ok(), apart.get::<Stays>(entity).ok());
    }
    assert_eq!(one.entity_count(), apart.entity_count());
    (failed, one)
}

#[test]
fn runs_of_which_one_fails_are_not_left_out() {
    for strict in [false, true] {
        let with_gap = |world: &mut World| {
            let all: Vec<_> = world.spawn_batch((0..MANY).map(A)).collect();
            world.despawn(all[100]).unwrap();
            all
        };
        let (failed, world) = same_as_apart(
            strict,
            with_gap,
            &[
                &|commands, all| all.iter().for_each(|&entity| commands.add(entity, Glow(1))),
                &|commands, all| all.iter().for_each(|&entity| commands.despawn(entity)),
            ],
        );
        assert_eq!(failed, strict.then_some(101));
        // A lenient world skips the despawned entity, and despawns the others.
        assert_eq!(world.query::<&Glow>().count(), if strict { 100 } else { 0 });
        assert_eq!(world.entity_count(), if strict { MANY as usize - 1 } else { 0 });
        let (failed, _) = same_as_apart(
            strict,
            |world| world.spawn_batch((0..MANY).map(A)).collect(),
            &[
                &|commands, all| all.iter().for_each(|&entity| commands.set(entity, Glow(1))),
                &|commands, all| all.iter().for_each(|&entity| commands.despawn(entity)),
            ],
        );
        assert_eq!(failed, Some(1));
    }
}

#[test]
fn entities_with_cleanup_components_or_linked_groups_are_not_skipped() {
    let spawn = |world: &mut World| world.spawn_batch((0..MANY).map(A)).collect::<Vec<_>>();
    let despawn = |commands: &mut CommandRecorder, all: &[Entity]| {
        all[..100].iter().for_each(|&entity| commands.despawn(entity));
    };
    let (failed, world) = same_as_apart(
        false,
        spawn,
        &[
            &|commands, all| all[..100].iter().for_each(|&entity| commands.add(entity, Stays(1))),
            &despawn,
        ],
    );
    // The despawned entities exist until their cleanup components are removed.
    assert_eq!((failed, world.query::<&Stays>().count()), (None, 100));
    let (failed, world) = same_as_apart(
        false,
        spawn,
        &[
            &|commands, all| {
                for (&entity, &member) in all[..100].iter().zip(&all[100..]) {
                    commands.add_buffer(entity, [entity, member].map(LinkedEntityGroup));
                }
            },
            &|commands, all| all[..100].iter().for_each(|&entity| commands.add(entity, Glow(1))),
            &despawn,
        ],
    );
    assert_eq!((failed, world.entity_count()), (None, 100));
}

#[test]
fn runs_of_other_entities_or_orders_equal_single_commands() {
    let spawn = |world: &mut World| world.spawn_batch((0..MANY).map(A)).collect::<Vec<_>>();
    let add = |commands: &mut CommandRecorder, all: &[Entity]| {
        all[..50].iter().for_each(|&entity| commands.add(entity, Glow(1)));
    };
    let (failed, world) = same_as_apart(
        false,
        spawn,
        &[&add, &|commands, all| {
            // The first and the last are the same; the ones in between differ.
            commands.despawn(all[0]);
            all[100..148].iter().for_each(|&entity| commands.despawn(entity));
            commands.despawn(all[49]);
        }],
    );
    assert_eq!((failed, world.query::<&Glow>().count()), (None, 48));
    let (failed, world) = same_as_apart(
        false,
        spawn,
        &[&add, &|commands, all| {
            all[..50].iter().rev().for_each(|&entity| commands.despawn(entity));
        }],
    );
    assert_eq!((failed, world.entity_count()), (None, MANY as usize - 50));
}

#[test]
fn entities_that_are_listed_twice_cancel_out_as_well() {
    let (failed, world) = same_as_apart(
        false,
        |world| {
            let all: Vec<_> = world.spawn_batch((0..MANY).map(A)).collect();
            all.iter().chain(&all).copied().collect()
        },
        &[
            &|commands, all| all.iter().for_each(|&entity| commands.add(entity, Glow(1))),
            &|commands, all| all.iter().for_each(|&entity| commands.remove::<Glow>(entity)),
            &|commands, all| all.iter().for_each(|&entity| commands.set(entity, A(9))),
            &|commands, all| all.iter().for_each(|&entity| commands.despawn(entity)),
        ],
    );
    assert_eq!((failed, world.entity_count()), (None, 0));
}

/// A value whose size makes the commands unevenly spaced.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[repr(align(32))]
struct Wide(u8);

#[test]
fn values_that_are_far_aligned_cancel_out() {
    let mut world = world();
    let all: Vec<_> = world.spawn_batch((0..MANY).map(A)).collect();
    let before = archetypes(&world);
    play(&mut world, |commands| {
        all.iter().for_each(|&entity| commands.add(entity, Wide(1)));
        all.iter().for_each(|&entity| commands.despawn(entity));
        all.iter().for_each(|_| _ = commands.spawn(A(1)));
    })
    .unwrap();
    assert_eq!((world.entity_count(), archetypes(&world)), (MANY as usize, before));
}
