//! Commands for despawned entities are skipped, and faults do not cancel other commands. Not in strict worlds.

use ancho_entities::{
    Buffer, CommandError, CommandFault, CommandRecorder, ComponentType, Entity,
    EntityCommandBuffer, EntityError, Linked, LinkedEntityGroup, Managed, PlaybackReport, Prefab,
    QueryDescriptor, Shared, With, World,
};

use crate::common::*;

/// Records commands, plays them, and returns the report, also if commands failed.
fn report_of(world: &mut World, record: impl FnOnce(&mut CommandRecorder)) -> PlaybackReport {
    let mut buffer = EntityCommandBuffer::new();
    record(buffer.commands().unwrap());
    match world.play(&mut buffer) {
        Ok(report) => report,
        Err(CommandError::Failed(report)) => *report,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn one_dead_entity_of_a_thousand_costs_one_command() {
    // In long runs, and alternating with other commands, which are coalesced.
    for alternates in [false, true] {
        let mut world = world();
        let all: Vec<_> = world.spawn_many(A(1), 1000).collect();
        let mut buffer = EntityCommandBuffer::new();
        let commands = buffer.commands().unwrap();
        commands.despawn(all[3]);
        for &entity in &all {
            commands.add(entity, Tag);
            if alternates {
                commands.set(entity, A(2));
            }
        }
        let report = world.play(&mut buffer).unwrap();
        assert_eq!(world.query::<(&A, &Tag)>().count(), 999);
        assert_eq!(report.skipped(), if alternates { 2 } else { 1 });
        let first = report.first_skipped().unwrap();
        let number = if alternates { 8 } else { 5 };
        assert_eq!((first.number(), first.command()), (number, "add `game::Tag` to 3v1"));
        assert_eq!((first.entity(), first.job(), report.failed()), (Some(all[3]), None, 0));
    }
}

type Record = fn(&mut CommandRecorder, Entity);

/// Every command with one target that needs the target.
const ALL: &[(&str, Record)] = &[
    ("add", |c, e| c.add(e, A(1))),
    ("add nothing", |c, e| c.add(e, ())),
    ("set", |c, e| c.set(e, A(1))),
    ("add a reference", |c, e| c.add(e, Link(e))),
    ("add a value that refers to another buffer", |c, e| c.add(e, Link(foreign()))),
    ("add a set with a type twice", |c, e| c.add(e, (A(1), A(2)))),
    ("add_types", |c, e| c.add_types(e, &[ComponentType::of::<A>()])),
    ("add shared", |c, e| c.add(e, Shared::new(Team("t")))),
    ("set shared", |c, e| c.set(e, Shared::new(Team("t")))),
    ("add_buffer", |c, e| c.add_buffer(e, [Item(1)])),
    ("set_buffer", |c, e| c.set_buffer(e, [Item(1)])),
    ("append", |c, e| c.append(e, Item(1))),
    ("set_component_enabled", |c, e| c.set_component_enabled::<Lamp>(e, false)),
    ("set_type_enabled", |c, e| c.set_type_enabled(e, ComponentType::of::<A>(), false)),
    ("set_enabled", |c, e| c.set_enabled(e, false)),
    ("swap_components", |c, e| c.swap_components(e, e)),
    ("set_name", |c, e| c.set_name(e, "x")),
    ("instantiate", |c, e| _ = c.instantiate(e)),
    ("instantiate_many", |c, e| _ = c.instantiate_many(e, 3)),
    ("slice", |c, e| c.batch(&[e]).add(A(1))),
    ("set of a slice", |c, e| c.batch(&[e]).set(A(1))),
    ("set shared of a slice", |c, e| c.batch(&[e]).set(Shared::new(Team("t")))),
    ("add_each to a slice", |c, e| c.batch(&[e]).add_each([A(1)])),
    ("add_types to a slice", |c, e| c.batch(&[e]).add_types(&[ComponentType::of::<A>()])),
    ("enabled of a slice", |c, e| c.batch(&[e]).set_component_enabled::<Lamp>(true)),
    ("set_enabled of a slice", |c, e| c.batch(&[e]).set_enabled(true)),
    ("add to a group", |c, e| c.batch(Linked(e)).add(A(1))),
    ("set of a group", |c, e| c.batch(Linked(e)).set(A(1))),
    ("remove from a group", |c, e| c.batch(Linked(e)).remove::<A>()),
    ("add to a group that matches", |c, e| {
        c.batch(Linked(e).matching(QueryDescriptor::of::<&A, ()>())).add(Tag);
    }),
];

/// Commands that do nothing without their target.
const REMOVING: &[(&str, Record)] = &[
    ("despawn", |c, e| c.despawn(e)),
    ("despawn a slice", |c, e| c.batch(&[e]).despawn()),
    ("remove", |c, e| c.remove::<A>(e)),
    ("remove shared", |c, e| c.remove::<Shared<Team>>(e)),
    ("remove_types", |c, e| c.remove_types(e, &[ComponentType::of::<A>()])),
    ("remove from a slice", |c, e| c.batch(&[e]).remove::<A>()),
];

/// The ways in which an entity is gone when a command is played.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Gone {
    Before,
    ByTheBuffer,
    ByTheBufferThatCreatedIt,
    NeverCreated,
}

#[test]
fn every_command_is_skipped_if_its_entity_is_gone() {
    let ways =
        [Gone::Before, Gone::ByTheBuffer, Gone::ByTheBufferThatCreatedIt, Gone::NeverCreated];
    for &(name, record) in ALL.iter().chain(REMOVING) {
        for way in ways {
            // Few and many commands around the command are coalesced or not.
            for others in [1, 40] {
                for reusable in [false, true] {
                    let what = format!("{name}, {way:?}, {others} others, reusable: {reusable}");
                    let mut world = world();
                    let old = world.spawn((A(1), Lamp));
                    if way == Gone::Before {
                        world.despawn(old).unwrap();
                    }
                    let mut buffer = if reusable {
                        EntityCommandBuffer::reusable()
                    } else {
                        EntityCommandBuffer::new()
                    };
                    let commands = buffer.commands().unwrap();
                    (0..others).for_each(|_| _ = commands.spawn(Tag));
                    let mut expected = usize::from(ALL.iter().any(|all| all.0 == name));
                    let target = match way {
                        Gone::Before => old,
                        Gone::ByTheBuffer => {
                            commands.despawn(old);
                            old
                        }
                        Gone::ByTheBufferThatCreatedIt => {
                            let brief = commands.spawn(A(1));
                            commands.despawn(brief);
                            brief
                        }
                        Gone::NeverCreated => {
                            commands.despawn(old);
                            expected += 1;
                            commands.instantiate(old)
                        }
                    };
                    record(commands, target);
                    (0..others).for_each(|_| _ = commands.spawn(Tag));
                    let report = world.play(&mut buffer).unwrap_or_else(|e| panic!("{what}: {e}"));
                    assert_eq!(report.skipped(), expected, "{what}");
                    let count = world.query_filtered::<(), With<Tag>>().count();
                    assert_eq!(count, 2 * others, "{what}");
                    let alive = usize::from(way == Gone::ByTheBufferThatCreatedIt);
                    assert_eq!(world.entity_count(), count + alive, "{what}");
                    if way == Gone::NeverCreated {
                        assert_eq!(buffer.resolve(target), None, "{what}");
                    }
                    world.check_invariants().unwrap();
                }
            }
        }
    }
}

#[test]
fn a_strict_world_stops_at_an_entity_that_is_gone() {
    for &(name, record) in ALL.iter().chain(REMOVING) {
        let mut world = strict_world();
        let dead = world.spawn((A(1), Lamp));
        world.despawn(dead).unwrap();
        let report = report_of(&mut world, |commands| {
            commands.spawn(Tag);
            record(commands, dead);
            commands.spawn(Tag);
        });
        assert_eq!((report.failed(), report.skipped()), (1, 0), "{name}");
        assert_eq!(report.failures()[0].number(), 2, "{name}");
        assert_eq!(world.entity_count(), 1, "{name}");
    }
}

#[test]
fn entities_that_never_existed_are_faults() {
    for &(name, record) in ALL {
        let future = |world: &mut World| {
            let entity = world.spawn((A(1), Lamp));
            Entity::from_parts(entity.index(), entity.version() + 1)
        };
        let other_world = |_: &mut World| Entity::from_parts(500, 1);
        let targets: [fn(&mut World) -> Entity; 3] = [|_| Entity::NULL, future, other_world];
        for target in targets {
            let mut world = world();
            let target = target(&mut world);
            let before = world.entity_count();
            let report = report_of(&mut world, |commands| {
                commands.spawn(Tag);
                record(commands, target);
                commands.spawn(Tag);
                record(commands, target);
                commands.spawn(Tag);
            });
            assert_eq!((report.failed(), report.skipped()), (2, 0), "{name} of {target}");
            let numbers: Vec<_> = report.failures().iter().map(|failed| failed.number()).collect();
            assert_eq!(numbers, [2, 4], "{name} of {target}");
            assert_eq!(world.entity_count(), before + 3, "{name} of {target}");
            world.check_invariants().unwrap();
        }
    }
}

#[test]
fn a_function_is_never_skipped() {
    let mut world = world();
    let dead = world.spawn(A(1));
    world.despawn(dead).unwrap();
    let report = report_of(&mut world, |commands| {
        commands.run("change the dead", move |entities| {
            entities.get_mut::<A>(dead)?.0 = 2;
            Ok(())
        });
        commands.spawn(Tag);
    });
    assert_eq!((report.failed(), report.skipped(), world.entity_count()), (1, 0, 1));
    let failed = &report.failures()[0];
    assert_eq!((failed.command(), failed.entity()), ("change the dead", Some(dead)));
}

#[test]
fn a_prefab_with_a_dead_member_is_a_fault() {
    let mut world = world();
    let (root, member) = (world.spawn((A(1), Prefab)), world.spawn((A(2), Prefab)));
    world.add(root, Buffer::from([root, member].map(LinkedEntityGroup))).unwrap();
    world.despawn(member).unwrap();
    let report = report_of(&mut world, |commands| {
        let copy = commands.instantiate(root);
        commands.add(copy, Tag);
        commands.spawn(Tag);
    });
    // The source exists. The instance does not, so the second command is skipped.
    assert_eq!((report.failed(), report.skipped()), (1, 1));
    assert_eq!(world.query_filtered::<(), With<Tag>>().count(), 1);
}

#[test]
fn slices_skip_the_members_that_are_gone() {
    let mut world = world();
    let all: Vec<_> = world.spawn_batch((0..10).map(A)).collect();
    for dead in [2, 3, 9] {
        world.despawn(all[dead]).unwrap();
    }
    let ledger = Ledger::new();
    let report = report_of(&mut world, |commands| {
        commands.batch(&all[..2]).add(Glow(1));
        commands.batch(&all).add(Glow(7));
        commands.batch(&all).add_each((0..10).map(|at| ledger.value(at)));
        commands.batch(&all[8..]).set(A(80));
        commands.batch(&all[2..4]).set(A(9));
        commands.batch(&all).despawn();
        commands.batch(&all).remove::<A>();
    });
    assert_eq!(report.skipped(), 3 + 3 + 1 + 2);
    let first = report.first_skipped().unwrap();
    assert!(first.command().ends_with(" to 10 entities"), "{first}");
    assert_eq!((first.number(), first.entity()), (2, Some(all[2])));
    assert_eq!((world.entity_count(), ledger.live()), (0, 0));
}

#[test]
fn the_values_of_a_slice_stay_with_their_entities() {
    let mut world = world();
    let all: Vec<_> = world.spawn_many(Tag, 6).collect();
    world.despawn(all[0]).unwrap();
    world.despawn(all[4]).unwrap();
    let report = report_of(&mut world, |commands| commands.batch(&all).add_each((0..6).map(A)));
    assert_eq!(report.skipped(), 2);
    for at in [1, 2, 3, 5] {
        assert_eq!(world.get(all[at as usize]), Ok(&A(at)));
    }
}

#[test]
fn a_slice_with_a_fault_changes_nothing_and_skips_nothing() {
    let mut world = world();
    let [one, dead, other] = [(); 3].map(|()| world.spawn(A(1)));
    world.despawn(dead).unwrap();
    world.remove::<A>(other).unwrap();
    let report = report_of(&mut world, |commands| {
        commands.batch(&[one, dead, other]).set(A(2));
        commands.batch(&[dead, one, Entity::NULL]).set(A(3));
    });
    assert_eq!((report.failed(), report.skipped()), (2, 0));
    assert_eq!(world.get(one), Ok(&A(1)));
}

#[test]
fn faults_are_reported_in_the_order_of_playback_and_none_cancels_another() {
    for others in [1, 30] {
        let mut world = world();
        let (stone, orc) = (world.spawn(Tag), world.spawn(A(1)));
        let report = report_of(&mut world, |commands| {
            commands.set_sort_key(Some(2));
            commands.set(stone, A(1));
            (0..others).for_each(|at| commands.set(orc, A(at)));
            commands.set(Entity::NULL, A(1));
            commands.set_sort_key(Some(1));
            commands.add(orc, (A(1), A(2)));
            let lost = commands.instantiate(Entity::NULL);
            commands.add(lost, Tag);
            commands.set(foreign(), A(1));
        });
        let codes = report
            .failures()
            .iter()
            .map(|failed| (failed.number(), failed.fault().to_string()[..5].to_owned()));
        let others = others as usize;
        let expected =
            [(1, "A0053"), (2, "A0050"), (4, "A0079"), (5, "A0051"), (6 + others, "A0050")];
        assert_eq!(codes.collect::<Vec<_>>(), expected.map(|(at, code)| (at, code.to_owned())));
        assert_eq!((report.skipped(), report.first_skipped().unwrap().number()), (1, 3));
        assert_eq!(world.get(orc), Ok(&A(others as u32 - 1)));
    }
}

#[test]
fn thousands_of_faults_are_counted() {
    let mut world = world();
    let stone = world.spawn(Tag);
    let report = report_of(&mut world, |commands| {
        (0..5000).for_each(|_| commands.set(stone, A(1)));
        commands.add(stone, Glow(1));
    });
    assert_eq!((report.failed(), report.failures().len()), (5000, 1000));
    assert!(world.has::<Glow>(stone));
}

#[test]
fn skipped_values_are_dropped_once() {
    for reusable in [false, true] {
        for alternates in [false, true] {
            let ledger = Ledger::new();
            let mut world = world();
            let all: Vec<_> = world.spawn_many(Tag, 100).collect();
            all.iter().step_by(3).for_each(|&entity| _ = world.despawn(entity).unwrap());
            let mut buffer =
                if reusable { EntityCommandBuffer::reusable() } else { EntityCommandBuffer::new() };
            let commands = buffer.commands().unwrap();
            for (&entity, at) in all.iter().zip(0..) {
                commands.add(entity, ledger.value(at));
                if alternates {
                    commands.add(entity, (Glow(at), ledger.value(at)));
                    commands.add(entity, Shared::new(Team("t")));
                    commands.add(entity, papers(ledger, at));
                }
                commands.batch(&all[..3]).add(ledger.value(at));
            }
            let recorded = ledger.live();
            let report = world.play(&mut buffer).unwrap();
            assert!(report.skipped() >= 34, "{}", report.skipped());
            let all = world.all_entities();
            let papers = all.iter().filter(|&&entity| world.managed::<Papers>(entity).is_ok());
            let values = (world.query::<&Counted>().count() + papers.count()) as isize;
            let kept = if reusable { recorded } else { 0 };
            assert_eq!(ledger.live(), values + kept);
            drop(buffer);
            assert_eq!(ledger.live(), values);
            drop(world);
            assert_eq!(ledger.live(), 0);
        }
    }
}

/// Returns a managed value that is counted.
fn papers(ledger: &'static Ledger, number: u32) -> Managed<Papers> {
    Managed::new(Papers { value: ledger.value(number), about: Entity::NULL })
}

#[test]
fn spawns_after_a_fault_get_their_own_ids() {
    // Entities with references are created in runs, in which one command fails.
    let mut world = world();
    let mut buffer = EntityCommandBuffer::new();
    let mut commands = world.commands(&mut buffer).unwrap();
    let other = foreign();
    let all: Vec<_> = (0..40)
        .map(|at| commands.spawn(Link(if at % 10 == 5 { other } else { Entity::NULL })))
        .collect();
    commands.run("spawn", |entities| {
        entities.spawn_many(Tag, 3);
        Ok(())
    });
    all.iter().for_each(|&entity| commands.add(entity, A(1)));
    let error = world.play(&mut buffer).unwrap_err();
    let report = error.report().unwrap();
    assert_eq!((report.failed(), report.skipped()), (4, 4));
    for (at, &entity) in all.iter().enumerate() {
        assert_eq!(world.has::<(Link, A)>(entity), at % 10 != 5, "{at}");
    }
    assert_eq!(world.query::<&Tag>().count(), 3);
    assert_eq!(world.entity_count(), 39);
    world.check_invariants().unwrap();
}

#[test]
fn promises_that_are_broken_do_not_cancel_others() {
    let mut world = world();
    let mut buffer = EntityCommandBuffer::new();
    let mut commands = world.commands(&mut buffer).unwrap();
    let lost: Vec<_> = (0..20).map(|at| commands.spawn(A(at))).collect();
    world.despawn_all().unwrap();
    let mut commands = world.commands(&mut buffer).unwrap();
    lost.iter().for_each(|&entity| commands.add(entity, Tag));
    let kept: Vec<_> = (0..20).map(|at| commands.spawn(A(at))).collect();
    let error = world.play(&mut buffer).unwrap_err();
    let report = error.report().unwrap();
    assert_eq!((report.failed(), report.skipped()), (20, 20));
    assert!(matches!(report.failures()[0].fault(), CommandFault::PromiseBroken { .. }));
    assert!((0..).zip(&kept).all(|(at, &entity)| world.get(entity) == Ok(&A(at))));
    assert_eq!(world.entity_count(), 20);
    world.check_invariants().unwrap();
}

#[test]
fn coalesced_runs_report_the_same_as_long_runs() {
    // Each command is followed by a command of another kind, or by commands of its own kind.
    let play = |alternates: bool| {
        let mut world = world();
        let all: Vec<_> = world.spawn_batch((0..30).map(A)).collect();
        for &dead in &[all[4], all[17], all[29]] {
            world.despawn(dead).unwrap();
        }
        let report = report_of(&mut world, |commands| {
            commands.despawn(all[2]);
            if alternates {
                for &entity in &all {
                    commands.add(entity, Tag);
                    commands.set(entity, A(5));
                }
            } else {
                all.iter().for_each(|&entity| commands.add(entity, Tag));
                all.iter().for_each(|&entity| commands.set(entity, A(5)));
            }
        });
        let first = report.first_skipped().unwrap();
        let first = (first.command().to_owned(), first.fault());
        let tagged = world.query_filtered::<&A, With<Tag>>().iter().filter(|a| a.0 == 5).count();
        (report.skipped(), first, tagged)
    };
    assert_eq!(play(true), play(false));
    let fault = CommandFault::Entity(EntityError::NoSuchEntity {
        entity: Entity::from_parts(2, 1),
        slot_version: Some(2),
    });
    assert_eq!(play(true), (8, ("add `game::Tag` to 2v1".to_owned(), fault), 26));
}

#[test]
fn a_report_without_faults_is_empty() {
    let mut world = world();
    let mut buffer = EntityCommandBuffer::new().named("quiet");
    for _ in 0..2 {
        let report = world.play(&mut buffer).unwrap();
        assert_eq!((report.skipped(), report.failed(), report.failures().len()), (0, 0, 0));
        assert_eq!(report.first_skipped(), None);
        assert_eq!(report.buffer(), buffer.label());
        buffer.clear().unwrap();
        buffer.commands().unwrap().spawn(A(1));
    }
}
