//! The order and the frequency of systems.

use ancho_entities::{
    BeginFixedStep, BeginInitialization, BeginPresentation, BeginSimulation, BeginVariableStep,
    CommandPoint, Commands, Component, EndFixedStep, EndInitialization, EndSimulation,
    EndVariableStep, Entity, FixedRateCatchUp, FixedRateSimple, FixedStep, Initialization,
    IntoSystem, Presentation, Query, RateManager, RateTurn, ResMut, Root, Simulation, SystemGroup,
    SystemId, Time, World,
};

use crate::common::{Log, say, take, world};

#[test]
fn groups_run_in_order_and_systems_in_the_order_of_addition() {
    let mut world = world();
    world.add_system(say("draw").in_group(Presentation));
    world.add_system(say("one"));
    world.add_system(say("load").in_group(Initialization));
    world.add_system(say("two"));
    world.add_system(say("step").in_group(FixedStep));
    world.update(0.001);
    assert_eq!(take(&mut world), ["load", "step", "one", "two", "draw"]);
}

#[test]
fn constraints_by_function_name_type_and_id() {
    struct Physics;

    impl SystemGroup for Physics {}

    fn third(mut log: ResMut<Log>) {
        log.0.push("third".to_owned());
    }

    let mut world = world();
    let fourth = world.add_system(say("fourth").after(third));
    world.add_system(third.after("second"));
    world.add_system(say("second").named("second").after(Physics));
    world.add_system(Physics);
    world.add_system(say("first").in_group(Physics));
    world.add_system(say("fifth").after(fourth));
    world.add_system(say("zeroth").before(Physics));
    world.try_update(0.1).unwrap();
    assert_eq!(take(&mut world), ["zeroth", "first", "second", "third", "fourth", "fifth"]);
}

#[test]
fn first_and_last() {
    let mut world = world();
    world.add_system(say("late").last());
    world.add_system(say("middle"));
    world.add_system(say("early").first());
    world.add_system(say("later").last());
    world.try_update(0.1).unwrap();
    assert_eq!(take(&mut world), ["early", "middle", "late", "later"]);
}

#[test]
fn a_cycle_is_reported_with_its_members_and_its_group_does_not_run() {
    fn hen(_: ResMut<Log>) {}

    fn egg(_: ResMut<Log>) {}

    let mut world = world();
    world.add_system(hen.named("hen").before("egg"));
    let egg = world.add_system(egg.named("egg").before("hen"));
    world.add_system(say("beside"));
    world.add_system(say("draw").in_group(Presentation));
    let message = world.try_update(0.1).unwrap_err().to_string();
    assert_eq!(
        message,
        "A0123: the order of the systems of `Simulation` has a cycle: `hen` before `egg` (set by `hen`), `egg` before \
         `hen` (set by `egg`); remove one of these constraints"
    );
    assert_eq!(take(&mut world), ["draw"]);
    world.remove_system(egg).unwrap();
    let unknown = world.sort_systems().unwrap_err().to_string();
    assert!(
        unknown.starts_with("A0124: `hen` of `Simulation` should run before `egg`"),
        "{unknown}"
    );
    world.add_system(say("egg").named("egg"));
    world.try_update(0.1).unwrap();
    assert_eq!(take(&mut world), ["beside", "egg", "draw"]);
}

#[test]
fn targets_of_other_groups_are_errors() {
    let mut world = world();
    world.add_system(say("x").named("x").in_group(Presentation));
    world.add_system(say("y").named("y").after("x"));
    let message = world.try_update(0.1).unwrap_err().to_string();
    assert!(
        message.starts_with(
            "A0126: `y` of `Simulation` should run after `x`, which is in `Presentation`"
        ),
        "{message}"
    );
}

