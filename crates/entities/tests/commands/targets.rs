//! Missing targets: the command reports the error of the world's method. In lenient worlds, despawned targets are skipped instead.

use ancho_entities::{
    Buffer, CommandError, CommandFault, CommandRecorder, ComponentType, Entity,
    EntityCommandBuffer, EntityError, Linked, LinkedEntityGroup, PlaybackReport, Prefab,
    QueryDescriptor, Shared, World, WorldSettings,
};

use crate::common::*;

type Record = fn(&mut CommandRecorder, Entity);
type Direct = fn(&mut World, Entity) -> Result<(), EntityError>;

/// Returns an error if the entity does not exist.
fn there(world: &World, entity: Entity) -> Result<(), EntityError> {
    world.entity_archetype(entity).map(drop)
}

/// Every command with one target, and the world's method for it.
const ALL: &[(&str, Record, Direct)] = &[
    ("despawn", |c, e| c.despawn(e), |w, e| w.despawn(e).map(drop)),
    ("despawn_slice", |c, e| c.batch(&[e]).despawn(), |w, e| w.batch(&[e]).despawn().map(drop)),
    ("add", |c, e| c.add(e, A(1)), |w, e| w.add(e, A(1)).map(drop).map_err(|r| r.error)),
    ("add ()", |c, e| c.add(e, ()), |w, e| w.add(e, ()).map(drop).map_err(|r| r.error)),
    (
        "add to a slice",
        |c, e| c.batch(&[e]).add(A(1)),
        |w, e| w.add(e, A(1)).map(drop).map_err(|r| r.error),
    ),
    ("set", |c, e| c.set(e, A(1)), |w, e| w.set(e, A(1)).map_err(|r| r.error)),
    ("set of a slice", |c, e| c.batch(&[e]).set(A(1)), |w, e| w.set(e, A(1)).map_err(|r| r.error)),
    ("remove", |c, e| c.remove::<A>(e), |w, e| w.remove::<A>(e).map(drop)),
    ("remove from a slice", |c, e| c.batch(&[e]).remove::<A>(), |w, e| w.remove::<A>(e).map(drop)),
    (
        "add_types",
        |c, e| c.add_types(e, &[ComponentType::of::<A>()]),
        |w, e| w.add_types(e, &[ComponentType::of::<A>()]).map(drop),
    ),
    (
        "remove_types",
        |c, e| c.remove_types(e, &[ComponentType::of::<A>()]),
        |w, e| w.remove_types(e, &[ComponentType::of::<A>()]).map(drop),
    ),
    (
        "add_shared",
        |c, e| c.add(e, Shared::new(Team("t"))),
        |w, e| w.add(e, Shared::new(Team("t"))).map(drop).map_err(|r| r.error),
    ),
    (
        "set_shared",
        |c, e| c.set(e, Shared::new(Team("t"))),
        |w, e| w.set(e, Shared::new(Team("t"))).map_err(|r| r.error),
    ),
    (
        "set_shared_slice",
        |c, e| c.batch(&[e]).set(Shared::new(Team("t"))),
        |w, e| w.batch(&[e]).set_shared(Team("t")).map(drop),
    ),
    (
        "remove_shared",
        |c, e| c.remove::<Shared<Team>>(e),
        |w, e| w.remove::<Shared<Team>>(e).map(drop),
    ),
    (
        "add_buffer",
        |c, e| c.add_buffer(e, [Item(1)]),
        |w, e| w.add(e, Buffer::from([Item(1)])).map(drop).map_err(|r| r.error),
    ),
    (
        "set_buffer",
        |c, e| c.set_buffer(e, [Item(1)]),
        |w, e| w.set(e, Buffer::from([Item(1)])).map_err(|r| r.error),
    ),
    (
        "append",
        |c, e| c.append(e, Item(1)),
        |w, e| w.buffer_mut::<Item>(e).map(|mut b| b.push(Item(1))),
    ),
    (
        "set_component_enabled",
        |c, e| c.set_component_enabled::<Lamp>(e, false),
        |w, e| w.set_component_enabled::<Lamp>(e, false).map(drop),
    ),
    (
        "set_type_enabled of what cannot be switched",
        |c, e| c.set_type_enabled(e, ComponentType::of::<A>(), false),
        |w, e| w.set_type_enabled(e, ComponentType::of::<A>(), false).map(drop),
    ),
    ("set_enabled", |c, e| c.set_enabled(e, false), |w, e| w.set_enabled(e, false).map(drop)),
    ("swap_components", |c, e| c.swap_components(e, e), |w, e| w.swap_components(e, e)),
    ("set_name", |c, e| c.set_name(e, "x"), |w, e| w.set_name(e, "x")),
    (
        "add to a group",
        |c, e| c.batch(Linked(e)).add(A(1)),
        |w, e| w.add(e, A(1)).map(drop).map_err(|r| r.error),
    ),
    (
        "set of a group",
        |c, e| c.batch(Linked(e)).set(A(1)),
        |w, e| {
            there(w, e)?;
            if w.has::<A>(e) { w.set(e, A(1)).map_err(|r| r.error) } else { Ok(()) }
        },
    ),
    (
        "remove from a group",
        |c, e| c.batch(Linked(e)).remove::<A>(),
        |w, e| {
            there(w, e)?;
            w.remove::<A>(e).map(drop)
        },
    ),
    (
        "add to a group that matches",
        |c, e| c.batch(Linked(e).matching(QueryDescriptor::of::<&A, ()>())).add(Text("x".into())),
        |w, e| {
            there(w, e)?;
            let matches = w.query::<&A>().matches(e);
            if matches { w.add(e, Text("x".into())).map(drop).map_err(|r| r.error) } else { Ok(()) }
        },
    ),
    (
        "set of a group that matches",
        |c, e| c.batch(Linked(e).matching(QueryDescriptor::of::<&Lamp, ()>())).set(A(1)),
        |w, e| {
            there(w, e)?;
            let matches = w.has::<(A, Lamp)>(e);
            if matches { w.set(e, A(1)).map_err(|r| r.error) } else { Ok(()) }
        },
    ),
    (
        "remove from a group that matches",
        |c, e| c.batch(Linked(e).matching(QueryDescriptor::of::<&Lamp, ()>())).remove::<A>(),
        |w, e| {
            there(w, e)?;
            if w.has::<Lamp>(e) { w.remove::<A>(e).map(drop) } else { Ok(()) }
        },
    ),
    ("instantiate", |c, e| _ = c.instantiate(e), |w, e| w.instantiate(e).map(drop)),
    (
        "instantiate_many",
        |c, e| _ = c.instantiate_many(e, 3),
        |w, e| w.instantiate_many(e, 3).map(drop),
    ),
];

