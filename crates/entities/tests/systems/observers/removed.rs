//! The `Removed` parameter.

use ancho_entities::{Commands, FixedStep, IntoSystem, Removed, Single, World};

use super::{A, B, Log, Tag, b};

#[test]
fn removed_lists_entities_since_the_system_last_ran() {
    let (mut world, log) = (World::new("Observed"), Log::new());
    let seen = log.clone();
    world.add_system(move |removed: Removed<A>| seen.push(removed.iter().collect::<Vec<_>>()));
    let [orc, elf, dwarf] = [(); 3].map(|()| world.spawn((A(1), Tag)));
    world.remove::<A>(orc).unwrap();
    world.despawn(elf).unwrap();
    world.remove::<Tag>(dwarf).unwrap();
    world.update(0.1);
    world.update(0.1);
    assert_eq!(log.take(), [vec![orc, elf], vec![]]);
    let mut other = World::new("Other");
    other.move_entities_from(&mut world).unwrap();
    world.update(0.1);
    assert_eq!(log.take(), [[dwarf]]);
}

#[test]
fn removed_holds_the_net_effect_of_each_delivery() {
    let (mut world, log) = (World::new("Observed"), Log::new());
    let seen = log.clone();
    let [orc, elf] = [(); 2].map(|()| world.spawn(A(1)));
    let mut step = 0;
    world.add_system(
        (move |mut commands: Commands| {
            step += 1;
            match step {
                1 => {
                    commands.remove::<A>(orc);
                    commands.add(orc, A(2));
                    commands.remove::<A>(elf);
                }
                2 => commands.add(elf, A(3)),
                _ => {}
            }
        })
        .named("change"),
    );
    world.add_system((move |removed: Removed<A>| seen.push(removed.len())).after("change"));
    world.update(0.1);
    world.update(0.1);
    assert_eq!(log.take(), [1, 0]);
}

#[test]
fn each_reader_has_its_own_position() {
    let (mut world, log) = (World::new("Observed"), Log::new());
    let (often, seldom) = (log.clone(), log.clone());
    world.add_system(move |removed: Removed<A>| often.push(("often", removed.len())));
    let seldom =
        (move |removed: Removed<(A, B)>| seldom.push(("seldom", removed.len()))).named("seldom");
    world.add_system(seldom.enabled(false));
    for _ in 0..3 {
        let both = world.spawn((A(1), b("x")));
        world.despawn(both).unwrap();
        world.update(0.1);
    }
    assert_eq!(log.take(), [("often", 1); 3]);
    world.set_system_enabled("seldom", true).unwrap();
    world.update(0.1);
    let mut last = log.take();
    last.sort_unstable();
    assert_eq!(last, [("often", 0), ("seldom", 6)]);
}

#[test]
fn a_group_that_makes_no_step_loses_nothing_and_later_steps_read_once() {
    let (mut world, log) = (World::new("Observed"), Log::new());
    let seen = log.clone();
    world.add_system((move |removed: Removed<A>| seen.push(removed.len())).in_group(FixedStep));
    world.set_timestep(FixedStep, 1.0).unwrap();
    world.update(0.5);
    log.take();
    let orc = world.spawn(A(1));
    world.despawn(orc).unwrap();
    world.update(0.25);
    assert_eq!(log.take(), [], "no step");
    world.update(3.0);
    assert_eq!(log.take(), [1, 0, 0]);
}

#[test]
fn a_system_that_lacks_another_parameter_gets_the_entities_later() {
    let (mut world, log) = (World::new("Observed"), Log::new());
    let seen = log.clone();
    world.add_system(move |removed: Removed<A>, _: Single<&Tag>| seen.push(removed.len()));
    let orc = world.spawn(A(1));
    world.despawn(orc).unwrap();
    assert!(world.try_update(0.1).is_err());
    world.spawn(Tag);
    world.try_update(0.1).unwrap();
    world.try_update(0.1).unwrap();
    assert_eq!(log.take(), [1, 0]);
}

#[test]
fn a_snapshot_clears_the_list() {
    let (mut world, log) = (World::new("Observed"), Log::new());
    let seen = log.clone();
    world.add_system(move |removed: Removed<A>| seen.push(removed.len()));
    let orc = world.spawn(A(1));
    let mut snapshot = world.fork().unwrap();
    world.despawn(orc).unwrap();
    world.restore(&mut snapshot).unwrap();
    world.update(0.1);
    assert_eq!(log.take(), [0]);
    world.despawn(orc).unwrap();
    world.update(0.1);
    assert_eq!(log.take(), [1]);
}