#[test]
fn targets_of_other_groups_that_run_in_the_wanted_order_are_named_as_such() {
    let mut world = world();
    world.add_system(say("x").named("x"));
    world.add_system(say("y").named("y").in_group(Presentation).after("x"));
    assert_eq!(
        world.try_update(0.1).unwrap_err().to_string(),
        "A0126: `y` of `Presentation` should run after `x`, which is in `Simulation`; all systems of `Presentation` \
         run after `x` already; remove `after`"
    );
    let y = world.add_system(say("z").named("z").before("y"));
    let message = world.sort_systems().unwrap_err().to_string();
    let expected = "A0126: `z` of `Simulation` should run before `y`, which is in `Presentation`; all systems of \
                    `Simulation` run before `y` already; remove `before`";
    assert!(message.contains(expected), "{message}");
    world.remove_system(y).unwrap();
}

#[test]
fn groups_need_not_be_sorted() {
    struct Group;

    impl SystemGroup for Group {}

    let mut world = world();
    world.add_system(Group.unsorted());
    world.add_system(say("a").in_group(Group).last());
    world.add_system(say("b").in_group(Group).first());
    world.update(0.1);
    assert_eq!(take(&mut world), ["a", "b"]);
    world.set_sorting(Group, true).unwrap();
    world.update(0.1);
    assert_eq!(take(&mut world), ["b", "a"]);
}

#[test]
fn systems_added_during_an_update_run_in_the_next_one() {
    let mut world = world();
    let mut done = false;
    world.add_system(move |world: &mut World| {
        if !std::mem::replace(&mut done, true) {
            world.add_system(say("new"));
            world.add_system(say("earlier").in_group(Presentation));
        }
    });
    world.add_system(say("old"));
    world.update(0.1);
    assert_eq!(take(&mut world), ["old", "earlier"], "its group has not begun yet");
    world.update(0.1);
    assert_eq!(take(&mut world), ["old", "new", "earlier"]);
}

#[test]
fn systems_removed_during_an_update_do_not_run_again() {
    let mut world = world();
    let ids = std::sync::Arc::new(std::sync::Mutex::new(Vec::<SystemId>::new()));
    let doomed = std::sync::Arc::clone(&ids);
    let own = world.add_system(move |world: &mut World| {
        for id in doomed.lock().unwrap().drain(..) {
            world.remove_system(id).unwrap();
        }
        world.resource_mut::<Log>().0.push("remove".to_owned());
    });
    let later = world.add_system(say("later"));
    let earlier = world.add_system(say("earlier").first());
    *ids.lock().unwrap() = vec![own, later, earlier];
    world.add_system(say("stays"));
    world.try_update(0.1).unwrap();
    assert_eq!(take(&mut world), ["earlier", "remove", "stays"]);
    assert!(!world.has_system(own) && !world.has_system(later) && !world.has_system(earlier));
    world.try_update(0.1).unwrap();
    assert_eq!(take(&mut world), ["stays"]);
}

#[test]
fn a_group_can_be_removed_from_within() {
    struct Group;

    impl SystemGroup for Group {}

    let mut world = world();
    let group = world.add_system(Group);
    let killer = move |world: &mut World| world.remove_system(group).unwrap();
    let killer = world.add_system(killer.in_group(Group));
    world.add_system(say("never").in_group(Group));
    world.add_system(say("after").after(Group));
    let errors = world.try_update(0.1);
    assert!(errors.is_ok(), "{errors:?}");
    assert_eq!(take(&mut world), ["after"]);
    assert!(!world.has_system(group) && !world.has_system(killer));
    assert!(world.try_update(0.1).unwrap_err().to_string().starts_with("A0124: "));
}

