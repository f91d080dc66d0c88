//! The order in which systems that are added together are created and destroyed.

use ancho_entities::{
    CommandPoint, IntoSystem, System, SystemGroup, SystemResult, World, system_type,
};

use crate::common::{Shared, say, take, world};

/// A system that logs its creation, updates and destruction.
struct Told<const N: u32>(Shared);

impl<const N: u32> System for Told<N> {
    fn on_create(&mut self, _: &mut World) -> SystemResult {
        self.0.push(format!("+{N}"));
        Ok(())
    }

    fn on_update(&mut self, _: &mut World) -> SystemResult {
        self.0.push(format!("{N}"));
        Ok(())
    }

    fn on_destroy(&mut self, _: &mut World) -> SystemResult {
        self.0.push(format!("-{N}"));
        Ok(())
    }
}

fn told<const N: u32>(log: &Shared) -> Told<N> {
    Told(log.clone())
}

#[test]
fn systems_are_created_as_constraints_say_and_destroyed_the_other_way_round() {
    let log = Shared::default();
    let mut world = World::new("test");
    let ids = world.add_systems((
        told::<1>(&log).create_after(system_type::<Told<3>>()),
        told::<2>(&log),
        told::<3>(&log),
        told::<4>(&log).create_before(system_type::<Told<2>>()),
    ));
    assert_eq!(log.take(), ["+3", "+1", "+4", "+2"]);
    assert_eq!(ids[0], world.find_system(system_type::<Told<1>>()).unwrap());
    assert_eq!(ids[3], world.find_system(system_type::<Told<4>>()).unwrap());
    world.update(0.1);
    assert_eq!(log.take(), ["1", "2", "3", "4"], "they run as they are written");
    drop(world);
    assert_eq!(log.take(), ["-2", "-4", "-1", "-3"]);
}

#[test]
fn a_thousand_systems_run_as_they_are_written_though_they_are_created_backwards() {
    struct Even;

    impl SystemGroup for Even {}

    let log = Shared::default();
    let mut world = World::new("test");
    world.add_system(Even.last());
    let mut systems = Vec::new();
    for number in 0..1_000_u32 {
        let noted = log.clone();
        let system = move || noted.push(number.to_string());
        let system =
            system.named(number.to_string()).create_after((number + 1).to_string().as_str());
        systems.push(if number % 2 == 0 { system.in_group(Even) } else { system });
    }
    systems.push((|| {}).named("1000"));
    let ids = world.add_systems(systems);
    assert_eq!(ids.len(), 1_001);
    world.update(0.1);
    let odd_then_even = (1..1_000).step_by(2).chain((0..1_000).step_by(2));
    assert!(log.take().into_iter().eq(odd_then_even.map(|number| number.to_string())));
}

#[test]
fn patches_run_in_the_order_of_addition() {
    let mut world = world();
    world.add_system(say("0").patch());
    world.add_systems((
        say("1").named("1").patch().create_after("2"),
        say("2").named("2").patch(),
        say("system"),
    ));
    world.update(0.1);
    let lines = take(&mut world);
    let system = lines.iter().position(|line| line == "system").unwrap();
    assert_eq!(lines[system + 1..system + 4], ["0", "1", "2"]);
}

#[test]
fn groups_are_created_before_their_systems_and_removed_with_them() {
    struct Outer;

    impl SystemGroup for Outer {}

    struct Inner;

    impl SystemGroup for Inner {}

    let log = Shared::default();
    let mut world = World::new("test");
    let ids = world.add_systems((
        told::<1>(&log).in_group(Inner).create_after(system_type::<Told<2>>()),
        told::<2>(&log).in_group(Inner),
        Inner.in_group(Outer),
        Outer,
    ));
    assert_eq!(log.take(), ["+2", "+1"]);
    world.try_update(0.1).unwrap();
    assert_eq!(log.take(), ["1", "2"]);
    world.remove_system(ids[3]).unwrap();
    assert_eq!(log.take(), ["-1", "-2"]);
}

#[test]
fn lists_of_systems_of_any_kind_are_added() {
    struct Point;

    impl CommandPoint for Point {}

    let mut world = world();
    let list = vec![say("one").named("one"), Point.into_builder(), say("two").before("one")];
    assert_eq!(world.add_systems(list).len(), 3);
    world.try_update(0.1).unwrap();
    assert_eq!(take(&mut world), ["two", "one"]);
}