#[test]
fn types_are_observed_no_longer_when_their_readers_are_removed() {
    let mut world = World::new("Observed");
    let id = world.add_system(|_: Removed<A>| ());
    let orc = world.spawn(A(1));
    world.despawn(orc).unwrap();
    world.remove_system(id).unwrap();
    for _ in 0..2 {
        let orc = world.spawn(A(1));
        world.despawn(orc).unwrap();
    }
    // A new reader begins with later removals.
    let log = Log::new();
    let seen = log.clone();
    world.add_system(move |removed: Removed<A>| seen.push(removed.len()));
    let orc = world.spawn(A(1));
    world.despawn(orc).unwrap();
    world.update(0.1);
    assert_eq!(log.take(), [1]);
}

/// Removes a component in each of some updates, and returns the number of removals that the reader finds afterwards, and of those
/// that it missed. The reader is disabled meanwhile.
fn after_updates_without_the_reader(updates: usize) -> Vec<(usize, u64)> {
    let (mut world, log) = (World::new("Observed"), Log::new());
    let seen = log.clone();
    let reader = move |removed: Removed<A, 2>| seen.push((removed.len(), removed.missed()));
    world.add_system(reader.named("reader"));
    world.update(0.1);
    world.set_system_enabled("reader", false).unwrap();
    log.take();
    for _ in 0..updates {
        for orc in [(); 3].map(|()| world.spawn(A(1))) {
            world.despawn(orc).unwrap();
        }
        world.update(0.1);
    }
    world.set_system_enabled("reader", true).unwrap();
    world.update(0.1);
    world.update(0.1);
    log.take()
}

#[test]
fn a_bounded_reader_misses_removals_after_its_chances() {
    assert_eq!(after_updates_without_the_reader(0), [(0, 0), (0, 0)]);
    assert_eq!(after_updates_without_the_reader(1), [(3, 0), (0, 0)]);
    assert_eq!(after_updates_without_the_reader(2), [(3, 3), (0, 0)]);
    assert_eq!(after_updates_without_the_reader(100), [(3, 297), (0, 0)]);
}

#[test]
fn a_bounded_reader_loses_nothing_while_its_group_makes_no_step() {
    let (mut world, log) = (World::new("Observed"), Log::new());
    let seen = log.clone();
    let reader = move |removed: Removed<A, 1>| seen.push((removed.len(), removed.missed()));
    world.add_system(reader.in_group(FixedStep));
    world.set_timestep(FixedStep, 10.0).unwrap();
    world.update(1.0);
    log.take();
    for _ in 0..5 {
        let orc = world.spawn(A(1));
        world.despawn(orc).unwrap();
        world.update(1.0);
    }
    assert_eq!(log.take(), [], "no step");
    world.update(20.0);
    assert_eq!(log.take(), [(5, 0), (0, 0)]);
}

#[test]
fn readers_of_one_type_have_different_bounds() {
    let (mut world, log) = (World::new("Observed"), Log::new());
    let (all, few) = (log.clone(), log.clone());
    let all = move |removed: Removed<A>| all.push((removed.len(), removed.missed()));
    let few = move |removed: Removed<(A, B), 1>| few.push((removed.len(), removed.missed()));
    world.add_system(all.named("all").enabled(false));
    world.add_system(few.named("few").enabled(false).after("all"));
    for _ in 0..4 {
        let both = world.spawn((A(1), b("x")));
        world.despawn(both).unwrap();
        world.update(0.1);
    }
    world.set_system_enabled("all", true).unwrap();
    world.set_system_enabled("few", true).unwrap();
    world.update(0.1);
    assert_eq!(log.take(), [(4, 0), (0, 8)], "the last removals had their chance, too");
    let both = world.spawn((A(1), b("x")));
    world.despawn(both).unwrap();
    world.update(0.1);
    assert_eq!(log.take(), [(1, 0), (2, 0)]);
}

#[test]
fn a_bounded_reader_that_lacks_a_parameter_counts_what_it_missed_once() {
    let (mut world, log) = (World::new("Observed"), Log::new());
    let seen = log.clone();
    world.add_system(move |removed: Removed<A, 1>, _: Single<&Tag>| {
        seen.push((removed.len(), removed.missed()));
    });
    let orc = world.spawn(A(1));
    world.despawn(orc).unwrap();
    assert!(world.try_update(0.1).is_err());
    assert!(world.try_update(0.1).is_err());
    world.spawn(Tag);
    world.try_update(0.1).unwrap();
    world.try_update(0.1).unwrap();
    assert_eq!(log.take(), [(0, 1), (0, 0)]);
}