#[test]
fn fixed_steps_have_their_own_time() {
    let mut world = world();
    let tick = |time: Time, mut log: ResMut<Log>| {
        log.0.push(format!("{} {}", time.elapsed(), time.delta()));
    };
    world.add_system(tick.in_group(FixedStep));
    world.add_system(
        (|time: Time, mut log: ResMut<Log>| log.0.push(format!("frame {}", time.elapsed())))
            .in_group(Root),
    );
    world.set_rate(FixedStep, FixedRateCatchUp::new(0.125)).unwrap();
    world.set_maximum_delta(0.25).unwrap();
    world.update(0.25);
    assert_eq!(take(&mut world), ["0 0.125", "0.125 0.125", "0.25 0.125", "frame 0.25"]);
    world.update(0.0);
    assert_eq!(take(&mut world), ["frame 0.25"]);
    world.set_timestep(FixedStep, 0.25).unwrap();
    assert_eq!(world.timestep(FixedStep), Ok(Some(0.25)));
    world.update(0.25);
    assert_eq!(take(&mut world), ["0.5 0.25", "frame 0.5"]);
    assert_eq!(
        world.set_timestep(FixedStep, 0.0).unwrap_err().to_string(),
        "A0121: group `FixedStep` keeps its rate: the time step of a group cannot be 0 seconds; pass a finite number \
         above zero"
    );
    assert_eq!(world.timestep(FixedStep), Ok(Some(0.25)));
    world.set_rate(FixedStep, FixedRateSimple::new(0.5)).unwrap();
    world.update(0.1);
    world.update(0.1);
    assert_eq!(take(&mut world).len(), 4);
    world.clear_rate(FixedStep).unwrap();
    world.update(0.1);
    assert_eq!(take(&mut world).len(), 2);
    assert_eq!(
        world.set_timestep(Simulation, 1.5).unwrap_err().to_string(),
        "A0121: group `Simulation` keeps its rate: the time step of a group cannot be 1.5 seconds: the group has no \
         rate manager with a fixed step; set a `FixedRateCatchUp` or a `FixedRateSimple` first"
    );
}

#[test]
fn the_groups_of_every_world_are_set_up_before_the_first_system() {
    let mut world = world();
    assert_eq!(world.find_system(FixedStep), None, "nothing needs them yet");
    world.set_timestep(FixedStep, 0.5).unwrap();
    assert_eq!(world.timestep(FixedStep), Ok(Some(0.5)));

    let mut world = crate::common::world();
    world.set_rate(FixedStep, FixedRateSimple::new(0.25)).unwrap();
    world.add_system(
        (|time: Time, mut log: ResMut<Log>| log.0.push(time.delta().to_string()))
            .in_group(FixedStep),
    );
    world.update(0.1);
    assert_eq!(take(&mut world), ["0.25"]);

    let mut world = crate::common::world();
    world.set_system_enabled(Simulation, false).unwrap();
    world.add_system(say("never"));
    world.update(0.1);
    assert!(take(&mut world).is_empty());

    let mut world = crate::common::world();
    world.set_sorting(Simulation, false).unwrap();
    world.add_system(say("a").named("a").after("b"));
    world.add_system(say("b").named("b"));
    world.update(0.1);
    assert_eq!(take(&mut world), ["a", "b"]);
    crate::common::world().clear_rate(FixedStep).unwrap();
}

#[test]
fn a_rate_manager_set_in_each_step_applies_in_the_next_turn() {
    let turn = RateTurn { time: Time::new(0.0, 0.0), maximum_delta: 1.0, updates: 0 };
    let fresh = FixedRateCatchUp::new(0.125);
    let mut begun = fresh.clone();
    begun.next_update(turn).unwrap();
    for (rate, times) in [(fresh, ["0", "0", "0"]), (begun, ["0", "0.125", "0.125"])] {
        let mut world = world();
        let steps = move |world: &mut World| {
            let elapsed = world.time().elapsed().to_string();
            world.resource_mut::<Log>().0.push(elapsed);
            world.set_rate(FixedStep, rate.clone()).unwrap();
        };
        world.add_system(steps.in_group(FixedStep));
        for _ in times {
            world.try_update(0.25).unwrap();
        }
        assert_eq!(take(&mut world), times);
    }
}

#[test]
fn patches_follow_every_system() {
    let mut world = world();
    world.add_system(say("a"));
    world.add_system(say("b"));
    world.add_system(say("patch").patch());
    world.add_system(say("second").patch());
    let patch = world.add_system(say("off").patch().enabled(false));
    world.update(0.001);
    let lines = take(&mut world);
    let a = lines.iter().position(|line| line == "a").unwrap();
    assert_eq!(lines[a..a + 6], ["a", "patch", "second", "b", "patch", "second"]);
    assert!(!lines.contains(&"off".to_owned()));
    world.remove_system(patch).unwrap();
    world.try_update(0.1).unwrap();
}

