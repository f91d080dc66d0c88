//! Function systems that are called directly, and groups without work.

use std::time::Duration;

use ancho_entities::{
    FixedRateSimple, FixedStep, IntoSystem, RateManager, RateTurn, ResMut, SystemKind, Time,
    VariableRate, VariableStep, World,
};

use crate::common::{Log, Shared, say, take, world};

#[test]
fn systems_after_a_failed_one_run() {
    let mut world = world();
    world.add_system((|| panic!("first")).named("first"));
    world.add_system(say("one"));
    world.add_system((|| panic!("second")).named("second"));
    world.add_system((|| Err::<(), _>("third")).named("third"));
    world.add_system(say("two"));
    world.add_system((|| Err::<(), _>("fourth")).named("fourth"));
    for _ in 0..2 {
        let errors = world.try_update(0.1).unwrap_err();
        let systems: Vec<_> = errors.iter().map(|error| error.system()).collect();
        assert_eq!(systems, ["first", "second", "third", "fourth"]);
        assert_eq!(take(&mut world), ["one", "two"]);
    }
}

#[test]
fn each_directly_called_system_has_its_own_version_even_if_it_fails() {
    let mut world = world();
    let systems = [
        world.add_system(|| {}),
        world.add_system(|| panic!("on purpose")),
        world.add_system(|| Err::<(), _>("on purpose")),
        world.add_system(|| {}),
    ];
    world.try_update(0.1).unwrap_err();
    let ran = systems.map(|id| world.system_info(id).unwrap().last_run);
    assert!(ran.is_sorted_by(|earlier, later| later.is_newer_than(*earlier)), "{ran:?}");
}

#[test]
fn the_order_is_available_during_an_update() {
    let mut world = world();
    world.add_system(say("last").named("last").last());
    world.add_system(
        (|world: &mut World| {
            for _ in 0..2 {
                let order = world.system_order();
                let functions = order.iter().filter(|info| info.kind == SystemKind::Function);
                let names = functions.map(|info| info.name.clone()).collect::<Vec<_>>().join(" ");
                world.resource_mut::<Log>().0.push(names);
                // From now on the group must be sorted again.
                world.add_system(say("new").named("new"));
            }
        })
        .named("asks"),
    );
    world.try_update(0.1).unwrap();
    assert_eq!(take(&mut world), ["asks last", "asks new last", "last"]);
}

#[test]
fn a_fixed_group_that_was_empty_has_nothing_to_catch_up_with() {
    let mut world = world();
    world.add_system(|| {});
    world.set_rate(FixedStep, FixedRateSimple::new(0.5)).unwrap();
    for _ in 0..4 {
        world.try_update(0.1).unwrap();
    }
    let times = |time: Time, mut log: ResMut<Log>| log.0.push(time.elapsed().to_string());
    world.add_system(times.in_group(FixedStep));
    world.try_update(0.1).unwrap();
    assert_eq!(take(&mut world), ["2"]);
}

#[test]
fn the_clock_is_not_read_while_a_variable_group_is_empty() {
    for (has_patch, is_measured) in [(false, false), (true, false), (false, true)] {
        let looks = Shared::default();
        let clock = {
            let looks = looks.clone();
            move || {
                looks.push("look");
                Duration::from_secs(1)
            }
        };
        let mut world = world();
        world.add_system(|| {});
        if has_patch {
            world.add_system((|| {}).patch());
        }
        world.profile_systems(is_measured);
        world.set_rate(VariableStep, VariableRate::default().with_clock(clock)).unwrap();
        // In the first update groups and points start, and are not yet known to be empty.
        world.try_update(0.1).unwrap();
        looks.take();
        world.try_update(0.1).unwrap();
        assert_eq!(looks.take(), [""; 0]);
        world.add_system(say("update").in_group(VariableStep));
        world.try_update(0.1).unwrap();
        assert_eq!(looks.take(), ["look"]);
    }
}

/// The function that computes the next update of a rate.
type Next = fn() -> Option<Time>;

/// A rate that calls the function in its second turn.
struct Second(Next, u32);

impl RateManager for Second {
    fn next_update(&mut self, _: RateTurn) -> Option<Time> {
        self.1 += 1;
        if self.1 == 2 { self.0() } else { None }
    }
}

#[test]
fn failing_rate_managers_of_empty_groups_are_reported() {
    let faults: [(Next, &str); 2] = [
        (|| panic!("no clock"), "A0105: system `FixedStep` panicked: no clock"),
        (
            || Some(Time::new(0.0, -1.0)),
            "A0120: group `FixedStep` was not updated: the delta time of an update cannot be -1 seconds",
        ),
    ];
    for (fault, told) in faults {
        let mut world = world();
        world.add_system(say("beside"));
        world.set_rate(FixedStep, Second(fault, 0)).unwrap();
        world.try_update(0.25).unwrap();
        let message = world.try_update(0.25).unwrap_err().to_string();
        assert!(message.starts_with(told), "{message}");
        world.try_update(0.25).unwrap();
        assert_eq!(take(&mut world), ["beside"; 3]);
        assert_eq!(world.time().elapsed(), 0.75);
    }
}