/// Creates a world and one target of each kind: null, dead, of another world, cleanup-only, without components, and
/// with many.
fn before(strict: bool) -> (Checked, Vec<(&'static str, Entity)>) {
    let mut world =
        Checked(World::with_settings("Simulation", WorldSettings::new().strict(strict)));
    let dead = world.spawn(A(1));
    world.despawn(dead).unwrap();
    let reused = world.spawn(A(2));
    assert_eq!(reused.index(), dead.index());
    let residue = world.spawn((A(1), Stays(1)));
    world.despawn(residue).unwrap();
    let empty = world.spawn(());
    let full = world.spawn((A(1), Lamp, Shared::new(Team("f")), Buffer::from([Item(1)])));
    let targets = vec![
        ("null", Entity::NULL),
        ("dead", dead),
        ("of another world", Entity::from_parts(500, 1)),
        ("residue", residue),
        ("empty", empty),
        ("full", full),
    ];
    (world, targets)
}

#[test]
fn targets_of_all_kinds_are_taken_and_refused_as_by_the_world() {
    for strict in [false, true] {
        for &(name, record, direct) in ALL {
            for (kind, target) in before(strict).1 {
                let what = format!("{name} of one that is {kind}, strict: {strict}");
                let (mut world, mut expected) = (before(strict).0, before(strict).0);
                let said = direct(&mut expected, target);
                let played = report_of(&mut world, |commands| record(commands, target));
                match (said, played) {
                    (Ok(()), Ok(report)) => assert_eq!(report.skipped(), 0, "{what}"),
                    (Err(_), Ok(report)) if kind == "dead" && !strict => {
                        let skipped = report.first_skipped().unwrap();
                        assert_eq!((report.skipped(), skipped.number()), (1, 1), "{what}");
                        assert_eq!(skipped.entity(), Some(target), "{what}");
                    }
                    (Err(error), Err(CommandError::Failed(report))) => {
                        assert_eq!((report.failed(), report.skipped()), (1, 0), "{what}");
                        let failed = &report.failures()[0];
                        let fault = CommandFault::Entity(error);
                        assert_eq!((failed.number(), failed.fault()), (1, fault), "{what}");
                    }
                    (said, played) => panic!("{what}: {played:?} instead of {said:?}"),
                }
                same(&world, &expected, name, &what);
            }
        }
    }
}

/// Records commands and plays them.
fn report_of(
    world: &mut World,
    record: impl FnOnce(&mut CommandRecorder),
) -> Result<PlaybackReport, CommandError> {
    let mut buffer = EntityCommandBuffer::new();
    record(buffer.commands().unwrap());
    world.play(&mut buffer)
}

/// Checks that the worlds are the same. Ids reserved for entities that were not created may be used up.
#[track_caller]
fn same(world: &World, expected: &World, name: &str, what: &str) {
    // Instances get other ids.
    if !name.starts_with("instantiate") {
        assert_eq!(world.state_hash(), expected.state_hash(), "{what}");
        assert_eq!(world.all_entities(), expected.all_entities(), "{what}");
    }
    assert_eq!(world.entity_count(), expected.entity_count(), "{what}");
    world.check_invariants().unwrap();
}

#[test]
fn later_targets_of_a_run_are_refused_as_well() {
    // One command in the middle of a long run of the same kind fails.
    for &(name, record, direct) in ALL {
        for strict in [false, true] {
            for (kind, target) in before(strict).1 {
                let what = format!("{name} of one that is {kind}, strict: {strict}");
                let build = || {
                    let mut world = before(strict).0;
                    let set =
                        || (Text("x".into()), Lamp, Shared::new(Team("f")), Buffer::<Item>::new());
                    let many: Vec<_> = (0..8).map(|_| world.spawn(set())).collect();
                    (world, many)
                };
                let ((mut world, many), (mut expected, _)) = (build(), build());
                let mut targets = many;
                targets.insert(5, target);
                let mut failed = Vec::new();
                for (number, &target) in (1..).zip(&targets) {
                    if direct(&mut expected, target).is_err() {
                        failed.push(number);
                        if strict {
                            break;
                        }
                    }
                }
                let played = report_of(&mut world, |commands| {
                    for &target in &targets {
                        record(commands, target);
                    }
                });
                let mut said: Vec<_> = match &played {
                    Ok(report) => report.first_skipped().into_iter().collect(),
                    Err(CommandError::Failed(report)) => {
                        report.failures().iter().chain(report.first_skipped()).collect()
                    }
                    Err(error) => panic!("{what}: {error}"),
                };
                said.sort_by_key(|command| command.number());
                let said: Vec<_> = said.iter().map(|command| command.number()).collect();
                assert_eq!(said, failed, "{what}: {played:?}");
                assert_eq!(world.entity_count(), expected.entity_count(), "{what}");
                same(&world, &expected, name, &what);
            }
        }
    }
}

/// Returns whether the fault is a missing entity, as far as a check before playback can tell.
fn is_missing(fault: &CommandFault) -> bool {
    matches!(
        fault,
        CommandFault::Entity(EntityError::NoSuchEntity { .. })
            | CommandFault::ForeignPlaceholder { .. }
    )
}

#[test]
fn a_check_reports_the_same_targets_as_playback() {
    for strict in [false, true] {
        for &(name, record, _) in ALL {
            let mut targets = before(strict).1;
            targets.push(("of another buffer", foreign()));
            for (kind, target) in targets {
                let what = format!("{name} of one that is {kind}, strict: {strict}");
                let mut world = before(strict).0;
                let mut buffer = EntityCommandBuffer::new();
                let commands = buffer.commands().unwrap();
                commands.spawn(Tag);
                record(commands, target);
                let checked = world.check_commands(&buffer);
                let checked = checked.err().map(|error| first_failure::<()>(Err(error)));
                let checked = checked.map(|failed| (failed.number(), failed.fault()));
                let played = match world.play(&mut buffer) {
                    // The check reports commands that playback skips, too.
                    Ok(report) => report.first_skipped().cloned(),
                    error => Some(first_failure(error)),
                };
                let played = played.map(|failed| (failed.number(), failed.fault()));
                let played = played.filter(|(_, fault)| is_missing(fault));
                assert_eq!(checked, played, "{what}");
            }
        }
    }
}

type RecordSlice = fn(&mut CommandRecorder, &[Entity]);

const SLICES: &[(&str, RecordSlice)] = &[
    ("despawn_slice", |c, all| c.batch(all).despawn()),
    ("add to a slice", |c, all| c.batch(all).add(Text("x".into()))),
    ("set of a slice", |c, all| c.batch(all).set(A(7))),
    ("remove from a slice", |c, all| c.batch(all).remove::<A>()),
    ("set_shared_slice", |c, all| c.batch(all).set(Shared::new(Team("t")))),
];

#[test]
fn a_check_covers_whole_slices_and_prefabs() {
    for &(name, record) in SLICES {
        let (mut world, targets) = before(true);
        let (full, dead) = (targets[5].1, targets[1].1);
        let prefab = world.spawn((A(1), Shared::new(Team("f")), Prefab));
        let check = |targets: &[Entity]| {
            let mut buffer = EntityCommandBuffer::new();
            record(buffer.commands().unwrap(), targets);
            world.check_commands(&buffer)
        };
        check(&[full]).unwrap_or_else(|error| panic!("{name}: {error}"));
        let said = first_failure(check(&[full, dead])).fault();
        assert!(is_missing(&said), "{name}: {said}");
        let said = check(&[full, prefab]);
        if name == "despawn_slice" {
            said.unwrap_or_else(|error| panic!("{name}: {error}"));
        } else {
            let minds = CommandFault::TouchesPrefab { entity: prefab };
            assert_eq!(first_failure(said).fault(), minds, "{name}");
        }
    }
}

#[test]
fn a_slice_is_changed_as_a_whole_or_not_at_all() {
    for strict in [false, true] {
        for &(name, record) in SLICES {
            let others = before(strict).1;
            let mut others: Vec<_> =
                others.into_iter().filter(|&(kind, _)| kind != "full").collect();
            others.push(("of another buffer", foreign()));
            for (kind, other) in others {
                let (mut world, targets) = before(strict);
                let full = targets[5].1;
                let hash = world.state_hash();
                let played = play(&mut world, |commands| record(commands, &[full, other]));
                if played.is_err() {
                    let what = format!("{name} of one that is {kind}, strict: {strict}");
                    assert_eq!(world.state_hash(), hash, "{what}");
                }
            }
        }
    }
}

#[test]
fn a_batch_is_created_as_a_whole_or_not_at_all() {
    for reusable in [false, true] {
        let mut world = world();
        let old = world.spawn(A(1));
        let mut buffer =
            if reusable { EntityCommandBuffer::reusable() } else { EntityCommandBuffer::new() };
        buffer.commands().unwrap().spawn_batch([old, foreign(), old].map(Link));
        let fault = first_failure(world.play(&mut buffer)).fault();
        assert!(matches!(fault, CommandFault::ForeignPlaceholder { .. }), "{fault}");
        assert_eq!(world.entity_count(), 1);
    }
}

#[test]
fn placeholders_of_another_buffer_are_refused_as_targets() {
    for &(name, record, _) in ALL {
        let (mut world, placeholder) = (world(), foreign());
        let (number, fault) = fails(&mut world, |commands| {
            commands.spawn(Tag);
            record(commands, placeholder);
            commands.spawn(Tag);
        });
        assert_eq!(
            (number, fault),
            (2, CommandFault::ForeignPlaceholder { placeholder }),
            "{name}"
        );
        assert_eq!(world.entity_count(), 2, "{name}");
    }
}

#[test]
fn placeholders_from_before_a_clear_are_refused_as_targets() {
    for &(name, record, _) in ALL {
        for is_played in [false, true] {
            let mut world = world();
            let mut buffer = EntityCommandBuffer::new();
            let placeholder = buffer.commands().unwrap().spawn(Tag);
            if is_played {
                world.play(&mut buffer).unwrap();
            }
            buffer.clear().unwrap();
            let commands = buffer.commands().unwrap();
            commands.spawn(Tag);
            record(commands, placeholder);
            let stopped = first_failure(world.play(&mut buffer));
            let fault = CommandFault::ForeignPlaceholder { placeholder };
            assert_eq!((stopped.number(), stopped.fault()), (2, fault), "{name}");
        }
    }
}

#[test]
fn placeholders_of_entities_created_later_are_refused_as_targets() {
    let mut wrong = Vec::new();
    for &(name, record, _) in ALL {
        let mut world = world();
        let mut buffer = EntityCommandBuffer::new();
        let commands = buffer.commands().unwrap();
        commands.set_sort_key(Some(2));
        let placeholder = commands.spawn((A(1), Lamp, Buffer::<Item>::new()));
        commands.set_sort_key(Some(1));
        record(commands, placeholder);
        let played = world.play(&mut buffer);
        let count = world.entity_count();
        world.check_invariants().unwrap();
        let Err(CommandError::Failed(report)) = played else {
            wrong.push(format!("{name}: {played:?}, and {count} entities are there"));
            continue;
        };
        let (failed, fault) = (&report.failures()[0], CommandFault::NotCreatedYet { placeholder });
        assert_eq!((failed.number(), failed.fault()), (1, fault), "{name}");
        // The other command creates the entity.
        assert_eq!((report.failed(), count), (1, 1), "{name}");
        assert!(world.exists(buffer.resolve(placeholder).unwrap()), "{name}");
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn reserved_ids_do_not_exist_before_their_creation() {
    for &(name, record, direct) in ALL {
        let mut world = world();
        let mut buffer = EntityCommandBuffer::new();
        let mut commands = world.commands(&mut buffer).unwrap();
        commands.set_sort_key(Some(2));
        let id = commands.spawn((A(1), Lamp, Buffer::<Item>::new()));
        commands.set_sort_key(Some(1));
        record(&mut commands, id);
        let said = direct(&mut crate::common::world(), id);
        let played = world.play(&mut buffer);
        assert_eq!(played.is_err(), said.is_err(), "{name}: {played:?}");
        world.check_invariants().unwrap();
    }
}

#[test]
fn the_world_refuses_placeholders() {
    let mut world = world();
    let placeholder = foreign();
    assert!(placeholder.is_placeholder() && !world.exists(placeholder));
    for &(name, _, direct) in ALL {
        // Commands that remove skip missing entities.
        let is_lenient = direct(&mut crate::common::world(), Entity::NULL).is_ok();
        let said = direct(&mut world, placeholder);
        assert_eq!(said.is_ok(), is_lenient, "{name}");
        if let Err(error) = said {
            assert!(
                matches!(error, EntityError::NoSuchEntity { entity, .. } if entity == placeholder)
            );
        }
    }
}

#[test]
fn a_placeholder_that_no_command_creates_is_refused() {
    // The index is past the end of the batch.
    let mut world = world();
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    let many = commands.spawn_many(A(1), 3);
    assert_eq!((many.get(3), many.get(usize::MAX)), (None, None));
    let last = many.get(2).unwrap();
    let beyond = Entity::from_parts(last.index() + 1, last.version());
    assert!(beyond.is_placeholder());
    commands.despawn(beyond);
    let stopped = first_failure(world.play(&mut buffer));
    let fault = CommandFault::NotCreatedYet { placeholder: beyond };
    assert_eq!((stopped.number(), stopped.fault()), (2, fault));
    assert_eq!(buffer.resolve(beyond), None);
}

/// Checks that a command destroys a slice as the world's method does, in a strict world.
#[track_caller]
fn despawns_as_the_world(slice: fn([Entity; 2]) -> [Entity; 2]) {
    let build = || {
        let mut world =
            Checked(World::with_settings("Simulation", WorldSettings::new().strict(true)));
        let [root, member] = [1, 2].map(|at| world.spawn(A(at)));
        let group = Buffer::from([root, member].map(LinkedEntityGroup));
        world.add(root, group).unwrap();
        (world, slice([root, member]))
    };
    let ((mut world, slice), (mut expected, _)) = (build(), build());
    let said = expected.batch(&slice).despawn();
    let played = play(&mut world, |commands| commands.batch(&slice).despawn());
    assert_eq!(played.is_ok(), said.is_ok(), "{said:?}, and {played:?}");
    assert_eq!(world.entity_count(), expected.entity_count());
}

#[test]
fn in_a_strict_world_a_slice_may_name_an_entity_twice() {
    despawns_as_the_world(|[_, member]| [member, member]);
}

#[test]
fn in_a_strict_world_a_slice_may_name_members_of_a_group() {
    despawns_as_the_world(|[root, member]| [root, member]);
}