#[test]
fn patches_follow_systems_and_points_and_not_groups() {
    /// Spawned at a point, with the point's name.
    #[derive(Component)]
    struct PlayedAt(&'static str);

    fn play_at<P: CommandPoint>(world: &mut World) {
        world.commands_at::<P>().unwrap().commands().unwrap().spawn(PlayedAt(P::name()));
    }

    fn patch(played: Query<(Entity, &PlayedAt)>, mut log: ResMut<Log>, mut commands: Commands) {
        for (entity, PlayedAt(point)) in played.iter() {
            log.0.push((*point).to_owned());
            commands.despawn(entity);
        }
        log.0.push("patch".to_owned());
    }

    let mut world = world();
    world.add_system(patch.patch());
    world.add_system(say("system"));
    for record in [
        play_at::<BeginInitialization>,
        play_at::<EndInitialization>,
        play_at::<BeginSimulation>,
        play_at::<BeginFixedStep>,
        play_at::<EndFixedStep>,
        play_at::<BeginVariableStep>,
        play_at::<EndVariableStep>,
        play_at::<EndSimulation>,
        play_at::<BeginPresentation>,
    ] {
        record(&mut world);
    }
    world.try_update(0.001).unwrap();
    assert_eq!(
        take(&mut world).join(" "),
        "BeginInitialization patch EndInitialization patch \
         BeginSimulation patch BeginFixedStep patch EndFixedStep patch BeginVariableStep patch EndVariableStep patch \
         system patch EndSimulation patch BeginPresentation patch"
    );
    // No step is due, neither by the world's time nor by the clock, which is not read. Points run even without
    // commands.
    world.try_update(0.001).unwrap();
    assert_eq!(
        take(&mut world).join(" "),
        "patch patch patch system patch patch patch",
        "two points of `Initialization`, one of `Simulation`, the system, another point, and one of `Presentation`"
    );
}

#[test]
fn bad_times_are_refused_and_no_system_runs() {
    let mut world = world();
    world.add_system(say("x"));
    for bad in [-0.1, f64::NAN, f64::INFINITY] {
        assert!(world.try_update(bad).unwrap_err().to_string().starts_with("A0120: "));
    }
    assert!(take(&mut world).is_empty());
    assert_eq!(world.time().frame(), 0);
    world.try_update(0.1_f32).unwrap();
    world.try_update(0).unwrap();
    assert_eq!((take(&mut world).len(), world.time().frame()), (2, 2));
}

#[test]
fn an_update_continues_from_a_pushed_time() {
    let mut world = world();
    world.add_system(|time: Time, mut log: ResMut<Log>| {
        log.0.push(format!("{} in {}", time.elapsed(), time.frame()));
    });
    world.try_update(0.25).unwrap();
    world.push_time(Time::new(10.0, 0.0).at_frame(7)).unwrap();
    world.try_update(0.25).unwrap();
    world.try_update(0.25).unwrap();
    assert_eq!(world.pop_time().unwrap().elapsed(), 10.5);
    assert_eq!((world.time().elapsed(), world.time().frame()), (0.25, 1));
    world.try_update(0.25).unwrap();
    assert_eq!(take(&mut world), ["0.25 in 1", "10.25 in 8", "10.5 in 9", "0.5 in 2"]);
    assert!(world.pop_time().is_err());
}

#[test]
fn times_that_a_system_pushes_are_popped_when_it_returns() {
    let mut world = world();
    world.add_system(|world: &mut World| {
        world.push_time(Time::new(100.0, 1.0)).unwrap();
        assert_eq!(world.time().elapsed(), 100.0);
        panic!("before popping");
    });
    world.add_system(|time: Time, mut log: ResMut<Log>| log.0.push(time.elapsed().to_string()));
    assert!(world.try_update(0.25).is_err());
    assert_eq!(take(&mut world), ["0.25"]);
    assert!(world.pop_time().unwrap_err().to_string().starts_with("A0122: "));
}