#[test]
fn present_and_later_systems_are_ordered_together() {
    let log = Shared::default();
    let mut world = World::new("test");
    world.add_system(told::<1>(&log).create_before(system_type::<Told<2>>()));
    world.add_system(told::<2>(&log).create_after(system_type::<Told<1>>()));
    assert_eq!(log.take(), ["+1", "+2"]);
}

#[test]
fn a0131_lists_the_members_of_a_cycle_and_nothing_is_added() {
    let log = Shared::default();
    let mut world = World::new("test");
    let refused = world.try_add_systems((
        told::<1>(&log).named("hen").create_after("egg"),
        told::<2>(&log).named("beside").create_after("hen"),
        told::<3>(&log).named("egg").create_after("hen"),
    ));
    assert_eq!(
        refused.unwrap_err().to_string(),
        "A0131: the creation order of systems has a cycle: `hen` before `egg` (set by `egg`), `egg` before `hen` (set \
         by `hen`); remove one of these constraints"
    );
    assert_eq!(log.take(), [""; 0]);
    assert_eq!(world.find_system("beside"), None);
}

#[test]
fn a0132_a0133_a0134_targets_that_cannot_be() {
    let log = Shared::default();
    let mut world = World::new("test");
    world.add_system(told::<1>(&log).named("there"));
    let mut refused = |system: ancho_entities::SystemBuilder| {
        let alone = world.try_add_systems((system,)).unwrap_err().to_string();
        assert_eq!(log.take().iter().filter(|line| *line != "+1").count(), 0);
        alone
    };
    let unknown = "A0132: `two` should be created after `missing`, which is neither in this world nor added with it; \
                   add both with `add_systems`, or remove `create_after`";
    assert_eq!(refused(told::<2>(&log).named("two").create_after("missing")), unknown);
    assert_eq!(
        refused(told::<2>(&log).named("two").create_before("there")),
        "A0133: `two` should be created before `there`, which is in this world already; add both with `add_systems`, \
         or remove `create_before`"
    );
    assert_eq!(
        refused(told::<2>(&log).named("two").create_before("two")),
        "A0134: `two` cannot be created before or after itself; name another system, or remove the constraint"
    );
    let alone = world.try_add_system(told::<2>(&log).named("two").create_after("missing"));
    assert_eq!(alone.unwrap_err().to_string(), unknown);
}

#[test]
fn if_one_creation_fails_the_systems_before_it_are_destroyed() {
    struct Broken;

    impl System for Broken {
        fn on_create(&mut self, _: &mut World) -> SystemResult {
            Err("no map".into())
        }

        fn on_update(&mut self, _: &mut World) -> SystemResult {
            Ok(())
        }
    }

    let log = Shared::default();
    let mut world = World::new("test");
    let refused =
        world.try_add_systems((told::<1>(&log), told::<2>(&log), Broken, told::<3>(&log)));
    assert!(refused.unwrap_err().to_string().starts_with("A0112: "));
    assert_eq!(log.take(), ["+1", "+2", "-2", "-1"]);
    world.try_update(0.1).unwrap();
    assert_eq!(log.take(), [""; 0]);
}

#[test]
fn systems_added_to_a_group_later_are_destroyed_in_reverse() {
    struct Outer;

    impl SystemGroup for Outer {}

    let log = Shared::default();
    let mut world = World::new("test");
    let old = world.add_system(told::<1>(&log));
    world.add_system(told::<2>(&log));
    world.add_system(Outer);
    world.add_system(told::<3>(&log).in_group(Outer));
    world.add_system(told::<4>(&log));
    world.set_group(old, Outer).unwrap();
    log.take();
    drop(world);
    assert_eq!(log.take(), ["-4", "-3", "-2", "-1"]);
}

#[test]
fn a0133_all_that_are_named_are_looked_at() {
    let log = Shared::default();
    let mut world = World::new("test");
    world.add_system(told::<1>(&log).named("there"));
    let two = told::<2>(&log).named("two").create_before("missing").create_before("there");
    let refused = world.try_add_system(two).unwrap_err().to_string();
    assert!(
        refused.starts_with("A0133: `two` should be created before `there`, which is in"),
        "{refused}"
    );
    assert_eq!(log.take(), ["+1"]);
}
